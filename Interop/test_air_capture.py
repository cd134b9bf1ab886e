"""A capture of the simulated air: ciphertext, which opens in Wireshark with the key of the bond."""

import asyncio
import contextlib
import json
import re
import shutil

import pytest
from bumble.device import Peer
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

import limits
from ambit_cli import Ambit
from bumble_peers import bumble_central, characteristics, find
from debian_programs import unavailable
from radios import AMBIT, end
from test_our_peripheral import DATABASE
from test_our_peripheral import ENCRYPTED as OURS
from test_pairing import Person, pairs


@contextlib.asynccontextmanager
async def recorded_radio(path):
    process = await asyncio.create_subprocess_exec(
        AMBIT, "radio", "serve", "tcp:127.0.0.1:0", "--json", "--radio", "sim:empty",
        "--air-capture", str(path), stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), limits.EVENT)
        yield json.loads(line)["radio"].removeprefix("tcp:")
    finally:
        await end(process)


async def run(*command):
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def tshark(path, *options):
    """The lines that tshark prints of a capture."""
    if shutil.which("tshark") is None:
        unavailable("There is no tshark.")
    return (await run("tshark", "-r", str(path), *options)).splitlines()


def link_packets(path):
    """Direction and PDU of each packet, as libpcap's type 256 has them."""
    data = path.read_bytes()
    assert data[:4] == b"\xd4\xc3\xb2\xa1" and data[20:24] == (256).to_bytes(4, "little")
    position = 24
    while position < len(data):
        length = int.from_bytes(data[position + 8:position + 12], "little")
        record = data[position + 16:position + 16 + length]
        position += 16 + length
        flags = int.from_bytes(record[8:10], "little")
        yield flags & 0x0380 == 0x0100, record[14:-3]


def decrypted(packets, key):
    """Decrypts without Ambit (Core 5.4, Vol 6, Part E); the payloads of the first session."""
    halves, session, counters, sequence, payloads = {}, None, {True: 0, False: 0}, {}, []
    for to_peripheral, pdu in packets:
        # What has something to say may come in the place of an empty packet.
        is_new = sequence.get(to_peripheral) != (pdu[0] & 8, pdu[2:])
        sequence[to_peripheral] = (pdu[0] & 8, pdu[2:])
        if len(pdu) == 2 or not is_new:
            continue
        if session is None:
            if pdu[0] & 3 == 3 and pdu[2] == 3:
                halves["central"] = (pdu[13:21], pdu[21:25])
            elif pdu[0] & 3 == 3 and pdu[2] == 4:
                halves["peripheral"] = (pdu[3:11], pdu[11:15])
            elif pdu[0] & 3 == 3 and pdu[2] == 5:
                diversifier = (halves["central"][0] + halves["peripheral"][0])[::-1]
                encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
                session = encryptor.update(diversifier)
            continue
        nonce = (counters[to_peripheral] | to_peripheral << 39).to_bytes(5, "little") + (
            halves["central"][1] + halves["peripheral"][1])
        counters[to_peripheral] += 1
        ccm = AESCCM(session, tag_length=4)
        payloads.append(ccm.decrypt(nonce, pdu[2:], bytes([pdu[0] & 0xE3])))
    return payloads


@pytest.mark.asyncio
async def test_the_air_is_ciphertext_that_opens_with_the_key(bonds, tmp_path):
    air, plain = tmp_path / "air.pcap", tmp_path / "plain.pcap"
    file = tmp_path / "server.json"
    file.write_text(json.dumps(DATABASE))
    async with recorded_radio(air) as radio:
        async with Ambit(radio).running("peripheral", str(file)) as next_event:
            await next_event("advertising")
            async with bumble_central(radio) as central:
                completed = pairs(central, Person())
                connection = await central.connect(await find(central, "Server"))
                await asyncio.wait_for(connection.pair(), limits.EVENT)
                table = await characteristics(Peer(connection))
                assert await table[OURS].read_value() == b"secret"
                await completed.reach(1)
                await connection.disconnect()
    packets = list(link_packets(air))
    assert len(packets) > 50
    assert not any(b"secret" in pdu for _, pdu in packets)
    # Another implementation, given the key, finds the value.
    key = bytes.fromhex(re.search(r"peripheral-ltk=(\w+)", bonds.read_text())[1])
    assert any(b"secret" in payload for payload in decrypted(packets, key))
    # Without the key Wireshark sees neither the value nor attributes of the encrypted part.
    before = await tshark(air, "-Y", f'btatt.value contains "secret"')
    assert before == []
    await run(AMBIT, "bonds", "decrypt", str(air), str(plain))
    assert plain.stat().st_mode & 0o777 == 0o600
    after = await tshark(
        plain, "-Y", 'btatt.value contains "secret"', "-T", "fields", "-e", "btatt.opcode")
    assert after == ["0x0b"]
    assert await tshark(plain, "-Y", "btsmp") and not await tshark(plain, "-Y", "_ws.malformed")
    other = tmp_path / "other.pcap"
    await run(AMBIT, "bonds", "decrypt", str(air), str(other), "--key", "00" * 16)
    assert await tshark(other, "-Y", 'btatt.value contains "secret"') == []
