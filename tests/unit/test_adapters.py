"""What a partition promises of network adapters: judged in a sentence each, and written by detect."""

import importlib

import pytest
from reasons import said as sentences
from sysfs_tree import make

from linkmatrix.site import adapters as of_site
from linkmatrix.site import machine

ALL = {"number": 2, "rate": 400, "link_layer": "InfiniBand", "width": 16, "speed": 32}


def judge(record, promise):
    """The sentences of the check."""
    module = importlib.import_module("linkmatrix_checks.adapters")
    return sentences(module.adapter_faults(record, {"adapters": promise} if promise is not None else {}))


def port(name, node="node001", **changes):
    return {
        "name": name,
        "state": "ACTIVE",
        "physical_state": "LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": "InfiniBand",
        "numa": 0,
        "part": {},
        "place": {"node": node, "pci": "0000:18:00.0", "port": "1"},
        "interfaces": [{"name": "ib0", "state": "down"}],
        "pcie": {"speed": "32.0 GT/s PCIe", "width": "16", "speed_at_most": "32.0 GT/s PCIe", "width_at_most": "16"},
        "gpus": [],
    } | changes


@pytest.fixture
def record(make_record):
    content = make_record()
    content["adapters"] = [port("mlx5_0"), port("mlx5_1")]
    return content


def test_a_node_that_has_all_that_is_promised_has_no_fault(record):
    assert judge(record, ALL) == []
    assert judge(record, {"names": ["mlx5_1"]}) == []
    assert judge(record, [{"names": ["mlx5_0"], "rate": 400}, {"names": ["mlx5_1"], "state": "Active"}]) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"state": "DOWN", "physical_state": "Polling"}, "the state of {} is DOWN (Polling), expected is ACTIVE"),
        ({"rate": "100 Gb/sec (4X EDR)"}, "the rate of {} is 100 Gb/sec (4X EDR), expected is 400 Gb/s"),
        ({"link_layer": "Ethernet"}, "the link layer of {} is Ethernet, expected is InfiniBand"),
        ({"pcie": {"speed": "32.0 GT/s", "width": "8", "width_at_most": "16"}}, "the PCI width of {} is x8 of x16,"),
        ({"pcie": {"speed": "16.0 GT/s PCIe", "width": "16"}}, "the PCI speed of {} is 16.0 GT/s PCIe, expected is 32"),
    ],
)
def test_an_adapter_that_is_not_as_promised_is_named_with_its_place(record, change, sentence):
    record["adapters"][1] |= change
    (fault,) = judge(record, ALL)
    assert fault.startswith("node001: " + sentence.format("mlx5_1 (0000:18:00.0, ib0)"))


@pytest.mark.parametrize("lacks", ["state", "rate", "link_layer"])
def test_what_the_kernel_does_not_tell_keeps_no_promise(record, lacks):
    record["adapters"][0][lacks] = None
    (fault,) = judge(record, ALL)
    assert " is unknown, expected is " in fault


def test_an_adapter_that_is_missing_or_too_many_is_counted_and_one_without_rdma_is_none(record):
    ethernet = port("eno1", place={"node": "node001", "pci": "0000:04:00.0"})
    record["adapters"] = [record["adapters"][0], ethernet]
    assert judge(record, ALL) == ["node001 has 1 adapters (mlx5_0), expected are 2"]
    assert judge(record, {"names": ["mlx5_7"]}) == ["node001 has no adapter mlx5_7, only: mlx5_0, eno1"]
    assert judge(record, {"names": ["eno1"]}) == []
    record["adapters"] = [ethernet]
    assert judge(record, {"rate": 400}) == ["node001 has no RDMA adapter (/sys/class/infiniband): load its driver"]


def test_every_node_of_a_run_must_keep_the_promise(record):
    record["nodes"].append({**record["nodes"][0], "name": "node002"})
    record["adapters"] += [port("mlx5_0", "node002"), port("mlx5_1", "node002", state="INIT")]
    assert [fault.partition(":")[0] for fault in judge(record, ALL)] == ["node002"]
    record["nodes"].append({**record["nodes"][0], "name": "node003"})
    assert "node003 has 0 adapters (none), expected are 2" in judge(record, ALL)
    record["nodes"] = []
    assert judge(record, ALL)[0].startswith("the record does not contain the adapters")


def test_no_promise_is_a_fault_that_says_what_could_be_promised(record):
    (fault,) = judge(record, None)
    assert "write extras['adapters'], such as {'number': 2, 'rate': 400.0}" in fault
    assert judge(record, []) == [fault]


@pytest.mark.parametrize(
    ("promise", "sentence"),
    [
        ({"rates": 400}, "has the unknown key 'rates': use names, number, state, "),
        ("mlx5_0", "has the unknown key 'mlx5_0': use "),
        ({"rate": "400"}, "has rate='400': give a number"),
        ({"names": "mlx5_0"}, "has names='mlx5_0': give a list of distinct names"),
        ({"names": 5}, "has names=5: give a list of distinct names"),
        ({"names": ["mlx5_0,mlx5_1"]}, "give a list of distinct names"),
        ({"names": ["mlx5_0", "mlx5_0"]}, "give a list of distinct names"),
        ({"state": 4}, "has state=4: give the name that the kernel uses"),
        ({"number": -1}, "has number=-1: give a number"),
        ({"rate": float("nan")}, "has rate=nan: give a number"),
        ({"ratio": float("nan")}, "has ratio=nan: give a number above 0 and up to 1"),
        ({"at_once": 0}, "has at_once=0: give a number above 0 and up to 1"),
        ({"ratio": 95}, "has ratio=95: give a number above 0 and up to 1"),
    ],
)
def test_a_promise_that_cannot_be_read_is_one_sentence(record, promise, sentence):
    (fault,) = judge(record, promise)
    assert sentence in fault


def test_detect_promises_what_is_alike_and_active_and_says_what_is_not(tmp_path):
    ports = of_site.ports(make("dgx_h100_ib", tmp_path))
    common = {"state": "ACTIVE", "link_layer": "InfiniBand"}
    assert of_site.expected_adapters(ports) == [
        {
            "names": ["mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_9", "mlx5_10", "mlx5_11"],
            **common,
            **{"rate": 400, "width": 16, "speed": 32},
        },
        {"names": ["mlx5_1", "mlx5_7"], **common, "rate": 200, "width": 16, "speed": 32},
        {"names": ["mlx5_6"], **common, "rate": 400, "width": 8, "speed": 32},
    ]
    assert of_site.remarks(ports) == [
        "mlx5_2 is DOWN: extras['adapters'] does not contain this adapter",
        "mlx5_8 is DOWN: extras['adapters'] does not contain this adapter",
        "the PCI link of mlx5_6 has 8 of 16 lanes: check the slot",
    ]


@pytest.mark.parametrize("described", ["a100x8_roce", "workstation", "roce_bond", "mi250x8_bond", "h200x4_vm"])
def test_what_detect_writes_is_python_that_the_check_can_read(tmp_path, described):
    ports = of_site.ports(make(described, tmp_path))
    found = machine.Machine("n1", 8, 2, (), None, "local", "local", False, ports=tuple(ports))
    scope = {}
    exec(machine.system_file(found, "site", "cpu"), scope)
    (partition,) = scope["system"]["partitions"]
    active = [one for one in ports if one.state == "ACTIVE"]
    assert ("rdma" in partition["features"]) == bool(active)
    assert len(importlib.import_module("linkmatrix_checks.adapters").specified(partition["extras"])) == bool(active)
