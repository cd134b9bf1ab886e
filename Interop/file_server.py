"""A web server of files whose answers a test decides, and an upload service that gives places at it."""

import asyncio
import contextlib
import dataclasses
import ssl

import slixmpp

import limits
from xmpp_server import PASSWORD


@dataclasses.dataclass
class Request:
    """A request, with its body if it has come as a whole."""

    method: str
    target: str
    headers: dict
    body: bytes = b""

    @property
    def first(self):
        """The first byte that is requested."""
        return int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))


class FileServer:
    """HTTPS at an address of this machine. `answers` are given one after the other, the last one again and again: bytes,
    or a function of request, reader and writer."""

    def __init__(self, server):
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(server.state / "server.pem", server.state / "server.key")
        self.requests, self.answers, self.port = [], [], None
        self._listener, self._changed, self._handlers = None, asyncio.Event(), set()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    async def __aenter__(self):
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._listener.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._handlers.add(asyncio.current_task())
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = dict(line.split(": ", 1) for line in head[1:] if line)
                request = Request(method, target, {name.lower(): value for name, value in fields.items()})
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                self.requests.append(request)
                self._changed.set()
                if callable(answer):
                    await answer(request, reader, writer)
                else:
                    await take_body(request, reader)
                    writer.write(answer)
                    await writer.drain()
        finally:
            writer.close()
            self._handlers.discard(asyncio.current_task())

    async def until(self, count):
        """Waits until so many requests have come."""
        async with asyncio.timeout(limits.EVENT):
            while len(self.requests) < count:
                self._changed.clear()
                await self._changed.wait()


async def take_body(request, reader):
    """Reads the body of a request."""
    request.body = await reader.readexactly(int(request.headers.get("content-length", "0")))


def response(status, body=b"", **fields):
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} Status"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    if "content_length" not in fields:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class UploadService(slixmpp.ComponentXMPP):
    """A service that gives each file another place at a web server."""

    def __init__(self, server, files, byte_count_max=None):
        super().__init__(f"upload.{server.domain}", PASSWORD, "127.0.0.1", server.file_port)
        self._files, self.slot_count, self.ready = files, 0, asyncio.Event()
        self.is_silent = False
        self.register_plugin("xep_0030")
        self.register_plugin("xep_0363", {"handle_upload_requests": True})
        self.plugin["xep_0030"].add_identity(category="store", itype="file", name="Files")
        self.plugin["xep_0030"].add_feature("urn:xmpp:http:upload:0")
        self.add_event_handler("session_start", lambda _: self.ready.set())
        self.add_event_handler("http_upload_request", self._give)

    def _give(self, iq):
        if self.is_silent:
            return
        self.slot_count += 1
        reply = iq.reply()
        url = f"{self._files.url}/{self.slot_count}/file"
        reply["http_upload_slot"]["put"]["url"] = url
        reply["http_upload_slot"]["get"]["url"] = url
        reply.send()


@contextlib.asynccontextmanager
async def upload_service(server, files):
    """The upload service of a server, while it is connected."""
    service = UploadService(server, files)
    service.connect()
    try:
        async with asyncio.timeout(limits.EVENT):
            await service.ready.wait()
        yield service
    finally:
        await service.disconnect()
        if filters := service._run_out_filters:
            filters.cancel()
            await asyncio.gather(filters, return_exceptions=True)
