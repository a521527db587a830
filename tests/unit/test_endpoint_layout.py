"""Which adapters, sockets, PCIe switches and rails endpoints are behind, as their record says."""

from itertools import permutations, product

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis, families, layout
from linkmatrix.locate.layout import layout_of
from linkmatrix.record import reading
from linkmatrix.record.matrix import from_result
from linkmatrix.references.tables import Reference, References


def port(node, name, state="ACTIVE", gpus=(), link_class="PXB"):
    near = [{"pci": pci, "link_class": link_class, "bridges": 2, "nearest": True} for pci in gpus]
    return {
        "name": name,
        "state": state,
        "rate": None,
        "link_layer": None,
        "numa": 0,
        "part": {},
        "place": {"node": node, "port": "1"},
        "gpus": near,
    }


@pytest.fixture
def nodes(make_record):
    """Two nodes of four devices, each pair of which is near to one adapter."""
    content = make_record(count=8)
    for device in content["devices"]:
        node, index = divmod(device["index"], 4)
        device.update(node=f"n{node}", numa=index // 2, pci=f"0000:{index:02x}:00.0", nics=[f"mlx5_{index // 2}"])
    for r in range(8):
        for c in range(8):
            if r // 4 != c // 4:
                content["results"][0]["link_class"][r][c] = "NET"
    return content


def laid_out(content):
    return layout_of(content, content["results"][0], from_result(content["results"][0]))


def test_an_adapter_that_is_down_carries_nothing(nodes):
    for device in nodes["devices"]:
        device["nics"] = ["mlx5_0", "mlx5_1"]
    nodes["adapters"] = [port("n0", "mlx5_0", "DOWN"), port("n0", "mlx5_1"), port("n1", "mlx5_0", None)]
    layout, names = laid_out(nodes)
    assert names.near["gpu0"] == ("mlx5_1",) and names.near["gpu4"] == ("mlx5_0", "mlx5_1")
    assert names.nics == ["mlx5_1 of n0"] and names.parts["nics"] == ["mlx5_0, mlx5_1 of n1"]
    assert layout.row_nic.tolist() == [0, 0, 0, 0, -1, -1, -1, -1]


def used(content, by, counted=1.01, own=1e9):
    """What adapters of both nodes counted, n0 by those that `by` says."""
    uses = [
        {"label": node, "of": of, "counted": own and counted * own, "own": own, "by": by if node == "n0" else ""}
        for node in ("n0", "n1")
        for of in ("net_out", "net_in")
    ]
    seen = {"seconds": 1.0, "shared": None, "uses": uses, "nodes": [], "processes": [], "untold": []}
    content["results"][0]["others"] = seen


@pytest.mark.parametrize(
    ("by", "near"),
    [
        ("mlx5_0", ("mlx5_0",)),
        ("eth0, mlx5_1", ("mlx5_1",)),
        ("mlx5_1:2", ("mlx5_1",)),  # a port of it
        ("ens1", ("mlx5_0",)),  # an interface of it
        ("bond0", ("mlx5_1",)),  # what its interface is a part of
        ("eth0", ()),  # the data went by another way
        ("", ("mlx5_0", "mlx5_1")),
    ],
)
def test_an_adapter_that_carried_nothing_is_never_named(nodes, by, near):
    for device in nodes["devices"]:
        device["nics"] = ["mlx5_0", "mlx5_1"]
    nodes["adapters"] = [port("n0", "mlx5_0"), port("n0", "mlx5_1"), port("n0", "mlx5_1")]
    nodes["adapters"][0]["interfaces"] = [{"name": "ens1", "state": "up"}]
    nodes["adapters"][1]["interfaces"] = [{"name": "ens2", "state": "up", "bond": "bond0"}]
    nodes["adapters"][2]["place"]["port"] = "2"
    used(nodes, by)
    _, names = laid_out(nodes)
    assert names.near["gpu0"] == near and names.near["gpu4"] == ("mlx5_0", "mlx5_1")


@pytest.mark.parametrize(("counted", "own"), [(0.5, 1e9), (0, 1e9), (1.0, None), (1.0, 0)])
def test_where_adapters_did_not_count_all_that_ranks_moved_another_one_may_have_carried_it(nodes, counted, own):
    used(nodes, "mlx5_1", counted, own)
    assert laid_out(nodes)[1].near["gpu0"] == ("mlx5_0",)


def test_devices_that_reach_an_adapter_without_a_host_bridge_share_a_switch(nodes):
    pcis = [f"0000:{index:02x}:00.0" for index in range(4)]
    nodes["adapters"] = [
        port("n0", "mlx5_0", gpus=pcis[:3]),
        port("n0", "mlx5_1", gpus=pcis[2:]),
        port("n1", "mlx5_0", gpus=pcis, link_class="NODE"),
    ]
    layout, names = laid_out(nodes)
    assert layout.places("switch")[0].tolist() == [0, 0, 0, 1, -1, -1, -1, -1]
    assert names.parts["switch"] == ["the PCIe switch of mlx5_0 of n0", "the PCIe switch of mlx5_1 of n0"]


def test_a_rail_is_of_adapters_with_the_same_place_and_of_devices_where_those_are_not_known(nodes):
    layout, _ = laid_out(nodes)
    assert layout.row_rail.tolist() == [0, 0, 1, 1] * 2
    nodes["devices"][0]["nics"] = []
    assert laid_out(nodes)[0].row_rail.tolist() == [0, 1, 2, 3] * 2


def test_a_part_that_has_the_endpoints_of_another_is_no_second_hypothesis(nodes):
    kinds = [family.kind for family in families.families(laid_out(nodes)[0])]
    assert "socket" in kinds and "switch" not in kinds and "leaf" not in kinds and "nics" not in kinds
    assert "network" in kinds  # two devices share an adapter
    for device in nodes["devices"]:
        device["nics"], device["numa"] = [f"mlx5_{device['index'] % 4}"], 0
    kinds = [family.kind for family in families.families(laid_out(nodes)[0])]
    assert "nic" in kinds and "network" not in kinds and "socket" not in kinds


def test_leaves_are_those_that_the_record_names_also_of_nodes(nodes):
    for device in nodes["devices"]:
        device["place"] = {"leaf": f"leaf{device['index'] // 4}"}
    layout, names = laid_out(nodes)
    assert layout.places("uplink")[0].tolist() == [0] * 4 + [1] * 4 and names.parts["leaf"] == ["leaf0", "leaf1"]
    assert not families.is_hypothesis(layout, "leaf")  # a leaf of one node is that node
    for name in ("values", "status", "low", "high", "limit", "samples", "converged", "link_class"):
        nodes["results"][0][name] = [row[:2] for row in nodes["results"][0][name][:2]]
    nodes["results"][0]["rows"] = nodes["results"][0]["columns"] = ["n1", "n0"]
    layout, _ = laid_out(nodes)
    assert layout.of_nodes and layout.places("leaf")[0].tolist() == [1, 0] and set(layout.parts) == {"leaf"}


def test_parts_are_numbered_as_devices_come():
    devices = [{"label": name} for name in "abcd"]
    found = layout.number_components(devices, lambda device: {"b": "x", "c": "y", "d": "x"}.get(device["label"], ""))
    assert (found.of, found.names) == ({"a": -1, "b": 0, "c": 1, "d": 0}, ["x", "y"])


RANKS = "rank_to_rank_bandwidth_mpi"
NODES, EACH = ("n1", "n2", "n3", "n4"), 4
TABLE = {"cell[NET]": Reference(24.0, -0.05, 0.1, "GB/s"), "cell[NODE]": Reference(96.0, -0.05, 0.1, "GB/s")}


def place(node, more):
    return {"node": node, **more}


@pytest.fixture
def said(make_record):
    """A function that returns the diagnosis of 4 nodes with 4 GPUs and 4 adapters each.

    Some GPUs are 30 % slow between nodes. Only mlx5_0 carried data (UCX_NET_DEVICES=mlx5_0:1).
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
