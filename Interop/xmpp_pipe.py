"""`ambit message pipe` as the subject of a test: an account of ours that can be killed and started again."""

import asyncio
import contextlib
import json
import os
import pathlib

import limits
from radios import AMBIT
from xmpp_server import PASSWORD

PROGRAM = pathlib.Path(os.environ.get("AMBIT_MESSAGE", AMBIT.parent / "ambit-message"))


class Ours:
    """An account, with everything that its processes have reported, in order."""

    def __init__(self, server, name, folder, acknowledges=True, command=(PROGRAM, "message", "pipe")):
        self.server, self.address, self._command = server, f"{name}@{server.domain}", command
        self.environment = os.environ | {
            "AMBIT_ACCOUNTS": str(folder / "accounts"), "PIPE_FOLDER": str(folder),
            "PIPE_ADDRESS": self.address, "PIPE_PORT": str(server.port),
            "PIPE_AUTHORITY": str(server.authority)}
        self.acknowledges = acknowledges
        self.events, self.process, self.exit_status = [], None, None
        # The rows that the app has taken, each once: what it keeps when its process is killed.
        self.taken = {}
        self._changed, self._reading, self._sent = asyncio.Event(), None, 0

    async def add(self, *options, password=PASSWORD):
        """Adds the account, or changes its settings."""
        await self.command(
            "account", "add", self.address, "--server", f"127.0.0.1:{self.server.port}",
            "--authority", self.server.authority, *options, stdin=f"{password}\n".encode())

    async def command(self, *arguments, stdin=b"", status=0):
        """Runs a command to its end; gives the objects that it wrote and its complaints."""
        process = await asyncio.create_subprocess_exec(
            PROGRAM, *arguments, "--json", env=self.environment, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            output, complaints = await asyncio.wait_for(process.communicate(stdin), limits.EVENT)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == status, (process.returncode, output, complaints)
        return [json.loads(line) for line in output.splitlines()], complaints.decode()

    async def start(self):
        """Starts a process."""
        self.process = await asyncio.create_subprocess_exec(
            *self._command, env=self.environment, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, limit=1 << 20)
        self._reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process):
        while line := await process.stdout.readline():
            # The last line of a process that was killed may be cut off.
            with contextlib.suppress(json.JSONDecodeError):
                self._take(json.loads(line))
        self.exit_status = await process.wait()
        self._changed.set()

    def _take(self, event):
        self.events.append(event)
        if "row" in event and self.acknowledges:
            # The app takes each row once, and acknowledges what it is given again.
            self.taken.setdefault(event["row"], event)
            self.write(command="ack", row=event["row"])
        self._changed.set()

    def write(self, **command):
        """Writes a command. One to a process that was killed is lost with it."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write((json.dumps(command) + "\n").encode())

    async def send(self, peer, body):
        """Sends a message; gives its id when it is on disk, or nothing if the process was killed before."""
        self._sent += 1
        reference = f"{self.address} {self._sent}"
        process = self.process
        self.write(command="send", to=f"{peer}@{self.server.domain}", body=body, reference=reference)

        def accepted():
            return next((e for e in reversed(self.events) if e.get("reference") == reference), None)

        await self.until(lambda: accepted() or process.returncode is not None)
        found = accepted()
        return found and found["event"] == "accepted" and found["id"]

    async def until(self, condition, seconds=limits.EVENT):
        """Waits until a condition on what was reported holds."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def event(self, name, **members):
        """Waits for an event of this name with these members, and gives the first."""
        def found():
            wanted = ({"event": name} | members).items()
            return next((event for event in self.events if wanted <= event.items()), None)

        await self.until(found)
        return found()

    @property
    def bodies(self):
        """The bodies of the messages that the app has taken, in the order of their rows."""
        return [self.taken[row]["body"] for row in sorted(self.taken) if "body" in self.taken[row]]

    def states(self, id):
        """The states of a message that were reported."""
        return [event["event"] for event in self.events if event.get("id") == id]

    async def kill(self):
        """Ends the process as a crash does."""
        self.process.kill()
        await self._reading

    async def stop(self):
        """Ends the process in order."""
        if self.process and self.process.returncode is None:
            self.process.stdin.close()
            try:
                await asyncio.wait_for(asyncio.shield(self._reading), 20)
            except asyncio.TimeoutError:
                await self.kill()


@contextlib.asynccontextmanager
async def ours(server, name, folder, **options):
    """An account of ours, with a running process."""
    folder.mkdir(exist_ok=True)
    account = Ours(server, name, folder, **options)
    await account.add()
    await account.start()
    try:
        yield account
    finally:
        await account.stop()
