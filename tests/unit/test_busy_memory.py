"""Beside others on one of two H100, recorded there: their copies inside it slow its links down, and they die on it."""

import copy
from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix.judge import crashes
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data/h100x2"
TOLERANCE = {"GB/s": (-0.02, None), "us": (None, 0.10)}
LINKS = "device_to_device_"  # host memory was noisy there, for others of the same host
WRITES = "device_to_device_memcpy_write_ce"
HOGS = {
    "peer": "gpu1 copied to gpu0 without end",
    "kernel": "gpu1 computed",
    "local": "copies inside gpu1",
    "host": "copies from host memory to gpu1",
    "memory": "all memory of gpu1",
    "crash": "died on gpu1 again and again",
}


def load(name):
    record = reading.load(DATA / f"{name}.record.json")
    record["results"] = [one for one in record["results"] if one["testcase"].startswith(LINKS)]
    return record


@pytest.fixture(scope="module")
def idle():
    """Every cell of the same two GPUs, when nobody else was there, as its reference."""
    return references_of(load("idle"), "idle", TOLERANCE)


def judged(record, idle):
    """(evaluation, {(test case, row, column): verdict of the cell}, findings of diagnose)."""
    verdicts, findings, told = {}, [], evaluate(record, idle, "idle")
    for result, matrix in zip(record["results"], told.matrices, strict=True):
        verdicts |= {(result["testcase"], *pair): cell for pair, cell in matrix.cells.items()}
        findings += diagnosis.diagnose(record, result, matrix).findings
    return told, verdicts, findings


@pytest.mark.parametrize("hog", HOGS, ids=HOGS.values())
def test_beside_a_real_process_on_a_gpu_no_link_is_blamed(hog, idle):
    told, verdicts, findings = judged(load(f"busy_{hog}"), idle)
    assert {cell: one.reason for cell, one in verdicts.items() if one.verdict is Verdict.FAIL} == {}
    assert findings == []
    assert told.verdict is not Verdict.FAIL


def test_copies_inside_a_device_explain_as_much_of_its_links_as_was_seen(idle):
    _, verdicts, _ = judged(load("busy_local"), idle)
    cell = verdicts[WRITES, "gpu1", "gpu0"]
    assert cell.verdict is Verdict.NO_VERDICT
    assert "others kept the memory of gpu1 busy for 100 % of the time (pid 5343 hog of root" in cell.reason


def test_a_link_that_lost_more_than_a_busy_memory_takes_is_a_failure(idle):
    record = load("busy_local")
    result = next(one for one in record["results"] if one["testcase"] == WRITES)
    for block in ("values", "low", "high"):
        result[block][1][0] *= 0.75
    _, verdicts, _ = judged(record, idle)
    assert verdicts[WRITES, "gpu1", "gpu0"].verdict is Verdict.FAIL


def test_without_that_process_a_link_so_slow_is_a_failure(idle):
    record = load("busy_local")
    for others in (record["others"], *(result["others"] for result in record["results"])):
        others.update(shared=False, processes=[])
    _, verdicts, findings = judged(record, idle)
    assert verdicts[WRITES, "gpu1", "gpu0"].verdict is Verdict.FAIL
    assert findings != []


def test_what_dies_on_a_device_is_told_and_the_device_is_not_at_fault(idle):
    record = load("busy_crash")
    assert crashes.device_errors(record) == []
    (said,) = crashes.died(record)
    assert said.startswith("gpu1: programs of others died on it (pid ")
    assert "xid_31 7 times" in said
    told, _, _ = judged(record, idle)
    assert told.verdict is not Verdict.FAIL


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r, _: forget_others(r), "nobody is known to have been there"),
        (
            lambda _, counters: counters.append({"name": "xid_79", "before": None, "after": 1}),
            "it fell off the bus",
        ),
        (lambda _, counters: counters.pop(), "which Xid it was nobody knows"),
        (lambda _, counters: counters[0].update(after=3), "its memory had errors"),
    ],
)
def test_an_error_that_no_program_of_others_explains_stays_one(change, why):
    record = copy.deepcopy(load("busy_crash"))
    counters = next(one["counters"] for one in record["health"] if one["label"] == "gpu1")
    assert [one["name"] for one in counters][-2:] == ["xid", "xid_31"]
    change(record, counters)
    assert crashes.device_errors(record) != [], why
    assert all(line.startswith("gpu1: ") for line in crashes.device_errors(record))


def forget_others(record):
    for others in (record["others"], *(result["others"] for result in record["results"])):
        others.update(processes=[])
