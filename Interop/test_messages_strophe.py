"""Messages of ours with a client on libstrophe, through both servers."""

import asyncio
import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest
import pytest_asyncio

import limits
from debian_programs import Programs
from radios import end
from xmpp_pipe import ours
from xmpp_server import PASSWORD, ejabberd, prosody

SOURCE = pathlib.Path(__file__).parent / "strophe/peer.c"


@pytest.fixture(scope="session")
def strophe(tmp_path_factory):
    """The client, compiled, and the folders of its libraries."""
    packages = Programs("strophe", ("libstrophe-dev",))
    program = tmp_path_factory.mktemp("strophe") / "peer"
    library = packages.find("**/libstrophe.so").parent
    subprocess.run(
        [shutil.which("cc") or shutil.which("clang"), "-Wall", "-Wextra", "-Werror",
         f"-I{packages.root}/usr/include", SOURCE, "-o", program, f"-L{library}", "-lstrophe",
         "-Wl,--allow-shlib-undefined"], check=True)
    return program, packages.libraries


@pytest_asyncio.fixture(params=[prosody, ejabberd], ids=["prosody", "ejabberd"])
async def server(request, tmp_path):
    async with request.param(tmp_path / "server", "ann", "bob") as running:
        yield running


class Strophe:
    def __init__(self, process):
        self._process, self.lines, self._changed = process, [], asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self):
        while line := await self._process.stdout.readline():
            self.lines.append(line.decode().rstrip("\n").split(" ", 3))
            self._changed.set()

    async def until(self, condition):
        async with asyncio.timeout(limits.EVENT):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def say(self, address, id, text):
        self._process.stdin.write(f"{address} {id} {text}\n".encode())

    def texts(self):
        return [line[3] for line in self.lines if line[0] == "message"]

    def receipts(self):
        return [line[2] for line in self.lines if line[0] == "receipt"]


@contextlib.asynccontextmanager
async def strophe_peer(strophe, server, name):
    """A client that is online."""
    program, libraries = strophe
    process = await asyncio.create_subprocess_exec(
        "setpriv", "--pdeathsig", "KILL", program, f"{name}@{server.domain}", PASSWORD, "127.0.0.1",
        str(server.port), server.authority, env=os.environ | {"LD_LIBRARY_PATH": libraries},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    client = Strophe(process)
    try:
        await client.until(lambda: any(line[0] == "online" for line in client.lines))
        yield client
    finally:
        await end(process)


async def test_messages_and_receipts_pass_between_libstrophe_and_ours_in_both_directions(
        server, strophe, tmp_path):
    sent = [f"from strophe {number}" for number in range(50)]
    expected = [f"from ours {number}" for number in range(50)]
    async with ours(server, "ann", tmp_path / "ann") as ann, strophe_peer(strophe, server, "bob") as bob:
        for number, text in enumerate(sent):
            bob.say(ann.address, f"s{number}", text)
        ids = [await ann.send("bob", text) for text in expected]
        await bob.until(lambda: len(bob.texts()) >= len(expected) and len(bob.receipts()) >= len(sent))
        await ann.until(lambda: len(ann.bodies) >= len(sent))
        for id in ids:
            await ann.event("receipt", id=id)
    assert bob.texts() == expected and ann.bodies == sent
    assert sorted(bob.receipts()) == sorted(f"s{number}" for number in range(50))


async def test_a_message_of_a_client_with_one_id_for_all_is_no_duplicate_unless_its_text_is(
        server, strophe, tmp_path):
    async with ours(server, "ann", tmp_path / "ann") as ann, strophe_peer(strophe, server, "bob") as bob:
        for text in ("on", "off", "off", "done"):
            bob.say(ann.address, "same", text)
        await ann.event("received", body="done")
    assert ann.bodies == ["on", "off", "done"]
