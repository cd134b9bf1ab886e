"""`ambit` on the HCI user channel of Debian's kernel. All controllers are on one of our simulated
radios."""

import json
import shlex

import pytest

from linux_controller import attach, bare_guest, detach, guest, radio  # noqa: F401

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

SET_POINT = "7c3b0002-92f1-4e0b-8b1e-5d0a4c1f2e6d"
CAP_NET_ADMIN = 12
MAINTENANCE = "7c3b0003-92f1-4e0b-8b1e-5d0a4c1f2e6d"


def objects(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


async def test_the_kernel_starts_our_controller_and_is_refused_nothing(bare_guest):
    await bare_guest.run("btmon -w /tmp/trace >/dev/null 2>&1 &")
    await attach(bare_guest)
    await bare_guest.run("kill $(pidof btmon)")
    # Into a pipe, or it starts a pager.
    trace = await bare_guest.run("btmon -r /tmp/trace | cat")
    answers = [line for line in trace.splitlines() if "Status: " in line]
    assert len(answers) > 20, trace
    assert all("Success (0x00)" in line for line in answers), trace


async def test_ambit_scans_over_the_user_channel(guest):
    # Again and again: on a busy machine four seconds of the emulated one are few.
    found = await guest.until(
        "ambit scan --radio hci0 --json --timeout 4",
        "(?s)(?=.*Pulse strap)(?=.*Thermostat)(?=.*UART echo).*")
    assert {"Pulse strap", "Thermostat", "UART echo"} <= {
        event.get("name") for event in objects(found[0])}


async def test_ambit_inspects_reads_and_writes_over_the_user_channel(guest):
    events = objects(await guest.run("ambit inspect Thermostat --radio hci0 --json"))
    found = {event["uuid"]: event for event in events if event["event"] == "characteristic"}
    assert found[SET_POINT.upper()]["properties"] == ["read", "write"]
    # Over a link that both sides encrypted, after pairing through the kernel.
    assert found[MAINTENANCE.upper()]["hex"] == "39050000"
    await guest.run(f"ambit write Thermostat {SET_POINT} fc08 --radio hci0")
    read = objects(await guest.run(f"ambit read Thermostat {SET_POINT} --radio hci0 --json"))
    assert read[0]["hex"] == "fc08"
    status, sentence = await guest.attempt(
        f"ambit write Thermostat {SET_POINT} ff7f --radio hci0")
    assert status == 1 and "was refused" in sentence


async def test_ambit_explains_a_controller_that_it_cannot_have(guest):
    status, sentence = await guest.attempt("su nobody -c 'ambit scan --radio hci0'")
    assert status == 77 and "CAP_NET_ADMIN" in sentence
    status, sentence = await guest.attempt("ambit scan --radio hci7")
    assert status == 69 and "The controller hci7 does not exist" in sentence
    await guest.run("hciconfig hci0 up")
    status, sentence = await guest.attempt("ambit scan --radio hci0")
    assert status == 69 and "hci0 is in use" in sentence
    await guest.run("hciconfig hci0 down")

    await guest.run("ambit scan --radio hci0 --timeout 120 >/dev/null 2>&1 & echo $! >/tmp/scan")
    await guest.until("hciconfig hci0", "UP RUNNING")
    status, sentence = await guest.attempt("ambit scan --radio hci0")
    assert status == 69 and "hci0 is in use" in sentence
    await guest.run("kill $(cat /tmp/scan)")
    await guest.until("hciconfig hci0", "DOWN")


async def test_ambit_notices_that_the_controller_was_unplugged(guest):
    await guest.run(
        "(ambit subscribe Pulse 2A37 --radio hci0 --json --timeout 60; echo status $?)"
        " >/tmp/heard 2>&1 &")
    await guest.until("cat /tmp/heard", '(?s)("event":"value".*){3}')
    await detach(guest)
    ended = await guest.until("cat /tmp/heard", r"(?m)^ambit: (.*)\nstatus (\d+)")
    assert "The controller hci0 was removed" in ended[1] and ended[2] == "69"
    # And it is as good as new when it is plugged in again.
    await attach(guest)
    read = objects(await guest.run("ambit read Pulse 2A19 --radio hci0 --json"))
    assert 0 < int(read[0]["hex"], 16) <= 100


@pytest.mark.timeout(600)
async def test_the_service_opens_hci0_in_its_sandbox_and_serves_an_ordinary_user(guest):
    await guest.run("/service-manager >/tmp/service-manager 2>&1 & echo $! >/tmp/manager")

    def command(*words, user=None):
        """A command in the file system and among the processes of systemd, whose first process is the oldest."""
        text = shlex.join(words)
        if user:
            text = shlex.join(["su", user, "-s", "/bin/sh", "-c", text])
        return ("nsenter -t $(pidof systemd | tr ' ' '\\n' | sort -n | head -n 1) -m -p -r -w"
                f" env -i PATH=/usr/bin:/bin HOME=/root {text}")

    await guest.until(command("systemctl", "is-system-running"), "running", 200)
    try:
        rules = json.dumps({"rules": [{"access": "allow", "user": "ann"}]})
        await guest.run(command("sh", "-c", f"umask 022; mkdir /etc/ambit; echo '{rules}' >/etc/ambit/hub.json"))
        await guest.run(command("ambit", "hub", "install", "--radio", "hci0"))
        # The first program starts it; emulated, its filters of system calls take longer than a program waits.
        await guest.until(
            command("ambit", "status", "--json", user="ann"), '"state":"poweredOn"', 200)
        read = objects(await guest.run(command("ambit", "read", "Pulse", "2A19", "--json", user="ann") + " 2>/dev/null"))
        assert 0 < int(read[0]["hex"], 16) <= 100
        # It is the hub's, and by herself the user could not have it.
        status, sentence = await guest.attempt(
            command("ambit", "scan", "--radio", "hci0", user="ann"))
        assert status == 77 and "CAP_NET_ADMIN" in sentence
        process = (await guest.run(command(
            "systemctl", "show", "--value", "--property=MainPID", "ambit-hub.service"))).strip()
        lines = (await guest.run(command("cat", f"/proc/{process}/status"))).splitlines()
        fields = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
        assert not {"0", "1000"} & set(fields["Uid"])
        for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(fields[name][0], 16) == 1 << CAP_NET_ADMIN
        assert fields["NoNewPrivs"] == ["1"] and fields["Seccomp"] == ["2"]
        await guest.run(command("ambit", "hub", "uninstall"))
        # The controller is free again.
        await guest.until("hciconfig hci0", "DOWN")
    finally:
        await guest.run("kill $(cat /tmp/manager); kill -KILL $(pidof systemd) || true")
