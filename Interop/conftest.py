import pathlib
import sys

import pytest_asyncio

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from radios import RADIOS  # noqa: E402


@pytest_asyncio.fixture(params=list(RADIOS))
async def radio(request):
    """`host:port` of each sort of radio in turn."""
    async with RADIOS[request.param]() as address:
        yield address
