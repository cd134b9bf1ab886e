"""Programs that share the radio of a hub, with Bumble's host as their peer."""

import asyncio
import contextlib
import os
import signal

import pytest
import pytest_asyncio
from bumble import l2cap
from bumble.pairing import PairingConfig
from bumble.smp import OobContext, OobLegacyContext, Session

import limits
from ambit_cli import Ambit, Failed, hub
from bumble_peers import (
    ENCRYPTED, LONG, LONG_VALUE, NOTIFYING, bumble_central, bumble_peripheral, find)
from radios import ambit_radio
from test_pairing import Capability, Person, hexadecimal, pairs

NAME = "Bumble peer"
# The hub's own address: the same after a restart, for peers and their bonds.
ADDRESS = ("--address", "C4:12:34:56:78:9A")


@pytest_asyncio.fixture
async def air():
    async with ambit_radio() as address:
        yield address


@pytest_asyncio.fixture
async def shared(air, tmp_path):
    """A hub on the air."""
    async with hub(air, tmp_path / "hub", *ADDRESS) as running:
        yield running


@contextlib.asynccontextmanager
async def notifying(server, value):
    """Notifies a value again and again: a peer doesn't hear of a hub's second subscriber."""
    async def notify():
        while True:
            await server.send(NOTIFYING, value)
            await asyncio.sleep(0.05)

    task = asyncio.create_task(notify())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def value(next_event, text):
    """Waits for a notification with this value."""
    while (await next_event()).get("text") != text:
        pass


@pytest.mark.parametrize("told", ["the number", "another number"])
async def test_out_of_band_data_of_a_program_protects_the_pairing_of_a_hub(air, shared, told):
    async with bumble_peripheral(air) as server:
        own = OobContext()
        completed = pairs(server.device, Person(), oob=PairingConfig.OobConfig(own, None, None))
        data = own.share()
        number = bytes(16) if told == "another number" else data.r
        read = Ambit(hub=shared.path).json(
            "read", NAME, ENCRYPTED, "--oob", f"{hexadecimal(data.c)}:{hexadecimal(number)}")
        if told == "the number":
            assert (await read)[0]["text"] == "secret"
            await completed.reach(1)
            assert completed[0].ltk.authenticated
        else:
            with pytest.raises(Failed):
                await read
            assert not completed


async def test_a_key_that_both_were_told_protects_legacy_pairing_of_a_hub(air, shared):
    async with bumble_peripheral(air) as server:
        key = OobLegacyContext()
        completed = pairs(
            server.device, Person(), sc=False, oob=PairingConfig.OobConfig(None, None, key))
        values = await Ambit(hub=shared.path).json("read", NAME, ENCRYPTED, "--oob", hexadecimal(key.tk))
        assert values[0]["text"] == "secret"
        await completed.reach(1)


async def test_the_passkey_that_bumble_shows_is_entered_at_the_terminal_of_a_hubs_program(air, shared):
    async with bumble_peripheral(air) as server:
        person = Person(Capability.DISPLAY_OUTPUT_ONLY)
        pairs(server.device, person, mitm=True)
        async with Ambit(hub=shared.path).at_terminal("read", NAME, ENCRYPTED) as terminal:
            await terminal.sees("which passkey")
            terminal.types(f"{await asyncio.wait_for(person.shown, limits.EVENT):06}")
            assert "secret" in await terminal.output()


async def test_channels_carry_bytes_through_a_hub_in_both_roles(air, shared):
    ambit, sent = Ambit(hub=shared.path), bytes(index % 256 for index in range(20_000))
    async with bumble_peripheral(air) as server:
        server.listen(0x0080)
        assert await ambit("channel", NAME, "0x80", stdin=sent, timeout=60) == sent
    async with (
        ambit.listening("channel", "--listen", "--name", "Sink") as (psm, received),
        bumble_central(air) as central,
    ):
        connection = await central.connect(await find(central, "Sink"))
        channel = await connection.create_l2cap_channel(
            l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=2048, mps=512, max_credits=8))
        channel.write(sent)
        assert await asyncio.wait_for(received(len(sent)), limits.EVENT) == sent
        await channel.disconnect()


async def test_a_link_stays_until_its_last_program_lets_go(air, shared):
    ambit = Ambit(hub=shared.path)
    async with bumble_peripheral(air) as server:
        async with ambit.running("subscribe", NAME, NOTIFYING) as first:
            await asyncio.wait_for(server.subscribed(NOTIFYING), limits.EVENT)
            # So that commands find it, although it is connected.
            await server.advertise()
            async with (
                ambit.running("subscribe", NAME, NOTIFYING) as second,
                notifying(server, b"both"),
            ):
                await value(second, "both")
            # A third program shares the link, too, and its end takes it from no other.
            assert (await ambit.json("read", NAME, LONG))[0]["hex"] == LONG_VALUE.hex()
            async with notifying(server, b"last"):
                await value(first, "last")
            assert server.connections.qsize() == 1 and server.disconnections.empty()
        assert await asyncio.wait_for(server.disconnections.get(), limits.EVENT) == 0x13


@pytest.mark.parametrize("place, step, command", [
    ("gatt", "on_att_read_by_group_type_request", ("read", NAME, LONG)),
    ("gatt", "on_att_write_request", ("subscribe", NAME, NOTIFYING)),
    ("smp", "on_smp_pairing_request_command", ("read", NAME, ENCRYPTED)),
    ("smp", "on_smp_pairing_public_key_command", ("read", NAME, ENCRYPTED)),
    ("smp", "on_smp_pairing_dhkey_check_command", ("read", NAME, ENCRYPTED)),
])
async def test_a_program_ends_with_its_killed_hub_and_works_with_the_next_one(
    air, tmp_path, monkeypatch, place, step, command
):
    """The hub is killed when its peer has received the request of a step, and not answered it."""
    path = tmp_path / "hub"
    async with bumble_peripheral(air) as server:
        pairs(server.device, Person())
        async with hub(air, path, *ADDRESS) as killed:
            target = server.device.gatt_server if place == "gatt" else Session
            original, calls = getattr(target, step), []

            def killing(*values):
                if not calls:
                    os.kill(killed.process.pid, signal.SIGKILL)
                calls.append(values)
                return original(*values)

            monkeypatch.setattr(target, step, killing)
            with pytest.raises(Failed) as failed:
                await Ambit(hub=path).json(*command)
            assert calls and failed.value.status == 69, failed.value
        async with hub(air, path, *ADDRESS):
            if command[0] == "subscribe":
                async with Ambit(hub=path).running(*command) as next_event:
                    # The second link: the peer advertises when it has noticed that the first one is gone.
                    for _ in range(2):
                        await asyncio.wait_for(server.connections.get(), limits.EVENT)
                    async with notifying(server, b"again"):
                        await value(next_event, "again")
            else:
                found = (await Ambit(hub=path).json(*command, timeout=60))[0]
                assert found["hex"] == LONG_VALUE.hex() or found["text"] == "secret"
