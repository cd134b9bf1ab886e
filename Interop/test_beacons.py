"""Beacons, ours and those of Bumble's host, on every radio."""

import asyncio
import json

import pytest
from bumble.device import AdvertisingType

import limits
from ambit_cli import Ambit
from bumble_peers import bumble_central, bumble_device
from radios import AMBIT, end

UUID = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
BEACON_ADDRESS = "C4:F0:00:00:00:03"
# Core Location's vector: major 513, minor 258, -70 dBm at one metre.
FRAME = bytes.fromhex("4C000215" + UUID.replace("-", "") + "02010102BA")


async def _advertise(device, frame):
    device.advertising_data = bytes([2, 1, 6, len(frame) + 1, 0xFF]) + frame
    await device.power_on()
    await device.start_advertising(
        advertising_type=AdvertisingType.UNDIRECTED,
        advertising_interval_min=100, advertising_interval_max=100)


async def test_a_beacon_of_bumble_is_ranged(radio):
    async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
        await _advertise(device, FRAME)
        async with Ambit(radio).running("beacons", f"{UUID}/513") as next_event:
            while "distance" not in (event := await next_event("ranged")):
                pass
            assert (event["uuid"], event["major"], event["minor"]) == (UUID, 513, 258)
            assert event["address"] == BEACON_ADDRESS
            assert event["distance"]["from"] < event["distance"]["median"] < event["distance"]["to"]


async def test_a_malformed_beacon_is_counted_and_not_ranged(radio):
    async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
        await _advertise(device, FRAME[:-1])
        async with Ambit(radio).running("beacons") as next_event:
            assert (await next_event())["event"] == "malformed"
            assert (await next_event("malformed"))["count"] > 1


async def test_a_region_is_entered_and_left_with_a_beacon_of_bumble(radio):
    # What follows -- is the command's, so that the options stand before it.
    monitor = await asyncio.create_subprocess_exec(
        AMBIT, "monitor", UUID, "--exit-delay", "3", "--radio", f"tcp:{radio}", "--timeout", "60",
        "--json", "--", "true", stdout=asyncio.subprocess.PIPE)

    async def next_event():
        return json.loads(await asyncio.wait_for(monitor.stdout.readline(), limits.EVENT))

    try:
        async with bumble_device(radio, "beacon", BEACON_ADDRESS) as device:
            await _advertise(device, FRAME)
            event = await next_event()
            assert (event["event"], event["region"]) == ("enter", UUID)
            assert (event["major"], event["minor"]) == (513, 258)
            await device.stop_advertising()
            event = await next_event()
            assert (event["event"], event["region"]) == ("exit", UUID)
    finally:
        await end(monitor)


async def test_bumble_hears_our_beacon_as_apple_writes_it(radio, request):
    if request.node.callspec.params["radio"] == "bumble":
        pytest.skip("Bumble's controllers send no legacy advertising but ADV_IND")
    async with bumble_central(radio) as central:
        heard = asyncio.Queue()
        central.on("advertisement", heard.put_nowait)
        await central.start_scanning(active=False, filter_duplicates=False)
        async with Ambit(radio).running(
                "beacon", "advertise", UUID, "513", "258", "--power=-70") as next_event:
            assert (await next_event("advertising"))["power"] == -70
            while True:
                advertisement = await asyncio.wait_for(heard.get(), limits.EVENT)
                if FRAME in advertisement.data_bytes:
                    break
            assert advertisement.data_bytes == bytes([2, 1, 6, 0x1A, 0xFF]) + FRAME
            assert not advertisement.is_connectable
