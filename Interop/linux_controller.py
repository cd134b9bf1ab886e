"""Fixtures: a virtual machine whose controller is on one of our simulated radios, attached to its
kernel as a UART's is. Each module has a machine of its own: it takes longer to start than the tests
take."""

import asyncio

import pytest_asyncio

from linux_guest import RADIO_LINE, RECONNECT_SECONDS, linux_guest
from radios import ambit_radio

module_fixture = pytest_asyncio.fixture(loop_scope="module", scope="module")


@module_fixture
async def radio():
    """`host:port` of the radio with the ready-made devices. A link that fails to be established
    (0x3E) crashes bluetoothd 5.66 and l2test now and then; here none does."""
    async with ambit_radio("sim:lossless") as address:
        yield address


@module_fixture
async def bare_guest(radio, tmp_path_factory):
    """The machine, its controller as it comes and goes."""
    async with linux_guest(radio, tmp_path_factory.mktemp("guest")) as guest:
        yield guest


@pytest_asyncio.fixture(loop_scope="module")
async def guest(bare_guest):
    """The machine, with hci0 down."""
    await attach(bare_guest)
    yield bare_guest


async def attach(guest):
    """Plugs the controller in, unless it is, and leaves it down: free for whoever wants it."""
    if "hci0" not in await guest.run("hciconfig"):
        await guest.run(f"btattach -B {RADIO_LINE} -P h4 >/tmp/btattach 2>&1 &")
        # The kernel switches it on by itself, sets it up and then tells bluetoothd of it. Whoever
        # switches it on before it has begun takes that from it, and bluetoothd is never told.
        await guest.until("hciconfig hci0", r"(UP|DOWN)( RUNNING)? *\n\s+RX bytes:[1-9]")
        # Up first: what was down all the time may still be in the kernel's hands, who looks at it.
        await guest.until("hciconfig hci0 up && hciconfig hci0", "UP RUNNING")
    await guest.run("hciconfig hci0 down")


async def detach(guest):
    await guest.run("kill $(pidof btattach)")
    await guest.until("hciconfig; echo end", "^end")
    # Our controller still talks to its strap, and what it says would be echoed by a line that is
    # nobody's yet. So it is made to hang up, by a byte that starts no packet; QEMU gets a fresh one.
    await guest.run(f"printf '\\377' >{RADIO_LINE}")
    await asyncio.sleep(3 * RECONNECT_SECONDS)
