"""What `ambit` does on the network when its machine wakes: on Debian's kernel, in a virtual machine
that really sleeps."""

import pytest
import pytest_asyncio

from ethernet import BROADCAST, REPLY, Arp, Cable, Datagram
from linux_guest import linux_guest

# One machine for all: it takes longer to start than the tests take.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
module_fixture = pytest_asyncio.fixture(loop_scope="module", scope="module")

ADDRESS = "169.254.7.7"
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


async def test_a_machine_that_slept_probes_for_its_address_and_its_names_again(guest, cable):
    # F13, D19: twice, as whatever notices it must notice it again.
    for _ in range(2):
        cable.heard.clear()
        carrier = await guest.run(CARRIER)
        told = await guest.run("cat /tmp/linklocal")
        await guest.run(
            "echo +2 >/sys/class/rtc/rtc0/wakealarm && echo mem >/sys/power/state", 60)
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
