import pathlib
import sys

import pytest_asyncio

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from radios import RADIOS  # noqa: E402


# Bumble's controllers know hosts by their random address only: a host that uses its public one, as
# ours does where it has one, is taken for 00:00:00:00:00:00 as soon as it sends data.
@pytest_asyncio.fixture(params=["ambit", "rootcanal"])
async def radio(request):
    """`host:port` of each radio that every host can use."""
    async with RADIOS[request.param]() as address:
        yield address


@pytest_asyncio.fixture(params=list(RADIOS))
async def any_radio(request):
    """`host:port` of each radio."""
    async with RADIOS[request.param]() as address:
        yield address
