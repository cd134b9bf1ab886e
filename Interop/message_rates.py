"""How fast messages of ours are through ejabberd on PostgreSQL, beside a client without a store that sends and reads the same
bytes; `Benchmarks/run messages server` explains."""

import argparse
import asyncio
import base64
import json
import pathlib
import re
import tempfile
import time

from processor_time import Groups
from xmpp_pipe import ours
from xmpp_postgresql import ejabberd_on_postgresql
from xmpp_server import DOMAIN, PASSWORD

BODY = "A message of a hundred bytes. " * 3 + "0123456789"
STREAM = "0123456789abcdef0123456789abcdef"
# What a client without a store may send before the server has acknowledged the first of it: four times as much as ours.
WINDOW = 1_024
# The process of one session in ejabberd writes one row of the archive after the other, so that one pair of accounts shows the
# time of a row, and several pairs what the server can do.
PAIRS = 4
OURS = [(f"ann{pair}", f"bob{pair}") for pair in range(PAIRS)]
BARE = [(f"carol{pair}", f"dave{pair}") for pair in range(PAIRS)]
ACCOUNTS = tuple(name for pair in OURS + BARE for name in pair)
# ejabberd ends a session with more than 5,000 stanzas that the client has not acknowledged. An acknowledgement waits behind
# the stanzas that were sent before it, each of which is a row in the archive. That bound is not what is measured here.
UNACKNOWLEDGED_MAX = 1_000_000
# Seconds after which a measurement has failed.
LONGEST = 600


class Count:
    """How often some bytes are in a stream that comes in pieces."""

    def __init__(self, sign):
        self._sign, self._rest, self.value = sign, b"", 0

    def add(self, data):
        """Counts them in the next piece; gives how many were new."""
        text = self._rest + data
        self._rest = text[-(len(self._sign) - 1):]
        found = text.count(self._sign)
        self.value += found
        return found


def counter(events, name, **members):
    """A function that counts the events of this name with these members from now on. It looks at each once: a hundred thousand
    of them were searched for minutes."""
    place, count, wanted = len(events), 0, ({"event": name} | members).items()

    def counted():
        nonlocal place, count
        count += sum(wanted <= event.items() for event in events[place:])
        place = len(events)
        return count
    return counted


