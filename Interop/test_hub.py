"""Programs that share the radio of a hub, with Bumble's host as their peer."""

import asyncio
import contextlib
import json
import os
import signal
import socket

import pytest
import pytest_asyncio
from bumble import l2cap
from bumble.device import Peer
from bumble.gatt import GATT_SERVICE_CHANGED_CHARACTERISTIC
from bumble.pairing import PairingConfig
from bumble.smp import OobContext, OobLegacyContext, Session

import limits
from ambit_cli import Ambit, Failed, hub
from bumble_peers import (
    ENCRYPTED, LONG, LONG_VALUE, NOTIFYING, bumble_central, bumble_peripheral, characteristics, find)
from radios import AMBIT, ambit_radio, end
from test_pairing import Capability, Person, hexadecimal, pairs

NAME = "Bumble peer"
# The hub's own address: the same after a restart, for peers and their bonds.
ADDRESS = ("--address", "C4:12:34:56:78:9A")
# Characteristics that a program serves.
FIRST, SECOND, OTHER = (f"0000AE1{digit}-5D4E-4F3A-9B1C-0E2D3C4B5A69" for digit in "123")


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


def database(*uuids):
    """A file of a peripheral with a service of these characteristics."""
    return json.dumps({"name": "Served", "services": [{
        "uuid": "181A", "characteristics": [
            {"uuid": uuid, "notifies": True, "every": 0.05, "values": [{"uint8": index}]}
            for index, uuid in enumerate(uuids)]}]})


@contextlib.asynccontextmanager
async def served(path, file, content):
    """A program of a hub that serves a file, until it is killed."""
    file.write_text(content)
    async with Ambit(hub=path).running("peripheral", str(file)) as next_event:
        await next_event("advertising")
        yield
        await next_event.kill()


async def changed_range(indications):
    """The handles of the next Service Changed."""
    value = await asyncio.wait_for(indications.get(), limits.EVENT)
    return int.from_bytes(value[:2], "little"), int.from_bytes(value[2:], "little")


def handles(table):
    return {uuid: characteristic.handle for uuid, characteristic in table.items()}


async def test_a_connected_peer_hears_which_handles_a_killed_program_and_its_next_process_change(
    air, shared, tmp_path
):
    file, same, other = tmp_path / "server.json", database(FIRST, SECOND), database(FIRST, OTHER)
    async with bumble_central(air) as central:
        async with served(shared.path, file, same):
            # A second program's services stay as they are.
            connection = await central.connect(await find(central, "Served"))
            peer = Peer(connection)
            before = await characteristics(peer)
            indications = asyncio.Queue()
            for service in peer.services:
                for characteristic in service.get_characteristics_by_uuid(GATT_SERVICE_CHANGED_CHARACTERISTIC):
                    await characteristic.subscribe(indications.put_nowait, prefer_notify=False)
        removed = await changed_range(indications)
        assert removed[0] <= handles(before)[FIRST] <= removed[1]
        async with served(shared.path, file, same):
            assert await changed_range(indications) == removed
            assert handles(await characteristics(peer)) == handles(before)
        assert await changed_range(indications) == removed
        async with served(shared.path, file, other):
            added = await changed_range(indications)
            assert added[0] > removed[1]
            after = await characteristics(peer)
            assert added[0] <= handles(after)[FIRST] <= added[1] and SECOND not in after
        await connection.disconnect()


async def test_a_hub_whose_units_open_no_socket_for_multicast_dns_reports_the_command_that_mends_them(
    tmp_path
):
    path = str(tmp_path / "hub")
    environment = {
        name: value for name, value in os.environ.items()
        # Bonds are the hub's.
        if name not in ("XDG_RUNTIME_DIR", "AMBIT_HUB", "AMBIT_BONDS")
    }
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", f'LISTEN_PID=$$ exec "$0" "$@" 3<&{listener.fileno()}',
            AMBIT, "hub", "run", "--radio", "sim", "--pair", "never", "--json",
            pass_fds=[listener.fileno()], env=environment | {"LISTEN_FDS": "1"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            log = await asyncio.wait_for(process.stderr.readuntil(b"leave it out"), limits.EVENT)
            command = '"sudo ambit hub install --radio sim --pair never" writes new ones'
            assert command in log.decode()
            for words in (["status"], ["hub", "status"]):
                shown = await asyncio.create_subprocess_exec(
                    AMBIT, *words, "--json", env=environment | {"AMBIT_HUB": path},
                    stdout=asyncio.subprocess.PIPE)
                output = (await asyncio.wait_for(shown.communicate(), limits.EVENT))[0]
                assert command in json.loads(output)["networkProblem"], words
        finally:
            await end(process)


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
