"""`ambit` over Debian's bluetoothd, as an ordinary user, on Debian's kernel: it uses a device on Bumble's host, and
advertises to one. Both controllers are on one of our simulated radios."""

import asyncio
import base64
import hashlib
import itertools
import json
import re
import shlex

import pytest
import pytest_asyncio
from bumble import l2cap
from bumble.core import UUID, AdvertisingData
from bumble.device import AdvertisingType, Peer

import guest_python
import limits
from bumble_peers import (
    ENCRYPTED, INDICATING, LONG, LONG_VALUE, NOTIFYING, PERIPHERAL_ADDRESS, WRITEABLE, bumble_central, bumble_device,
    bumble_peripheral, find)
from debian_programs import unavailable
from kernel.initramfs import DAEMON, OTHER_DAEMON
from linux_controller import guest, module_fixture, radio  # noqa: F401
from linux_guest import Failed, linux_guest
from radios import AMBIT, ROOT
from test_bluez import SERVICE, VALUE, BlueZ, again_after_crash

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

NAME = "Bumble peer"
ADDRESS = PERIPHERAL_ADDRESS
BEACON_ADDRESS = "C4:F0:00:00:00:04"
BEACON = "E2C56DB5-DFFB-48D2-B060-D0F5A7100001"
# What the app code logs, without the values.
APP_CODE = ["on", "found Pulse strap", "connected", "subscribed", "reset", "disconnected"]
PSM = 0x80
COUNT = "0000ad12-5d4e-4f3a-9b1c-0e2d3c4b5a69"
STEPS = "0000ad13-5d4e-4f3a-9b1c-0e2d3c4b5a69"
SERVED_LONG = "0000ad14-5d4e-4f3a-9b1c-0e2d3c4b5a69"
# Debian 12's bluetoothd is the machine's own; Debian 13's is another program in it.
DAEMONS = {"5.66": DAEMON, "5.82": OTHER_DAEMON}
# With monitors of advertisements.
EXPERIMENTAL = {f"{version} experimental": f"{daemon} --experimental" for version, daemon in DAEMONS.items()}
runs = itertools.count()
with_experimental = pytest.mark.parametrize("bluez", EXPERIMENTAL, indirect=True)
with_both = pytest.mark.parametrize("bluez", DAEMONS, indirect=True)


@module_fixture
async def bare_guest(radio, tmp_path_factory):
    """The machine with both daemons, its controller as it comes and goes; with bleak, and with the app code of Examples
    as a program, which only the tree of tests has."""
    folder = tmp_path_factory.mktemp("guest")
    programs = {"/usr/bin/heart-rate": path} if (path := heart_rate()) else {}
    extras = await asyncio.to_thread(guest_python.files, "bleak_guest.py")
    async with linux_guest(
        radio, folder, suite="trixie", extras=extras, programs=programs, megabytes=1536,
    ) as guest:
        yield guest


def heart_rate():
    """The app code of Examples as a program; None where it is not built."""
    paths = AMBIT.parent / "heart-rate", ROOT / ".build/debug/heart-rate"
    return next((path for path in paths if path.exists()), None)


@pytest_asyncio.fixture(loop_scope="module")
async def bluez(guest, request):
    """Debian 12's bluetoothd unless the test names another. What the other one has stored is removed."""
    daemon = (DAEMONS | EXPERIMENTAL)[getattr(request, "param", "5.66")]
    marker = f"/tmp/stored-by-{'other' if daemon.startswith(OTHER_DAEMON) else 'own'}"
    await guest.run(
        f"[ -e {marker} ] || rm -rf /var/lib/bluetooth/* /tmp/stored-by-*; touch {marker}")
    bluez = BlueZ(guest, daemon)
    try:
        await bluez.start()
        yield bluez
    finally:
        await bluez.end()


class User:
    """Commands in the machine by a user without privileges, whose radio is bluetoothd's."""

    def __init__(self, guest, name="nobody"):
        self._guest, self._name = guest, name

    async def run(self, *arguments, seconds=40, radio="bluez", hub="", shell=""):
        command = self._command(arguments, seconds, radio, hub)
        return await self._guest.run(f"{command} {shell}", seconds + 20)

    async def begin(self, *arguments, seconds=40, output="/tmp/output", lines="/dev/null"):
        """Starts a command that goes on until it is interrupted, or for the time. What it reports on standard error
        is in /tmp/begun."""
        command = self._command(arguments, seconds)
        await self._guest.run(f"{command} 2>/tmp/begun >{output} <{lines} &")

    async def json(self, *arguments, seconds=40, **options):
        output = await self.run(*arguments, "--json", seconds=seconds, **options)
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    def _command(self, arguments, seconds, radio="bluez", hub=""):
        words = ["env", f"AMBIT_RADIO={radio}", f"AMBIT_HUB={hub}",
                 f"XDG_STATE_HOME=/tmp/state-{self._name}",
                 "/usr/bin/ambit", *arguments, "--timeout", str(seconds)]
        return f"su {self._name} -s /bin/sh -c {shlex.quote(shlex.join(words))}"


