"""Hosts on a network of their own: network namespaces on one Ethernet, made for a test and gone
with it. Needs root."""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import subprocess

import limits
from ambit_cli import Failed
from debian_programs import unavailable
from radios import AMBIT, end

_numbers = itertools.count()


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Host:
    """A network namespace with one interface, eth0, and the port of the switch at its other end."""

    def __init__(self, namespace, address, port):
        self.namespace, self.address, self.port = namespace, address, port

    def ip(self, *arguments):
        """What ip(8) tells of the host's network, or does there."""
        output = _run("ip", "-json", "-n", self.namespace, *arguments)
        return json.loads(output) if output.strip() else []

    def run(self, *command):
        """What a program writes that runs on the host to its end."""
        return _run("ip", "netns", "exec", self.namespace, *command)

    def plug(self, is_in):
        """Plugs the host's cable in or out."""
        switch, name = self.port
        _run("ip", "-n", switch, "link", "set", name, "up" if is_in else "down")

    async def _start(self, *command, stdin=None):
        return await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", self.namespace, "setpriv", "--pdeathsig", "KILL", *command,
            stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)

    async def ambit(self, *arguments, timeout=20):
        """Runs `ambit` to its end and gives the objects it wrote."""
        process = await self._start(AMBIT, *arguments, "--json", "--timeout", str(timeout))
        try:
            output, errors = await asyncio.wait_for(process.communicate(), timeout + 20)
        finally:
            await end(process)
        if process.returncode != 0:
            raise Failed(process.returncode, errors.decode().strip())
        return [json.loads(line) for line in output.splitlines()]

    async def types(self):
        """The types of services that `ambit` finds. On a busy machine the answer may take longer than two seconds."""
        for _ in range(10):
            if found := await self.ambit("browse", "--types", timeout=2):
                break
        return [event["type"] for event in found]

    @contextlib.asynccontextmanager
    async def running(self, *command):
        """A program that goes on and writes objects: an async function that gives the next one."""
        process = await self._start(*command)

        async def next_object():
            line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
            if not line:
                raise Failed(await process.wait(), (await process.stderr.read()).decode())
            return json.loads(line)

        try:
            yield next_object
        finally:
            await end(process)

    def ambit_running(self, *arguments):
        return self.running(AMBIT, *arguments, "--json")


async def next_named(next_object, name, event=None, **members):
    """The next object of this name, of this event if one is given, that has these members."""
    wanted = {"name": name, **({"event": event} if event else {}), **members}.items()
    while not wanted <= (found := await next_object()).items():
        pass
    return found


@contextlib.asynccontextmanager
async def network(count, has_ipv4=True):
    """So many hosts on one Ethernet, with IPv6 addresses and, unless told otherwise, IPv4 ones."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        unavailable("Network namespaces need root and the command ip.")
    # Not one that a run which was killed has left.
    name = f"ambit{os.getpid()}-{os.urandom(3).hex()}-{next(_numbers)}"
    names = [f"{name}-{number}" for number in range(count)]
    switch = f"{name}-s"
    try:
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        _run("ip", "-n", switch, "link", "set", "br0", "up")
        hosts = []
        for number, namespace in enumerate(names):
            _run("ip", "netns", "add", namespace)
            _run("ip", "link", "add", "eth0", "netns", namespace, "type", "veth",
                 "peer", "name", f"port{number}", "netns", switch)
            _run("ip", "-n", switch, "link", "set", f"port{number}", "master", "br0", "up")
            address = f"10.213.0.{number + 1}" if has_ipv4 else None
            if has_ipv4:
                _run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", namespace, "link", "set", "lo", "up")
            # What would only be waited for: there is nobody else with these addresses.
            _run("ip", "netns", "exec", namespace, "sysctl", "-q",
                 "net.ipv6.conf.eth0.accept_dad=0")
            _run("ip", "-n", namespace, "link", "set", "eth0", "up")
            # For programs that leave it to the system where the group is.
            _run("ip", "-n", namespace, "route", "add", "224.0.0.0/4", "dev", "eth0")
            hosts.append(Host(namespace, address, (switch, f"port{number}")))
        yield hosts
    finally:
        for namespace in [*names, switch]:
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
