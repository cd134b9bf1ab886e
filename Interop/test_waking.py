"""What `ambit` does on the network when its machine wakes: on Debian's kernel, in a virtual machine
that really sleeps."""

import re

import pytest
import pytest_asyncio

from ethernet import BROADCAST, REPLY, Arp, Cable, Datagram
from linux_guest import linux_guest

# One machine for all: it takes longer to start than the tests take.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
module_fixture = pytest_asyncio.fixture(loop_scope="module", scope="module")

ADDRESS = "169.254.7.7"
ALARM = "/sys/class/rtc/rtc0/wakealarm"
CARRIER = "cat /sys/class/net/eth0/carrier_up_count"


@module_fixture
async def cable(tmp_path_factory):
    with Cable(tmp_path_factory.mktemp("cable")) as cable:
        yield cable


@module_fixture
async def guest(cable, tmp_path_factory):
    """The machine with its own address, on which a service is published, when all was said."""
    async with linux_guest(None, tmp_path_factory.mktemp("guest"), cable.ends) as guest:
        await guest.run("ip link set lo up && ip link set eth0 up")
        await guest.run(
            f"ambit linklocal eth0 --start {ADDRESS} --state /tmp/state --json >/tmp/linklocal 2>&1 &"
            "ambit publish Lamp light 80 --json >/tmp/publish 2>&1 &")
        await cable.next(lambda sent: is_announced(sent), timeout=60)
        await cable.next(lambda sent: is_published(sent), timeout=60)
        await cable.until_quiet(4)
        yield guest


def is_announced(sent):
    return isinstance(sent, Arp) and sent.sender == sent.target == ADDRESS


def is_published(sent):
    return (isinstance(sent, Datagram) and sent.is_response and sent.source == ADDRESS
            and b"\4Lamp" in sent.payload)


async def test_who_asks_is_answered_by_broadcast_also_without_nftables(guest, cable):
    # F11: this kernel has none, so it answers to the one who asks, and the program to everybody.
    cable.ask("169.254.20.20", ADDRESS)
    await cable.next(
        lambda sent: isinstance(sent, Arp) and sent.operation == REPLY
        and sent.destination == BROADCAST and sent.target == "169.254.20.20")


async def test_a_clock_that_is_set_wakes_nobody(guest, cable):
    for change in ("+ 3600", "- 7200"):
        cable.heard.clear()
        await guest.run(f"date -s @$(($(date +%s) {change}))")
        await cable.until_quiet(4)
        assert not [sent for sent in cable.heard if sent.is_probe]


async def asleep(guest):
    """The seconds that the machine has slept since it started: what the monotonic clock has missed."""
    # One command reads both, the monotonic time first.
    times = await guest.run("head -3 /proc/timer_list; cat /proc/uptime")
    awake = re.search(r"now at (\d+) nsecs", times)
    since_boot = re.search(r"^(\d+\.\d+) ", times, re.MULTILINE)
    return float(since_boot[1]) - int(awake[1]) / 1e9


async def sleep(guest):
    """Puts the machine to sleep, until it slept for longer than the second from which on that matters.

    The alarm is set before the machine goes to sleep, which takes seconds where the processor is busy: then
    it sleeps for a moment, or not at all.
    """
    slept = []
    for seconds in (3, 8, 20):
        before = await asleep(guest)
        await guest.run(
            f"echo 0 >{ALARM}; echo +{seconds} >{ALARM}; echo mem >/sys/power/state; true", 60)
        slept.append(await asleep(guest) - before)
        if slept[-1] > 1.5:
            return
    raise AssertionError(f"the machine does not sleep, but for {slept} seconds")


async def test_a_machine_that_slept_probes_for_its_address_and_its_names_again(guest, cable):
    # F13, D19: twice, as whatever notices it must notice it again.
    for _ in range(2):
        cable.heard.clear()
        carrier = await guest.run(CARRIER)
        told = await guest.run("cat /tmp/linklocal")
        await sleep(guest)
        probe = await cable.next(lambda sent: isinstance(sent, Arp) and sent.is_probe)
        assert probe.target == ADDRESS
        await cable.next(is_announced)
        await cable.next(is_published)
        names = [sent for sent in cable.heard if isinstance(sent, Datagram) and sent.is_probe]
        assert any(b"Lamp" in sent.payload for sent in names)
        # Not because the cable was out.
        assert await guest.run(CARRIER) == carrier
        events = (await guest.run("cat /tmp/linklocal")).removeprefix(told)
        assert '"linkChanged"' in events and "waiting" not in events
        await cable.until_quiet(4)