@pytest.fixture
def user(bluez, guest):
    return User(guest)


async def test_an_ordinary_user_uses_bluetoothd_s_radio(bluez, user):
    status = (await user.json("status"))[0]
    assert status["controller"]["state"] == "poweredOn"
    assert status["radio"] == "bluez"
    assert not status.get("problem")


async def test_bluetoothd_s_radio_is_used_where_none_is_named_and_it_is_on(bluez, user, guest):
    lines = (await user.run("status", radio="")).splitlines()
    assert "bluetoothd's is used" in lines[0] and "hci0" in lines[0]
    assert any(re.match(r"radio +bluetoothd's adapter \(none was named\)", line) for line in lines)
    assert (await user.run("radio", "list", radio="")).startswith("* bluez")
    await guest.run("bluetoothctl power off")
    try:
        output = await user.run("status", radio="")
    finally:
        await guest.until("bluetoothctl power on; bluetoothctl show", "Powered: yes")
    assert "all devices are simulated" in output and "bluetoothctl power on" in output


@with_both
async def test_an_ordinary_user_discovers_a_device(bluez, user, radio):
    async with bumble_peripheral(radio):
        # Until it is found: the other devices of the radio end the command then.
        line = await user.run("scan", "--json", seconds=30, shell=f"| grep -m 1 '{NAME}'")
    assert json.loads(line)["rssi"] < 0


@with_both
@again_after_crash
async def test_an_ordinary_user_reads_writes_and_is_indicated(bluez, user, radio, guest):
    long = bytes(range(256)) + bytes(44)
    commands = [f"read {LONG}", f"write {WRITEABLE} cafe", f"write {WRITEABLE} {long.hex()}",
                f"write --without-response {WRITEABLE} beef", f"read {WRITEABLE}"]
    lines = base64.b64encode("\n".join([*commands, ""]).encode()).decode()
    await guest.run(f"echo {lines} | base64 -d >/tmp/commands; chmod 644 /tmp/commands")
    async with bumble_peripheral(radio) as peer:
        values = await user.json("shell", NAME, shell="</tmp/commands")
        read = [event["hex"] for event in values if event["event"] == "value"]
        assert read == [LONG_VALUE.hex(), "beef"]
        for value in b"\xca\xfe", long, b"\xbe\xef":
            assert await asyncio.wait_for(peer.written.get(), limits.EVENT) == value
        # Its first link has ended, and bluetoothd has its services.
        received = asyncio.create_task(user.json("subscribe", NAME, INDICATING, "--count", "5"))
        await asyncio.wait_for(peer.subscribed(INDICATING), limits.EVENT)
        sent = [bytes([number]) * (1 + 4 * number) for number in range(5)]
        for value in sent:
            await peer.send(INDICATING, value)
        assert [event["hex"] for event in await received if event["event"] == "value"] == [
            value.hex() for value in sent]


@again_after_crash
async def test_programs_of_an_ordinary_user_s_hub_use_bluetoothd_s_radio(bluez, radio, guest):
    # Another one than the user without a number of its own, whose hubs are not trusted.
    user = User(guest, "ann")
    await user.begin(
        "hub", "run", "--no-network", "--metrics", "off", "--socket", "/tmp/hub", seconds=60)
    await guest.until("cat /tmp/output", "Hub at /tmp/hub")
    try:
        async with bumble_peripheral(radio) as peer:
            await user.run("write", NAME, WRITEABLE, "cafe", radio="", hub="/tmp/hub")
            assert await asyncio.wait_for(peer.written.get(), limits.EVENT) == b"\xca\xfe"
    finally:
        await guest.run("kill $(pidof ambit-hub ambit)")


async def send_steadily(peer):
    """Sends ten values a second to each subscriber."""
    number = 0
    while True:
        await peer.send(NOTIFYING, b"%06d" % number)
        number += 1
        await asyncio.sleep(0.1)


async def goes_on(guest, path, word):
    """Waits for three more lines with a word in a file of the machine."""
    async def count():
        return int((await guest.attempt(f"grep -c {word} {path}"))[1])

    before = await count()
    async with asyncio.timeout(limits.EVENT):
        while await count() < before + 3:
            await asyncio.sleep(0.1)


