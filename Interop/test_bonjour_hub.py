"""Programs of one host that use port 5353 by themselves, or a hub of their host that runs Multicast DNS for
them: they come, end and are killed, while Python's zeroconf on another host watches."""

import asyncio
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import dns.message
import dns.rdatatype
import pytest
import pytest_asyncio

import limits
from ethernet import IPV4, Datagram, Wire
from network import network, next_named
from radios import AMBIT, end
from test_bonjour import PEER

CROWD = AMBIT.parent / "bonjour-crowd"
TYPE = "_light._tcp"
# A second or two, and what a busy machine needs; by itself, the shortest of what was said lasts for two minutes.
SOON = 60


def full(name):
    return f"{name}.{TYPE}.local."


class Program:
    """A program that writes objects, which a test may stop and kill."""

    def __init__(self, process):
        self.process = process

    async def next(self, timeout=limits.EVENT):
        while True:
            line = await asyncio.wait_for(self.process.stdout.readline(), timeout)
            assert line, (await self.process.stderr.read()).decode()
            if not line.startswith(b"#"):
                return json.loads(line)

    async def found(self, count):
        """The next so many that are found; other events are passed over."""
        names = set()
        while len(names) < count:
            event = await self.next()
            if event["event"] == "found":
                names.add(event["name"])
        return names

    async def nothing(self, seconds, *events):
        """Fails if one of these events is written in this time."""
        with contextlib.suppress(asyncio.TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    found = await self.next(seconds + 1)
                    assert found["event"] not in events, found

    def signal(self, number):
        self.process.send_signal(number)

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    def cpu_and_memory(self):
        """Seconds of CPU so far, and the most memory it had, in MiB."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[1].split()
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
        return (int(fields[11]) + int(fields[12])) / 100, peak


@pytest_asyncio.fixture
async def lab():
    """Two hosts, and what starts programs on them that end with the test."""
    async with network(2) as hosts, contextlib.AsyncExitStack() as stack:
        async def start(host, *command, stdin=None):
            process = await host._start(*command, stdin=stdin)
            stack.push_async_callback(end, process)
            if stdin:
                stack.callback(process.stdin.close)
            return Program(process)

        yield *hosts, start


@pytest.fixture
def place(tmp_path):
    """Where a hub listens: programs that AMBIT_HUB leads there use it."""
    return tmp_path / "hub"


def using(place):
    """What precedes the command of a program that uses the hub at a place."""
    return "env", f"AMBIT_HUB={place}"


async def start_hub(start, host, place, *prefix):
    """A hub, once its Multicast DNS serves."""
    hub = await start(
        host, *prefix, AMBIT, "hub", "run", "--radio", "sim", "--socket", str(place), "--json")
    serving = await next_event(hub, "serving")
    assert serving["bonjour"] == f"{place}.bonjour"
    return hub


def inside(host, *command):
    return subprocess.run(
        ["ip", "netns", "exec", host.namespace, *command], check=True, capture_output=True,
        text=True).stdout


def speaker_count(host):
    """How many programs speak Multicast DNS over IPv4 there: each has two sockets of the port."""
    addresses = [line.split()[1] for line in inside(host, "cat", "/proc/net/udp").splitlines()]
    return sum(address.endswith(":14E9") for address in addresses) / 2


async def publish(start, host, name, port="80", *arguments, place=None):
    prefix = using(place) if place else ()
    program = await start(host, *prefix, AMBIT, "publish", name, TYPE, port, *arguments, "--json")
    assert (await program.next())["name"] == name
    return program


async def test_programs_of_a_host_use_the_port_by_themselves_and_find_each_other(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    browse = await start(ours, AMBIT, "browse", TYPE, "--json")
    lamp = await publish(start, ours, "Lamp")
    chair = await publish(start, ours, "Chair", "81", "room=study")
    assert await watch.found(2) == {full("Lamp"), full("Chair")}
    assert await browse.found(2) == {"Lamp", "Chair"}
    assert speaker_count(ours) == 3
    for host in (ours, theirs):
        [found] = await host.ambit("resolve", "Chair", "light")
        assert found["port"] == 81 and found["text"] == {"room": "study"}
        assert found["interface"] == "eth0" and ours.address in found["addresses"]
    # One that ends takes its own service along, and not the name and addresses of the host.
    lamp.signal(signal.SIGTERM)
    await lamp.process.wait()
    await next_named(watch.next, full("Lamp"), "gone")
    await next_named(browse.next, "Lamp", "gone")
    [found] = await theirs.ambit("resolve", "Chair", "light")
    assert ours.address in found["addresses"]
    assert chair.process.returncode is None


async def test_services_of_one_name_get_two_names_also_in_programs_of_one_host(lab):
    ours, theirs, start = lab
    lamp = await publish(start, ours, "Lamp")
    other = await start(ours, AMBIT, "publish", "Lamp", TYPE, "81", "--json")
    assert (await other.next())["name"] == "Lamp (2)"
    [found] = await theirs.ambit("resolve", "Lamp (2)", "light")
    assert found["port"] == 81
    assert lamp.process.returncode is None


async def test_a_hub_speaks_for_the_programs_that_use_it(lab, place):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    await start_hub(start, ours, place)
    browse = await start(ours, *using(place), AMBIT, "browse", TYPE, "--json")
    await publish(start, ours, "Lamp", place=place)
    await publish(start, ours, "Chair", place=place)
    assert await watch.found(2) == {full("Lamp"), full("Chair")}
    assert await browse.found(2) == {"Lamp", "Chair"}
    assert speaker_count(ours) == 1


async def next_event(program, name):
    while (event := await program.next())["event"] != name:
        pass
    return event


def inherited_sockets(program):
    """The sockets that programs would have, too, that this one starts."""
    folder = pathlib.Path(f"/proc/{program.process.pid}")
    names = [each.name for each in (folder / "fd").iterdir()
             if each.readlink().name.startswith("socket:")]
    flags = {name: re.search(r"flags:\s+(\d+)", (folder / "fdinfo" / name).read_text())[1]
             for name in names}
    assert names
    return [name for name in names if not int(flags[name], 8) & os.O_CLOEXEC]


async def test_programs_that_others_start_do_not_keep_their_sockets(lab, place):
    # They would keep the port, and the hub's end from its programs.
    ours, _, start = lab
    alone = await publish(start, ours, "Lamp")
    hub = await start_hub(start, ours, place)
    client = await publish(start, ours, "Chair", place=place)
    assert speaker_count(ours) == 2
    for program in (alone, hub, client):
        assert inherited_sockets(program) == []


async def test_a_hub_withdraws_what_a_killed_program_has_published(lab, place):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    await start_hub(start, ours, place)
    browse = await start(ours, *using(place), AMBIT, "browse", TYPE, "--json")
    lamp = await publish(start, ours, "Lamp", place=place)
    await next_named(watch.next, full("Lamp"), "found")
    killed = time.monotonic()
    await lamp.kill()
    await next_named(watch.next, full("Lamp"), "gone")
    await next_named(browse.next, "Lamp", "gone")
    assert time.monotonic() - killed < SOON, "a goodbye was sent, or it would last more than an hour"


async def test_when_a_hub_is_killed_its_programs_go_on(lab, place):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    hub = await start_hub(start, ours, place)
    chair = await publish(start, ours, "Chair", place=place)
    browse = await start(ours, *using(place), AMBIT, "browse", TYPE, "--json")
    assert await watch.found(1) == {full("Chair")}
    assert await browse.found(1) == {"Chair"}
    await hub.kill()
    desk = await publish(start, ours, "Desk", place=place)
    await next_named(watch.next, full("Desk"), "found")
    event = await browse.next()
    assert (event["event"], event["name"]) == ("found", "Desk")
    [found] = await theirs.ambit("resolve", "Chair", "light")
    assert ours.address in found["addresses"]
    assert all(p.process.returncode is None for p in (chair, desk, browse))


def goodbyes(datagram):
    """The names of services that a datagram says have ended."""
    for answer in dns.message.from_wire(datagram.payload).answer:
        is_service = str(answer.name) == "_crowd._tcp.local." and answer.rdtype == dns.rdatatype.PTR
        if is_service and answer.ttl == 0:
            yield from (str(record.target) for record in answer)


async def test_goodbyes_that_the_system_cannot_take_at_once_are_sent(lab):
    ours, theirs, start = lab
    count = 3_000
    # It is half as much again as fits into the sockets, which so slow a network does not empty at
    # once; and it is sent in less than half of the second that goodbyes have, unless the machine is busy.
    for _ in range(5):
        crowd = await start(ours, CROWD, "leave", str(count), stdin=subprocess.PIPE)
        assert (await crowd.next())["count"] == count
        inside(ours, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "16mbit",
               "burst", "9000", "limit", "10000000")
        with Wire(theirs, IPV4, Datagram.read) as wire:
            # Room for all of them: a wire that loses none (SO_RCVBUFFORCE).
            wire.socket.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)
            crowd.process.stdin.write(b"\n")
            assert await asyncio.wait_for(crowd.process.wait(), limits.EVENT) == 0
            await wire.until_quiet(1)
        inside(ours, "tc", "qdisc", "delete", "dev", "eth0", "root")
        gone = {name for datagram in wire.heard for name in goodbyes(datagram)}
        if len(gone) == count:
            break
    assert len(gone) == count


async def test_a_hub_that_stands_still_stops_nobody(lab, place):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    hub = await start_hub(start, ours, place)
    # It serves programs before it has its sockets of the port.
    async with asyncio.timeout(limits.EVENT):
        while speaker_count(ours) < 1:
            await asyncio.sleep(0.05)
    hub.signal(signal.SIGSTOP)
    try:
        chair = await publish(start, ours, "Chair", place=place)
        await next_named(watch.next, full("Chair"), "found")
        # Its announcement may have come over IPv6, before it has its sockets of IPv4.
        async with asyncio.timeout(limits.EVENT):
            while speaker_count(ours) != 2:
                await asyncio.sleep(0.05)
        chair.signal(signal.SIGTERM)
        await chair.process.wait()
        assert b"does not answer" in await chair.process.stderr.read()
    finally:
        hub.signal(signal.SIGCONT)


@pytest.mark.parametrize("command, reason", [
    (("publish", "Chair", TYPE, "80", "--timeout", "2"), b"has not been published"),
    (("browse", TYPE, "--timeout", "2"), b"does not answer"),
    (("browse", TYPE, "--once", "--timeout", "2"), b"does not answer"),
    (("resolve", "Desk", TYPE, "--timeout", "2"), b"does not answer")])
async def test_a_command_that_ends_before_a_stopped_hub_is_left_has_failed(
        lab, place, command, reason):
    ours, _, start = lab
    hub = await start_hub(start, ours, place)
    hub.signal(signal.SIGSTOP)
    try:
        program = await start(ours, *using(place), AMBIT, *command)
        assert await asyncio.wait_for(program.process.wait(), limits.EVENT) != 0
        assert reason in await program.process.stderr.read()
    finally:
        hub.signal(signal.SIGCONT)


async def test_a_browse_whose_hub_was_silent_until_it_was_killed_has_failed(lab, place):
    ours, _, start = lab
    hub = await start_hub(start, ours, place)
    await publish(start, ours, "Lamp", place=place)
    browse = await start(
        ours, *using(place), AMBIT, "browse", TYPE, "--json", "--timeout", "5")
    assert await browse.found(1) == {"Lamp"}
    hub.signal(signal.SIGSTOP)
    # Shorter than a hub has to answer, and in the last second of the browse, which has no time to find
    # anything by itself. On a busy machine the browse may end first.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(browse.process.wait(), 4.7)
    await hub.kill()
    assert await asyncio.wait_for(browse.process.wait(), limits.EVENT) != 0
    assert re.search(b"d(id|oes) not answer", await browse.process.stderr.read())


async def test_a_service_that_is_found_once_a_stopped_hub_was_left_is_resolved(lab, place):
    ours, theirs, start = lab
    desk = await start(theirs, *PEER, "publish", "Desk", TYPE, "80", theirs.address)
    await desk.next()
    hub = await start_hub(start, ours, place)
    hub.signal(signal.SIGSTOP)
    try:
        program = await start(
            ours, *using(place), AMBIT, "resolve", "Desk", TYPE, "--timeout", "40")
        assert await asyncio.wait_for(program.process.wait(), limits.EVENT) == 0
        assert b"does not answer" in await program.process.stderr.read()
    finally:
        hub.signal(signal.SIGCONT)


# What listens and is killed, while its child goes on with its sockets; and one that never listened.
ORPHAN = """
import os, signal, socket, sys
place = socket.socket(socket.AF_UNIX)
place.bind(sys.argv[2])
if sys.argv[1] == "listen":
    place.listen()
if os.fork() == 0:
    os.setsid()
    print('{"event": "ready"}', flush=True)
    sys.stdin.read()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("mode, reason", [
    ("listen", b"does not answer"), ("bind", b"does not listen")])
async def test_a_hub_that_was_killed_and_whose_child_has_its_socket_stops_nobody(
        lab, place, mode, reason):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    orphan = await start(
        ours, sys.executable, "-c", ORPHAN, mode, f"{place}.bonjour", stdin=subprocess.PIPE)
    assert (await orphan.next())["event"] == "ready"
    lamp = await publish(start, ours, "Lamp", place=place)
    await next_named(watch.next, full("Lamp"), "found")
    lamp.signal(signal.SIGTERM)
    await lamp.process.wait()
    assert reason in await lamp.process.stderr.read()


async def test_programs_that_send_half_a_message_or_nothing_cost_a_hub_little(lab, place):
    ours, _, start = lab
    hub = await start_hub(start, ours, place)
    await publish(start, ours, "Lamp", place=place)
    _, before = hub.cpu_and_memory()
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(400):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            client.connect(f"{place}.bonjour")
            clients.append(client)
        # The length of the longest message, and all of it but a little.
        half = (1 << 17).to_bytes(4, "little") + bytes(130_000)

        async def talk(client):
            with contextlib.suppress(ConnectionError):
                await asyncio.get_running_loop().sock_sendall(client, half)

        async def is_closed(client):
            with contextlib.suppress(ConnectionError):
                while await asyncio.get_running_loop().sock_recv(client, 4_096):
                    pass

        await asyncio.wait_for(asyncio.gather(*map(talk, clients[1:])), limits.EVENT)
        chair = await publish(start, ours, "Chair", place=place)
        _, after = hub.cpu_and_memory()
        assert after - before < 40, "400 times 128 KiB are 50 MiB"
        # Who does not greet is closed, whatever it has said.
        await asyncio.wait_for(asyncio.gather(*map(is_closed, clients)), limits.EVENT)
    assert chair.process.returncode is None and hub.process.returncode is None


async def test_hundreds_of_programs_with_a_service_each(lab, place):
    ours, theirs, start = lab
    hub = await start_hub(start, ours, place, "prlimit", "--nofile=128:20000")
    crowd = await start(ours, *using(place), CROWD, "publish", "300", "1")
    joined = await crowd.next(100)
    assert joined["clients"] == 300, joined
    published = await crowd.next(100)
    assert published["count"] == 300
    name = f"Service {crowd.process.pid} 299 0"
    [found] = await theirs.ambit("resolve", name, "crowd")
    assert found["port"] == 300
    print(joined, published, "CPU seconds and MiB of the hub:", hub.cpu_and_memory())
    browse = await start(ours, *using(place), AMBIT, "browse", "_crowd._tcp", "--json")
    there = await browse.found(300)
    await crowd.kill()
    # Everything is taken back, and the hub goes on.
    while there:
        event = await browse.next()
        assert event["event"] == "gone"
        there.remove(event["name"])
    await publish(start, ours, "Lamp", place=place)
    assert await theirs.ambit("browse", "_crowd._tcp", timeout=3) == []
    assert hub.process.returncode is None and speaker_count(ours) == 1
