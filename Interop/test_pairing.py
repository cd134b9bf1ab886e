"""`ambit` and Bumble's host pair with each other, in both roles, on every radio."""

import asyncio
import contextlib
import json
import re

import pytest
from bumble.core import ProtocolError
from bumble.device import Peer
from bumble.hci import HCI_Error
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobLegacyContext
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.cmac import CMAC

import limits
from ambit_cli import Ambit, Failed
from bumble_peers import ENCRYPTED, bumble_central, bumble_peripheral, characteristics, find
from test_our_peripheral import DATABASE
from test_our_peripheral import ENCRYPTED as OURS

NAME = "Bumble peer"
SIGNED = "0000AC20-5D4E-4F3A-9B1C-0E2D3C4B5A69"
Capability = PairingDelegate.IoCapability


class Person(PairingDelegate):
    """Whoever sits at Bumble's device."""

    def __init__(self, capability=Capability.NO_OUTPUT_NO_INPUT, accepts=True):
        super().__init__(capability)
        loop = asyncio.get_running_loop()
        self.accepts = accepts
        self.shown, self.typed = loop.create_future(), loop.create_future()

    async def compare_numbers(self, number, digits):
        self.shown.set_result(number)
        return self.accepts

    async def display_number(self, number, digits=6):
        self.shown.set_result(number)

    async def get_number(self):
        return await self.typed


class Completed(list):
    """The keys of the pairings that a device has completed."""

    def __init__(self):
        super().__init__()
        self._changed = asyncio.Event()

    def append(self, keys):
        super().append(keys)
        self._changed.set()

    async def reach(self, count):
        """Waits until there are that many, and no more: a device may complete one after the command has ended."""
        async with asyncio.timeout(limits.EVENT):
            while len(self) < count:
                self._changed.clear()
                await self._changed.wait()
        assert len(self) == count


def pairs(device, person, sc=True, mitm=False, oob=None):
    """Lets a device pair. Returns the pairings that it completes."""
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=sc, mitm=mitm, bonding=True, delegate=person, oob=oob)
    completed = Completed()
    device.on("connection", lambda connection: connection.on("pairing", completed.append))
    return completed


def bond_lines(path):
    return [line for line in path.read_text().splitlines() if line.startswith("address=")]


@pytest.mark.parametrize("sc", [True, False])
async def test_a_protected_value_is_read_after_just_works(radio, bonds, sc):
    async with bumble_peripheral(radio) as server:
        completed = pairs(server.device, Person(), sc)
        ambit = Ambit(radio)
        assert (await ambit.json("read", NAME, ENCRYPTED))[0]["text"] == "secret"
        await completed.reach(1)
        assert bonds.stat().st_mode & 0o777 == 0o600
        assert len(bond_lines(bonds)) == 1
        # Of a legacy bond Bumble, as the peripheral, keeps the central's key in place of its own.
        if sc:
            assert (await ambit.json("read", NAME, ENCRYPTED))[0]["text"] == "secret"
            await completed.reach(1)


@pytest.mark.parametrize("sc", [True, False])
async def test_the_passkey_that_bumble_shows_is_entered_here(radio, sc):
    async with bumble_peripheral(radio) as server:
        person = Person(Capability.DISPLAY_OUTPUT_ONLY)
        completed = pairs(server.device, person, sc, mitm=True)
        async with Ambit(radio).at_terminal("read", NAME, ENCRYPTED) as terminal:
            await terminal.sees("which passkey")
            terminal.types(f"{await asyncio.wait_for(person.shown, limits.EVENT):06}")
            assert "secret" in await terminal.output()
        await completed.reach(1)
        assert completed[0].ltk is None or completed[0].ltk.authenticated
        # Of a legacy bond Bumble, as the peripheral, keeps the central's key in place of its own.
        if sc:
            assert b"secret" in await Ambit(radio)("read", NAME, ENCRYPTED)
            await completed.reach(1)


