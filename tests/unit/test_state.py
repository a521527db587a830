"""How GPUs are set is looked at before any figure: what differs is one sentence that names the device."""

import pytest
from reasons import said, verdicts

from linkmatrix.judge.device_state import state_faults, unequal_faults
from linkmatrix.judge.inventory_diff import equal_groups, node_differences

WELL = {
    "ecc": "on",
    "mig": "off",
    "fabric_state": "completed",
    "fabric_status": "0",
    "nvlinks_active": "18",
    "pcie_width": "16",
    "pcie_width_most": "16",
    "power_limit_enforced_w": "700",
    "remap_pending": "no",
    "pages_pending": "no",
}


@pytest.fixture
def found(make_record):
    """Faults of a record whose gpu2 has another state."""

    def faults(expected=None, **state):
        record = make_record()
        for device in record["devices"]:
            device["state"] = dict(WELL)
        gpu2 = record["devices"][2]["state"] | state
        record["devices"][2]["state"] = {name: fact for name, fact in gpu2.items() if fact is not None}
        return state_faults(record, expected)

    return faults


def test_what_is_well_is_no_fault(found):
    assert found(expected=WELL) == []


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"remap_pending": "yes"}, "gpu2: memory rows wait for remapping: reset the device"),
        ({"remap_failed": "yes"}, "gpu2: a memory row could not be remapped: ask the vendor for a replacement"),
        ({"pages_pending": "yes"}, "gpu2: memory pages wait for retirement: reset the device"),
        (
            {"fabric_state": "in progress", "fabric_status": None},
            "gpu2: its NVLink fabric is 'in progress', not 'completed': check the fabric manager",
        ),
        (
            {"fabric_status": "999"},
            "gpu2: its registration with the NVLink fabric ended with error 999: check the fabric manager",
        ),
        ({"fabric_route_unhealthy": "yes"}, "gpu2: a route of its NVLink fabric is not healthy"),
        ({"pcie_width": "8"}, "gpu2: its PCIe link uses 8 of 16 lanes"),
    ],
)
def test_what_is_never_well_needs_no_promise(found, state, sentence):
    assert said(found(**state)) == [sentence] and verdicts(found(**state)) == ["FAIL"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"ecc": "off"}, "gpu2: ecc is off, the partition specifies on"),
        ({"mig": "on"}, "gpu2: mig is on, the partition specifies off"),
        ({"power_limit_enforced_w": "500"}, "gpu2: power_limit_enforced_w is 500, the partition specifies 700"),
        ({"nvlinks_active": "17"}, "gpu2: nvlinks_active is 17, the partition specifies 18"),
        ({"ecc": None}, "gpu2: ecc is not known, the partition specifies on"),
    ],
)
def test_a_promise_is_not_kept_by_another_state_nor_by_silence(found, state, sentence):
    assert said(found(expected=WELL, **state)) == [sentence] and found(**state) == []
    assert verdicts(found(expected=WELL, **state)) == ["INCOMPLETE" if None in state.values() else "FAIL"]


def test_an_older_record_keeps_no_promise(make_record):
    assert state_faults(make_record(), None) == []
    assert len(state_faults(make_record(), {"ecc": "on"})) == 4


def test_a_promise_that_is_no_table_is_said(make_record):
    [fault] = state_faults(make_record(), ["ecc"])
    assert "must contain names and values" in fault.sentence and verdicts([fault]) == ["INCOMPLETE"]


def test_the_odd_one_is_named(make_record):
    record = make_record()
    for device in record["devices"]:
        device["part"]["vbios"] = "96.00.74" if device["label"] != "gpu3" else "96.00.61"
    expected = ("vbios", "driver")
    assert said(unequal_faults(record, expected)) == ["gpu3: vbios is 96.00.61, and 96.00.74 on 3 of 4"]
    assert verdicts(unequal_faults(record, expected)) == ["FAIL"]
    record["devices"][0]["part"]["vbios"] = ""
    assert said(unequal_faults(record, expected)) == ["gpu0: vbios is not known"]
    assert verdicts(unequal_faults(record, expected)) == ["INCOMPLETE"]


