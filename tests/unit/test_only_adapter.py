"""Where one adapter carried all that the ranks of a node moved, it is that of all its devices, whichever is nearest."""

from itertools import permutations, product

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References

RANKS = "rank_to_rank_bandwidth_mpi"
NODES, EACH = ("n1", "n2", "n3", "n4"), 4
TABLE = {"cell[NET]": Reference(24.0, -0.05, 0.1, "GB/s"), "cell[NODE]": Reference(96.0, -0.05, 0.1, "GB/s")}


def place(node, more):
    return {"node": node, **more}


@pytest.fixture
def said(make_record):
    """A function that returns what is said of 4 GPUs on each of 4 nodes, each with a NIC beside it, while mlx5_0 alone
    carried all (UCX_NET_DEVICES=mlx5_0:1): some of the devices are 30 % slow between nodes.
    """

    def say(slow):
        ends = [(node, f"{node}:gpu{at}", at) for node, at in product(NODES, range(EACH))]
        labels = [label for _, label, _ in ends]
        content = make_record(count=len(labels))
        (result,) = content["results"]
        content["backend"] = result["engine"] = result["transport"] = "mpi"
        result.update(testcase=RANKS, rows=labels, columns=labels, size_bytes=1 << 20)
        for r, c in permutations(range(len(labels)), 2):
            net = ends[r][0] != ends[c][0]
            value = (24.0 if net else 96.0) * (0.7 if net and {labels[r], labels[c]} & slow else 1.0)
            result["link_class"][r][c], result["limit"][r][c] = "NET" if net else "NODE", None
            for grid in ("values", "low", "high"):
                result[grid][r][c] = value * (1 + 0.0005 * ((7 * r + 13 * c) % 5 - 2))
        content["devices"] = [
            {"index": number, "label": label, "name": "GPU", "uuid": f"GPU-{label}", "pci": f"0000:1{at}:00.0"}
            | {"node": node, "numa": at // 2, "nics": [f"mlx5_{at}"], "part": {}, "place": place(node, {})}
            for number, (node, label, at) in enumerate(ends)
        ]
        content["adapters"] = [
            {"name": f"mlx5_{at}", "gpus": [], "state": "ACTIVE", "rate": None, "link_layer": None, "numa": at // 2}
            | {"part": {}, "place": place(node, {"port": "1"})}
            for node, at in product(NODES, range(EACH))
        ]
        content["topology"]["labels"] = labels
        uses = [
            {"label": node, "of": of, "counted": 20.1e9, "own": 20e9, "by": "mlx5_0"}
            for node, of in product(NODES, ("net_out", "net_in"))
        ]
        seen = {"seconds": 10.0, "shared": False, "uses": uses, "nodes": [], "processes": [], "untold": []}
        result["others"] = seen
        reading.check(content)
        matrix = evaluate(content, References({("cluster", RANKS): TABLE}), "cluster").matrices[0]
        (sentence,) = diagnosis.diagnose(content, result, matrix).sentences
        return sentence

    return say


def test_a_device_that_is_slow_is_not_the_adapter_that_carries_the_others_data_at_full_speed(said):
    assert "check this NIC" not in said({"n1:gpu0"})


def test_the_adapter_that_carried_all_of_a_node_is_named_where_all_of_it_is_slow(said):
    assert "mlx5_0 of n1" in said({f"n1:gpu{at}" for at in range(EACH)})


def test_a_device_far_from_the_adapter_that_carried_all_has_a_slow_way_to_it(said):
    """Its own adapter, mlx5_3, carried nothing: it cannot be what is slow."""
    sentence = said({"n1:gpu3"})
    assert "n1:gpu3" in sentence and "PCIe path to mlx5_0" in sentence and "mlx5_3" not in sentence
