"""The metrics of a hub, read by the parser of Prometheus' own library for Python."""

import asyncio
import json

from prometheus_client.parser import text_string_to_metric_families

import limits
from radios import AMBIT, end


async def scrape(path):
    """The head and the body of the answer at a socket."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: hub\r\nAccept: */*\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), limits.EVENT)
    writer.close()
    head, body = answer.decode().split("\r\n\r\n", 1)
    return head, body


async def test_metrics(tmp_path):
    path = str(tmp_path / "hub")
    hub = await asyncio.create_subprocess_exec(
        AMBIT, "hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json",
        stdout=asyncio.subprocess.PIPE)
    try:
        line = await asyncio.wait_for(hub.stdout.readline(), limits.EVENT)
        assert json.loads(line)["event"] == "serving"
        # A busy machine may end a connection before it is answered.
        while True:
            head, body = await scrape(path + ".metrics")
            if head.startswith("HTTP/1.0 200 "):
                break
        families = {family.name: family for family in text_string_to_metric_families(body)}
        assert all(family.documentation for family in families.values())
        assert {family.type for family in families.values()} == {"counter", "gauge"}
        assert families["ambit_hub_programs"].samples[0].value == 0
        # The parser takes the suffix off a counter.
        assert families["ambit_hub_requests"].type == "counter"
        states = {
            sample.labels["state"]: sample.value
            for sample in families["ambit_hub_radio_state"].samples
        }
        assert sum(states.values()) == 1
        reasons = [sample.labels for sample in families["ambit_hub_refused_connections"].samples]
        assert {"reason": "denied"} in reasons
    finally:
        await end(hub)
