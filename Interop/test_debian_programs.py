"""What the tests run of Debian is the same on every machine, whatever is installed there."""

import pathlib
import subprocess

import pytest
from _pytest.outcomes import Failed

from debian_programs import AVAHI, DNS_SD, Programs

# Of the C library, which the programs have from the machine they run on.
LIBC = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2",
    "libutil.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# What is ours instead.
OURS = {"libdns_sd.so.1"}


def needed(path):
    """The names of the libraries that a program or library is linked with."""
    written = subprocess.run(
        ["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return {line.split("[")[1].rstrip("]") for line in written.splitlines() if "(NEEDED)" in line}


@pytest.mark.parametrize(("name", "packages", "commands"), [
    ("avahi", AVAHI, ("avahi-daemon", "avahi-autoipd", "avahi-browse", "dbus-daemon")),
    ("dns_sd-programs", DNS_SD, ("murmurd", "pike8.0", "asebaswitch")),
])
def test_a_program_comes_with_every_library_it_needs(name, packages, commands):
    programs = Programs(name, packages)
    folders = [pathlib.Path(folder) for folder in programs.libraries.split(":")]
    folders.append(programs.root / "usr/lib")
    left = [pathlib.Path(programs.command(command)[2]) for command in commands]
    seen, missing = set(), set()
    while left:
        for library in needed(left.pop()) - seen - LIBC - OURS:
            seen.add(library)
            found = next((f / library for f in folders if (f / library).exists()), None)
            missing.add(library) if found is None else left.append(found)
    assert len(seen) > 5 and not missing


def test_a_program_that_is_missing_is_one_sentence():
    with pytest.raises(Failed, match="no-such-program is not in the packages avahi-daemon"):
        Programs("avahi", AVAHI).command("no-such-program")
