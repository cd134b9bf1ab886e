"""`ambit capture` as a live source of Wireshark: tshark finds it among its interfaces and captures from it."""

import asyncio
import os
import re
import shutil
import stat
import subprocess

import limits
from debian_programs import unavailable
from radios import AMBIT, end


async def test_tshark_captures_live_from_ambit(tmp_path):
    if shutil.which("tshark") is None:
        unavailable("There is no tshark.")
    folder = tmp_path / "extcap"
    folder.mkdir()
    script = folder / "ambit"
    script.write_text(f'#!/bin/sh\nexec {AMBIT} capture "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment = {
        **os.environ, "WIRESHARK_EXTCAP_DIR": str(folder), "AMBIT_RADIO": "sim", "AMBIT_HUB": "off",
        "HOME": str(tmp_path),
    }

    prefix = []
    if os.geteuid() == 0:
        # With privileges the variable is ignored: the folder takes the place of the system's, for tshark alone.
        folders = subprocess.run(
            ["tshark", "-G", "folders"], check=True, capture_output=True, text=True).stdout
        system = re.search(r"^Extcap path:\s+(\S+)", folders, re.MULTILINE)[1]
        script = 'mount --bind "$0" "$1" && shift && exec "$@"'
        prefix = ["unshare", "--mount", "sh", "-c", script, str(folder), system]

    async def tshark(*arguments):
        return await asyncio.create_subprocess_exec(
            *prefix, "tshark", *arguments, env=environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL)

    interfaces = await tshark("-D")
    try:
        listed, _ = await asyncio.wait_for(interfaces.communicate(), limits.EVENT)
    finally:
        await end(interfaces)
    assert "ambit (Bluetooth LE (Ambit))" in listed.decode()
    # While it runs, a line for each packet; it ends by itself after some, and ends its source.
    capture = await tshark(
        "-i", "ambit", "-c", "60", "-l", "-T", "fields", "-e", "frame.protocols",
        "-e", "hci_h4.direction", "-e", "bthci_evt.le_meta_subevent", "-e", "_ws.malformed")
    try:
        output, _ = await asyncio.wait_for(capture.communicate(), limits.EVENT)
    finally:
        await end(capture)
    packets = [line.split("\t") for line in output.decode().splitlines()]
    assert len(packets) == 60
    assert {direction for _, direction, _, _ in packets} == {"0x00", "0x01"}
    assert any("bthci_cmd" in protocols for protocols, _, _, _ in packets)
    # LE Advertising Report, or its extended form (Core 5.4, Vol 4, Part E, §7.7.65).
    assert any(event in ("0x02", "0x0d") for _, _, event, _ in packets)
    assert all(malformed == "" for _, _, _, malformed in packets)
