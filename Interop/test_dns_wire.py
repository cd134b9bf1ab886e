"""DNS messages: what DNSWire reads and writes, against dnspython and tshark."""

import pathlib
import random
import shutil
import struct
import subprocess

import dns.flags
import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.renderer
import pytest

from debian_programs import unavailable

DNS_TEXT = pathlib.Path(__file__).parent.parent / ".build" / "release" / "dns-text"
SECTIONS = ["question", "answer", "authority", "additional"]
SEED = 20260
FLUSH = 0x8000


def dns_text(*arguments, lines):
    """What the tool writes, given these lines."""
    done = subprocess.run(
        [DNS_TEXT, *arguments], input="".join(line + "\n" for line in lines), text=True,
        stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout


def wire(thing):
    """Uncompressed bytes in hexadecimal digits."""
    return thing.to_wire().hex() or "-"


class Chance(random.Random):
    """Draws messages with every kind of record that Bonjour speaks."""

    def label(self):
        return self.choice([
            b"local", b"LOCAL", b"_tcp", b"_http", b"_sub", b"host", b"a.b", b"a\\b", b"\x00\xff",
            "Zoë 你好".encode(), b"x" * 63])

    def name(self):
        return dns.name.Name([self.label() for _ in range(self.randrange(4))] + [b""])

    def string(self, bound=60):
        return self.randbytes(self.randrange(bound))

    def strings(self):
        pieces = [self.string(255) for _ in range(self.randrange(1, 5))]
        return b"".join(bytes([len(piece)]) + piece for piece in pieces)

    def data(self):
        """A type and its data as uncompressed bytes."""
        name = lambda: self.name().to_wire()
        number = lambda: struct.pack("!H", self.randrange(65536))
        string = lambda: (lambda text: bytes([len(text)]) + text)(self.string())
        types = {
            "A": lambda: self.randbytes(4), "AAAA": lambda: self.randbytes(16),
            "PTR": name, "CNAME": name, "NS": name, "DNAME": name,
            "SRV": lambda: number() + number() + number() + name(),
            "MX": lambda: number() + name(), "KX": lambda: number() + name(),
            "AFSDB": lambda: number() + name(), "RT": lambda: number() + name(),
            "PX": lambda: number() + name() + name(), "RP": lambda: name() + name(),
            "SOA": lambda: name() + name() + self.randbytes(20),
            "TXT": self.strings, "HINFO": lambda: string() + string(),
            "NSEC": lambda: name() + b"\x00\x04\x40\x00\x00\x08" + b"\x01\x01\x40",
            "TYPE65400": self.string,
        }
        kind = self.choice(sorted(types))
        return dns.rdatatype.from_text(kind), types[kind]()

    def message(self):
        """A message as the lines of a block."""
        lines = [f"message {self.randrange(65536)} {self.choice([0, 0x8400, 0x0200, 0x0100])}"]
        for _ in range(self.randrange(4)):
            kind = self.choice([1, 12, 28, 33, 255])
            number = self.choice([1, 1 | FLUSH, 255])
            lines.append(f"question {wire(self.name())} {kind} {number}")
        for section in SECTIONS[1:]:
            for _ in range(self.randrange(5)):
                kind, data = self.data()
                lines.append(
                    f"{section} {wire(self.name())} {int(kind)} {self.choice([1, 1 | FLUSH])} "
                    f"{self.randrange(2 ** 31)} {data.hex() or '-'}")
        return lines


def lines_of(message):
    """A message that dnspython read, as the lines of a block."""
    lines = [f"message {message.id} {int(message.flags)}"]
    for number, section in enumerate(SECTIONS):
        for rrset in message.sections[number]:
            head = f"{section} {wire(rrset.name)} {int(rrset.rdtype)} "
            if number == 0:
                lines.append(head + str(int(rrset.rdclass)))
            for rdata in rrset:
                lines.append(head + f"{int(rrset.rdclass)} {rrset.ttl} {wire(rdata)}")
    return lines


def parse(data):
    """What dnspython reads, each record for itself. It knows the types of class IN only, so the
    cache-flush bit is set apart first."""
    return dns.message.from_wire(data, one_rr_per_rrset=True)


def without_top_bits(lines):
    """The lines with the top bit of every class cleared."""
    cleared = []
    for line in lines:
        words = line.split(" ")
        if words[0] != "message":
            words[3] = str(int(words[3]) & ~FLUSH)
        cleared.append(" ".join(words))
    return cleared


def folded(lines):
    """The lines with the letters in all names and data in lower case."""
    fields = [line.split(" ") for line in lines]
    for words in fields:
        for place in [1, 5]:
            if words[0] != "message" and len(words) > place and words[place] != "-":
                words[place] = bytes.fromhex(words[place]).lower().hex()
    return fields


def kind(line):
    """The type in a line, if it has one."""
    return (line.split(" ") + ["", ""])[2] if not line.startswith("message") else ""


@pytest.fixture(scope="module")
def blocks():
    chance = Chance(SEED)
    return [chance.message() for _ in range(400)]


def encoded(blocks, compression):
    lines = [line for block in blocks for line in [*block, ""]]
    return [bytes.fromhex(line) for line in dns_text("encode", compression, lines=lines).split()]


@pytest.mark.parametrize("compression", ["multicast", "legacy", "none"])
def test_dnspython_reads_what_we_write(blocks, compression):
    plain = [without_top_bits(block) for block in blocks]
    if compression == "multicast":
        # dnspython doesn't follow pointers where only Multicast DNS has them (RFC 6762, 18.14).
        plain = [[line for line in block if kind(line) not in ("33", "47")] for block in plain]
    packets = encoded(plain, compression)
    assert len(packets) == len(blocks)
    for block, packet in zip(plain, packets):
        assert sorted(lines_of(parse(packet))) == sorted(block), f"seed {SEED}"


def test_we_read_what_dnspython_writes(blocks):
    packets = []
    for block in blocks:
        words = [line.split(" ") for line in block]
        renderer = dns.renderer.Renderer(int(words[0][1]), int(words[0][2]), 65535)
        for fields in words[1:]:
            name, _ = dns.name.from_wire(bytes.fromhex(fields[1]), 0)
            kind, number = int(fields[2]), int(fields[3])
            if fields[0] == "question":
                renderer.add_question(name, kind, number)
                continue
            data = bytes.fromhex(fields[5].replace("-", ""))
            # Read as of class IN, so that names are compressed; written with the bit.
            rdata = dns.rdata.from_wire(dns.rdataclass.IN, kind, data, 0, len(data))
            renderer.add_rdataset(
                SECTIONS.index(fields[0]), name, dns.rdataset.from_rdata(int(fields[4]), rdata),
                override_rdclass=number)
        renderer.write_header()
        packets.append(renderer.get_wire())
    output = dns_text("decode", lines=[packet.hex() for packet in packets]).strip()
    # dnspython also shortens names that differ in case, so that case is lost.
    for block, answer in zip(blocks, output.split("\n\n"), strict=True):
        assert folded(answer.split("\n")) == folded(block), f"seed {SEED}"


def test_both_refuse_the_same_damaged_messages(blocks):
    """Damage in the structure is seen by both; in data we take what dnspython refuses as opaque."""
    chance = random.Random(SEED)
    packets = []
    for packet in encoded([without_top_bits(block) for block in blocks], "multicast"):
        packets.append(packet[:chance.randrange(len(packet))])
    answers = dns_text("decode", lines=[packet.hex() for packet in packets]).strip("\n")
    for packet, answer in zip(packets, answers.split("\n\n")):
        try:
            parse(packet)
            is_read = True
        except Exception:
            is_read = False
        assert answer.startswith("error") != is_read, packet.hex()


def test_tshark_finds_nothing_malformed(blocks, tmp_path):
    tshark = shutil.which("tshark")
    if tshark is None:
        unavailable("There is no tshark.")
    # Queries and responses of Multicast DNS only: tshark looks into the names of a few types.
    packets = encoded(blocks, "multicast")
    capture = tmp_path / "dns.pcap"
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for packet in packets:
            udp = struct.pack("!HHHH", 5353, 5353, 8 + len(packet), 0) + packet
            ip = struct.pack(
                "!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 255, 17, 0, bytes([192, 0, 2, 1]),
                bytes([224, 0, 0, 251]))
            file.write(struct.pack("<IIII", 0, 0, len(ip + udp), len(ip + udp)) + ip + udp)
    seen = subprocess.run(
        [tshark, "-r", capture, "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.malformed"],
        stdout=subprocess.PIPE, check=True, timeout=60, text=True).stdout.splitlines()
    assert len(seen) == len(packets)
    assert {line.strip() for line in seen} == {"MDNS"}
