"""What tshark(1) makes of the Multicast DNS that a host sends."""

import asyncio
import contextlib
import shutil
import socket

import dns.message

import limits
from debian_programs import unavailable
from ethernet import inside
from radios import end

_LAST = "the-last.local."


@contextlib.asynccontextmanager
async def all_well_formed(sender, listener, path):
    """Checks at the end that tshark on one host can read all that another sent meanwhile."""
    if shutil.which("tshark") is None:
        unavailable("There is no tshark.")
    sender_address = sender.ip("link", "show", "eth0")[0]["address"]
    tshark = await listener._start(
        "tshark", "-i", "eth0", "-w", path, "-f", f"udp port 5353 and ether src {sender_address}",
        "-P", "-l", "-T", "fields", "-e", "dns.qry.name")
    try:
        while b"Capturing" not in (line := await tshark.stderr.readline()):
            assert line, "tshark ended"
        yield
        _send_last(sender)
        await asyncio.wait_for(_heard_last(tshark), limits.EVENT)
    finally:
        await end(tshark)
    read = await asyncio.create_subprocess_exec(
        "tshark", "-r", path, "-T", "fields", "-e", "frame.number", "-e", "_ws.malformed",
        "-e", "dns.id", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
    output, _ = await read.communicate()
    lines = [line.split("\t") for line in output.decode().splitlines()]
    assert len(lines) > 8
    assert all(malformed == "" and identifier for _, malformed, identifier in lines)


def _send_last(sender):
    """What comes after everything else that the host sent."""
    with inside(sender.namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(dns.message.make_query(_LAST, "A").to_wire(), ("224.0.0.251", 5353))


async def _heard_last(tshark):
    while _LAST.rstrip(".").encode() not in (line := await tshark.stdout.readline()):
        assert line, "tshark ended"
