"""A visibility test: its words are judged, its time promises nothing, and who does not keep the order is named."""

from pathlib import Path

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.record import reading
from linkmatrix.record.names import HANDOVER
from linkmatrix.references.tables import References
from linkmatrix.show import summary

RECORDED = Path(__file__).parents[1] / "data" / "h200x2_visibility.record.json"


@pytest.fixture
def litmus(make_record):
    """The record of a visibility test; wrong, unseen: {(row, column): how many} of cells that are corrupt."""

    def make(wrong=(), unseen=(), **changes):
        bad = {**dict(wrong), **dict(unseen)}
        content = make_record(value=4.0, off=dict.fromkeys(bad, "corrupt") | changes.pop("off", {}))
        result = content["results"][0]
        size = range(len(result["rows"]))

        def part(title, unit, found, usual):
            cells = [[None if r == c else dict(found).get((r, c), usual) for c in size] for r in size]
            return {"title": title, "unit": unit, "values": cells}

        result.update(
            testcase="device_to_device_visibility_write_sm", quantity=HANDOVER, metric="latency", unit="us", engine="sm"
        )
        result["limit"] = [[None] * len(size) for _ in size]
        result["parts"] = {
            "rounds": part("rounds checked", "rounds", {}, 4096),
            "wrong_words": part("stale words after a visible flag", "words", wrong, 0),
            "unseen": part("flags and answers that never became visible", "flags", unseen, 0),
        }
        content["expected"] = [result["testcase"]]
        reading.check(content)
        return content

    return make


def judged(content):
    (matrix,) = evaluate(content, References({}), None).matrices
    return matrix, diagnose(content, content["results"][0], matrix)


def test_it_passes_without_references_and_however_long_its_handovers_take(litmus):
    matrix, found = judged(litmus(off={(1, 2): 9.0}))
    assert {cell.verdict for cell in matrix.cells.values()} == {Verdict.PASS}
    assert not found.sentences


def test_other_latencies_still_need_references(litmus):
    content = litmus()
    content["results"][0]["quantity"] = "round trip"
    assert {cell.verdict for cell in judged(content)[0].cells.values()} == {Verdict.NOT_JUDGED}


def test_a_way_that_does_not_keep_the_order_is_named_with_what_to_do(litmus):
    matrix, found = judged(litmus(wrong={(1, 2): 12}))
    assert matrix.verdict is Verdict.FAIL
    (told,) = found.sentences
    assert told.startswith(
        "writes arrive out of order on gpu1->gpu2: a flag was visible before its data"
        " (gpu1->gpu2 12 words in 4096 rounds)"
    )
    assert "IOMMU" in told and "NCCL_P2P_DISABLE=1" in told


def test_the_worst_of_many_ways_come_first_and_the_rest_is_counted(litmus):
    (told,) = judged(litmus(wrong={(0, 1): 1, (1, 0): 5, (2, 3): 4, (3, 2): 3, (0, 3): 2}))[1].sentences
    assert "writes arrive out of order on gpu1->gpu0, gpu2->gpu3, gpu3->gpu2, gpu0->gpu3, 1 more" in told


def test_a_flag_that_never_comes_is_another_sentence(litmus):
    matrix, found = judged(litmus(unseen={(3, 0): 1}))
    assert matrix.verdict is Verdict.FAIL
    assert found.sentences[0].startswith("a flag was set, but never became visible: gpu3->gpu0; ")


def emptied(result, part, value):
    """Each cell of a part has this value."""
    values = result["parts"][part]["values"]
    result["parts"][part]["values"] = [[None if one is None else value for one in row] for row in values]


@pytest.mark.parametrize(
    ("part", "value", "verdict", "said"),
    [
        ("rounds", 0, Verdict.INCOMPLETE, "2 of 2 cells have no checked round"),
        ("rounds", None, Verdict.INCOMPLETE, "the order of their writes is unknown"),
        ("wrong_words", None, Verdict.INCOMPLETE, "have no checked round"),
        ("wrong_words", 5, Verdict.FAIL, "2 of 2 cells had wrong words"),
        ("unseen", 1, Verdict.FAIL, "or unseen flags"),
    ],
)
def test_a_recorded_litmus_whose_words_do_not_say_that_all_is_well_is_no_pass(part, value, verdict, said):
    record = reading.load(RECORDED)
    record["results"] = record["results"][:1]
    assert [*facts(record, False)] == []
    emptied(record["results"][0], part, value)
    [fact] = facts(record, False)
    assert fact.verdict is verdict and said in fact.sentence and fact.result == 0


def test_a_litmus_without_its_words_is_no_pass():
    record = reading.load(RECORDED)
    for result in record["results"]:
        result["parts"] = {}
    assert [fact.verdict for fact in facts(record, False)] == [Verdict.INCOMPLETE] * 4


def test_the_time_of_a_visibility_test_is_in_no_range_of_latencies(judged_run):
    """A run on cores printed "latency, cores 0.00461–64998 µs"."""
    _, judged = judged_run(reading.load(RECORDED))
    assert {kind.name for kind in summary.kinds(judged)} == {"visibility, devices", "visibility, host"}
