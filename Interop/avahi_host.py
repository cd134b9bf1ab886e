"""Avahi's daemon and its tools on a host of a test's network."""

import asyncio
import contextlib
import pathlib
import re
import shutil
import tempfile
from xml.sax.saxutils import escape

import limits
from debian_programs import avahi as avahi_programs, nss_mdns
from radios import end

DAEMON = pathlib.Path(__file__).parent / "avahi/daemon"


class Avahi:
    def __init__(self, host, programs, state, process):
        self.host, self.programs, self.state, self.process = host, programs, state, process
        self.lines = []

    async def log(self, pattern):
        """The match of the next line of the daemon's log that has this."""
        while True:
            line = await asyncio.wait_for(self.process.stderr.readline(), limits.EVENT)
            assert line, "the daemon ended"
            self.lines.append(line.decode())
            if match := re.search(pattern, self.lines[-1]):
                return match

    async def kill(self):
        """Ends the daemon as a crash does, and reads the rest of its log."""
        self.process.kill()
        rest = await asyncio.wait_for(self.process.stderr.read(), limits.EVENT)
        self.lines += rest.decode().splitlines()
        await self.process.wait()

    def publish(self, name, type_, port, *text):
        """Publishes a service, or changes it."""
        records = "".join(f"<txt-record>{escape(item)}</txt-record>" for item in text)
        self._file(name).write_text(
            f"<service-group><name>{escape(name)}</name><service><type>{type_}</type>"
            f"<port>{port}</port>{records}</service></service-group>", encoding="utf-8")

    def withdraw(self, name):
        self._file(name).unlink()

    def _file(self, name):
        return self.state / "services" / f"{name.encode().hex()}.service"

    async def looked_up(self, name):
        """The addresses that the C library of the host finds for a name by nss-mdns, as the daemon's /run has it."""
        libraries = nss_mdns().libraries
        process = await self.host._start(
            "unshare", "--mount", "sh", "-c",
            f"mount --bind '{self.state}/run' /run && LD_LIBRARY_PATH='{libraries}'"
            f" exec getent -s hosts:mdns4_minimal ahostsv4 '{name}'")
        output, errors = await asyncio.wait_for(process.communicate(), limits.EVENT)
        assert process.returncode in (0, 2), errors.decode()
        return {line.split()[0] for line in output.decode().splitlines()}

    @contextlib.asynccontextmanager
    async def browsing(self, type_):
        """Follows the services of a type: an async function that gives the fields of the next lines
        of avahi-browse(1) that begin so, by version of IP."""
        process = await self.host._start(
            "env", f"DBUS_SYSTEM_BUS_ADDRESS=unix:path={self.state}/bus", "stdbuf", "-oL",
            *self.programs.command("avahi-browse", "--parsable", "--resolve", type_))

        async def next_lines(mark, *versions):
            found = {}
            while not found.keys() >= set(versions):
                line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
                assert line, (await process.stderr.read()).decode()
                fields = line.decode().rstrip("\n").split(";")
                if fields[0] == mark:
                    found[fields[2]] = fields
            return found

        try:
            yield next_lines
        finally:
            await end(process)


@contextlib.asynccontextmanager
async def avahi(host, name, *options):
    """Avahi's daemon on a host of this name, ready."""
    programs = avahi_programs()
    # A path that a UNIX socket can have.
    state = pathlib.Path(tempfile.mkdtemp(prefix="avahi-"))
    (state / "services").mkdir()
    process = await host._start(DAEMON, programs.root, state, name, *options)
    try:
        daemon = Avahi(host, programs, state, process)
        await daemon.log("Server startup complete")
        yield daemon
    finally:
        await end(process)
        shutil.rmtree(state)
