import pathlib
import sys

import pytest_asyncio

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from radios import RADIOS  # noqa: E402


class Radio(str):
    """`host:port` of a radio that knows which sort it is."""

    kind: str


@pytest_asyncio.fixture(params=list(RADIOS))
async def radio(request):
    """Each sort of radio in turn."""
    async with RADIOS[request.param]() as address:
        radio = Radio(address)
        radio.kind = request.param
        yield radio
