"""systemd-resolved on the machine of a hub: both have port 5353, and each finds what it looks for."""

import asyncio
import contextlib
import pathlib
import shutil
import socket
import tempfile

import pytest

import limits
from debian_programs import resolved as resolved_programs
from radios import AMBIT, end

DAEMON = pathlib.Path(__file__).parent / "resolved/daemon"
NAME = socket.gethostname().split(".")[0]


class Resolved:
    def __init__(self, host, programs, state, process):
        self._host, self._state, self.process = host, state, process
        folders = sorted(programs.root.glob("**/lib/*-linux-gnu*"))
        self._libraries = ":".join(str(folder) for folder in folders)

    async def looked_up(self, name):
        """The addresses that the C library of the host finds for a name by nss-resolve, as the daemon's /run has it."""
        process = await self._host._start(
            "unshare", "--mount", "sh", "-c",
            f"mount --bind '{self._state}/run' /run && LD_LIBRARY_PATH='{self._libraries}'"
            f" exec getent -s hosts:resolve ahostsv4 '{name}'")
        output, errors = await asyncio.wait_for(process.communicate(), limits.EVENT)
        assert process.returncode in (0, 2), errors.decode()
        return {line.split()[0] for line in output.decode().splitlines()}


@contextlib.asynccontextmanager
async def resolved(host, name):
    """systemd-resolved on a host of this name, with its sockets of Multicast DNS open."""
    programs = resolved_programs()
    state = tempfile.mkdtemp(prefix="resolved-")
    process = await host._start(DAEMON, programs.root, state, name)
    try:
        while "systemd-resolve" not in host.run("ss", "-uanp", "sport", "=", "5353"):
            if process.returncode is not None:
                pytest.fail((await process.stderr.read()).decode(), pytrace=False)
            # Without systemd and a bus, it reports to nothing that it listens.
            await asyncio.sleep(0.05)
        # What it logs is not read, and must not stop it.
        log = asyncio.ensure_future(process.stderr.read())
        yield Resolved(host, programs, state, process)
        log.cancel()
    finally:
        await end(process)
        shutil.rmtree(state)


async def test_resolved_and_nss_resolve_work_beside_a_hub_of_the_same_host(hosts, tmp_path):
    ours, theirs = hosts
    place = tmp_path / "hub"
    use = ("env", f"AMBIT_HUB={place}", AMBIT)
    # It has the machine's name, as the hub does. A name that only the hub had it would not find: it discards packets
    # from the machine's own addresses. The other host, which would also like that name, looks for one after the hub.
    async with resolved(ours, NAME) as daemon, \
            ours.ambit_running("hub", "run", "--radio", "sim", "--socket", str(place)) as next_event:
        while (serving := await next_event())["event"] != "serving":
            pass
        assert serving["runsMulticastDNS"]
        async with ours.running(*use, "publish", "Lamp", "_light._tcp", "80", "--json") as published, \
                ours.running(*use, "browse", "_light._tcp", "--json") as browsed:
            await published()
            async with theirs.ambit_running("publish", "Far", "_light._tcp", "81") as far:
                await far()
                names = {"Lamp", "Far"}
                while names:
                    names.discard((await browsed())["name"])
                await each_finds_the_other(ours, theirs, daemon)
        sockets = ours.run("ss", "-uanp", "sport", "=", "5353")
        assert "systemd-resolve" in sockets and "ambit" in sockets


async def each_finds_the_other(ours, theirs, daemon):
    """Each host is found by the other one, and systemd-resolved finds what the hub and the other host have."""
    [lamp] = await theirs.ambit("resolve", "Lamp", "light")
    assert lamp["addresses"][0] == ours.address
    [other] = await ours.ambit("resolve", "Far", "light")
    assert other["addresses"][0] == theirs.address
    assert await daemon.looked_up(lamp["host"].rstrip(".")) == {ours.address}
    assert await daemon.looked_up(other["host"].rstrip(".")) == {theirs.address}
