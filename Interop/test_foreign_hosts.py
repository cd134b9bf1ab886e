"""Two hosts that we did not write talk to each other: does our radio behave as the others do?"""

import asyncio

import pytest
from bumble import l2cap
from bumble.core import ProtocolError
from bumble.device import Peer

import limits
from bumble_peers import (
    ENCRYPTED, INDICATING, LONG, LONG_VALUE, NOTIFYING, READABLE, WRITEABLE,
    bumble_central, bumble_peripheral, characteristics, find)


async def test_two_bumble_hosts_go_through_gatt(radio):
    async with bumble_peripheral(radio) as server, bumble_central(radio) as central:
        connection = await central.connect(await find(central, "Bumble peer"))
        peer = Peer(connection)
        assert await peer.request_mtu(247) == 247
        table = await characteristics(peer)
        assert await table[READABLE].read_value() == b"hello"
        assert await table[LONG].read_value() == LONG_VALUE

        await table[WRITEABLE].write_value(b"with response", with_response=True)
        assert await asyncio.wait_for(server.written.get(), limits.EVENT) == b"with response"
        await table[WRITEABLE].write_value(b"without")
        assert await asyncio.wait_for(server.written.get(), limits.EVENT) == b"without"

        for uuid, served in [(NOTIFYING, server.notifying), (INDICATING, server.indicating)]:
            heard = asyncio.Queue()
            await table[uuid].subscribe(heard.put_nowait, prefer_notify=uuid == NOTIFYING)
            send = (server.device.notify_subscribers if uuid == NOTIFYING
                    else server.device.indicate_subscribers)
            for number in range(20):
                value = bytes([number]) * 20
                await send(served, value)
                assert await asyncio.wait_for(heard.get(), limits.EVENT) == value

        with pytest.raises(ProtocolError):
            await table[ENCRYPTED].read_value()
        await connection.disconnect()
        assert await asyncio.wait_for(server.disconnections.get(), limits.EVENT) == 0x13


async def test_two_bumble_hosts_pair_and_encrypt(radio):
    async with bumble_peripheral(radio) as _, bumble_central(radio) as central:
        connection = await central.connect(await find(central, "Bumble peer"))
        await connection.pair()
        assert connection.is_encrypted
        table = await characteristics(Peer(connection))
        assert await table[ENCRYPTED].read_value() == b"secret"


async def test_two_bumble_hosts_stream_over_a_channel(radio):
    async with bumble_peripheral(radio) as server, bumble_central(radio) as central:
        server.listen(0x0080)
        connection = await central.connect(await find(central, "Bumble peer"))
        channel = await connection.create_l2cap_channel(
            l2cap.LeCreditBasedChannelSpec(psm=0x0080, mtu=2048, mps=512, max_credits=8))
        echoed = bytearray()
        complete = asyncio.Event()
        sent = bytes(index % 256 for index in range(20_000))

        def received(data):
            echoed.extend(data)
            if len(echoed) >= len(sent):
                complete.set()

        channel.sink = received
        channel.write(sent)
        await asyncio.wait_for(complete.wait(), 60)
        assert bytes(echoed) == sent
        await channel.disconnect()
