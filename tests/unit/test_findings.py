"""Findings that need no reference: they stand in addition to the verdict, and change neither verdict nor exit code."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import stores

from linkmatrix.cli import main
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.findings import class_shares, findings
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import verdict_file
from linkmatrix.runs.judging import overall
from linkmatrix.show.analysis import Analysis

DATA = Path(__file__).parents[1] / "data"
NO_REFERENCES = References({})
WRITE = "device_to_device_memcpy_write_ce"


def load(name):
    return reading.load(DATA / f"{name}.record.json")


def found_in(record):
    return list(findings(record, evaluate(record, NO_REFERENCES, None)))


def scaled(record, testcase, factor):
    """A copy of a record with the cells of a test case multiplied."""
    changed = copy.deepcopy(record)
    for result in changed["results"]:
        if result["testcase"] == testcase:
            for name in ("values", "low", "high"):
                grid = [[None if one is None else one * factor for one in row] for row in result[name]]
                result[name] = grid
    return changed


@pytest.mark.parametrize("path", sorted(DATA.rglob("*record.json")), ids=lambda path: str(path.relative_to(DATA)))
def test_no_recorded_run_has_a_finding(path):
    record = reading.load(path)
    assert found_in(record) == []


def test_a_class_that_is_slow_as_a_whole_is_below_typical():
    (one,) = found_in(scaled(load("h100x2/idle"), WRITE, 0.85))
    assert (one.kind, one.component, one.testcase) == ("below typical", "NV18 links", WRITE)
    assert "85 %" in one.evidence and "396.72 GB/s" in one.evidence and "NV18 links" in one.next_step
    assert found_in(scaled(load("h100x2/idle"), WRITE, 0.92)) == []


def all_reduce(gpu, notes, value):
    """A record of an all-reduce of 4 GiB over 8 GPUs of one node."""
    record = copy.deepcopy(load("h200x2_all_reduce"))
    result = record["results"][-1]
    for name in ("values", "low", "high"):
        result[name] = [[value for _ in row] for row in result[name]]
    devices = [record["devices"][0] | {"label": f"gpu{n}", "uuid": f"GPU-{n}", "name": gpu} for n in range(8)]
    return record | {"devices": devices, "results": [result | {"notes": notes}]}


RING, NVLS = "NCCL ran RING, SIMPLE, channels 0..23", "NCCL ran NVLS, SIMPLE, channels 0..15"


@pytest.mark.parametrize(
    ("gpu", "notes", "value", "is_slow"),
    [
        ("NVIDIA H200", [RING], 367.61, False),
        ("NVIDIA B200", [RING], 682.2, False),
        ("NVIDIA H200", [RING], 300.0, True),
        ("NVIDIA H200", [NVLS], 477.45, False),
        ("NVIDIA H200", [NVLS], 367.61, True),
        ("NVIDIA H200", [NVLS, RING], 367.61, False),
        ("NVIDIA H200", [], 367.61, False),
        ("NVIDIA H100 80GB HBM3", [RING], 360.0, False),
        ("NVIDIA A100-SXM4-80GB", [RING], 180.0, True),
        ("NVIDIA A100-SXM4-80GB", [], 180.0, True),
    ],
)
def test_a_collective_is_compared_with_typical_values_of_the_algorithm_that_ran(gpu, notes, value, is_slow):
    found = found_in(all_reduce(gpu, notes, value))
    assert {one.kind for one in found} == ({"below typical"} if is_slow else set())
    assert all("PCIe" not in one.next_step and "NCCL" in one.next_step for one in found)


def test_a_class_without_typical_value_is_compared_with_half_of_its_limit():
    record = load("h100x2/idle")
    for device in record["devices"]:
        device["name"] = "a GPU of tomorrow"
    assert found_in(record) == []
    (one,) = found_in(scaled(record, WRITE, 0.5))
    assert (one.kind, one.component) == ("below half of the limit", "NV18 links") and "44 %" in one.evidence


def test_small_transfers_and_disturbed_nodes_are_not_compared():
    record = scaled(load("h100x2/idle"), WRITE, 0.5)
    for result in record["results"]:
        result["size_bytes"] = 4096
    assert found_in(record) == []
    disturbed = scaled(load("h100x2/busy_host"), WRITE, 0.5)
    assert [one for one in found_in(disturbed) if one.testcase == WRITE] == []


def test_shares_of_typical_and_of_the_limit():
    record = load("h100x2/busy_host")
    result, matrix = record["results"][0], evaluate(record, NO_REFERENCES, None).matrices[0]
    share = class_shares(record, result, matrix)["HOST"]
    assert share.of_typical == pytest.approx((26.5367 / 55.43, 54.3094 / 55.43), rel=1e-4)
    assert share.of_limit == pytest.approx((26.5367 / 63.015, 54.3094 / 63.015), rel=1e-4)
    assert str(share) == "48 to 98 % of typical, 42 to 86 % of the limit"
    assert share[2:] == (False, "55.43 GB/s", "Machine Learning Engineering, network, 2026-08-09")


def test_direct_copies_that_are_slower_than_staged_ones():
    record = load("h200x4_full")
    assert found_in(record) == []
    slow = scaled(scaled(record, WRITE, 0.05), f"{WRITE}_other", 1.0)
    kinds = {one.kind: one for one in found_in(slow) if one.kind == "slower than staged"}
    one = kinds["slower than staged"]
    assert one.testcase == WRITE and "12 pairs" in one.evidence and "->" in one.component
    assert 0.4 < one.weight < 0.6


def test_one_pair_that_is_slower_than_staged_is_named_alone():
    record = load("h200x4_full")
    result = next(one for one in record["results"] if one["testcase"] == WRITE)
    for name in ("values", "low", "high"):
        result[name] = [list(row) for row in result[name]]
        result[name][1][2] = 20.0
    (one,) = [one for one in found_in(record) if one.kind == "slower than staged"]
    assert one.component == "gpu1->gpu2"


@pytest.mark.parametrize(("name", "value"), [("nvlinks_active", "17"), ("pcie_width", "8"), ("pcie_generation", "4")])
def test_a_device_whose_link_differs_from_the_others(name, value):
    record = load("h100x2/idle")
    record["devices"][1]["state"][name] = value
    for one in record["health"]:
        one["readings"] = [reading for reading in one["readings"] if reading["name"] != name]
    (one,) = found_in(record)
    assert (one.kind, one.component) == ("unlike device", "gpu1") and value in one.evidence
    assert one.next_step.startswith("Measure gpu1 again, alone") and "eseat" not in one.next_step


def test_an_idle_pcie_link_that_rests_is_no_finding():
    record = load("h100x2/idle")
    record["devices"][1]["state"]["pcie_generation"] = "1"
    assert found_in(record) == []  # the reading after the run has the full generation
    record["results"] = [result for result in record["results"] if result["memory"] == "device"]
    for one in record["health"]:
        one["readings"] = []
    assert found_in(record) == []  # nothing used the PCIe link


def test_a_sweep_begins_with_the_node_that_differs(judged_run, make_record):
    values = [396.0, 396.1, 396.2, 365.0, 396.4, 396.5]
    records = [stores.of_node(make_record(value=value), f"n{at}") for at, value in enumerate(values)]
    _, judged = judged_run(*records)
    first = Analysis(None, judged).findings[0]
    assert (first.topic, first.component, first.verdict) == ("unlike node", "n3", Verdict.NOT_JUDGED)
    assert overall(judged) is Verdict.NOT_JUDGED


def test_a_finding_is_in_the_stored_verdict_and_decides_nothing():
    record = scaled(load("h100x2/idle"), WRITE, 0.8)
    healthy, slow = (judge_test(one, CheckFacts(), NO_REFERENCES, "") for one in (load("h100x2/idle"), record))
    content = verdict_file.verdict_content(
        verdict_file.JudgedTest("a test", "a session", record), slow, CheckFacts(), NO_REFERENCES
    )
    (one,) = content["findings"]
    assert (one["kind"], one["component"]) == ("below typical", "NV18 links")
    assert {"evidence", "confidence", "next_step"} <= set(one)
    assert slow.verdict is healthy.verdict is Verdict.NOT_JUDGED
    jsonschema.validate(json.loads(json.dumps(content)), json.loads(verdict_file.SCHEMA_FILE.read_text()))


def test_a_finding_is_on_the_screen_and_changes_no_exit_code(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    path = tmp_path / "record.json"
    path.write_text(json.dumps(scaled(load("h100x2/idle"), WRITE, 0.8)))
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    matrices, answer = out[: out.rindex("test cases: ")], out[out.rindex("test cases: ") :]
    assert "80 % of typical, 71 % of the limit" in matrices and "NOT JUDGED" in answer
    assert answer.index("80 % of the typical value") < answer.index("Everything was measured")
