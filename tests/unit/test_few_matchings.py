"""Few matchings of many endpoints: who is at fault, what passed by itself, and what nobody judged."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from few_records import COUNT, drawn_for, few_record, held_against_nothing

from linkmatrix.errors import BadInput
from linkmatrix.judge import sampled_matrix
from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import matchings
from linkmatrix.record import reading
from linkmatrix.references import keys
from linkmatrix.show import words

SENDS = {5: "sends"}


@pytest.fixture
def record(make_record):
    def made(drawn, *slow, **also):
        content = few_record(make_record(COUNT), drawn, *slow, **also)
        reading.check(copy.deepcopy(content))
        return content

    return made


def sentences(content):
    (result,) = content["results"]
    found, rest = matchings.fault_sentences(result, held_against_nothing(result))
    return [*(text for _, text in found), *rest]


def test_healthy_endpoints_have_no_fault_and_the_share_of_pairs_is_said(record):
    content = record(drawn_for(COUNT))
    (result,) = content["results"]
    assert sentences(content) == []
    assert words.coverage(result) == "8.7 % of pairs measured: links not judged"
    assert [one for one in facts(content, False) if one.verdict > Verdict.WARN] == []


@pytest.mark.parametrize(
    ("how", "cell"),
    [
        ("sends", lambda r, c: r == 5),
        ("receives", lambda r, c: c == 5),
        ("sends and receives", lambda r, c: 5 in (r, c)),
    ],
)
def test_an_endpoint_is_named_with_what_of_it_is_slow_and_that_it_was_again(record, how, cell):
    content = record(drawn_for(COUNT, [5]), lambda r, c, _: 0.9 if cell(r, c) else 1.0, faults={5: how})
    (said,) = sentences(content)
    assert said.startswith(f"n5 {how} 10.") or said.startswith(f"n5 {how} 9.9 ")
    assert "with every partner" in said and "and 3 of 3 after a pause of 10 s): check" in said


def test_what_is_fine_after_the_pause_passed_by_itself_and_is_no_fault(record):
    content = record(drawn_for(COUNT, [5]), lambda r, c, number: 0.7 if r == 5 and number < 4 else 1.0, faults=SENDS)
    (said,) = sentences(content)
    assert "n5 was 30." in said and "in 0 of 3 matchings after a pause of 10 s: it recovered without a change" in said
    (result,) = content["results"]
    assert matchings.fault_sentences(result, held_against_nothing(result))[0] == []


def test_what_was_not_measured_again_says_so_and_blames_nobody(record):
    content = record(drawn_for(COUNT, [5], confirms=False), lambda r, c, _: 0.7 if r == 5 else 1.0, faults=SENDS)
    (result,) = content["results"]
    (said,) = sentences(content)
    assert "not measured again after a pause" in said
    assert matchings.confirmed_faults(result, held_against_nothing(result)) == []


def test_an_endpoint_whose_slow_cells_other_processes_disturbed_has_no_fault(record):
    content = record(drawn_for(COUNT, [5]), lambda r, c, _: 0.9 if r == 5 else 1.0, faults=SENDS)
    (result,) = content["results"]
    judged = held_against_nothing(result)
    assert len(matchings.fault_sentences(result, judged)[0]) == 1
    disturbed = np.zeros_like(judged.whole.disturbed)
    disturbed[5] = True
    spared = replace(judged, whole=replace(judged.whole, disturbed=disturbed))
    assert matchings.fault_sentences(result, spared) == ([], [])


def test_a_path_that_stays_slow_is_one_and_a_cell_that_was_slow_once_is_counted(record):
    drawn = drawn_for(COUNT)
    paths = [(one["rows"][2 * at], one["columns"][2 * at]) for at, one in enumerate(drawn)]  # no two of one endpoint
    content = record(drawn, lambda r, c, _: 0.6 if (r, c) in paths else 1.0)
    (result,) = content["results"]
    row, column = (f"n{end}" for end in paths[0])
    again = {"row": row, "column": column, "before": 28.8, "after": 28.8, "outcome": "reproduced"}
    result["remeasured"] = [again]
    path, once = sentences(content)
    fine = "while both endpoints are fine with other peers"
    assert path == f"{row}->{column}: slow each time, {fine}: check the path between them"
    assert once == "1 cell slow in one measurement, at endpoints that are fine with other peers"


BOTTLENECK = {"loss": 0.5, "slower": 32, "compared": 32}


def test_a_bottleneck_that_all_share_is_told_with_its_ratio_and_nobody_is_judged(record):
    content = record(drawn_for(COUNT, [5]), lambda r, c, _: 0.7 if r == 5 else 1.0, bottleneck=BOTTLENECK)
    (said,) = sentences(content)
    assert "32 of 32 pairs are slower while half of the endpoints send to the other half than alone, by 50.0 %" in said
    assert "a shared bottleneck (2.00:1 oversubscribed); which pairs share" in said and "n5" not in said
    assert Verdict.INCOMPLETE in [one.verdict for one in facts(content, False)]


@pytest.mark.parametrize(
    ("metric", "unit", "said"),
    [
        (
            "latency",
            "us",
            "32 of 32 pairs are slower while half of the endpoints send to the other half than alone, by 50.0 %",
        ),
        ("bidirectional", "GB/s", "32 of 32 pairs are slower while all endpoints send than alone, by 50.0 %"),
    ],
)
def test_a_bottleneck_is_told_of_latencies_and_of_both_ways_at_once_too(record, metric, unit, said):
    (result,) = record(drawn_for(COUNT), bottleneck=BOTTLENECK)["results"]
    found = sampled_matrix.bottleneck_sentence(result | {"metric": metric, "unit": unit})
    assert found.startswith(said) and f"{1.5 if unit == 'us' else 2.0:.2f}:1 oversubscribed" in found


def test_the_program_decides_about_a_bottleneck_whatever_the_controls_are(record):
    content = record(drawn_for(COUNT))
    content["results"][0]["controls"] = [{"row": "n0", "column": "n1", "before": 24.0, "after": 48.0}] * 32
    assert sampled_matrix.bottleneck_sentence(content["results"][0]) == "" and sentences(content) == []


def without(drawn, cell):
    """The matchings without some of their cells."""
    for one in drawn:
        kept = [(r, c) for r, c in zip(one["rows"], one["columns"], strict=True) if not cell(r, c)]
        one["rows"], one["columns"] = (list(axis) for axis in zip(*kept, strict=True))
    return drawn


def test_an_endpoint_without_a_cell_has_incomplete(record):
    content = record(without(drawn_for(COUNT), lambda r, c: 5 in (r, c)))
    assert any("n5" in one.sentence and one.verdict is Verdict.INCOMPLETE for one in facts(content, False))


def test_of_cells_in_a_file_the_medians_of_rows_and_columns_say_who_has_none():
    result = {"rows": ["n0", "n1", "n2"], "cells": {"row_medians": [0.5, 0, 0], "column_medians": [0, 0.5, 0]}}
    assert sampled_matrix.unmeasured_endpoints(result) == ["n2"]


def test_groups_that_were_not_measured_across_have_incomplete_on_their_uplinks(record):
    content = record(drawn_for(COUNT))
    content["results"][0]["matchings"] |= {"groups": ["leaf0", "leaf1"] * (COUNT // 2), "crossings": []}
    (said,) = [one.sentence for one in facts(content, False) if one.verdict is Verdict.INCOMPLETE]
    assert said == "leaf0, leaf1: not measured to other groups, so their uplinks are not judged"


def test_the_share_of_pairs_counts_both_ways_once_and_is_none_of_a_single_endpoint_or_another_matrix(
    record, make_record
):
    drawn = [{"purpose": "random", "alone": False, "rows": [0, 1], "columns": [1, 0]}]
    (two,) = few_record(make_record(2), drawn)["results"]
    assert sampled_matrix.measured_share(two) == 1.0 and words.coverage(two) == "all pairs measured"
    (one_way,) = record(without(drawn_for(COUNT), lambda r, c: r > c))["results"]
    assert sampled_matrix.measured_share(one_way) == sampled_matrix.measured_share(
        record(drawn_for(COUNT))["results"][0]
    )
    assert sampled_matrix.measured_share(two | {"rows": ["n0"], "matchings": {"drawn": []}}) == 0.0
    (whole,) = make_record()["results"]
    assert words.coverage(whole) == sampled_matrix.bottleneck_sentence(whole) == ""
    assert [*sampled_matrix.unjudged_sentences(whole)] == []


def test_an_endpoint_whose_slowness_was_not_settled_has_incomplete(record):
    content = record(drawn_for(COUNT))
    content["results"][0]["matchings"]["open"] = ["n3", "n4"]
    (said,) = [one.sentence for one in facts(content, False) if one.verdict is Verdict.INCOMPLETE]
    assert said.startswith("n3, n4: slow in some cells")


def drop_first(drawn):
    del drawn[0]["rows"][0], drawn[0]["columns"][0]


def repeat_first(drawn):
    for axis in ("rows", "columns"):
        drawn[0][axis].append(drawn[0][axis][0])


def add_slow_endpoint(result, label):
    counts = {"slow": 2, "cells": 2, "slow_again": 3, "confirmed": 3}
    found = {"endpoint": label, "direction": "sends", "shift": -0.1, **counts, "reproduced": True}
    result["matchings"]["slow_endpoints"].append(found)


def add_slow_cell(result, row, column):
    result["matchings"]["slow_cells"]["rows"].append(row)
    result["matchings"]["slow_cells"]["columns"].append(column)


def add_bottleneck(result, **values):
    result["matchings"]["shared_bottleneck"] = BOTTLENECK | values


def leave_out_first(result, drawn):
    result["status"][drawn[0]["rows"][0]][drawn[0]["columns"][0]] = "not-applicable"


SPOILED = {
    "a cell that was measured and not drawn": lambda result, drawn: drop_first(drawn),
    "a cell with itself": lambda result, drawn: drawn[0]["columns"].__setitem__(0, drawn[0]["rows"][0]),
    "an endpoint beyond the last": lambda result, drawn: drawn[0]["columns"].__setitem__(0, COUNT),
    "rows without columns": lambda result, drawn: drawn[0]["columns"].pop(),
    "a cell that comes twice": lambda result, drawn: repeat_first(drawn),
    "matchings that are missing": lambda result, drawn: result.pop("matchings"),
    "matchings of another schedule": lambda result, drawn: result["schedule"].__setitem__("mode", "rounds"),
    "a slow endpoint that is no row": lambda result, drawn: add_slow_endpoint(result, "elsewhere"),
    "a slow cell that was not drawn": lambda result, drawn: add_slow_cell(result, 3, 3),
    "a stranger who is open": lambda result, drawn: result["matchings"]["open"].append("elsewhere"),
    "more slower cells than compared cells": lambda result, drawn: add_bottleneck(result, slower=33),
    "a bottleneck that leaves no bandwidth": lambda result, drawn: add_bottleneck(result, loss=1.0),
    "a drawn cell that does not apply": leave_out_first,
    "an index below zero": lambda result, drawn: drawn[0]["rows"].__setitem__(0, -1),
    "an unknown purpose": lambda result, drawn: drawn[0].__setitem__("purpose", "luck"),
}


@pytest.mark.parametrize("change", SPOILED.values(), ids=SPOILED.keys())
def test_matchings_that_cannot_be_are_refused(record, change):
    content = record(drawn_for(COUNT))
    change(content["results"][0], content["results"][0]["matchings"]["drawn"])
    with pytest.raises(BadInput):
        reading.check(content)


def test_show_and_diagnose_say_what_was_not_judged(record, tmp_path, linkmatrix):
    content = record(drawn_for(COUNT, [5]), lambda r, c, _: 0.9 if r == 5 else 1.0, faults=SENDS)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(content))
    shown = linkmatrix.out("show", path)
    assert "of pairs measured: links not judged" in shown and "n5 sends 10" in shown
    said = linkmatrix.out("diagnose", path)
    assert "n5 sends 10" in said and "of pairs measured: links not judged" in said


def test_references_of_matchings_stand_in_a_table_of_their_own():
    asked = {"asked_by": "crossnode_matchings %testcase=node_to_node_bandwidth_mpi %extent=all"}
    assert keys.measured_variant(asked) == "@all@matchings"
