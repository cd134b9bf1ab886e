#!/usr/bin/env python3
"""Brings the tables of assigned numbers up to date with the Bluetooth SIG's public lists.

usage: scripts/assigned-numbers.py CHECKOUT [--rename]

CHECKOUT is a clone of the SIG's public repository (bitbucket.org/bluetooth-SIG/public). Numbers that
the tables lack are added. A name that is there stays, because people type names and tests know them;
with --rename it becomes the SIG's. What the SIG does not list stays too: UUIDs of 128 bits that
makers publish, and numbers that it withdrew.
"""

import json
import pathlib
import re
import sys

TABLES = pathlib.Path(__file__).resolve().parent.parent / (
    "Sources/Bluetooth/BluetoothWire/AssignedNumbers")


def scalar(text):
    """A scalar as these lists write it: plain, in single or in double quotes."""
    text = text.strip()
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text.startswith('"'):
        return json.loads(re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", text))
    return text


def entries(path, *keys):
    """The items of a YAML list of flat mappings: for each `- key: number`, key, number and name."""
    number = re.compile(rf"\s*- ({'|'.join(keys)}): *['\"]?0x([0-9A-Fa-f]+)")
    name = re.compile(r"\s*name: *(.+)")
    found = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := number.match(line):
            found = match.group(1), int(match.group(2), 16)
        elif found and (match := name.match(line)):
            yield *found, scalar(match.group(1))
            found = None
    assert found is None, f"{path}: an entry without a name"


def uuids(checkout, *names):
    folder = checkout / "assigned_numbers/uuids"
    return {n: name for file in names for _, n, name in entries(folder / f"{file}.yaml", "uuid")}


def companies(checkout):
    path = checkout / "assigned_numbers/company_identifiers/company_identifiers.yaml"
    return {number: name for _, number, name in entries(path, "value")}


def appearances(checkout):
    path = checkout / "assigned_numbers/core/appearance_values.yaml"
    category, found = 0, {}
    for key, number, name in entries(path, "category", "value"):
        if key == "category":
            category = number << 6
            found[category] = name
        # The first subcategory of most says no more than "Generic".
        elif number > 0:
            found[category | number] = name
    return found


def update(file, table, listed, renames):
    path = TABLES / file
    before, rest = path.read_text(encoding="utf-8").split(f'static let {table} = #"""\n', 1)
    block, after = rest.split('    """#\n', 1)
    rows = dict(line.strip().split(" ", 1) for line in block.splitlines())
    old = dict(rows)
    for number, name in listed.items():
        key = f"{number:04X}"
        rows[key] = " ".join(name.split()) if renames else rows.get(key, " ".join(name.split()))
    block = "".join(f"    {key} {rows[key]}\n" for key in sorted(rows))
    path.write_text(
        f'{before}static let {table} = #"""\n{block}    """#\n{after}', encoding="utf-8")
    changed = sum(1 for key, name in rows.items() if old.get(key) != name)
    print(f"{table}: {len(rows)} rows, {changed} new or renamed")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--rename"]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__.strip())
    checkout, renames = pathlib.Path(arguments[0]), "--rename" in sys.argv
    update(
        "AttributeTable.swift", "serviceRows",
        uuids(checkout, "member_uuids", "sdo_uuids", "service_uuids"), renames)
    update(
        "AttributeTable.swift", "characteristicRows", uuids(checkout, "characteristic_uuids"),
        renames)
    update("AttributeTable.swift", "descriptorRows", uuids(checkout, "descriptors"), renames)
    update("CompanyTable.swift", "companyRows", companies(checkout), renames)
    update("AppearanceTable.swift", "appearanceRows", appearances(checkout), renames)


main()
