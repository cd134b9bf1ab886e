"""What `Interop/bluez-benchmark` measures: four clients of one device on Bumble's host, one after the other."""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import sys
import tempfile

import bluez_fake
import guest_python
from bumble_peers import NOTIFYING, PERIPHERAL_ADDRESS, bumble_peripheral
from linux_controller import attach
from linux_guest import linux_guest
from radios import AMBIT, ambit_radio
from test_bluez import BlueZ

# Where the hub listens, in the machine.
HUB = "/tmp/hub.socket"
TITLES = {
    "bluez": "ambit, bluetoothd", "bleak": "bleak", "hci0": "ambit, alone", HUB: "ambit, hub"}
# bluetoothd's socket loses values otherwise (docs/bluez.md).
ROOM = "for name in rmem_max rmem_default; do echo 8388608 >/proc/sys/net/core/$name; done"


async def send(peer, count):
    """Sends values to each subscriber, without a pause."""
    while True:
        await peer.subscribed(NOTIFYING)
        for index in range(count):
            if not peer.device.connections:
                break
            await peer.send(NOTIFYING, b"%06d" % index)
        peer.forget_subscriptions()


async def measure(guest, radio, client, options, hub_process=0):
    """The figures of a client: `bluez`, `bleak`, `hci0`, or the path of a hub's socket."""
    is_unprivileged = client in ("bluez", "bleak")
    is_traced = options.trace and is_unprivileged
    if is_unprivileged:
        # All find bluetoothd as after its installation, without the services of the device.
        await guest.attempt(f"bluetoothctl remove {PERIPHERAL_ADDRESS}")
    async with bumble_peripheral(radio) as peer:
        sending = asyncio.create_task(send(peer, options.notifications + 100))
        try:
            user = "nobody" if is_unprivileged else "root"
            arguments = f"{client} {options.reads} {options.notifications} {hub_process}"
            command = f"{guest_python.COMMAND} /bluez_benchmark_guest.py {arguments} 2>/tmp/errors"
            if is_traced:
                await guest.run(f"{guest_python.COMMAND} /bluez_benchmark_guest.py bleak trace "
                                ">/tmp/trace 2>/tmp/timeline & echo $! >/tmp/tracer")
            status, output = await guest.attempt(f"su {user} -s /bin/sh -c '{command}'", 400)
            if status:
                raise SystemExit(output + await guest.run("tail -20 /tmp/errors"))
            figures = json.loads(output.splitlines()[-1])
            if is_traced:
                await guest.run("kill $(cat /tmp/tracer)")
                line = (await guest.until("cat /tmp/trace", r"(?m)^(\{.*)$"))[1]
                figures |= json.loads(line)
                # Up to the second reply to a read.
                timeline = await guest.run("sed '/reply to ReadValue/{x;s/$/x/;/xx/q;x}' /tmp/timeline")
                print(f"{client}:\n{timeline}", file=sys.stderr)
            return figures
        finally:
            sending.cancel()


@contextlib.asynccontextmanager
async def hub(guest):
    """`ambit hub`, which has the controller; gives the number of its process."""
    number = (await guest.run(
        f"ambit hub --radio hci0 --no-network --socket {HUB} >/tmp/hub 2>&1 & echo $!")).split()[-1]
    try:
        await guest.until("cat /tmp/hub", "with a radio")
        yield number
    finally:
        await guest.run(f"kill {number}")


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=200)
    parser.add_argument("--notifications", type=int, default=1_000)
    parser.add_argument("--clients", nargs="+", choices=TITLES, default=list(TITLES), help="all by default")
    parser.add_argument(
        "--fake", action="store_true", help="a bluetoothd without a radio, on this machine, for bluez and bleak")
    parser.add_argument("--trace", action="store_true", help="the share of bluetoothd in a read, from the bus")
    options = parser.parse_args()
    if options.fake:
        return show(await measure_with_fake(options))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            ambit_radio("sim:lossless") as radio,
            linux_guest(radio, pathlib.Path(folder), extras=guest_python.files("bluez_benchmark_guest.py")) as guest,
        ):
            await attach(guest)
            await guest.run(ROOM)
            bluez = BlueZ(guest)
            await bluez.start()
            for client in "bluez", "bleak":
                if client in options.clients:
                    results[client] = await measure(guest, radio, client, options)
            await bluez.end()
            await guest.run("hciconfig hci0 down")
            if "hci0" in options.clients:
                results["hci0"] = await measure(guest, radio, "hci0", options)
            if HUB in options.clients:
                async with hub(guest) as process:
                    results[HUB] = await measure(guest, radio, HUB, options, process)
    show(results)


async def measure_with_fake(options):
    """The figures of clients on this machine, whose bluetoothd is a program of a few lines: their own time."""
    results = {}
    for client in "bluez", "bleak":
        if client not in options.clients:
            continue
        with tempfile.TemporaryDirectory() as folder:
            packages = guest_python.bleak()
            async with bluez_fake.bus_with_fake(pathlib.Path(folder), packages) as address:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, pathlib.Path(__file__).with_name("bluez_benchmark_guest.py"), client,
                    str(options.reads), str(options.notifications), "0", stdout=asyncio.subprocess.PIPE,
                    env=os.environ | {
                        "AMBIT": str(AMBIT), "AMBIT_HUB": "off", "PYTHONPATH": str(packages),
                        "DBUS_SYSTEM_BUS_ADDRESS": address, "XDG_STATE_HOME": folder})
                output, _ = await process.communicate()
                results[client] = json.loads(output.splitlines()[-1])
    return results


def show(results):
    titles = {client: TITLES[client] for client in results}
    print("| | " + " | ".join(titles.values()) + " |\n" + "|---" * (len(titles) + 1) + "|")
    names = dict.fromkeys(name for figures in results.values() for name in figures)
    for name in names:
        cells = [f"{results[client][name]:,.2f}" if name in results[client] else "–"
                 for client in titles]
        print(f"| {name} | " + " | ".join(cells) + " |")


asyncio.run(main())
