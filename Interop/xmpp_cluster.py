"""Two nodes of ejabberd that are one server, with an archive in PostgreSQL: a node is killed, or the nodes lose each other until
an operator restarts one of them. Nothing of it is left when it ends."""

import asyncio
import contextlib
import secrets
import shutil

from radios import free_ports
from xmpp_faults import Relay
from xmpp_postgresql import EjabberdOnPostgreSQL, postgresql

# Each node listens at an address of its own for the other one, which connects to the address of the node's name: a relay
# between them is the network that fails. All have the same port, so that no daemon of Erlang's is needed to find it.
NAMES = ("ejabberd@127.0.1.1", "ejabberd@127.0.1.2")
INTERFACES = ("127.0.2.1", "127.0.2.2")
# The seconds after which a node gives up another one that is silent, more or less a quarter.
TICK = 4
# Both halves have given each other up by then.
SPLIT = 6


class Node(EjabberdOnPostgreSQL):
    """A node. The first one makes the accounts and the tables; the other one joins it when it is first started. A node that does
    not work together with the other one ends, and its start fails."""

    def __init__(self, state, database, number, port, cookie):
        super().__init__(state, database, makes_tables=number == 0)
        self._number = number
        self.environment = {
            "EJABBERD_NODE": NAMES[number], "EJABBERD_INTERFACE": INTERFACES[number].replace(".", ","),
            "EJABBERD_NODE_PORT": str(port), "EJABBERD_COOKIE": cookie, "EJABBERD_TICK": str(TICK)}

    async def start(self, follows=False):
        """Starts the node. With `follows` the other node's tables replace its own, as an operator decides after a split."""
        self.environment.pop("EJABBERD_START", None)
        if follows:
            self.environment["EJABBERD_START"] = "follow"
        elif self._number > 0 and not (self.state / "mnesia").exists():
            self.environment["EJABBERD_START"] = "join"
        if self._number > 0 or (self.state / "mnesia").exists():
            self.environment["EJABBERD_WITH"] = NAMES[1 - self._number]
        await super().start()

    def take_certificate(self, other):
        """Takes the certificate of another node: clients know one authority."""
        for name in ("server.pem", "server.key"):
            shutil.copy(other.state / name, self.state / name)
        self.authority = other.authority


class Cluster:
    """Both nodes, with what a test of faults needs of a server."""

    faults = ("cut", "reset", "half-open", "sender", "receiver", "node", "netsplit", "full disk")

    def __init__(self, folder, database):
        [port] = free_ports(1)
        cookie = secrets.token_hex(16)
        self.nodes = [
            Node(folder / f"node-{number}", database, number, port, cookie) for number in range(len(NAMES))]
        self.nodes[1].take_certificate(self.nodes[0])
        self.domain, self.authority = self.nodes[0].domain, self.nodes[0].authority
        self._relays = [
            Relay(lambda there=there: [(there, port)], name.split("@")[1], port)
            for name, there in zip(NAMES, INTERFACES)]
        self._mending = None

    @property
    def endpoints(self):
        return [place for node in self.nodes for place in node.endpoints]

    async def start(self, *names):
        for relay in self._relays:
            await relay.start()
        await self.nodes[0].register(*names)
        for node in self.nodes:
            await node.start()

    async def stop(self):
        if self._mending:
            self._mending.cancel()
            await asyncio.gather(self._mending, return_exceptions=True)
        for node in self.nodes:
            await node.stop()
            shutil.rmtree(node.state, ignore_errors=True)
        for relay in self._relays:
            await relay.stop()

    async def settled(self):
        """Returns when both nodes are there, and work together."""
        if self._mending:
            await self._mending
            self._mending = None

    async def lose_node(self, chance):
        """Kills a node. It is started again after a second, while messages are sent."""
        await self.settled()
        node = chance.choice(self.nodes)
        await node.kill()

        async def mend():
            await asyncio.sleep(1)
            await node.start()

        self._mending = asyncio.create_task(mend())

    async def split(self):
        """Separates the nodes without an error on either side. An operator then restarts the second one, which forgets what it
        has stored alone; meanwhile messages are sent."""
        await self.settled()
        for relay in self._relays:
            relay.silence()

        async def mend():
            await asyncio.sleep(SPLIT)
            await self.nodes[1].kill()
            for relay in self._relays:
                relay.mend()
            await self.nodes[1].start(follows=True)

        self._mending = asyncio.create_task(mend())


@contextlib.asynccontextmanager
async def cluster(folder, *names):
    """Both nodes while they run, with these accounts, and a database in memory, where that has room: containers often
    give it 64 MB."""
    folder.mkdir(exist_ok=True)
    has_room = shutil.disk_usage("/dev/shm").free >= 500_000_000
    async with postgresql(is_in_memory=has_room) as database:
        server = Cluster(folder, database)
        try:
            await server.start(*names)
            yield server
        finally:
            await server.stop()
