"""slixmpp as another client of an XMPP server."""

import asyncio
import contextlib
import dataclasses

import slixmpp

import limits
from xmpp_server import PASSWORD


@dataclasses.dataclass
class Received:
    """A message as slixmpp's application receives it."""

    sender: str
    body: str
    id: str
    receipt: str = ""
    # Where a carbon copy came from: "sent" by another client of the account, or "received" by it.
    carbon: str = ""


class Peer(slixmpp.ClientXMPP):
    """A client with stream management, carbons, archive and receipts, which are sent and requested by itself."""

    def __init__(self, server, name, resource="peer", receipts=True):
        super().__init__(f"{name}@{server.domain}/{resource}", PASSWORD)
        self._server, self.messages, self.receipts = server, [], []
        self.ca_certs = server.authority
        self.enable_direct_tls = False
        self._changed, self._started = asyncio.Event(), asyncio.Event()
        for number in ("0030", "0184", "0198", "0199", "0280", "0313", "0359"):
            config = {"auto_ack": receipts, "auto_request": receipts} if number == "0184" else {}
            self.register_plugin(f"xep_{number}", config)
        self.add_event_handler("session_start", self._start)
        self.add_event_handler("session_resumed", lambda _: self._started.set())
        self.add_event_handler("message", self._take)
        self.add_event_handler("receipt_received", self._take_receipt)
        for direction in ("sent", "received"):
            self.add_event_handler(
                f"carbon_{direction}",
                lambda carbon, d=direction: self._take(carbon[f"carbon_{d}"], d))

    async def _start(self, _):
        await self.plugin["xep_0280"].enable()
        self.send_presence()
        await self.get_roster()
        self._started.set()

    def _take(self, message, carbon=""):
        if message["body"]:
            self.messages.append(Received(
                str(message["from"]), message["body"], message["id"], carbon=carbon))
            self._changed.set()

    def _take_receipt(self, message):
        self.receipts.append(message["receipt"])
        self._changed.set()

    def say(self, to, body, **attributes):
        """Sends a chat message; gives its id."""
        message = self.make_message(mto=f"{to}@{self._server.domain}", mbody=body, mtype="chat")
        message["id"] = attributes.get("id") or self.new_id()
        message.send()
        return message["id"]

    async def until(self, condition, seconds=limits.EVENT):
        """Waits until a condition on what was received holds."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def bodies(self, count):
        """The bodies of the first `count` messages."""
        await self.until(lambda: len(self.messages) >= count)
        return [message.body for message in self.messages[:count]]

    async def archived(self, other):
        """The ids and bodies of the archive's messages with another account, the oldest first."""
        found = []
        address = other if "@" in other else f"{other}@{self._server.domain}"
        async for result in self.plugin["xep_0313"].iterate(with_jid=address, rsm={"max": 50}):
            forwarded = result["mam_result"]["forwarded"]["stanza"]
            if forwarded["body"]:
                found.append((forwarded["id"], forwarded["body"]))
        return found


@contextlib.asynccontextmanager
async def peer(server, name, resource="peer", **options):
    """A client of the server that has started its session."""
    client = Peer(server, name, resource, **options)
    client.connect("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(limits.EVENT):
            await client._started.wait()
        yield client
    finally:
        await client.disconnect()
        # slixmpp leaves this task to its garbage collection, which may be after the event loop's end.
        if filters := client._run_out_filters:
            filters.cancel()
            await asyncio.gather(filters, return_exceptions=True)
