"""slixmpp as an app would use it, with the lines of `ambit message pipe`: stream management, receipts and carbons, and
with --archive the messages of the account's archive after each session that is new.

The app keeps the id of the last entry of the archive, and the ids of messages that it has handed over, in a file, so
that a process that follows goes on with them. A message counts as accepted when slixmpp has it.
"""

import asyncio
import json
import os
import pathlib
import sys

import slixmpp

PASSWORD = "correct horse"


class Client(slixmpp.ClientXMPP):
    def __init__(self, address, port, authority, folder, with_archive):
        super().__init__(f"{address}/{'sender' if address.startswith('ann') else 'receiver'}", PASSWORD)
        self.ca_certs, self.enable_direct_tls = authority, False
        self._server, self._with_archive = ("127.0.0.1", port), with_archive
        self._file = pathlib.Path(folder) / "seen"
        self._seen, self._last, self._row, self._reading = set(), None, 0, False
        if self._file.exists():
            for line in self._file.read_text().splitlines():
                kind, id = line.split(" ", 1)
                if kind == "archive":
                    self._last = id
                else:
                    self._seen.add(id)
        for number in ("0030", "0184", "0198", "0199", "0280", "0313", "0359"):
            config = {"0184": {"auto_ack": True, "auto_request": True},
                      "0199": {"keepalive": True, "interval": 10, "timeout": 10}}.get(number, {})
            self.register_plugin(f"xep_{number}", config)
        self.add_event_handler("session_start", self._start)
        self.add_event_handler("session_resumed", lambda _: self._use())
        self.add_event_handler("message", self._take)
        self.add_event_handler("disconnected", self._connect_again)
        self.add_event_handler("connection_failed", self._connect_again)
        # What slixmpp is given without a connection is lost.
        self._again, self._is_online, self._waiting = None, False, []

    def begin(self):
        self.connect(*self._server)

    def _use(self):
        self._is_online = True
        self._tell(event="online")
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            message.send()

    def _connect_again(self, _):
        self._is_online = False
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(0.5, self._connect)

    def _connect(self):
        self._again = None
        self.connect(*self._server)

    async def _start(self, _):
        self.send_presence()
        await self.get_roster()
        if self._with_archive:
            await self._catch_up()
        self._use()

    async def _catch_up(self):
        rsm = {"max": 100} | ({"after": self._last} if self._last else {})
        async for result in self.plugin["xep_0313"].iterate(rsm=rsm):
            entry = result["mam_result"]
            message = entry["forwarded"]["stanza"]
            if message["body"] and message["to"].bare == self.boundjid.bare:
                self._hand_over(message)
            self._last = entry["id"]
            self._keep("archive", entry["id"])

    def _take(self, message):
        if message["body"]:
            self._hand_over(message)

    def _hand_over(self, message):
        if self._with_archive:
            if message["id"] in self._seen:
                return
            self._seen.add(message["id"])
            self._keep("message", message["id"])
        self._row += 1
        self._tell(event="received", row=f"{os.getpid()} {self._row}", body=message["body"])

    def _keep(self, kind, id):
        with open(self._file, "a") as file:
            file.write(f"{kind} {id}\n")

    def _tell(self, **event):
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()

    def perform(self, command):
        if command["command"] == "send":
            message = self.make_message(mto=command["to"], mbody=command["body"], mtype="chat")
            message["id"] = self.new_id()
            if self._is_online:
                message.send()
            else:
                self._waiting.append(message)
            self._tell(event="accepted", reference=command["reference"], id=message["id"])


async def main():
    folder = os.environ["PIPE_FOLDER"]
    client = Client(
        os.environ["PIPE_ADDRESS"], int(os.environ["PIPE_PORT"]), os.environ["PIPE_AUTHORITY"], folder,
        "--archive" in sys.argv)
    client.begin()
    reader = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        client.perform(json.loads(line))


asyncio.run(main())
