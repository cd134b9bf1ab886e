"""Accounts at servers of Debian's backports, which bind authentication to TLS and resume in one round trip."""

import contextlib
import sqlite3

import pytest

from debian_programs import Programs
from xmpp_pipe import Ours
from xmpp_server import EJABBERD_PACKAGES, PACKAGES, ejabberd, prosody

SUITE = "bookworm-backports"


def new_prosody(state):
    programs = Programs("prosody13", (*PACKAGES, "prosody-modules"), SUITE)
    modules = ("sasl2", "sasl2_bind2", "sasl2_sm", "sasl2_fast", "sasl_ssdp")
    return prosody(state, "ann", "bob", programs=programs, modules=modules)


def new_ejabberd(state):
    programs = Programs("ejabberd24", EJABBERD_PACKAGES, SUITE)
    return ejabberd(state, "ann", "bob", programs=programs, extra="  mod_auth_fast: {}\n")


def stored(folder, sql):
    """A value of the account's store."""
    path = next(folder.glob("messages/*/messages.sqlite"))
    with contextlib.closing(sqlite3.connect(path)) as store:
        return store.execute(sql).fetchone()


@pytest.mark.parametrize("start", (new_prosody, new_ejabberd))
async def test_an_account_is_bound_to_tls_and_resumes_with_a_token_after_a_kill(tmp_path, start):
    async with start(tmp_path / "server") as server:
        folder = tmp_path / "ann"
        folder.mkdir()
        ann = Ours(server, "ann", folder)
        await ann.add()
        await ann.start()
        try:
            online = await ann.event("online")
            # All of the session is on disk by then.
            await ann.event("caught-up")
            assert not online["resumed"] and online["address"].startswith("ann@chat.example/Ambit")
            assert stored(folder, "SELECT value FROM setting WHERE name = 'mechanism'") == ("SCRAM-SHA-256-PLUS",)
            assert stored(folder, "SELECT mechanism FROM token") == ("HT-SHA-256-EXPR",)
            await ann.kill()
            # Only the token can authenticate now. The settings are in another file, so that the password isn't changed: that
            # would withdraw the token.
            ann.environment["AMBIT_ACCOUNTS"] += "-2"
            await ann.add(password="wrong")
            await ann.start()
            await ann.event("online", resumed=True)
            await ann.kill()
            with contextlib.closing(sqlite3.connect(next(folder.glob("messages/*/messages.sqlite")))) as store:
                store.execute("UPDATE token SET secret = 'withdrawn'")
                store.commit()
            await ann.start()
            offline = await ann.event("offline", final=True)
            assert "password" in offline["reason"] and "withdrawn" not in str(ann.events)
        finally:
            await ann.stop()


@pytest.mark.parametrize("start", (new_prosody, new_ejabberd))
@pytest.mark.parametrize("way", ("remove", "add"))
async def test_the_token_of_an_account_that_is_removed_or_has_another_password_is_withdrawn(tmp_path, start, way):
    async with start(tmp_path / "server") as server:
        ann = Ours(server, "ann", tmp_path)
        await ann.add()
        await ann.start()
        try:
            await ann.event("caught-up")
            await ann.kill()
            token = stored(tmp_path, "SELECT * FROM token")
            if way == "remove":
                [removed], _ = await ann.command("account", "remove", ann.address)
                assert removed == {"event": "removed", "account": ann.address, "token": "withdrawn"}
            await ann.add(password="wrong")
            assert stored(tmp_path, "SELECT * FROM token") is None
            # Whoever has copied it can't use it.
            with contextlib.closing(sqlite3.connect(next(tmp_path.glob("messages/*/messages.sqlite")))) as store:
                store.execute("INSERT INTO token VALUES (?, ?)", token)
                store.commit()
            await ann.start()
            offline = await ann.event("offline", final=True)
            assert "password" in offline["reason"]
        finally:
            await ann.stop()


async def test_a_token_that_can_not_be_withdrawn_is_deleted_with_a_warning(tmp_path):
    async with new_prosody(tmp_path / "server") as server:
        ann = Ours(server, "ann", tmp_path)
        await ann.add()
        await ann.start()
        await ann.event("caught-up")
        await ann.kill()
        await server.kill()
        [removed], complaint = await ann.command("account", "remove", ann.address)
        assert removed["token"] == "not-withdrawn" and removed["reason"] in complaint
        assert stored(tmp_path, "SELECT * FROM token") is None
        assert (await ann.command("account", "list"))[0] == []


async def test_a_weaker_mechanism_is_accepted_by_its_name_only(tmp_path):
    async with new_prosody(tmp_path / "server") as server:
        ann = Ours(server, "ann", tmp_path)
        await ann.add()
        await ann.command("message", "read")
        accept = ("account", "accept-mechanism", ann.address)
        [accepted], _ = await ann.command(*accept, "SCRAM-SHA-256")
        assert (accepted["before"], accepted["mechanism"]) == ("SCRAM-SHA-256-PLUS", "SCRAM-SHA-256")
        assert stored(tmp_path, "SELECT value FROM setting WHERE name = 'mechanism'") == ("SCRAM-SHA-256",)
        _, complaint = await ann.command(*accept, "SCRAM-SHA-512", status=1)
        assert "nothing has changed" in complaint
        await ann.command(*accept, "PLAIN", status=64)
