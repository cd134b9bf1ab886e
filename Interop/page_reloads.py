"""What `Interop/page-reloads` measures."""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import re
import tempfile
import time

import aiohttp

import limits
from radios import AMBIT, end

NAMES = "[...document.querySelectorAll('tbody .name')]"
STRAP = f"{NAMES}.find((each) => each.textContent == 'Pulse strap')"
FLAGS = ["--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-sandbox"]
GROWTH_MB_MAX = 10
RELEASE_SECONDS_MAX = 90


class Browser:
    """Chromium, by the WebDriver protocol."""

    def __init__(self, http, address):
        self._http, self._address = http, address

    async def send(self, method, path, body=None):
        async with self._http.request(method, self._address + path, json=body) as response:
            answer = (await response.json())["value"]
        assert response.status == 200, answer
        return answer

    async def open(self, url):
        options = {"goog:chromeOptions": {"args": FLAGS}}
        session = await self.send("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self._address += f"/session/{session['sessionId']}"
        await self.send("POST", "/url", {"url": url})

    async def script(self, text):
        return await self.send("POST", "/execute/sync", {"script": text, "args": []})

    async def wait(self, condition):
        async with asyncio.timeout(limits.EVENT):
            while not await self.script(f"return !!({condition})"):
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def process(*command, pattern, environment):
    """A program; gives it and what the first group of the pattern matches in its output."""
    program = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment)
    try:
        async with asyncio.timeout(limits.EVENT):
            while not (found := re.search(pattern, (await program.stdout.readline()).decode())):
                assert program.returncode is None, f"{command[0]} has ended"
        yield program, found[1]
    finally:
        await end(program)


def memory(program):
    status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000


async def link_count(environment):
    status = await asyncio.create_subprocess_exec(
        AMBIT, "hub", "status", "--json", stdout=asyncio.subprocess.PIPE, env=environment)
    output, _ = await status.communicate()
    return len(json.loads(output.splitlines()[-1])["links"])


async def connect(browser):
    await browser.wait(STRAP)
    await browser.script(f"{STRAP}.click()")
    await browser.wait("!document.querySelector('aside').hidden")
    await browser.script("document.querySelector('aside .primary').click()")
    await browser.wait("document.querySelector('tr.connected')")


async def measure(folder, count):
    """The memory before and after the reloads, and the seconds until the device was released."""
    hub = f"{folder}/hub"
    environment = {**os.environ, "AMBIT_HUB": hub, "XDG_STATE_HOME": folder}
    hub_command = (AMBIT, "hub", "--no-network", "--radio", "sim", "--socket", hub, "--json")
    page_command = (AMBIT, "page", "--port", "0", "--no-network", "--json")
    async with (
        process(*hub_command, pattern="(serving)", environment=environment),
        process(*page_command, pattern=r'"address":"([^"]+)"', environment=environment) as page,
        process("chromedriver", "--port=0", pattern=r"on port (\d+)\.", environment=None) as driver,
        aiohttp.ClientSession() as http,
    ):
        browser = Browser(http, f"http://127.0.0.1:{driver[1]}")
        await browser.open(page[1].replace("\\/", "/"))
        await connect(browser)
        before = memory(page[0])
        for _ in range(count):
            await browser.send("POST", "/refresh", {})
            await browser.wait(
                "document.documentElement.dataset.live == 'on' && document.querySelector('tr.connected')")
        after = memory(page[0])
        assert await link_count(environment) == 1, "the device is connected while the page is shown"
        await browser.send("DELETE", "/window")
        left = time.monotonic()
        while await link_count(environment) and time.monotonic() - left < RELEASE_SECONDS_MAX:
            await asyncio.sleep(1)
        return before, after, time.monotonic() - left


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--reloads", type=int, default=500)
options = parser.parse_args()
with tempfile.TemporaryDirectory() as place:
    before, after, seconds = asyncio.run(measure(place, options.reloads))
print(f"{options.reloads} reloads: {before:.0f} MB before, {after:.0f} MB after; "
      f"the device was released {seconds:.0f} s after the page was left")
if after - before > GROWTH_MB_MAX or seconds >= RELEASE_SECONDS_MAX:
    raise SystemExit(1)
