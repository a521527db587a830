"""What a check says of a run that is not as promised: the judging code of checks/, on small records."""

from dataclasses import dataclass, field
from itertools import permutations

import pytest

from checks import expect, variables

PROMISE = expect.Promise(devices=3, model="NVIDIA H200", link_class="NV18", peer_access=True, hops=1)


def square(n, value, diagonal):
    return [[diagonal if row == column else value for column in range(n)] for row in range(n)]


@pytest.fixture
def record():
    """Three GPUs as PROMISE has them."""
    labels = ["gpu0", "gpu1", "gpu2"]
    return {
        "host": {"name": "node1"},
        "devices": [{"label": label, "name": "NVIDIA H200"} for label in labels],
        "topology": {
            "labels": labels,
            "link_class": square(3, "NV18", "X"),
            "peer_access": square(3, True, False),
            "min_path": square(3, 1, 0),
        },
    }


@dataclass
class Printed:
    """A printed table, as far as the checks read it."""

    testcase: str = "t"
    title: str = "bandwidth"
    unit: str = "GB/s"
    cells: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    columns: list = field(default_factory=list)


def test_a_machine_as_promised_has_no_faults(record):
    assert expect.device_faults(record, PROMISE) + expect.path_faults(record, PROMISE) == []


def test_a_missing_device_is_counted(record):
    record["devices"].pop()
    assert expect.device_faults(record, PROMISE) == ["the partition promises 3 GPUs, node1 has gpu0, gpu1"]


def test_another_model_is_named(record):
    record["devices"][1]["name"] = "NVIDIA H100"
    assert expect.device_faults(record, PROMISE) == ["gpu1 is 'NVIDIA H100', the partition promises 'NVIDIA H200'"]


def test_a_partition_that_counts_no_devices_fails_closed(record):
    assert "does not say how many GPUs" in expect.device_faults(record, expect.Promise())[0]


@pytest.mark.parametrize(
    "table, value, sentence",
    [
        ("link_class", "PHB", "gpu0->gpu2: link class is PHB, promised is NV18"),
        ("link_class", "", "gpu0->gpu2: link class is unknown, promised is NV18"),
        ("peer_access", False, "gpu0->gpu2: peer access is off, promised is on"),
        ("peer_access", None, "gpu0->gpu2: peer access is unknown, promised is on"),
        ("min_path", 2, "gpu0->gpu2: the shortest path in hops is 2, promised is 1"),
        ("min_path", None, "gpu0->gpu2: the shortest path in hops is unknown, promised is 1"),
    ],
)
def test_a_pair_that_is_not_as_promised_is_named(record, table, value, sentence):
    record["topology"][table][0][2] = value
    assert expect.path_faults(record, PROMISE) == [sentence]


def test_what_is_not_promised_is_not_held_against_a_machine(record):
    record["topology"]["link_class"][0][2] = "SYS"
    assert expect.path_faults(record, expect.Promise(devices=3)) == []


def test_no_peer_access_excuses_a_pair_only_where_none_is_promised(record):
    record["topology"]["peer_access"][0][2] = False
    assert expect.without_path(record, expect.Promise(devices=3)) == {("gpu0", "gpu2"), ("gpu2", "gpu0")}
    assert expect.without_path(record, PROMISE) == set()


def test_unknown_peer_access_is_no_excuse(record):
    record["topology"]["peer_access"][0][2] = None
    assert expect.without_path(record, expect.Promise(devices=3)) == set()


def test_a_missing_table_a_wrong_unit_and_a_second_copy_are_faults():
    wanted = [("bandwidth", "GB/s")]
    assert expect.table_faults([Printed()], wanted, "t") == []
    assert expect.table_faults([], wanted, "t") == ["t printed no table 'bandwidth (GB/s)'"]
    assert expect.table_faults([Printed(unit="MB/s")], wanted, "t") == ["t printed no table 'bandwidth (GB/s)'"]
    assert expect.table_faults([Printed(testcase="u")], wanted, "t") == ["t printed no table 'bandwidth (GB/s)'"]
    assert expect.table_faults([Printed(), Printed()], wanted, "t") == ["t printed 'bandwidth' 2 times"]


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "timeout", "corrupt", "no-peer-access", None])
def test_only_a_positive_finite_number_is_a_measurement(value):
    cells = {} if value is None else {("a", "b"): value}
    (fault,) = expect.cell_faults(Printed(cells=cells), [("a", "b")])
    assert "a->b is" in fault


