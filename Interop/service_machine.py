"""A machine whose first process is systemd, for `ambit hub install` and `ambit apps install`: in namespaces, with the
programs of this one and none of its services. Needs root."""

import asyncio
import contextlib
import os
import pathlib
import re
import subprocess

import pytest

import limits
from ambit_cli import Failed
from debian_programs import unavailable
from radios import AMBIT

BOOT = pathlib.Path(__file__).parent / "systemd/boot"
# The user without rights, and the folder for the sockets of that user's programs.
USER, USER_FOLDER = 1000, "/run/user/1000"
ENVIRONMENT = {"container": "ambit", "PATH": "/opt/ambit:/usr/bin:/usr/sbin", "LANG": "C.UTF-8"}


class Machine:
    def __init__(self, first, log):
        self._first, self._log = first, log

    def _command(self, command, is_user):
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        environment = ENVIRONMENT | (
            {"HOME": "/home/ann", "XDG_RUNTIME_DIR": USER_FOLDER} if is_user else {"HOME": "/root"})
        return [
            "setpriv", "--pdeathsig", "KILL", "nsenter", "--target", str(self._first), "--mount", "--pid",
            "--uts", "--ipc", "--net", "--cgroup", "--root", "--wd", *(user if is_user else []),
            "env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]

    async def attempt(self, *command, is_user=False, seconds=120):
        """Runs a command to its end, perhaps as the user without rights; gives its status and output."""
        process = await asyncio.create_subprocess_exec(
            *self._command(["timeout", str(seconds), *command], is_user),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT)
        output, _ = await process.communicate()
        return process.returncode, output.decode()

    async def run(self, *command, is_user=False):
        """Runs a command to its end, which must be a good one, and gives what it wrote."""
        status, output = await self.attempt(*command, is_user=is_user)
        if status != 0:
            raise Failed(status, f"{' '.join(command)}: {output}{self.log()}")
        return output

    async def until(self, pattern, *command, is_user=False, seconds=2 * limits.EVENT):
        """Runs a command again and again until what it wrote has the pattern; gives the match."""
        output = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    _, output = await self.attempt(*command, is_user=is_user)
                    if found := re.search(pattern, output):
                        return found
                    await asyncio.sleep(0.1)
        raise AssertionError(f"{command}: no {pattern!r} in {output!r}{self.log()}")

    async def copy(self, path, place):
        """Copies a file of this machine."""
        with open(path, "rb") as contents:
            process = await asyncio.create_subprocess_exec(
                *self._command(["sh", "-c", 'cat >"$1"', "sh", place], is_user=False), stdin=contents)
            if await process.wait() != 0:
                raise Failed(process.returncode, f"{place} can't be written{self.log()}")

    def network_command(self, *command):
        """A command that runs here, with the machine's network."""
        return [
            "setpriv", "--pdeathsig", "KILL", "nsenter", "--target", str(self._first), "--net", *map(str, command)]

    async def property(self, name, unit="ambit-hub.service"):
        return (await self.run("systemctl", "show", "--value", f"--property={name}", unit)).strip()

    @contextlib.asynccontextmanager
    async def running(self, *command):
        """A command that goes on, until the end of the block."""
        process = await asyncio.create_subprocess_exec(
            *self._command(command, is_user=False), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL)
        try:
            yield
        finally:
            # nsenter waits for the command, and ends with it.
            if process.returncode is None:
                await self.attempt("pkill", "--full", "--exact", " ".join(command))
                await asyncio.wait_for(process.wait(), limits.EVENT)

    def log(self):
        return f"\nThe machine: {self._log.read_text(errors='replace')[-4000:]}"


def _folders(*programs):
    """The folders of the libraries of programs that are not in /usr."""
    listed = "".join(
        subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout for program in programs)
    paths = {str(pathlib.Path(path).resolve().parent) for path in re.findall(r"=> (/\S+)", listed)}
    return sorted(path for path in paths if not path.startswith("/usr/"))


def _remove_group(name, folder):
    """Removes the machine's control groups, when their last process is gone."""
    subprocess.run(
        ["unshare", "--mount", "sh", "-c",
         'mount -t cgroup2 groups "$1" && cd "$1" && for _ in $(seq 100); do '
         '[ -d "$2" ] || exit 0; find "$2" -depth -type d -exec rmdir {} + 2>/dev/null; sleep 0.1; done',
         "sh", folder, name], capture_output=True)


def _first_process(parent):
    """The child of unshare(1)."""
    listed = subprocess.run(
        ["pgrep", "--parent", str(parent)], capture_output=True, text=True, check=True).stdout
    return int(listed.split()[0])


@contextlib.asynccontextmanager
async def service_machine(folder, *programs):
    """The machine, up, with the libraries of more programs."""
    programs = ("/usr/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/systemd-analyze")
    if os.geteuid() != 0 or not all(map(os.path.exists, programs)):
        unavailable("A machine with systemd takes root and the package systemd.")
    root, log, name = folder / "root", folder / "log", f"ambit-{os.getpid()}-{os.urandom(3).hex()}"
    root.mkdir()
    with open(log, "wb") as output:
        process = await asyncio.create_subprocess_exec(
            # It must not outlive us, however we end.
            "setpriv", "--pdeathsig", "KILL",
            "unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--fork", "--kill-child",
            BOOT, root, name, AMBIT, *_folders(AMBIT, *programs), stdin=asyncio.subprocess.DEVNULL, stdout=output,
            stderr=output)
    try:
        while "made\n" not in log.read_text(errors="replace"):
            if process.returncode is not None:
                # Also where all can be had: this is the kernel's and the container's to allow.
                pytest.skip(f"No machine can be made in namespaces here: {log.read_text(errors='replace')}")
            await asyncio.sleep(0.02)
        machine = Machine(_first_process(process.pid), log)
        await machine.until("running", "systemctl", "is-system-running")
        yield machine
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await asyncio.to_thread(_remove_group, name, root)
