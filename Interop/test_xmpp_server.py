"""The XMPP server of the tests of messages, with two clients that others wrote."""

import asyncio

import pytest_asyncio

import limits
from xmpp_peers import peer
from xmpp_server import prosody


@pytest_asyncio.fixture
async def server(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "bob") as running:
        yield running


async def test_two_clients_exchange_messages_with_receipts_and_carbons(server):
    async with peer(server, "ann") as ann, peer(server, "bob") as bob, \
            peer(server, "bob", "second") as second:
        sent = ann.say("bob", "Good morning")
        assert await bob.bodies(1) == ["Good morning"]
        await ann.until(lambda: sent in ann.receipts)
        bob.say("ann", "And to you")
        assert await ann.bodies(1) == ["And to you"]
        await second.until(lambda: "And to you" in [m.body for m in second.messages if m.carbon == "sent"])


async def test_a_killed_server_has_what_it_stored_after_a_restart(server):
    async with peer(server, "ann") as ann:
        ann.say("bob", "Kept")
        async with asyncio.timeout(limits.EVENT):
            while not await ann.archived("bob"):
                await asyncio.sleep(0.05)
    await server.kill()
    await server.start()
    async with peer(server, "bob") as bob:
        assert await bob.bodies(1) == ["Kept"]
        assert [body for _, body in await bob.archived("ann")] == ["Kept"]
