"""Programs of Debian as peers, unpacked into a folder of the build and not installed: their daemons
would start by themselves."""

import os
import pathlib
import subprocess

import pytest

from radios import ROOT

AVAHI = ("avahi-daemon", "avahi-autoipd", "avahi-utils", "dbus-daemon")


class Programs:
    """What was unpacked from packages and what it depends on."""

    def __init__(self, name, packages):
        folder = ROOT / ".build" / name
        fetched = subprocess.run(
            [pathlib.Path(__file__).parent / "debian/fetch", folder, *packages],
            capture_output=True, text=True)
        if fetched.returncode != 0:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(fetched.stderr)
        self.root = folder / "root"

    def file(self, path):
        """A file by the path it would have if it were installed: etc/avahi/avahi-daemon.conf."""
        return self.root / path

    def command(self, name, *arguments):
        """A program with its arguments, to be run in a network namespace or anywhere."""
        program = next(
            self.root / folder / name for folder in ("usr/sbin", "usr/bin", "sbin", "bin")
            if (self.root / folder / name).exists())
        libraries = ":".join(str(folder) for folder in self.root.glob("**/lib/*-linux-gnu"))
        return ("env", f"LD_LIBRARY_PATH={libraries}", str(program), *arguments)


def avahi():
    return Programs("avahi", AVAHI)
