"""Bumble's host as the competitor: the same jobs, on the same controller, timed by the receiver.

usage: bumble_host.py HOST:PORT serve                      a peripheral that serves until ended
       bumble_host.py HOST:PORT JOB SECONDS                a central that does one job and prints
                                                           {"job": ..., "per_second": ...}
Jobs: notifications reads writes channel connections
"""

import asyncio
import json
import sys
import time

from bumble import l2cap
from bumble.core import AdvertisingData
from bumble.device import Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.transport import open_transport

NAME = "bench"
SERVICE = "0000BE00-5D4E-4F3A-9B1C-0E2D3C4B5A69"
NOTIFYING = "0000BE01-5D4E-4F3A-9B1C-0E2D3C4B5A69"
VALUE = "0000BE02-5D4E-4F3A-9B1C-0E2D3C4B5A69"
SINK = "0000BE03-5D4E-4F3A-9B1C-0E2D3C4B5A69"
RECEIVED = "0000BE04-5D4E-4F3A-9B1C-0E2D3C4B5A69"
PSM = 0x0080


async def serve(device):
    """Notifies as fast as the controller takes it while anybody is subscribed; swallows writes
    and channel data and tells how much of it came."""
    received = 0

    def sink(_, value):
        nonlocal received
        received += 1

    def channel_data(data):
        nonlocal received
        received += len(data)

    can = Characteristic.Properties
    notifying = Characteristic(NOTIFYING, can.NOTIFY, Characteristic.READABLE, b"")
    device.add_service(Service(SERVICE, [
        notifying,
        Characteristic(VALUE, can.READ, Characteristic.READABLE, bytes(20)),
        Characteristic(
            SINK, can.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE,
            CharacteristicValue(write=sink)),
        Characteristic(
            RECEIVED, can.READ, Characteristic.READABLE,
            CharacteristicValue(read=lambda _: received.to_bytes(8, "little"))),
    ]))
    device.create_l2cap_server(
        l2cap.LeCreditBasedChannelSpec(psm=PSM, mtu=2048, mps=1024, max_credits=64),
        lambda channel: setattr(channel, "sink", channel_data))

    subscribed = {}

    def subscription(connection, notify, _):
        if notify and connection.handle not in subscribed:
            subscribed[connection.handle] = asyncio.create_task(flood(connection))
        elif not notify and connection.handle in subscribed:
            subscribed.pop(connection.handle).cancel()

    async def flood(connection):
        queue = device.host.le_acl_packet_queue
        while True:
            for _ in range(50):
                await device.notify_subscriber(connection, notifying, bytes(20))
            await queue.drain(connection.handle)

    def connected(connection):
        def disconnected(_):
            if flooding := subscribed.pop(connection.handle, None):
                flooding.cancel()

        connection.on("disconnection", disconnected)

    notifying.on("subscription", subscription)
    device.on("connection", connected)
    await device.power_on()
    device.advertising_data = bytes(
        AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode())]))
    await device.start_advertising(
        auto_restart=True, advertising_interval_min=20, advertising_interval_max=20)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def find(device):
    found = asyncio.get_running_loop().create_future()

    def heard(advertisement):
        name = advertisement.data.get(AdvertisingData.COMPLETE_LOCAL_NAME)
        if name == NAME and not found.done():
            found.set_result(advertisement.address)

    device.on("advertisement", heard)
    await device.start_scanning(filter_duplicates=False)
    address = await asyncio.wait_for(found, 20)
    await device.stop_scanning()
    return address


async def run(device, job, seconds):
    await device.power_on()
    address = await find(device)
    if job == "connections":
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            connection = await device.connect(address)
            await connection.disconnect()
            count += 1
        return count / (time.perf_counter() - start)

    connection = await device.connect(address)
    try:
        return await measure(device, connection, job, seconds)
    finally:
        await connection.disconnect()


async def measure(device, connection, job, seconds):
    peer = Peer(connection)
    await peer.discover_services()
    await peer.discover_characteristics()
    table = {str(c.uuid).split(" ")[0].upper(): c for s in peer.services for c in s.characteristics}
    if job == "notifications":
        count = 0

        def received(_):
            nonlocal count
            count += 1

        await table[NOTIFYING].subscribe(received)
        start = time.perf_counter()
        count = 0
        await asyncio.sleep(seconds)
        return count / (time.perf_counter() - start)
    if job == "reads":
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            await table[VALUE].read_value()
            count += 1
        return count / (time.perf_counter() - start)

    async def received():
        return int.from_bytes(await table[RECEIVED].read_value(), "little")

    before, start = await received(), time.perf_counter()
    if job == "writes":
        while time.perf_counter() - start < seconds:
            for _ in range(50):
                await table[SINK].write_value(bytes(20))
            await device.host.le_acl_packet_queue.drain(connection.handle)
    else:
        channel = await connection.create_l2cap_channel(
            l2cap.LeCreditBasedChannelSpec(psm=PSM, mtu=2048, mps=1024, max_credits=64))
        while time.perf_counter() - start < seconds:
            channel.write(bytes(16_384))
            await channel.drain()
    total = await received() - before
    return total / (time.perf_counter() - start)


async def main():
    radio, job = sys.argv[1], sys.argv[2]
    address = "C4:BE:00:00:00:01" if job == "serve" else "C4:BE:00:00:00:02"
    async with await open_transport(f"tcp-client:{radio}") as transport:
        device = Device.with_hci(NAME, Address(address), transport.source, transport.sink)
        if job == "serve":
            await serve(device)
        else:
            print(json.dumps({"job": job, "per_second": await run(device, job, float(sys.argv[3]))}))


asyncio.run(main())
