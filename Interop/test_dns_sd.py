"""libdns_sd.so.1: a C program of ours beside Python's zeroconf, calls from Python, and programs of
Debian that were linked with another library of that name and run on this one unchanged."""

import asyncio
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import limits
from ambit_cli import Failed
from debian_programs import DNS_SD, Programs, unavailable
from network import next_named
from radios import AMBIT, ROOT, end

HERE = pathlib.Path(__file__).parent
PEER = (sys.executable, HERE / "bonjour_peer.py")
# Where scripts/build-dns-sd puts it.
BUILT = pathlib.Path(os.environ.get("AMBIT_DNS_SD", ROOT / ".build/dns_sd"))
LIBRARY = BUILT / "lib/libdns_sd.so.1"
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror")

if not LIBRARY.exists():
    pytest.skip("scripts/build-dns-sd has not been run.", allow_module_level=True)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The C programs of Interop/dns_sd, compiled with our header and linked as usual."""
    folder = tmp_path_factory.mktemp("dns_sd")
    compiler = shutil.which("cc") or shutil.which("clang")
    for name in ("tool", "checks"):
        subprocess.run(
            [compiler, *WARNINGS, f"-I{BUILT}/include", HERE / f"dns_sd/{name}.c",
             "-o", folder / name, f"-L{BUILT}/lib", "-ldns_sd", "-pthread",
             f"-Wl,-rpath,{BUILT}/lib"], check=True)
    return folder


@contextlib.asynccontextmanager
async def talking(host, *command):
    """A program that writes objects, the function that gives the next one, and its input."""
    process = await asyncio.create_subprocess_exec(
        "ip", "netns", "exec", host.namespace, "setpriv", "--pdeathsig", "KILL", *command,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)

    async def next_object():
        return json.loads(await asyncio.wait_for(process.stdout.readline(), limits.EVENT))

    try:
        yield next_object, process.stdin
    finally:
        await end(process)


# ---- The interface

@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_header_has_apples_sizes_and_values(compiler):
    if shutil.which(compiler) is None:
        unavailable(f"There is no {compiler}.")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only",
         f"-I{BUILT}/include", HERE / "dns_sd/abi.c"], check=True)
    subprocess.run(
        [compiler, "-x", "c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
         f"-I{BUILT}/include", "-include", "dns_sd.h", "/dev/null"], check=True)


def test_the_library_shows_its_functions_and_nothing_else():
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True)
    names = {line.split()[-1] for line in symbols.stdout.splitlines()}
    header = (BUILT / "include/dns_sd.h").read_text()
    declared = {
        word.rstrip("(") for line in header.splitlines() if "DNSSD_EXPORT" in line
        for word in line.split() if "(" in word}
    declared = {word.split("(")[0] for word in declared if not word.startswith("__attribute__")}
    assert names == declared and len(names) == 40
    dynamic = subprocess.run(
        ["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
    assert "Library soname: [libdns_sd.so.1]" in dynamic
    needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line]
    assert not [name for name in needed if "swift" in name or "Foundation" in name]


def test_text_records_from_python():
    library = ctypes.CDLL(LIBRARY)
    library.TXTRecordGetBytesPtr.restype = ctypes.c_void_p
    library.TXTRecordGetLength.restype = ctypes.c_uint16
    record, buffer = ctypes.create_string_buffer(16), ctypes.create_string_buffer(32)
    library.TXTRecordCreate(record, 32, buffer)
    assert library.TXTRecordSetValue(record, b"room", 5, b"study") == 0
    assert library.TXTRecordSetValue(record, b"dim", 0, None) == 0
    assert library.TXTRecordSetValue(record, b"", 0, None) == -65549
    length = library.TXTRecordGetLength(record)
    assert ctypes.string_at(library.TXTRecordGetBytesPtr(record), length) == b"\x0aroom=study\x03dim"
    assert buffer.raw[:length] == b"\x0aroom=study\x03dim"
    library.TXTRecordDeallocate(record)


async def test_what_programs_rely_on_holds_and_nothing_is_left_behind(hosts, programs):
    process = await hosts[0]._start(programs / "checks")
    output, errors = await asyncio.wait_for(process.communicate(), 200)
    assert process.returncode == 0, errors.decode()
    assert output.decode().endswith("nothing is left\nprocess of others\n")


async def test_callbacks_come_on_a_dispatch_queue(hosts, tmp_path):
    """The queue is that of the libdispatch which the program has."""
    swift = shutil.which("swiftc")
    folder = pathlib.Path(swift or "/").resolve().parent.parent / "lib/swift"
    if not (folder / "dispatch").exists() or shutil.which("clang") is None:
        unavailable("There is no libdispatch.")
    program = tmp_path / "queue"
    subprocess.run(
        ["clang", "-fblocks", *WARNINGS, f"-I{BUILT}/include", f"-I{folder}",
         HERE / "dns_sd/queue.c", "-o", program, f"-L{BUILT}/lib", "-ldns_sd",
         f"-L{folder}/linux", "-ldispatch", "-lBlocksRuntime", f"-Wl,-rpath,{folder}/linux",
         f"-Wl,-rpath,{BUILT}/lib"], check=True)
    process = await hosts[0]._start(program)
    output, errors = await asyncio.wait_for(process.communicate(), limits.EVENT)
    assert (process.returncode, output.decode()) == (0, "registered\nfound\nended\n"), errors


# ---- On the network

async def test_zeroconf_finds_what_a_c_program_registers(hosts, programs):
    ours, theirs = hosts
    name = "Désk lämp._light._tcp.local."
    async with theirs.running(*PEER, "browse", "_light._tcp") as next_object:
        async with ours.running(
                programs / "tool", "register", "Désk lämp", "_light._tcp", "8080", "room=study",
                "dim") as registered:
            answer = await registered()
            assert answer == {
                "name": "Désk lämp", "type": "_light._tcp.", "domain": "local.", "added": True,
                "more": False, "interface": 0, "error": 0}
            found = await next_named(next_object, name, "found")
            assert found["port"] == 8080 and ours.address in found["addresses"]
            assert found["text"] == {"room": "study", "dim": None}


async def test_what_a_program_registered_is_missed_when_it_exits(hosts, programs):
    # Not by zeroconf, which overlooks a goodbye that comes right after an announcement.
    ours, theirs = hosts
    tool = programs / "tool"
    async with theirs.running(tool, "browse", "_light._tcp") as next_event:
        async with talking(ours, tool, "extra", "Lamp", "_light._tcp") as (registered, input):
            await registered()
            await next_named(next_event, "Lamp", added=True)
            input.close()
            await next_named(next_event, "Lamp", added=False)


async def test_programs_beside_a_hub_and_with_it_find_each_other_when_it_was_killed_and_is_back(hosts, programs, tmp_path):
    ours, theirs = hosts
    place, tool = tmp_path / "hub", programs / "tool"
    hub = AMBIT, "hub", "run", "--radio", "sim", "--socket", str(place), "--json"
    use = "env", f"AMBIT_HUB={place}"

    async def serving(next_event):
        while (event := await next_event())["event"] != "serving":
            pass
        assert event["runsMulticastDNS"]

    async with contextlib.AsyncExitStack() as stack:
        async def run(*command):
            return await stack.enter_async_context(ours.running(*command))

        # AMBIT_HUB is "off" for programs that don't name it.
        await (await run(tool, "register", "Early", "_light._tcp", "80"))()
        first = await ours._start(*hub)
        stack.push_async_callback(end, first)

        async def next_of_first():
            return json.loads(await asyncio.wait_for(first.stdout.readline(), limits.EVENT))

        await serving(next_of_first)
        beside = await run(tool, "browse", "_light._tcp")
        through = await run(*use, tool, "browse", "_light._tcp")
        through_ambit = await run(*use, AMBIT, "browse", "_light._tcp", "--json")

        async def all_find(name):
            await next_named(beside, name, added=True)
            await next_named(through, name, added=True)
            await next_named(through_ambit, name, "found")
            [found] = await theirs.ambit("resolve", name, "light")
            assert ours.address in found["addresses"]

        await all_find("Early")
        await (await run(tool, "register", "Beside", "_light._tcp", "81"))()
        await all_find("Beside")
        await (await run(*use, tool, "register", "Through", "_light._tcp", "82"))()
        await all_find("Through")
        first.kill()
        await first.wait()
        await (await run(*use, tool, "register", "Without", "_light._tcp", "83"))()
        await all_find("Without")
        await serving(await run(*hub))
        await (await run(*use, tool, "register", "Again", "_light._tcp", "84"))()
        await all_find("Again")
        for name in ("Early", "Beside", "Through", "Without"):
            [found] = await theirs.ambit("resolve", name, "light")
            assert ours.address in found["addresses"]


async def test_a_service_with_subtypes_is_found_by_them(hosts, programs):
    ours, theirs = hosts
    async with ours.running(
            programs / "tool", "register", "Lamp", "_light._tcp,_dimmable,_red", "80") as registered:
        await registered()
        async with theirs.running(programs / "tool", "browse", "_light._tcp,_red") as next_event:
            found = await next_named(next_event, "Lamp", added=True)
            assert found["type"] == "_light._tcp." and found["interface"] > 0
        async with theirs.running(
                programs / "tool", "browse", "_services._dns-sd._udp") as next_event:
            assert (await next_named(next_event, "_light"))["type"] == "_tcp.local."


async def test_a_c_program_finds_resolves_and_misses_what_zeroconf_publishes(hosts, programs):
    ours, theirs = hosts
    tool = programs / "tool"
    async with ours.running(tool, "browse", "_light._tcp") as next_event:
        async with theirs.running(
                *PEER, "publish", "Ceiling 2", "_light._tcp", "90", theirs.address,
                "room=hall") as published:
            await published()
            found = await next_named(next_event, "Ceiling 2", added=True)
            assert found["domain"] == "local." and found["interface"] > 0
            async with ours.running(tool, "resolve", "Ceiling 2", "_light._tcp") as next_place:
                place = await next_place()
            assert place["name"] == "Ceiling\\0322._light._tcp.local."
            assert (place["host"], place["port"]) == ("zeroconf.local.", 90)
            assert place["text"] == {"room": "hall"}
            async with ours.running(tool, "addresses", "zeroconf.local", "1") as next_address:
                address = await next_address()
            assert (address["address"], address["error"]) == (theirs.address, 0)
            async with ours.running(tool, "query", "zeroconf.local", "1") as next_record:
                record = await next_record()
            assert bytes.fromhex(record["data"]) == bytes(map(int, theirs.address.split(".")))
        await next_named(next_event, "Ceiling 2", added=False)


async def test_a_name_that_zeroconf_has_is_not_taken(hosts, programs):
    ours, theirs = hosts
    tool = programs / "tool"
    async with theirs.running(
            *PEER, "publish", "Lamp", "_light._tcp", "90", theirs.address) as published:
        await published()
        async with ours.running(tool, "register", "Lamp", "_light._tcp", "80") as registered:
            assert (await registered())["name"] == "Lamp (2)"
        async with ours.running(tool, "insist", "Lamp", "_light._tcp", "80") as registered:
            assert (await registered())["error"] == -65548


async def test_both_versions_of_addresses_and_what_there_is_not(hosts, programs):
    ours, theirs = hosts
    tool = programs / "tool"
    async with theirs.running(tool, "proxy", "garden-gate.local", "10.213.0.77") as registered:
        answer = await registered()
        assert answer["has_record"] and answer["error"] == 0
        async with ours.running(tool, "addresses", "garden-gate.local", "1") as next_address:
            address = await next_address()
        assert (address["address"], address["host"]) == ("10.213.0.77", "garden-gate.local.")
    async with theirs.running(tool, "register", "-", "_light._tcp", "80") as registered:
        name = (await registered())["name"]
        async with ours.running(tool, "addresses", f"{name}.local") as next_address:
            answers = [await next_address() for _ in range(2)]
    assert {answer["address"] for answer in answers} > {theirs.address}
    [v6] = [answer for answer in answers if answer["address"].startswith("fe80:")]
    assert v6["scope"] == v6["interface"] > 0


async def test_a_further_record_comes_changes_and_goes(hosts, programs):
    ours, theirs = hosts
    tool = programs / "tool"
    async with talking(theirs, tool, "extra", "Lamp", "_light._tcp") as (registered, input):
        await registered()
        async with ours.running(
                tool, "query", "Lamp._light._tcp.local", "10") as next_record:
            async def next_data():
                record = await next_record()
                return record["data"], record["added"]

            assert await next_data() == ("0102", True)
            input.write(b"\n")
            assert {await next_data(), await next_data()} == {("03", True), ("0102", False)}
            input.write(b"\n")
            assert await next_data() == ("03", False)


async def test_the_domain_to_browse_in_is_that_of_the_link(hosts, programs):
    async with hosts[0].running(programs / "tool", "domains") as next_domain:
        domain = await next_domain()
    assert (domain["domain"], domain["default"], domain["added"]) == ("local.", True, True)


# ---- Programs of Debian

class Debian(Programs):
    """Programs whose libdns_sd.so.1 is ours."""

    def __init__(self):
        super().__init__("dns_sd-programs", DNS_SD)
        # Qt looks for these by the names that packages for development have, and would mix a
        # machine's with those that were unpacked.
        for library in ("ssl", "crypto"):
            found = self.find(f"usr/lib/*/lib{library}.so.*")
            link = found.with_name(f"lib{library}.so")
            if not link.exists():
                link.symlink_to(found.name)

    def command(self, name, *arguments, **environment):
        _, _, *command = super().command(name, *arguments)
        return (
            "env", f"LD_LIBRARY_PATH={BUILT}/lib:{self.libraries}:{self.root}/usr/lib",
            *(f"{key}={value}" for key, value in environment.items()), *command)


@pytest.fixture(scope="session")
def debian():
    return Debian()


async def found_by_zeroconf(host, type_, *, command, run_by):
    """What zeroconf finds of a type while a program runs."""
    async with host.running(*PEER, "browse", type_) as next_object:
        process = await run_by._start(*command)
        try:
            return await next_object()
        finally:
            await end(process)


async def test_mumble_server_announces_itself(hosts, debian, tmp_path):
    settings = tmp_path / "server.ini"
    settings.write_text(
        f"database={tmp_path}/server.sqlite\nlogfile={tmp_path}/log\npidfile={tmp_path}/pid\n"
        "dbus=\nice=\nport=64738\nregisterName=Ambit's test\nbonjour=true\n")
    found = await found_by_zeroconf(
        hosts[1], "_mumble._tcp", run_by=hosts[0], command=debian.command(
            "murmurd", "-ini", settings, "-fg",
            QT_PLUGIN_PATH=debian.find("usr/lib/*/qt5/plugins")))
    assert found["name"] == "Ambit's test._mumble._tcp.local."
    assert found["port"] == 64738 and hosts[0].address in found["addresses"]


PIKE_PROGRAM = """
int main() {
  object service = Protocols.DNS_SD.Service(
    "Pike's service", "_pike._tcp", "", 4711, ({"room=hall"}));
  Thread.Thread(lambda() {
    while (string room = Stdio.stdin->gets()) service->update_txt(({"room=" + room}));
  });
  return -1;
}
"""


async def test_pike_registers_a_service_and_changes_its_text(hosts, debian, tmp_path):
    program = tmp_path / "service.pike"
    program.write_text(PIKE_PROGRAM)
    pike = debian.find("usr/lib/pike8.0")
    command = debian.command(
        "pike8.0", "-m", pike / "master.pike", program, PIKE_MODULE_PATH=pike / "modules")
    async with hosts[1].running(*PEER, "browse", "_pike._tcp") as next_object, \
            talking(hosts[0], *command) as (_, typed):
        found = await next_object()
        assert found["name"] == "Pike's service._pike._tcp.local."
        assert (found["port"], found["text"]) == (4711, {"room": "hall"})
        typed.write(b"attic\n")
        await next_named(next_object, found["name"], "changed", text={"room": "attic"})


async def test_a_switch_of_aseba_announces_itself(hosts, debian):
    found = await found_by_zeroconf(
        hosts[1], "_aseba._tcp", run_by=hosts[0],
        command=debian.command("asebaswitch", "-n", "Robot", "-p", "33400"))
    assert found["name"].startswith("Robot") and found["port"] == 33400
