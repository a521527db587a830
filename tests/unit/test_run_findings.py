"""What a record says of its own run counts for its verdict: a counter that rose, a throttle, too few samples."""

import io
from itertools import permutations

import pytest

from linkmatrix.judge import run_findings
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import units
from linkmatrix.record.checking import LEAST_SAMPLES
from linkmatrix.references import keys
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import judging, testcases
from linkmatrix.show import page, terminal, words
from linkmatrix.show.analysis import Analysis

TESTCASE = "device_to_device_memcpy_write_ce"
SIZES = "the table '{0}' is for {1}, but the measurement used 512 MiB: name another table, or measure with {1}"


def counters(record):
    item = {"name": "nvlink_replay_errors", "before": 3, "after": 8}
    record["health"] = [{"label": "gpu1", "counters": [item], "readings": []}]


def counters_of_an_adapter(record):
    item = {"name": "symbol_error", "before": 3, "after": 5}
    busy = {"name": "np_cnp_sent", "before": 10, "after": 1034}
    record["health"] = [{"label": "n1:mlx5_0", "counters": [item], "readings": [busy]}]


def throttled(record):
    record["results"][0]["throttled"] = ["gpu2: power cap"]


def duplicate_devices(record):
    for device in record["devices"]:
        device["uuid"] = "GPU-1" if device["label"] in ("gpu1", "gpu3") else f"GPU-{device['label']}"


def samples(count):
    def change(record):
        result = record["results"][0]
        result["samples"][0][1], result["converged"][0][1], result["sampled"][0][1] = count, False, [396.0] * count

    return change


def not_converged(record):
    record["results"][0]["converged"][2][3] = False


def few_cells(record):
    result = record["results"][0]
    result["schedule"]["mode"] = "bisection"
    for r in range(4):
        for c in range(4):
            if (r, c) not in [(0, 2), (1, 3)]:
                result["status"][r][c] = "not-applicable"
                for name in ("values", "low", "high", "converged"):
                    result[name][r][c] = None
                result["samples"][r][c], result["sampled"][r][c] = 0, []


FACTS = [
    (counters, Verdict.FAIL, "gpu1: nvlink_replay_errors rose from 3 to 8"),
    (counters_of_an_adapter, Verdict.FAIL, "n1:mlx5_0: symbol_error rose from 3 to 5 during the run"),
    (throttled, Verdict.WARN, "throttled during the measurement: gpu2: power cap"),
    (duplicate_devices, Verdict.INCOMPLETE, "gpu1 and gpu3 are the same device, GPU-1"),
    (samples(1), Verdict.INCOMPLETE, "1 of 12 cells have a single sample"),
    (samples(3), Verdict.WARN, "1 of 12 cells have too few samples for an interval (fewest: 3)"),
    (few_cells, Verdict.INCOMPLETE, "only 2 of 16 cells were scheduled"),
]


def screen(found):
    stream = io.StringIO()
    analysis = Analysis(*found)
    terminal.show(analysis, file=stream, width=100)
    return " ".join(stream.getvalue().split()), analysis.verdict


@pytest.mark.parametrize(("change", "verdict", "said"), FACTS, ids=[said for *_, said in FACTS])
def test_what_a_record_says_against_itself_is_never_a_pass_and_stands_there(
    judged_run, make_record, change, verdict, said
):
    record = make_record()
    assert screen(judged_run(record, reference="hgx"))[1] is Verdict.PASS
    change(record)
    run, judged = judged_run(record, reference="hgx")
    text, found = screen((run, judged))
    assert found is verdict and said in text
    assert judged[0].matrix_verdict(judged[0].matrices[0][1]) is verdict
    lines = [line for problem in page.problems(Analysis(run, judged)) for line in problem["reasons"]]
    assert any(said in line for line in lines)


@pytest.mark.parametrize(
    ("options", "topic", "remedy"),
    [
        ([], "time limit", "--max-time"),
        (["--samples", "31"], "time limit", "--max-time"),
        (["--samples", "3"], "samples", "--samples 6"),
    ],
)
def test_the_remedy_for_too_few_samples_depends_on_the_requested_number(make_record, options, topic, remedy):
    record = make_record()
    samples(1)(record)
    record["command"] += options
    (fact,) = run_findings.facts(record)
    assert fact.topic == topic and remedy in fact.sentence


