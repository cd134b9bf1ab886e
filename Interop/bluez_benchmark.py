"""What `Interop/bluez-benchmark` measures: three clients of one device on Bumble's host, one after the other."""

import argparse
import asyncio
import json
import pathlib
import tempfile

from bumble_peers import NOTIFYING, bumble_peripheral
from kernel import initramfs
from linux_controller import attach
from linux_guest import linux_guest
from radios import ROOT, ambit_radio
from test_bluez import BlueZ

PYTHON = ROOT / ".build/guest-python/root"
BLEAK = ROOT / ".build/guest-bleak"
HERE = pathlib.Path(__file__).parent
# bluetoothd's socket loses values otherwise (docs/bluez.md).
ROOM = "for name in rmem_max rmem_default; do echo 8388608 >/proc/sys/net/core/$name; done"


def extras():
    """The files of Python and bleak, by their paths in the machine."""
    library = PYTHON / "usr/lib/python3.11"
    files = {"/usr/bin/python3.11": PYTHON / "usr/bin/python3.11",
             "/benchmark.py": HERE / "bluez_benchmark_guest.py"}
    for root, prefix in (library, "/usr/lib/python3.11"), (BLEAK, "/bleak"):
        files |= {f"{prefix}/{path.relative_to(root)}": path for path in root.rglob("*")
                  if path.is_file() and path.suffix in (".py", ".so") and "test" not in path.parts}
    programs = [path for path in files.values()
                if path.suffix == ".so" or path.name == "python3.11"]
    for program in programs:
        for name, path in initramfs.libraries(PYTHON, program).items():
            files.setdefault(f"{initramfs.LIBRARIES}/{name}", path)
    return files


async def send(peer, count):
    """Sends values to each subscriber, without a pause."""
    while True:
        await peer.subscribed(NOTIFYING)
        for index in range(count):
            if not peer.device.connections:
                break
            await peer.send(NOTIFYING, b"%06d" % index)
        peer.forget_subscriptions()


async def measure(guest, radio, client, reads, notifications):
    async with bumble_peripheral(radio) as peer:
        sending = asyncio.create_task(send(peer, notifications + 100))
        try:
            user = "root" if client == "hci0" else "nobody"
            command = ("env HOME=/tmp PYTHONPATH=/bleak DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket "
                       "python3.11 /benchmark.py "
                       f"{client} {reads} {notifications} 2>/tmp/errors")
            status, output = await guest.attempt(f"su {user} -s /bin/sh -c '{command}'", 280)
            if status:
                raise SystemExit(output + await guest.run("tail -20 /tmp/errors"))
            return json.loads(output.splitlines()[-1])
        finally:
            sending.cancel()


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=200)
    parser.add_argument("--notifications", type=int, default=1_000)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            ambit_radio("sim:lossless") as radio,
            linux_guest(radio, pathlib.Path(folder), extras=extras()) as guest,
        ):
            await attach(guest)
            await guest.run(ROOM)
            bluez = BlueZ(guest)
            await bluez.start()
            for client in "bluez", "bleak":
                results[client] = await measure(
                    guest, radio, client, options.reads, options.notifications)
            await bluez.end()
            await guest.run("hciconfig hci0 down")
            results["hci0"] = await measure(
                guest, radio, "hci0", options.reads, options.notifications)
    titles = {"bluez": "ambit, bluetoothd", "bleak": "bleak", "hci0": "ambit, alone"}
    print("| | " + " | ".join(titles.values()) + " |\n" + "|---" * (len(titles) + 1) + "|")
    for name in results["bluez"]:
        cells = [f"{results[client][name]:,.2f}" for client in titles]
        print(f"| {name} | " + " | ".join(cells) + " |")


asyncio.run(main())
