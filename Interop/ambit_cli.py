"""The command line as the subject of a test: `ambit` on a radio that it shares with others."""

import asyncio
import contextlib
import json
import os
import pty
import re
import tty

import limits
from radios import AMBIT, end


class Failed(Exception):
    """`ambit` ended with a status other than zero."""

    def __init__(self, status, message):
        super().__init__(f"status {status}: {message}")
        self.status, self.message = status, message


class Ambit:
    """`ambit` on a radio of its own, or on that of a hub."""

    def __init__(self, radio=None, hub=None):
        self._options, self._environment = ["--radio", f"tcp:{radio}"], None
        if hub:
            # Bonds are the hub's.
            self._options = []
            self._environment = {
                name: value for name, value in os.environ.items() if name != "AMBIT_BONDS"
            } | {"AMBIT_HUB": str(hub)}

    async def _start(self, *arguments, timeout, stdin=None):
        return await asyncio.create_subprocess_exec(
            AMBIT, *arguments, *self._options, "--timeout", str(timeout), env=self._environment,
            stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)

    async def __call__(self, *arguments, timeout=30, stdin=None):
        """Runs a command to its end and gives the bytes it wrote."""
        process = await self._start(
            *arguments, timeout=timeout,
            stdin=None if stdin is None else asyncio.subprocess.PIPE)
        try:
            output, errors = await asyncio.wait_for(process.communicate(stdin), timeout + 20)
        finally:
            await end(process)
        if process.returncode != 0:
            raise Failed(process.returncode, errors.decode().strip())
        return output

    async def json(self, *arguments, timeout=30, stdin=None):
        """Runs a command to its end and gives the objects it wrote."""
        output = await self(*arguments, "--json", timeout=timeout, stdin=stdin)
        return [json.loads(line) for line in output.splitlines()]

    @contextlib.asynccontextmanager
    async def running(self, *arguments, timeout=60):
        """A command that goes on: an async function that gives the next object it writes, and has the
        methods `kill` and `signal`."""
        process = await self._start(*arguments, "--json", timeout=timeout)

        async def kill():
            process.kill()
            await process.wait()

        async def next_event(name=None):
            while True:
                line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
                if not line:
                    raise Failed(await process.wait(), (await process.stderr.read()).decode())
                event = json.loads(line)
                if name is None or event["event"] == name:
                    return event

        next_event.kill, next_event.signal = kill, process.send_signal
        try:
            yield next_event
        finally:
            await end(process)

    @contextlib.asynccontextmanager
    async def listening(self, *arguments, timeout=60):
        """A command that waits for a channel: its PSM, and an async function that gives the next
        so many bytes that arrive."""
        process = await self._start(*arguments, timeout=timeout, stdin=asyncio.subprocess.PIPE)
        try:
            while True:
                line = (await asyncio.wait_for(process.stderr.readline(), limits.EVENT)).decode()
                if found := re.search(r"PSM (\d+)", line):
                    break
                assert line, "it ended before it listened"
            yield int(found.group(1)), process.stdout.readexactly
        finally:
            await end(process)

    @contextlib.asynccontextmanager
    async def at_terminal(self, *arguments, timeout=40, radio=None):
        """A command whose prompts are answered at a terminal; perhaps on a radio of its own."""
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        process = await asyncio.create_subprocess_exec(
            AMBIT, *arguments, *(["--radio", radio] if radio else self._options),
            "--timeout", str(timeout), env=self._environment,
            stdin=theirs, stdout=asyncio.subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        terminal = Terminal(process, ours)
        try:
            yield terminal
        finally:
            await end(process)
            terminal.close()


class Hub:
    """`ambit hub`, as a process that can be killed."""

    def __init__(self, process, path):
        self.process, self.path = process, path

    async def kill(self):
        """Ends the hub without a word to its programs."""
        self.process.kill()
        await self.process.wait()


@contextlib.asynccontextmanager
async def hub(radio, path, *options, prefix=()):
    """A hub with a controller of the radio, which is on; perhaps behind a command that starts it."""
    process = await asyncio.create_subprocess_exec(
        *prefix, AMBIT, "hub", "--no-network", "--radio", f"tcp:{radio}", "--socket", path, "--json", *options,
        stdout=asyncio.subprocess.PIPE)
    try:
        while True:
            line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
            assert line, "the hub ended"
            if json.loads(line).get("works"):
                break
        yield Hub(process, path)
    finally:
        await end(process)


class Terminal:
    """What a person sees of a command, and types."""

    def __init__(self, process, descriptor):
        self.process, self._descriptor = process, descriptor
        self._seen, self._changed = "", asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self):
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self._seen += data.decode(errors="replace")
        self._changed.set()

    async def sees(self, pattern):
        """Waits for a text; what was seen before it is gone then."""
        async with asyncio.timeout(limits.EVENT):
            while not (found := re.search(pattern, self._seen)):
                self._changed.clear()
                await self._changed.wait()
        self._seen = self._seen[found.end():]
        return found

    def types(self, text):
        os.write(self._descriptor, f"{text}\n".encode())

    async def output(self):
        """What the command wrote, when it has ended well."""
        output = await asyncio.wait_for(self.process.stdout.read(), limits.EVENT)
        if await self.process.wait() != 0:
            raise Failed(self.process.returncode, self._seen)
        return output.decode()

    def close(self):
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
