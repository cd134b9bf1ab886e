"""Rooms at Prosody and ejabberd: ours and slixmpp in one room, with programs and servers that are killed."""

import pytest_asyncio

import limits
from xmpp_peers import peer
from xmpp_pipe import Ours, ours
from xmpp_server import EJABBERD_ROOMS, PROSODY_ROOMS, ROOMS, ejabberd, prosody

ROOM = f"lab@{ROOMS}"
COUNT = 20


@pytest_asyncio.fixture(params=[(prosody, PROSODY_ROOMS), (ejabberd, EJABBERD_ROOMS)], ids=["prosody", "ejabberd"])
async def server(request, tmp_path):
    kind, extra = request.param
    async with kind(tmp_path / "server", "ann", "bob", extra=extra) as running:
        yield running


async def join(account):
    account.write(command="room-join", to=ROOM, nickname=account.address.split("@")[0])
    await account.event("room", state="joined")


async def send(account, body):
    """Sends to the room; gives the id when the message is on disk, or nothing if the process was killed before."""
    process, count = account.process, len(account.events)
    account.write(command="room-send", to=ROOM, body=body, reference=body)
    await account.until(
        lambda: process.returncode is not None
        or any(event.get("reference") == body for event in account.events[count:]))
    found = [event for event in account.events if event.get("reference") == body]
    return found and found[0]["id"]


async def archive(server):
    """The room's archive as slixmpp reads it: nicknames and bodies."""
    async with peer(server, "bob", "reader") as reader:
        reader.register_plugin("xep_0045")
        await reader.plugin["xep_0045"].join_muc_wait(ROOM, "reader", maxstanzas=0, timeout=limits.EVENT)
        entries = []
        async for result in reader.plugin["xep_0313"].iterate(jid=ROOM, rsm={"max": 50}):
            message = result["mam_result"]["forwarded"]["stanza"]
            if message["body"]:
                entries.append((message["from"].resource, message["body"]))
        return entries


def rows(account):
    """What the app has taken of the room, in the order of its rows."""
    taken = [account.taken[row] for row in sorted(account.taken)]
    return [(event["nickname"], event["body"]) for event in taken if event["peer"] == ROOM and "body" in event]


