"""A small bluetoothd with one device, on a bus of its own: what a client itself takes for a read or a value, without a
controller, a device and an emulated machine."""

import asyncio
import contextlib
import itertools
import os
import pathlib
import sys

ADAPTER = "/org/bluez/hci0"
ADDRESS = "C4:F0:00:00:00:01"
DEVICE = f"{ADAPTER}/dev_{ADDRESS.replace(':', '_')}"
SERVICE = f"{DEVICE}/service000a"
VALUES = {
    f"{SERVICE}/char000b": ("0000ab11-5d4e-4f3a-9b1c-0e2d3c4b5a69", ["read"]),
    f"{SERVICE}/char000d": ("0000ab14-5d4e-4f3a-9b1c-0e2d3c4b5a69", ["notify"]),
}
CONFIGURATION = """<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""
PROPERTIES, MANAGER = "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"


@contextlib.asynccontextmanager
async def bus_with_fake(folder, packages):
    """Starts a bus and this program on it; gives the bus's address. `packages` has dbus_fast."""
    (folder / "bus.conf").write_text(CONFIGURATION.format(folder / "socket"))
    address = f"unix:path={folder / 'socket'}"
    environment = os.environ | {"DBUS_SYSTEM_BUS_ADDRESS": address, "PYTHONPATH": str(packages)}
    async with contextlib.AsyncExitStack() as stack:
        for command in (
            ["dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork", "--nopidfile", "--print-address=1"],
            [sys.executable, str(pathlib.Path(__file__))],
        ):
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdout=asyncio.subprocess.PIPE)
            stack.push_async_callback(process.wait)
            stack.callback(process.terminate)
            # A line when it is ready.
            assert await process.stdout.readline(), f"{command} has ended"
        yield address


class Daemon:
    """Answers as bluetoothd does, and in its order: the signal of a read value is before the reply."""

    def __init__(self, bus):
        from dbus_fast import Variant

        self._bus, self._variant = bus, Variant
        self._is_connected = False
        self._notifying = None
        self._advertising = None

    async def run(self):
        self._bus.add_message_handler(self._handle)
        await self._bus.request_name("org.bluez")
        print("ready", flush=True)
        await self._bus.wait_for_disconnect()

    def _properties(self, interface, path):
        v = self._variant
        if interface == "org.bluez.Adapter1":
            return {"Address": v("s", "00:1A:7D:DA:71:13"), "Powered": v("b", True), "Name": v("s", "fake"),
                    "Roles": v("as", ["central", "peripheral"])}
        if interface == "org.bluez.Device1":
            return {
                "Address": v("s", ADDRESS), "AddressType": v("s", "random"), "Name": v("s", "fake"),
                "Alias": v("s", "fake"), "Adapter": v("o", ADAPTER), "RSSI": v("n", -50), "Paired": v("b", False),
                "UUIDs": v("as", []), "Connected": v("b", self._is_connected),
                "ServicesResolved": v("b", self._is_connected)}
        if interface == "org.bluez.GattService1":
            return {"UUID": v("s", "0000ab10-5d4e-4f3a-9b1c-0e2d3c4b5a69"), "Primary": v("b", True),
                    "Device": v("o", DEVICE)}
        uuid, flags = VALUES[path]
        return {"UUID": v("s", uuid), "Service": v("o", SERVICE), "Flags": v("as", flags), "MTU": v("q", 247),
                "Notifying": v("b", False)}

    def _objects(self):
        return {
            ADAPTER: ["org.bluez.Adapter1"], **({DEVICE: ["org.bluez.Device1"]} if self._is_connected else {}),
            **({SERVICE: ["org.bluez.GattService1"], **{path: ["org.bluez.GattCharacteristic1"] for path in VALUES}}
               if self._is_connected else {})}

    def _signal(self, path, interface, member, signature, body):
        from dbus_fast import Message

        self._bus.send(Message.new_signal(path, interface, member, signature, body))

    def _add(self, path, interface):
        values = {interface: self._properties(interface, path)}
        self._signal("/", MANAGER, "InterfacesAdded", "oa{sa{sv}}", [path, values])

    def _change(self, path, interface, values):
        self._signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", [interface, values, []])

    def _handle(self, message):
        from dbus_fast import Message, MessageType

        if message.message_type is not MessageType.METHOD_CALL:
            return None
        method = getattr(self, f"_{message.member}", None)
        signature, body = (method and method(message)) or ("", [])
        return Message.new_method_return(message, signature, body)

    def _GetManagedObjects(self, message):
        return "a{oa{sa{sv}}}", [{
            path: {interface: self._properties(interface, path) for interface in interfaces}
            for path, interfaces in self._objects().items()}]

    def _GetAll(self, message):
        return "a{sv}", [self._properties(message.body[0], message.path)]

    def _StartDiscovery(self, message):
        self._advertising = asyncio.create_task(self._advertise())

    def _StopDiscovery(self, message):
        if self._advertising:
            self._advertising.cancel()

    async def _advertise(self):
        """After the reply, and then twenty times a second."""
        await asyncio.sleep(0)
        self._add(DEVICE, "org.bluez.Device1")
        for number in itertools.count():
            await asyncio.sleep(0.05)
            self._change(DEVICE, "org.bluez.Device1", {"RSSI": self._variant("n", -50 - number % 2)})

    def _Connect(self, message):
        self._is_connected = True
        v = self._variant
        self._change(DEVICE, "org.bluez.Device1", {"Connected": v("b", True)})
        self._add(SERVICE, "org.bluez.GattService1")
        for path in VALUES:
            self._add(path, "org.bluez.GattCharacteristic1")
        self._change(DEVICE, "org.bluez.Device1", {"ServicesResolved": v("b", True)})

    def _Disconnect(self, message):
        self._is_connected = False
        if self._notifying:
            self._notifying.cancel()
        v = self._variant
        self._change(DEVICE, "org.bluez.Device1", {"Connected": v("b", False), "ServicesResolved": v("b", False)})

    def _ReadValue(self, message):
        self._change(message.path, "org.bluez.GattCharacteristic1", {"Value": self._variant("ay", b"value")})
        return "ay", [b"value"]

    def _StartNotify(self, message):
        self._notifying = asyncio.create_task(self._notify(message.path))

    def _StopNotify(self, message):
        if self._notifying:
            self._notifying.cancel()

    async def _notify(self, path):
        number = 0
        while True:
            # As many as a client can take, and others in between.
            for _ in range(20):
                self._change(path, "org.bluez.GattCharacteristic1", {"Value": self._variant("ay", b"%06d" % number)})
                number += 1
            await asyncio.sleep(0.01)


async def main():
    from dbus_fast import BusType
    from dbus_fast.aio import MessageBus

    await Daemon(await MessageBus(bus_type=BusType.SYSTEM).connect()).run()


if __name__ == "__main__":
    asyncio.run(main())
