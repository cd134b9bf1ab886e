"""Prosody or ejabberd as a child process of a test, with accounts, certificates and an archive of its own."""

import asyncio
import contextlib
import datetime
import ipaddress
import os
import pathlib
import shutil
import socket
import sqlite3
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import limits
from debian_programs import Programs
from radios import end, free_ports

DOMAIN = "chat.example"
PASSWORD = "correct horse"
LAUNCHER = pathlib.Path(__file__).parent / "xmpp/prosody"
PACKAGES = ("prosody", "lua5.4", "lua-dbi-sqlite3")

# Everything that Prosody does by default and the tests don't need stays off: other servers, statistics, files.
CONFIGURATION = """
run_as_root = true
modules_enabled = {{
  "roster"; "saslauth"; "tls"; "disco"; "carbons"; "pep"; "blocklist"; "smacks"; "csi_simple"; "ping"; "mam"; {modules}
}}
modules_disabled = {{ "s2s" }}
authentication = "internal_hashed"
password_hash = "SHA-256"
c2s_require_encryption = true
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ {tls_port} }}
ssl = {{ key = "{state}/server.key"; certificate = "{state}/server.pem" }}
c2s_direct_tls_ssl = {{ key = "{state}/server.key"; certificate = "{state}/server.pem" }}
data_path = "{state}/data"
storage = {{ archive = "sql" }}
sql = {{ driver = "SQLite3"; database = "{state}/archive.sqlite" }}
default_archive_policy = true
archive_expires_after = "never"
log = {{ {{ levels = {{ min = "{log_level}" }}; to = "console" }} }}
{extra}
VirtualHost "{domain}"
{components}
"""

# An upload service with a TLS port of its own. Its address is one of this machine, so that no name is looked up.
UPLOADS = """
Component "upload.{domain}" "http_file_share"
http_host = "127.0.0.1"
http_external_url = "https://127.0.0.1:{file_port}/"
http_file_share_size_limit = {size_limit}
"""
UPLOAD_PORTS = """
http_ports = {{ }}
https_ports = {{ {file_port} }}
https_interfaces = {{ "127.0.0.1" }}
https_ssl = {{ key = "{state}/server.key"; certificate = "{state}/server.pem" }}
"""
# A program that is the upload service.
COMPONENT = """
Component "upload.{domain}"
component_secret = "{password}"
"""
COMPONENT_PORTS = """
component_ports = {{ {file_port} }}
component_interfaces = {{ "127.0.0.1" }}
"""

EJABBERD_LAUNCHER = pathlib.Path(__file__).parent / "xmpp/ejabberd"
EJABBERD_PACKAGES = ("ejabberd", "erlang-p1-sqlite3")
EJABBERD_CONFIGURATION = """
hosts: ["{domain}"]
loglevel: info
certfiles: ["{state}/server.pem", "{state}/server.key"]
auth_password_format: scram
auth_scram_hash: sha256
default_db: mnesia
sql_type: sqlite
sql_database: "{state}/archive.sqlite"
s2s_access: none
listen:
  - port: {file_port}
    ip: "127.0.0.1"
    module: ejabberd_http
    tls: true
    request_handlers: {{/upload: mod_http_upload}}
  - {{port: {port}, ip: "127.0.0.1", module: ejabberd_c2s, starttls_required: true, shaper: none}}
  - {{port: {tls_port}, ip: "127.0.0.1", module: ejabberd_c2s, tls: true, shaper: none}}{listeners}
modules:
  mod_blocking: {{}}
  mod_carboncopy: {{}}
  mod_client_state: {{}}
  mod_disco: {{}}
  mod_http_upload:
    access: all
    put_url: "https://127.0.0.1:{file_port}/upload"
    docroot: "{state}/upload"
    max_size: 1000000
  mod_mam: {{db_type: sql, default: always}}
  mod_offline: {{}}
  mod_ping: {{}}
  mod_privacy: {{}}
  mod_roster: {{}}
  mod_stream_mgmt: {{resume_timeout: 300, resend_on_timeout: if_offline}}
{extra}"""

# A service of rooms with archives, and bookmarks.
ROOMS = f"rooms.{DOMAIN}"
PROSODY_ROOMS = f"""
Component "{ROOMS}" "muc"
  modules_enabled = {{ "muc_mam" }}
  muc_room_default_persistent = true
  muc_log_by_default = true
"""
EJABBERD_ROOMS = f"""  mod_muc:
    host: "{ROOMS}"
    access_create: all
    default_room_options: {{mam: true, persistent: true}}
  mod_caps: {{}}
  mod_pubsub: {{plugins: [flat, pep]}}
"""


