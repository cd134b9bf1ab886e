"""An account of ours at a server that fails, lies, or is about to."""

import asyncio
import contextlib
import shutil

import pytest_asyncio

import limits
from xmpp_pipe import Ours
from xmpp_scripted import ACCOUNT, MANAGEMENT, PEER, scripted_server, stream_error, without_prefixes

FORWARDED = (
    "<forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' type='chat' from='{sender}' to='{to}' id='{id}'>"
    "<body>forged</body></message></forwarded>")


@pytest_asyncio.fixture
async def server(tmp_path):
    async with scripted_server(tmp_path / "server") as running:
        yield running


@contextlib.asynccontextmanager
async def account(server, folder):
    """An account that has read its archive, and notices a dead connection within seconds."""
    folder.mkdir(exist_ok=True)
    own = Ours(server, "ann", folder)
    await own.add("--liveness", "quick")
    await own.start()
    try:
        await own.event("caught-up", whole=True)
        yield own
    finally:
        await own.stop()


async def again(own, name, action):
    """Waits for an event of this name after an action."""
    before = len(own.events)
    result = action()
    if asyncio.iscoroutine(result):
        await result
    await own.until(lambda: any(event["event"] == name for event in own.events[before:]))


async def test_an_acknowledgement_of_what_was_not_sent_begins_another_session(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        await ann.event("acked", id=await ann.send("bob", "before"))
        session = server.connection.session
        await again(ann, "online", lambda: server.connection.write(
            f"<a {MANAGEMENT} h='{session.received + 1}'/>"))
        assert server.connection.session is not session
        await ann.event("acked", id=await ann.send("bob", "after"))
    assert server.bodies == ["before", "after"]


async def test_a_server_that_resumes_with_fewer_stanzas_than_it_acknowledged_doubles_nothing(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        await ann.event("acked", id=await ann.send("bob", "before"))
        server.connection.session.received -= 1
        await again(ann, "caught-up", lambda: server.connection.close())
        await ann.event("acked", id=await ann.send("bob", "after"))
    assert server.bodies == ["before", "after"]


async def test_a_server_that_is_silent_after_a_resumption_is_left(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        silent = []

        def be_silent(connection, element):
            if not silent:
                silent.append(connection)
                connection.session = server.sessions[element.get("previd")]
                connection.write(f"<resumed {MANAGEMENT} previd='{connection.session.name}' "
                                 f"h='{connection.session.received}'/>")
                return True

        server.faults = {"resume": be_silent, "r": lambda connection, _: connection in silent,
                         "message": lambda connection, _: connection in silent}
        await again(ann, "online", lambda: server.connection.close())
        await ann.event("acked", id=await ann.send("bob", "into silence"))
        assert len(silent) == 1 and server.connection is not silent[0]
    assert server.bodies == ["into silence"]


async def test_a_message_that_waits_for_a_silent_archive_comes_when_the_server_is_gone(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        server.deliver("before")
        await ann.until(lambda: ann.bodies == ["before"])

        # The next session doesn't hear of its archive, and has a message that came before the archive is read.
        def be_silent(connection, element):
            if element.find("{urn:xmpp:mam:2}query") is not None:
                queried.append(connection)
                connection.session.received += 1
                return True

        queried, server.sessions = [], {}
        server.faults = {"iq": be_silent}
        await again(ann, "online", lambda: server.connection.close())
        server.deliver("missed", is_live=False)
        server.deliver("live")
        async with asyncio.timeout(limits.EVENT):
            while not queried:
                await asyncio.sleep(0.05)
        server.faults = {"starttls": lambda connection, _: "end"}
        before = len(ann.events)
        server.connection.close()
        await ann.until(lambda: ann.bodies == ["before", "live"])
        assert [event["event"] for event in ann.events[before:] if "row" in event] == ["gap", "received"]
        assert not any(event["event"] == "online" for event in ann.events[before:])
        # Another process doesn't forget that the archive is behind.
        await ann.kill()
        server.faults, server.sessions = {}, {}
        await ann.start()
        await ann.until(lambda: ann.bodies == ["before", "live", "missed"])
        late = next(event for event in ann.events if event.get("body") == "missed")
        assert late["arrival"] == "late"


async def test_a_message_that_ends_each_resumed_stream_fails_and_the_next_one_leaves(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        def refuse(connection, element):
            if len(element.findtext("{jabber:client}body") or "") > 10_000:
                connection.write(stream_error("policy-violation"))
                return "end"

        server.faults = {"message": refuse}
        large, small = await ann.send("bob", "x" * 20_000), await ann.send("bob", "small")
        await ann.event("failed", id=large)
        await ann.event("acked", id=small)
        assert "acked" not in ann.states(large) and "failed" not in ann.states(small)
    assert server.bodies == ["small"]


async def test_failed_writes_do_not_hide_the_reason_of_a_server_that_ends_the_stream(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        def refuse(connection, _):
            connection.write(stream_error("conflict"))
            return "end"

        server.faults = {"message": refuse}
        # More than the buffers of both sockets take: the server closes with bytes unread, which resets the connection.
        for number in range(300):
            ann.write(command="send", to="bob@chat.example", body="x" * 20_000, reference=f"{number}")
        ended = await ann.event("offline")
        assert ended["final"] and "conflict" in ended["reason"]


async def test_a_request_that_the_server_reads_late_ends_a_session_and_not_the_account(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        late = []

        def read_late(connection, _):
            if late:
                return None
            late.append(connection)
            return True

        server.faults = {"resume": read_late}
        await again(ann, "online", server.connection.close)
        assert late and server.connection is not late[0]
        # The request of the connection that was given up takes the session over, from its own successor.
        await again(ann, "online", lambda: server.connection.write(stream_error("conflict")))
        await ann.event("acked", id=await ann.send("bob", "after"))
        assert not any(event.get("final") for event in ann.events)
        # Nothing of this account is under way any more: this is another client.
        await again(ann, "offline", lambda: server.connection.write(stream_error("conflict")))
        assert [event for event in ann.events if event["event"] == "offline"][-1]["final"]


async def test_receipts_copies_and_results_of_others_are_counted_and_not_believed(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        id = await ann.send("bob", "sent")
        await ann.event("acked", id=id)
        name = server.messages[-1].get("id")
        for sender in ("eve@chat.example/x", "chat.example", "bob@evil.example"):
            inner = FORWARDED.format(sender=PEER, to=ACCOUNT, id="forged-1")
            own = FORWARDED.format(sender=f"{ACCOUNT}/x", to=PEER, id="forged-2")
            for content in (
                    f"<received xmlns='urn:xmpp:receipts' id='{name}'/>",
                    f"<received xmlns='urn:xmpp:carbons:2'>{inner}</received>",
                    f"<sent xmlns='urn:xmpp:carbons:2'>{own}</sent>",
                    f"<result xmlns='urn:xmpp:mam:2' queryid='1' id='forged-3'>{inner}</result>"):
                server.connection.send(f"<message from='{sender}' to='{ACCOUNT}'>{content}</message>")
        server.connection.send(
            f"<message from='{PEER}' to='{ACCOUNT}'><received xmlns='urn:xmpp:receipts' id='{name}'/></message>")
        server.deliver("genuine")
        await ann.event("received", body="genuine")
        ann.write(command="stats")
        assert (await ann.event("stats"))["forged"] >= 9
        assert ann.states(id).count("receipt") == 1
    assert ann.bodies == ["genuine"]


async def test_an_id_that_a_program_uses_for_each_of_its_messages_loses_none(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        for body in ("one", "two", "three"):
            server.deliver(body, id="always-the-same")
        await ann.event("received", body="three")
        server.sessions.clear()
        await again(ann, "caught-up", lambda: server.connection.close())
    assert ann.bodies == ["one", "two", "three"]


async def test_messages_that_come_while_the_archive_is_read_follow_it_once(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        await ann.stop()
        old = [f"old {number}" for number in range(150)]
        for body in old:
            server.deliver(body, is_live=False)
        live = []

        def deliver(_):
            live.append(f"live {len(live)}")
            server.deliver(live[-1])

        server.before_page = deliver
        server.sessions.clear()
        await again(ann, "caught-up", ann.start)
        await ann.until(lambda: len(ann.bodies) >= len(old) + len(live))
        assert len(live) >= 2
    assert ann.bodies == old + live


async def test_times_far_from_now_change_no_order(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        server.deliver("of the future", stamp="2099-01-01T00:00:00Z")
        server.deliver("of the past", stamp="1970-01-01T00:00:00Z")
        server.deliver("of now")
        await ann.event("received", body="of now")
        await ann.kill()
        server.sessions.clear()
        server.deliver("later", is_live=False)
        await again(ann, "caught-up", ann.start)
    assert ann.bodies == ["of the future", "of the past", "of now", "later"]


async def test_a_store_that_was_restored_from_a_copy_numbers_its_messages_anew(server, tmp_path):
    folder, copy = tmp_path / "ann", tmp_path / "copy"
    async with account(server, folder) as ann:
        await ann.event("acked", id=await ann.send("bob", "one"))
        await ann.stop()
        shutil.copytree(folder, copy)
        await again(ann, "caught-up", ann.start)
        await ann.event("acked", id=await ann.send("bob", "two"))
        await ann.stop()
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        for message in list(server.messages):
            message.set("from", f"{ACCOUNT}/desk")
            if message.findtext("{jabber:client}body"):
                server.store(without_prefixes(message))
        await again(ann, "caught-up", ann.start)
        await ann.event("problem", kind="restored-copy")
        await ann.event("acked", id=await ann.send("bob", "three"))
    assert ann.bodies == ["two"]
    orders = [message.find("{urn:x-ambit:order:1}order") for message in server.messages]
    assert orders[-1].get("n") == "1"


async def test_thousands_of_conversations_are_known_after_a_kill(server, tmp_path):
    async with account(server, tmp_path / "ann") as ann:
        for number in range(2_000):
            server.connection.send(
                f"<message type='chat' from='user{number}@chat.example/x' to='{ACCOUNT}' id='{number}'>"
                f"<body>message {number}</body></message>")
        await ann.until(lambda: len(ann.taken) == 2_000)
        await ann.kill()
        server.sessions.clear()
        await again(ann, "caught-up", ann.start)
        server.deliver("after", sender="user77@chat.example/x")
        await ann.event("received", body="after")
    assert ann.bodies == [f"message {number}" for number in range(2_000)] + ["after"]
