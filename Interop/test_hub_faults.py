"""A hub's programs that are stopped in the middle of something, and a hub whose disk is full."""

import asyncio
import os
import pathlib
import random
import signal

import pytest

import limits
from ambit_cli import Ambit, hub
from bumble_peers import ENCRYPTED, LONG, LONG_VALUE, NOTIFYING, bumble_peripheral
from radios import ambit_radio
from test_hub import ADDRESS, NAME, notifying, value

# A tmpfs in a namespace of the hub alone.
SMALL_DISK = 'mount -t tmpfs -o size=64k,mode=0700 none "$0" && exec "$@"'


async def test_a_program_that_is_stopped_while_it_subscribes_delays_no_other_one(tmp_path):
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    instants = random.Random(seed)
    async with (
        ambit_radio() as air,
        hub(air, tmp_path / "hub", *ADDRESS) as shared,
        bumble_peripheral(air) as server,
    ):
        ambit = Ambit(hub=shared.path)
        async with ambit.running("subscribe", NAME, NOTIFYING) as other:
            await asyncio.wait_for(server.subscribed(NOTIFYING), limits.EVENT)
            # So that commands find it, although it is connected.
            await server.advertise()
            for is_killed in [True, False]:
                async with ambit.running("subscribe", NAME, NOTIFYING) as stopped:
                    # From its start to the time after it has subscribed.
                    await asyncio.sleep(instants.uniform(0, 0.8))
                    stopped.signal(signal.SIGSTOP)
                    async with notifying(server, b"stopped"):
                        await value(other, "stopped")
                    assert (await ambit.json("read", NAME, LONG))[0]["hex"] == LONG_VALUE.hex()
                    if is_killed:
                        await stopped.kill()
                    else:
                        stopped.signal(signal.SIGCONT)
                        async with notifying(server, b"goes on"):
                            await value(stopped, "goes on")
                async with notifying(server, b"next"):
                    await value(other, "next")
            assert server.connections.qsize() == 1 and server.disconnections.empty()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
async def test_a_bond_that_a_full_disk_refused_is_written_when_there_is_room(tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setenv("AMBIT_BONDS", str(disk / "bonds"))
    async with (
        ambit_radio() as air,
        hub(
            air, tmp_path / "hub", *ADDRESS,
            prefix=("unshare", "--mount", "sh", "-c", SMALL_DISK, str(disk))) as shared,
        bumble_peripheral(air),
    ):
        seen = pathlib.Path(f"/proc/{shared.process.pid}/root/{disk}")
        filler, bonds = seen / "filler", seen / "bonds"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(512))
        ambit = Ambit(hub=shared.path)
        assert (await ambit.json("read", NAME, ENCRYPTED))[0]["text"] == "secret"
        assert not bonds.exists() or not bonds.read_text()
        filler.unlink()
        async with asyncio.timeout(limits.EVENT):
            while not bonds.exists() or "address=" not in bonds.read_text():
                await asyncio.sleep(0.05)