@with_both
@again_after_crash
async def test_bleak_uses_the_same_device_at_the_same_time(bluez, user, radio, guest):
    await guest.run("rm -f /tmp/word; mkfifo -m 666 /tmp/word")
    async with bumble_peripheral(radio) as peer:
        sending = asyncio.create_task(send_steadily(peer))
        try:
            # The link is ambit's; bleak joins, and lets go of its subscription.
            await user.begin("subscribe", ADDRESS, NOTIFYING, "--json", output="/tmp/ours", seconds=90)
            await guest.until("grep -m 1 hex /tmp/ours", "hex")
            await guest.run(f"su nobody -s /bin/sh -c '{guest_python.COMMAND} /bleak_guest.py' >/tmp/bleak 2>&1 &")
            await guest.until("grep -v own /tmp/bleak", "joined(?s:.*)let go")
            await goes_on(guest, "/tmp/ours", "hex")
            # bleak ends the link, and ambit reports that.
            await guest.run("echo next >/tmp/word")
            await guest.until("grep -v own /tmp/bleak", "disconnected")
            await guest.until("cat /tmp/begun", "disconnected")
            # The next link is bleak's; ambit joins and leaves, and it goes on.
            await guest.run("echo next >/tmp/word")
            await guest.until("grep -m 1 own /tmp/bleak", "own")
            await peer.device.start_advertising()
            events = await user.json("subscribe", ADDRESS, NOTIFYING, "--count", "3")
            assert sum(event["event"] == "value" for event in events) == 3
            await goes_on(guest, "/tmp/bleak", "own")
            await guest.run("echo next >/tmp/word")
            await guest.until("grep -v own /tmp/bleak", "ended")
        finally:
            sending.cancel()


@again_after_crash
async def test_a_program_goes_on_when_another_client_disconnects_and_removes_its_device(
    bluez, user, radio, guest
):
    await guest.run(f"printf 'subscribe {NOTIFYING}\\nwait 90\\n' >/tmp/commands; chmod 644 /tmp/commands")
    async with bumble_peripheral(radio) as peer:
        sending = asyncio.create_task(send_steadily(peer))
        try:
            await user.begin(
                "shell", ADDRESS, "--json", output="/tmp/ours", lines="/tmp/commands", seconds=90)
            await guest.until("grep -m 1 hex /tmp/ours", "hex")
            lost = ""
            for interference in f"disconnect {ADDRESS}", f"remove {ADDRESS}":
                await guest.run(f"bluetoothctl discoverable on; bluetoothctl {interference}")
                lost += "(?s:.*)connecting again"
                await guest.until("cat /tmp/begun", lost)
                await goes_on(guest, "/tmp/ours", "hex")
            # Without the radio the command ends.
            await guest.run("bluetoothctl power off")
            await guest.until("cat /tmp/begun", "bluetoothctl power on")
        finally:
            sending.cancel()
            await guest.until("bluetoothctl power on; bluetoothctl show", "Powered: yes")


@with_both
@again_after_crash
async def test_app_code_of_the_examples_follows_a_strap_and_is_one(bluez, radio, guest):
    if heart_rate() is None:
        unavailable("heart-rate is not built: swift build --product heart-rate")
    program = "su nobody -s /bin/sh -c 'env AMBIT_RADIO=bluez XDG_STATE_HOME=/tmp/state-nobody timeout 60 heart-rate {}'"
    # The strap among the radio's own devices.
    lines = (await guest.run(program.format("monitor"), 80)).splitlines()
    assert [line for line in lines if line in APP_CODE] == APP_CODE, lines
    assert sum(line.startswith("rate ") for line in lines) >= 4

    await guest.run(program.format("strap") + " >/tmp/strap 2>&1 &")
    async with bumble_central(radio) as central:
        connection = await central.connect(await find(central, "Strap"))
        peer = Peer(connection)
        await peer.discover_services()
        service = next(found for found in peer.services if found.uuid == UUID.from_16_bits(0x180D))
        await peer.discover_characteristics(service=service)
        measurement, control = [
            next(found for found in service.characteristics if found.uuid == UUID.from_16_bits(uuid))
            for uuid in (0x2A37, 0x2A39)]
        heard = asyncio.Queue()
        await measurement.discover_descriptors()
        await measurement.subscribe(heard.put_nowait)
        rates = [(await asyncio.wait_for(heard.get(), limits.EVENT))[1] for _ in range(5)]
        assert rates[1:] == [rate + 1 for rate in rates[:-1]]
        await peer.write_value(control, b"\x01", with_response=True)
        await connection.disconnect()
    await guest.until("cat /tmp/strap", "advertising(?s:.*)subscribed(?s:.*)reset")
    await guest.run("kill $(pidof heart-rate)")


