"""Python's zeroconf, doing what `bonjour-benchmark-host` does, in the same words."""

import asyncio
import socket
import sys
import time

from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf


def say(*words):
    print(*words, flush=True)


async def lines():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().strip()


async def publish(type_, name, count, address):
    count = int(count)
    zc = AsyncZeroconf(ip_version=IPVersion.V4Only)
    say("ready")
    turn = 0
    async for line in lines():
        if line != "go":
            break
        infos = [AsyncServiceInfo(
            f"{type_}.local.", f"{name} {number}.{type_}.local.", port=8080,
            server=f"zeroconf-{address.replace('.', '-')}.local.",
            addresses=[socket.inet_aton(address)])
            for number in ([turn] if count == 1 else range(count))]
        say("asked", time.monotonic_ns())
        announced = await asyncio.gather(*map(zc.async_register_service, infos))
        # The names are settled; what is left are the announcements.
        say("published", time.monotonic_ns())
        await asyncio.gather(*announced)
        turn += 1
    await zc.async_close()


async def browse(type_):
    zc = AsyncZeroconf(ip_version=IPVersion.V4Only)

    def heard(zeroconf, service_type, name, state_change):
        word = {ServiceStateChange.Added: "found", ServiceStateChange.Removed: "gone"}
        if state_change in word:
            say(word[state_change], time.monotonic_ns(), name.removesuffix(f".{service_type}"))

    say("ready")
    browser = None
    async for line in lines():
        if line == "go":
            say("asked", time.monotonic_ns())
            browser = AsyncServiceBrowser(zc.zeroconf, f"{type_}.local.", handlers=[heard])
        elif browser:
            await browser.async_cancel()
    await zc.async_close()


asyncio.run({"publish": publish, "browse": browse}[sys.argv[1]](*sys.argv[2:]))
