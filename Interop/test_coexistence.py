"""A hub on a machine where another program speaks Multicast DNS, too: Avahi's daemon or systemd-resolved. Each finds
what the other one has, whichever was there first, is killed and comes back."""

import asyncio
import contextlib
import json
import socket

import pytest

import limits
from avahi_host import avahi
from network import next_named
from radios import AMBIT, end
from test_bonjour import PEER
from test_bonjour_hub import lab, place, publish, speaker_count, start_hub, using  # noqa: F401
from test_resolved import resolved

NAME = socket.gethostname().split(".")[0]
TYPE = "_light._tcp"


async def through_hub(start, host, place, *arguments):
    """What a command writes that uses the hub."""
    program = await start(host, *using(place), AMBIT, *arguments, "--json", "--timeout", "30")
    output, errors = await asyncio.wait_for(program.process.communicate(), limits.EVENT)
    assert program.process.returncode == 0, errors.decode()
    return [json.loads(line) for line in output.splitlines()]


async def hub_finds(start, host, place, names):
    browse = await start(host, *using(place), AMBIT, "browse", TYPE, "--json")
    missing = set(names)
    while missing:
        event = await browse.next()
        if event["event"] == "found":
            missing.discard(event["name"])
    await end(browse.process)


async def address(start, host, place, name):
    """The IPv4 address that a program of the hub finds for a name of a host."""
    query = await start(host, *using(place), AMBIT, "query", name, "A", "--json")
    found = await query.next()
    await end(query.process)
    return found["data"]


async def avahi_finds(daemon, names):
    async with daemon.browsing(TYPE) as next_lines:
        missing = set(names)
        while missing:
            missing.discard((await next_lines("=", "IPv4"))["IPv4"][3])


async def until_speakers(host, count):
    async with asyncio.timeout(limits.EVENT):
        while speaker_count(host) != count:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("is_first", [True, False], ids=["Avahi first", "the hub first"])
async def test_avahi_and_a_hub_find_each_other_when_they_were_killed_and_are_back(lab, place, is_first):  # noqa: F811
    ours, theirs, start = lab
    async with contextlib.AsyncExitStack() as stack:
        async def start_avahi():
            return await stack.enter_async_context(avahi(ours, "own-name"))

        own = await start_avahi() if is_first else None
        hub = await start_hub(start, ours, place)
        own = own or await start_avahi()

        async def all_find(of_hub, of_avahi):
            await avahi_finds(own, of_hub | of_avahi)
            await hub_finds(start, ours, place, of_hub | of_avahi)
            for names, host in ((of_hub, f"{NAME}.local."), (of_avahi, "own-name.local.")):
                for name in names:
                    [found] = await theirs.ambit("resolve", name, "light")
                    assert found["host"] == host and ours.address in found["addresses"]
                    [found] = await through_hub(start, ours, place, "resolve", name, "light")
                    assert found["host"] == host and ours.address in found["addresses"]
                assert await own.looked_up(host.removesuffix(".")) == {ours.address}
                assert await address(start, ours, place, host) == ours.address

        await publish(start, ours, "Lamp", place=place)
        own.publish("Ceiling", TYPE, 90)
        await all_find({"Lamp"}, {"Ceiling"})

        # A program that began without the hub, and one that lost it, return to it.
        await hub.kill()
        await publish(start, ours, "Desk", place=place)
        await avahi_finds(own, {"Lamp", "Desk"})
        hub = await start_hub(start, ours, place)
        # The hub has two sockets of IPv4, and Avahi one.
        await until_speakers(ours, 1.5)
        await publish(start, ours, "Chair", place=place)
        own.publish("Stairs", TYPE, 91)
        await all_find({"Lamp", "Desk", "Chair"}, {"Ceiling", "Stairs"})

        browse = await start(ours, *using(place), AMBIT, "browse", TYPE, "--json")
        await own.kill()
        assert not [line for line in own.lines if "conflict" in line]
        await until_speakers(ours, 1)
        await publish(start, ours, "Shelf", place=place)
        own = await start_avahi()
        own.publish("Floor", TYPE, 92)
        await next_named(browse.next, "Floor", "found")
        await all_find({"Lamp", "Desk", "Chair", "Shelf"}, {"Floor"})
        await own.kill()
        assert not [line for line in own.lines if "conflict" in line]


@pytest.mark.parametrize("is_first", [True, False], ids=["Avahi first", "the hub first"])
async def test_services_of_one_name_of_avahi_and_a_hub_get_two_names(lab, place, is_first):  # noqa: F811
    ours, theirs, start = lab
    await start_hub(start, ours, place)
    async with avahi(ours, "own-name") as own:
        if is_first:
            own.publish("Lamp", TYPE, 90)
            await own.log('Service "Lamp" .* established')
        lamp = await start(ours, *using(place), AMBIT, "publish", "Lamp", TYPE, "80", "--json")
        assert (await lamp.next())["name"] == ("Lamp (2)" if is_first else "Lamp")
        if not is_first:
            own.publish("Lamp", TYPE, 90)
            assert (await own.log('Service "(Lamp.+)" .* established'))[1] == "Lamp #2"
        ports = {}
        for name in ("Lamp", "Lamp (2)" if is_first else "Lamp #2"):
            [found] = await theirs.ambit("resolve", name, "light")
            ports[name] = found["port"]
        assert ports == ({"Lamp": 90, "Lamp (2)": 80} if is_first else {"Lamp": 80, "Lamp #2": 90})


@pytest.mark.parametrize("is_first", [True, False], ids=["resolved first", "the hub first"])
async def test_resolved_and_a_hub_answer_when_they_were_killed_and_are_back(lab, place, is_first):  # noqa: F811
    ours, theirs, start = lab
    far = await start(theirs, *PEER, "publish", "Far", TYPE, "81", theirs.address)
    await far.next()
    async with contextlib.AsyncExitStack() as stack:
        async def start_resolved():
            return await stack.enter_async_context(resolved(ours, NAME))

        daemon = await start_resolved() if is_first else None
        hub = await start_hub(start, ours, place)
        daemon = daemon or await start_resolved()

        async def all_find(names):
            await hub_finds(start, ours, place, names | {"Far"})
            for name in names:
                [found] = await theirs.ambit("resolve", name, "light")
                assert found["host"] == f"{NAME}.local." and ours.address in found["addresses"]
            # A daemon that has just started answers for its own name once it has probed for it.
            async with asyncio.timeout(limits.EVENT):
                while await daemon.looked_up(f"{NAME}.local") != {ours.address}:
                    await asyncio.sleep(0.1)
            assert await daemon.looked_up("zeroconf.local") == {theirs.address}
            assert await address(start, ours, place, "zeroconf.local.") == theirs.address

        await publish(start, ours, "Lamp", place=place)
        await all_find({"Lamp"})
        await hub.kill()
        await publish(start, ours, "Desk", place=place)
        assert await daemon.looked_up("zeroconf.local") == {theirs.address}
        hub = await start_hub(start, ours, place)
        # The hub has two sockets of IPv4, and systemd-resolved one.
        await until_speakers(ours, 1.5)
        await all_find({"Lamp", "Desk"})
        daemon.process.kill()
        await daemon.process.wait()
        await until_speakers(ours, 1)
        daemon = await start_resolved()
        await publish(start, ours, "Chair", place=place)
        await all_find({"Lamp", "Desk", "Chair"})
