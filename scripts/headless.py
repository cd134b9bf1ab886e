"""A headless Chromium for scripts that look at pages of this package, and a server for its folder.

Needs Chromium and its driver, and installs them where they are missing (see scripts/setup.sh).
"""
import functools
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fail(message):
    sys.exit(f"{sys.argv[0]}: {message}")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve():
    """Serves the package's folder on a port of the loopback interface, which is returned."""
    handler = functools.partial(QuietHandler, directory=ROOT)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Browser:
    """A session of WebDriver."""

    def __init__(self):
        needed = "set -eu; . scripts/setup.sh; need_packages chromium chromium chromedriver chromium-driver"
        if subprocess.run(["bash", "-c", needed], cwd=ROOT).returncode != 0:
            fail("there is no Chromium with its driver")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.path = ""
        for _ in range(100):
            try:
                self.send("GET", "/status")
                break
            except OSError:
                time.sleep(0.1)
        arguments = ["--headless=new", "--hide-scrollbars", "--disable-gpu", "--window-size=1280,720"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
        answer = self.send("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.path = f"/session/{answer['sessionId']}"

    def send(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.path}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def tools(self, command, **parameters):
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def script(self, body, *arguments):
        return self.send("POST", "/execute/sync", {"script": body, "args": list(arguments)})

    def wait(self, condition):
        for _ in range(300):
            if self.script(f"return Boolean({condition})"):
                return
            time.sleep(0.05)
        fail(f"it never was that {condition}")

    def close(self):
        try:
            self.send("DELETE", "")
        finally:
            self.driver.terminate()