async def test_ours_and_slixmpp_read_a_room_in_one_order_and_see_each_other(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, peer(server, "bob") as bob:
        await join(ann)
        bob.register_plugin("xep_0045")
        await bob.plugin["xep_0045"].join_muc_wait(ROOM, "bob", maxstanzas=0, timeout=limits.EVENT)
        await ann.event("occupant", nickname="bob", room=ROOM)
        ids = []
        for number in range(10):
            ids.append(await send(ann, f"ann {number}"))
            bob.send_message(mto=ROOM, mbody=f"bob {number}", mtype="groupchat")
        await ann.until(lambda: len(rows(ann)) == 20)
        for id in ids:
            await ann.event("receipt", id=id)
        await bob.until(lambda: len(bob.messages) >= 20)
        seen = [(message.sender.split("/")[1], message.body) for message in bob.messages]
        assert rows(ann) == seen
        kinds = {(event["nickname"], event["event"]) for event in ann.taken.values() if "nickname" in event}
        assert kinds == {("ann", "sent-elsewhere"), ("bob", "received")}
        # A private message is a conversation with the occupant, and the answer reaches it alone.
        bob.send_message(mto=f"{ROOM}/ann", mbody="in private", mtype="chat")
        await ann.event("received", peer=f"{ROOM}/bob", body="in private")
        ann.write(command="room-send", to=ROOM, nickname="bob", body="yes")
        await bob.until(lambda: bob.messages[-1].body == "yes")
        assert bob.messages[-1].sender == f"{ROOM}/ann"
        bob.plugin["xep_0045"].leave_muc(ROOM, "bob")
        await ann.event("occupant-left", nickname="bob")
        ann.write(command="room-leave", to=ROOM)
        await ann.event("room", state="ended")


async def test_nothing_in_a_room_is_lost_doubled_or_out_of_order_while_everything_is_killed(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
        for account in ann, bob:
            await join(account)
        accepted = {"ann": [], "bob": []}
        for number in range(COUNT):
            for name, account in ("ann", ann), ("bob", bob):
                if await send(account, f"{name} {number}"):
                    accepted[name].append(f"{name} {number}")
            if number % 10 in (2, 6):
                await ann.kill()
                await ann.start()
            if number % 10 == 4:
                await bob.kill()
                await bob.start()
            if number in (5, 13):
                await server.kill()
                await server.start()
        for account in ann, bob:
            count = sum(map(len, accepted.values()))
            await account.until(lambda: len(rows(account)) >= count, 3 * limits.EVENT)
        stored = await archive(server)
    for name, bodies in accepted.items():
        assert [body for sender, body in stored if sender == name] == bodies
    assert rows(ann) == stored
    assert rows(bob) == stored


async def test_invitations_of_both_kinds_reach_the_app_with_room_and_words(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, peer(server, "bob") as bob:
        for number in ("0045", "0249"):
            bob.register_plugin(f"xep_{number}")
        await bob.plugin["xep_0045"].join_muc_wait(ROOM, "bob", maxstanzas=0, timeout=limits.EVENT)
        await bob.plugin["xep_0045"].set_room_config(
            ROOM, await bob.plugin["xep_0045"].get_room_config(ROOM))
        bob.plugin["xep_0045"].invite(ROOM, ann.address, reason="Mediated")
        bob.plugin["xep_0249"].send_invitation(ann.address, ROOM, reason="Direct")
        await ann.until(lambda: sum("invitation" in event for event in ann.taken.values()) >= 2)
        found = {event["invitation"]["reason"]: event for event in ann.taken.values() if "invitation" in event}
        assert set(found) == {"Mediated", "Direct"}
        for event in found.values():
            assert event["invitation"]["room"] == ROOM
        assert found["Mediated"]["peer"] == ROOM
        assert found["Direct"]["invitation"]["inviter"] == "bob@chat.example"
        # Prosody names the occupant.
        assert found["Mediated"]["invitation"]["inviter"] in ("bob@chat.example", f"{ROOM}/bob")


async def test_a_room_is_bookmarked_for_other_devices_until_it_is_left(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann:
        await join(ann)
        async with ours(server, "ann", tmp_path / "other") as other:
            await other.event("room", room=ROOM, state="joined")
            await send(other, "from the other device")
            await ann.until(lambda: "from the other device" in [body for _, body in rows(ann)])
            ann.write(command="room-leave", to=ROOM)
            await ann.event("room", state="ended")
        async with ours(server, "ann", tmp_path / "third") as third:
            await third.event("caught-up")
            assert not [event for event in third.events if event["event"] == "room"]


async def test_commands_join_a_room_send_to_it_and_leave_it(tmp_path):
    async with prosody(tmp_path / "server", "ann", "bob", extra=PROSODY_ROOMS) as server:
        account = Ours(server, "ann", tmp_path)
        await account.add()
        _, complaint = await account.command("message", "room", "send", ROOM, "too early", status=1)
        assert "isn't in the room" in complaint
        joined, _ = await account.command("message", "room", "join", ROOM, "--nickname", "Ann B.")
        assert (joined[0]["state"], joined[0]["nickname"], joined[0]["archive"]) == ("joined", "Ann B.", True)
        async with peer(server, "bob") as bob:
            bob.register_plugin("xep_0045")
            await bob.plugin["xep_0045"].join_muc_wait(ROOM, "bob", maxstanzas=0, timeout=limits.EVENT)
            sent, _ = await account.command("message", "room", "send", ROOM, "by command")
            assert [event["event"] for event in sent] == ["accepted", "receipt"]
            assert await bob.bodies(1) == ["by command"]
            occupants, _ = await account.command("message", "room", "occupants", ROOM)
            assert {event["nickname"] for event in occupants} == {"Ann B.", "bob"}
            await account.command("message", "room", "subject", ROOM, "Work")
        listed, _ = await account.command("message", "room")
        assert [(event["room"], event["nickname"]) for event in listed] == [(ROOM, "Ann B.")]
        await account.command("message", "room", "leave", ROOM)
        listed, _ = await account.command("message", "room")
        assert listed[0]["state"] == "ended"


async def test_a_file_reaches_the_occupants_of_a_room_and_not_one_that_was_left(tmp_path):
    path = tmp_path / "plan.txt"
    path.write_bytes(b"plan" * 1_000)
    async with ejabberd(tmp_path / "server", "ann", "bob", extra=EJABBERD_ROOMS) as server:
        async with ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
            await ann.stop()
            await ann.add("--private-files")
            await ann.start()
            await join(ann)
            await join(bob)
            ann.write(command="send-file", to=ROOM, path=str(path), reference="file")
            sent = await ann.event("file-sent")
            await ann.event("receipt", id=sent["id"])
            received = await bob.event("received", peer=ROOM, nickname="ann")
            assert "attachments" in received, bob.events
            assert received["attachments"][0]["size"] == 4_000, bob.events
            await ann.stop()
            written, _ = await ann.command("message", "room", "send", ROOM, "--file", path)
            assert [event["event"] for event in written][-1] == "receipt"
            await bob.until(lambda: sum("attachments" in event for event in bob.events) == 2)
            await ann.command("message", "room", "leave", ROOM)
            _, complaint = await ann.command("message", "room", "send", ROOM, "--file", path, status=1)
            assert "room" in complaint
