"""An endpoint that the run lost in the middle is said to be lost, not that what it sends is at fault."""

import dataclasses

import numpy as np
import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import layout_of
from linkmatrix.locate.lost_endpoints import LostEndpoints
from linkmatrix.record import reading
from linkmatrix.record.matrix import from_result
from linkmatrix.references.tables import References
from tests.tools.rank_records import of_ranks


def test_of_an_endpoint_that_did_not_answer_any_more_no_direction_is_suspect(make_record):
    """Its process was stopped (SIGSTOP) when it had received once: recorded so with three ranks."""
    off = {(2, c): "timeout" for c in (0, 1, 3)} | {(r, 2): "timeout" for r in (0, 3)}
    record = make_record(off=off, result="TIMEOUT", error="gpu2 was lost: it does not answer any more")
    record["lost"] = [{"label": "gpu2", "why": "it does not answer any more"}]
    reading.check(record)
    matrix = evaluate(record, References({}), None).matrices[0]
    said = diagnosis.diagnose(record, record["results"][0], matrix).sentences
    assert said and not any("egress" in text for text in said), said


def said_of(record):
    reading.check(record)
    matrix = evaluate(record, References({}), None).matrices[0]
    return diagnosis.diagnose(record, record["results"][0], matrix)


def lost(make_record, off, labels, count=4):
    record = make_record(count=count, off=off, result="TIMEOUT", error="somebody was lost")
    record["lost"] = [{"label": label, "why": "it does not answer any more"} for label in labels]
    return record


def test_it_is_said_how_many_of_its_cells_have_no_value(make_record):
    found = said_of(lost(make_record, {(2, c): "timeout" for c in (0, 1, 3)} | {(0, 2): "not-run"}, ["gpu2"]))
    assert found.sentences == ("gpu2 was lost: it does not answer any more (4 of 6 cells of gpu2 without a value)",)
    assert found.findings == ()


def test_one_that_never_answered_is_said_to_be_lost_too(make_record):
    off = {(r, c): "timeout" for r in range(4) for c in range(4) if r != c and 2 in (r, c)}
    found = said_of(lost(make_record, off, ["gpu2"]))
    assert found.sentences == ("gpu2 was lost: it does not answer any more (6 of 6 cells of gpu2 without a value)",)
    assert [(one.kind, one.subject, one.missing) for one in found.findings] == [("device", 2, True)]


def test_what_another_one_lacks_stays_a_finding(make_record):
    off = {(2, c): "timeout" for c in (0, 1, 3)} | {(0, 1): "timeout", (0, 3): "timeout"}
    first, second = said_of(lost(make_record, off | {(0, 2): "timeout"}, ["gpu2"])).sentences
    assert first == "none of the 3 cells that gpu0 sends has a value (3 timeout): check its egress"
    assert second.startswith("gpu2 was lost")


def test_an_endpoint_that_has_all_of_its_values_lacks_nothing_here(make_record):
    assert said_of(lost(make_record, {}, ["gpu2"])).sentences == ()


def test_of_a_rank_that_was_lost_the_cells_of_its_node_are_told_in_a_matrix_of_nodes(make_record):
    record = of_ranks(make_record, ("n0", "n1", "n2", "n3"), 2, True, lambda *_: 24.0)
    (result,) = record["results"]
    for r, c in ((2, 0), (2, 1), (2, 3), (0, 2)):
        result["status"][r][c], result["samples"][r][c] = "timeout", 0
        for grid in ("values", "low", "high", "converged", "round", "began", "ended"):
            result[grid][r][c] = None
        result["sampled"][r][c] = []
    result["complete"] = False
    record |= {"result": "TIMEOUT", "error": "somebody was lost"}
    record["lost"] = [{"label": f"n2:rank{at}", "why": "it does not answer any more"} for at in (4, 5)]
    found = said_of(record)
    assert found.sentences == ("n2:rank4 was lost: it does not answer any more (4 of 6 cells of n2 without a value)",)
    assert found.findings == ()


def test_of_many_that_were_lost_four_are_named(make_record):
    off = {(r, 7): "timeout" for r in range(6)}
    found = said_of(lost(make_record, off, [f"gpu{at}" for at in range(6)], count=8))
    assert [one.split()[0] for one in found.sentences if " was lost" in one] == ["gpu0", "gpu1", "gpu2", "gpu3"]
    assert found.sentences[-1] == "and 2 more were lost"


@pytest.mark.parametrize(
    ("kind", "is_explained"), [("device", False), ("egress", True), ("ingress", False), ("cell", True)]
)
def test_a_lost_endpoint_explains_only_its_own_cells_without_a_value(make_record, kind, is_explained):
    off = {(2, c): "timeout" for c in (0, 1, 3)} | {(0, 1): "timeout"}
    record = lost(make_record, off, ["gpu2"])
    record["lost"][0]["kind"] = "device"
    result = record["results"][0]
    matrix = from_result(result)
    layout, _ = layout_of(record, result, matrix)
    lacking = matrix.whole.applies & ~np.isfinite(matrix.whole.values)
    found = LostEndpoints.of_record(record, matrix, lacking)
    subject = {"cell": (2, 1), "ingress": 1}.get(kind, 2)
    one = Finding(kind, subject, 0.0, 3, 3, 1.0, missing=True)
    assert found.other_findings([one], layout) == ([] if is_explained else [one])
    assert found.endpoint(one) == ("gpu2" if kind == "device" else "")
    assert found.verdict(one, Verdict.INCOMPLETE) is (Verdict.FAIL if kind == "device" else Verdict.INCOMPLETE)
    assert found.verdict(dataclasses.replace(one, missing=False), Verdict.WARN) is Verdict.WARN
    assert found.sentence("gpu2").startswith("gpu2 was lost: it does not answer any more (3 of 6 cells of gpu2 ")
