"""ejabberd with its archive in a PostgreSQL of its own: both are child processes, and their state is removed with them."""

import asyncio
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import limits
from debian_programs import Programs
from radios import end, free_ports
from xmpp_server import EJABBERD_PACKAGES, PASSWORD, Ejabberd, running

PACKAGES = ("postgresql-15",)
# PostgreSQL refuses to run as root.
USER = 65_534
AS_USER = () if os.geteuid() != 0 else (
    "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--pdeathsig", "KILL")
ARCHIVE = """
sql_type: pgsql
sql_server: "127.0.0.1"
sql_port: {port}
sql_database: "archive"
sql_username: "archive"
sql_password: "{password}"
"""


class PostgreSQL:
    """A server with a database `archive` of a user of this name, whose password is PASSWORD."""

    def __init__(self, state):
        self._programs = Programs("postgresql", PACKAGES)
        if AS_USER and subprocess.run((*AS_USER, "test", "-x", self._programs.root)).returncode != 0:
            # The project is in a folder that only root enters.
            place = state.parent / "programs"
            self._programs.root = shutil.copytree(self._programs.root, place, symlinks=True)
        self.state, self.port = state, free_ports(1)[0]
        self.process = None
        self._environment = os.environ | {
            "LD_LIBRARY_PATH": self._programs.libraries, "PGPASSWORD": PASSWORD, "LC_ALL": "C", "TZ": "UTC"}

    def _command(self, name, *arguments):
        return (*AS_USER, self._programs.find(f"usr/lib/postgresql/*/bin/{name}"), *arguments)

    def _run(self, *command, **options):
        done = subprocess.run(
            command, env=self._environment, cwd=self.state, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr

    def _own(self, path):
        if os.geteuid() == 0:
            os.chown(path, USER, USER)

    def make(self):
        """Makes the files."""
        self.state.mkdir()
        self._own(self.state)
        secret = self.state / "password"
        secret.write_text(PASSWORD)
        self._own(secret)
        self._run(*self._command(
            "initdb", "--pgdata", self.state / "data", "--username", "archive", "--pwfile", secret,
            "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-instructions"))

    async def start(self):
        """Starts the server, and returns when the database is there."""
        with open(self.state / "log", "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self._command(
                    "postgres", "-D", self.state / "data", "-p", str(self.port), "-k", self.state, "-h", "127.0.0.1"),
                env=self._environment, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(limits.START):
            while True:
                with contextlib.suppress(AssertionError):
                    self.query("SELECT 1", database="postgres")
                    break
                assert self.process.returncode is None, (self.state / "log").read_text(errors="replace")
                await asyncio.sleep(0.05)
        self.query("CREATE DATABASE archive", database="postgres")

    def query(self, text, database="archive"):
        """Runs statements; lines of COPY may follow the first."""
        self._run(
            *self._command(
                "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U",
                "archive", "-d", database), input=text)

    async def stop(self):
        if self.process:
            await end(self.process)


class EjabberdOnPostgreSQL(Ejabberd):
    """ejabberd with its archive there."""

    packages = (*EJABBERD_PACKAGES, "erlang-p1-pgsql")

    def __init__(self, state, database, makes_tables=True, unacknowledged_max=None, **options):
        """`unacknowledged_max`: the stanzas without an acknowledgement that end a session; ejabberd's own if None."""
        super().__init__(state, **options)
        path = state / "ejabberd.yml"
        lines = [
            line for line in path.read_text().splitlines()
            if not line.startswith(("sql_type:", "sql_database:"))]
        if unacknowledged_max:
            lines = [
                line.replace("mod_stream_mgmt: {", f"mod_stream_mgmt: {{max_ack_queue: {unacknowledged_max}, ")
                for line in lines]
        path.write_text("\n".join(lines) + ARCHIVE.format(port=database.port, password=PASSWORD))
        if makes_tables:
            database.query(self.programs.find("usr/share/ejabberd/sql/pg.sql").read_text())


@contextlib.asynccontextmanager
async def postgresql(is_in_memory=False):
    """A database while it runs, on the disk or in memory."""
    # Folders of tests are for one user, and the database has another.
    place = pathlib.Path(tempfile.mkdtemp(
        prefix="ambit-postgresql-", dir="/dev/shm" if is_in_memory else None))
    place.chmod(0o755)
    database = PostgreSQL(place / "state")
    try:
        database.make()
        await database.start()
        yield database
    finally:
        await database.stop()
        shutil.rmtree(place, ignore_errors=True)


@contextlib.asynccontextmanager
async def ejabberd_on_postgresql(folder, *names, is_in_memory=False, **options):
    """A server and its database while they run, with these accounts."""
    async with postgresql(is_in_memory) as database:
        server = EjabberdOnPostgreSQL(folder / "ejabberd", database, **options)
        async with running(server, *names):
            yield server, database
