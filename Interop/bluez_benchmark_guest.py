"""One run of a client in the virtual machine, as a line of JSON: `ambit` or bleak, with the number of reads and of
notifications. Each figure is one of a new process, from its start."""

import asyncio
import contextlib
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

# By its address: a name may mean other devices, for which ambit listens a second.
ADDRESS = "C4:F0:00:00:00:01"
READABLE = "0000ab11-5d4e-4f3a-9b1c-0e2d3c4b5a69"
NOTIFYING = "0000ab14-5d4e-4f3a-9b1c-0e2d3c4b5a69"


def processor_time(process="self"):
    """The seconds of all threads of a process, in steps of 10 ms."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(file, lines):
    """Writes the input of a program, which reads no more while its own lines are not read."""
    # It may have ended before.
    with contextlib.suppress(BrokenPipeError), file:
        file.write(lines)


def run(command, pattern, lines="", begin="", count=1, processes=(), is_endless=False):
    """The lines of a program that have a pattern, as times since the program's start, the processor times between the
    first and the last one, of the program and of the other processes, and the time of the line with which it begins."""
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    sender = threading.Thread(target=send, args=(process.stdin, lines))
    sender.start()
    times, used, begun, last = [], [], None, ""
    for last in process.stdout:
        if begun is None and begin and begin in last:
            begun = time.monotonic() - start
        if pattern not in last:
            continue
        times.append(time.monotonic() - start)
        if is_endless:
            process.terminate()
            break
        if len(times) in (1, count):
            used.append([processor_time(each) for each in (process.pid, *processes)])
    process.stdout.close()
    process.wait()
    sender.join()
    if not times:
        raise SystemExit(f"{command} has ended without {pattern!r}: {last}")
    return times, [last - first for first, last in zip(used[0], used[-1])] if used else [], begun


def commands(client, reads, notifications):
    """A program that finds the device, one that reads and one that subscribes, each with the pattern of its lines, what
    it reads, and the line before it connects; at last a program that ends at once. All are new processes, as of a
    user."""
    # The values after those that are measured keep the process for the last look at it.
    more = str(notifications + 5)
    if client == "bleak":
        bleak = [sys.executable, __file__, "bleak"]
        return (
            ([*bleak, "scan"], ADDRESS, ""), ([*bleak, "read", str(reads)], '"hex"', "", '"address"'),
            ([*bleak, "subscribe", more], '"hex"', ""), ([*bleak, "end"], "loaded", ""))
    ambit = [os.environ.get("AMBIT", "/usr/bin/ambit")]
    options = ["--json", "--timeout", "60"]
    return (
        ([*ambit, "scan", *options], ADDRESS, ""),
        ([*ambit, "shell", ADDRESS, *options, "--verbose"], '"hex"', f"read {READABLE}\n" * reads, "Connecting to"),
        ([*ambit, "subscribe", ADDRESS, NOTIFYING, "--count", more, *options], '"hex"', ""),
        ([*ambit, "--version"], "", ""))


def figures(client, reads, notifications, *processes):
    scan, read, subscribe, end = commands(client, reads, notifications)
    ended, _, _ = run(*end)
    found, _, _ = run(*scan, is_endless=True)
    values, read_used, connecting = run(*read, count=reads)
    heard, used, _ = run(*subscribe, count=notifications, processes=processes)
    heard = heard[:notifications]
    each = [seconds / (notifications - 1) * 1e6 for seconds in used]
    result = {
        "start of a program, s": ended[0], "discovery, s": found[0], "first value, s": values[0],
        "connection to first value, s": values[0] - connecting,
        "reads/s": (len(values) - 1) / (values[-1] - values[0]),
        "processor µs per read": read_used[0] / (reads - 1) * 1e6,
        "notifications/s": (len(heard) - 1) / (heard[-1] - heard[0]),
        "processor µs per notification": each[0],
    }
    return result if not processes else result | {"the hub's processor µs of it": each[1]}


# MARK: bleak

def write(**fields):
    print(json.dumps(fields), flush=True)


def write_value(characteristic, value):
    """The line of a value, with what `ambit --json` writes."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    write(event="value", id=ADDRESS, time=now, service=characteristic.service_uuid,
          characteristic=characteristic.uuid, hex=value.hex())


