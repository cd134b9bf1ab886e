"""Private addresses: Bumble's, which `ambit` resolves, and `ambit`'s, which Bumble resolves."""

import asyncio
import contextlib
import json
import re

import pytest_asyncio
from bumble.device import Peer
from bumble.hci import Address

import limits
from ambit_cli import Ambit
from bumble_peers import (
    ENCRYPTED, PERIPHERAL_ADDRESS, Everything, bumble_central, bumble_device, characteristics, find)
from test_our_peripheral import DATABASE
from test_our_peripheral import ENCRYPTED as OURS
from radios import RADIOS
from test_pairing import NAME, Person, bond_lines, pairs

IRK = bytes(range(1, 17))


@pytest_asyncio.fixture(params=["ambit", "rootcanal"])
async def radio(request):
    """Not Bumble's: its controllers lose hosts whose random address changes."""
    async with RADIOS[request.param]() as address:
        yield address


@contextlib.asynccontextmanager
async def private_peripheral(radio, keystore=None):
    """Bumble's peripheral; with another resolvable private address each time."""
    async with bumble_device(radio, NAME, PERIPHERAL_ADDRESS) as device:
        device.le_privacy_enabled, device.irk, device.le_rpa_timeout = True, IRK, 0
        everything = Everything(device)
        if keystore is not None:
            device.keystore = keystore
        await device.power_on()
        await everything.advertise()
        yield everything


async def test_a_bonded_peripheral_is_the_same_with_another_private_address(
        radio, bonds, monkeypatch):
    # The radio gives a host another controller, with another address, each time.
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    ambit = Ambit(radio)
    async with private_peripheral(radio) as server:
        first, keystore = server.device.random_address, server.device.keystore
        completed = pairs(server.device, Person())
        assert (await ambit.json("read", NAME, ENCRYPTED))[0]["text"] == "secret"
        await completed.reach(1)
    [line] = bond_lines(bonds)
    known = re.search(r"known-address=(\S+)", line)[1]
    assert Address(known) == first and first.is_resolvable
    async with private_peripheral(radio, keystore) as server:
        assert server.device.random_address != first
        completed = pairs(server.device, Person())
        # By the address that it had at first, which is how programs know it.
        assert (await ambit.json("read", known, ENCRYPTED))[0]["text"] == "secret"
        assert completed == [] and len(bond_lines(bonds)) == 1


async def test_bumble_knows_our_peripheral_by_its_identity(radio, bonds, tmp_path, monkeypatch):
    monkeypatch.setenv("AMBIT_ADDRESS", "private")
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    seen = []
    async with bumble_central(radio) as central:
        completed = pairs(central, Person())
        for number in range(2):
            async with Ambit(radio).running("peripheral", str(file)) as next_event:
                await next_event("advertising")
                address = await find(central, "Server")
                seen.append(address)
                connection = await central.connect(address)
                if number == 0:
                    await asyncio.wait_for(connection.pair(), limits.EVENT)
                else:
                    await asyncio.wait_for(connection.encrypt(), limits.EVENT)
                table = await characteristics(Peer(connection))
                assert await table[OURS].read_value() == b"secret"
                await connection.disconnect()
        await completed.reach(1)
        assert len(bond_lines(bonds)) == 1
        assert completed[0].irk is not None
    assert len({str(address) for address in seen}) == 2