@pytest.mark.parametrize("change", [samples(LEAST_SAMPLES), not_converged])
def test_a_median_that_is_known_less_well_than_wanted_is_no_fact(judged_run, make_record, change):
    """An MPI matrix with limits of ±40 % was WARN in 10 of 12 undisturbed runs, because it did not converge."""
    record = make_record()
    change(record)
    assert list(run_findings.facts(record)) == []
    assert screen(judged_run(record, reference="hgx"))[1] is Verdict.PASS


@pytest.mark.parametrize(
    ("tolerated", "verdict"),
    [((), Verdict.FAIL), (("nvlink_replay",), Verdict.FAIL), (("nvlink_replay_errors", "xid"), Verdict.WARN)],
)
def test_only_a_counter_that_is_tolerated_by_its_name_may_rise(make_record, tolerated, verdict):
    record = make_record()
    counters(record)
    (one,) = run_findings.facts(record, tolerated)
    assert (one.verdict, one.topic) == (verdict, "counters") and "gpu1: nvlink_replay_errors" in one.sentence


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("device", Verdict.FAIL), ("process", Verdict.INCOMPLETE), ("memory", Verdict.DISTURBED)],
)
def test_a_lost_device_fails_and_a_lost_process_or_its_memory_does_not(make_record, kind, verdict):
    record = make_record()
    record["lost"] = [{"label": "gpu1", "why": "it is gone", "kind": kind}]
    (one,) = run_findings.facts(record)
    assert one.verdict is verdict and one.sentence.startswith("gpu1 was lost: it is gone")


def test_congestion_is_said_and_no_fault(judged_run, make_record):
    record = make_record()
    counters_of_an_adapter(record)
    record["health"][0]["counters"] = []
    run, judged = judged_run(record, reference="hgx")
    text, verdict = screen((run, judged))
    assert verdict is Verdict.PASS and "signs of congestion: n1:mlx5_0: np_cnp_sent 1024 more" in text
    assert ("signs of congestion", "n1:mlx5_0: np_cnp_sent 1024 more") in page.facts(judged[0], record)
    record["health"][0]["label"] = "gpu1"  # power and clocks of a device are none
    assert "congestion" not in screen(judged_run(record, reference="hgx"))[0]


@pytest.mark.parametrize(
    ("change", "verdict", "tally"),
    [
        (throttled, Verdict.WARN, "2 NOT JUDGED"),
        (samples(1), Verdict.INCOMPLETE, "1 INCOMPLETE, 1 NOT JUDGED"),
        (few_cells, Verdict.INCOMPLETE, "1 INCOMPLETE, 1 NOT JUDGED"),
    ],
)
def test_a_fact_of_one_test_case_is_not_that_of_another(judged_run, make_record, change, verdict, tally):
    record, other = make_record(), make_record()["results"][0]
    change(record)
    record["results"].append(other)
    _, (one,) = judged_run(record, reference="hgx")
    assert [one.matrix_verdict(matrix) for _, matrix in one.matrices] == [verdict, Verdict.PASS]
    record["results"][1] = {**other, "testcase": "another"}
    _, (one,) = judged_run(record)
    assert words.verdict_tally([one]) == f"2 test cases: {tally}"


def test_sizes_of_a_test_case_are_one_test_case_with_the_worst_of_their_verdicts(judged_run, make_record):
    """9 collectives in two sizes each: the first line of the screen said 35 test cases, and its list had 26."""
    record = make_record()
    smaller = {**make_record(value=100.0)["results"][0], "size_bytes": 1 << 20}
    record["results"].insert(0, smaller)
    _, (one,) = judged_run(record, reference="hgx")
    assert [one.matrix_verdict(matrix) for _, matrix in one.matrices] == [Verdict.FAIL, Verdict.PASS]
    assert words.verdict_tally([one]) == "1 test case: 1 FAIL"
    assert words.verdict_tally([one, one]) == "2 test cases: 2 FAIL"  # of two nodes
    record["results"].append({**smaller, "testcase": "without_a_reference"})
    _, (one,) = judged_run(record, reference="hgx")
    assert words.verdict_tally([one]) == "2 test cases: 1 FAIL, 1 NOT JUDGED"


def test_a_matrix_whose_cells_are_in_a_file_has_no_samples_to_count_and_the_next_one_has(make_record):
    record, other = make_record(), make_record()["results"][0]
    samples(1)(record)
    record["results"].insert(0, {**other, "cells": {}, "throttled": ["gpu2: power cap"]})
    assert [(one.verdict, one.result) for one in run_findings.facts(record)] == [
        (Verdict.WARN, 0),
        (Verdict.INCOMPLETE, 1),
    ]


