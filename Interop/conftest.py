import pathlib
import sys

import pytest
import pytest_asyncio

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from network import network  # noqa: E402
from radios import RADIOS  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keeps the tests of a file in one process where they share a virtual machine or what was compiled."""
    for item in items:
        if item.path.name in (
            "test_linux_kernel.py", "test_bluez.py", "test_bluez_central.py", "test_waking.py", "test_dns_sd.py",
            "test_hub_service.py",
        ):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(autouse=True)
def bonds(tmp_path, monkeypatch):
    """The file of bonds of `ambit`: one for each test, and none of the user's."""
    path = tmp_path / "bonds"
    monkeypatch.setenv("AMBIT_BONDS", str(path))
    return path


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    """Keeps programs from the hub of this machine."""
    monkeypatch.setenv("AMBIT_HUB", "off")


@pytest_asyncio.fixture(params=list(RADIOS))
async def radio(request, monkeypatch):
    """`host:port` of each radio."""
    if request.param == "bumble":
        # Bumble's controllers know hosts by their random address only: one that uses its public
        # one, as ours does where it has one, is taken for 00:00:00:00:00:00 when it sends data.
        monkeypatch.setenv("AMBIT_ADDRESS", "C4:A3:B1:70:00:01")
    async with RADIOS[request.param]() as address:
        yield address


@pytest_asyncio.fixture
async def hosts():
    """Two hosts on one Ethernet: ours and theirs."""
    async with network(2) as hosts:
        yield hosts
