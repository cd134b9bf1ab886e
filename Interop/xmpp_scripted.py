"""A server of XMPP for one account whose test decides what it does wrong. It has STARTTLS, SCRAM-SHA-256, sessions that can be
resumed, and an archive; other stanzas are kept."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import os
import ssl
import time
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape, quoteattr

from xmpp_server import DOMAIN, PASSWORD, Certificates

ACCOUNT = f"ann@{DOMAIN}"
PEER = f"bob@{DOMAIN}/desk"
HEADER = (
    "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' "
    f"from='{DOMAIN}' id='1' version='1.0'>")
TLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>"
MECHANISMS = (
    "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>SCRAM-SHA-256</mechanism></mechanisms>")
SESSION = "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><sm xmlns='urn:xmpp:sm:3'/>"
ABILITIES = (
    "<query xmlns='http://jabber.org/protocol/disco#info'><identity category='account' type='registered'/>"
    "<feature var='urn:xmpp:mam:2'/><feature var='urn:xmpp:sid:0'/></query>")
SASL = "xmlns='urn:ietf:params:xml:ns:xmpp-sasl'"
MANAGEMENT = "xmlns='urn:xmpp:sm:3'"
SETS = "http://jabber.org/protocol/rsm"


def stream_error(condition):
    return (
        f"<stream:error><{condition} xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>")


def without_prefixes(element):
    """The text of an element as it can be put into another stanza."""
    for child in element.iter():
        namespace, _, name = child.tag[1:].partition("}")
        child.tag = name
        child.set("xmlns", namespace)
    return ElementTree.tostring(element, encoding="unicode")


class Session:
    """What a session of stream management outlives connections with."""

    def __init__(self, name):
        self.name, self.received, self.sent = name, 0, []


class Connection:
    def __init__(self, server, reader, writer):
        self._server, self._reader, self._writer = server, reader, writer
        self.is_encrypted = self.is_authenticated = False
        self.session = None

    def write(self, text):
        """Writes what is no stanza of the session."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._writer.write(text.encode())

    def send(self, text):
        """Sends a stanza, again after a resumption until it is acknowledged."""
        if self.session:
            self.session.sent.append(text)
        self.write(text)

    def close(self):
        self._writer.close()

    async def run(self):
        with contextlib.suppress(ConnectionError, ssl.SSLError, ElementTree.ParseError):
            while (following := await self._read()) is not None:
                if following == "tls":
                    await self._writer.start_tls(self._server.context)
                    self.is_encrypted = True
        self.close()

    async def _read(self):
        """Reads a stream until another one follows on the connection; gives why, or nothing at the end."""
        parser, depth = ElementTree.XMLPullParser(("start", "end")), 0
        while data := await self._reader.read(65_536):
            parser.feed(data)
            for event, element in parser.read_events():
                depth += 1 if event == "start" else -1
                if event == "start" and depth == 1:
                    features = SESSION if self.is_authenticated else MECHANISMS if self.is_encrypted else TLS
                    self.write(f"{HEADER}<stream:features>{features}</stream:features>")
                elif event == "end" and depth == 0:
                    return None
                elif event == "end" and depth == 1:
                    following = self._take(element)
                    if following:
                        return None if following == "end" else following
        return None

    def _take(self, element):
        namespace, _, name = element.tag[1:].partition("}")
        if (faulty := self._server.faults.get(name)) and (following := faulty(self, element)):
            return None if following is True else following
        if name in ("starttls", "auth", "response"):
            return getattr(self, f"_{name}")(element)
        if namespace == "urn:xmpp:sm:3":
            return self._manage(name, element)
        if namespace == "jabber:client":
            if self.session:
                self.session.received += 1
            if name == "iq":
                self._answer(element)
            elif name == "message":
                self._server.messages.append(element)
        return None

    # MARK: Authentication

    def _starttls(self, _):
        self.write("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
        return "tls"

    def _auth(self, element):
        self._first = base64.b64decode(element.text).decode().split(",", 2)[2]
        nonce = dict(part.split("=", 1) for part in self._first.split(","))["r"] + "server"
        self._salt = os.urandom(12)
        self._challenge = f"r={nonce},s={base64.b64encode(self._salt).decode()},i=4096"
        self.write(f"<challenge {SASL}>{base64.b64encode(self._challenge.encode()).decode()}</challenge>")

    def _response(self, element):
        final = base64.b64decode(element.text).decode().rsplit(",p=", 1)[0]
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), self._salt, 4_096)
        key = hmac.digest(salted, b"Server Key", "sha256")
        proof = hmac.digest(key, ",".join((self._first, self._challenge, final)).encode(), "sha256")
        self.write(f"<success {SASL}>{base64.b64encode(b'v=' + base64.b64encode(proof)).decode()}</success>")
        self.is_authenticated = True
        return "stream"

    # MARK: Sessions

    def _manage(self, name, element):
        if name == "enable":
            self.session = self._server.begin()
            self.write(f"<enabled {MANAGEMENT} id='{self.session.name}' resume='true'/>")
        elif name == "resume":
            self.resume(element)
        elif name == "r":
            self.write(f"<a {MANAGEMENT} h='{self.session.received}'/>")

    def resume(self, element):
        self.session = self._server.sessions.get(element.get("previd"))
        if not self.session:
            self.write(
                f"<failed {MANAGEMENT}><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></failed>")
            return
        self.write(f"<resumed {MANAGEMENT} previd='{self.session.name}' h='{self.session.received}'/>")
        for text in self.session.sent[int(element.get("h")):]:
            self.write(text)

    def _answer(self, iq):
        payload, result = next(iter(iq)), ""
        if payload.tag.endswith("xmpp-bind}bind"):
            self.write(
                f"<iq type='result' id='{iq.get('id')}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
                f"<jid>{ACCOUNT}/desk</jid></bind></iq>")
            return
        if payload.tag.endswith("disco#info}query"):
            result = ABILITIES
        elif payload.tag == "{urn:xmpp:mam:2}query":
            self._server.before_page(self)
            for entry in self._page(payload):
                self.send(entry)
            result = self._end
        self.send(f"<iq type='result' id='{iq.get('id')}' from='{ACCOUNT}'>{result}</iq>")

    def _page(self, query):
        after, before = query.find(f".//{{{SETS}}}after"), query.find(f".//{{{SETS}}}before")
        count = int(query.findtext(f".//{{{SETS}}}max"))
        entries = self._server.archive
        if after is not None:
            entries = entries[[name for name, _, _ in entries].index(after.text) + 1:]
        page = entries[:count] if before is None else entries[-count:]
        ends = f"<first>{page[0][0]}</first><last>{page[-1][0]}</last>" if page else ""
        self._end = (
            f"<fin xmlns='urn:xmpp:mam:2' complete='{str(len(page) == len(entries)).lower()}'>"
            f"<set xmlns='{SETS}'>{ends}</set></fin>")
        return [
            f"<message to='{ACCOUNT}'><result xmlns='urn:xmpp:mam:2' queryid='{query.get('queryid')}' id='{name}'>"
            f"<forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='{stamp}'/>{text}"
            "</forwarded></result></message>" for name, text, stamp in page]


