"""Messages of ours through Prosody, with slixmpp as the other client and with faults: none may be lost, doubled or out
of order as an app sees them."""

import asyncio
import random

import pytest
import pytest_asyncio

import limits
import xmpp_faults
from xmpp_peers import peer
from xmpp_pipe import ours
from xmpp_server import ejabberd, prosody


@pytest_asyncio.fixture
async def server(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "bob") as running:
        yield running


async def test_messages_and_receipts_pass_between_slixmpp_and_ours_in_both_directions(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, peer(server, "bob") as bob:
        id = await ann.send("bob", "Good <morning> & \"you\" 😀")
        assert await bob.bodies(1) == ["Good <morning> & \"you\" 😀"]
        await ann.event("receipt", id=id)
        sent = bob.say("ann", "And to you")
        assert (await ann.event("received", body="And to you"))["peer"] == "bob@chat.example"
        await bob.until(lambda: sent in bob.receipts)
    assert ann.bodies == ["And to you"]


async def test_two_programs_of_ours_number_their_messages(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
        ids = [await ann.send("bob", f"message {number}") for number in range(50)]
        await bob.until(lambda: len(bob.bodies) >= 50)
        for id in ids:
            await ann.event("receipt", id=id)
    assert bob.bodies == [f"message {number}" for number in range(50)]
    assert [event["number"] for event in bob.events if event["event"] == "received"] == list(range(1, 51))


async def test_what_another_device_of_the_account_sends_and_receives_is_in_the_inbox(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, peer(server, "ann", "other") as other, \
            peer(server, "bob") as bob:
        await ann.event("caught-up", whole=True)
        other.say("bob", "From my other device")
        found = await ann.event("sent-elsewhere", body="From my other device")
        assert found["peer"] == "bob@chat.example"
        bob.say("ann", "To all devices")
        await ann.event("received", body="To all devices")
        # What came twice would be there before the next message on the same way.
        other.say("bob", "Another from there")
        await ann.event("sent-elsewhere", body="Another from there")
        bob.say("ann", "Another to all")
        await ann.event("received", body="Another to all")
        await ann.until(lambda: "Another to all" in ann.bodies)
    assert ann.bodies == ["From my other device", "To all devices", "Another from there", "Another to all"]


async def test_messages_that_were_sent_to_us_offline_are_caught_up_once(server, tmp_path):
    expected = [f"message {number}" for number in range(150)]
    async with ours(server, "ann", tmp_path / "ann") as ann:
        await ann.event("caught-up", whole=True)
        await ann.stop()
        async with peer(server, "bob") as bob:
            for body in expected:
                bob.say("ann", body)
            async with asyncio.timeout(limits.EVENT):
                while len(await bob.archived("ann")) < len(expected):
                    await asyncio.sleep(0.2)
        await ann.start()
        await ann.until(lambda: len(ann.bodies) >= len(expected))
        await ann.stop()
        # A process that follows gets nothing again.
        before = len(ann.events)
        await ann.start()
        await ann.until(lambda: any(event["event"] == "caught-up" for event in ann.events[before:]))
    assert ann.bodies == expected
    assert len({event["row"] for event in ann.events if "row" in event}) == len(expected)


async def test_an_app_that_disconnects_when_it_is_left_catches_up_when_it_returns(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann:
        await ann.event("caught-up", whole=True)
        # The server keeps the session, and then it has lost it: the archive has the messages.
        for round in range(2):
            ann.write(command="background")
            ann.write(command="disconnect")
            await ann.until(lambda: sum(e["event"] == "disconnected" for e in ann.events) == round + 1)
            connected = len(ann.events)
            # It connects by itself no more, and stores what the app sends.
            await ann.send("bob", f"from {round}")
            async with peer(server, "bob") as bob:
                for number in range(10):
                    bob.say("ann", f"to {round} {number}")
                async with asyncio.timeout(limits.EVENT):
                    while sum(body.startswith("to") for _, body in await bob.archived("ann")) < 10 * (round + 1):
                        await asyncio.sleep(0.2)
            if round == 1:
                await server.kill()
                await server.start()
            ann.write(command="connect")
            await ann.until(lambda: len(ann.bodies) == 10 * (round + 1))
            online = [event for event in ann.events[connected:] if event["event"] == "online"]
            assert len(online) == 1 and online[0]["resumed"] == (round == 0)
    assert ann.bodies == [f"to {round} {number}" for round in range(2) for number in range(10)]


@pytest.mark.parametrize("seed", [1, 2])
async def test_nothing_is_lost_doubled_or_out_of_order_while_everything_is_killed(server, tmp_path, seed):
    await survive(server, tmp_path, seed)


async def test_ejabberd_that_is_killed_loses_doubles_and_reorders_nothing_either(tmp_path):
    async with ejabberd(tmp_path / "ejabberd", "ann", "bob") as server:
        await survive(server, tmp_path, 3)


async def test_nothing_is_lost_over_connections_that_are_cut_and_reset_with_a_disk_that_is_full(server, tmp_path):
    result = await xmpp_faults.run(
        "Ambit", server, tmp_path, 200, 1, kinds=("cut", "reset", "full disk"), fault_count=5)
    assert (result.lost, result.doubled, result.disordered) == (0, 0, 0)


async def test_messages_and_receipts_pass_through_ejabberd_and_are_caught_up(tmp_path):
    async with ejabberd(tmp_path / "ejabberd", "ann", "bob") as server, peer(server, "bob") as bob:
        async with ours(server, "ann", tmp_path / "ann") as ann:
            id = await ann.send("bob", "Good morning")
            assert await bob.bodies(1) == ["Good morning"]
            await ann.event("receipt", id=id)
            await ann.stop()
            sent = [bob.say("ann", f"message {number}") for number in range(60)]
            async with asyncio.timeout(limits.EVENT):
                while len(await bob.archived("ann")) < 61:
                    await asyncio.sleep(0.2)
            await ann.start()
            await ann.until(lambda: len(ann.bodies) >= 60)
            await bob.until(lambda: set(sent) <= set(bob.receipts))
        assert ann.bodies == [f"message {number}" for number in range(60)]


async def survive(server, tmp_path, seed):
    """Both programs of ours and the server are killed in the middle of a stream of messages."""
    chance = random.Random(seed)
    count = 300
    expected = [f"message {number}" for number in range(count)]
    async with ours(server, "ann", tmp_path / "ann") as ann, ours(server, "bob", tmp_path / "bob") as bob:
        faults = sorted(chance.sample(range(10, count - 10), 9))
        kinds = ["sender", "receiver", "server"] * 3
        chance.shuffle(kinds)
        ids = []
        for number, body in enumerate(expected):
            if faults and number == faults[0]:
                faults.pop(0)
                await fault(kinds.pop(), server, ann, bob)
            # What was not accepted is the app's to send again.
            while not (id := await ann.send("bob", body)):
                await ann.start()
            ids.append(id)
        await bob.until(lambda: len(bob.bodies) >= count, 120)
        await ann.until(lambda: all("receipt" in ann.states(id) for id in ids), 120)
        # A duplicate that was still on its way comes before a message that is sent after all receipts.
        while not await ann.send("bob", "the last one"):
            await ann.start()
        await bob.until(lambda: "the last one" in bob.bodies, 120)
    assert bob.bodies == [*expected, "the last one"], f"seed {seed}"
    assert not [event for event in bob.events if event["event"] == "gap"], f"seed {seed}"


async def fault(kind, server, ann, bob):
    match kind:
        case "sender":
            # What is on its way to the program may be accepted or not.
            await ann.kill()
            await ann.start()
        case "receiver":
            await bob.kill()
            await bob.start()
        case "server":
            await server.kill()
            await server.start()
