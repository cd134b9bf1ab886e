"""The example Messenger in its terminal, against Prosody and slixmpp."""

import asyncio
import contextlib
import os
import pathlib

import limits
import pytest_asyncio
from radios import ROOT
from xmpp_peers import peer
from xmpp_server import PASSWORD, prosody

# The tests of its page have built it.
PROGRAM = pathlib.Path(os.environ.get("AMBIT_MESSENGER", ROOT / ".build/debug/messenger"))
PICTURE = ROOT / "Examples/Messenger/Site/gate.png"


class Terminal:
    """The program, with the lines that it has printed."""

    def __init__(self, server, name, folder):
        self._command = (
            PROGRAM, f"{name}@{server.domain}", "--terminal", "--private-files", "--folder", folder,
            "--server", f"127.0.0.1:{server.port}", "--authority", server.authority)
        self.lines, self.process, self._reading, self._changed = [], None, None, asyncio.Event()

    async def start(self):
        self.lines = []
        self.process = await asyncio.create_subprocess_exec(
            *self._command, env=os.environ | {"MESSENGER_PASSWORD": PASSWORD},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        self._reading = asyncio.create_task(self._read())

    async def _read(self):
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().rstrip("\n"))
            self._changed.set()
        await self.process.wait()

    def type(self, line):
        self.process.stdin.write(f"{line}\n".encode())

    async def until(self, *texts):
        """Waits for lines with these texts, in this order."""
        def are_there():
            lines = iter(self.lines)
            return all(any(text in line for line in lines) for text in texts)

        await self._until(are_there)

    async def until_state(self, content, state):
        """Waits for the state of a message: in a line of its own, or with the message if the server was faster."""
        await self._until(lambda: any(
            f"{content}: {state}" in line or f"You: {content} ({state})" in line for line in self.lines))

    async def _until(self, are_there):
        async with asyncio.timeout(limits.EVENT):
            while not are_there():
                self._changed.clear()
                await self._changed.wait()

    async def stop(self, kill=False):
        if self.process.returncode is None:
            self.process.kill() if kill else self.process.stdin.close()
        await asyncio.wait_for(self._reading, limits.EVENT)


@contextlib.asynccontextmanager
async def terminal(server, name, folder):
    program = Terminal(server, name, folder)
    await program.start()
    try:
        yield program
    finally:
        await program.stop(kill=True)


@pytest_asyncio.fixture
async def server(tmp_path):
    async with prosody(tmp_path / "prosody", "ann", "bob", uploads="service") as running:
        yield running


async def test_a_conversation_outlives_a_crash_of_the_program(server, tmp_path):
    async with terminal(server, "ann", tmp_path / "ann") as ann:
        ann.type("/to bob@chat.example")
        ann.type("Before the crash")
        await ann.until("-- bob@chat.example", "You: Before the crash")
        await ann.until_state("Before the crash", "sent")
        await ann.stop(kill=True)
        async with peer(server, "bob") as bob:
            assert await bob.bodies(1) == ["Before the crash"]
            bob.say("ann", "While it was away")
            await ann.start()
            ann.type("/to bob@chat.example")
            await ann.until("You: Before the crash", "bob@chat.example: While it was away")
            bob.say("ann", "And now")
            await ann.until("bob@chat.example: And now")
            assert sum("While it was away" in line for line in ann.lines) == 1
            ann.type("Here again")
            await ann.until_state("Here again", "received")
        await ann.stop()
        assert ann.process.returncode == 0


async def test_two_of_them_exchange_a_picture(server, tmp_path):
    async with terminal(server, "ann", tmp_path / "ann") as ann, terminal(server, "bob", tmp_path / "bob") as bob:
        ann.type("/to bob@chat.example")
        bob.type("/to ann@chat.example")
        ann.type(f"/file {PICTURE}")
        await ann.until_state("[gate.png]", "sent")
        await bob.until("ann@chat.example: [gate.png, 1522 bytes]")
        # Ann is no contact of Bob's, so nothing is loaded without his wish.
        bob.type("/load")
        await bob.until("gate.png: /")
        path = next(line for line in bob.lines if "gate.png: /" in line).split(": ", 1)[1]
        assert pathlib.Path(path).read_bytes() == PICTURE.read_bytes()
