"""`ambit hub install` on a machine with systemd, and the hub as its service."""

import contextlib
import json

import pytest
import pytest_asyncio

from service_machine import USER_FOLDER, service_machine

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

RADIO = "/run/radio"
MAINTENANCE = "7c3b0003-92f1-4e0b-8b1e-5d0a4c1f2e6d"
BONDS = "/var/lib/ambit/bonds"
MANAGER = "/etc/systemd/system"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def machine(tmp_path_factory):
    async with service_machine(tmp_path_factory.mktemp("machine")) as machine:
        yield machine


@pytest_asyncio.fixture(loop_scope="module")
async def installed(machine):
    """Installs a hub, which is gone at the end, however the test ends."""
    async def install(*options, is_user=False):
        return await machine.run("ambit", "hub", "install", *options, is_user=is_user)

    yield install
    await machine.attempt("ambit", "hub", "uninstall", "--force")
    await machine.attempt("rm", "-rf", "/etc/ambit")


@contextlib.asynccontextmanager
async def served_radio(machine):
    """A radio with a socket that the service may use."""
    async with machine.running(
        "/opt/ambit/ambit", "radio", "serve", f"unix:{RADIO}", "--radio", "sim:lossless",
    ):
        await machine.until("socket", "stat", "--format=%F", RADIO)
        await machine.run("chmod", "666", RADIO)
        yield
    await machine.run("rm", "-f", RADIO)


async def restarted(machine):
    """Waits until systemd has started the service again."""
    await machine.until(
        "(?m)^NRestarts=[1-9]", "systemctl", "show", "--property=NRestarts", "ambit-hub.service")


async def hub_process(machine):
    """The process of the hub, once it serves."""
    await machine.until('"state":"poweredOn"', "ambit", "status", "--json")
    return await machine.property("MainPID")


