"""Services of the network: `ambit` beside Avahi, and before dig(1), each on a host of its own."""

import asyncio
import contextlib
import shutil
import socket

import pytest

from ambit_cli import Failed
from avahi_host import avahi
from capture import all_well_formed
from network import network, next_named
from radios import AMBIT

NAME = socket.gethostname().split(".")[0]


async def resolved(host, name, type_):
    [place] = await host.ambit("resolve", name, type_)
    return place


async def test_ambit_finds_resolves_and_misses_what_avahi_publishes(hosts, tmp_path):
    ours, theirs = hosts
    async with all_well_formed(ours, theirs, tmp_path / "pcap"), \
            avahi(theirs, "avahi-host") as daemon, ours.ambit_running("browse", "_light._tcp") as next_event:
        daemon.publish("Wohnzimmer & Küche.", "_light._tcp", 90, "room=hall", "dim")
        await next_named(next_event, "Wohnzimmer & Küche.", "found")
        place = await resolved(ours, "Wohnzimmer & Küche.", "light")
        assert place["host"] == "avahi-host.local."
        assert theirs.address in place["addresses"]
        assert any(address.startswith("fe80:") for address in place["addresses"])
        assert place["text"] == {"room": "hall", "dim": True}
        assert await ours.types() == ["_light._tcp"]

        async with ours.ambit_running(
                "query", r"Wohnzimmer & Küche\.._light._tcp.local", "TXT") as next_record:
            assert (await next_record())["data"] == '"room=hall" "dim"'
            daemon.publish("Wohnzimmer & Küche.", "_light._tcp", 90, "room=kitchen")
            while (await next_record())["data"] != '"room=kitchen"':
                pass
        daemon.withdraw("Wohnzimmer & Küche.")
        await next_named(next_event, "Wohnzimmer & Küche.", "gone")


async def test_avahi_finds_resolves_and_misses_what_ambit_publishes(hosts, tmp_path):
    ours, theirs = hosts
    async with all_well_formed(ours, theirs, tmp_path / "pcap"), \
            avahi(theirs, "avahi-host") as daemon, daemon.browsing("_light._tcp") as next_lines:
        async with ours.ambit_running(
                "publish", "Désk lamp", "_light._tcp", "8080", "room=study", "dim") as published:
            await published()
            for found in (await next_lines("=", "IPv4", "IPv6")).values():
                _, interface, _, name, type_, domain, host, address, port, text = found
                assert (interface, type_, domain, port) == ("eth0", "_light._tcp", "local", "8080")
                assert name == r"D\195\169sk\032lamp"
                assert host == f"{NAME}.local"
                assert address == ours.address or address.startswith("fe80:")
                assert sorted(text.split()) == ['"dim"', '"room=study"']
        await next_lines("-", "IPv4", "IPv6")


async def test_avahi_and_nss_mdns_work_beside_a_hub_of_the_same_host(hosts, tmp_path):
    ours, theirs = hosts
    place = tmp_path / "hub"
    # Avahi has the machine's name, as the hub does: their addresses are the same, and no conflict.
    async with avahi(ours, NAME) as own, avahi(theirs, "their-host") as other, \
            ours.ambit_running("hub", "run", "--radio", "sim", "--socket", str(place)) as next_event:
        while (serving := await next_event())["event"] != "serving":
            pass
        assert serving["runsMulticastDNS"]
        use = ("env", f"AMBIT_HUB={place}", AMBIT)
        async with ours.running(*use, "publish", "Lamp", "_light._tcp", "80", "--json") as published, \
                ours.running(*use, "browse", "_light._tcp", "--json") as browsed, \
                other.browsing("_light._tcp") as next_lines, own.browsing("_light._tcp") as next_own_lines:
            await published()
            # Another host, Avahi on the same host, and the hub's programs find what each of the three publishes.
            for lines in (next_lines, next_own_lines):
                while not any(fields[3] == "Lamp" for fields in (await lines("=", "IPv4")).values()):
                    pass
            own.publish("Same host", "_light._tcp", 81)
            other.publish("Other host", "_light._tcp", 82)
            names = {"Same host", "Other host"}
            while names:
                event = await browsed()
                assert event["event"] == "found"
                names.discard(event["name"])
            assert await own.looked_up("their-host.local") == {theirs.address}
            assert await own.looked_up(f"{NAME}.local") == {ours.address}


@pytest.mark.parametrize("is_first", [True, False], ids=["before the hub", "after the hub"])
async def test_avahi_keeps_its_name_on_a_machine_whose_hub_has_another(hosts, tmp_path, is_first):
    ours, theirs = hosts
    place = tmp_path / "hub"
    use = ("env", f"AMBIT_HUB={place}", AMBIT)
    reverse = ".".join(reversed(ours.address.split("."))) + ".in-addr.arpa"
    async with contextlib.AsyncExitStack() as stack:
        async def start_avahi():
            return await stack.enter_async_context(avahi(ours, "own-name"))

        own = await start_avahi() if is_first else None
        next_event = await stack.enter_async_context(
            ours.ambit_running("hub", "run", "--radio", "sim", "--socket", str(place)))
        while (await next_event())["event"] != "serving":
            pass
        published = await stack.enter_async_context(
            ours.running(*use, "publish", "Lamp", "_light._tcp", "80", "--json"))
        await published()
        own = own or await start_avahi()
        for _ in range(2):
            async with theirs.ambit_running("query", reverse, "PTR") as next_record:
                assert (await next_record())["data"] == "own-name.local."
        own.publish("Ceiling", "_light._tcp", 90)
        await own.log('Service "Ceiling" .* established')
        assert not [line for line in own.lines if "conflict" in line]
        hosts = [(await resolved(theirs, name, "light"))["host"] for name in ("Ceiling", "Lamp")]
        assert hosts == ["own-name.local.", f"{NAME}.local."]