class ScriptedServer:
    """The server. `faults` has functions by the names of elements: each gets the connection and the element, and gives
    nothing for what the server does otherwise, True if it has done all, or "end" to end the connection."""

    def __init__(self, folder):
        folder.mkdir()
        self.domain, self.authority = DOMAIN, Certificates(folder).authority
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.connections, self.sessions, self.messages, self.archive, self.faults = [], {}, [], [], {}
        self.before_page = lambda connection: None
        self._tasks, self._count = set(), 0

    async def start(self):
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self):
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        self.connections.append(Connection(self, reader, writer))
        with contextlib.suppress(asyncio.CancelledError):
            await self.connections[-1].run()

    def begin(self):
        session = Session(f"session-{len(self.sessions)}")
        self.sessions[session.name] = session
        return session

    @property
    def connection(self):
        """The latest connection with a session."""
        return next(each for each in reversed(self.connections) if each.session)

    def store(self, text, stamp=None):
        """Puts a message into the archive; gives its name there."""
        self._count += 1
        stamp = stamp or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.archive.append((f"entry-{self._count}", text, stamp))
        return self.archive[-1][0]

    def deliver(self, body, id=None, sender=PEER, is_live=True, stamp=None):
        """A message to the account, as the archive has it and, unless the account is away, at once."""
        text = (
            f"<message xmlns='jabber:client' type='chat' from={quoteattr(sender)} to='{ACCOUNT}' "
            f"id='{id or f'message-{self._count}'}'><body>{escape(body)}</body>")
        name = self.store(f"{text}</message>", stamp)
        if is_live:
            self.connection.send(
                f"{text}<stanza-id xmlns='urn:xmpp:sid:0' by='{ACCOUNT}' id='{name}'/></message>")

    @property
    def bodies(self):
        """The bodies of the messages that the account has sent."""
        found = [message.findtext("{jabber:client}body") for message in self.messages]
        return [body for body in found if body]


@contextlib.asynccontextmanager
async def scripted_server(folder):
    server = ScriptedServer(folder)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