async def bleak_scan():
    from bleak import BleakScanner

    device = await BleakScanner.find_device_by_address(ADDRESS, timeout=60)
    write(address=device.address)
    return device


async def bleak_read(reads):
    from bleak import BleakClient

    async with BleakClient(await bleak_scan()) as client:
        characteristic = client.services.get_characteristic(READABLE)
        for _ in range(reads):
            write_value(characteristic, await client.read_gatt_char(characteristic))


async def bleak_subscribe(notifications):
    from bleak import BleakClient

    async with BleakClient(await bleak_scan()) as client:
        values, done = 0, asyncio.Event()

        def value(characteristic, data):
            nonlocal values
            write_value(characteristic, data)
            values += 1
            if values == notifications:
                done.set()

        await client.start_notify(NOTIFYING, value)
        await asyncio.wait_for(done.wait(), 60)


async def bleak_end():
    import bleak

    write(loaded=bool(bleak))


async def bleak_trace():
    """Notes each read that the bus delivers, and its reply, until it is ended: how long bluetoothd takes, with the radio
    and the device, and how long the program until its next call. Needs root, and delays both."""
    from dbus_fast import BusType, Message, MessageType
    from dbus_fast.aio import MessageBus

    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    calls, answered, bluetoothd, program = {}, {}, [], []
    members, start = {}, time.monotonic()

    def note(message, now):
        """A line for each call, its reply, and each property that a link depends on."""
        text = ""
        if message.message_type is MessageType.METHOD_CALL:
            text = members[message.sender, message.serial] = f"{message.member} {message.path}"
        elif message.message_type is MessageType.SIGNAL:
            values = message.body[1] if message.member == "PropertiesChanged" else {}
            text = " ".join(name for name in ("Connected", "ServicesResolved", "Discovering") if name in values)
        elif called := members.pop((message.destination, message.reply_serial), None):
            text = f"  reply to {called}"
        if text:
            print(f"{now - start:8.3f} {text}", file=sys.stderr)

    is_monitor = False

    def seen(message):
        if not is_monitor:
            # The reply is the library's, and a monitor that answers calls is disconnected.
            return message.message_type is MessageType.METHOD_CALL
        now = time.monotonic()
        note(message, now)
        if message.message_type is MessageType.METHOD_CALL:
            if message.member == "ReadValue":
                calls[message.sender, message.serial] = now
                if message.sender in answered:
                    program.append(now - answered[message.sender])
        elif begin := calls.pop((message.destination, message.reply_serial), None):
            bluetoothd.append(now - begin)
            answered[message.destination] = now
        return True

    bus.add_message_handler(seen)
    await bus.call(Message(
        destination="org.freedesktop.DBus", path="/org/freedesktop/DBus",
        interface="org.freedesktop.DBus.Monitoring", member="BecomeMonitor", signature="asu", body=[[], 0]))
    is_monitor = True
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    write(**{
        "read in bluetoothd, ms": statistics.median(bluetoothd or [0]) * 1e3,
        "until the next read, ms": statistics.median(program or [0]) * 1e3})


if sys.argv[1] == "bleak" and sys.argv[2].isalpha():
    work = {"scan": bleak_scan, "read": bleak_read, "subscribe": bleak_subscribe, "end": bleak_end, "trace": bleak_trace}
    asyncio.run(work[sys.argv[2]](*(int(each) for each in sys.argv[3:])))
else:
    client, (reads, notifications, hub) = sys.argv[1], (int(each) for each in sys.argv[2:5])
    is_hub = client.startswith("/")
    os.environ["AMBIT_HUB" if is_hub else "AMBIT_RADIO"] = client
    write(**figures(client, reads, notifications, *([hub] if is_hub else [])))