@pytest.mark.parametrize("sc", [True, False])
async def test_the_passkey_that_is_shown_here_is_entered_at_bumble(radio, sc):
    async with bumble_peripheral(radio) as server:
        person = Person(Capability.KEYBOARD_INPUT_ONLY)
        pairs(server.device, person, sc, mitm=True)
        async with Ambit(radio).at_terminal("read", NAME, ENCRYPTED) as terminal:
            person.typed.set_result(int((await terminal.sees(r"enter (\d{6}) at"))[1]))
            assert "secret" in await terminal.output()


def hexadecimal(value):
    """Bumble keeps values least significant byte first."""
    return bytes(value)[::-1].hex()


@pytest.mark.parametrize("told", ["the number", "another number"])
async def test_what_bumble_says_out_of_band_protects_the_pairing(radio, bonds, told):
    async with bumble_peripheral(radio) as server:
        own = OobContext()
        completed = pairs(server.device, Person(), oob=PairingConfig.OobConfig(own, None, None))
        data = own.share()
        number = bytes(16) if told == "another number" else data.r
        option = f"{hexadecimal(data.c)}:{hexadecimal(number)}"
        if told == "the number":
            values = await Ambit(radio).json("read", NAME, ENCRYPTED, "--oob", option)
            assert values[0]["text"] == "secret"
            await completed.reach(1)
            assert completed[0].ltk.authenticated
            assert len(bond_lines(bonds)) == 1
        else:
            with pytest.raises(Failed):
                await Ambit(radio).json("read", NAME, ENCRYPTED, "--oob", option)
            assert not completed and not bonds.exists()


async def test_legacy_pairing_is_protected_by_a_key_that_both_were_told(radio):
    async with bumble_peripheral(radio) as server:
        key = OobLegacyContext()
        completed = pairs(
            server.device, Person(), sc=False, oob=PairingConfig.OobConfig(None, None, key))
        values = await Ambit(radio).json(
            "read", NAME, ENCRYPTED, "--oob", hexadecimal(key.tk))
        assert values[0]["text"] == "secret"
        await completed.reach(1)


async def test_a_wrong_passkey_leaves_no_bond(radio, bonds):
    async with bumble_peripheral(radio) as server:
        person = Person(Capability.DISPLAY_OUTPUT_ONLY)
        pairs(server.device, person, mitm=True)
        async with Ambit(radio).at_terminal("read", NAME, ENCRYPTED) as terminal:
            await terminal.sees("which passkey")
            shown = await asyncio.wait_for(person.shown, limits.EVENT)
            terminal.types(f"{(shown + 1) % 1_000_000:06}")
            with pytest.raises(Failed) as failed:
                await terminal.output()
            assert failed.value.status == 1
        assert not bonds.exists()


