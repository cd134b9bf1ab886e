"""`ambit` over Debian's bluetoothd, as an ordinary user, on Debian's kernel: it uses a device on Bumble's host, and
advertises to one. Both controllers are on one of our simulated radios."""

import asyncio
import base64
import hashlib
import json
import re
import shlex

import pytest
import pytest_asyncio
from bumble import l2cap
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer

import limits
from bumble_peers import (
    ENCRYPTED, NOTIFYING, WRITEABLE, bumble_central, bumble_peripheral, find)
from kernel.initramfs import DAEMON, OTHER_DAEMON
from linux_controller import guest, module_fixture, radio  # noqa: F401
from linux_guest import Failed, linux_guest
from test_bluez import SERVICE, VALUE, BlueZ, again_after_crash

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

NAME = "Bumble peer"
PSM = 0x80
COUNT = "0000ad12-5d4e-4f3a-9b1c-0e2d3c4b5a69"
# Debian 12's bluetoothd is the machine's own; Debian 13's is another program in it.
DAEMONS = {"5.66": DAEMON, "5.82": OTHER_DAEMON}
with_both = pytest.mark.parametrize("bluez", DAEMONS, indirect=True)


@module_fixture
async def bare_guest(radio, tmp_path_factory):
    """The machine with both daemons, its controller as it comes and goes."""
    folder = tmp_path_factory.mktemp("guest")
    async with linux_guest(radio, folder, suite="trixie") as guest:
        yield guest


@pytest_asyncio.fixture(loop_scope="module")
async def bluez(guest, request):
    """Debian 12's bluetoothd unless the test names another. What the other one has stored is removed."""
    daemon = DAEMONS[getattr(request, "param", "5.66")]
    marker = f"/tmp/stored-by-{'other' if daemon == OTHER_DAEMON else 'own'}"
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

    def __init__(self, guest):
        self._guest = guest

    async def run(self, *arguments, seconds=40, radio="bluez", shell=""):
        command = self._command(arguments, seconds, radio)
        return await self._guest.run(f"{command} {shell}", seconds + 20)

    async def begin(self, *arguments, seconds=40, output="/tmp/output"):
        """Starts a command that goes on until it is interrupted, or for the time. What it reports on standard error
        is in /tmp/begun."""
        command = self._command(arguments, seconds)
        await self._guest.run(f"{command} 2>/tmp/begun >{output} &")

    async def json(self, *arguments, seconds=40):
        output = await self.run(*arguments, "--json", seconds=seconds)
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    @staticmethod
    def _command(arguments, seconds, radio="bluez"):
        words = ["env", f"AMBIT_RADIO={radio}", "XDG_STATE_HOME=/tmp/state", "/usr/bin/ambit",
                 *arguments, "--timeout", str(seconds)]
        return f"su nobody -s /bin/sh -c {shlex.quote(shlex.join(words))}"


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


async def test_an_ordinary_user_discovers_a_device(bluez, user, radio):
    async with bumble_peripheral(radio):
        events = await user.json("scan", seconds=8)
    found = [event for event in events if event.get("name") == NAME]
    assert found and found[0]["rssi"] < 0


@with_both
@again_after_crash
async def test_an_ordinary_user_connects_and_writes(bluez, user, radio):
    async with bumble_peripheral(radio) as peer:
        await user.run("write", NAME, WRITEABLE, "cafe")
        assert await asyncio.wait_for(peer.written.get(), limits.EVENT) == bytes.fromhex("cafe")


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
            received = asyncio.create_task(user.json(
                "subscribe", NAME, NOTIFYING, "--count", str(len(values))))
            await asyncio.wait_for(peer.subscribed(NOTIFYING), limits.EVENT)
            for value in values:
                await peer.send(NOTIFYING, value)
            events = [event for event in await received if event["event"] == "value"]
            assert [bytes.fromhex(event["hex"]) for event in events] == values
    finally:
        await guest.run(f"echo {before} >{sizes[1]}")


@again_after_crash
async def test_an_ordinary_user_is_a_beacon(bluez, user, radio):
    uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A7100001"
    payload = bytes.fromhex("0215" + uuid.replace("-", "") + "00010007")
    async with bumble_central(radio) as central:
        found = asyncio.get_running_loop().create_future()

        def heard(advertisement):
            data = advertisement.data.get(AdvertisingData.MANUFACTURER_SPECIFIC_DATA)
            if data and data[0] == 0x4C and data[1].startswith(payload) and not found.done():
                found.set_result(advertisement)

        central.on("advertisement", heard)
        await central.start_scanning(active=True, filter_duplicates=False)
        await user.begin("beacon", "advertise", uuid, "1", "7", seconds=20)
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
             "values": [{"uint8": number} for number in range(250)]}]}],
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
        value, count = [next(found for found in service.characteristics if found.uuid == UUID(uuid))
                        for uuid in (VALUE, COUNT)]
        assert await peer.read_value(value) == b"hi"
        await peer.write_value(value, b"\xca\xfe", with_response=True)
        assert await peer.read_value(value) == b"\xca\xfe"
        heard = asyncio.Queue()
        await count.discover_descriptors()
        await count.subscribe(heard.put_nowait)
        numbers = [(await asyncio.wait_for(heard.get(), limits.EVENT))[0] for _ in range(20)]
        assert numbers == [(numbers[0] + index) % 250 for index in range(20)]
        await connection.disconnect()


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