async def test_each_takes_another_name_where_the_other_has_it(hosts):
    ours, theirs = hosts
    async with avahi(theirs, "avahi-host") as daemon:
        daemon.publish("Lamp", "_light._tcp", 90)
        await daemon.log('Service "Lamp" .* established')
        async with ours.ambit_running("publish", "Lamp", "_light._tcp", "80") as published:
            assert (await published())["name"] == "Lamp (2)"
        with pytest.raises(Failed, match="another host has the name"):
            await ours.ambit("publish", "Lamp", "_light._tcp", "80", "--no-rename")

        async with ours.ambit_running("publish", "Desk", "_light._tcp", "80") as published:
            assert (await published())["name"] == "Desk"
            daemon.publish("Desk", "_light._tcp", 90)
            assert (await daemon.log('Service "(Desk.+)" .* established'))[1] == "Desk #2"
            assert (await resolved(ours, "Desk #2", "light"))["host"] == "avahi-host.local."
            assert (await resolved(ours, "Desk", "light"))["host"] == f"{NAME}.local."


async def test_a_host_whose_name_avahi_has_goes_by_another(hosts):
    ours, theirs = hosts
    async with avahi(theirs, NAME) as daemon, daemon.browsing("_light._tcp") as next_lines:
        async with ours.ambit_running("publish", "Lamp", "_light._tcp", "80") as published:
            await published()
            found = (await next_lines("=", "IPv4"))["IPv4"]
            assert found[6] == f"{NAME}-2.local"
            assert found[7] == ours.address or found[7].startswith("fe80:")


async def test_avahi_goes_by_another_name_where_ambit_has_it(hosts):
    ours, theirs = hosts
    async with ours.ambit_running("publish", "Lamp", "_light._tcp", "80") as published:
        await published()
        async with avahi(theirs, NAME) as daemon:
            daemon.publish("Ceiling", "_light._tcp", 90)
            place = await resolved(ours, "Ceiling", "light")
            assert place["host"] == f"{NAME}-2.local."
            assert (await resolved(ours, "Lamp", "light"))["host"] == f"{NAME}.local."


async def test_both_find_each_other_over_ipv6_alone():
    async with network(2, has_ipv4=False) as (ours, theirs):
        async with avahi(theirs, "avahi-host") as daemon, \
                daemon.browsing("_light._tcp") as next_lines, \
                ours.ambit_running("browse", "_light._tcp") as next_event:
            daemon.publish("Ceiling", "_light._tcp", 90)
            await next_named(next_event, "Ceiling", "found")
            place = await resolved(ours, "Ceiling", "light")
            assert all(address.startswith("fe80:") for address in place["addresses"])
            async with ours.ambit_running("publish", "Lamp", "_light._tcp", "80") as published:
                await published()
                while (found := (await next_lines("=", "IPv6"))["IPv6"])[3] != "Lamp":
                    pass
                assert found[7].startswith("fe80:") and found[8] == "80"


@pytest.mark.skipif(shutil.which("dig") is None, reason="There is no dig.")
@pytest.mark.parametrize("version", ["IPv4", "IPv6"])
async def test_dig_is_answered_as_by_a_name_server(hosts, version):
    ours, theirs = hosts
    # Not by way of the group: dig takes answers from the address only that it asked.
    [interface] = ours.ip("address", "show", "eth0")
    link_local = next(
        entry["local"] for entry in interface["addr_info"] if entry["family"] == "inet6")
    server = ours.address if version == "IPv4" else f"{link_local}%eth0"

    def dig(*question):
        return theirs.run(
            "dig", "-p", "5353", f"@{server}", "+time=15", "+tries=3", "+noall", "+answer",
            "+comments", *question)

    async with ours.ambit_running(
            "publish", "Desk lamp", "_light._tcp", "8080", "room=study") as published:
        await published()
        listing = await asyncio.to_thread(dig, "_light._tcp.local", "PTR")
        assert "status: NOERROR" in listing and "ANSWER: 1" in listing
        assert r"PTR	Desk\032lamp._light._tcp.local." in listing
        place = await asyncio.to_thread(dig, r"Desk\032lamp._light._tcp.local", "SRV")
        assert f"0 0 8080 {NAME}.local." in place
        text = await asyncio.to_thread(dig, r"Desk\032lamp._light._tcp.local", "TXT")
        assert '"room=study"' in text
        address = await asyncio.to_thread(dig, f"{NAME}.local", "A")
        assert ours.address in address
        # Nobody keeps it for longer than who can't hear that it has changed should (RFC 6762, §6.7).
        assert {line.split()[1] for line in (listing + place + text + address).splitlines()
                if line and not line.startswith(";")} <= {str(n) for n in range(11)}
