"""Builds what the virtual machine boots into: Debian's programs, `ambit`, and nothing else.

An archive in cpio's "newc" format, which the kernel unpacks into memory; written here because then
nobody needs to be root.
"""

import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
DAEMON = "/usr/libexec/bluetooth/bluetoothd"
OTHER = "/opt/other"
OTHER_DAEMON = f"{OTHER}/start"
PROGRAMS = [
    "/usr/bin/btattach", "/usr/bin/bluetoothctl", "/usr/bin/btmgmt", "/usr/bin/btmon",
    "/usr/bin/hciconfig", "/usr/bin/l2test", "/usr/bin/dbus-daemon", "/usr/bin/gatttool",
    DAEMON,
    "/usr/bin/systemctl", "/usr/lib/systemd/systemd",
]
CONFIGURATION = [
    "/usr/share/dbus-1/system.conf", "/etc/dbus-1/system.d/bluetooth.conf",
    "/etc/bluetooth/main.conf",
    *(f"/usr/lib/systemd/system/{name}.target" for name in (
        "basic", "sysinit", "sockets", "paths", "slices", "timers", "multi-user", "shutdown", "umount", "final")),
]
# Pairing needs random numbers of the kernel's generator and its ciphers; the last two let bluetoothd
# compute hashes with those.
MODULES = [
    "virtio_pci", "virtio_console", "virtio_net", "sha512_generic", "jitterentropy_rng", "drbg",
    "cmac", "ecb", "bluetooth", "hci_uart", "algif_hash", "algif_skcipher",
]
IDENTITIES = {"root": 0, "messagebus": 100, "bluetooth": 101, "ann": 1000, "nobody": 65534}
USERS = "".join(f"{name}:x:{number}:{number}::/:/bin/sh\n" for name, number in IDENTITIES.items())
GROUPS = "".join(f"{name}:x:{number}:\n" for name, number in IDENTITIES.items())
LIBRARIES = "/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"


class Archive:
    def __init__(self, file):
        self._file, self._folders, self._count = file, set(), 0

    def add(self, path, content=b"", mode=0o100755, device=(0, 0)):
        """Adds a file, and the folders on the way to it."""
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            if str(parent) != "/" and parent not in self._folders:
                self._folders.add(parent)
                self._entry(str(parent), b"", 0o040755, (0, 0))
        self._entry(path, content, mode, device)

    def close(self):
        self._entry("TRAILER!!!", b"", 0, (0, 0))

    def _entry(self, path, content, mode, device):
        self._count += 1
        name = path.lstrip("/").encode() + b"\0"
        fields = [self._count, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        for part in (header, content):
            self._file.write(part + bytes(-len(part) % 4))


def _find(root, path):
    """A file of the unpacked packages; some have /bin where others have /usr/bin."""
    bare = path.removeprefix("/usr")
    return next(found for found in (root / bare[1:], root / "usr" / bare[1:]) if found.exists())


def libraries(root, program):
    """The files that a program is linked with, by name: Debian's where it has them."""
    folders = ":".join(str(root / folder) for folder in (
        LIBRARIES[1:], "usr" + LIBRARIES, "usr" + LIBRARIES + "/systemd"))
    listed = subprocess.run(
        [_find(root, LOADER), "--library-path", folders, "--list", program],
        capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(\S+) => (/\S+)", listed))
    return {name: pathlib.Path(path) for name, path in found.items() if name != LOADER}


def _modules(root):
    """The modules and those that they need, in the order of loading."""
    files = {path.stem.replace("-", "_"): path for path in root.glob("lib/modules/*/kernel/**/*.ko")}
    ordered = {}

    def add(name):
        content = files[name].read_bytes()
        needed = re.search(rb"\0depends=([^\0]*)\0", content).group(1).decode()
        for other in filter(None, needed.split(",")):
            add(other.replace("-", "_"))
        ordered.setdefault(name, content)

    for name in MODULES:
        add(name)
    return ordered


def _add_daemon(archive, root):
    """Adds the bluetoothd of another release, with its own C library. The loader has the daemon's name, by which the
    kernel lists the process."""
    def add(path, file):
        archive.add(f"{OTHER}/{path}", file.read_bytes())

    program = _find(root, DAEMON)
    add("bluetoothd", _find(root, LOADER))
    add("lib/bluetoothd", program)
    for name, path in libraries(root, program).items():
        add(f"lib/{name}", path)
    command = f'exec {OTHER}/bluetoothd --library-path {OTHER}/lib {OTHER}/lib/bluetoothd "$@"'
    archive.add(OTHER_DAEMON, f"#!/bin/sh\n{command}\n".encode())


def build(root, ambit, output, other=None, extras=None, more_programs=None):
    """Writes the archive; gives the kernel that it goes with. `other` is the root of another release's packages, whose
    bluetoothd is added as OTHER_DAEMON; `extras` are more files, by their paths in the machine, and `more_programs` those
    whose libraries are added, too."""
    with open(output, "wb") as file:
        archive = Archive(file)
        archive.add("/dev/console", mode=0o020600, device=(5, 1))
        archive.add("/init", (HERE / "init").read_bytes())
        archive.add("/service-manager", (HERE / "service-manager").read_bytes())
        archive.add("/etc/passwd", USERS.encode(), 0o100644)
        archive.add("/etc/group", GROUPS.encode(), 0o100644)
        for number, (name, content) in enumerate(_modules(root).items()):
            archive.add(f"/modules/{number:02}-{name}.ko", content)
        archive.add("/bin/busybox", _find(root, "/bin/busybox").read_bytes())
        archive.add(LOADER, _find(root, LOADER).read_bytes())
        for path in CONFIGURATION:
            archive.add(path, _find(root, path).read_bytes(), 0o100644)
        linked = {}
        programs = {path: _find(root, path) for path in PROGRAMS} | {"/usr/bin/ambit": ambit}
        programs |= more_programs or {}
        # The hub is a program beside it, which most tests do without.
        hub = pathlib.Path(f"{ambit}-hub")
        if hub.exists():
            programs["/usr/bin/ambit-hub"] = hub
        for path, program in programs.items():
            archive.add(path, program.read_bytes())
            linked |= libraries(root, program)
        if other:
            _add_daemon(archive, other)
        for name, path in linked.items():
            archive.add(f"{LIBRARIES}/{name}", path.read_bytes())
        for path, file in (extras or {}).items():
            archive.add(path, file.read_bytes())
        archive.close()
    return next(root.glob("boot/vmlinuz-*"))
