"""Roster, presence and blocking of ours at Prosody and ejabberd, with slixmpp as the other client."""

import pytest
import pytest_asyncio

from xmpp_peers import peer
from xmpp_pipe import Ours
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
