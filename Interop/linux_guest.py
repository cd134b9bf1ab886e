"""A virtual machine with Debian's kernel, whose Bluetooth controller is one of Ambit's simulated
ones: on a line that `btattach` attaches, as on many a board."""

import asyncio
import contextlib
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import limits
from debian_programs import unavailable
from kernel import initramfs
from radios import AMBIT, ROOT, end

FOLDER = ROOT / ".build/linux"
# How the machine calls them.
RADIO_LINE = "/dev/hvc1"
TERMINAL_LINE = "/dev/hvc2"
# After how long the machine gets another controller if its own hangs up.
RECONNECT_SECONDS = 1
# What a terminal would make of it is nothing to look for.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x01\x02\r]")


class Failed(Exception):
    """A command in the machine ended with a status other than zero."""

    def __init__(self, command, status, output):
        super().__init__(f"{command}: status {status}: {output}")
        self.status, self.output = status, output


class Line:
    """Our end of one of the machine's lines."""

    def __init__(self, reader, writer):
        self._reader, self._writer, self._text = reader, writer, ""

    @classmethod
    @contextlib.asynccontextmanager
    async def listen(cls, path):
        """Listens for the machine; gives an awaitable for its line."""
        line = asyncio.get_running_loop().create_future()
        server = await asyncio.start_unix_server(
            lambda *streams: line.set_result(cls(*streams)), path)
        async with server:
            yield line

    def send(self, text):
        self._writer.write(text.encode() + b"\n")

    async def expect(self, pattern, seconds=limits.EVENT):
        """Waits for a pattern; gives its match, and forgets all that came until then."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := re.search(pattern, self._text)):
                    read = await self._reader.read(65536)
                    assert read, f"the machine stopped; its last words: {self._text[-2000:]}"
                    self._text = ESCAPES.sub("", self._text + read.decode(errors="replace"))
        except TimeoutError:
            raise AssertionError(f"no {pattern!r} in {self._text[-2000:]!r}") from None
        self._text = self._text[found.end():]
        return found


class Guest:
    def __init__(self, shell, terminal, console):
        self._shell, self.terminal, self._count = shell, terminal, 0
        self._console = console

    async def boot(self):
        try:
            # Longer than a test may take, which is repeated then.
            await self._shell.expect("ready\n", 400)
        except AssertionError:
            last = self._console.read_text(errors="replace")[-2000:]
            raise AssertionError(f"the machine does not come up: {last}") from None

    async def run(self, command, seconds=60):
        """Runs a command to its end and gives what it wrote, errors too."""
        status, output = await self.attempt(command, seconds)
        if status != 0:
            raise Failed(command, status, output)
        return output

    async def attempt(self, command, seconds=60):
        """Runs a command to its end and gives its status and what it wrote."""
        self._count += 1
        mark = f"done-{self._count}"
        self._shell.send(
            f"timeout {seconds} sh -c {shlex.quote(command)} </dev/null 2>&1; echo {mark} $?")
        found = await self._shell.expect(rf"(?s)(.*?){mark} (\d+)\n", seconds + 20)
        return int(found[2]), found[1]

    async def until(self, command, pattern, seconds=limits.EVENT):
        """Runs a command again and again until what it writes has the pattern; gives the match."""
        output = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    _, output = await self.attempt(command)
                    if found := re.search(pattern, output):
                        return found
                    await asyncio.sleep(0.1)
        raise AssertionError(f"{command}: no {pattern!r} in {output!r}")


def _fetch(*command):
    fetched = subprocess.run(command, capture_output=True, text=True)
    if fetched.returncode != 0:
        unavailable(fetched.stderr.strip())


def _prepare(image, suite, extras, programs):
    """Fetches what the machine is made of, once, and makes its first file system. The kernel is
    returned, after QEMU."""
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        unavailable("There is no qemu-system-x86_64.")
    _fetch(ROOT / "Interop/kernel/fetch", FOLDER)
    other = None
    if suite:
        folder = ROOT / f".build/bluez-{suite}"
        _fetch(ROOT / "Interop/debian/fetch", "--suite", suite, folder, "bluez")
        other = folder / "root"
    return qemu, initramfs.build(FOLDER / "root", AMBIT, image, other, extras, programs)


def _radio(address):
    if address is None:
        return ["-chardev", "null,id=radio"]
    host, port = address.split(":")
    return ["-chardev", f"socket,id=radio,host={host},port={port},nodelay=on,"
                        f"reconnect={RECONNECT_SECONDS}"]


def _ethernet(cable):
    if cable is None:
        return []
    theirs, ours = cable
    return ["-netdev", f"dgram,id=cable,local.type=unix,local.path={theirs},"
                       f"remote.type=unix,remote.path={ours}",
            "-device", "virtio-net-pci,netdev=cable,mac=02:00:00:00:00:01"]


@contextlib.asynccontextmanager
async def linux_guest(radio, folder, cable=None, suite=None, extras=None, programs=None, megabytes=1024):
    """The machine, up; its controller is on RADIO_LINE, not yet attached. A cable is two paths of
    UNIX sockets for datagrams, each of which is a frame of its Ethernet: the machine's and ours.
    The bluetoothd of another suite of Debian is in it, too, if one is named, and so are more files and
    programs, by their paths in the machine. Its memory holds all of them twice while it starts."""
    qemu, kernel = await asyncio.to_thread(_prepare, folder / "initramfs", suite, extras, programs)
    console = folder / "console"
    async with (
        Line.listen(folder / "shell") as shell, Line.listen(folder / "terminal") as terminal,
    ):
        process = await asyncio.create_subprocess_exec(
            # It must not outlive us, however we end.
            "setpriv", "--pdeathsig", "KILL",
            # Emulated also where there is KVM: inside of virtual machines it may be there and hang.
            qemu, "-accel", "tcg", "-m", str(megabytes), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot",
            "-kernel", kernel, "-initrd", folder / "initramfs",
            # The kernel takes the timer of a machine that gets no processor for a while for a broken one.
            "-append", "console=ttyS0 panic=-1 loglevel=4 no_timer_check",
            "-serial", f"file:{console}",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=shell,path={folder}/shell",
            "-device", "virtconsole,chardev=shell",
            *_radio(radio),
            "-device", "virtconsole,chardev=radio",
            "-chardev", f"socket,id=terminal,path={folder}/terminal",
            "-device", "virtconsole,chardev=terminal",
            *_ethernet(cable),
            stdout=sys.stderr)
        try:
            guest = Guest(
                await asyncio.wait_for(shell, limits.EVENT),
                await asyncio.wait_for(terminal, limits.EVENT), console)
            await guest.boot()
            yield guest
        finally:
            await end(process)
