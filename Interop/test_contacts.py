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
