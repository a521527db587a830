"""What looks at others tell and what they cannot: short ones, words of the run's own, lines that are full, reasons."""

import copy
import json
from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix import cli
from linkmatrix.judge import busy
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.others import devices_used, disturbances
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References

from .conftest import TESTCASE

DATA = Path(__file__).parents[1] / "data"
TOLERANCE = {"GB/s": (-0.02, None), "us": (None, 0.10)}
TABLE = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}


def load(name):
    return reading.load(DATA / f"h200x2_{name}.record.json")


def cells_of(record):
    """{(test case, row, column): verdict} against the same GPUs alone."""
    pairs = zip(
        record["results"],
        evaluate(record, references_of(load("idle"), "idle", TOLERANCE), "idle").matrices,
        strict=True,
    )
    return {(result["testcase"], *pair): cell for result, matrix in pairs for pair, cell in matrix.cells.items()}


def others(*uses, seconds=4.0, processes=(HOG,)):
    """What others did in a look; uses: (endpoint, kind, counted, own)."""
    names = ("label", "of", "counted", "own")
    known = [dict(zip(names, use, strict=True)) for use in uses]
    return {"seconds": seconds, "shared": True, "uses": known, "nodes": [], "processes": [*processes], "untold": []}


def judged(make_record, off, seen, **changes):
    """The cells of 4 GPUs of which 396 GB/s are expected."""
    record = make_record(off=off)
    record["results"][0].update(others=seen, **changes)
    reading.check(record)
    return dict(evaluate(record, TABLE, "hgx").matrices[0].cells)


@pytest.mark.parametrize("hog", ["host", "kernel", "local", "peer"])
def test_a_test_case_alone_beside_a_real_process_blames_no_gpu(hog):
    """Of a process that computed without a pause NVML's share was 0 while device_local_copy was measured."""
    for result in load(f"busy_{hog}")["results"]:
        record = load(f"busy_{hog}")
        record["results"] = [result]
        failed = {pair: cell.reason for pair, cell in cells_of(record).items() if cell.verdict is Verdict.FAIL}
        assert failed == {}


def slow_copy_inside(record, label):
    """The copy inside a device is 30 % slow."""
    [result] = [one for one in record["results"] if one["testcase"] == "device_local_copy"]
    at = result["columns"].index(label)
    for grid in ("values", "low", "high"):
        result[grid][0][at] *= 0.7
    return record


def beside_a_context(record, label="gpu1"):
    """Somebody has a context there, and does nothing; then NVLink's counters are waited for."""
    for one in (record["others"], *(result["others"] for result in record["results"])):
        one.update(shared=True, processes=[{**HOG, "where": label}], seconds=one["seconds"] + 1.0)
    return record


def test_a_context_that_did_nothing_in_a_whole_run_excuses_no_copy_inside():
    """As of a daemon that watches."""
    record = slow_copy_inside(beside_a_context(load("idle")), "gpu1")
    assert sum(result["others"]["seconds"] for result in record["results"]) > busy.SILENT
    assert cells_of(record)["device_local_copy", "local", "gpu1"].verdict is Verdict.FAIL


def test_words_that_a_visibility_test_itself_hands_over_are_nobody_elses():
    """1.3 GB of NVLink were counted where 0.37 GB of words were handed over: flags and answers are not counted so."""
    idle = beside_a_context(load("idle"))
    words = beside_a_context(load("visibility"))["results"]
    record = slow_copy_inside({**idle, "results": [*idle["results"], *words]}, "gpu1")
    assert cells_of(record)["device_local_copy", "local", "gpu1"].verdict is Verdict.FAIL
    assert not [said for said in disturbances(record) if "were not of linkmatrix" in said]


def test_the_words_of_others_beside_them_are_theirs():
    [result, *_] = load("visibility")["results"]
    result["others"].update(shared=True)
    for use in result["others"]["uses"]:
        if use["of"] == "nvlink_out":
            use["counted"] += 390e9 * result["others"]["seconds"]
    assert {label for label, _ in devices_used(result)} == {"gpu0", "gpu1"}


def test_reads_that_ask_for_the_runs_own_bytes_over_pcie_are_the_runs_own(make_record):
    asked = others(("gpu1", "pcie_in", 210e9, 200e9), ("gpu1", "pcie_out", 12e9, 0.0))
    assert [*devices_used({"others": asked})] == []
    theirs = others(("gpu1", "pcie_in", 0.0, 0.0), ("gpu1", "pcie_out", 12e9, 0.0))
    [(label, said)] = devices_used({"others": theirs})
    assert label == "gpu1" and said.startswith("12.0 GB of pcie_out at gpu1 were not of linkmatrix")


@pytest.mark.parametrize(("theirs", "ours"), [(238, 157), (300, 95)])
def test_a_link_that_carries_as_much_as_ever_is_not_broken(make_record, theirs, ours):
    """395 GB/s in all, as recorded: what others had of it and what was left; no link carries its 450 GB/s."""
    seen = others(("gpu1", "nvlink_out", theirs * 4e9, 0.0))
    found = judged(make_record, {(1, 0): float(ours)}, seen)
    assert found["gpu1", "gpu0"].verdict is Verdict.INCOMPLETE


def test_a_small_copy_is_not_excused_by_what_little_of_the_path_others_had(make_record):
    seen = others(("gpu1", "nvlink_out", 40e9, 0.0))
    record = make_record(value=10.0, off={(1, 0): 5.0})
    record["results"][0]["others"] = seen
    table = References({("hgx", TESTCASE): {"cell[NV18]": Reference(10.0, -0.02, 0.02, "GB/s")}})
    found = evaluate(record, table, "hgx").matrices[0].cells
    assert found["gpu1", "gpu0"].verdict is Verdict.FAIL, "10 of 450 GB/s cost no half"


