"""`ambit` as central, Bumble's host as peripheral, on every radio."""

import asyncio

import pytest

import limits
from ambit_cli import Ambit, Failed
from bumble_peers import (
    ENCRYPTED, INDICATING, LONG, LONG_VALUE, NOTIFYING, PERIPHERAL_ADDRESS, READABLE, SERVICE,
    WRITEABLE, bumble_peripheral)

NAME = "Bumble peer"


async def test_scanning_finds_name_address_and_services(radio, request):
    async with bumble_peripheral(radio):
        # Bumble's controllers send no scan responses, which is where the services are.
        services = [] if request.node.callspec.params["radio"] == "bumble" else [SERVICE]

        def is_complete(event):
            found = [service["uuid"] for service in event.get("services", [])]
            return event.get("name") == NAME and set(services) <= set(found)

        async with Ambit(radio).running("scan") as next_event:
            event = await next_event()
            while event["address"] != PERIPHERAL_ADDRESS or not is_complete(event):
                event = await next_event()
        assert event["addressType"] == "random"
        assert event["connectable"]


async def test_inspecting_lists_what_bumble_serves(radio):
    async with bumble_peripheral(radio) as server:
        events = await Ambit(radio).json("inspect", NAME)
        connection = await asyncio.wait_for(server.connections.get(), limits.EVENT)
        assert connection.att_mtu > 23, "the MTU was exchanged"
        found = {event["uuid"]: event for event in events if event["event"] == "characteristic"}
        assert found[READABLE]["text"] == "hello"
        assert found[LONG]["hex"] == LONG_VALUE.hex()
        # It needs an encrypted link, for which both pair.
        assert found[ENCRYPTED]["text"] == "secret"
        assert set(found[NOTIFYING]["properties"]) == {"read", "notify"}
        described = [event for event in events
                     if event["event"] == "descriptor" and event["uuid"] == "2901"]
        assert described[0]["text"] == "a greeting"
        assert await asyncio.wait_for(server.disconnections.get(), limits.EVENT) == 0x13


@pytest.mark.parametrize("handler, step", [
    ("on_att_read_by_group_type_request", "discovering its services"),
    ("on_att_find_information_request", "discovering the descriptors of 2A05"),
    ("on_att_read_request", "reading"),
])
async def test_an_inspection_fails_if_the_device_disconnects_in_the_middle(radio, handler, step):
    async with bumble_peripheral(radio) as server:
        def disconnect(bearer, _):
            disconnections.append(asyncio.create_task(bearer.disconnect()))

        disconnections = []
        setattr(server.device.gatt_server, handler, disconnect)
        with pytest.raises(Failed, match=f"has disconnected from us, while {step}"):
            await Ambit(radio).json("inspect", NAME)
        assert len(disconnections) == 1
        await asyncio.wait(disconnections, timeout=limits.EVENT)


async def test_values_are_read_and_written(radio):
    async with bumble_peripheral(radio) as server:
        ambit = Ambit(radio)
        assert (await ambit.json("read", NAME, LONG))[0]["hex"] == LONG_VALUE.hex()
        with pytest.raises(Failed) as refused:
            await ambit("read", NAME, ENCRYPTED, "--pair", "never")
        assert refused.value.status == 1
        for value, options in [
                (b"with response", []), (b"without", ["--without-response"]),
                (bytes(range(256)) + bytes(44), [])]:
            await ambit("write", *options, NAME, WRITEABLE, value.hex())
            assert await asyncio.wait_for(server.written.get(), limits.EVENT) == value
        assert (await ambit.json("read", NAME, WRITEABLE))[0]["hex"] == server.stored.hex()


@pytest.mark.parametrize("uuid", [NOTIFYING, INDICATING])
async def test_subscribed_values_arrive_in_order(radio, uuid):
    async with bumble_peripheral(radio) as server:
        async with Ambit(radio).running("subscribe", NAME, uuid) as next_event:
            await asyncio.wait_for(server.subscribed(uuid), limits.EVENT)
            for number in range(30):
                value = bytes([number]) * (1 + number)
                await server.send(uuid, value)
                assert (await next_event("value"))["hex"] == value.hex()


async def test_the_peripheral_may_end_the_connection(radio):
    async with bumble_peripheral(radio) as server:
        async with Ambit(radio).running("subscribe", NAME, NOTIFYING) as next_event:
            await asyncio.wait_for(server.subscribed(NOTIFYING), limits.EVENT)
            connection = await asyncio.wait_for(server.connections.get(), limits.EVENT)
            await connection.disconnect()
            with pytest.raises(Failed) as ended:
                await next_event("value")
            assert ended.value.status == 1
            assert "disconnected" in ended.value.message


async def test_the_peripheral_may_ask_for_other_parameters(radio):
    async with bumble_peripheral(radio) as server:
        async with Ambit(radio).running("subscribe", NAME, NOTIFYING):
            await asyncio.wait_for(server.subscribed(NOTIFYING), limits.EVENT)
            connection = await asyncio.wait_for(server.connections.get(), limits.EVENT)
            updated = asyncio.Event()
            connection.on("connection_parameters_update", updated.set)
            # The request of L2CAP's signalling channel, not the link layer's.
            await connection.device.l2cap_channel_manager.update_connection_parameters(
                connection, 60, 80, 0, 300)
            await asyncio.wait_for(updated.wait(), limits.EVENT)
            assert 75 <= connection.parameters.connection_interval <= 100


async def test_a_channel_carries_bytes_both_ways(radio):
    async with bumble_peripheral(radio) as server:
        server.listen(0x0080)
        sent = bytes(index % 256 for index in range(20_000))
        echoed = await Ambit(radio)("channel", NAME, "0x80", stdin=sent, timeout=60)
        assert echoed == sent
