"""The example GateAlert, run by `ambit apps`, with Prosody, slixmpp and a beacon of Bumble."""

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import signal

import pytest

import limits
from bumble_peers import bumble_device
from radios import AMBIT, ROOT, ambit_radio, end
from test_beacons import BEACON_ADDRESS, FRAME, UUID, _advertise
from test_messenger import PICTURE
from xmpp_peers import peer
from xmpp_scripted import scripted_server
from xmpp_server import PASSWORD, prosody

# The debug tree of the tests has it.
PROGRAM = pathlib.Path(os.environ.get("AMBIT_GATE_ALERT", ROOT / ".build/debug/gate-alert"))
APP = "com.example.gate-alert"


class Manager:
    """`ambit apps` with a folder of its own."""

    def __init__(self, folder):
        self.environment = os.environ | {
            "AMBIT_APPS": str(folder / "apps"), "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
        self.environment.pop("NOTIFY_SOCKET", None)

    async def command(self, *arguments, group="app"):
        process = await asyncio.create_subprocess_exec(
            AMBIT, group, *arguments, "--json", env=self.environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE)
        output, complaints = await asyncio.wait_for(process.communicate(), limits.EVENT)
        assert process.returncode == 0, (arguments, output, complaints)
        return [json.loads(line) for line in output.splitlines()]

    async def until(self, condition):
        async with asyncio.timeout(limits.EVENT):
            while not condition(status := (await self.command("status", APP))[0]):
                await asyncio.sleep(0.1)
        return status


@contextlib.asynccontextmanager
async def manager(radio, folder):
    running = Manager(folder)
    process = await asyncio.create_subprocess_exec(
        AMBIT, "apps", "--radio", f"tcp:{radio}", "--freezer", "signals", "--json", env=running.environment,
        stdout=asyncio.subprocess.PIPE)
    try:
        await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        running.kill = process.kill
        yield running
    finally:
        await end(process)


def install(server, folder, account="gate", owner="ann"):
    """The folder of the app, with the account of the gate."""
    folder.mkdir(mode=0o700)
    shutil.copy(ROOT / "Examples/GateAlert/Info.plist", folder)
    shutil.copy(PROGRAM, folder / "gate-alert")
    shutil.copy(PICTURE, folder / "gate.png")
    (folder / "settings").write_text(
        f"address {account}@{server.domain}\npassword {PASSWORD}\nowner {owner}@{server.domain}\nbeacon {UUID}\n"
        f"server 127.0.0.1:{server.port}\nauthority {server.authority}\n")
    return folder


def pictures(owner):
    return [message for message in owner.messages if message.body.startswith("https://")]


async def gets_pictures(owner, count, apps):
    """Waits until the owner has so many pictures; a failure has the app's output."""
    try:
        await owner.until(lambda: len(pictures(owner)) == count)
    except TimeoutError:
        raise AssertionError((await apps.command("log", APP), await apps.command("status", APP))) from None


async def test_a_beacon_launches_the_app_and_the_owner_wakes_it(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "gate", uploads="service") as server, ambit_radio() as radio:
        async with manager(radio, tmp_path) as apps, peer(server, "ann") as ann:
            await apps.command("install", str(install(server, tmp_path / "GateAlert")))
            # It goes to the background then, and connects in a background task.
            await apps.command("open", APP, "--timeout", "1")
            status = await apps.until(lambda status: status["state"] == "suspended")
            assert len(status["sockets"]) == 1

            # A message wakes the frozen app, which has a background task until the picture is at the server.
            ann.say("gate", "picture")
            await gets_pictures(ann, 1, apps)
            await apps.until(lambda status: status["state"] == "suspended")

            # A camera without a picture holds up no other message.
            picture = tmp_path / "GateAlert/gate.png"
            picture.rename(picture.with_suffix(".kept"))
            ann.say("gate", "picture")
            await ann.until(lambda: "There is no picture." in [message.body for message in ann.messages])
            picture.with_suffix(".kept").rename(picture)
            await apps.until(lambda status: status["state"] == "suspended")

            # The system has ended it, and launches it for a message. The earlier connection's session is resumed.
            await apps.command("terminate", APP)
            await apps.until(lambda status: status["state"] == "notRunning")
            ann.say("gate", "picture")
            await gets_pictures(ann, 2, apps)
            await apps.until(lambda status: status["state"] == "suspended")

            await apps.command("terminate", APP)
            async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
                await _advertise(device, FRAME)
                await gets_pictures(ann, 3, apps)
            assert [m.body for m in ann.messages if m not in pictures(ann)] == [
                "There is no picture.", "Someone is at the gate."]
            await apps.until(lambda status: status["state"] == "suspended")


def is_suspended(status, sockets=1):
    return status["state"] == "suspended" and len(status["sockets"]) == sockets


async def takes(apps, text):
    """Waits until the app has taken a message, and is suspended with its connection. Gives the messages of its log."""
    async with asyncio.timeout(limits.EVENT):
        while f"message: {text}" not in [line["line"] for line in await apps.command("log", APP)]:
            await asyncio.sleep(0.1)
    await apps.until(is_suspended)
    return [line["line"] for line in await apps.command("log", APP) if line["line"].startswith("message: ")]


async def test_messages_reach_an_app_once_whose_process_and_manager_are_killed(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "gate") as server, ambit_radio() as radio:
        async with peer(server, "ann") as ann:
            async with manager(radio, tmp_path) as apps:
                await apps.command("install", str(install(server, tmp_path / "GateAlert")))
                await apps.command("open", APP, "--timeout", "1")
                status = await apps.until(is_suspended)
                os.kill(status["process"], signal.SIGKILL)
                ann.say("gate", "process")
                assert await takes(apps, "process") == ["message: process"]
                async with asyncio.timeout(limits.EVENT):
                    while not (await apps.command("status", group="apps"))[0]["isWritten"]:
                        await asyncio.sleep(0.1)
                apps.kill()
            ann.say("gate", "manager")
            async with manager(radio, tmp_path) as apps:
                assert await takes(apps, "manager") == ["message: manager"]


async def test_a_message_reaches_an_app_once_whose_server_is_killed_while_it_is_suspended(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "gate") as server, ambit_radio() as radio:
        async with manager(radio, tmp_path) as apps:
            await apps.command("install", str(install(server, tmp_path / "GateAlert")))
            await apps.command("open", APP, "--timeout", "1")
            await apps.until(is_suspended)
            await server.kill()
            # The end of the connection wakes the app, which is suspended after five seconds without another one.
            await apps.until(lambda status: is_suspended(status, sockets=0))
            await server.start()
            async with peer(server, "ann") as ann:
                ann.say("gate", "server")
                assert await takes(apps, "server") == ["message: server"]


QUERIES = {"abilities": "{http://jabber.org/protocol/disco#info}query", "archive": "{urn:xmpp:mam:2}query"}


@pytest.mark.parametrize("order", ("connects again", "is launched"))
@pytest.mark.parametrize("silent", (("abilities",), ("archive",), ("abilities", "archive")), ids="+".join)
async def test_a_silent_server_holds_no_message_back_until_the_next_wake(order, silent, tmp_path):
    async with scripted_server(tmp_path / "server") as server, ambit_radio() as radio:
        async with manager(radio, tmp_path) as apps:
            await apps.command(
                "install", str(install(server, tmp_path / "GateAlert", account="ann", owner="bob")))
            await apps.command("open", APP, "--timeout", "1")
            await apps.until(is_suspended)

            def be_silent(connection, element):
                if any(element.find(QUERIES[name]) is not None for name in silent):
                    connection.session.received += 1
                    return True

            server.faults = {"iq": be_silent}
            if order == "connects again":
                before, server.sessions = server.connection, {}
                before.close()
                async with asyncio.timeout(limits.EVENT):
                    while server.connection is before:
                        await asyncio.sleep(0.05)
            else:
                await apps.command("terminate", APP)
                await apps.until(lambda status: status["state"] == "notRunning")
            server.deliver("live")
            assert await takes(apps, "live") == ["message: live"]
