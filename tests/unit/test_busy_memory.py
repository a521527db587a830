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
    assert cell.verdict is Verdict.INCOMPLETE
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


def result_of(record, testcase):
    return next(one for one in record["results"] if one["testcase"] == testcase)


def idle_there(others, **changes):
    """In this look nobody used a device."""
    others.update(changes)
    for use in others["uses"]:
        if use["of"] in ("sm", "memory"):
            use["counted"] = 0


@pytest.mark.parametrize("where", ["gpu0", None], ids=["another one is elsewhere", "the host's cores are used"])
def test_who_has_left_a_device_does_not_slow_its_links_down_any_more(where, idle):
    record = load("busy_local")
    others = result_of(record, WRITES)["others"]
    there = [one | {"where": where} for one in others["processes"] if one["where"] == "gpu1" and where]
    idle_there(others, shared=where is not None, processes=there)
    others["uses"].append({"label": "gpu1", "of": "cpu", "counted": 1.0, "own": 0.99})
    _, verdicts, _ = judged(record, idle)
    assert verdicts[WRITES, "gpu1", "gpu0"].verdict is Verdict.FAIL


def test_that_a_memory_was_used_at_another_look_is_said_so(idle):
    record = load("busy_local")
    idle_there(result_of(record, WRITES)["others"])
    cell = judged(record, idle)[1][WRITES, "gpu1", "gpu0"]
    assert cell.verdict is Verdict.INCOMPLETE, "a look may have missed it"
    assert "the memory of gpu1 busy for 100 % of the time, by another look of the run" in cell.reason
    assert "(pid 5343 hog of root" in cell.reason
    seen = judged(load("busy_local"), idle)[1][WRITES, "gpu1", "gpu0"]
    assert "by another look" not in seen.reason


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
        (lambda _, counters: counters[-2].update(after=8), "of one nobody knows which Xid it was"),
        (lambda r, _: r["lost"].append({"label": "gpu1", "why": "it failed"}), "it may have been of the run itself"),
        (lambda r, _: fail_a_cell(r), "it may have been of the run itself"),
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


def fail_a_cell(record):
    result = result_of(record, WRITES)
    result["status"][0][1], result["values"][0][1] = "error", None
