"""Devices on Bumble's host: a peripheral with a bit of everything, and a central."""

import asyncio
import contextlib

from bumble import gatt, l2cap
from bumble.core import AdvertisingData
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.hci import Address
from bumble.transport import open_transport

import limits

PERIPHERAL_ADDRESS = "C4:F0:00:00:00:01"
CENTRAL_ADDRESS = "C4:F0:00:00:00:02"

SERVICE = "0000AB10-5D4E-4F3A-9B1C-0E2D3C4B5A69"
READABLE = "0000AB11-5D4E-4F3A-9B1C-0E2D3C4B5A69"
LONG = "0000AB12-5D4E-4F3A-9B1C-0E2D3C4B5A69"
WRITEABLE = "0000AB13-5D4E-4F3A-9B1C-0E2D3C4B5A69"
NOTIFYING = "0000AB14-5D4E-4F3A-9B1C-0E2D3C4B5A69"
INDICATING = "0000AB15-5D4E-4F3A-9B1C-0E2D3C4B5A69"
ENCRYPTED = "0000AB16-5D4E-4F3A-9B1C-0E2D3C4B5A69"

LONG_VALUE = bytes(index % 251 for index in range(500))


@contextlib.asynccontextmanager
async def bumble_device(radio, name, address, **settings):
    """A Bumble host on a controller of the radio, not yet switched on."""
    # Ten times as often as by default: a central needs two or three of them before it is connected.
    settings = {"advertising_interval_min": 100, "advertising_interval_max": 100} | settings
    configuration = DeviceConfiguration(name=name, address=Address(address), **settings)
    async with await open_transport(f"tcp-client:{radio}") as transport:
        yield Device.from_config_with_hci(configuration, transport.source, transport.sink)


class Everything:
    """What the peripheral serves, and what was done to it."""

    def __init__(self, device):
        self.device = device
        self.written = asyncio.Queue()
        self.connections = asyncio.Queue()
        self.disconnections = asyncio.Queue()
        self.channels = asyncio.Queue()
        self.stored = b""

        def write(_, value):
            self.stored = bytes(value)
            self.written.put_nowait(bytes(value))

        can = Characteristic.Properties
        self.notifying = Characteristic(
            NOTIFYING, can.NOTIFY | can.READ, Characteristic.READABLE, b"n0")
        self.indicating = Characteristic(
            INDICATING, can.INDICATE | can.READ, Characteristic.READABLE, b"i0")
        device.add_service(Service(SERVICE, [
            Characteristic(
                READABLE, can.READ, Characteristic.READABLE, b"hello",
                [Descriptor(gatt.GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR,
                            Descriptor.READABLE, b"a greeting")]),
            Characteristic(LONG, can.READ, Characteristic.READABLE, LONG_VALUE),
            Characteristic(
                WRITEABLE, can.READ | can.WRITE | can.WRITE_WITHOUT_RESPONSE,
                Characteristic.READABLE | Characteristic.WRITEABLE,
                CharacteristicValue(read=lambda _: self.stored, write=write)),
            self.notifying,
            self.indicating,
            Characteristic(
                ENCRYPTED, can.READ,
                Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION, b"secret"),
        ]))
        device.on("connection", self._connected)

        self._subscriptions = {NOTIFYING: asyncio.Event(), INDICATING: asyncio.Event()}
        for uuid, served in [(NOTIFYING, self.notifying), (INDICATING, self.indicating)]:
            served.on("subscription", lambda *_, uuid=uuid: self._subscriptions[uuid].set())

    async def subscribed(self, uuid):
        """Waits until a central has subscribed."""
        await self._subscriptions[uuid].wait()

    def forget_subscriptions(self):
        """Lets `subscribed` wait for the next one."""
        for subscription in self._subscriptions.values():
            subscription.clear()

    async def send(self, uuid, value):
        """Notifies or indicates a value."""
        if uuid == NOTIFYING:
            await self.device.notify_subscribers(self.notifying, value)
        else:
            await self.device.indicate_subscribers(self.indicating, value)

    def _connected(self, connection):
        self.connections.put_nowait(connection)
        connection.on("disconnection", self.disconnections.put_nowait)

    def listen(self, psm):
        """Accepts credit-based channels and echoes what arrives on them."""
        def opened(channel):
            channel.sink = channel.write
            self.channels.put_nowait(channel)

        self.device.create_l2cap_server(
            l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=2048, mps=512, max_credits=8), opened)

    async def advertise(self):
        self.device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, b"\x06"),
            (AdvertisingData.COMPLETE_LOCAL_NAME, b"Bumble peer"),
        ]))
        self.device.scan_response_data = bytes(AdvertisingData([
            (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
             bytes.fromhex(SERVICE.replace("-", ""))[::-1]),
        ]))
        await self.device.start_advertising(auto_restart=True)


@contextlib.asynccontextmanager
async def bumble_peripheral(radio, **settings):
    """The peripheral, advertising."""
    async with bumble_device(radio, "Bumble peer", PERIPHERAL_ADDRESS, **settings) as device:
        everything = Everything(device)
        await device.power_on()
        await everything.advertise()
        yield everything


@contextlib.asynccontextmanager
async def bumble_central(radio):
    """A central, switched on."""
    async with bumble_device(radio, "Bumble central", CENTRAL_ADDRESS) as device:
        await device.power_on()
        yield device


async def find(device, name, seconds=limits.EVENT):
    """The address of the first advertiser with this name."""
    found = asyncio.get_running_loop().create_future()

    def heard(advertisement):
        if found.done():
            return
        if advertisement.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == name:
            found.set_result(advertisement.address)

    device.on("advertisement", heard)
    await device.start_scanning(active=True, filter_duplicates=False)
    try:
        return await asyncio.wait_for(found, seconds)
    finally:
        await device.stop_scanning()
        device.remove_listener("advertisement", heard)


async def characteristics(peer):
    """Everything that the peer serves, by the UUID's text."""
    await peer.discover_services()
    await peer.discover_characteristics()
    table = {}
    for service in peer.services:
        for characteristic in service.characteristics:
            await characteristic.discover_descriptors()
            table[str(characteristic.uuid).split(" ")[0].upper()] = characteristic
    return table
