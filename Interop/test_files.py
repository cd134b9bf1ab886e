"""Files of messages, through the upload services of Prosody and ejabberd, with slixmpp, and with servers that fail."""

import asyncio
import base64
import contextlib
import hashlib
import os
import ssl
import struct
import urllib.request
import zlib

import aiohttp
import pytest

import limits
from file_server import FileServer, response, take_body, upload_service
from xmpp_faults import Disk
from xmpp_peers import peer
from xmpp_pipe import ours
from xmpp_server import ejabberd, prosody

CONTENT = os.urandom(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "summit.png"
    path.write_bytes(CONTENT)
    return path


@contextlib.asynccontextmanager
async def account(server, name, tmp_path, *options):
    """An account of ours that may use files at this machine, with a running process."""
    async with ours(server, name, tmp_path / name) as running:
        await running.stop()
        await running.add("--private-files", *options)
        await running.start()
        yield running


def send(account, path, to="bob"):
    account.write(
        command="send-file", to=f"{to}@{account.server.domain}", path=str(path), reference="file")


def picture(side=300):
    """A PNG file of noise."""
    rows = b"".join(b"\0" + os.urandom(3 * side) for _ in range(side))
    chunks = (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks)


async def download(account, url, event="downloaded", **keys):
    """Downloads a file; gives the event with the result."""
    account.write(command="download", url=url, reference=url, **keys)
    return await account.event(event, reference=url)


def fetch(server, url):
    """What any client gets at an address."""
    return urllib.request.urlopen(url, context=server.tls(), timeout=limits.EVENT).read()


async def test_a_picture_comes_with_a_small_one_that_other_clients_read(tmp_path):
    (tmp_path / "noise.png").write_bytes(picture())
    async with prosody(tmp_path / "server", "ann", "bob", uploads="service") as server:
        async with account(server, "ann", tmp_path) as ann, account(server, "bob", tmp_path) as bob:
            async with peer(server, "bob") as other:
                stanzas = []
                other.add_event_handler("message", lambda message: stanzas.append(message.xml))
                send(ann, tmp_path / "noise.png")
                received = await bob.event("received")
                await other.until(lambda: any(message.body for message in other.messages))
    small, = [found for stanza in stanzas for found in stanza.iter("{urn:xmpp:thumbs:1}thumbnail")]
    data = {found.get("cid"): found for stanza in stanzas for found in stanza.iter("{urn:xmpp:bob}data")}
    sent = data[small.get("uri").removeprefix("cid:")]
    assert received["attachments"][0]["thumbnail"] == f"data:image/png;base64,{sent.text}"
    bytes = base64.b64decode(sent.text)
    assert sent.get("type") == small.get("media-type") == "image/png"
    assert struct.unpack(">II", bytes[16:24]) == (int(small.get("width")), int(small.get("height")))
    assert len(bytes) <= 24_576 and int(small.get("width")) in (48, 96)


@pytest.mark.parametrize("start", [
    lambda *arguments: prosody(*arguments, uploads="service"), ejabberd], ids=["prosody", "ejabberd"])
async def test_files_go_through_the_server_in_both_directions(start, file, tmp_path):
    async with start(tmp_path / "server", "ann", "bob") as server:
        async with account(server, "ann", tmp_path) as ann:
            async with account(server, "bob", tmp_path) as bob, peer(server, "bob") as other:
                send(ann, file)
                sent = await ann.event("file-sent")
                await ann.event("receipt", id=sent["id"])
                assert any(event["event"] == "file-uploading" for event in ann.events)
                received = await bob.event("received")
                attachment = received["attachments"][0]
                assert "body" not in received
                assert attachment["name"] == "summit.png" and attachment["type"] == "image/png"
                assert attachment["size"] == len(CONTENT) and attachment["sha256"] == DIGEST
                keys = {key: attachment[key] for key in ("name", "size", "sha256")}
                path = (await download(bob, attachment["url"], **keys))["path"]
                assert open(path, "rb").read() == CONTENT
                # Another client has the address as text and by XEP-0066.
                assert await other.bodies(1) == [attachment["url"]]
                assert await asyncio.to_thread(fetch, server, attachment["url"]) == CONTENT

                other.register_plugin("xep_0066")
                other.register_plugin("xep_0363")
                slot = (await other.plugin["xep_0363"].request_slot(
                    (await other.plugin["xep_0363"].find_upload_service())["from"], "voice.ogg", 5,
                    "audio/ogg"))["http_upload_slot"]
                # Of the XML: with what slixmpp reads of it, a message went out without an address now and then.
                address = slot.xml.find("{urn:xmpp:http:upload:0}get").get("url")
                assert address, str(slot)
                async with aiohttp.ClientSession() as session:
                    headers = {header["name"]: header["value"] for header in slot["put"]["headers"]}
                    answer = await session.put(
                        slot["put"]["url"], data=b"voice", headers=headers | {"Content-Type": "audio/ogg"},
                        ssl=server.tls())
                    assert answer.status == 201
                message = other.make_message(mto=ann.address, mbody=address, mtype="chat")
                message["oob"]["url"] = address
                message.send()
                received = await ann.event("received")
                assert "attachments" in received, received
                assert received["attachments"][0]["url"] == received["body"]
                path = (await download(ann, received["body"]))["path"]
                assert open(path, "rb").read() == b"voice"

                file.write_bytes(bytes(1_000_001))
                send(ann, file)
                failed = await ann.event("file-failed")
                assert "1000000 bytes at most" in failed["reason"]


@contextlib.asynccontextmanager
async def service(tmp_path):
    """A server, its upload service and the web server of that."""
    async with prosody(tmp_path / "server", "ann", "bob", uploads="component") as server:
        async with FileServer(server) as files, upload_service(server, files) as uploads:
            yield server, files, uploads


async def test_a_file_that_is_held_up_or_refused_holds_up_no_text(file, tmp_path):
    async with service(tmp_path) as (server, files, uploads):
        async with account(server, "ann", tmp_path) as ann, peer(server, "bob") as bob:
            uploads.is_silent = True
            send(ann, file)
            await ann.event("file-accepted")
            assert await ann.send("bob", "text")
            assert await bob.bodies(1) == ["text"]
            await ann.kill()

            # Attempts fail in many ways, and each has a place of its own.
            uploads.is_silent = False

            async def cut(request, reader, writer):
                await reader.readexactly(1_000)
                writer.transport.abort()

            async def refuse_early(request, reader, writer):
                writer.write(response(507))
                await writer.drain()
                await asyncio.sleep(limits.EVENT)

            files.answers = [cut, refuse_early, response(201)]
            ann.events.clear()
            await ann.start()
            sent = await ann.event("file-sent")
            await ann.event("acked", id=sent["id"])
            assert files.requests[-1].body == CONTENT
            assert len({request.target for request in files.requests}) == 3
            assert await bob.bodies(2) == ["text", f"{files.url}/3/file"]

            files.answers = [response(413)]
            send(ann, file)
            await ann.event("file-failed", reason="the server finds it too large")


async def test_a_command_waits_for_a_file_that_is_sent_before_an_earlier_one(file, tmp_path):
    small = tmp_path / "small"
    small.write_bytes(b"abc")
    async with service(tmp_path) as (server, files, _):
        async with account(server, "ann", tmp_path) as ann:
            await ann.stop()
            files.answers = [response(503), response(201)]
            events, _ = await ann.command(
                "message", "send", f"bob@{server.domain}", "--file", str(file), "--file", str(small))
    assert [len(request.body) for request in files.requests] == [len(CONTENT), 3, len(CONTENT)]
    assert [event["file"] for event in events if event["event"] == "file-sent"] == [1, 2]


async def test_a_process_that_is_killed_during_an_upload_sends_the_file_once(file, tmp_path):
    async with service(tmp_path) as (server, files, _):
        async with account(server, "ann", tmp_path) as ann, peer(server, "bob") as bob:
            async def hold(request, reader, writer):
                await reader.readexactly(1_000)
                await asyncio.sleep(limits.EVENT)

            async def take_without_an_answer(request, reader, writer):
                await take_body(request, reader)
                await asyncio.sleep(limits.EVENT)

            for number, answer in enumerate((hold, take_without_an_answer), 1):
                files.answers = [answer]
                if number == 1:
                    send(ann, file)
                await files.until(number)
                await ann.kill()
                files.answers = [response(201)]
                if number == 1:
                    files.answers = [take_without_an_answer]
                await ann.start()
            sent = await ann.event("file-sent")
            await ann.event("acked", id=sent["id"])
            assert await bob.bodies(1) == [f"{files.url}/3/file"]
            await ann.send("bob", "the end")
            assert (await bob.bodies(2))[1:] == ["the end"]


async def test_a_file_that_has_changed_is_not_sent(file, tmp_path):
    async with service(tmp_path) as (server, files, uploads):
        async with account(server, "ann", tmp_path) as ann:
            uploads.is_silent = True
            send(ann, file)
            await ann.event("file-accepted")
            await ann.kill()
            file.write_bytes(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
            uploads.is_silent, files.answers = False, [response(201)]
            ann.events.clear()
            await ann.start()
            await ann.event("file-failed", reason="the file has changed since it was sent")


async def test_a_download_is_bounded_and_leads_to_no_private_address(file, tmp_path):
    async with service(tmp_path) as (server, files, _), ours(server, "bob", tmp_path / "bob") as strict:
        files.answers = [response(200, CONTENT)]
        failed = await download(strict, f"{files.url}/a", "download-failed")
        assert failed["reason"] == "127.0.0.1 is not a public address" and not files.requests
        async with account(server, "ann", tmp_path) as ann:
            for number, (answer, reason) in enumerate([
                (response(302, location="/loop"), "the server's redirections lead to no file"),
                (response(302, location="http://127.0.0.1/"), "the server's redirections lead to no file"),
                (response(404), "the server answers with status 404"),
                (response(200, CONTENT[:-1]), "the file is not the announced one"),
                (response(200, CONTENT + b"x"), f"the file has more than {len(CONTENT)} bytes"),
                (response(200, CONTENT[::-1]), "the file is not the announced one"),
                (response(200, content_length=1 << 40), f"the file has more than {len(CONTENT)} bytes"),
            ]):
                files.answers = [answer]
                failed = await download(
                    ann, f"{files.url}/{number}", "download-failed", size=len(CONTENT), sha256=DIGEST)
                assert failed["reason"] == reason

            async def endless(request, reader, writer):
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while True:
                    writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                    await writer.drain()

            files.answers = [endless]
            failed = await download(ann, f"{files.url}/endless", "download-failed", size=len(CONTENT))
            assert failed["reason"] == f"the file has more than {len(CONTENT)} bytes"


async def test_a_download_that_is_cut_or_killed_goes_on_where_it_ended(tmp_path):
    async with service(tmp_path) as (server, files, _):
        async with account(server, "ann", tmp_path) as ann:
            def part(end, holds=False):
                async def answer(request, reader, writer):
                    first = request.first
                    head = response(
                        206 if first else 200, content_length=len(CONTENT) - first,
                        content_range=f"bytes {first}-{len(CONTENT) - 1}/{len(CONTENT)}")
                    writer.write(head + CONTENT[first:end])
                    await writer.drain()
                    if holds:
                        await asyncio.sleep(limits.EVENT)
                return answer

            url = f"{files.url}/file"
            files.answers = [part(100_000), part(200_000, holds=True), part(len(CONTENT))]
            ann.write(command="download", url=url, reference="killed", size=len(CONTENT), sha256=DIGEST)
            await files.until(2)
            folder = tmp_path / "ann/messages"
            async with asyncio.timeout(limits.EVENT):
                while not any(found.stat().st_size >= 150_000 for found in folder.glob("*/*/*.part")):
                    await asyncio.sleep(0.02)
            await ann.kill()
            await ann.start()
            path = (await download(ann, url, size=len(CONTENT), sha256=DIGEST))["path"]
            assert open(path, "rb").read() == CONTENT
            firsts = [request.first for request in files.requests]
            assert firsts[0] == 0 and 0 < firsts[1] <= 100_000 and 150_000 <= firsts[2] <= 200_000
            assert not list(folder.glob("*/*/*.part"))
            # It is here now.
            assert (await download(ann, url, size=len(CONTENT), sha256=DIGEST))["path"] == path
            assert len(files.requests) == 3


async def test_a_download_fails_on_a_full_disk_and_begins_anew_when_there_is_room(tmp_path):
    async with service(tmp_path) as (server, files, _):
        disk = Disk(tmp_path / "disk")
        await disk.mount()
        try:
            async with account(server, "ann", disk.folder) as ann:
                files.answers = [response(200, CONTENT)]
                await ann.event("caught-up")
                with disk.full():
                    failed = await download(
                        ann, f"{files.url}/file", "download-failed", size=len(CONTENT), sha256=DIGEST)
                    assert "space" in failed["reason"].lower()
                    # What had come gives its room back to the messages.
                    assert not list(disk.folder.glob("ann/messages/*/*/*.part"))
                ann.events.clear()
                path = (await download(ann, f"{files.url}/file", size=len(CONTENT), sha256=DIGEST))["path"]
                assert open(path, "rb").read() == CONTENT
                await ann.stop()
        finally:
            await disk.unmount()
