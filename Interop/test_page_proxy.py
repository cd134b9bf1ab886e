"""The page behind nginx, with the configuration that the documentation recommends."""

import asyncio
import json
import os
import re
import ssl
import subprocess

import pytest

import debian_programs
import limits
from radios import AMBIT, ROOT, end

RECIPE = ROOT / "Sources/Binding/BindingServer/BindingServer.docc/BehindAProxy.md"
HOST = "ambit.example"
FIELDS = {"Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def page(tmp_path):
    """A page behind a proxy: the address that it prints, and its port."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "AMBIT_HUB": "off"}
    process = await asyncio.create_subprocess_exec(
        AMBIT, "page", "--port", "0", "--no-network", "--radio", "sim", "--json",
        "--trusted-proxy", "127.0.0.1", "--public-address", f"https://{HOST}/",
        stdout=asyncio.subprocess.PIPE, env=environment)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        address = json.loads(line)["address"]
        # The port that the system has chosen.
        access = (tmp_path / "ambit/page-access").read_text()
        yield address, int(re.search(r"^server \d+ \d+ (\d+) ", access, re.MULTILINE)[1])
    finally:
        await end(process)


class Body:
    """The lines of a body, in chunks (RFC 9112, §7.1) or as it is."""

    def __init__(self, reader, is_chunked):
        self._reader, self._is_chunked, self._bytes = reader, is_chunked, b""

    async def line(self):
        while b"\n" not in self._bytes:
            if not self._is_chunked:
                part = await self._reader.read(65_536)
            elif size := int(await self._reader.readline(), 16):
                part = await self._reader.readexactly(size)
                await self._reader.readline()
            else:
                part = b""
            assert part, "the stream has ended"
            self._bytes += part
        line, _, self._bytes = self._bytes.partition(b"\n")
        return line


class Proxy:
    """nginx at a UNIX socket in a folder of its own, with the server block of the documentation."""

    def __init__(self, folder, port, without=()):
        self.socket = str(folder / "nginx.socket")
        certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
             "-out", certificate, "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"],
            check=True, capture_output=True)
        server = re.search(r"```nginx\n(.*?)```", RECIPE.read_text(), re.DOTALL)[1]
        for old, new in [
            ("443 ssl", f"unix:{self.socket} ssl"),
            (f"/etc/ssl/certs/{HOST}.pem", certificate),
            (f"/etc/ssl/private/{HOST}.key", key),
            ("127.0.0.1:8080", f"127.0.0.1:{port}"),
        ]:
            assert old in server
            server = server.replace(old, new)
        for line in without:
            assert line in server
            server = server.replace(line, "")
        paths = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.configuration = folder / "nginx.conf"
        self.configuration.write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{paths}{server}}}\n")
        self.folder = folder
        self.trust = ssl.create_default_context(cafile=certificate)

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *debian_programs.nginx().command(
                "nginx", "-e", "stderr", "-p", str(self.folder), "-c", str(self.configuration)),
            stderr=asyncio.subprocess.DEVNULL)
        async with asyncio.timeout(limits.EVENT):
            while not os.path.exists(self.socket):
                assert self.process.returncode is None, "nginx refuses its configuration"
                await asyncio.sleep(0.05)
        return self

    async def __aexit__(self, *_):
        await end(self.process)

    async def request(self, method, target, fields=(), body=b""):
        """Sends a request; the status, the fields, and the body."""
        reader, writer = await asyncio.open_unix_connection(
            self.socket, ssl=self.trust, server_hostname=HOST)
        lines = [f"{method} {target} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in dict(fields).items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        async with asyncio.timeout(limits.EVENT):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        found = dict(line.split(": ", 1) for line in head[1:] if line)
        body = Body(reader, found.get("Transfer-Encoding") == "chunked")
        return int(head[0].split()[1]), found, body, writer


async def event(body, kind):
    """The next event of a kind in a stream."""
    async with asyncio.timeout(limits.EVENT):
        while await body.line() != f"event: {kind}".encode():
            pass
        while not (line := await body.line()).startswith(b"data: "):
            pass
    return json.loads(line[len(b"data: "):])


# Without these lines nginx speaks HTTP/1.0 with servers.
OLD = ("proxy_http_version 1.1;", 'proxy_set_header Connection "";')


# And without these, it names itself as the host and reports no address.
DEFAULT = (*OLD, "proxy_set_header X-Forwarded-Host $http_host;",
           "proxy_set_header X-Forwarded-Proto $scheme;")


@pytest.mark.parametrize(
    "without", [(), OLD, DEFAULT], ids=["as documented", "HTTP/1.0", "nginx's defaults"])
async def test_page(page, tmp_path, without):
    address, port = page
    assert address.startswith(f"https://{HOST}/?token=")
    target = address.removeprefix(f"https://{HOST}")
    async with Proxy(tmp_path, port, without) as proxy:
        assert (await proxy.request("GET", "/"))[0] == 401
        status, fields, _, _ = await proxy.request("GET", target)
        assert (status, fields["Location"]) == (303, "/")
        cookie, *attributes = fields["Set-Cookie"].split("; ")
        assert ("Secure" in attributes) == (without != DEFAULT)
        own = {**FIELDS, "Cookie": cookie}
        assert (await proxy.request("GET", "/", own))[0] == 200
        status, fields, stream, writer = await proxy.request("GET", "/live?tab=t", own)
        assert (status, fields["Content-Type"]) == (200, "text/event-stream")
        snapshot = await event(stream, "snap")
        message = {
            "tab": "t", "epoch": snapshot["epoch"], "seq": snapshot["a"] + 1,
            "ops": [["set", "kind", "beacon"]],
        }
        body = json.dumps(message).encode()
        foreign = {**own, "Origin": "https://evil.example"}
        assert (await proxy.request("POST", "/live", foreign, body))[0] == 403
        assert (await proxy.request("POST", "/live", own, body))[0] == 204
        # The stream isn't buffered on its way. A patch that a device causes acknowledges nothing.
        while (await event(stream, "patch")).get("a") != message["seq"]:
            pass
        writer.close()
