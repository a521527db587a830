"""What a check says of a run that is not as promised: the judging code of checks/, on small records."""

from dataclasses import dataclass, field

import pytest
from reasons import said, verdicts

from checks import expect, reasons

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


def test_a_machine_as_promised_has_no_faults(record):
    assert expect.device_faults(record, PROMISE) + expect.path_faults(record, PROMISE) == []


def test_a_missing_device_is_counted(record):
    record["devices"].pop()
    faults = expect.device_faults(record, PROMISE)
    assert said(faults) == ["the partition promises 3 GPUs, node1 has gpu0, gpu1"] and verdicts(faults) == ["FAIL"]


def test_more_devices_than_promised_are_a_fault_of_the_promise(record):
    assert verdicts(expect.device_faults(record, expect.Promise(devices=2))) == ["INCOMPLETE"]


def test_another_model_is_named(record):
    record["devices"][1]["name"] = "NVIDIA H100"
    faults = expect.device_faults(record, PROMISE)
    assert said(faults) == ["gpu1 is 'NVIDIA H100', the partition promises 'NVIDIA H200'"]
    assert verdicts(faults) == ["FAIL"]


def test_a_partition_that_counts_no_devices_fails_closed(record):
    faults = expect.device_faults(record, expect.Promise())
    assert "does not say how many GPUs" in said(faults)[0] and verdicts(faults) == ["INCOMPLETE"]


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
    faults = expect.path_faults(record, PROMISE)
    assert said(faults) == [sentence]
    assert verdicts(faults) == ["INCOMPLETE" if "unknown" in sentence else "FAIL"]


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

    def faults(*tables):
        return said(expect.table_faults(list(tables), wanted, "t"))

    assert faults(Printed()) == []
    assert faults() == ["t printed no table 'bandwidth (GB/s)'"]
    assert faults(Printed(unit="MB/s")) == ["t printed no table 'bandwidth (GB/s)'"]
    assert faults(Printed(testcase="u")) == ["t printed no table 'bandwidth (GB/s)'"]
    assert faults(Printed(), Printed()) == ["t printed 'bandwidth' 2 times"]


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "no-peer-access", None])
def test_only_a_positive_finite_number_is_a_measurement(value):
    cells = {} if value is None else {("a", "b"): value}
    faults = expect.cell_faults(Printed(cells=cells), [("a", "b")])
    assert len(faults) == 1 and "a->b is" in faults[0].sentence and verdicts(faults) == ["INCOMPLETE"]


@pytest.mark.parametrize("word", ["timeout", "corrupt", "error", "not-run"])
def test_the_status_word_of_a_cell_is_left_to_the_judge(word):
    printed = Printed(cells={("a", "b"): word})
    assert expect.cell_faults(printed, [("a", "b")]) == [] and expect.has_words(printed, [("a", "b")])


def test_an_excused_cell_may_say_no_peer_access_and_nothing_else():
    excused = {("a", "b")}
    assert expect.cell_faults(Printed(cells={("a", "b"): "no-peer-access"}), [("a", "b")], excused) == []
    assert said(expect.cell_faults(Printed(), [("a", "b")], excused)) == ["t: a->b is missing"]


@pytest.mark.parametrize("unit", ["words", "flags"])
def test_a_number_that_counts_what_went_wrong_is_a_fault_of_the_machine(unit):
    cells = {("a", "b"): 0.0, ("b", "a"): 3.0}
    faults = expect.cell_faults(Printed(unit=unit, cells=cells), list(cells))
    assert said(faults) == [f"t: b->a is 3.0 {unit}"] and verdicts(faults) == ["FAIL"]


def test_many_faults_are_counted_not_all_told():
    text = reasons.listed([f"fault {number}" for number in range(12)])
    assert text.endswith("; fault 7; and 4 more")


def test_a_test_case_that_is_missing_is_named_and_so_is_another_checks_record():
    record = {"asked_by": "intranode_p2p", "expected": ["a", "b"], "lost": [], "results": [{"testcase": "a"}]}
    assert said(expect.run_faults(record, "intranode_p2p")) == ["b was expected, and is not in the record"]
    record |= {"expected": ["a"], "asked_by": None}
    assert expect.run_faults(record, "intranode_p2p") == []
    record["asked_by"] = "rank_p2p"
    faults = expect.run_faults(record, "intranode_p2p")
    assert said(faults) == ["the record is of the check rank_p2p, not of intranode_p2p"]
    assert verdicts(faults) == ["INCOMPLETE"]
