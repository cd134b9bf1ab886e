"""Files that a page uploads through nginx, with the configuration that the documentation recommends."""

import asyncio
import os
import urllib.parse

import pytest

import limits
from radios import AMBIT, end
from test_page_proxy import FIELDS, HOST, OLD, Proxy, event

FILE_DROP = AMBIT.with_name("file-drop")


@pytest.fixture
async def drop(tmp_path):
    """The example behind a proxy: the address that it prints, its port, and its folder."""
    folder = tmp_path / "files"
    process = await asyncio.create_subprocess_exec(
        FILE_DROP, "0", str(folder), f"https://{HOST}/",
        stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        yield line.decode().removeprefix("Open ").strip(), listening_port(process.pid), folder
    finally:
        await end(process)


def listening_port(process):
    """The port on which a process listens, by the kernel's tables (proc_net_tcp)."""
    links = (os.path.join(f"/proc/{process}/fd", name) for name in os.listdir(f"/proc/{process}/fd"))
    sockets = {os.readlink(link) for link in links if os.path.islink(link)}
    with open("/proc/net/tcp") as table:
        for fields in map(str.split, list(table)[1:]):
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                return int(fields[1].split(":")[1], 16)
    raise AssertionError("the program doesn't listen")


async def send(proxy, fields, tab, snapshot, name, content, by=250_000):
    """Sends a file in parts; the statuses."""
    statuses = []
    for start, stop in [(0, 0), *((at, at + by) for at in range(0, len(content), by))]:
        query = urllib.parse.urlencode({
            "upload": "files", "tab": tab, "epoch": snapshot["epoch"], "file": name, "at": start,
            "of": len(content), "name": name, "type": "application/octet-stream"})
        status, *_, writer = await proxy.request(
            "POST", f"/live?{query}", fields, content[start:stop])
        writer.close()
        statuses.append(status)
    return statuses


@pytest.mark.parametrize("without", [(), OLD], ids=["as documented", "HTTP/1.0"])
async def test_upload(drop, tmp_path, without):
    address, port, folder = drop
    content = os.urandom(3_000_000)
    async with Proxy(tmp_path, port, without) as proxy:
        _, fields, *_ = await proxy.request("GET", address.removeprefix(f"https://{HOST}"))
        own = {**FIELDS, "Cookie": fields["Set-Cookie"].split("; ")[0]}
        _, _, stream, writer = await proxy.request("GET", "/live?tab=t", own)
        snapshot = await event(stream, "snap")
        foreign = {**own, "Origin": "https://evil.example"}
        assert set(await send(proxy, foreign, "t", snapshot, "x", b"")) == {403}
        results = await asyncio.gather(
            send(proxy, own, "t", snapshot, "a b.bin", content),
            send(proxy, own, "t", snapshot, "../../b", content[:1_000_000]),
            send(proxy, own, "t", snapshot, "empty", b""))
        assert {status for each in results for status in each} == {204}
        # More than the example takes.
        large = urllib.parse.urlencode({
            "upload": "files", "tab": "t", "epoch": snapshot["epoch"], "file": "large", "at": 0,
            "of": 2 << 30, "name": "large", "type": ""})
        assert (await proxy.request("POST", f"/live?{large}", own))[0] == 413
        kept = {
            path.name: path.read_bytes() for path in (folder / ".parts").glob("*/*")}
        assert sorted(map(len, kept.values())) == [0, 1_000_000, 3_000_000]
        assert content in kept.values()
        writer.close()
