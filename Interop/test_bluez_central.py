"""`ambit` over Debian's bluetoothd, as an ordinary user, on Debian's kernel: it uses a device on Bumble's host. Both
controllers are on one of our simulated radios."""

import asyncio
import json
import shlex

import pytest

import limits
from bumble_peers import WRITEABLE, bumble_peripheral
from linux_controller import bare_guest, guest, radio  # noqa: F401
from linux_guest import Failed
from test_bluez import again_after_crash, bluez  # noqa: F401

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

NAME = "Bumble peer"


class User:
    """Commands in the machine by a user without privileges, whose radio is bluetoothd's."""

    def __init__(self, guest):
        self._guest = guest

    async def run(self, *arguments, seconds=40):
        return await self._guest.run(self._command(arguments, seconds), seconds + 20)

    async def json(self, *arguments, seconds=40):
        output = await self.run(*arguments, "--json", seconds=seconds)
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    @staticmethod
    def _command(arguments, seconds):
        words = ["env", "AMBIT_RADIO=bluez", "XDG_STATE_HOME=/tmp/state", "/usr/bin/ambit",
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


async def test_an_ordinary_user_discovers_a_device(bluez, user, radio):
    async with bumble_peripheral(radio):
        events = await user.json("scan", seconds=8)
    found = [event for event in events if event.get("name") == NAME]
    assert found and found[0]["rssi"] < 0


@again_after_crash
async def test_an_ordinary_user_connects_and_writes(bluez, user, radio):
    async with bumble_peripheral(radio) as peer:
        await user.run("write", NAME, WRITEABLE, "cafe")
        assert await asyncio.wait_for(peer.written.get(), limits.EVENT) == bytes.fromhex("cafe")


@again_after_crash
async def test_a_bluetoothd_that_ends_is_a_radio_that_is_off(bluez, user, guest):
    await bluez.end()
    try:
        with pytest.raises(Failed, match="bluetoothd does not run"):
            await user.run("scan", seconds=10)
    finally:
        await bluez.start()