@with_both
@again_after_crash
async def test_a_disconnection_has_the_controller_s_reason(bluez, user, radio):
    async def disconnect(peer):
        connection = await peer.connections.get()
        await peer.subscribed(NOTIFYING)
        await connection.disconnect()

    async with bumble_peripheral(radio) as peer:
        disconnecting = asyncio.create_task(disconnect(peer))
        with pytest.raises(Failed, match="has disconnected from us"):
            await user.run("subscribe", NAME, NOTIFYING)
        await disconnecting


@again_after_crash
async def test_a_burst_of_notifications_arrives_where_bluetoothd_s_socket_has_room(
    bluez, user, radio, guest
):
    # The kernel drops what a socket of 208 kB has no room for: more than 93 small packets.
    sizes = "/proc/sys/net/core/rmem_max", "/proc/sys/net/core/rmem_default"
    before = (await guest.run(f"cat {sizes[1]}")).strip()
    for path in sizes:
        await guest.run(f"echo 8388608 >{path}")
    try:
        async with bumble_peripheral(radio) as peer:
            values = [b"%06d" % index for index in range(200)]
            # Only the values: the machine's line carries a few kilobytes a second.
            received = asyncio.create_task(user.run(
                "subscribe", ADDRESS, NOTIFYING, "--count", str(len(values)), "--json",
                shell="""| grep -o '"hex":"[0-9a-f]*"'"""))
            await asyncio.wait_for(peer.subscribed(NOTIFYING), limits.EVENT)
            for value in values:
                await peer.send(NOTIFYING, value)
            heard = re.findall('"hex":"([0-9a-f]*)"', await received)
            assert [bytes.fromhex(value) for value in heard] == values
    finally:
        await guest.run(f"echo {before} >{sizes[1]}")


@with_both
@again_after_crash
async def test_an_ordinary_user_ranges_a_beacon(bluez, user, radio):
    async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
        frame = bytes.fromhex("4C000215" + BEACON.replace("-", "") + "02010102BA")
        device.advertising_data = bytes([2, 1, 6, len(frame) + 1, 0xFF]) + frame
        await device.power_on()
        await device.start_advertising(advertising_type=AdvertisingType.UNDIRECTED)
        line = await user.run("beacons", f"{BEACON}/513", "--json", shell="| grep -m 1 distance")
    event = json.loads(line)
    assert (event["uuid"], event["major"], event["minor"]) == (BEACON, 513, 258)
    assert event["address"] == BEACON_ADDRESS


@with_experimental
@again_after_crash
async def test_regions_are_monitors_of_advertisements(bluez, user, radio, guest):
    def data(minor):
        frame = bytes.fromhex(f"4C000215{BEACON.replace('-', '')}0201{minor:04x}BA")
        return bytes([2, 1, 6, len(frame) + 1, 0xFF]) + frame

    await user.begin(
        "monitor", f"{BEACON}/513/1", f"{BEACON}/513/2", "--json",
        # Another command has regions of its own, none of which is entered.
        "--run", "echo", str(next(runs)), output="/tmp/regions")
    try:
        # Until the monitor is active there is a discovery.
        await guest.until("cat /tmp/bluetoothd", "reserved for Adv Monitor")
        await guest.until("bluetoothctl show", "Discovering: no")
        async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
            await device.power_on()
            for minor in 1, 2:
                device.advertising_data = data(minor)
                await device.start_advertising(advertising_type=AdvertisingType.UNDIRECTED)
                await guest.until(f"grep '/513/{minor}\"' /tmp/regions", "enter")
                await device.stop_advertising()
        assert "Discovering: no" in await guest.run("bluetoothctl show")
    finally:
        await guest.run("kill $(pidof ambit)")


@again_after_crash
async def test_an_ordinary_user_is_a_beacon(bluez, user, radio):
    payload = bytes.fromhex("0215" + BEACON.replace("-", "") + "00010007")
    async with bumble_central(radio) as central:
        found = asyncio.get_running_loop().create_future()

        def heard(advertisement):
            data = advertisement.data.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)
            if data and data[0] == 0x4C and data[1].startswith(payload) and not found.done():
                found.set_result(advertisement)

        central.on("advertisement", heard)
        await central.start_scanning(active=True, filter_duplicates=False)
        await user.begin("beacon", "advertise", BEACON, "1", "7", seconds=20)
        assert not (await asyncio.wait_for(found, limits.EVENT)).is_connectable


