"""A stream of messages from one account to another while connections, processes, the server and a disk fail, and the
count of what was lost, doubled or out of order as the receiving app sees it."""

import asyncio
import contextlib
import dataclasses
import math
import os
import pathlib
import random
import socket
import struct
import sys

from xmpp_pipe import PROGRAM, Ours

SLIXMPP = (sys.executable, pathlib.Path(__file__).parent / "slixmpp_pipe.py")
SUBJECTS = {
    "Ambit": (PROGRAM, "message", "pipe"),
    "slixmpp, stream management": SLIXMPP,
    "slixmpp, stream management and archive": (*SLIXMPP, "--archive"),
}
# Nothing more comes after this time without a new message, which is longer than any pause between attempts.
QUIET = 75
# A message after a fault that has not arrived by then is lost, if nothing stores it.
LOST = 20
# The settings with which Ambit's recovery is measured: requests to a silent server, answers and pauses of a second.
LIVENESS = ("--liveness", "quick")


class Relay:
    """A relay before a listener, whose connections fail."""

    def __init__(self, endpoints, address="127.0.0.1", port=0):
        # Gives the places to connect to, the best first.
        self._endpoints, self._address, self.port = endpoints, address, port
        self._pairs, self._tasks = set(), set()
        # Whether nothing passes, while both sides believe their connections to be established.
        self.is_silent = False

    async def start(self):
        self._listener = await asyncio.start_server(self._take, self._address, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self):
        self._listener.close()
        self.end("cut")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, reader, writer):
        there = await self._connect()
        if not there:
            writer.close()
            return
        there_reader, there_writer = there
        pair = Pair(writer, there_writer)
        pair.is_silent = self.is_silent
        self._pairs.add(pair)
        tasks = [
            asyncio.create_task(pair.copy(reader, there_writer)),
            asyncio.create_task(pair.copy(there_reader, writer)),
        ]
        self._tasks |= {asyncio.current_task(), *tasks}
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not pair.is_silent:
            pair.close()
            self._pairs.discard(pair)

    async def _connect(self):
        for host, port in self._endpoints():
            with contextlib.suppress(OSError):
                return await asyncio.open_connection(host, port)
        return None

    def silence(self):
        """Lets nothing pass, also on connections that follow, which both sides believe to be established."""
        self.is_silent = True
        self.end("half-open")

    def mend(self):
        """Ends the connections that were silent; others work."""
        self.is_silent = False
        self.end("cut")

    def end(self, kind):
        """Lets all connections end, or become silent while both sides believe them to be established."""
        for pair in list(self._pairs):
            if kind == "half-open":
                pair.is_silent = True
            else:
                pair.close(reset=kind == "reset")
                self._pairs.discard(pair)


class Link(Relay):
    """A relay before a server: to its clients it looks like the server. `first` is the node of a cluster that it prefers."""

    def __init__(self, server, first=0):
        super().__init__(lambda: server.endpoints[first:] + server.endpoints[:first])
        self.domain, self.authority = server.domain, server.authority


class Pair:
    def __init__(self, *writers):
        self._writers, self.is_silent = writers, False

    async def copy(self, reader, writer):
        with contextlib.suppress(ConnectionError, OSError):
            while data := await reader.read(65_536):
                if not self.is_silent:
                    writer.write(data)
                    await writer.drain()

    def close(self, reset=False):
        for writer in self._writers:
            if reset and (found := writer.get_extra_info("socket")):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            else:
                writer.close()


class Disk:
    """A file system of a few megabytes, with room or without."""

    def __init__(self, folder):
        self.folder = folder

    async def _run(self, *command):
        process = await asyncio.create_subprocess_exec(*command)
        assert await process.wait() == 0, command

    async def mount(self):
        self.folder.mkdir(parents=True)
        await self._run("mount", "-t", "tmpfs", "-o", "size=32m,mode=0700", "none", self.folder)

    async def unmount(self):
        await self._run("umount", "-l", self.folder)

    @contextlib.contextmanager
    def full(self):
        path = self.folder / "filler"
        try:
            with open(path, "wb", buffering=0) as file:
                with contextlib.suppress(OSError):
                    while file.write(bytes(4_096)):
                        pass
            yield
        finally:
            path.unlink()


@dataclasses.dataclass
class Result:
    subject: str
    count: int
    seed: int
    faults: int
    lost: int
    doubled: int
    disordered: int
    # Seconds from the last fault, a cut of both connections, until the next message has arrived; none if it never did.
    recovery: float | None
    # The same for a last fault of each kind, from its end on.
    recoveries: dict[str, float | None]

    def recovers(self, seconds):
        """Whether each last fault is over within this time."""
        return all(each is not None and each <= seconds for each in (self.recovery, *self.recoveries.values()))


