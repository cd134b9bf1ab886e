"""Services of the network: `ambit` beside Python's zeroconf, each on a host of its own."""

import pathlib
import sys

import pytest

from ambit_cli import Failed
from capture import all_well_formed
from network import next_named

PEER = (sys.executable, pathlib.Path(__file__).parent / "bonjour_peer.py")


async def test_zeroconf_finds_resolves_and_misses_what_ambit_publishes(hosts):
    ours, theirs = hosts
    name = "Desk lamp._light._tcp.local."
    async with theirs.running(*PEER, "browse", "_light._tcp") as next_object:
        async with ours.ambit_running(
                "publish", "Desk lamp", "_light._tcp", "8080", "room=study", "dim") as published:
            assert (await published())["name"] == "Desk lamp"
            found = await next_named(next_object, name, "found")
            assert found["port"] == 8080
            assert ours.address in found["addresses"]
            assert any(address.startswith("fe80:") for address in found["addresses"])
            assert found["text"] == {"room": "study", "dim": None}
        await next_named(next_object, name, "gone")


async def test_ambit_finds_resolves_and_misses_what_zeroconf_publishes(hosts):
    ours, theirs = hosts
    async with ours.ambit_running("browse", "_light._tcp") as next_event:
        async with theirs.running(
                *PEER, "publish", "Ceiling", "_light._tcp", "90", theirs.address,
                "room=hall") as published:
            await published()
            found = await next_named(next_event, "Ceiling", "found")
            assert found["interface"] == "eth0"
            [place] = await ours.ambit("resolve", "Ceiling", "light")
            assert place["host"] == "zeroconf.local."
            assert place["port"] == 90
            assert place["addresses"] == [theirs.address]
            assert place["text"] == {"room": "hall"}
            assert await ours.types() == ["_light._tcp"]
        await next_named(next_event, "Ceiling", "gone")


async def test_what_goes_with_its_interface_says_where_it_was(hosts):
    ours, theirs = hosts
    async with theirs.running(
            *PEER, "publish", "Ceiling", "_light._tcp", "90", theirs.address) as published:
        await published()
        async with ours.ambit_running("browse", "light") as next_event:
            found = await next_named(next_event, "Ceiling", "found")
            ours.plug(False)
            gone = await next_named(next_event, "Ceiling", "gone")
            assert gone["interface"] == found["interface"] == "eth0"


async def test_the_live_view_tells_of_services_beside_devices(hosts):
    ours, theirs = hosts
    async with theirs.running(
            *PEER, "publish", "Ceiling", "_light._tcp", "90", theirs.address) as published:
        await published()
        async with ours.ambit_running("watch") as next_event:
            events = {}
            while not {"Pulse strap", "Ceiling"} <= events.keys():
                event = await next_event()
                events[event.get("name")] = event["event"]
            assert events["Ceiling"] == "found"
        async with ours.ambit_running("watch", "--no-network") as next_event:
            events = [await next_event() for _ in range(5)]
            assert {event["event"] for event in events} <= {"discovered", "updated"}


async def test_a_name_that_zeroconf_has_is_not_taken(hosts):
    ours, theirs = hosts
    async with theirs.running(
            *PEER, "publish", "Lamp", "_light._tcp", "90", theirs.address) as published:
        await published()
        async with ours.ambit_running("publish", "Lamp", "_light._tcp", "80") as ours_published:
            assert (await ours_published())["name"] == "Lamp (2)"
        with pytest.raises(Failed, match="another host has the name"):
            await ours.ambit("publish", "Lamp", "_light._tcp", "80", "--no-rename")


async def test_whoever_asks_from_any_port_is_answered(hosts):
    ours, theirs = hosts
    async with ours.ambit_running("publish", "Desk lamp", "_light._tcp", "8080") as published:
        await published()
        async with theirs.running(*PEER, "ask", "_light._tcp.local.", "PTR") as next_object:
            answer = await next_object()
        assert answer["id_is_same"] and len(answer["questions"]) == 1
        assert answer["answers"] == [
            f"_light._tcp.local. {answer['ttl']} IN PTR Desk\\032lamp._light._tcp.local."]
        assert answer["ttl"] <= 10


async def test_tshark_finds_nothing_malformed_in_what_ambit_sends(hosts, tmp_path):
    ours, theirs = hosts
    async with all_well_formed(ours, theirs, tmp_path / "pcap"):
        async with ours.ambit_running(
                "publish", "Désk lämp", "_light._tcp", "8080", "room=study") as published:
            await published()
            await ours.ambit("browse", "light", timeout=3)
            [place] = await theirs.ambit("resolve", "Désk lämp", "light")
            assert place["port"] == 8080 and ours.address in place["addresses"]
            with pytest.raises(Failed, match="answered within 5 s"):
                await theirs.ambit("resolve", "Nobody", "light", timeout=5)
