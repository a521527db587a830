"""A soak is no PASS where cells were at half of their references in it: each of these was one."""

import copy
import math
from pathlib import Path

import pytest
import stores
from recorded_references import references_of

from linkmatrix.judge import soak_cells
from linkmatrix.judge.disturbances import not_exclusive
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data"
RECORD = DATA / "h200x2_soak.record.json"
TOLERANCE = {"GB/s": (-0.02, None), "us": (None, 0.10)}


@pytest.mark.parametrize(
    "speed",
    [
        lambda at, count: 0.5,
        lambda at, count: 0.5 if at < count / 2 else 1.0,
        lambda at, count: 1.0 if at < count / 2 else 0.5,
        lambda at, count: 0.5 if count / 3 <= at < 2 * count / 3 else 1.0,
        lambda at, count: 0.5 if at % 2 else 1.0,
    ],
    ids=["from the first pass on", "at first", "later on", "for a while", "in each second pass"],
)
def test_a_link_at_half_of_its_reference_while_it_is_hot_fails_a_soak(speed):
    record = reading.load(RECORD)
    references = references_of(record, "cold", TOLERANCE)
    for matrix in record["soak"]["matrices"]:
        bins = matrix["bins"][0][1]
        known = [at for at, value in enumerate(bins) if value is not None]
        for place, at in enumerate(known):
            bins[at] *= speed(place, len(known))
        measured = [bins[at] for at in known]
        matrix["mean"][0][1], matrix["least"][0][1] = sum(measured) / len(measured), min(measured)
    reading.check(record)
    verdicts = [evaluate(record, references, "cold").verdict, *(one.verdict for one in facts(record, (), "cold"))]
    assert max(verdicts) is Verdict.FAIL


def halved(record):
    """A soak in which gpu0->gpu1 was at half of what it is cold."""
    for matrix in record["soak"]["matrices"]:
        matrix["bins"][0][1] = [value and 0.5 * value for value in matrix["bins"][0][1]]
    return record


def test_what_others_took_of_a_link_in_a_soak_is_no_fault_of_it():
    cold = reading.load(RECORD)
    record = halved(copy.deepcopy(cold))
    record["soak"]["others"] = hog()
    reading.check(record)
    evaluation = evaluate(record, references_of(cold, "cold", TOLERANCE), "cold")
    assert evaluation.verdict is Verdict.DISTURBED
    assert all("pid 6129 (hog, user root)" in one.sentence for one in evaluation.soaked) and evaluation.soaked
    assert [said for said in not_exclusive(record) if "during the soak" in said]


def test_one_disturbed_pass_and_cells_that_failed_before_are_not_told_again():
    cold = reading.load(RECORD)
    references = references_of(cold, "cold", TOLERANCE)
    once = copy.deepcopy(cold)
    bins = once["soak"]["matrices"][0]["bins"][0][1]
    bins[[value is not None for value in bins].index(True)] *= 0.5
    assert evaluate(once, references, "cold").soaked == ()
    failed = halved(copy.deepcopy(cold))
    for result in failed["results"]:
        for grid in ("values", "low", "high"):
            result[grid][0][1] *= 0.5
    assert evaluate(failed, references, "cold").soaked == ()


def test_a_real_soak_is_held_against_what_the_same_devices_reach_cold():
    """On two H100, with what others did in it: nobody was there."""
    record = reading.load(DATA / "h100x2/soak.record.json")
    evaluation = evaluate(record, references_of(record, "cold", TOLERANCE), "cold")
    assert (evaluation.verdict, evaluation.soaked) == (Verdict.PASS, ())
    assert record["soak"]["others"]["shared"] is False and not [*not_exclusive(record)]
    for result in record["results"]:
        for grid in ("values", "low", "high"):
            result[grid] = [[value and 2 * value for value in row] for row in result[grid]]
        result["limit"] = [[None for _ in row] for row in result["limit"]]
    twice = references_of(record, "cold", TOLERANCE)
    assert evaluate(record, twice, "cold").verdict is Verdict.FAIL, "hot they are at half of that"


@pytest.mark.parametrize(
    ("bins", "unit", "value"),
    [
        ([5.0] * 16 + [4.0] * 4, "GB/s", 4.0),
        ([5.0] * 17 + [4.0] * 3, "GB/s", 5.0),
        ([5.0] * 16 + [6.0] * 4, "us", 6.0),
        ([5.0] * 17 + [6.0] * 3, "us", 5.0),
        ([5.0, None, 4.0], "GB/s", 5.0),
        ([5.0, None], "GB/s", 5.0),
    ],
    ids=["a fifth", "less than a fifth", "a fifth of latencies", "less of latencies", "one of two", "the only one"],
)
def test_a_cell_counts_by_what_it_was_no_better_than_for_a_fifth_of_the_time_and_in_two_parts(bins, unit, value):
    assert soak_cells.lasting_value(bins, unit) == value
    assert math.isnan(soak_cells.lasting_value([None], unit))


