"""Roster, presence and blocking of ours at Prosody and ejabberd, with slixmpp as the other client."""

import pytest
import pytest_asyncio

from xmpp_peers import peer
from xmpp_pipe import Ours, ours
from xmpp_server import ejabberd, prosody


@pytest_asyncio.fixture(params=[prosody, ejabberd], ids=["prosody", "ejabberd"])
async def server(request, tmp_path):
    async with request.param(tmp_path / "server", "ann", "bob") as running:
        yield running


@pytest_asyncio.fixture
async def ann(server, tmp_path):
    """An account without a running process."""
    folder = tmp_path / "ann"
    folder.mkdir()
    account = Ours(server, "ann", folder)
    await account.add()
    return account


async def test_the_roster_is_one_for_ours_and_for_another_device(ann, server):
    assert (await ann.command("message", "roster"))[0] == []
    async with peer(server, "ann", "other") as other, peer(server, "bob") as bob:
        requests = []
        other.add_event_handler("roster_update", lambda _: other._changed.set())
        for client in other, bob:
            client.auto_authorize = client.auto_subscribe = None
        bob.add_event_handler(
            "presence_subscribe", lambda p: (requests.append(str(p["from"])), bob._changed.set()))
        added, _ = await ann.command(
            "message", "roster", "add", "bob@chat.example", "--name", "Bob <1>", "--group", "Friends",
            "--group", "Work")
        assert added == [{"event": "added", "address": "bob@chat.example"}]
        await bob.until(lambda: requests == ["ann@chat.example"])
        await other.until(lambda: other.client_roster["bob@chat.example"]["pending_out"])
        contact = other.client_roster["bob@chat.example"]
        assert contact["name"] == "Bob <1>" and sorted(contact["groups"]) == ["Friends", "Work"]
        listed, _ = await ann.command("message", "roster")
        assert [sorted(contact["groups"]) for contact in listed] == [["Friends", "Work"]]
        assert listed[0] | {"groups": []} == {
            "event": "contact", "address": "bob@chat.example", "name": "Bob <1>", "groups": [],
            "subscription": "none", "requested": True}
        # The other account answers while no process of ours runs; its own request is shown.
        bob.send_presence_subscription("ann@chat.example", ptype="subscribed")
        bob.send_presence_subscription("ann@chat.example", ptype="subscribe")
        await other.until(lambda: other.client_roster["bob@chat.example"]["to"])
        listed, _ = await ann.command("message", "roster", "list")
        assert [event["event"] for event in listed] == ["contact", "subscription-request"]
        assert listed[0]["subscription"] == "to"
        await ann.command("message", "roster", "approve", "bob@chat.example")
        await other.until(lambda: other.client_roster["bob@chat.example"]["from"])
        listed, _ = await ann.command("message", "roster")
        assert [event.get("subscription") for event in listed] == ["both"]
        # The other device removes the contact.
        other.client_roster.remove("bob@chat.example")
        await other.until(lambda: other.client_roster["bob@chat.example"]["subscription"] in ("remove", "none"))
        assert (await ann.command("message", "roster"))[0] == []


async def test_a_refusal_of_the_server_is_a_failure_of_the_command(tmp_path):
    async with prosody(tmp_path / "server", "ann") as server:
        account = Ours(server, "ann", tmp_path)
        await account.add()
        _, complaint = await account.command("message", "roster", "remove", "nobody@chat.example", status=1)
        assert "the server refuses it: item-not-found" in complaint


async def test_messages_of_a_blocked_account_never_come_and_leave_no_gap(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
        assert await bob.send("ann", "before")
        await ann.until(lambda: ann.bodies == ["before"])
        await ann.stop()
        assert (await ann.command("message", "block", "bob@chat.example"))[0] == [
            {"event": "blocked", "address": "bob@chat.example"}]
        assert (await ann.command("message", "block"))[0] == [
            {"event": "blocked", "address": "bob@chat.example"}]
        for number in range(3):
            id = await bob.send("ann", f"blocked {number}")
            await bob.until(lambda: "acked" in bob.states(id) or "failed" in bob.states(id))
        await ann.start()
        await ann.event("caught-up")
        await ann.stop()
        # The other device unblocks.
        async with peer(server, "ann", "other") as other:
            other.register_plugin("xep_0191")
            await other.plugin["xep_0191"].unblock("bob@chat.example")
        before = len(ann.events)
        await ann.start()
        await ann.until(lambda: any(event["event"] == "caught-up" for event in ann.events[before:]))
        assert (await ann.command("message", "block", status=73))[1]
        last = await bob.send("ann", "after")
        await bob.event("receipt", id=last)
        await ann.until(lambda: "after" in ann.bodies)
    assert ann.bodies == ["before", "after"]
    assert not [event for event in ann.events if event["event"] == "gap"]


async def test_presence_typing_and_displayed_messages_pass_in_both_directions(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, peer(server, "bob") as bob:
        for number in ("0085", "0333"):
            bob.register_plugin(f"xep_{number}")
        seen = []

        def note(*what):
            seen.append(what)
            bob._changed.set()

        bob.add_event_handler("chatstate_composing", lambda _: note("composing"))
        bob.add_event_handler("marker_displayed", lambda m: note("displayed", m["displayed"]["id"]))
        bob.add_event_handler("changed_status", lambda p: note(str(p["from"].bare), p["show"], p["status"]))
        # slixmpp subscribes back and approves by itself.
        await ann.stop()
        await ann.command("message", "roster", "add", "bob@chat.example")
        await ann.command("message", "roster", "approve", "bob@chat.example")
        await ann.start()
        bob.send_presence(pshow="away", pstatus="Lunch")
        await ann.event("presence", address="bob@chat.example", show="away", status="Lunch")
        ann.write(command="presence", show="dnd", status="Busy")
        await bob.until(lambda: ("ann@chat.example", "dnd", "Busy") in seen)
        # Before a message of the peer nothing shows that it takes either.
        ann.write(command="typing", to="bob@chat.example", state="composing")
        message = bob.make_message(mto="ann@chat.example", mbody="Hello", mtype="chat")
        message["id"], message["chat_state"] = "m1", "active"
        message.enable("markable")
        message.send()
        await ann.event("received", body="Hello")
        assert ("composing",) not in seen
        ann.write(command="typing", to="bob@chat.example", state="composing")
        await bob.until(lambda: ("composing",) in seen)
        ann.write(command="displayed", peer="bob@chat.example", origin="m1")
        await bob.until(lambda: ("displayed", "m1") in seen)
        typing = bob.make_message(mto="ann@chat.example", mtype="chat")
        typing["chat_state"] = "composing"
        typing.send()
        await ann.event("typing", peer="bob@chat.example", state="composing")
        # Another device blocks the peer: it is gone here at once.
        async with peer(server, "ann", "other") as other:
            other.register_plugin("xep_0191")
            await other.plugin["xep_0191"].block("bob@chat.example")
            await ann.event("typing", peer="bob@chat.example", state="inactive")
            await ann.event("presence", address="bob@chat.example", available=False)
        ann.write(command="stats")
        assert (await ann.event("stats"))["forged"] == 0


async def test_a_message_that_was_displayed_has_that_state_at_its_sender(tmp_path):
    async with prosody(tmp_path / "server", "ann", "bob") as server, \
            ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
        id = await ann.send("bob", "Hello")
        received = await bob.event("received", body="Hello")
        await bob.stop()
        # The mark waits for the next connection, which another process makes.
        await bob.start()
        bob.write(command="displayed", peer="ann@chat.example", origin=received["origin"])
        await ann.event("displayed", id=id)
