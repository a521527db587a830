"""Simulated records of ranks on several nodes. Each rank's device is the memory of its node."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any


def of_ranks(
    make_record: Callable[..., dict[str, Any]],
    nodes: Sequence[str],
    ranks: int,
    by_node: bool,
    value: Callable[[str, str], float],
) -> dict[str, Any]:
    """A record of `ranks` ranks per node, with one matrix between the nodes or between the ranks.

    value: GB/s between nodes and inside a node.
    """
    places = [node for node in nodes for _ in range(ranks)]
    labels = [f"{node}:rank{number}" for number, node in enumerate(places)]
    ends, of_end = (list(nodes), list(nodes)) if by_node else (labels, places)
    content = make_record(count=len(ends))
    (result,) = content["results"]
    content["backend"] = result["engine"] = result["transport"] = "mpi"
    testcase = "node_to_node_bandwidth_mpi" if by_node else "rank_to_rank_bandwidth_mpi"
    result.update(testcase=testcase, rows=ends, columns=ends, memory="host")
    for r, c in permutations(range(len(ends)), 2):
        result["link_class"][r][c] = "NODE" if of_end[r] == of_end[c] else "NET"
        measured = value(of_end[r], of_end[c])
        for grid in ("values", "low", "high"):
            result[grid][r][c] = measured
    content["devices"] = [
        {"index": number, "label": label, "name": "host memory", "uuid": None, "pci": None, "node": node}
        | {"numa": 0, "nics": [], "part": {}, "place": {"node": node}}
        for number, (label, node) in enumerate(zip(labels, places, strict=True))
    ]
    content["topology"] = {**make_record(count=len(labels))["topology"], "labels": labels}
    return content