@with_both
@again_after_crash
async def test_a_protected_value_is_paired_for_where_no_desktop_has_an_agent(
    bluez, user, radio, guest
):
    await guest.until("kill $(pidof bluetoothctl); pidof bluetoothctl || echo none", "none")
    async with bumble_peripheral(radio):
        assert "secret" in await user.run("read", NAME, ENCRYPTED)


@with_both
@again_after_crash
async def test_an_ordinary_user_serves_values_and_notifications(bluez, user, radio, guest):
    file = base64.b64encode(json.dumps({
        "name": "Vault", "services": [{"uuid": SERVICE, "characteristics": [
            {"uuid": VALUE, "value": {"text": "hi"}, "properties": ["read", "write"]},
            {"uuid": COUNT, "notifies": True, "every": 0.05,
             "values": [{"uint8": number} for number in range(250)]},
            {"uuid": STEPS, "indicates": True, "every": 0.05,
             "values": [{"uint8": number} for number in range(250)]},
            {"uuid": SERVED_LONG, "value": {"hex": LONG_VALUE.hex()}}]}],
    }).encode()).decode()
    await guest.run(f"echo {file} | base64 -d >/tmp/vault.json; chmod 644 /tmp/vault.json")
    await user.begin("peripheral", "/tmp/vault.json", seconds=60)
    async with bumble_central(radio) as central:
        connection = await central.connect(await find(central, "Vault"))
        peer = Peer(connection)
        await peer.discover_services()
        service = next(found for found in peer.services if found.uuid == UUID(SERVICE))
        await peer.discover_characteristics(service=service)
        # bluetoothd chooses their order.
        value, count, steps, long = [
            next(found for found in service.characteristics if found.uuid == UUID(uuid))
            for uuid in (VALUE, COUNT, STEPS, SERVED_LONG)]
        assert await peer.read_value(value) == b"hi"
        await peer.write_value(value, b"\xca\xfe", with_response=True)
        assert await peer.read_value(value) == b"\xca\xfe"
        assert await peer.read_value(long) == LONG_VALUE
        for source, is_notified, total in (count, True, 20), (steps, False, 5):
            heard = asyncio.Queue()
            await source.discover_descriptors()
            await source.subscribe(heard.put_nowait, prefer_notify=is_notified)
            numbers = [(await asyncio.wait_for(heard.get(), limits.EVENT))[0]
                       for _ in range(total)]
            assert numbers == [(numbers[0] + index) % 250 for index in range(total)]
            await source.unsubscribe(heard.put_nowait)
        await connection.disconnect()
        # Its advertising goes on.
        again = await central.connect(await find(central, "Vault"))
        await again.disconnect()


@with_both
@again_after_crash
async def test_an_ordinary_user_streams_through_a_channel(bluez, user, radio, guest):
    await guest.run("head -c 20000 /dev/urandom >/tmp/sent; chmod 644 /tmp/sent")
    sent = (await guest.run("sha256sum /tmp/sent")).split()[0]
    async with bumble_peripheral(radio) as peer:
        peer.listen(PSM)
        received = await user.run("channel", NAME, str(PSM), shell="</tmp/sent | sha256sum")
    assert received.split()[-2] == sent


@again_after_crash
async def test_a_channel_that_the_device_refuses_is_an_error(bluez, user, radio):
    async with bumble_peripheral(radio):
        with pytest.raises(Failed, match="refused the channel"):
            await user.run("channel", NAME, "0x91")


@with_both
@again_after_crash
async def test_a_device_streams_into_a_channel_of_an_ordinary_user(bluez, user, radio, guest):
    sent = bytes(index % 253 for index in range(20_000))
    await user.begin("channel", "--listen", "--name", "Sink", output="/tmp/sink", seconds=60)
    async with bumble_central(radio) as central:
        connection = await central.connect(await find(central, "Sink"))
        psm = int((await guest.until("cat /tmp/begun", r"PSM (\d+)"))[1])
        channel = await connection.create_l2cap_channel(
            l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=512, mps=128, max_credits=4))
        channel.write(sent)
        await channel.drain()
        await channel.disconnect()
        await guest.until("sha256sum /tmp/sink", hashlib.sha256(sent).hexdigest())
        await connection.disconnect()


@again_after_crash
async def test_a_bluetoothd_that_ends_is_a_radio_that_is_off(bluez, user, guest):
    await bluez.end()
    try:
        with pytest.raises(Failed, match="bluetoothd does not run"):
            await user.run("scan", seconds=10)
    finally:
        await bluez.start()