async def test_the_first_program_starts_the_hub_of_the_system_in_its_sandbox(machine, installed):
    output = await installed("--radio", "sim")
    assert f"Wrote {MANAGER}/ambit-hub.socket" in output
    assert await machine.property("ActiveState") == "inactive"
    found = await machine.until('(?m)^.*"state":"poweredOn".*$', "ambit", "status", "--json")
    assert json.loads(found[0])["hub"] == "/run/ambit/hub"
    # Of Type=notify, it is active because it has reported that it serves.
    assert await machine.property("ActiveState") == "active"
    process = await machine.property("MainPID")
    status = await machine.run("cat", f"/proc/{process}/status")
    fields = {line.split(":")[0]: line.split(":")[1].split() for line in status.splitlines()}
    assert "0" not in fields["Uid"] and fields["NoNewPrivs"] == ["1"] and fields["Seccomp"] == ["2"]
    assert all(int(fields[name][0], 16) == 0 for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"))
    assert (await machine.run("id", "-un", fields["Uid"][0])).strip() == "ambit-hub"


async def test_systemd_judges_the_running_service_as_the_documentation_does(machine, installed):
    await installed("--radio", "sim")
    await hub_process(machine)
    judgement = ("systemd-analyze", "security", "--no-pager", "ambit-hub.service")
    assert (await machine.attempt(*judgement, "--threshold=20"))[0] == 0
    # It is a limit at all.
    assert (await machine.attempt(*judgement, "--threshold=1"))[0] != 0


async def test_rules_let_a_user_without_rights_use_the_hub_of_the_system(machine, installed):
    await installed("--radio", "sim")
    await machine.until("The hub refused this app: The hub serves user", "ambit", "status", is_user=True)
    rules = json.dumps({"rules": [{"access": "allow", "user": "ann"}]})
    await machine.run("sh", "-c", f"mkdir /etc/ambit && echo '{rules}' >/etc/ambit/hub.json")
    await machine.run("systemctl", "restart", "ambit-hub.service")
    await machine.until(
        "Pulse strap", "ambit", "scan", "--timeout", "5", "--json", is_user=True)


async def test_a_killed_hub_is_started_again_behind_its_socket_and_keeps_its_bonds(machine, installed):
    async with served_radio(machine):
        await installed("--radio", f"unix:{RADIO}")
        read = ("ambit", "read", "Thermostat", MAINTENANCE)
        await machine.until("39050000", *read)
        bonds = await machine.run("cat", BONDS)
        await machine.run("kill", "-KILL", await machine.property("MainPID"))
        await restarted(machine)
        # Nobody has to pair again.
        await machine.until("39050000", *read)
        assert await machine.run("cat", BONDS) == bonds and "address=" in bonds
        # Bonds are the hub's, and stay.
        await machine.run("ambit", "hub", "uninstall")
        assert await machine.run("cat", BONDS) == bonds


async def test_programs_publish_and_browse_through_the_service(machine, installed):
    await machine.run("ip", "link", "add", "lan", "type", "veth", "peer", "name", "far")
    try:
        await machine.run("ip", "address", "add", "10.77.0.1/24", "dev", "lan")
        for name in ("lo", "lan", "far"):
            await machine.run("ip", "link", "set", name, "up")
        await installed("--radio", "sim")
        assert await machine.property("ActiveState") == "inactive"
        publish = ("/opt/ambit/ambit", "publish", "Lamp", "_light._tcp", "8080")
        async with machine.running(*publish):
            # The socket of Multicast DNS starts the hub, too.
            found = await machine.until(
                '(?m)^.*"serviceCount":1,.*$', "ambit", "hub", "status", "--json")
            programs = json.loads(found[0])["networkPrograms"]
            assert [(program["name"], program["user"]) for program in programs] == [("ambit", 0)]
            await machine.until("Lamp", "ambit", "browse", "_light._tcp", "--once", "--json")
            # Its sockets are those of the hub alone.
            sockets = await machine.run("ss", "--udp", "--all", "--numeric", "--processes", "sport", "=", ":5353")
            hub = await machine.property("MainPID")
            assert f"pid={hub}," in sockets and sockets.count("pid=") == sockets.count(f"pid={hub},")
        # A program that ends has nothing there any more.
        await machine.until('"networkPrograms":\\[\\]', "ambit", "hub", "status", "--json")
        # Without rules the system's hub serves root alone, and others use the port by themselves.
        await machine.until(
            '"refusedNetworkCount":[1-9]', "sh", "-c",
            "setpriv --reuid=1000 --regid=1000 --clear-groups ambit browse _light._tcp --once --timeout 1 >/dev/null;"
            " ambit hub status --json")
    finally:
        await machine.run("ip", "link", "delete", "lan")


async def test_a_hub_without_multicast_dns_has_no_socket_for_it(machine, installed):
    await installed("--radio", "sim", "--no-network")
    await hub_process(machine)
    assert (await machine.attempt("ls", "/run/ambit/hub.bonjour"))[0] != 0
    judgement = ("systemd-analyze", "security", "--no-pager", "ambit-hub.service")
    assert (await machine.attempt(*judgement, "--threshold=5"))[0] == 0
    # Installed again with it, the running hub has it.
    await installed("--radio", "sim")
    assert (await machine.attempt("ls", "/run/ambit/hub.bonjour"))[0] == 0


async def test_a_hub_that_is_installed_again_goes_on_unless_its_units_change(machine, installed):
    await installed("--radio", "sim")
    process = await hub_process(machine)
    assert "unchanged: a hub that runs goes on" in await installed("--radio", "sim")
    assert await machine.property("MainPID") == process
    # An installation that has failed before the service manager used the units is completed by the next one.
    await machine.run("touch", f"{MANAGER}/.ambit-hub.changed")
    assert "an earlier installation did not come to its end" in await installed("--radio", "sim")
    assert await machine.property("MainPID") != process
    process = await hub_process(machine)
    assert "its units have changed" in await installed("--radio", "sim", "--pair", "never")
    assert await machine.property("MainPID") != process
    assert "unchanged" in await installed("--radio", "sim", "--pair", "never")


async def test_a_frozen_hub_is_restarted_by_the_watchdog(machine, installed):
    await installed("--radio", "sim")
    frozen = await hub_process(machine)
    await machine.run("kill", "-STOP", frozen)
    await restarted(machine)
    assert await hub_process(machine) != frozen


async def test_an_uninstalled_hub_leaves_nothing_that_runs(machine, installed):
    await installed("--radio", "sim")
    process = await hub_process(machine)
    await machine.run("ambit", "hub", "uninstall")
    for unit in ("ambit-hub.service", "ambit-hub.socket"):
        assert await machine.property("LoadState", unit) == "not-found"
    assert (await machine.attempt("ls", f"/proc/{process}"))[0] != 0
    assert (await machine.attempt("ls", "/run/ambit/hub"))[0] != 0
    files = await machine.run("find", MANAGER, "-name", "*ambit*")
    assert not files


async def test_a_hub_of_a_user_is_started_by_the_service_manager_of_the_user(machine, installed):
    await machine.run("systemctl", "start", "user@1000.service")
    try:
        await installed("--user", "--radio", "sim", is_user=True)
        found = await machine.until(
            '(?m)^.*"state":"poweredOn".*$', "ambit", "status", "--json", is_user=True)
        assert json.loads(found[0])["hub"] == f"{USER_FOLDER}/ambit/hub"
        await machine.run("ambit", "hub", "uninstall", "--user", is_user=True)
        assert (await machine.attempt("ls", f"{USER_FOLDER}/ambit/hub"))[0] != 0
    finally:
        await machine.run("systemctl", "stop", "user@1000.service")
