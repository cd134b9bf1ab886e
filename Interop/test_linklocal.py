"""Link-local addresses of IPv4: `ambit linklocal` beside Avahi's autoipd, and beside a test that
disputes what it has. The rows are those of RFC 3927."""

import asyncio
import contextlib
import os
import re
import shutil
import signal

import pytest
import pytest_asyncio

import limits
import debian_programs
from ambit_cli import Failed
from ethernet import BROADCAST, NOBODY, REPLY, REQUEST, Wire, connect, write_capture
from network import network
from radios import AMBIT, end

# How much too early and too late a packet may seem on a machine that has more to do.
EARLY, LATE = 0.5, 30


@pytest_asyncio.fixture
async def hosts():
    """Ours, theirs and a tester's, without addresses."""
    async with network(3, has_ipv4=False) as hosts:
        yield hosts


@pytest.fixture
def linklocal(tmp_path):
    """Runs `ambit linklocal eth0` on a host: gives the next object, or the next of some event."""
    @contextlib.asynccontextmanager
    async def run(host, *arguments, around=()):
        command = (*around, AMBIT, "linklocal", "eth0", "--state", tmp_path / "state", "--json")
        async with host.running(*command, *arguments) as next_object:
            async def next_event(event=None):
                while True:
                    told = await next_object()
                    assert told["interface"] == "eth0"
                    if event is None or told["event"] == event:
                        return told
            yield next_event
    return run


@contextlib.asynccontextmanager
async def autoipd(host, *arguments):
    """Avahi's autoipd on a host: gives the next line that it writes with this in it."""
    avahi = debian_programs.avahi()
    # It leaves its number in /run, and would find that of another host there.
    program = avahi.command(
        "avahi-autoipd", "--no-drop-root", "--no-chroot", "--no-proc-title",
        "--script", avahi.find("etc/avahi/avahi-autoipd.action"), *arguments, "eth0")
    process = await host._start(
        "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh", *program)

    async def next_line(pattern):
        while True:
            line = await asyncio.wait_for(process.stderr.readline(), limits.EVENT)
            assert line, "autoipd ended"
            if found := re.search(pattern, line.decode()):
                return found

    try:
        yield next_line
    finally:
        await end(process)


def addresses(host):
    """The IPv4 addresses of a host."""
    [link] = host.ip("address", "show", "dev", "eth0")
    return [each for each in link["addr_info"] if each["family"] == "inet"]


