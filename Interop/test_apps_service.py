"""`ambit apps install` on a machine with systemd, and the manager of apps as a service of a user."""

import asyncio
import contextlib
import json
import pathlib
import re
import sys

import pytest
import pytest_asyncio

import limits
from debian_programs import unavailable
from radios import AMBIT, ROOT
from service_machine import USER, service_machine

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

APP = "com.example.standby"
FOLDER = "/home/ann/Standby"
UNIT = "ambit-apps.service"
# A server of messages in the network of the machine: lines of its input go to the app.
SERVER = """
import select, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while True:
    ready = select.select([connection, sys.stdin], [], [])[0]
    if connection in ready and not connection.recv(4096):
        print("ended", flush=True)
        break
    if sys.stdin in ready:
        line = sys.stdin.readline()
        if not line:
            break
        connection.sendall(line.encode())
"""


@pytest.fixture(scope="module")
def standby():
    """The program of the example, which only the tree of tests has."""
    for path in (AMBIT.parent / "standby", ROOT / ".build/debug/standby"):
        if path.exists():
            return pathlib.Path(path).resolve()
    unavailable("standby is not built: swift build --product standby")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def machine(tmp_path_factory, standby):
    async with service_machine(tmp_path_factory.mktemp("machine"), standby) as machine:
        await machine.run("ip", "link", "set", "lo", "up")
        await machine.run("systemctl", "start", f"user@{USER}.service")
        yield machine


class Server:
    def __init__(self, process):
        self._process = process

    def send(self, text):
        self._process.stdin.write(text.encode() + b"\n")


@contextlib.asynccontextmanager
async def server(machine):
    """The server of messages, and its port."""
    process = await asyncio.create_subprocess_exec(
        *machine.network_command(sys.executable, "-c", SERVER), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        yield Server(process), int(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def systemctl(machine, *arguments):
    return await machine.run("systemctl", "--user", *arguments, is_user=True)


async def manager_process(machine):
    return (await systemctl(machine, "show", "--value", "--property=MainPID", UNIT)).strip()


async def until(machine, condition):
    """Waits for a status of the app, also while no manager is there."""
    output = ""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.EVENT):
            while True:
                status, output = await machine.attempt("ambit", "app", "status", APP, "--json", is_user=True)
                if status == 0 and condition(app := json.loads(output.splitlines()[-1])):
                    return app
                await asyncio.sleep(0.1)
    raise AssertionError(f"the app isn't so: {output}{machine.log()}")


def is_suspended_with_its_socket(app):
    return app["state"] == "suspended" and len(app.get("sockets", [])) == 1


async def test_an_app_and_its_held_socket_outlive_a_restart_and_a_kill_of_the_unit(machine, standby):
    async def command(*arguments):
        return await machine.run("ambit", *arguments, is_user=True)

    async with server(machine) as (peer, port):
        await machine.run("mkdir", FOLDER)
        await machine.copy(ROOT / "Examples/Standby/Info.plist", f"{FOLDER}/Info.plist")
        await machine.copy(standby, f"{FOLDER}/standby")
        await machine.run("sh", "-c", f"echo 127.0.0.1 {port} >{FOLDER}/server && chmod 755 {FOLDER}/standby")
        await machine.run("chown", "-R", f"{USER}:{USER}", FOLDER)
        await command("apps", "install", "--radio", "sim")
        await machine.until("No app", "ambit", "app", "list", is_user=True)
        await command("app", "install", FOLDER)
        await command("app", "foreground", APP)
        await until(machine, lambda app: len(app.get("sockets", [])) == 1)
        await command("app", "background", APP)
        process = (await until(machine, is_suspended_with_its_socket))["process"]
        # The group is delegated, so that it freezes the app.
        group = re.search("(?m)^0::(.*)$", await machine.run("cat", f"/proc/{process}/cgroup"))[1]
        assert f"/{UNIT}/app-" in group
        frozen = f"/sys/fs/cgroup{group}/cgroup.events"
        assert "frozen 1" in await machine.run("cat", frozen)

        async def check(text, last):
            """Another manager has the app as it was, and the app gets a message over the same connection."""
            app = await until(machine, is_suspended_with_its_socket)
            assert app["process"] == process and app["launches"] == 0 and app["crashes"] == 0
            assert await manager_process(machine) not in ("0", last)
            assert "frozen 1" in await machine.run("cat", frozen)
            peer.send(text)
            await machine.until(f"message: {text}", "ambit", "app", "log", APP, is_user=True)
            app = await until(machine, is_suspended_with_its_socket)
            assert app["process"] == process and app["reasons"] == {"socket": 1}

        last = await manager_process(machine)
        await systemctl(machine, "restart", UNIT)
        await check("after the restart", last)

        last = await manager_process(machine)
        await machine.run("kill", "-KILL", last)
        await machine.until(
            "(?m)^NRestarts=[1-9]", "systemctl", "--user", "show", "--property=NRestarts", UNIT, is_user=True)
        await check("after the kill", last)

        # A stop is the end of the apps, and so is the removal of the unit.
        await command("apps", "uninstall")
        assert (await machine.attempt("ls", f"/proc/{process}"))[0] != 0
        assert (await systemctl(machine, "show", "--value", "--property=LoadState", UNIT)).strip() == "not-found"