def test_the_cells_of_a_soak_are_held_as_what_they_reached_in_it_and_else_as_before_it():
    record = reading.load(RECORD)
    first, second = record["soak"]["matrices"]
    second["bins"] = [[[], [400.0, 401.0]], [[None], []]]
    first["testcase"] = "something else that was soaked"
    ((place, found),) = soak_cells.soak_results(record)
    before = record["results"][1]
    assert place == 1 and found["others"] == before["others"]
    for grid in ("values", "low", "high"):
        assert [list(row) for row in found[grid]] == [[None, 401.0], [before["values"][1][0], None]]


def test_the_worst_cell_of_a_soak_is_named_and_how_many_more_were_worse():
    cold = reading.load(RECORD)
    one, both = halved(copy.deepcopy(cold)), halved(copy.deepcopy(cold))
    for matrix, times in zip(both["soak"]["matrices"], (0.3, 0.8), strict=True):
        matrix["bins"][1][0] = [value and times * value for value in matrix["bins"][1][0]]
    references = references_of(cold, "cold", TOLERANCE)
    first, _ = evaluate(one, references, "cold").soaked
    assert (first.verdict, first.place) == (Verdict.FAIL, 0)
    case = "device_to_device_memcpy_write_ce: in 20 % of the soak or more,"
    assert first.sentence.startswith(f"{case} gpu0->gpu1 ") and "more cell" not in first.sentence
    first, second = evaluate(both, references, "cold").soaked
    assert first.sentence.startswith(f"{case} gpu1->gpu0 ") and first.sentence.endswith("; 1 more cell too")
    assert second.place == 1 and "or more, gpu0->gpu1 " in second.sentence, "the worst one, not the last"


def ended_soak(word, others=None, result="FAIL", memory=False):
    """The verdict of a soak in which a cell has this status; the program ends such a run with FAIL."""
    cold = reading.load(RECORD)
    record = copy.deepcopy(cold) | {"result": result}
    if memory:
        node = record["devices"][0]["node"]
        held = {"node": node, "kind": "memory", "where": "gpu0", "share": None, "pids": [6129]}
        others["disturbances"].append(held)
    event = {"at": 12.0, "what": f"{record['results'][0]['testcase']}: gpu0->gpu1 is {word}"}
    record["soak"] |= {"failures": 1, "events": [event], **({"others": others} if others else {})}
    reading.check(record)
    return judge_test(record, CheckFacts(), references_of(cold, "cold", TOLERANCE), "cold")


def hog():
    return stores.disturbed(reading.load(RECORD)["devices"][0]["node"], where="gpu0")


@pytest.mark.parametrize("result", ["PASS", "FAIL"])
@pytest.mark.parametrize(("word", "memory"), [("error", True), ("error", False), ("timeout", False)])
def test_a_cell_that_ended_in_a_soak_on_a_disturbed_node_is_disturbed(word, memory, result):
    found = ended_soak(word, hog(), result, memory)
    assert found.verdict is Verdict.DISTURBED
    assert [fact for fact in found.facts if "pid 6129 (hog, user root)" in fact.sentence]


@pytest.mark.parametrize("word", ["error", "timeout"])
def test_a_cell_that_ended_in_a_soak_on_an_undisturbed_node_is_incomplete(word):
    assert ended_soak(word).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("others", [None, hog()], ids=["undisturbed", "disturbed"])
def test_corrupt_data_in_a_soak_fails_in_spite_of_other_processes(others):
    assert ended_soak("corrupt", others).verdict is Verdict.FAIL
    assert ended_soak("corrupt", others, "PASS").verdict is Verdict.FAIL


def test_a_device_that_computes_wrong_bits_fails_in_spite_of_other_processes():
    record = reading.load(RECORD) | {"result": "FAIL"}
    event = {"at": 12.0, "what": f"{record['results'][0]['testcase']}: gpu0->gpu1 is timeout"}
    record["soak"] |= {"others": hog(), "failures": 2, "events": [event]}
    record["soak"]["heated"][0]["wrong"] = 1
    reading.check(record)
    found = judge_test(record, CheckFacts(), references_of(record, "cold", TOLERANCE), "cold")
    assert found.verdict is Verdict.FAIL


def test_a_simulated_fault_in_a_soak_is_not_excused_by_other_processes():
    record = reading.load(RECORD)
    event = {"at": 12.0, "what": f"{record['results'][0]['testcase']}: gpu0->gpu1 is timeout"}
    record["soak"] |= {"others": hog(), "failures": 1, "events": [event]}
    record["notes"] = ["simulated fault: gpu0->gpu1:timeout"]
    reading.check(record)
    found = judge_test(record, CheckFacts(), references_of(record, "cold", TOLERANCE), "cold")
    assert found.verdict is Verdict.INCOMPLETE