def of_node(make_record, node, vbios="96.00.74", driver="580.159.04", firmware="28.39"):
    record = make_record(host=node)
    record["software"]["driver"] = driver
    for device in record["devices"]:
        device["node"] = node
        device["part"]["vbios"] = vbios
    record["adapters"][0]["part"]["firmware"] = firmware
    return "alpha:gpu", record


def test_the_odd_node_of_a_partition_is_named(make_record):
    alike = [of_node(make_record, f"n{number}") for number in range(3)]
    assert node_differences(alike) == []
    odd = of_node(make_record, "n17", "96.00.61", "575.57", "28.38")
    assert node_differences([*alike, odd]) == [
        "n17: driver is 575.57, and 580.159.04 on 3 of 4",
        "n17: vbios of NVIDIA H200 is 96.00.61, and 96.00.74 on 3 of 4",
        "n17: firmware of its adapters is 28.38, and 28.39 on 3 of 4",
    ]
    assert node_differences([*alike, ("alpha:other", odd[1])]) == [], "another partition may have others"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda record: record["software"].update(CUDA="12.4"), "n17: CUDA is 12.4, and 13.0 on 3 of 4"),
        (lambda record: record["software"].update(NCCL="2.20.5"), ""),
        (
            lambda record: record["adapters"][0].update(rate="100 Gb/sec (4X EDR)"),
            "n17: link rate of its adapters is 100 Gb/sec (4X EDR), and 400 Gb/sec (4X NDR) on 3 of 4",
        ),
        (
            lambda record: record["devices"][2]["state"].update(nvlinks_active="17"),
            "n17: active NVLinks of NVIDIA H200 is 17 and 18, and 18 on 3 of 4",
        ),
        (
            lambda record: record["adapters"][0]["pcie"].update(width="8"),
            "n17: PCIe width of its adapters is 8, and 16 on 3 of 4",
        ),
        (
            lambda record: record["nodes"][0].update(bios="2.0a"),
            "n17: BIOS of X13DEG is 2.0a, and 2.1b on 3 of 4",
        ),
        (lambda record: record["nodes"][0].update(product="SYS-8"), "n17: product is SYS-8, and HGX on 3 of 4"),
        (lambda record: record["nodes"][0].update(bios=None), ""),
        (lambda record: record["nodes"][0].pop("bios"), ""),
    ],
)
def test_links_and_libraries_that_differ_are_named_and_make_groups(make_record, change, line):
    records = [of_node(make_record, node) for node in ("n0", "n1", "n2", "n17")]
    for _, record in records:
        record["adapters"][0]["pcie"] = {"speed": "32.0 GT/s PCIe", "width": "16"}
        record["nodes"][0] |= {"bios": "2.1b", "board": "X13DEG"}
        for device in record["devices"]:
            device["state"] = {"nvlinks_active": "18", "pcie_width": "16"}
    change(records[3][1])
    assert node_differences(records) == ([line] if line else [])
    groups = equal_groups(records)
    assert len({groups[node] for node in ("n0", "n1", "n2")}) == 1 and (groups["n17"] == groups["n0"]) == (not line)


def test_a_node_that_was_measured_in_fewer_environments_is_not_odd(make_record):
    both = [of_node(make_record, node) for node in ("n0", "n1", "n2") for _ in range(2)]
    for _, record in both[1::2]:
        record["software"]["CUDA"] = "12.4"
    assert node_differences([*both, of_node(make_record, "n3")]) == []
    other = of_node(make_record, "n3")
    other[1]["software"]["CUDA"] = "11.8"
    assert node_differences([*both, other]) == ["n3: CUDA is 11.8, and 12.4 and 13.0 on 3 of 4"]


def test_what_a_node_does_not_tell_is_no_difference(make_record):
    records = [of_node(make_record, f"n{number}") for number in range(3)]
    del records[1][1]["devices"][2]["part"]["vbios"]
    del records[2][1]["software"]["driver"]
    records[2][1]["nodes"][0]["kernel"] = None
    assert node_differences(records) == []