async def run(subject, server, folder, count, seed, kinds=None, fault_count=14, each_last=False):
    """Sends messages through a server that runs while faults occur, the last one a cut; gives the counts.

    With `each_last` a fault of each kind follows, and the message after it: the recovery from it alone."""
    chance = random.Random(seed)
    command = SUBJECTS[subject]
    stores = subject == "Ambit"
    kinds = [kind for kind in kinds or server.faults if stores or kind != "full disk"]
    plan = [kinds[number % len(kinds)] for number in range(fault_count - 1)]
    chance.shuffle(plan)
    places = sorted(chance.sample(range(count // 50, count * 9 // 10), len(plan))) + [count * 19 // 20]
    faults = list(zip(places, [*plan, "cut"]))
    expected = [f"message {number}" for number in range(count)]
    disk = Disk(folder / "disk") if "full disk" in kinds else None
    async with contextlib.AsyncExitStack() as stack:
        if disk:
            await disk.mount()
            stack.push_async_callback(disk.unmount)
        clients = []
        for number, name in enumerate(("ann", "bob")):
            link = Link(server, first=number % len(server.endpoints))
            await link.start()
            stack.push_async_callback(link.stop)
            place = disk.folder / name if disk else folder / name
            place.mkdir()
            client = Client(link, name, place, command=command)
            if stores:
                await client.add(*LIVENESS)
            await client.start()
            stack.push_async_callback(client.stop)
            clients.append(client)
        ann, bob = clients
        # Both have a session before the first message: none is lost because its recipient was never there.
        for client in clients:
            await client.event("online")
        last_fault = None
        for number, body in enumerate(expected):
            if faults and number == faults[0][0]:
                kind = faults.pop(0)[1]
                if faults:
                    await fault(kind, server, ann, bob, disk, chance)
                else:
                    # The time of the last fault is its own, not what is left of one before.
                    await bob.until_handed(set(expected[:number]))
                    for client in clients:
                        client.server.end(kind)
                    last_fault = number, asyncio.get_running_loop().time()
            await send(ann, body)
            # A pace that slixmpp sustains.
            await asyncio.sleep(0.005)
        await server.settled()
        await bob.until_handed(set(expected))
        recoveries = {}
        for kind in kinds if each_last else ():
            body = f"message {len(expected)}"
            expected.append(body)
            await fault(kind, server, ann, bob, disk, chance, count=2)
            ended = asyncio.get_running_loop().time()
            await send(ann, body)
            await bob.until_handed({body}, QUIET if stores else LOST)
            recoveries[kind] = bob.times[body] - ended if body in bob.times else None
        # A duplicate that was still on its way.
        with contextlib.suppress(TimeoutError):
            await bob.more(2)
    numbers = [int(body.split()[1]) for body in bob.handed]
    arrived = set(numbers)
    highest = -1
    disordered = 0
    for number in numbers:
        disordered += number < highest
        highest = max(highest, number)
    number, since = last_fault
    recovery = bob.times[expected[number]] - since if number in arrived else None
    return Result(
        subject, len(expected), seed, len(places) + len(recoveries), len(expected) - len(arrived),
        len(numbers) - len(arrived), disordered, recovery, recoveries)


async def send(client, body):
    """Sends a message until it is accepted: what was not is the app's to send again."""
    while not await client.send("bob", body):
        if client.process.returncode is not None:
            await client.start()
        else:
            # A client that refuses, as with a full disk, has no event for the end of its reason.
            await asyncio.sleep(0.1)


async def fault(kind, server, ann, bob, disk, chance, count=1):
    """A fault. `count` is the number of the clients whose connections fail. With 1, faults of nodes go on while messages are
    sent."""
    client = chance.choice((ann, bob))
    match kind:
        case "cut" | "reset" | "half-open":
            for each in (client,) if count == 1 else (ann, bob):
                each.server.end(kind)
        case "sender" | "receiver":
            client = ann if kind == "sender" else bob
            await client.kill()
            await client.start()
        case "server":
            await server.kill()
            await server.start()
        case "node" | "netsplit":
            await (server.lose_node(chance) if kind == "node" else server.split())
            if count > 1:
                await server.settled()
        case "full disk":
            with disk.full():
                # The length of the fault; nothing is waited for.
                await asyncio.sleep(2)


class Client(Ours):
    """A program with the lines of `ambit message pipe`, and what its app was handed, in order."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.handed, self.times = [], {}
        self._arrived = asyncio.Event()

    def _take(self, event):
        if event.get("event") == "received" and event["row"] not in self.taken:
            self.handed.append(event["body"])
            self.times.setdefault(event["body"], asyncio.get_running_loop().time())
            self._arrived.set()
        super()._take(event)

    async def until_handed(self, bodies, quiet=QUIET):
        """Waits until messages have arrived, or none has arrived for a time."""
        with contextlib.suppress(TimeoutError):
            while not bodies <= set(self.handed):
                await self.more(quiet)

    async def more(self, seconds):
        """Waits for another message."""
        self._arrived.clear()
        async with asyncio.timeout(seconds):
            await self._arrived.wait()


def table(results):
    """The results as a table of Markdown."""
    kinds = list(dict.fromkeys(kind for result in results for kind in result.recoveries))
    heads = ["client", "messages, faults", "lost", "doubled", "out of order", "recovery (s): cut of both", *kinds]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for result in results:
        seconds = [result.recovery, *(result.recoveries.get(kind, math.nan) for kind in kinds)]
        cells = [
            result.subject, f"{result.count:,}, {result.faults}", result.lost, result.doubled, result.disordered,
            *("never" if each is None else "" if math.isnan(each) else f"{each:.1f}" for each in seconds)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
