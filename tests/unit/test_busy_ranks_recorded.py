"""Four ranks on a core each, recorded alone and beside others: whose processor it was is told, and no rank blamed."""

import copy
from pathlib import Path

import pytest
from recorded_references import references_of

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.record import reading

DATA = Path(__file__).parents[1] / "data"
TOLERANCE = {"GB/s": (-0.3, None), "us": (None, 0.3)}
VICTIM = "rank0"  # on core 0, where the others ran


def load(name):
    return reading.load(DATA / f"cpu16_ranks_{name}.record.json")


@pytest.fixture(scope="module")
def alone():
    """Every cell of the same ranks, when nobody else was there, as its reference."""
    return references_of(load("quiet"), "quiet", TOLERANCE)


def without_cores(record):
    """The record as it was before ranks said which cores they may use, and what others had of them."""
    old = copy.deepcopy(record)
    for result in old["results"]:
        for one in (*result["others"]["uses"], *result["others"]["processes"]):
            one.pop("cores", None)
            one.pop("others", None)
    return old


def cells(record, references):
    """[(matrix, {pair: its verdict})]."""
    return [(matrix, dict(matrix.cells)) for matrix in evaluate(record, references, "quiet").matrices]


@pytest.mark.parametrize(
    ("name", "who"),
    [("hog", "(pid 665 sh of root)"), ("storm", "processes that cannot be listed had")],
    ids=["a process that computes", "processes that end before anybody looks"],
)
def test_beside_others_on_its_core_no_rank_is_blamed(name, who, alone):
    record = load(name)
    for result, (matrix, found) in zip(record["results"], cells(record, alone), strict=True):
        slow = {pair: cell for pair, cell in found.items() if cell.verdict is Verdict.INCOMPLETE}
        assert slow and all(VICTIM in row + column for row, column in slow)
        assert all("busy: others had" in cell.reason and who in cell.reason for cell in slow.values())
        assert matrix.counts[Verdict.FAIL] == 0
        assert not diagnosis.diagnose(record, result, matrix).findings


def test_a_path_that_is_said_to_carry_nothing_is_no_obstacle(alone):
    """A record may say so: its judge ended in a division by zero."""
    record = load("hog")
    for result in record["results"]:
        result["limit"] = [[0.0 if value else None for value in row] for row in result["values"]]
    latency = cells(record, alone)[1][0]
    assert latency.busy and latency.busy_sentences()[0].startswith("busy: others had")


def test_without_what_others_had_of_the_core_the_same_figures_are_failures(alone):
    """So it is this that tells them: of a storm of short processes only the shell that starts them can be listed."""
    for matrix, _ in cells(without_cores(load("storm")), alone):
        assert matrix.counts[Verdict.FAIL] >= 5


def test_a_daemon_on_another_core_excuses_nothing_and_slows_nothing(alone):
    for matrix, _ in cells(load("daemon"), alone):
        assert matrix.counts[Verdict.FAIL] == matrix.counts[Verdict.INCOMPLETE] == 0 and not matrix.busy
    slower = copy.deepcopy(load("daemon"))
    for result in slower["results"]:
        factor = 2.0 if result["unit"] == "us" else 0.5
        result["values"] = [[value and value * factor for value in row] for row in result["values"]]
    for matrix, _ in cells(slower, alone):
        assert matrix.counts[Verdict.FAIL] == 12 and not matrix.busy
