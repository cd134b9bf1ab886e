"""bleak in the virtual machine, beside ambit on the same adapter. It uses the device that ambit has connected, lets go of
its subscription, and at the next word in /tmp/word has a link of its own: a line for each step and value."""

import asyncio

from bleak import BleakClient, BleakScanner
from bleak.backends.device import BLEDevice

ADDRESS = "C4:F0:00:00:00:01"
NOTIFYING = "0000ab14-5d4e-4f3a-9b1c-0e2d3c4b5a69"
PATH = "/org/bluez/hci0/dev_" + ADDRESS.replace(":", "_")


def step(text):
    print(text, flush=True)


async def word():
    """Waits until the test writes into the pipe."""
    await asyncio.to_thread(lambda: open("/tmp/word").read())


async def subscribe(client, prefix):
    """Writes each value; gives an event after three."""
    count, enough = 0, asyncio.Event()

    def value(_, data):
        nonlocal count
        count += 1
        step(f"{prefix} {data.hex()}")
        if count == 3:
            enough.set()

    await client.start_notify(NOTIFYING, value)
    return enough


async def main():
    # A device with a link needs no discovery.
    device = BLEDevice(ADDRESS, "Bumble peer", {"path": PATH, "props": {"Address": ADDRESS, "AddressType": "random"}})
    client = BleakClient(device)
    await client.connect()
    await (await subscribe(client, "joined")).wait()
    await client.stop_notify(NOTIFYING)
    step("let go")
    await word()
    await client.disconnect()
    step("disconnected")
    await word()
    async with BleakClient(await BleakScanner.find_device_by_address(ADDRESS, timeout=30)) as client:
        await subscribe(client, "own")
        await word()
    step("ended")


asyncio.run(main())
