"""The commands about accounts and messages, against Prosody."""

import asyncio
import os
import re
import stat

import pytest
import pytest_asyncio

import limits
from xmpp_peers import peer
from xmpp_pipe import Ours, ours
from xmpp_server import PASSWORD, Certificates, prosody


@pytest_asyncio.fixture
async def server(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "bob") as running:
        yield running


@pytest_asyncio.fixture
async def ann(server, tmp_path):
    """An account without a running process."""
    folder = tmp_path / "ann"
    folder.mkdir()
    account = Ours(server, "ann", folder)
    await account.add()
    return account


async def test_an_account_is_listed_without_its_password_in_a_file_of_its_user(ann, server, tmp_path):
    listed, _ = await ann.command("account", "list")
    assert listed == [{
        "event": "account", "account": ann.address, "server": f"127.0.0.1:{server.port}",
        "authority": str(server.authority), "privateFiles": False, "liveness": "standard"}]
    file = tmp_path / "ann/accounts"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and PASSWORD in file.read_text()
    assert (await ann.command("account", "remove", ann.address))[0][0]["event"] == "removed"
    assert (await ann.command("account", "list"))[0] == []
    _, complaint = await ann.command("message", "read", status=68)
    assert "no account yet" in complaint


async def test_send_waits_for_the_receipt_and_read_takes_each_message_once(ann, server):
    async with peer(server, "bob") as bob:
        events, _ = await ann.command("message", "send", "bob@chat.example", "Hello", "--until", "received")
        assert events[0]["event"] == "accepted" and events[-1] == {"event": "receipt", "id": events[0]["id"]}
        assert await bob.bodies(1) == ["Hello"]
        for number in range(3):
            bob.say("ann", f"message {number}")
        async with asyncio.timeout(limits.EVENT):
            while len(await bob.archived("ann")) < 4:
                await asyncio.sleep(0.05)
    read, _ = await ann.command("message", "read")
    assert [event["body"] for event in read] == ["message 0", "message 1", "message 2"]
    assert (await ann.command("message", "read"))[0] == []
    files = os.walk(ann.environment["AMBIT_ACCOUNTS"].removesuffix("accounts") + "messages")
    for folder, _, names in files:
        for name in names:
            assert stat.S_IMODE(os.stat(f"{folder}/{name}").st_mode) & 0o077 == 0, name


async def test_a_message_that_can_not_be_sent_in_time_is_sent_by_the_next_command(ann, server):
    await server.kill()
    events, complaint = await ann.command(
        "message", "send", "bob@chat.example", "Later", "--timeout", "1", status=75)
    assert [event["event"] for event in events] == ["accepted"] and "sent by the next command" in complaint
    await server.start()
    await ann.command("message", "read")
    async with peer(server, "bob") as bob:
        await bob.until(lambda: bob.messages)
        assert [message.body for message in bob.messages] == ["Later"]


async def test_a_second_process_on_an_account_is_told_the_number_of_the_first(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as first:
        # It has the account from now on.
        await first.event("caught-up")
        _, complaint = await first.command("message", "read", status=73)
        assert f"({first.process.pid})" in complaint


async def test_a_refused_password_ends_a_command_with_a_status_of_its_own(ann, server):
    await ann.command(
        "account", "add", ann.address, "--server", f"127.0.0.1:{server.port}", "--authority", server.authority,
        stdin=b"wrong\n")
    _, complaint = await ann.command("message", "read", status=77)
    assert "refused the password" in complaint and "wrong" not in complaint


async def test_tls_can_begin_with_the_first_byte(ann, server):
    await ann.command(
        "account", "add", ann.address, "--server", f"127.0.0.1:{server.tls_port}", "--direct-tls",
        "--authority", server.authority, stdin=f"{PASSWORD}\n".encode())
    await ann.command("message", "send", "bob@chat.example", "Hello")


@pytest.mark.parametrize("fault", ["another domain", "expired", "unknown authority", "another key"])
async def test_a_server_that_can_not_prove_the_domain_gets_no_password(tmp_path, fault):
    options = {
        "another domain": {"certificate_domain": "evil.example"}, "expired": {"valid_days": -1}}.get(fault, {})
    async with prosody(tmp_path / "prosody", "ann", **options) as server:
        if fault == "unknown authority":
            other = tmp_path / "other"
            other.mkdir()
            server.authority = Certificates(other).authority
        account = Ours(server, "ann", tmp_path)
        await account.add(*(["--pin", "00" * 32] if fault == "another key" else []))
        await account.start()
        offline = await account.event("offline", final=False)
        assert re.search("certificate was refused|public key is not the pinned one", offline["reason"])
        await account.stop()
        assert "Authenticated" not in server.log


async def test_a_line_of_the_pipe_that_makes_no_sense_is_answered(server, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as account:
        account.write(command="shout")
        assert "unknown command" in (await account.event("error"))["reason"]
        account.write(command="send", to="nobody", body="x", reference="r")
        assert "no address" in (await account.event("refused", reference="r"))["reason"]
        account.write(command="send", to="bob@chat.example", body="\u0001", reference="s")
        assert "control characters" in (await account.event("refused", reference="s"))["reason"]
        account.write(command="stats")
        assert (await account.event("stats"))["accepted"] == 0


async def test_chat_begins_with_what_was_sent_and_taken_before(ann, server):
    async with peer(server, "bob") as bob:
        await ann.command("message", "send", "bob@chat.example", "Sent before", "--until", "received")
        bob.say("ann", "Taken before")
        await bob.until(lambda: bob.receipts or bob.messages)
        async with asyncio.timeout(limits.EVENT):
            while not any(event.get("body") for event in (await ann.command("message", "read"))[0]):
                await asyncio.sleep(0.05)
    shown, _ = await ann.command("chat", "bob@chat.example", "--history", "5")
    assert [(event["event"], event["body"]) for event in shown if "body" in event] == [
        ("sent", "Sent before"), ("received", "Taken before")]
    assert shown[0]["state"] == "receipt"
    shown, _ = await ann.command("chat", "bob@chat.example", "--history", "1")
    assert [event["body"] for event in shown if "body" in event] == ["Taken before"]
