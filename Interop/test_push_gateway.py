"""The push gateway between an app's server, an XMPP server and a manager of apps."""

import asyncio
import contextlib
import json
import struct

import pytest
import pytest_asyncio

import limits
from radios import ambit_radio, end, free_ports
from test_gate_alert import manager as manager_of_apps
from xmpp_peers import peer
from xmpp_pipe import PROGRAM, ours
from xmpp_server import DOMAIN, PASSWORD, ejabberd, prosody

COMPONENT = f"push.{DOMAIN}"
TOKEN = "a token of sixteen"
# Prosody's list of components is a part of its hosts, behind the other settings.
PROSODY = 'component_ports = {{ {port} }}\ncomponent_interfaces = {{ "127.0.0.1" }}\n'


class Manager:
    """What the manager of apps does with notifications, at a socket of its own. It can be away, and hang."""

    def __init__(self, path):
        self.path, self.pushes, self.hangs = path, [], False
        self._server, self._changed = None, asyncio.Event()

    async def start(self):
        self._server = await asyncio.start_unix_server(self._answer, self.path)

    async def stop(self):
        self._server.close()
        self.path.unlink(missing_ok=True)

    async def _answer(self, reader, writer):
        length, = struct.unpack("<I", await reader.readexactly(4))
        push = json.loads(await reader.readexactly(length))["command"]["_1"]["push"]["_0"]
        if not self.hangs:
            self.pushes.append(push)
            self._changed.set()
            reply = json.dumps({"pushed": {"_0": "com.example.chat", "_1": "shown"}}).encode()
            writer.write(struct.pack("<I", len(reply)) + reply)
            await writer.drain()
        await reader.read()
        writer.close()

    async def until(self, count):
        async with asyncio.timeout(limits.EVENT):
            while len(self.pushes) < count:
                self._changed.clear()
                await self._changed.wait()
        return [json.loads(push["payload"]) for push in self.pushes]


class Gateway:
    """`ambit message gateway`, which can be killed and started again."""

    def __init__(self, folder, component_port, manager):
        self.folder, self._component_port, self._manager = folder, component_port, manager
        self.port, = free_ports(1)
        self.events, self._changed, self._process = [], asyncio.Event(), None
        folder.mkdir()
        for name, secret in (("secret", PASSWORD), ("token", TOKEN)):
            (folder / name).touch(0o600)
            (folder / name).write_text(secret + "\n")

    async def start(self):
        self._process = await asyncio.create_subprocess_exec(
            PROGRAM, "message", "gateway", COMPONENT, "--json", "--server",
            f"127.0.0.1:{self._component_port}", "--listen", f"127.0.0.1:{self.port}",
            "--secret-file", self.folder / "secret", "--token-file", self.folder / "token",
            stdout=asyncio.subprocess.PIPE,
            env={"AMBIT_ACCOUNTS": str(self.folder / "accounts"), "AMBIT_APPS": str(self._manager),
                 "PATH": "/usr/bin:/bin"})
        self._reader = asyncio.ensure_future(self._read())
        # It may be online before.
        self.events.remove(await self._first("listening"))

    async def _read(self):
        async for line in self._process.stdout:
            self.events.append(json.loads(line))
            self._changed.set()

    async def event(self, name):
        """Waits for an event, and forgets those before it."""
        found = await self._first(name)
        self.events = self.events[self.events.index(found) + 1:]
        return found

    async def _first(self, name):
        async with asyncio.timeout(limits.EVENT):
            while not (found := [event for event in self.events if event["event"] == name]):
                self._changed.clear()
                await self._changed.wait()
        return found[0]

    async def kill(self):
        self._process.kill()
        await self._process.wait()
        self._reader.cancel()
        self.events = []

    async def stop(self):
        if self._process and self._process.returncode is None:
            await end(self._process)
            self._reader.cancel()

    async def request(self, method, path, message=None, token=TOKEN, headers=""):
        """An HTTP request; gives the status and the object of the answer."""
        body = json.dumps(message).encode() if message is not None else b""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n".encode() + body)
        async with asyncio.timeout(limits.EVENT):
            answer = await reader.read()
        writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(rest) if rest else None

    async def post(self, **message):
        return await self.request("POST", "/v1/messages", {"to": f"bob@{DOMAIN}", **message})

    async def status(self):
        """The status of a request; 503 also if the connection was closed before the answer."""
        try:
            return (await self.request("GET", "/v1/status"))[0]
        except (ConnectionError, IndexError):
            return 503

    async def until_settled(self, id):
        async with asyncio.timeout(limits.EVENT):
            while True:
                _, row = await self.request("GET", f"/v1/messages/{id}")
                if "waiting" not in (row["stanza"]["state"], row["notification"]["state"]):
                    return row
                await asyncio.sleep(0.05)