def test_where_nobody_knows_what_was_the_runs_own_nobody_knows_what_was_of_others(make_record):
    found = judged(make_record, {(1, 0): 225.0, (2, 3): 225.0}, others(("gpu1", "nvlink_out", 990e9, None)))
    assert found["gpu1", "gpu0"].verdict is Verdict.INCOMPLETE
    assert found["gpu2", "gpu3"].verdict is Verdict.FAIL, "nobody else was there"


def test_the_reason_is_what_explains_the_cell(make_record):
    """Not some bytes that explain nothing, nor the processors of a device that takes no part in the copy."""
    reads = {"engine": "sm", "kernel": "noncached", "direction": "read"}
    uses = [("gpu0", "sm", 2.0, 0.0), ("gpu1", "nvlink_out", 3e6, 0.0), ("gpu1", "sm", 3.6, 0.0)]
    seen = others(*uses, processes=[{**HOG, "where": "gpu0"}])
    found = judged(make_record, {(1, 0): 225.0}, seen, **reads)["gpu1", "gpu0"]
    assert found.verdict is Verdict.INCOMPLETE
    assert "busy: others kept the processors of gpu0 busy for 50 % of the time (pid 2983 hog of bob)" in found.reason


def test_bytes_too_few_to_explain_anything_are_no_reason(make_record):
    uses = [("gpu1", "nvlink_out", 3e6, 0.0), ("gpu1", "sm", 3.6, 0.0)]
    found = judged(make_record, {(1, 0): 380.0}, others(*uses))["gpu1", "gpu0"]
    assert found.verdict is Verdict.INCOMPLETE
    assert "busy: others were on gpu1 (pid 2983 hog of bob), beside whom it may lose as little" in found.reason


BETWEEN_HOST = [
    f"{way}{both}_memcpy_ce" for way in ("host_to_device", "device_to_host") for both in ("", "_bidirectional")
]


@pytest.mark.parametrize(
    ("name", "unknown"),
    [("idle", []), ("busy_host", [*BETWEEN_HOST, "host_device_latency_sm"]), ("busy_kernel", ["device_local_copy"])],
)
def test_no_reference_is_adopted_of_what_others_may_have_made_slower(tmp_path, capsys, name, unknown):
    """Recorded beside processes: copies from the host -52 %, copies inside -44 % where NVML's shares were 0."""
    runs = []
    for day in range(1, 7):
        record = load(name)
        record["started"] = f"2026-11-0{day}T01:00:00Z"
        runs.append(tmp_path / f"{day}.json")
        runs[-1].write_text(json.dumps(record), encoding="utf-8")
    where = ["--table", "here", "--check", "intranode_p2p", "--file", str(tmp_path / "here.yaml"), "--as-is", "a test"]
    code = cli.main(["adopt", *map(str, runs), *where])
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    left_out = {line.split(": ")[2] for line in out.splitlines() if "what they took is not counted" in line}
    assert left_out == {*unknown}


def test_a_link_that_others_left_alone_is_not_said_to_be_beside_them():
    """Its bytes are counted, and the process sent the other way."""
    record = load("busy_peer")
    [result] = [one for one in record["results"] if one["testcase"] == TESTCASE]
    for grid in ("values", "low", "high"):
        result[grid][0][1] *= 0.7
    matrix = evaluate({**record, "results": [result]}, references_of(load("idle"), "idle", TOLERANCE), "idle").matrices[
        0
    ]
    [first, *_] = diagnosis.diagnose(record, result, matrix).sentences
    assert first.startswith("gpu0") and "Beside others" not in first


def test_where_nobody_counted_nobody_says_that_it_explains_less():
    record = load("busy_host")
    result = record["results"][0]
    for grid in ("values", "low", "high"):
        result[grid][0][1] *= 0.01
    matrix = evaluate({**record, "results": [result]}, references_of(load("idle"), "idle", TOLERANCE), "idle").matrices[
        0
    ]
    [said, *_] = diagnosis.diagnose(record, result, matrix).sentences
    assert "Beside others: others were on gpu1" in said and "explains less" not in said


@pytest.mark.parametrize("count", [1, 2])
def test_a_slow_copy_inside_a_device_is_its_own_and_of_no_link(count):
    record = slow_copy_inside(load("idle"), "gpu0")
    [result] = [one for one in record["results"] if one["testcase"] == "device_local_copy"]
    for name, grid in result.items():
        if isinstance(grid, list) and len(grid) == 1 and isinstance(grid[0], list):
            result[name] = [grid[0][:count]]
    result["columns"] = result["columns"][:count]
    matrix = evaluate({**record, "results": [result]}, references_of(load("idle"), "idle", TOLERANCE), "idle").matrices[
        0
    ]
    found = diagnosis.diagnose(record, result, matrix)
    assert [matrix.matrix.columns[one.subject] for one in found.findings] == ["gpu0"]
    assert found.sentences[0].startswith(
        "gpu0 copies within its own memory 30.0 % slow (1 of 1 cell): suspect the device"
    )
    assert not any(word in " ".join(found.sentences) for word in ("peer", "link;", "ingress", "local->"))


def test_what_a_record_says_is_not_changed_by_judging():
    record = load("busy_kernel")
    before = copy.deepcopy(record)
    cells_of(record)
    assert record == before
