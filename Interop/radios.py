"""Three radios that hosts can share: Ambit's own, Google's rootcanal and Bumble's.

Each is an async context manager that yields `host:port`; every connection to it is one more
controller on the same air.
"""

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import random
import socket
import stat

import limits

ROOT = pathlib.Path(__file__).resolve().parent.parent
AMBIT = pathlib.Path(os.environ.get("AMBIT", ROOT / ".build/release/ambit"))


async def end(process):
    """Ends a process that we started, gently first."""
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 20)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()


class Port(int):
    """The number of a port that is kept from programs that ask the system for any, and from others of these tests, for as
    long as this object is used: a socket has it that does not listen. A server may have it, too (SO_REUSEADDR)."""

    def __new__(cls, number):
        holder = socket.socket()
        try:
            # Without the option, this fails where anybody has the port, even one who only keeps it.
            holder.bind(("", number))
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            holder.close()
            raise
        port = super().__new__(cls, number)
        port._holder = holder
        return port

    def __del__(self):
        self._holder.close()


def free_ports(count):
    """Ports that no program uses, and that none gets by chance while they are kept. They are not of those that the system
    gives to connections by itself (ip_local_port_range)."""
    ports = []
    while len(ports) < count:
        with contextlib.suppress(OSError):
            ports.append(Port(10_000 + (_random_port + next(_port_numbers)) % 20_000))
    return ports


_random_port, _port_numbers = random.randrange(20_000), itertools.count()


async def _listens(port, process, seconds=limits.EVENT):
    for _ in range(int(seconds * 50)):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            assert process.returncode is None, "the radio stopped before it listened"
            await asyncio.sleep(0.02)
    raise TimeoutError(f"nothing listens on port {port}")


@contextlib.asynccontextmanager
async def ambit_radio(air="sim:empty"):
    """The simulated space of `ambit radio serve`: those who connect and, unless it is empty, the
    ready-made devices."""
    process = await asyncio.create_subprocess_exec(
        AMBIT, "radio", "serve", "tcp:127.0.0.1:0", "--json",
        "--radio", air,
        stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        yield json.loads(line)["radio"].removeprefix("tcp:")
    finally:
        await end(process)


@contextlib.asynccontextmanager
async def rootcanal_radio():
    """Google's controller emulator, as its PyPI package carries it."""
    import rootcanal.binaries

    binary = pathlib.Path(rootcanal.binaries.get_package_binary_resource_path("rootcanal"))
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    hci, link, link_ble, test = free_ports(4)
    process = await asyncio.create_subprocess_exec(
        binary,
        "-configuration", f"tcp_server {{ tcp_port: {hci} configuration {{ strict: false }} }}",
        "-link_port", str(link), "-link_ble_port", str(link_ble), "-test_port", str(test),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
    try:
        await _listens(hci, process)
        yield f"127.0.0.1:{hci}"
    finally:
        await end(process)


@contextlib.asynccontextmanager
async def bumble_radio():
    """Bumble's controllers on one local link, one per accepted connection."""
    from bumble.controller import Controller
    from bumble.link import LocalLink
    from bumble.transport.common import StreamPacketSource

    link = LocalLink()
    count = 0

    class Writer:
        def __init__(self, transport):
            self.transport = transport

        def on_packet(self, packet):
            self.transport.write(packet)

    class Connection(asyncio.Protocol):
        def connection_made(self, transport):
            nonlocal count
            count += 1
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.source = StreamPacketSource()
            self.controller = Controller(
                f"C{count}", host_source=self.source, host_sink=Writer(transport), link=link,
                public_address=f"F0:F1:F2:00:00:{count:02X}")

        def data_received(self, data):
            self.source.data_received(data)

        def connection_lost(self, _):
            link.controllers.discard(self.controller)

    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


RADIOS = {"ambit": ambit_radio, "rootcanal": rootcanal_radio, "bumble": bumble_radio}