def test_an_excused_cell_may_say_no_peer_access_and_nothing_else():
    excused = {("a", "b")}
    assert expect.cell_faults(Printed(cells={("a", "b"): "no-peer-access"}), [("a", "b")], excused) == []
    assert expect.cell_faults(Printed(cells={("a", "b"): "error"}), [("a", "b")], excused) != []
    assert expect.cell_faults(Printed(), [("a", "b")], excused) == ["t: a->b is missing"]


def test_an_endpoint_that_is_lost_is_one_sentence():
    pairs = list(permutations("abcd", 2))
    cells = {pair: "timeout" if "c" in pair else 1.0 for pair in pairs}
    assert expect.cell_faults(Printed(cells=cells), pairs) == ["t: all 6 cells of c are 'timeout'"]
    cells["a", "b"] = "error"
    assert expect.cell_faults(Printed(cells=cells), pairs)[1:] == ["t: a->b is 'error'"]
    cells["a", "c"] = 1.0
    assert len(expect.cell_faults(Printed(cells=cells), pairs)) == 6
    cells["a", "c"] = "error"
    assert len(expect.cell_faults(Printed(cells=cells), pairs)) == 7


def test_every_endpoint_that_is_lost_is_named():
    pairs = list(permutations("abc", 2))
    faults = expect.cell_faults(Printed(cells=dict.fromkeys(pairs, "timeout")), pairs)
    assert sorted(faults) == [f"t: all 4 cells of {name} are 'timeout'" for name in "abc"]
    del pairs[0]
    faults = expect.cell_faults(Printed(cells={}), pairs)
    assert len(faults) == 5 and all(fault.endswith(" is missing") for fault in faults)


def test_many_faults_are_counted_not_all_told():
    text = expect.listed([f"fault {number}" for number in range(12)])
    assert text.endswith("; fault 7; and 4 more")


def matrix(endpoints):
    """A matrix of that many GPUs; cell (row, column) is 100 * row + column."""
    labels = [f"gpu{index}" for index in range(endpoints)]
    cells = {
        (row, column): float(100 * r + c)
        for r, row in enumerate(labels)
        for c, column in enumerate(labels)
        if row != column
    }
    return Printed(cells=cells, rows=labels, columns=labels)


def test_pairs_and_class_summaries_are_published():
    classes = {("gpu0", "gpu1"): "NV18", ("gpu1", "gpu0"): "SYS"}
    assert variables.matrix_variables(matrix(2), classes) == {
        "min[NV18]": 1.0,
        "median[NV18]": 1.0,
        "max[NV18]": 1.0,
        "min[SYS]": 100.0,
        "median[SYS]": 100.0,
        "max[SYS]": 100.0,
        "gpu0->gpu1": 1.0,
        "gpu1->gpu0": 100.0,
    }


def test_above_16_endpoints_only_summaries_are_published():
    assert len(variables.matrix_variables(matrix(16), {})) == 16 * 15 + 3
    assert set(variables.matrix_variables(matrix(17), {})) == {"min[unknown]", "median[unknown]", "max[unknown]"}


def test_a_status_word_is_not_published():
    printed = Printed(cells={("a", "b"): "timeout", ("b", "a"): 2.0}, rows=["a", "b"], columns=["a", "b"])
    assert set(variables.matrix_variables(printed, {})) == {"min[unknown]", "median[unknown]", "max[unknown]", "b->a"}


def test_a_lost_endpoint_and_a_test_case_that_is_missing_are_named_and_so_is_another_checks_record():
    record = {"asked_by": "intranode_p2p", "expected": ["a", "b"], "lost": [], "results": [{"testcase": "a"}]}
    assert expect.run_faults(record, "intranode_p2p") == ["b was to be measured, and is not in the record"]
    record |= {"expected": ["a"], "lost": [{"label": "gpu3", "why": "out of memory"}]}
    assert expect.run_faults(record, "intranode_p2p") == ["gpu3 was lost: out of memory"]
    record |= {"lost": [], "asked_by": None}
    assert expect.run_faults(record, "intranode_p2p") == []
    record["asked_by"] = "rank_p2p"
    assert expect.run_faults(record, "intranode_p2p") == ["the record is of the check rank_p2p, not of intranode_p2p"]
