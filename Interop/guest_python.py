"""Debian's Python with bleak, for programs in the virtual machine."""

import compileall
import pathlib
import py_compile
import re
import shutil
import subprocess
import sys

from debian_programs import unavailable
from kernel import initramfs
from radios import ROOT

VERSION = "3.11"
COMMAND = ("env HOME=/tmp PYTHONPATH=/bleak DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket "
           f"python{VERSION}")
HERE = pathlib.Path(__file__).parent
_PYTHON = ROOT / ".build/guest-python"
_BLEAK = ROOT / ".build/guest-bleak"
# What bleak doesn't import.
_UNUSED = re.compile(
    rf"/(python{VERSION}|guest-bleak)/(.*/)?"
    "(test|tests|idlelib|lib2to3|distutils|ensurepip|tkinter|unittest|pydoc_data|config-.*)/")


def files(*programs):
    """The files of Python, of bleak, and of programs in this folder, by their paths in the machine. They are fetched
    once."""
    _fetch()
    root = _PYTHON / "root"
    library = root / f"usr/lib/python{VERSION}"
    found = {f"/usr/bin/python{VERSION}": root / f"usr/bin/python{VERSION}"}
    found |= {f"/{program}": HERE / program for program in programs}
    for folder, prefix in (library, f"/usr/lib/python{VERSION}"), (_BLEAK, "/bleak"):
        found |= {f"{prefix}/{path.relative_to(folder)}": path for path in folder.rglob("*")
                  if path.suffix in (".py", ".pyc", ".so") and not _UNUSED.search(str(path))}
    for program in [path for path in found.values()
                    if path.suffix == ".so" or path.name == f"python{VERSION}"]:
        for name, path in initramfs.libraries(root, program).items():
            found.setdefault(f"{initramfs.LIBRARIES}/{name}", path)
    return found


def bleak():
    """The folder with bleak and what it imports, which is fetched once."""
    _fetch()
    return _BLEAK


def _fetch():
    _run(HERE / "debian/fetch", _PYTHON, f"python{VERSION}")
    complete = _BLEAK / "complete"
    if complete.exists():
        return
    shutil.rmtree(_BLEAK, ignore_errors=True)
    _run(sys.executable, "-m", "pip", "install", "-q", "--target", _BLEAK, "--python-version", VERSION,
         "--only-binary", ":all:", "bleak==3.1.0")
    if sys.version_info[:2] == (3, 11):
        # The emulated processor takes ten seconds for it, in each program.
        for folder in _PYTHON / f"root/usr/lib/python{VERSION}", _BLEAK:
            compileall.compile_dir(
                folder, rx=_UNUSED, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    complete.touch()


def _run(*command):
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode != 0:
        unavailable(ended.stderr.strip())