def test_two_halves_have_as_many_cells_as_pairs_of_one_device_of_each(make_record):
    record = make_record()
    result = record["results"][0]
    result["schedule"]["mode"] = "bisection"
    halves = [(r, c) for r in range(2) for c in range(2, 4)]
    result["status"] = [["ok" if (r, c) in halves else "not-applicable" for c in range(4)] for r in range(4)]
    assert list(run_findings.facts(record)) == []
    result["status"][0][2] = "not-applicable"
    (one,) = run_findings.facts(record)
    assert one.sentence == "only 3 of 16 cells were scheduled, but two halves need at least 4"


def test_what_another_program_printed_has_no_samples_to_count(judged_run, make_record):
    record = make_record()
    samples(1)(record)
    record["backend"] = "imported"
    record["imported"] = {"program": "nvbandwidth", "command": None, "file": "a", "sha256": "0" * 64}
    record["imported"] |= {"lines": [1, 2], "column": None}
    assert screen(judged_run(record, reference="hgx"))[1] is Verdict.PASS


def test_without_references_a_run_that_throttled_is_told_how_to_get_them(judged_run, make_record):
    record = make_record()
    throttled(record)
    assert "linkmatrix baseline" in screen(judged_run(record))[0]


def test_the_references_of_quick_are_there_and_the_next_step_names_those_of_all(judged_run, make_record):
    record = make_record()
    record["results"].append({**make_record()["results"][0], "testcase": "without_a_reference"})
    run = judged_run(record, reference="hgx")
    assert "linkmatrix baseline --mode=nightly" in screen(run)[0]
    assert Analysis(*run).steps[-1].endswith("linkmatrix baseline --mode=nightly")
    assert "--mode=nightly" not in screen(judged_run(record))[0]


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ("hgx@512MiB", Verdict.PASS),
        ("hgx@536870912", Verdict.PASS),
        ("hgx@8-ranks@512MiB", Verdict.PASS),
        ("hgx@1MiB", Verdict.INCOMPLETE),
        ("hgx@1MiB@all", Verdict.INCOMPLETE),
        ("hgx@4096", Verdict.INCOMPLETE),
        ("hgx@all", Verdict.PASS),
        ("hgx", Verdict.PASS),
    ],
)
@pytest.mark.parametrize("value", [396.0, 40.0], ids=["as the reference", "slow"])
def test_a_reference_that_says_its_size_is_for_that_size_alone(make_record, table, verdict, value):
    """A run of another size is neither good nor bad by it; one that says no size is for whatever was measured."""
    record = make_record(value=value)
    pair = Reference(396.0, -0.02, 0.05, "GB/s")
    references = References({(table, TESTCASE): {f"gpu{a}->gpu{b}": pair for a, b in permutations(range(4), 2)}})
    test = testcases.Test(name="p2p", path=None, record=record, reference=table)
    one = judging.judge(test, references, None)
    assert one.verdict is (Verdict.FAIL if verdict is Verdict.PASS and value < 396 else verdict)
    said = [fact.sentence for fact in one.facts]
    assert said == ([] if verdict is Verdict.PASS else [SIZES.format(table, units.size(keys.table_size(table)))])


def test_a_topology_passes_only_where_its_program_ended_well_and_its_record_says_nothing_else(make_record, judged_run):
    """It holds no matrix, and its check is the verdict: not on what went wrong beside it."""

    def verdict(change=None, **said):
        record = make_record() | {"results": [], "command": ["p2p_matrix", "--topology"]} | said
        if change:
            change(record)
        run, judged = judged_run(record)
        return judged[0].verdict, " ".join(Analysis(None, judged, judged[0].verdict).assessment)

    assert verdict() == (Verdict.PASS, "No measurement was requested, and the checks passed.")
    assert verdict(result="FAIL", error="gpu2 fell off the bus")[0] is Verdict.FAIL
    assert verdict(result="ERROR", error="it was ended")[0] is Verdict.INCOMPLETE
    assert verdict(counters)[0] is Verdict.FAIL
    assert verdict(duplicate_devices)[0] is Verdict.INCOMPLETE


def test_a_topology_is_no_pass_of_a_test_case_that_was_to_be_measured(make_record, judged_run):
    record = make_record() | {"results": [], "command": ["p2p_matrix", "--topology"]}
    _, (judged,) = judged_run(record, testcase="device_to_device_memcpy_write_ce")
    assert judged.verdict is Verdict.INCOMPLETE
    assert "the record contains no matrix: nothing was measured" in judged.reasons
