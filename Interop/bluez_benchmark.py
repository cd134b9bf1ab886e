"""What `Interop/bluez-benchmark` measures: four clients of one device on Bumble's host, one after the other."""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import statistics
import sys
import tempfile

import bluez_fake
import guest_python
from bumble_peers import NOTIFYING, PERIPHERAL_ADDRESS, bumble_peripheral
from kernel.initramfs import DAEMON, OTHER_DAEMON
from linux_controller import attach
from linux_guest import linux_guest
from radios import AMBIT, ambit_radio
from test_bluez import BlueZ

# Where the hub listens, in the machine.
HUB = "/tmp/hub.socket"
TITLES = {"bluez": "ambit", "bleak": "bleak", "hci0": "ambit, alone", HUB: "ambit, hub"}
# Debian 12's bluetoothd is the machine's own; Debian 13's is another program in it.
DAEMONS = {"5.66": DAEMON, "5.82": OTHER_DAEMON}
# More is better for these, and less for all others.
RATES = "reads/s", "notifications/s"
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


async def measure_daemon(guest, radio, version, options):
    """The figures of ambit and bleak over a version of bluetoothd, one after the other, in each round."""
    await guest.run("rm -rf /var/lib/bluetooth/*")
    bluez = BlueZ(guest, DAEMONS[version])
    await bluez.start()
    rounds = {}
    for number in range(options.rounds):
        # The first one may be slower.
        for client in ("bluez", "bleak") if number % 2 == 0 else ("bleak", "bluez"):
            if client in options.clients:
                figures = await measure(guest, radio, client, options)
                rounds.setdefault(client, []).append(figures)
    await bluez.end()
    return {f"{TITLES[client]}, {version}": medians(each) for client, each in rounds.items()}


async def measure_alone(guest, radio, options):
    """The figures of ambit with the controller, and through a hub that has it."""
    results = {}
    await guest.run("hciconfig hci0 down")
    if "hci0" in options.clients:
        rounds = [await measure(guest, radio, "hci0", options) for _ in range(options.rounds)]
        results[TITLES["hci0"]] = medians(rounds)
    if HUB in options.clients:
        async with hub(guest) as process:
            rounds = [await measure(guest, radio, HUB, options, process) for _ in range(options.rounds)]
            results[TITLES[HUB]] = medians(rounds)
    return results


def medians(rounds):
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=200)
    parser.add_argument("--notifications", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=1, help="the figures are medians of them")
    parser.add_argument("--clients", nargs="+", choices=TITLES, default=list(TITLES), help="all by default")
    parser.add_argument("--versions", nargs="+", choices=DAEMONS, default=list(DAEMONS), help="of bluetoothd")
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
            linux_guest(
                radio, pathlib.Path(folder), suite="trixie", megabytes=1536,
                extras=guest_python.files("bluez_benchmark_guest.py")) as guest,
        ):
            await attach(guest)
            await guest.run(ROOM)
            for version in options.versions:
                results |= await measure_daemon(guest, radio, version, options)
            results |= await measure_alone(guest, radio, options)
    show(results)


async def measure_with_fake(options):
    """The figures of clients on this machine, whose bluetoothd is a program of a few lines: their own time."""
    rounds = {}
    for client in ("bluez", "bleak") * options.rounds:
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
                rounds.setdefault(TITLES[client], []).append(json.loads(output.splitlines()[-1]))
    return {title: medians(each) for title, each in rounds.items()}


def show(results):
    """Prints a table with a column for each client, and one for how much better ambit is than the bleak beside it."""
    names = list(dict.fromkeys(name for figures in results.values() for name in figures))
    columns = {}
    for title, figures in results.items():
        columns[title] = {name: f"{value:,.2f}" for name, value in figures.items()}
        ours = results.get(title.replace("bleak", "ambit"))
        if title.startswith("bleak") and ours:
            columns[title.replace("bleak", "ratio")] = {
                name: f"{ours[name] / value if name in RATES else value / ours[name]:.2f}"
                for name, value in figures.items() if value and ours.get(name)}
    print("| | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name in names:
        print(f"| {name} | " + " | ".join(column.get(name, "–") for column in columns.values()) + " |")


asyncio.run(main())
