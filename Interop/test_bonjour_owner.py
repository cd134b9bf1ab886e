"""Programs of one host that share one owner of port 5353: they come, end and are killed, while
Python's zeroconf on another host watches."""

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
from ethernet import IPV4, Datagram, Wire, inside as namespace
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


def inside(host, *command):
    return subprocess.run(
        ["ip", "netns", "exec", host.namespace, *command], check=True, capture_output=True,
        text=True).stdout


def speaker_count(host):
    """How many programs speak Multicast DNS over IPv4 there: each has two sockets of the port."""
    addresses = [line.split()[1] for line in inside(host, "cat", "/proc/net/udp").splitlines()]
    return sum(address.endswith(":14E9") for address in addresses) / 2


def place(host):
    """The names that programs there have taken for sharing."""
    return {line.split()[-1] for line in inside(host, "cat", "/proc/net/unix").splitlines()
            if "@ambit/bonjour" in line and line.split()[3] == "00010000"}


async def publish(start, host, name, port="80", *arguments):
    program = await start(host, AMBIT, "publish", name, TYPE, port, *arguments, "--json")
    assert (await program.next())["name"] == name
    return program


async def test_programs_of_a_host_share_one_socket_and_see_each_other(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    browse = await start(ours, AMBIT, "browse", TYPE, "--json")
    lamp = await publish(start, ours, "Lamp")
    chair = await publish(start, ours, "Chair", "81", "room=study")
    assert await watch.found(2) == {full("Lamp"), full("Chair")}
    assert await browse.found(2) == {"Lamp", "Chair"}
    assert speaker_count(ours) == 1 and place(ours) == {"@ambit/bonjour/0"}
    [found] = await ours.ambit("resolve", "Chair", "light")
    assert found["port"] == 81 and found["text"] == {"room": "study"}
    assert found["interface"] == "eth0" and ours.address in found["addresses"]
    assert lamp.process.returncode is None and chair.process.returncode is None


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


async def test_programs_that_an_owner_or_a_client_starts_do_not_keep_its_sockets(lab):
    # They would keep the port, and the owner's end from its clients.
    ours, _, start = lab
    owner = await publish(start, ours, "Lamp")
    client = await publish(start, ours, "Chair")
    assert speaker_count(ours) == 1
    assert inherited_sockets(owner) == [] and inherited_sockets(client) == []


async def test_a_program_that_is_killed_takes_its_services_with_it(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    owner = await start(ours, CROWD, "own")
    assert (await owner.next())["role"] == "owner"
    browse = await start(ours, AMBIT, "browse", TYPE, "--json")
    lamp = await publish(start, ours, "Lamp")
    await next_named(watch.next, full("Lamp"), "found")
    killed = time.monotonic()
    await lamp.kill()
    await next_named(watch.next, full("Lamp"), "gone")
    await next_named(browse.next, "Lamp", "gone")
    assert time.monotonic() - killed < SOON, "a goodbye was sent, or it would last more than an hour"


async def test_when_the_owner_is_killed_the_others_go_on(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    owner = await publish(start, ours, "Lamp")
    chair = await publish(start, ours, "Chair")
    browse = await start(ours, AMBIT, "browse", TYPE, "--json")
    assert await watch.found(2) == {full("Lamp"), full("Chair")}
    assert await browse.found(2) == {"Lamp", "Chair"}
    await owner.kill()
    killed = time.monotonic()
    # What has gone with its program is told, and nothing else.
    event = await browse.next()
    assert (event["event"], event["name"]) == ("gone", "Lamp")
    assert time.monotonic() - killed < SOON
    desk = await publish(start, ours, "Desk")
    await next_named(watch.next, full("Desk"), "found")
    event = await browse.next()
    assert (event["event"], event["name"]) == ("found", "Desk")
    [found] = await theirs.ambit("resolve", "Chair", "light")
    assert ours.address in found["addresses"]
    assert speaker_count(ours) == 1 and len(place(ours)) == 1
    await watch.nothing(2, "gone")
    assert all(p.process.returncode is None for p in (chair, desk, browse))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_owner_is_killed_the_next_one_says_goodbye_for_it(lab, how):
    # The default of SIGTERM ends a program, too, before it could say anything.
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", "_crowd._tcp")
    others = await start(theirs, *PEER, "browse", TYPE)
    owner = await start(ours, CROWD, "publish", "1", "2")
    await next_event(owner, "published")
    chair = await publish(start, ours, "Chair")
    names = await watch.found(2)
    assert await others.found(1) == {full("Chair")}
    owner.signal(how)
    killed = time.monotonic()
    await owner.process.wait()
    gone = {(await next_event(watch, "gone"))["name"] for _ in range(2)}
    assert time.monotonic() - killed < SOON, "they would last more than an hour"
    assert gone == names
    await others.nothing(3, "gone")
    assert chair.process.returncode is None


async def test_when_the_owner_ends_only_its_own_service_goes(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    owner = await publish(start, ours, "Lamp")
    await publish(start, ours, "Chair")
    browse = await start(ours, AMBIT, "browse", TYPE, "--json")
    assert await watch.found(2) == {full("Lamp"), full("Chair")}
    assert await browse.found(2) == {"Lamp", "Chair"}
    owner.signal(signal.SIGTERM)
    await owner.process.wait()
    await next_named(watch.next, full("Lamp"), "gone")
    event = await browse.next()
    assert (event["event"], event["name"]) == ("gone", "Lamp")
    await asyncio.gather(watch.nothing(12, "gone"), browse.nothing(12, "gone", "found"))
    [found] = await theirs.ambit("resolve", "Chair", "light")
    assert ours.address in found["addresses"]


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


async def test_an_owner_that_stands_still_stops_nobody(lab):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    owner = await publish(start, ours, "Lamp")
    await next_named(watch.next, full("Lamp"), "found")
    owner.signal(signal.SIGSTOP)
    try:
        chair = await publish(start, ours, "Chair")
        await next_named(watch.next, full("Chair"), "found")
        assert speaker_count(ours) == 2
        chair.signal(signal.SIGTERM)
        await chair.process.wait()
        assert b"does not answer" in await chair.process.stderr.read()
    finally:
        owner.signal(signal.SIGCONT)


@pytest.mark.parametrize("command, reason", [
    (("publish", "Chair", TYPE, "80", "--timeout", "2"), b"has not been published"),
    (("browse", TYPE, "--timeout", "2"), b"does not answer"),
    (("browse", TYPE, "--once", "--timeout", "2"), b"does not answer"),
    (("resolve", "Desk", TYPE, "--timeout", "2"), b"does not answer")])
async def test_a_command_that_ends_before_a_stopped_owner_is_left_has_failed(lab, command, reason):
    ours, _, start = lab
    owner = await publish(start, ours, "Lamp")
    owner.signal(signal.SIGSTOP)
    try:
        program = await start(ours, AMBIT, *command)
        assert await asyncio.wait_for(program.process.wait(), limits.EVENT) != 0
        assert reason in await program.process.stderr.read()
    finally:
        owner.signal(signal.SIGCONT)


async def test_a_browse_whose_owner_was_silent_until_it_was_killed_has_failed(lab):
    ours, _, start = lab
    owner = await publish(start, ours, "Lamp")
    browse = await start(ours, AMBIT, "browse", TYPE, "--json", "--timeout", "5")
    assert await browse.found(1) == {"Lamp"}
    owner.signal(signal.SIGSTOP)
    # Shorter than an owner has to answer, and in the last second of the browse, whose successor
    # has no time to find anything. On a busy machine the browse may end first.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(browse.process.wait(), 4.7)
    await owner.kill()
    assert await asyncio.wait_for(browse.process.wait(), limits.EVENT) != 0
    assert re.search(b"d(id|oes) not answer", await browse.process.stderr.read())


async def test_a_service_that_is_found_once_a_stopped_owner_was_left_is_resolved(lab):
    ours, theirs, start = lab
    desk = await start(theirs, *PEER, "publish", "Desk", TYPE, "80", theirs.address)
    await desk.next()
    owner = await publish(start, ours, "Lamp")
    owner.signal(signal.SIGSTOP)
    try:
        program = await start(ours, AMBIT, "resolve", "Desk", TYPE, "--timeout", "40")
        assert await asyncio.wait_for(program.process.wait(), limits.EVENT) == 0
        assert b"does not answer" in await program.process.stderr.read()
    finally:
        owner.signal(signal.SIGCONT)


# What has the place and is killed, while its child goes on with its sockets; and one that has it and
# never answers.
ORPHAN = """
import os, signal, socket, sys
place = socket.socket(socket.AF_UNIX)
place.bind("\\0ambit/bonjour/0")
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
    ("listen", b"does not answer"), ("bind", b"could not be reached")])
async def test_an_owner_that_was_killed_and_whose_child_has_the_place_stops_nobody(
        lab, mode, reason):
    ours, theirs, start = lab
    watch = await start(theirs, *PEER, "browse", TYPE)
    orphan = await start(ours, sys.executable, "-c", ORPHAN, mode, stdin=subprocess.PIPE)
    assert (await orphan.next())["event"] == "ready"
    lamp = await publish(start, ours, "Lamp")
    await next_named(watch.next, full("Lamp"), "found")
    lamp.signal(signal.SIGTERM)
    await lamp.process.wait()
    assert reason in await lamp.process.stderr.read()


async def test_clients_that_say_half_of_something_or_nothing_cost_an_owner_little(lab):
    ours, _, start = lab
    owner = await publish(start, ours, "Lamp")
    _, before = owner.cpu_and_memory()
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(400):
            with namespace(ours.namespace):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.setblocking(False)
            client.connect("\0ambit/bonjour/0")
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
        chair = await publish(start, ours, "Chair")
        _, after = owner.cpu_and_memory()
        assert after - before < 40, "400 times 128 KiB are 50 MiB"
        # Who does not greet is closed, whatever it has said.
        await asyncio.wait_for(asyncio.gather(*map(is_closed, clients)), limits.EVENT)
    assert chair.process.returncode is None and owner.process.returncode is None


async def test_roots_owner_serves_all_users_and_is_no_users_client(lab):
    ours, theirs, start = lab

    async def of_user(*arguments):
        return await start(
            ours, "setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", *arguments)

    program = await of_user("test", "-x", AMBIT)
    if await program.process.wait() != 0:
        pytest.skip(f"Another user may not run {AMBIT}.")
    watch = await start(theirs, *PEER, "browse", TYPE)
    lamp = await of_user(AMBIT, "publish", "Lamp", TYPE, "80", "--json")
    assert (await lamp.next())["name"] == "Lamp"
    assert place(ours) == {"@ambit/bonjour/1234"}
    owner = await publish(start, ours, "Chair")
    assert place(ours) == {"@ambit/bonjour/1234", "@ambit/bonjour/0"}
    assert speaker_count(ours) == 2, "root does not ask the user's"
    desk = await of_user(AMBIT, "publish", "Desk", TYPE, "80", "--json")
    assert (await desk.next())["name"] == "Desk"
    assert speaker_count(ours) == 2, "the user asks root's"
    assert await watch.found(3) == {full("Lamp"), full("Chair"), full("Desk")}
    await desk.kill()
    await next_named(watch.next, full("Desk"), "gone")
    assert owner.process.returncode is None


async def test_hundreds_of_clients_with_a_service_each(lab):
    ours, theirs, start = lab
    owner = await start(ours, "prlimit", "--nofile=128:20000", CROWD, "own")
    assert (await owner.next())["role"] == "owner"
    crowd = await start(ours, CROWD, "publish", "300", "1")
    joined = await crowd.next(100)
    assert joined["clients"] == 300, joined
    published = await crowd.next(100)
    assert published["count"] == 300
    name = f"Service {crowd.process.pid} 299 0"
    [found] = await theirs.ambit("resolve", name, "crowd")
    assert found["port"] == 300
    print(joined, published, "CPU seconds and MiB of the owner:", owner.cpu_and_memory())
    browse = await start(ours, AMBIT, "browse", "_crowd._tcp", "--json")
    there = await browse.found(300)
    await crowd.kill()
    # Everything is taken back, and the owner goes on.
    while there:
        event = await browse.next()
        assert event["event"] == "gone"
        there.remove(event["name"])
    lamp = await start(ours, AMBIT, "publish", "Lamp", TYPE, "80", "--json")
    assert (await lamp.next(60))["name"] == "Lamp"
    assert await ours.ambit("browse", "_crowd._tcp", timeout=3) == []
    assert owner.process.returncode is None and speaker_count(ours) == 1