async def test_an_address_is_probed_for_claimed_announced_and_removed(hosts, linklocal):
    ours, _, tester = hosts
    # A router on another interface is no way to link-local addresses.
    ours.ip("link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
    ours.ip("address", "add", "10.9.0.1/24", "dev", "eth1")
    for name in ("eth1", "eth2"):
        ours.ip("link", "set", name, "up")
    ours.ip("route", "add", "default", "via", "10.9.0.254")
    with Wire(tester) as wire:
        async with linklocal(ours) as next_event:
            probing = await next_event()
            # F3
            assert addresses(ours) == []
            claimed = await next_event()
            assert (probing["event"], claimed["event"]) == ("probing", "claimed")
            address = claimed["address"]
            assert probing["address"] == address
            probes = [await wire.next() for _ in range(3)]
            first, second = [await wire.next() for _ in range(2)]
            # F4
            assert {probe.target for probe in probes} == {address}
            mac = probes[0].sender_mac
            for probe in probes:
                assert probe.is_probe and probe.sender_mac == mac
                assert probe.target_mac == NOBODY and probe.destination == BROADCAST
            # F5
            for earlier, later in zip(probes, probes[1:]):
                assert 1 - EARLY <= later.time - earlier.time <= 2 + LATE
            # F6 F9
            assert 2 - EARLY <= first.time - probes[2].time <= 2 + LATE
            assert 2 - EARLY <= second.time - first.time <= 2 + LATE
            for packet in (first, second):
                assert packet.sender == packet.target == address
                assert packet.destination == BROADCAST
            [held] = addresses(ours)
            assert (held["local"], held["prefixlen"], held["scope"], held["broadcast"]) == (
                address, 16, "link", "169.254.255.255")
            # F15: of the link, without a router, and behind what others set.
            [route] = ours.ip("route", "get", "169.254.9.9")
            assert route["dev"] == "eth0" and "gateway" not in route
            assert route["prefsrc"] == address
            [route] = ours.ip("route", "show", "169.254.0.0/16")
            assert route["scope"] == "link" and route["metric"] > 1_000
            # F12
            await wire.until_quiet(5)
            assert len(wire.heard) == 5
        assert addresses(ours) == []


async def test_who_asks_is_answered_by_broadcast_once(hosts, linklocal):
    ours, _, tester = hosts
    async with linklocal(ours, "--start", "169.254.7.7") as next_event:
        await next_event("claimed")
        with Wire(tester) as wire:
            for asker in ("169.254.20.20", "0.0.0.0"):
                wire.ask(asker, "169.254.7.7")
                answer = await wire.next(lambda packet: packet.operation == REPLY)
                # F11
                assert answer.destination == BROADCAST
                assert (answer.sender, answer.target) == ("169.254.7.7", asker)
                assert answer.target_mac == wire.mac
            await wire.until_quiet(3)
            assert sum(packet.operation == REPLY for packet in wire.heard) == 2


async def test_the_kernel_too_asks_by_broadcast_only(hosts, linklocal):
    ours, theirs, tester = hosts
    theirs.ip("address", "add", "169.254.200.1/16", "dev", "eth0")
    async with linklocal(ours, "--start", "169.254.7.7") as next_event:
        await next_event("claimed")
        with Wire(theirs) as there, Wire(tester) as wire:
            # It asks the one neighbour whom it knows whether he is still there.
            ours.ip("neighbour", "replace", "169.254.200.1", "lladdr", there.mac, "dev", "eth0",
                    "nud", "probe")
            question = await wire.next(lambda packet: packet.target == "169.254.200.1")
            # F11
            assert (question.operation, question.destination) == (REQUEST, BROADCAST)
            assert question.sender == "169.254.7.7"
    # The rule for that is gone with the address.
    with Wire(theirs) as there:
        there.ask("169.254.200.1", "169.254.7.7")
        ours.ip("address", "add", "169.254.7.7/16", "dev", "eth0")
        there.ask("169.254.200.1", "169.254.7.7")
        answer = await there.next(lambda packet: packet.operation == REPLY)
        assert answer.destination == there.mac


async def test_an_address_is_defended_once_and_then_given_up_with_its_connections(
        hosts, linklocal):
    ours, theirs, tester = hosts
    theirs.ip("address", "add", "169.254.200.1/16", "dev", "eth0")
    async with linklocal(ours, "--start", "169.254.7.7") as next_event:
        claimed = await next_event("claimed")
        assert claimed["address"] == "169.254.7.7"
        client, server = connect(theirs, "169.254.200.1", ours, "169.254.7.7")
        with client, server, Wire(tester) as wire:
            wire.claim("169.254.7.7")
            defended = await next_event()
            # F10
            assert (defended["event"], defended["address"], defended["other"]) == (
                "defended", "169.254.7.7", wire.mac)
            answer = await wire.next(lambda packet: packet.sender == "169.254.7.7")
            assert answer.destination == BROADCAST and answer.target == "169.254.7.7"
            client.send(b"still there")
            assert server.recv(100) == b"still there"

            wire.claim("169.254.7.7")
            released = await next_event()
            assert (released["event"], released["reason"], released["other"]) == (
                "released", "conflict", wire.mac)
            # F17
            with pytest.raises(ConnectionResetError):
                server.recv(100)
            with pytest.raises(ConnectionError):
                client.recv(100)
            assert (await next_event())["event"] == "probing"
            assert (await next_event("claimed"))["address"] != "169.254.7.7"


async def test_an_address_that_is_taken_or_wanted_is_not_claimed(hosts, linklocal):
    ours, _, tester = hosts
    with Wire(tester) as wire:
        async with linklocal(ours, "--start", "169.254.7.7") as next_event:
            probe = await wire.next(lambda packet: packet.is_probe)
            wire.claim(probe.target)  # F6
            conflict = await next_event("conflict")
            assert (conflict["address"], conflict["other"]) == ("169.254.7.7", wire.mac)
            probe = await wire.next(
                lambda packet: packet.is_probe and packet.target != "169.254.7.7")
            wire.ask("0.0.0.0", probe.target)  # F7
            assert (await next_event("conflict"))["address"] == probe.target
            claimed = await next_event("claimed")
            assert claimed["address"] not in ("169.254.7.7", probe.target)


async def test_a_cable_that_was_out_has_the_address_probed_for_again(hosts, linklocal):
    ours, _, tester = hosts
    async with linklocal(ours) as next_event:
        address = (await next_event("claimed"))["address"]
        for _ in range(2):
            with Wire(tester) as wire:
                ours.plug(False)
                released = await next_event()
                assert (released["event"], released["reason"]) == ("released", "linkChanged")
                waiting = await next_event()
                assert (waiting["event"], waiting["reason"]) == ("waiting", "linkDown")
                assert addresses(ours) == []
                ours.plug(True)
                # F13
                assert (await next_event())["address"] == address
                assert (await wire.next()).is_probe
                assert (await next_event("claimed"))["address"] == address
        # Switched off by its own host, and gone altogether.
        ours.ip("link", "set", "eth0", "down")
        assert (await next_event("waiting"))["reason"] == "linkDown"
        ours.ip("link", "set", "eth0", "up")
        await next_event("claimed")
        ours.ip("link", "delete", "eth0")
        assert (await next_event("waiting"))["reason"] == "linkDown"
        ours.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        ours.ip("link", "set", "eth0", "up")
        ours.ip("link", "set", "eth1", "up")
        await next_event("claimed")


async def test_an_address_from_elsewhere_is_given_way_to(hosts, linklocal):
    ours, _, tester = hosts
    async with linklocal(ours) as next_event:
        address = (await next_event("claimed"))["address"]
        # F14
        ours.ip("address", "add", "10.213.0.9/24", "dev", "eth0")
        released = await next_event()
        assert (released["event"], released["reason"]) == ("released", "otherAddress")
        waiting = await next_event()
        assert (waiting["reason"], waiting["address"]) == ("otherAddress", "10.213.0.9")
        assert [each["local"] for each in addresses(ours)] == ["10.213.0.9"]
        ours.ip("address", "delete", "10.213.0.9/24", "dev", "eth0")
        assert (await next_event("claimed"))["address"] == address
        # Whoever takes the address away finds it there again, after it was probed for.
        with Wire(tester) as wire:
            ours.ip("address", "delete", f"{address}/16", "dev", "eth0")
            assert (await next_event("probing"))["address"] == address
            assert (await wire.next()).is_probe
            await next_event("claimed")


async def test_what_a_killed_program_left_is_removed_and_remembered(hosts, linklocal, tmp_path):
    ours, _, _ = hosts
    program = (AMBIT, "linklocal", "eth0", "--state", tmp_path / "state", "--json")
    async with ours.running(*program, "--start", "169.254.7.7") as next_object:
        while (await next_object())["event"] != "claimed":
            pass
        # While it lives, nobody else does the same.
        with pytest.raises(Failed, match="another program gives eth0") as failed:
            await ours.ambit("linklocal", "eth0")
        assert failed.value.status == 1
        process = int(ours.run("pgrep", "--ns", str(os.getpid()), "--nslist", "pid", "-f",
                               f"{tmp_path}/state").split()[0])
        os.kill(process, signal.SIGKILL)
        with pytest.raises(Failed):
            await next_object()
    assert [each["local"] for each in addresses(ours)] == ["169.254.7.7"]
    async with linklocal(ours) as next_event:
        # F2
        assert await next_event("probing") | {"time": ""} == {
            "event": "probing", "interface": "eth0", "address": "169.254.7.7", "time": ""}
        assert addresses(ours) == []
        await next_event("claimed")
        assert [each["local"] for each in addresses(ours)] == ["169.254.7.7"]


@pytest.mark.parametrize("lost, capability", [
    (("--reuid", "65534", "--clear-groups"), "CAP_NET_RAW"),
    (("--bounding-set", "-net_admin"), "CAP_NET_ADMIN"),
])
async def test_without_the_right_it_says_which_one_it_lacks(hosts, linklocal, lost, capability):
    ours, _, _ = hosts
    with pytest.raises(Failed, match=f"this program lacks {capability}: run it as root") as failed:
        async with linklocal(ours, around=("setpriv", *lost)) as next_event:
            await next_event()
    assert failed.value.status == 77
    assert addresses(ours) == []


async def test_what_is_no_such_interface_is_told(hosts):
    ours, _, _ = hosts
    for name, reason in (("eth7", "there is no interface"), ("lo", "lo is not an Ethernet")):
        with pytest.raises(Failed, match=reason) as failed:
            await ours.ambit("linklocal", name)
        assert failed.value.status == 64


async def test_two_interfaces_have_addresses_of_their_own(hosts, linklocal):
    ours, _, tester = hosts
    for host in (ours, tester):
        host.ip("link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
        host.ip("link", "set", "eth1", "up")
        host.ip("link", "set", "eth2", "up")
    async with linklocal(ours) as next_event:
        async with ours.running(
                AMBIT, "linklocal", "eth1", "--start", "169.254.8.8", "--json") as next_other:
            address = (await next_event("claimed"))["address"]
            while (await next_other())["event"] != "claimed":
                pass
            # F18: the first one's route is used where the interface is not said.
            routes = ours.ip("route", "show", "169.254.0.0/16")
            assert {route["dev"] for route in routes} == {"eth0", "eth1"}
            [route] = ours.ip("route", "get", "169.254.9.9")
            assert route["dev"] == min(routes, key=lambda route: route["metric"])["dev"]
            with Wire(tester) as wire:
                for _ in range(2):
                    wire.claim(address)
                assert (await next_event("released"))["reason"] == "conflict"
                [link] = ours.ip("address", "show", "dev", "eth1")
                assert "169.254.8.8" in [each["local"] for each in link["addr_info"]]


async def test_beside_autoipd_both_get_an_address_although_they_begin_with_the_same(
        hosts, linklocal):
    ours, theirs, _ = hosts
    async with linklocal(ours, "--start", "169.254.7.7") as next_event:
        async with autoipd(theirs, "--start=169.254.7.7") as next_line:
            address = (await next_event("claimed"))["address"]
            other = (await next_line("Successfully claimed IP address (.*)")).group(1)
            assert address != other
            [held] = addresses(ours)
            assert held["local"] == address


async def test_autoipd_leaves_us_our_address_and_we_leave_it_its(hosts, linklocal):
    ours, theirs, tester = hosts
    async with linklocal(ours, "--start", "169.254.7.7") as next_event:
        await next_event("claimed")
        async with autoipd(theirs, "--start=169.254.7.7") as next_line:
            other = (await next_line("Successfully claimed IP address (.*)")).group(1)
            assert other != "169.254.7.7"
        async with autoipd(theirs, "--start=169.254.8.8") as next_line:
            await next_line("Successfully claimed IP address 169.254.8.8")
            async with linklocal(tester, "--start", "169.254.8.8") as next_of_third:
                assert (await next_of_third("conflict"))["address"] == "169.254.8.8"
                assert (await next_of_third("claimed"))["address"] != "169.254.8.8"
        assert [each["local"] for each in addresses(ours)] == ["169.254.7.7"]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="There is no tshark.")
async def test_tshark_decodes_every_packet_that_ambit_sends(hosts, linklocal, tmp_path):
    ours, _, tester = hosts
    with Wire(tester) as wire:
        async with linklocal(ours, "--start", "169.254.7.7") as next_event:
            await next_event("claimed")
            wire.ask("0.0.0.0", "169.254.7.7")
            wire.claim("169.254.7.7")
            await next_event("defended")
            wire.claim("169.254.7.7")
            await next_event("claimed")
            await wire.until_quiet(3)
        sent = [packet for packet in wire.heard if packet.sender_mac != wire.mac]
    capture = tmp_path / "capture.pcap"
    write_capture(capture, sent)
    read = await asyncio.create_subprocess_exec(
        "tshark", "-r", capture, "-T", "fields", "-e", "arp.isprobe", "-e", "arp.isannouncement",
        "-e", "arp.opcode", "-e", "_ws.malformed", "-e", "_ws.expert.severity",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
    output, _ = await read.communicate()
    lines = [line.split("\t") for line in output.decode().splitlines()]
    assert len(lines) == len(sent) > 8
    assert all(malformed == severity == "" for *_, malformed, severity in lines)
    kinds = [tuple(line[:3]) for line in lines]
    for kind in (("1", "", "1"), ("", "1", "1"), ("", "", "2")):
        assert kind in kinds, kinds