class Certificates:
    """An authority, and the certificate that it gave to a server for its domain."""

    def __init__(self, folder, domain=DOMAIN, valid_days=30):
        self.authority = folder / "authority.pem"
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of a test")])

        def certificate(subject, subject_key):
            return (
                x509.CertificateBuilder().subject_name(subject).issuer_name(name)
                .public_key(subject_key.public_key()).serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=60))
                .not_valid_after(now + datetime.timedelta(days=valid_days)))

        authority = certificate(name, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(key, hashes.SHA256())
        self.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
        # For the web server beside it. TLS libraries may accept an address where they were given a domain.
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        own_key = ec.generate_private_key(ec.SECP256R1())
        own = certificate(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, domain)]), own_key).add_extension(
                x509.SubjectAlternativeName([x509.DNSName(domain), address]), critical=False).sign(
                    key, hashes.SHA256())
        (folder / "server.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
        (folder / "server.key").write_bytes(own_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


class Server:
    """A server that can be killed and started again, with the same ports, accounts and archive."""

    # The faults that a client of it meets. A full disk is one of clients that store messages.
    faults = ("cut", "reset", "half-open", "sender", "receiver", "server", "full disk")
    # What its process gets besides this one's environment.
    environment = {}

    def __init__(self, state, certificate_domain=DOMAIN, valid_days=30):
        self.state, self.domain = state, DOMAIN
        self.port, self.tls_port, self.file_port = free_ports(3)
        self.process = None
        state.mkdir(exist_ok=True)
        self.authority = Certificates(state, certificate_domain, valid_days).authority

    @property
    def log(self):
        """What the server has written since it was first started."""
        path = self.state / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    async def start(self):
        """Starts the server, and returns when it listens."""
        with open(self.state / "log", "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, env=os.environ | self.environment, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(limits.START):
            while not self._listens():
                assert self.process.returncode is None, self.log
                await asyncio.sleep(0.02)

    @property
    def endpoints(self):
        """Where clients reach the server, the best place first."""
        return [("127.0.0.1", self.port)]

    async def settled(self):
        """Returns when faults that go on by themselves are over."""

    def _listens(self):
        for port in (self.port, self.tls_port):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) != 0:
                    return False
        return True

    async def kill(self):
        """Ends the server as a crash does."""
        self.process.kill()
        await self.process.wait()

    async def stop(self):
        if self.process:
            await end(self.process)

    def tls(self):
        """A client's context that trusts the server's authority alone."""
        return ssl.create_default_context(cafile=str(self.authority))


class Prosody(Server):
    """Prosody. `uploads` is "service" for one of its own, "component" for a program that is the service, `more` is another
    component. `programs` are those of another version, with the names of more modules."""

    def __init__(
            self, state, extra="", more="", log_level="info", uploads=None, programs=None, modules=(), **options):
        super().__init__(state, **options)
        ports, components = {
            None: ("", ""), "service": (UPLOAD_PORTS, UPLOADS), "component": (COMPONENT_PORTS, COMPONENT),
        }[uploads]
        values = {
            "state": state, "domain": DOMAIN, "file_port": self.file_port, "password": PASSWORD,
            "size_limit": 1_000_000}
        self._root = (programs or Programs("prosody", PACKAGES)).root
        (state / "prosody.cfg.lua").write_text(CONFIGURATION.format(
            state=state, port=self.port, tls_port=self.tls_port, domain=DOMAIN,
            modules="".join(f'"{name}"; ' for name in modules),
            extra=extra + ports.format(**values), components=components.format(**values) + more,
            log_level=log_level))

    @property
    def command(self):
        return LAUNCHER, self._root, self.state, "prosody", "-F"

    async def register(self, *names):
        """Makes accounts, whose password is PASSWORD."""
        for name in names:
            process = await asyncio.create_subprocess_exec(
                LAUNCHER, self._root, self.state, "prosodyctl", "register", name, self.domain, PASSWORD,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
            output, _ = await process.communicate()
            assert process.returncode == 0, output.decode()


class Ejabberd(Server):
    packages = EJABBERD_PACKAGES

    def __init__(self, state, extra="", listeners="", programs=None, **options):
        super().__init__(state, **options)
        # The launcher finds modules by the names of their folders.
        folder = "ejabberd" if self.packages == EJABBERD_PACKAGES else "postgresql-for-ejabberd"
        self.programs = programs or Programs(folder, self.packages)
        self._root, self._names = self.programs.root, ()
        (state / "ejabberd.yml").write_text(EJABBERD_CONFIGURATION.format(
            state=state, port=self.port, tls_port=self.tls_port, file_port=self.file_port, domain=DOMAIN,
            extra=extra, listeners=listeners))
        # The archive that it makes by itself gets slower with each message.
        with contextlib.closing(sqlite3.connect(state / "archive.sqlite")) as archive:
            # Without waiting for the disk after each of its tables.
            archive.execute("PRAGMA synchronous = OFF")
            archive.executescript(self.programs.find("usr/share/ejabberd/sql/lite.sql").read_text())

    @property
    def command(self):
        return EJABBERD_LAUNCHER, self._root, self.state, self.domain, PASSWORD, *self._names

    async def register(self, *names):
        """Makes accounts at the next start, whose password is PASSWORD."""
        self._names = names

    async def start(self):
        """Starts the server, and returns when it listens and has its accounts, which it makes after that."""
        (self.state / "registered").unlink(missing_ok=True)
        await super().start()

    def _listens(self):
        return (self.state / "registered").exists() and super()._listens()


@contextlib.asynccontextmanager
async def running(server, *names):
    """A server with these accounts while it runs. Its state is removed with it."""
    try:
        await server.register(*names)
        await server.start()
        yield server
    finally:
        # Its state is removed: an orderly end of ejabberd, which takes a second, has no use.
        if server.process and server.process.returncode is None:
            await server.kill()
        shutil.rmtree(server.state, ignore_errors=True)


def prosody(state, *names, **options):
    return running(Prosody(state, **options), *names)


def ejabberd(state, *names, **options):
    return running(Ejabberd(state, **options), *names)
