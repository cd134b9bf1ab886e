"""Enhanced bearers of the attribute protocol, PHYs and packet lengths, with Bumble's host at the other end."""

import asyncio
import contextlib
import json

import pytest
from bumble import att, gatt_client, hci, l2cap
from bumble.core import ProtocolError
from bumble.device import Peer

import limits
from ambit_cli import Ambit
from bumble_peers import ENCRYPTED as PROTECTED
from bumble_peers import INDICATING, NOTIFYING, READABLE
from bumble_peers import LONG as PEER_LONG
from bumble_peers import LONG_VALUE as PEER_LONG_VALUE
from bumble_peers import bumble_central, bumble_peripheral, characteristics, find
from test_our_peripheral import DATABASE, ENCRYPTED, FIXED, LONG, LONG_VALUE, WRITEABLE

# An enhanced bearer takes no less (Core 5.4, Vol 3, Part F, §3.2.11).
SPEC = l2cap.LeCreditBasedChannelSpec(psm=att.EATT_PSM, mtu=256, mps=64, max_credits=32)


@contextlib.asynccontextmanager
async def connected(radio, tmp_path):
    """A served database, Bumble connected to it, and what is told of it."""
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    async with Ambit(radio).running("peripheral", str(file)) as next_event:
        await next_event("advertising")
        async with bumble_central(radio) as central:
            connection = await central.connect(await find(central, "Server"))
            yield next_event, connection


class Bearers:
    """The bearers over which a server of Bumble's is asked for values."""

    def __init__(self, server):
        self.readers = set()
        take = server.on_gatt_pdu

        def taken(bearer, pdu):
            if isinstance(pdu, (att.ATT_Read_Request, att.ATT_Read_Blob_Request)):
                self.readers.add(bearer)
            take(bearer, pdu)

        server.on_gatt_pdu = taken


async def within(step):
    return await asyncio.wait_for(step, limits.EVENT)


async def test_bumble_reads_and_writes_over_several_bearers_at_once(radio, tmp_path):
    async with connected(radio, tmp_path) as (next_event, connection):
        table = await characteristics(Peer(connection))
        handles = {uuid: table[uuid].handle for uuid in (FIXED, LONG, ENCRYPTED, WRITEABLE)}
        await within(connection.pair())
        clients = await within(gatt_client.Client.connect_eatt(connection, SPEC, count=3))
        assert len(clients) == 3
        for _ in range(10):
            values = await within(asyncio.gather(
                clients[0].read_value(handles[FIXED]),
                clients[1].read_value(handles[ENCRYPTED]),
                clients[2].read_value(handles[FIXED]),
                # The fixed channel goes on beside them.
                table[FIXED].read_value()))
            assert values == [b"hello", b"secret", b"hello", b"hello"]
        # As much of a long one as the bearer takes: its MTU is the channel's, whatever the fixed one's is.
        values = await within(asyncio.gather(
            clients[0].read_value(handles[LONG], no_long_read=True), table[LONG].read_value()))
        assert values == [LONG_VALUE[:SPEC.mtu - 1], LONG_VALUE]
        await within(clients[2].write_value(handles[WRITEABLE], b"over the third", True))
        assert (await next_event("write"))["hex"] == b"over the third".hex()
        assert await within(clients[0].read_value(handles[WRITEABLE])) == b"over the third"
        # An error goes back over the bearer that asked, and the others go on.
        with pytest.raises(ProtocolError):
            await within(clients[1].write_value(handles[FIXED], b"no", True))
        await within(clients[1].bearer.disconnect())
        assert await within(clients[0].read_value(handles[FIXED])) == b"hello"
        assert await within(table[FIXED].read_value()) == b"hello"
        await connection.disconnect()


async def test_a_link_without_encryption_gets_no_bearer(radio, tmp_path):
    async with connected(radio, tmp_path) as (_, connection):
        with pytest.raises((ProtocolError, l2cap.L2capError)):
            await within(gatt_client.Client.connect_eatt(connection, SPEC, count=2))
        table = await characteristics(Peer(connection))
        assert await table[FIXED].read_value() == b"hello"
        await connection.disconnect()


async def test_a_peer_that_serves_bearers_is_read_as_ever(radio):
    async with bumble_peripheral(radio) as server:
        server.device.gatt_server.register_eatt(SPEC)
        ambit = Ambit(radio)
        for _ in range(2):
            values = await ambit.json("read", "Bumble peer", PROTECTED)
            assert values[0]["text"] == "secret"


async def test_values_are_read_over_several_bearers_of_bumble_at_once(radio):
    async with bumble_peripheral(radio, eatt_enabled=True) as server:
        ambit = Ambit(radio)
        bearers = Bearers(server.device.gatt_server)
        wanted = [PROTECTED, READABLE, PEER_LONG, NOTIFYING, INDICATING, READABLE]
        # Reading what is protected encrypts the link; bearers are learnt of when nothing else is to be done, for
        # which a busy machine may need longer.
        for seconds in (2, 8, 20):
            bearers.readers.clear()
            lines = f"read {PROTECTED}\nwait {seconds}\n" + f"read {' '.join(wanted)}\n" * 2
            values = await ambit.json("shell", "Bumble peer", timeout=60, stdin=lines.encode())
            read = [bytes.fromhex(value["hex"]) for value in values if value["event"] == "value"]
            assert read == [b"secret"] + 2 * [
                b"secret", b"hello", PEER_LONG_VALUE, b"n0", b"i0", b"hello"]
            if len(bearers.readers) >= 3:
                break
        assert len(bearers.readers) >= 3, bearers.readers


async def test_a_peer_that_says_that_it_has_bearers_and_refuses_them_is_read_as_ever(radio):
    async with bumble_peripheral(radio, eatt_enabled=True) as server:
        del server.device.l2cap_channel_manager.le_coc_servers[att.EATT_PSM]
        ambit = Ambit(radio)
        for _ in range(2):
            values = await ambit.json("read", "Bumble peer", PROTECTED, READABLE, NOTIFYING)
            assert [value["text"] for value in values] == ["secret", "hello", "n0"]


async def test_bumble_changes_phys_and_packet_lengths(request, radio, tmp_path):
    if request.node.callspec.params["radio"] == "bumble":
        pytest.skip("Bumble's controllers change neither")
    async with connected(radio, tmp_path) as (_, connection):
        changed = asyncio.get_running_loop().create_future()
        connection.on("connection_phy_update", lambda *_: changed.done() or changed.set_result(1))
        await within(connection.set_phy([hci.Phy.LE_2M], [hci.Phy.LE_2M]))
        await within(changed)
        phy = await within(connection.get_phy())
        assert (phy.tx_phy, phy.rx_phy) == (hci.Phy.LE_2M, hci.Phy.LE_2M)
        # rootcanal's have one length only.
        if connection.device.host.supports_command(hci.HCI_LE_SET_DATA_LENGTH_COMMAND):
            await within(connection.set_data_length(251, 2120))
        table = await characteristics(Peer(connection))
        assert await within(table[LONG].read_value()) == LONG_VALUE
        await connection.disconnect()
