"""What is on the wire: frames heard and sent by a test, in the network namespace of a host."""

import asyncio
import contextlib
import ctypes
import dataclasses
import ipaddress
import socket
import struct

import limits

ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
BROADCAST = "ff:ff:ff:ff:ff:ff"
NOBODY = "00:00:00:00:00:00"
REQUEST, REPLY = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(namespace):
    """What is opened meanwhile belongs to this network namespace."""
    def enter(descriptor):
        if _libc.setns(descriptor, 0x40000000) != 0:  # CLONE_NEWNET
            raise OSError(ctypes.get_errno(), "setns")

    with open("/proc/self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
        enter(other.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def mac_text(data):
    return data.hex(":")


@dataclasses.dataclass(frozen=True)
class Arp:
    operation: int
    sender_mac: str
    sender: str
    target_mac: str
    target: str
    # To whom the frame around it goes.
    destination: str = BROADCAST
    # When it came in.
    time: float = 0

    @classmethod
    def read(cls, frame, when):
        fields = struct.unpack_from("!HHBBH6s4s6s4s", frame, 14)
        assert fields[:4] == (1, IPV4, 6, 4)
        return cls(
            fields[4], mac_text(fields[5]), str(ipaddress.IPv4Address(fields[6])),
            mac_text(fields[7]), str(ipaddress.IPv4Address(fields[8])), mac_text(frame[:6]), when)

    @property
    def frame(self):
        return (mac_bytes(self.destination) + mac_bytes(self.sender_mac) + struct.pack("!H", ARP)
                + struct.pack("!HHBBH", 1, IPV4, 6, 4, self.operation)
                + mac_bytes(self.sender_mac) + ipaddress.IPv4Address(self.sender).packed
                + mac_bytes(self.target_mac) + ipaddress.IPv4Address(self.target).packed)

    @property
    def is_probe(self):
        return self.operation == REQUEST and self.sender == "0.0.0.0"


@dataclasses.dataclass(frozen=True)
class Datagram:
    """A datagram of Multicast DNS, to or from its port."""
    sender_mac: str
    source: str
    destination: str
    source_port: int
    destination_port: int
    hop_limit: int
    payload: bytes
    frame: bytes
    time: float = 0

    @classmethod
    def read(cls, frame, when):
        """The datagram in a frame; None for any other."""
        ether_type, = struct.unpack_from("!H", frame, 12)
        packet = frame[14:]
        if ether_type == IPV4 and packet[9] == socket.IPPROTO_UDP:
            start, hop_limit = (packet[0] & 15) * 4, packet[8]
            source, destination = packet[12:16], packet[16:20]
        elif ether_type == IPV6 and packet[6] == socket.IPPROTO_UDP:
            start, hop_limit = 40, packet[7]
            source, destination = packet[8:24], packet[24:40]
        else:
            return None
        source_port, destination_port, length, _ = struct.unpack_from("!HHHH", packet, start)
        if 5353 not in (source_port, destination_port):
            return None
        return cls(
            mac_text(frame[6:12]), str(ipaddress.ip_address(source)),
            str(ipaddress.ip_address(destination)), source_port, destination_port, hop_limit,
            packet[start + 8:start + length], frame, when)

    @property
    def is_response(self):
        return bool(self.payload[2] & 0x80)

    @property
    def is_probe(self):
        """Whether it asks for a name and says what would be published under it."""
        return not self.is_response and self.payload[8:10] != b"\0\0"

    @property
    def is_multicast(self):
        return ipaddress.ip_address(self.destination).is_multicast

    def has_address(self, address):
        """Whether a record has this IPv4 address for its data."""
        return b"\0\4" + ipaddress.IPv4Address(address).packed in self.payload


def _checksum(data):
    """The Internet's checksum (RFC 1071)."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Wire:
    """ARP packets, or others as `read` says, on the interface of a host. Everything heard stays in
    `heard`."""

    def __init__(self, host, ether_type=ARP, read=Arp.read, interface="eth0"):
        with inside(host.namespace):
            self.socket = socket.socket(
                socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ether_type))
            self.socket.bind((interface, ether_type))
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS: when it came in
        self.mac = mac_text(self.socket.getsockname()[4])
        self.heard, self.read = [], read

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, packet):
        self.socket.send(packet.frame)

    def send_datagram(self, payload, *, source, destination, source_port=5353, **wrong):
        """Sends a datagram of IPv4 to everybody who listens to the group; what of its header is
        wrong may be said: `udp_length`, `total_length`, `checksum`."""
        udp_length = wrong.get("udp_length", 8 + len(payload))
        addresses = ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed
        udp = struct.pack("!HHHH", source_port, 5353, udp_length, 0) + payload
        checksum = _checksum(addresses + struct.pack("!HH", 17, udp_length) + udp) or 0xFFFF
        udp = udp[:6] + struct.pack("!H", wrong.get("checksum", checksum)) + payload
        total = wrong.get("total_length", 20 + len(udp))
        header = struct.pack("!BBHHHBBH", 0x45, 0, total, 0, 0, 255, 17, 0) + addresses
        header = header[:10] + struct.pack("!H", _checksum(header)) + header[12:]
        group = mac_bytes("01:00:5e:00:00:fb")
        self.socket.send(group + mac_bytes(self.mac) + struct.pack("!H", IPV4) + header + udp)

    def claim(self, address):
        """Says by broadcast that the address is ours, as if it were."""
        self.send(Arp(REQUEST, self.mac, address, NOBODY, address))

    def ask(self, sender, target):
        self.send(Arp(REQUEST, self.mac, sender, NOBODY, target))

    async def _frame(self):
        """The next frame, and when it arrived if the system tells."""
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(BlockingIOError):
                frame, told, _, _ = self.socket.recvmsg(9_100, 100)
                seconds, nanoseconds = struct.unpack("qq", told[0][2]) if told else (0, 0)
                return frame, seconds + nanoseconds / 1e9
            readable = loop.create_future()
            loop.add_reader(self.socket, lambda: readable.done() or readable.set_result(None))
            try:
                await readable
            finally:
                loop.remove_reader(self.socket)

    async def next(self, is_wanted=lambda packet: True, timeout=limits.EVENT):
        """The next packet that is wanted."""
        async def wait():
            while True:
                packet = self.read(*await self._frame())
                if packet is None:
                    continue
                self.heard.append(packet)
                if is_wanted(packet):
                    return packet
        return await asyncio.wait_for(wait(), timeout)

    async def until_quiet(self, seconds):
        """Hears until there was nothing for so long."""
        with contextlib.suppress(asyncio.TimeoutError):
            while True:
                await self.next(timeout=seconds)


class Cable(Wire):
    """The Ethernet between a virtual machine and a test."""

    mac = "02:00:00:00:00:02"

    def __init__(self, folder):
        self.ends = folder / "theirs", folder / "ours"
        self.heard = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.ends[1]))
        self.socket.setblocking(False)

    def read(self, frame, when):
        ether_type, = struct.unpack_from("!H", frame, 12)
        return Arp.read(frame, when) if ether_type == ARP else Datagram.read(frame, when)

    def send(self, packet):
        self.socket.sendto(packet.frame, str(self.ends[0]))


def write_capture(path, packets):
    """Writes packets to a file that Wireshark opens."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for packet in packets:
            seconds = int(packet.time)
            length = len(packet.frame)
            file.write(struct.pack(
                "<IIII", seconds, int((packet.time - seconds) * 1e6), length, length))
            file.write(packet.frame)


def connect(server, server_address, client, client_address, port=4_000):
    """A TCP connection between two hosts: the sockets of the client and of the server."""
    with inside(server.namespace):
        listener = socket.create_server((server_address, port))
    with listener:
        with inside(client.namespace):
            ours = socket.create_connection(
                (server_address, port), limits.EVENT, source_address=(client_address, 0))
        theirs, _ = listener.accept()
    theirs.settimeout(limits.EVENT)
    return ours, theirs