@pytest.mark.parametrize("agrees", [True, False])
async def test_numbers_are_compared(radio, agrees):
    async with bumble_peripheral(radio) as server:
        person = Person(Capability.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
        pairs(server.device, person, mitm=True)
        async with Ambit(radio).at_terminal("read", NAME, ENCRYPTED) as terminal:
            number = int((await terminal.sees(r"show (\d{6})\?"))[1])
            assert number == await asyncio.wait_for(person.shown, limits.EVENT)
            terminal.types("yes" if agrees else "no")
            if agrees:
                assert "secret" in await terminal.output()
            else:
                with pytest.raises(Failed):
                    await terminal.output()


async def test_a_peer_that_lost_its_keys_is_not_trusted(radio, bonds):
    async with bumble_peripheral(radio) as server:
        completed = pairs(server.device, Person())
        ambit = Ambit(radio)
        await ambit("read", NAME, ENCRYPTED)
        await server.device.keystore.delete_all()
        with pytest.raises(Failed) as failed:
            await ambit("read", NAME, ENCRYPTED)
        assert "pairing information" in failed.value.message
        await completed.reach(1)
        assert len(bond_lines(bonds)) == 1
        bonds.unlink()
        assert b"secret" in await ambit("read", NAME, ENCRYPTED)
        await completed.reach(2)


@contextlib.asynccontextmanager
async def served(radio, tmp_path, database=DATABASE):
    """Our peripheral, and Bumble's central connected to it."""
    file = tmp_path / "server.json"
    file.write_text(json.dumps(database))
    async with Ambit(radio).running("peripheral", str(file)) as next_event:
        await next_event("advertising")
        async with bumble_central(radio) as central:
            yield central, await find(central, "Server")


async def protected_value(connection):
    """What our peripheral serves over encrypted links only."""
    table = await characteristics(Peer(connection))
    value = await table[OURS].read_value()
    assert connection.is_encrypted
    return value


@pytest.mark.parametrize("sc", [True, False])
async def test_bumble_pairs_with_our_peripheral_and_uses_the_bond(radio, bonds, tmp_path, sc):
    async with served(radio, tmp_path) as (central, address):
        completed = pairs(central, Person(), sc)
        for run in ["pairs", "comes back"]:
            connection = await central.connect(address)
            step = connection.pair() if run == "pairs" else connection.encrypt()
            await asyncio.wait_for(step, limits.EVENT)
            assert await protected_value(connection) == b"secret"
            await connection.disconnect()
        await completed.reach(1)
        assert len(bond_lines(bonds)) == 1


async def test_the_bond_outlives_bumble_while_our_peripheral_stays(
    radio, bonds, tmp_path, monkeypatch
):
    # Bumble looks for its keys by the address on the air.
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    keystore = None
    async with Ambit(radio).running("peripheral", str(file)) as next_event:
        await next_event("advertising")
        for run in ["pairs", "is new", "is new again"]:
            async with bumble_central(radio) as central:
                keystore = central.keystore = keystore or central.keystore
                completed = pairs(central, Person())
                connection = await central.connect(await find(central, "Server"))
                step = connection.pair() if run == "pairs" else connection.encrypt()
                await asyncio.wait_for(step, limits.EVENT)
                assert await protected_value(connection) == b"secret"
                await completed.reach(1 if run == "pairs" else 0)
                await connection.disconnect()
    assert len(bond_lines(bonds)) == 1


async def test_bumble_is_told_that_our_peripheral_lost_its_keys(radio, bonds, tmp_path, monkeypatch):
    # The radio gives a host another controller, with another address, each time.
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    async with served(radio, tmp_path) as (central, address):
        pairs(central, Person())
        connection = await central.connect(address)
        await asyncio.wait_for(connection.pair(), limits.EVENT)
        assert await protected_value(connection) == b"secret"
        keystore = central.keystore
        await connection.disconnect()
    bonds.unlink()
    async with served(radio, tmp_path) as (central, address):
        central.keystore = keystore
        completed = pairs(central, Person())
        connection = await central.connect(address)
        with pytest.raises(HCI_Error):
            await asyncio.wait_for(connection.encrypt(), limits.EVENT)
        await connection.disconnect()
        assert not completed and not bonds.exists()


@contextlib.asynccontextmanager
async def served_at_terminal(radio, tmp_path):
    """Our peripheral with a person, and Bumble's central, which knows its address."""
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    async with Ambit(radio).at_terminal("peripheral", str(file)) as terminal:
        async with bumble_central(radio) as central:
            yield terminal, central, await find(central, "Server")


@pytest.mark.parametrize("sc", [True, False])
@pytest.mark.parametrize("method", ["shown here", "shown there", "compared"])
async def test_bumble_pairs_with_people_at_our_peripheral(radio, bonds, tmp_path, method, sc):
    if method == "compared" and not sc:
        pytest.skip("legacy pairing compares no numbers")
    capability = {
        "shown here": Capability.KEYBOARD_INPUT_ONLY,
        "shown there": Capability.DISPLAY_OUTPUT_ONLY,
        "compared": Capability.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    }[method]
    async with served_at_terminal(radio, tmp_path) as (terminal, central, address):
        person = Person(capability)
        completed = pairs(central, person, sc, mitm=True)
        connection = await central.connect(address)
        pairing = asyncio.create_task(connection.pair())
        if method == "shown here":
            person.typed.set_result(int((await terminal.sees(r"enter (\d{6}) at"))[1]))
        elif method == "shown there":
            await terminal.sees("which passkey")
            terminal.types(f"{await asyncio.wait_for(person.shown, limits.EVENT):06}")
        else:
            number = int((await terminal.sees(r"show (\d{6})\?"))[1])
            assert number == await asyncio.wait_for(person.shown, limits.EVENT)
            terminal.types("yes")
        await asyncio.wait_for(pairing, limits.EVENT)
        table = await characteristics(Peer(connection))
        assert await table[OURS].read_value() == b"secret"
        await completed.reach(1)
        await terminal.sees("Paired with")
        await connection.disconnect()
        connection = await central.connect(address)
        await asyncio.wait_for(connection.encrypt(), limits.EVENT)
        assert await protected_value(connection) == b"secret"
        await completed.reach(1)
    assert "authenticated=yes" in bond_lines(bonds)[0]


@pytest.mark.parametrize("mistake", ["wrong passkey", "other numbers"])
async def test_a_mistake_at_our_peripheral_leaves_no_bond(radio, bonds, tmp_path, mistake):
    capability = {
        "wrong passkey": Capability.DISPLAY_OUTPUT_ONLY,
        "other numbers": Capability.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    }[mistake]
    async with served_at_terminal(radio, tmp_path) as (terminal, central, address):
        person = Person(capability)
        completed = pairs(central, person, mitm=True)
        connection = await central.connect(address)
        pairing = asyncio.create_task(connection.pair())
        shown = await asyncio.wait_for(person.shown, limits.EVENT)
        if mistake == "wrong passkey":
            await terminal.sees("which passkey")
            terminal.types(f"{(shown + 1) % 1_000_000:06}")
        else:
            await terminal.sees(r"show (\d{6})\?")
            terminal.types("no")
        with pytest.raises(ProtocolError):
            await asyncio.wait_for(pairing, limits.EVENT)
        table = await characteristics(Peer(connection))
        with pytest.raises(ProtocolError):
            await table[OURS].read_value()
        assert not completed and not bonds.exists()


async def test_the_bond_outlives_our_peripheral_and_bumble(radio, bonds, tmp_path, monkeypatch):
    # The radio gives a host another controller, with another address, each time.
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    keystore = None
    for run in ["pairs", "our peripheral is new", "both are new"]:
        async with served(radio, tmp_path) as (central, address):
            keystore = keystore or central.keystore
            central.keystore = keystore
            completed = pairs(central, Person())
            connection = await central.connect(address)
            await asyncio.wait_for(
                connection.pair() if run == "pairs" else connection.encrypt(), limits.EVENT)
            table = await characteristics(Peer(connection))
            assert await table[OURS].read_value() == b"secret"
            await completed.reach(1 if run == "pairs" else 0)
            await connection.disconnect()
    assert len(bond_lines(bonds)) == 1


async def test_the_bond_outlives_bumbles_peripheral(radio, bonds, monkeypatch):
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    keystore = None
    for _ in range(3):
        async with bumble_peripheral(radio) as server:
            keystore = keystore or server.device.keystore
            server.device.keystore = keystore
            completed = pairs(server.device, Person())
            assert b"secret" in await Ambit(radio)("read", NAME, ENCRYPTED)
            first, completed = completed, None
        assert len(first) <= 1
    assert len(bond_lines(bonds)) == 1 and not first


async def test_the_lock_of_the_simulated_flat_shows_its_state_for_its_passkey():
    async with Ambit("").at_terminal("inspect", "Front door", radio="sim") as terminal:
        shown = (await terminal.sees(r"(\d{6})"))[1]
        await terminal.sees("which passkey")
        terminal.types(shown)
        assert re.search(r"7C3B0005-\S+ read, write, notify  01\n", await terminal.output())


async def test_a_session_of_commands_asks_for_the_passkey(radio):
    async with bumble_peripheral(radio) as server:
        person = Person(Capability.DISPLAY_OUTPUT_ONLY)
        pairs(server.device, person, mitm=True)
        async with Ambit(radio).at_terminal("shell", NAME) as terminal:
            await terminal.sees("Connected to")
            terminal.types(f"read {ENCRYPTED}")
            await terminal.sees("Which passkey")
            terminal.types(f"{await asyncio.wait_for(person.shown, limits.EVENT):06}")
            await terminal.sees("Paired with")
            # The answer was none of the session's commands, and those that follow are.
            terminal.types("mtu")
            terminal.types("quit")
            output = await terminal.output()
            assert "secret" in output and "bytes" in output


def signed_write(handle, value, counter, key=bytes(16)):
    """A Signed Write Command, made without Ambit (Core 5.4, Vol 3, Part C, §10.4.1)."""
    message = b"\xd2" + handle.to_bytes(2, "little") + value + counter.to_bytes(4, "little")
    cmac = CMAC(algorithms.AES(key))
    cmac.update(message[::-1])
    return message + cmac.finalize()[:8][::-1]


async def test_bumble_signs_what_it_writes(radio, bonds, tmp_path, monkeypatch):
    monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    signed = {"uuid": SIGNED, "properties": ["read", "signed-write"], "value": {"hex": "00"}}
    service = {**DATABASE["services"][0], "characteristics": [signed]}
    keys = PairingDelegate.KeyDistribution.DISTRIBUTE_SIGNING_KEY

    class Signer(Person):
        def __init__(self):
            super().__init__()
            self.local_initiator_key_distribution |= keys
            self.local_responder_key_distribution |= keys

    async with served(radio, tmp_path, {**DATABASE, "services": [service]}) as (central, address):
        pairs(central, Signer())
        connection = await central.connect(address)
        await asyncio.wait_for(connection.pair(), limits.EVENT)
        await connection.disconnect()
        # Bumble's key is sixteen zeros. It may leave before the bond is on the disk.
        async with asyncio.timeout(limits.EVENT):
            while not bonds.exists():
                await asyncio.sleep(0.05)
        assert f"peer-csrk={'00' * 16}" in bond_lines(bonds)[0]
        connection = await central.connect(address)
        table = await characteristics(Peer(connection))
        handle = table[SIGNED].handle
        for value, counter in [(b"\x01", 3), (b"\x02", 3), (b"\x03", 2), (b"\x04", 4)]:
            before = (await table[SIGNED].read_value())
            connection.send_l2cap_pdu(4, signed_write(handle, value, counter))
            after = await table[SIGNED].read_value()
            assert after == (value if value in (b"\x01", b"\x04") else before)
        connection.send_l2cap_pdu(4, signed_write(handle, b"\x05", 9, key=bytes(15) + b"\x01"))
        assert await table[SIGNED].read_value() == b"\x04"
        await connection.disconnect()
    assert "peer-sign-counter=5" in bond_lines(bonds)[0]


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_just_works_asks_first_where_the_policy_says_so(radio, bonds, answer):
    async with bumble_peripheral(radio) as server:
        completed = pairs(server.device, Person())
        command = Ambit(radio).at_terminal("read", NAME, ENCRYPTED, "--pair", "ask")
        async with command as terminal:
            await terminal.sees(r"pair with .+\? .*\(yes or no\)")
            assert not completed and not bonds.exists()
            terminal.types(answer)
            if answer == "yes":
                assert "secret" in await terminal.output()
                await completed.reach(1)
                assert len(bond_lines(bonds)) == 1
            else:
                await terminal.sees("Pairing with .* failed")
                with pytest.raises(Failed):
                    await terminal.output()
                assert not completed and not bonds.exists()


async def test_without_a_terminal_the_policy_to_ask_pairs_with_nobody(radio, bonds):
    async with bumble_peripheral(radio) as server:
        completed = pairs(server.device, Person())
        with pytest.raises(Failed):
            await Ambit(radio).json("read", NAME, ENCRYPTED, "--pair", "ask")
        assert not completed and not bonds.exists()
