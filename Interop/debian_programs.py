"""Programs of Debian as peers, unpacked into a folder of the build and not installed: their daemons
would start by themselves."""

import os
import pathlib
import subprocess

import pytest

from radios import ROOT

AVAHI = ("avahi-daemon", "avahi-autoipd", "avahi-utils", "dbus-daemon")
NSS_MDNS = ("libnss-mdns",)
RESOLVED = ("systemd-resolved", "libnss-resolve")
NGINX = ("nginx",)
# Linked with a libdns_sd.so.1.
DNS_SD = ("mumble-server", "pike8.0-dnssd", "aseba")


def unavailable(reason):
    """Ends a test that cannot run here: fails where everything can be had (CI), else skips."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


class Programs:
    """Programs that were unpacked from packages, and everything that they depend on."""

    def __init__(self, name, packages, suite=None):
        self.packages = packages
        self.folder = ROOT / ".build" / name
        self.root = self.folder / "root"
        fetched = subprocess.run(
            [pathlib.Path(__file__).parent / "debian/fetch", "--without-libc",
             *(("--suite", suite) if suite else ()), self.folder, *packages],
            capture_output=True, text=True)
        if fetched.returncode != 0:
            unavailable(fetched.stderr.strip())

    def find(self, pattern):
        """The one file or folder that matches a pattern of paths below the root."""
        found = next(self.root.glob(pattern), None)
        if found is None:
            pytest.fail(
                f"{pattern} is not in the packages {' '.join(self.packages)}, which were unpacked "
                f"into {self.folder}; remove that folder to fetch them again.", pytrace=False)
        return found

    @property
    def libraries(self):
        """The folders of the libraries, as LD_LIBRARY_PATH has them."""
        return ":".join(str(folder) for folder in sorted(self.root.glob("**/lib/*-linux-gnu")))

    def command(self, name, *arguments):
        """A program with its arguments, to be run in a network namespace or anywhere."""
        program = self.find(f"**/*bin/{name}")
        return ("env", f"LD_LIBRARY_PATH={self.libraries}", str(program), *arguments)


def avahi():
    return Programs("avahi", AVAHI)


def nginx():
    return Programs("nginx", NGINX)


def nss_mdns():
    """The module of the C library for names of Multicast DNS, which asks Avahi's daemon of the same host."""
    return Programs("nss-mdns", NSS_MDNS)


def resolved():
    """systemd-resolved, and the module of the C library that asks it."""
    return Programs("resolved", RESOLVED)
