"""Messages of ours through two nodes of ejabberd that are one server."""

import xmpp_faults
from xmpp_cluster import cluster


async def test_a_node_that_is_killed_and_a_split_that_an_operator_ends_lose_nothing(tmp_path):
    async with cluster(tmp_path / "cluster", "ann", "bob") as server:
        result = await xmpp_faults.run(
            "Ambit", server, tmp_path, count=300, seed=1, kinds=("node", "netsplit"), fault_count=3)
    assert (result.lost, result.doubled, result.disordered) == (0, 0, 0), result
