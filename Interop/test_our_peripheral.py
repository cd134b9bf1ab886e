"""`ambit peripheral` as server, Bumble's host as central, on every radio."""

import asyncio
import contextlib
import json

import pytest
from bumble import l2cap
from bumble.core import ProtocolError
from bumble.device import Peer

import limits
from ambit_cli import Ambit
from bumble_peers import bumble_central, characteristics, find

SERVICE = "0000AC10-5D4E-4F3A-9B1C-0E2D3C4B5A69"
FIXED = "0000AC11-5D4E-4F3A-9B1C-0E2D3C4B5A69"
LONG = "0000AC12-5D4E-4F3A-9B1C-0E2D3C4B5A69"
WRITEABLE = "0000AC13-5D4E-4F3A-9B1C-0E2D3C4B5A69"
NOTIFYING = "0000AC14-5D4E-4F3A-9B1C-0E2D3C4B5A69"
INDICATING = "0000AC15-5D4E-4F3A-9B1C-0E2D3C4B5A69"
ENCRYPTED = "0000AC16-5D4E-4F3A-9B1C-0E2D3C4B5A69"
LONG_VALUE = bytes(index % 241 for index in range(500))

DATABASE = {
    "name": "Server",
    "services": [{
        "uuid": SERVICE,
        "characteristics": [
            {"uuid": FIXED, "value": {"text": "hello"}, "description": "a greeting"},
            {"uuid": LONG, "value": {"hex": LONG_VALUE.hex()}},
            {"uuid": WRITEABLE, "value": {"hex": ""}, "readable": True, "writeable": True,
             "writeableWithoutResponse": True},
            {"uuid": NOTIFYING, "notifies": True, "every": 0.05,
             "values": [{"uint8": number} for number in range(100)]},
            {"uuid": INDICATING, "indicates": True, "every": 0.05,
             "values": [{"uint8": number} for number in range(100)]},
            {"uuid": ENCRYPTED, "value": {"text": "secret"}, "readNeedsEncryption": True},
        ],
    }],
}


@contextlib.asynccontextmanager
async def connected(radio, tmp_path):
    """A served database, and Bumble connected to it."""
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    async with Ambit(radio).running("peripheral", str(file)) as next_event:
        await next_event("advertising")
        async with bumble_central(radio) as central:
            connection = await central.connect(await find(central, "Server"))
            yield next_event, connection, Peer(connection)


async def test_bumble_discovers_reads_and_writes(radio, tmp_path):
    async with connected(radio, tmp_path) as (next_event, connection, peer):
        assert await peer.request_mtu(185) == 185
        table = await characteristics(peer)
        assert await table[FIXED].read_value() == b"hello"
        assert await table[LONG].read_value() == LONG_VALUE
        description = table[FIXED].descriptors[0]
        assert await description.read_value() == b"a greeting"

        await table[WRITEABLE].write_value(b"one", with_response=True)
        assert (await next_event("write"))["hex"] == b"one".hex()
        assert await table[WRITEABLE].read_value() == b"one"
        await table[WRITEABLE].write_value(b"two")
        assert (await next_event("write"))["hex"] == b"two".hex()

        long = bytes(range(250)) * 2
        await peer.gatt_client.write_long_value(table[WRITEABLE].handle, long)
        assert (await next_event("write"))["hex"] == long.hex()
        assert await table[WRITEABLE].read_value() == long
        with pytest.raises(ProtocolError):
            await table[FIXED].write_value(b"no", with_response=True)
        with pytest.raises(ProtocolError):
            await table[ENCRYPTED].read_value()
        await connection.disconnect()


@pytest.mark.parametrize("uuid", [NOTIFYING, INDICATING])
async def test_bumble_subscribes_and_hears_every_value(radio, tmp_path, uuid):
    async with connected(radio, tmp_path) as (next_event, connection, peer):
        table = await characteristics(peer)
        heard = asyncio.Queue()
        await table[uuid].subscribe(heard.put_nowait, prefer_notify=uuid == NOTIFYING)
        assert (await next_event("subscribed"))["characteristic"] == uuid
        numbers = [(await asyncio.wait_for(heard.get(), limits.EVENT))[0] for _ in range(20)]
        assert numbers == [(numbers[0] + index) % 100 for index in range(20)]
        await table[uuid].unsubscribe(force=True)
        assert (await next_event("unsubscribed"))["characteristic"] == uuid
        await connection.disconnect()


async def test_advertising_goes_on_after_a_central_left(radio, tmp_path):
    async with connected(radio, tmp_path) as (_, connection, peer):
        await peer.discover_services()
        await connection.disconnect()
        central = connection.device
        again = await central.connect(await find(central, "Server"))
        await again.disconnect()


async def test_bumble_streams_into_a_channel(radio):
    ambit = Ambit(radio)
    async with ambit.listening("channel", "--listen", "--name", "Sink") as (psm, received):
        async with bumble_central(radio) as central:
            connection = await central.connect(await find(central, "Sink"))
            channel = await connection.create_l2cap_channel(
                l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=2048, mps=512, max_credits=8))
            sent = bytes(index % 256 for index in range(20_000))
            channel.write(sent)
            assert await asyncio.wait_for(received(len(sent)), 60) == sent
            await channel.disconnect()
