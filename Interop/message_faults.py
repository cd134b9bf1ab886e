"""Prints the table of faults; Interop/message-faults explains."""

import argparse
import asyncio
import logging
import pathlib
import sys
import tempfile

import xmpp_faults
import xmpp_server
from xmpp_cluster import cluster

# The time from the end of the last fault to the next message.
RECOVERY_MAX = 3


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", choices=("prosody", "ejabberd", "cluster"), default="prosody")
    parser.add_argument("--client", choices=tuple(xmpp_faults.SUBJECTS), action="append")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    results = []
    for subject in options.client or xmpp_faults.SUBJECTS:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            start = cluster if options.server == "cluster" else getattr(xmpp_server, options.server)
            server = start(folder / "server", "ann", "bob")
            async with server as running:
                results.append(await xmpp_faults.run(
                    subject, running, folder, options.messages, options.seed, each_last=True))
        print(results[-1], file=sys.stderr, flush=True)
    print(xmpp_faults.table(results))
    return any(
        result.lost or result.doubled or result.disordered or not result.recovers(RECOVERY_MAX)
        for result in results if result.subject == "Ambit")


sys.exit(asyncio.run(main()))