def component_server(kind, folder, port):
    if kind == "prosody":
        return prosody(
            folder, "bob", extra=PROSODY.format(port=port),
            more=f'Component "{COMPONENT}"\ncomponent_secret = "{PASSWORD}"\n')
    return ejabberd(
        folder, "ann", "bob", extra="  mod_push: {}\n", listeners=f"""
  - port: {port}
    ip: "127.0.0.1"
    module: ejabberd_service
    hosts: {{"{COMPONENT}": {{password: "{PASSWORD}"}}}}""")


@contextlib.asynccontextmanager
async def gateway_at(kind, tmp_path):
    port, = free_ports(1)
    manager = Manager(tmp_path / "apps")
    await manager.start()
    async with component_server(kind, tmp_path / kind, port) as server:
        gateway = Gateway(tmp_path / "gateway", port, manager.path)
        try:
            await gateway.start()
            await gateway.event("online")
            yield server, gateway, manager
        finally:
            await gateway.stop()
            await manager.stop()


@pytest_asyncio.fixture
async def all_three(tmp_path):
    async with gateway_at("prosody", tmp_path) as running:
        yield running


@pytest.mark.parametrize("kind", ["prosody", "ejabberd"])
async def test_a_message_arrives_as_a_stanza_and_as_a_notification_with_one_id(kind, tmp_path):
    async with gateway_at(kind, tmp_path) as (server, gateway, manager), peer(server, "bob") as bob:
        status, row = await gateway.post(
            id="order-7", title="Orders", body="It is on its way 🚲", app="com.example.chat")
        assert (status, row["id"]) == (202, "order-7")
        await bob.until(lambda: bob.messages)
        message, = bob.messages
        assert (message.id, message.body) == ("order-7", "It is on its way 🚲")
        assert message.sender == f"news@{COMPONENT}"
        payload, = await manager.until(1)
        assert manager.pushes[0]["identifier"] == "order-7"
        assert payload["aps"]["alert"] == {"title": "Orders", "body": "It is on its way 🚲"}
        assert payload["message"] == {
            "id": "order-7", "from": f"news@{COMPONENT}", "to": f"bob@{DOMAIN}", "body": "It is on its way 🚲"}
        row = await gateway.until_settled("order-7")
        assert row["notification"] == {"state": "done", "result": "shown"}
        # Given again, it is known, and nothing is sent again.
        status, _ = await gateway.post(
            id="order-7", title="Orders", body="It is on its way 🚲", app="com.example.chat")
        assert status == 200
        assert (await gateway.post(id="order-7", body="another"))[0] == 409
    assert len(bob.messages) == len(manager.pushes) == 1


async def test_nothing_is_lost_while_gateway_server_and_manager_are_killed(all_three):
    server, gateway, manager = all_three
    await manager.stop()
    await server.kill()
    await gateway.event("offline")
    ids = [f"m{number}" for number in range(40)]
    for id in ids:
        assert (await gateway.post(id=id, body=f"text {id}", app="com.example.chat"))[0] == 202
    await gateway.kill()
    await server.start()
    await gateway.start()
    await gateway.event("online")
    await manager.start()
    payloads = await manager.until(40)
    for id in ids:
        await gateway.until_settled(id)
    async with peer(server, "bob") as bob:
        archived = await bob.archived(f"news@{COMPONENT}")
    assert [payload["message"]["id"] for payload in payloads] == ids
    assert archived == [(id, f"text {id}") for id in ids]


async def test_a_server_that_publishes_to_the_component_only_wakes(all_three):
    server, gateway, manager = all_three
    node = "0123456789abcdef" * 4
    async with peer(server, "bob") as bob:
        publication = bob.make_iq_set(ito=COMPONENT)
        publication.append(publication_of(node))
        await publication.send()
        payload, = await manager.until(1)
        assert payload == {"aps": {"content-available": 1}}
        assert manager.pushes[0]["target"] == {"token": {"_0": node}}
        info = await bob.plugin["xep_0030"].get_info(jid=COMPONENT)
        assert "urn:xmpp:push:0" in info["disco_info"]["features"]


def publication_of(node):
    from xml.etree import ElementTree

    return ElementTree.fromstring(
        f"<pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='{node}'><item>"
        "<notification xmlns='urn:xmpp:push:0'/></item></publish></pubsub>")


