"""`ambit apps` and apps, with a lock on Bumble's host that goes out of range and comes back, and a central on it."""

import asyncio
import contextlib
import json
import os
import pathlib
import plistlib
import shutil

import pytest
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service

import limits
from bumble_peers import PERIPHERAL_ADDRESS, bumble_central, bumble_device, characteristics
from debian_programs import unavailable
from radios import AMBIT, RADIOS, ROOT, end

LOCK, BELL = "com.example.lock", "com.example.bell"
SERVICE, COMMAND = UUID.from_16_bits(0xFFF0), UUID.from_16_bits(0xFFF1)


class Lock:
    """A lock that is opened by a write."""

    def __init__(self, device):
        self.commands, self.connections = asyncio.Queue(), asyncio.Queue()
        device.add_service(Service(SERVICE, [
            Characteristic(
                COMMAND, Characteristic.Properties.WRITE, Characteristic.WRITEABLE,
                CharacteristicValue(
                    write=lambda _, value: self.commands.put_nowait(bytes(value)))),
        ]))
        device.on("connection", self.connections.put_nowait)


@contextlib.asynccontextmanager
async def lock_in_range(radio):
    """The lock, until it is out of range: its controller is gone without a word to its peers."""
    async with bumble_device(radio, "Lock", PERIPHERAL_ADDRESS) as device:
        lock = Lock(device)
        await device.power_on()
        device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, b"\x06"),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\xf0\xff"),
        ]))
        await device.start_advertising()
        yield lock


class Apps:
    """A manager of apps, with a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = os.environ | {
            "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder), "HOME": str(folder)}

    def start(self, *arguments):
        return asyncio.create_subprocess_exec(
            AMBIT, *arguments, env=self.environment, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)

    async def __call__(self, *arguments):
        """Runs a command, and gives the objects that it writes."""
        process = await self.start(*arguments, "--json")
        try:
            output, _ = await asyncio.wait_for(process.communicate(), limits.EVENT)
        finally:
            await end(process)
        assert process.returncode == 0, output.decode()
        return [json.loads(line) for line in output.splitlines()]

    async def until(self, condition, app=LOCK):
        """Waits for a status of the app; its manager has no subscription for it."""
        async with asyncio.timeout(limits.EVENT):
            while True:
                [status] = await self("app", "status", app)
                if condition(status):
                    return status
                await asyncio.sleep(0.1)

    async def until_lines(self, app, condition):
        """Waits until an app has written lines."""
        async with asyncio.timeout(limits.EVENT):
            while not condition(lines := [event["line"] for event in await self("app", "log", app)]):
                await asyncio.sleep(0.1)
        return lines

    async def until_written(self):
        """Waits until all that the next manager takes over is on the disk."""
        async with asyncio.timeout(limits.EVENT):
            while not (await self("apps", "status"))[0]["isWritten"]:
                await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def manager(radio, folder):
    apps = Apps(folder)
    process = await apps.start(
        "apps", "--freezer", "signals", "--no-memory-pressure", "--radio", f"tcp:{radio}", "--json")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        assert json.loads(line)["event"] == "serving", line
        apps.kill = process.kill
        yield apps
    finally:
        await end(process)


def app_folder(place, name):
    """The folder of an app without its Info.plist. Only the tree of tests has its program."""
    program = next(
        (path for path in (AMBIT.parent / name, ROOT / ".build/debug" / name) if path.exists()), None)
    if program is None:
        unavailable(f"{name} is not built: swift build --product {name}")
    place.mkdir()
    (place / name).symlink_to(pathlib.Path(program).resolve())
    return place


def door_lock(folder):
    """The folder of the example."""
    place = app_folder(folder / "DoorLock", "door-lock")
    shutil.copy(ROOT / "Examples/DoorLockApp/Info.plist", place)
    return place


def bell(folder):
    """The folder of an app with a service, which sends a value to each central that subscribes."""
    place = app_folder(folder / "Bell", "app-services")
    (place / "Info.plist").write_bytes(plistlib.dumps({
        "CFBundleIdentifier": BELL, "CFBundleExecutable": "app-services",
        "UIBackgroundModes": ["bluetooth-peripheral"]}))
    (place / "orders").write_text("bell")
    return place


@pytest.mark.parametrize("kind", ["ambit", "rootcanal"])
async def test_an_ended_app_is_launched_when_its_lock_is_in_range_again_and_opens_it_once(
        kind, tmp_path):
    async with RADIOS[kind]() as radio, manager(radio, tmp_path) as apps:
        await apps("app", "install", str(door_lock(tmp_path)))
        async with lock_in_range(radio) as lock:
            await apps("app", "foreground", LOCK)
            await asyncio.wait_for(lock.connections.get(), limits.EVENT)
            await apps.until(lambda app: app["connections"] == 1)
            await apps("app", "background", LOCK)
            await apps.until(lambda app: app["state"] == "suspended")
            assert lock.commands.empty(), "it is not opened while its owner looks at the app"
        # The link ends by its supervision timeout, for which the app is woken: it connects again.
        await apps.until(lambda app: app["state"] == "suspended" and app["pendingConnections"] == 1)
        await apps("app", "terminate", LOCK)
        await apps.until(lambda app: app["state"] == "notRunning")

        async with lock_in_range(radio) as lock:
            assert await asyncio.wait_for(lock.commands.get(), limits.EVENT) == b"\x01"
            app = await apps.until(lambda app: app["state"] == "suspended")
            assert app["launches"] == 2 and app["unacknowledged"] == 0
            assert lock.commands.empty()
        lines = [event["line"] for event in await apps("app", "log", LOCK)]
        assert [line for line in lines if line == "launched for lock"] == ["launched for lock"]


@contextlib.asynccontextmanager
async def connected(radio):
    """The services of the only device that advertises, whose name is withheld in the background."""
    async with bumble_central(radio) as central:
        found = asyncio.get_running_loop().create_future()
        central.on(
            "advertisement",
            lambda heard: heard.is_connectable and not found.done() and found.set_result(heard.address))
        await central.start_scanning()
        address = await asyncio.wait_for(found, limits.EVENT)
        await central.stop_scanning()
        async with asyncio.timeout(limits.EVENT):
            yield await characteristics(Peer(await central.connect(address)))


async def test_a_service_of_an_ended_app_outlives_a_kill_of_the_manager(tmp_path):
    value = "UUID-16:FF01"
    async with RADIOS["ambit"]() as radio:
        async with manager(radio, tmp_path) as apps:
            await apps("app", "install", str(bell(tmp_path)))
            await apps("app", "foreground", BELL)
            await apps.until_lines(BELL, lambda lines: "advertises" in lines)
            await apps("app", "background", BELL)
            await apps.until(lambda app: app["state"] == "suspended", BELL)
            await apps("app", "terminate", BELL)
            await apps.until(lambda app: app["state"] == "notRunning", BELL)
            await apps.until_written()
            apps.kill()
        async with manager(radio, tmp_path) as apps:
            async with connected(radio) as table:
                values = asyncio.Queue()
                await table[value].subscribe(values.put_nowait)
                assert await asyncio.wait_for(values.get(), limits.EVENT) == b"\x07"
                assert await table[value].read_value() == b"*"
            app = await apps.until(lambda app: app["state"] == "suspended", BELL)
            assert app["launches"] == 1 and app["unacknowledged"] == 0
            lines = await apps.until_lines(BELL, lambda lines: "read" in lines)
            assert [line for line in lines if "HubClient" not in line] == [
                "launched in the background", "restored 1, advertises true", "subscribed", "read"]