class Bare:
    """A client that has no store, and reads no more XML than it needs."""

    def __init__(self, server, name, sign=b"</message>"):
        self._server, self.name = server, name
        self._buffer = b""
        # ejabberd ends a session that leaves its request for an acknowledgement without an answer. Only stanzas with this sign
        # are counted: fewer than all is no error.
        self._stanzas, self._requests = Count(sign), Count(b"<r ")

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._server.port, limit=1 << 22)
        await self._open(b"</stream:features>")
        self.write("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
        await self.until(b"<proceed")
        self._buffer = b""
        await self._writer.start_tls(self._server.tls(), server_hostname=DOMAIN)
        await self._open(b"</stream:features>")
        secret = base64.b64encode(f"\0{self.name}\0{PASSWORD}".encode()).decode()
        self.write(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{secret}</auth>")
        await self.until(b"<success")
        await self._open(b"</stream:features>")
        self.write("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
        await self.until(b"</iq>")
        self.write("<enable xmlns='urn:xmpp:sm:3' resume='true'/>")
        await self.until(b"<enabled")
        return self

    async def __aexit__(self, *_):
        self._writer.close()

    async def _open(self, end):
        self._buffer = b""
        self.write(
            f"<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='{DOMAIN}' "
            "version='1.0'>")
        await self.until(end)

    def write(self, text):
        self._writer.write(text.encode())

    async def until(self, sign):
        """Reads up to these bytes; gives what was before them, with them."""
        while (place := self._buffer.find(sign)) < 0:
            await self.more()
        found, self._buffer = self._buffer[:place + len(sign)], self._buffer[place + len(sign):]
        return found

    async def more(self):
        data = await self._reader.read(1 << 20)
        assert data, self._buffer[-500:]
        self._buffer += data
        self._stanzas.add(data)
        if self._requests.add(data):
            self.write(f"<a xmlns='urn:xmpp:sm:3' h='{self._stanzas.value}'/>")

    def take(self):
        """What has been read."""
        found, self._buffer = self._buffer, b""
        return found


def message(number, to):
    """A message as ours writes it."""
    name = f"018bcfe5-6800-7000-8000-{100_000_000_000 + number}"
    return (
        f"<message type='chat' id='{name}' to='{to}@{DOMAIN}'><body>{BODY}</body>"
        f"<request xmlns='urn:xmpp:receipts'/><origin-id xmlns='urn:xmpp:sid:0' id='{name}'/>"
        f"<order xmlns='urn:x-ambit:order:1' stream='{STREAM}' n='{number + 1}'/><store xmlns='urn:xmpp:hints'/>"
        "<active xmlns='http://jabber.org/protocol/chatstates'/><markable xmlns='urn:xmpp:chat-markers:0'/></message>")


async def bare_pair(server, names, count, ready, done):
    """Sends messages from one client without a store to another, each with a receipt, from the moment when all pairs are
    there, and leaves when all are done."""
    async with Bare(server, names[0]) as sender, Bare(server, names[1]) as receiver:
        for client in (sender, receiver):
            client.write("<presence/>")
            await client.until(b"<presence")
        await ready.wait()

        async def send():
            confirmed = sent = 0
            receipts, rest = Count(b"<received "), b""
            while confirmed < count or receipts.value < count:
                last = min(count, confirmed + WINDOW)
                if sent < last:
                    sender.write("".join(message(number, names[1]) for number in range(sent, last))
                                 + "<r xmlns='urn:xmpp:sm:3'/>")
                    sent = last
                await sender.more()
                data = sender.take()
                receipts.add(data)
                text = rest + data
                rest = text[-100:]
                for h in re.findall(rb"<a [^>]*h='(\d+)'", text):
                    # The presence is a stanza, too.
                    confirmed = max(confirmed, int(h) - 1)

        async def receive():
            # Receipts are sent by the same rule: the acknowledgements of messages must not wait behind thousands of them.
            owed, confirmed, sent, rest = [], 0, 0, ""
            while sent < count:
                await receiver.more()
                rest += receiver.take().decode(errors="replace")
                end = rest.rfind("/>") + 1
                found = re.findall(r"<origin-id [^>]*id='([^']*)'", rest[:end])
                for h in re.findall(r"<a [^>]*h='(\d+)'", rest[:end]):
                    confirmed = max(confirmed, int(h) - 1)
                rest = rest[end:]
                owed += found
                room = max(0, WINDOW - sent + confirmed)
                due, owed = owed[:room], owed[room:]
                if due:
                    receiver.write("".join(
                        f"<message type='chat' to='{names[0]}@{DOMAIN}'><received xmlns='urn:xmpp:receipts' id='{name}'/>"
                        "<store xmlns='urn:xmpp:hints'/></message>" for name in due) + "<r xmlns='urn:xmpp:sm:3'/>")
                    sent += len(due)

        await asyncio.gather(send(), receive())
        await done.wait()


class Turn:
    """A part of a run: its messages a second, and the processors' seconds for a thousand of them, by group of processes."""

    def __init__(self, server, database, count, **clients):
        self._count, self._start = count, time.monotonic()
        self._groups = Groups(ejabberd=[server.process], PostgreSQL=[database.process], **clients)

    def end(self):
        """Ends the measurement, while all processes still run."""
        self.rate = self._count / (time.monotonic() - self._start)
        self.processor = {name: taken * 1_000 / self._count for name, taken in self._groups.taken().items()}


async def bare_turn(server, database, count):
    """Messages, each with a receipt, between pairs of clients without a store."""
    ready, done = asyncio.Barrier(PAIRS + 1), asyncio.Barrier(PAIRS + 1)
    async with asyncio.TaskGroup() as group:
        for names in BARE:
            group.create_task(bare_pair(server, names, count // PAIRS, ready, done))
        await ready.wait()
        turn = Turn(server, database, count)
        await done.wait()
        turn.end()
    return turn


async def own_pair(server, names, folder, count, ready, done, processes, commits):
    """The same with two accounts of ours, to the last entry of the receiver's inbox and the last receipt at the sender."""
    async with ours(server, names[0], folder / names[0]) as sender, ours(server, names[1], folder / names[1]) as receiver:
        for account in (sender, receiver):
            await account.event("caught-up")
        # Messages of an earlier turn would count as those of this one.
        assert not receiver.taken
        received = counter(sender.events, "receipt")
        processes["senders"].append(sender.process)
        processes["receivers"].append(receiver.process)
        await ready.wait()
        lines = (
            json.dumps({"command": "send", "to": f"{names[1]}@{DOMAIN}", "body": BODY, "reference": str(number)}) + "\n"
            for number in range(count))
        sender.process.stdin.writelines([line.encode() for line in lines])
        await receiver.until(lambda: len(receiver.taken) >= count, LONGEST)
        await sender.until(lambda: received() >= count, LONGEST)
        await done.wait()
        for account, found in ((sender, commits["senders"]), (receiver, commits["receivers"])):
            account.write(command="stats")
            found.append((await account.event("stats"))["commits"])


async def own_turn(server, database, folder, count):
    """The same between pairs of accounts of ours, each with a new store."""
    folder.mkdir()
    database.query("DELETE FROM archive")
    ready, done = asyncio.Barrier(PAIRS + 1), asyncio.Barrier(PAIRS + 1)
    processes, commits = {"senders": [], "receivers": []}, {"senders": [], "receivers": []}
    async with asyncio.TaskGroup() as group:
        for names in OURS:
            group.create_task(own_pair(server, names, folder, count // PAIRS, ready, done, processes, commits))
        await ready.wait()
        turn = Turn(server, database, count, **processes)
        await done.wait()
        turn.end()
    turn.transactions = {name: sum(found) * 1_000 / count for name, found in commits.items()}
    return turn


def fill(database, name, count):
    """Puts messages into an account's archive, as if they had come while it was away."""
    lines = ["COPY archive (username, timestamp, peer, bare_peer, xml, txt, kind, nick) FROM stdin;"]
    now = int(time.time() * 1_000_000) - count
    for number in range(count):
        text = message(number, name).replace(
            "<message ", f"<message xml:lang='en' from='ann@{DOMAIN}/desk' xmlns='jabber:client' ", 1)
        lines.append("\t".join(
            (name, str(now + number), f"ann@{DOMAIN}/desk", f"ann@{DOMAIN}", text, BODY, "chat", "")))
    database.query("\n".join([*lines, "\\.", "ANALYZE archive;"]))


async def bare_catch_up(server, name, after):
    """Reads an archive by pages of 100 without looking at its messages; gives the messages a second."""
    async with Bare(server, name, sign=b"</result>") as client:
        start, count, last, page = time.monotonic(), 0, after, 0
        while True:
            page += 1
            position = f"<after>{last}</after>" if last else ""
            client.write(
                f"<iq type='set' id='q{page}'><query xmlns='urn:xmpp:mam:2' queryid='q{page}'>"
                f"<set xmlns='http://jabber.org/protocol/rsm'><max>100</max>{position}</set></query></iq>")
            answer = await client.until(b"</fin></iq>")
            count += answer.count(b"<result ")
            end = re.findall(rb"<last>([^<]*)</last>", answer)
            if b"complete='true'" in answer or not end:
                return count, count / (time.monotonic() - start)
            last = end[-1].decode()


async def own_catch_up(server, database, folder, count):
    """The same by ours, from the connection to the last entry of the inbox, with the rate of the client without a store."""
    folder.mkdir()
    name = OURS[0][1]
    async with ours(server, name, folder / name, acknowledges=False) as account:
        await account.event("caught-up", whole=True)
        await account.stop()
        fill(database, name, count)
        online, received = counter(account.events, "online"), counter(account.events, "received")
        # The account also reports that it doesn't wait any longer for an archive that takes a minute: that is no end.
        ended = counter(account.events, "caught-up", whole=True)
        await account.start()
        await account.until(online)
        start = time.monotonic()
        await account.until(ended, LONGEST)
        rate = count / (time.monotonic() - start)
        # Reading its lines is not the account's time.
        await account.until(lambda: received() >= count, LONGEST)
    return rate, (await bare_catch_up(server, name, None))[1]


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--memory", action="store_true", help="the database has its files in memory")
    parser.add_argument(
        "--processor", action="store_true", help="shows the processors' time for a thousand messages, by process")
    options = parser.parse_args()
    sent, archived = (400, 2_000) if options.smoke else (8_000, 100_000)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sends").mkdir()
        (folder / "server").mkdir()
        running = ejabberd_on_postgresql(
            folder / "server", *ACCOUNTS, is_in_memory=options.memory, unacknowledged_max=UNACKNOWLEDGED_MAX)
        async with running as (server, database):
            # In turns, as what else the machine does changes.
            bare, own = [], []
            for turn in range(1 if options.smoke else 2):
                bare.append(await bare_turn(server, database, sent))
                own.append(await own_turn(server, database, folder / "sends" / str(turn), sent))
            print(f"\nThrough ejabberd on PostgreSQL, {PAIRS} pairs, each message with a receipt: two stanzas in two archives")
            bare_rate, own_rate = (max(turn.rate for turn in turns) for turns in (bare, own))
            show("messages of clients without a store", bare_rate, "/s")
            show("messages of ours", own_rate, "/s")
            show("share of the server's rate", 100 * own_rate / bare_rate, "%")
            show("archived stanzas of ours", 2 * own_rate, "/s")
            if options.processor:
                return show_processor(own, bare)
            database.query("DELETE FROM archive")
            own, bare = await own_catch_up(server, database, folder / "archive", archived)
            print(f"\nAn archive of {archived:,} messages")
            show("messages read by a client without a store", bare, "/s")
            show("messages caught up by ours", own, "/s")
            show("share of the server's rate", 100 * own / bare, "%")


def show_processor(own, bare):
    """Each group's least time of all turns: what else the machine does takes caches, and adds to it."""
    print(f"\n{'Seconds of processors for 1,000 messages':<46}{'ours':>14}{'no store':>14}")
    turns = own
    own, bare = (
        {name: min(turn.processor[name] for turn in turns) for name in turns[0].processor} for turns in (own, bare))
    for name in [*own, "all"]:
        values = [times.get(name, 0) if name != "all" else sum(times.values()) for times in (own, bare)]
        print(f"{name:<46}" + "".join(f"{value:>14.2f}" for value in values), flush=True)
    print()
    for name in turns[0].transactions:
        show(f"transactions of {name} for 1,000 messages", min(turn.transactions[name] for turn in turns), "")


def show(name, value, unit):
    print(f"{name:<46}{value:>14,.0f} {unit}", flush=True)


asyncio.run(main())