async def test_clients_of_the_endpoint_that_are_wrong_slow_or_endless_hold_up_nobody(all_three):
    _, gateway, manager = all_three
    assert (await gateway.request("POST", "/v1/messages", {}, token="wrong"))[0] == 401
    assert (await gateway.request("GET", "/v1/status", token=""))[0] == 401
    assert (await gateway.request("DELETE", "/v1/messages"))[0] == 404
    for message in ({}, {"to": "push.example", "body": "x"}, {"to": "bob@x", "body": ""}, [], 7, None,
                    {"to": "bob@x", "body": "\0"}, {"to": "bob@x", "body": "x", "unknown": 1}):
        status, answer = await gateway.request("POST", "/v1/messages", message)
        assert status == 400 and answer["error"], message
    status, _ = await gateway.request("POST", "/v1/messages", {"body": "x" * 600_000})
    assert status == 413
    # curl announces long bodies, and waits until they are wanted.
    for expected, answer in (("100-continue", b"HTTP/1.1 100 "), ("a-miracle", b"HTTP/1.1 417 ")):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        body = json.dumps({"to": f"bob@{DOMAIN}", "body": "long"}).encode()
        writer.write(
            f"POST /v1/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Length: {len(body)}\r\nExpect: {expected}\r\n\r\n".encode())
        async with asyncio.timeout(limits.EVENT):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(answer), head
            if b" 100 " in head:
                writer.write(body)
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 202 ")
        writer.close()
    # Connections that send nothing or half a request fill the table, and are let go after their time.
    silent = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(300)]
    for _, writer in silent[::2]:
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Le")
    assert await gateway.status() != 200
    for _, writer in silent:
        writer.close()
    async with asyncio.timeout(limits.EVENT):
        while await gateway.status() != 200:
            await asyncio.sleep(0.05)
    assert (await gateway.post(body="after all", app="com.example.chat"))[0] == 202
    await manager.until(1)


async def test_a_second_gateway_with_the_domain_gives_way_and_goes_on_when_the_first_has_ended(
        all_three, tmp_path):
    _, gateway, _ = all_three
    second = Gateway(tmp_path / "second", gateway._component_port, gateway._manager)
    try:
        await second.start()
        await second.event("conflict")
        assert (await gateway.request("GET", "/v1/status"))[1]["online"] is True
        assert (await second.post(id="s", body="later"))[0] == 202
        await gateway.stop()
        await second.event("online")
        assert (await second.until_settled("s"))["stanza"]["result"] == "sent"
        assert not any(event["event"] == "offline" for event in gateway.events)
    finally:
        await second.stop()


async def test_notification_stream_and_archive_meet_in_one_entry_of_the_inbox(all_three, tmp_path):
    server, gateway, manager = all_three
    async with ours(server, "bob", tmp_path / "bob") as bob:
        await bob.event("caught-up", whole=True)
        # By the stream first: the notification shows nothing, as when the chat is over.
        await gateway.post(id="m1", body="first", app="com.example.chat")
        await bob.event("received", origin="m1")
        message = (await manager.until(1))[0]["message"]
        bob.write(command="pushed", **message)
        assert (await bob.event("pushed", id="m1"))["result"] == "known"
        await bob.kill()

        # By the notification first, in a process that doesn't reach the server; then by the archive.
        await gateway.post(id="m2", body="second", app="com.example.chat")
        message = (await manager.until(2))[1]["message"]
        await server.kill()
        await bob.start()
        bob.write(command="pushed", **message)
        assert (await bob.event("pushed", id="m2"))["result"] == "new"
        provisional = await bob.event("received", origin="m2", provisional=True)
        await server.start()
        await bob.event("confirmed", confirms=provisional["row"])
        await gateway.until_settled("m2")
    assert bob.bodies == ["first", "second"], bob.events


async def test_a_server_wakes_the_device_of_an_account_that_is_not_connected(tmp_path):
    node = "fedcba9876543210" * 4
    async with gateway_at("ejabberd", tmp_path) as (server, gateway, manager):
        async with ours(server, "bob", tmp_path / "bob") as bob:
            await bob.event("online")
            bob.write(command="push-enable", to=COMPONENT, node=node)
            await bob.event("push-enabled", to=COMPONENT)
        async with peer(server, "ann") as ann:
            ann.say("bob", "Are you there?")
            await manager.until(1)
    assert manager.pushes[0]["target"] == {"token": {"_0": node}}
    assert json.loads(manager.pushes[0]["payload"]) == {"aps": {"content-available": 1}}


PLIST = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>com.example.chat</string>
<key>CFBundleExecutable</key><string>chat</string>
<key>UIBackgroundModes</key><array><string>remote-notification</string></array>
</dict></plist>
"""


async def test_the_manager_of_apps_takes_the_notifications(tmp_path):
    app = tmp_path / "Chat"
    app.mkdir()
    (app / "Info.plist").write_text(PLIST)
    (app / "chat").write_text("#!/bin/sh\nexec sleep 60\n")
    (app / "chat").chmod(0o755)
    port, = free_ports(1)
    async with component_server("prosody", tmp_path / "prosody", port), ambit_radio() as radio, \
            manager_of_apps(radio, tmp_path) as apps:
        await apps.command("install", str(app))
        gateway = Gateway(tmp_path / "gateway", port, apps.environment["AMBIT_APPS"])
        try:
            await gateway.start()
            await gateway.post(id="a", body="An alert", app="com.example.chat")
            # The app has never been started, and may show no alerts: the notification launches it.
            assert (await gateway.until_settled("a"))["notification"] == {"state": "done", "result": "delivered"}
            await gateway.post(id="b", body="x", app="com.example.other")
            row = await gateway.until_settled("b")
            assert "com.example.other" in row["notification"]["reason"]
        finally:
            await gateway.stop()
