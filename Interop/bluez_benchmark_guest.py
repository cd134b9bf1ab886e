"""One run of a client in the virtual machine, as a line of JSON: `ambit` or bleak, with the number of reads and of
notifications."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time

NAME = "Bumble peer"
READABLE = "0000ab11-5d4e-4f3a-9b1c-0e2d3c4b5a69"
NOTIFYING = "0000ab14-5d4e-4f3a-9b1c-0e2d3c4b5a69"


def processor_time(process="self"):
    """The seconds of all threads of a process, in steps of 10 ms."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ambit(*arguments, commands="", count=1):
    """The values that a command reports, or the sighting for a scan, as times since its start, and its processor time
    between the first and the last one."""
    start = time.monotonic()
    process = subprocess.Popen(
        ["/usr/bin/ambit", *arguments, "--json", "--timeout", "60"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    process.stdin.write(commands)
    process.stdin.close()
    is_scan = arguments[0] == "scan"
    times, used = [], []
    for line in process.stdout:
        if (NAME if is_scan else '"hex"') not in line:
            continue
        times.append(time.monotonic() - start)
        if is_scan:
            process.terminate()
            break
        if len(times) in (1, count):
            used.append(processor_time(process.pid))
    process.stdout.close()
    process.wait()
    return times, used[-1] - used[0] if used else 0


def run_ambit(reads, notifications):
    found, _ = ambit("scan")
    read, _ = ambit("shell", NAME, commands=f"read {READABLE}\n" * reads)
    # The values after those that are measured keep the process for the last look at it.
    heard, used = ambit(
        "subscribe", NAME, NOTIFYING, "--count", str(notifications + 5), count=notifications)
    return {
        "discovery, s": found[0], "first value, s": read[0],
        "reads/s": (len(read) - 1) / (read[-1] - read[0]),
        "notifications/s": (len(heard) - 1) / (heard[-1] - heard[0]),
        "processor µs per notification": used / (notifications - 1) * 1e6,
    }


async def run_bleak(reads, notifications):
    from bleak import BleakClient, BleakScanner

    start = time.monotonic()
    device = await BleakScanner.find_device_by_name(NAME, timeout=30)
    found = time.monotonic()
    async with BleakClient(device) as client:
        await client.read_gatt_char(READABLE)
        first = time.monotonic()
        for _ in range(reads):
            await client.read_gatt_char(READABLE)
        last = time.monotonic()
        heard, done = [], asyncio.Event()

        def value(_, data):
            heard.append(time.monotonic())
            print(json.dumps({"hex": data.hex()}), file=sys.stderr)
            if len(heard) == 1:
                used.append(processor_time())
            if len(heard) >= notifications:
                done.set()

        used = []
        await client.start_notify(NOTIFYING, value)
        await asyncio.wait_for(done.wait(), 60)
        used.append(processor_time())
    return {
        "discovery, s": found - start, "first value, s": first - start,
        "reads/s": reads / (last - first),
        "notifications/s": (len(heard) - 1) / (heard[-1] - heard[0]),
        "processor µs per notification": (used[1] - used[0]) / (notifications - 1) * 1e6,
    }


client, reads, notifications = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if client == "bleak":
    result = asyncio.run(run_bleak(reads, notifications))
else:
    os.environ["AMBIT_RADIO"] = client
    result = run_ambit(reads, notifications)
print(json.dumps(result))
