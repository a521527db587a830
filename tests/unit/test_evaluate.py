"""Verdicts: every way in which a cell can be wrong or missing has its own, and none of them is PASS."""

from itertools import permutations

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import EXIT_CODES, Verdict
from linkmatrix.record.matrix import from_result
from linkmatrix.references.tables import Reference, References

CASE = "device_to_device_memcpy_write_ce"


def table(count=4, value=396.0, lower=-0.02, upper=0.05, unit="GB/s"):
    names = [f"gpu{index}" for index in range(count)]
    return {f"{a}->{b}": Reference(value, lower, upper, unit) for a, b in permutations(names, 2)}


def judged(record, references=None, name="hgx"):
    held = References({("hgx", CASE): table() if references is None else references})
    return evaluate(record, held, name)


def verdicts(evaluation):
    """{verdict: pairs} of the first matrix, without those that pass."""
    found = {}
    for pair, cell in evaluation.matrices[0].cells.items():
        if cell.verdict is not Verdict.PASS:
            found.setdefault(cell.verdict, set()).add(pair)
    return found


def test_all_cells_within_their_references_pass(make_record):
    evaluation = judged(make_record())
    assert (evaluation.verdict, EXIT_CODES[evaluation.verdict]) == (Verdict.PASS, 0)


def test_a_slow_pair_fails_and_is_named_with_its_loss(make_record):
    evaluation = judged(make_record(off={(2, 1): 356.4}))
    assert verdicts(evaluation) == {Verdict.FAIL: {("gpu2", "gpu1")}}
    reason = evaluation.matrices[0].cells["gpu2", "gpu1"].reason
    assert reason == "gpu2->gpu1 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under)"
    assert EXIT_CODES[evaluation.verdict] == 1


def test_a_slow_device_fails_in_its_row_and_its_column(make_record):
    off = {(r, c): 300.0 for r, c in permutations(range(4), 2) if 3 in (r, c)}
    found = verdicts(judged(make_record(off=off)))
    assert found == {Verdict.FAIL: {(f"gpu{r}", f"gpu{c}") for r, c in off}}


def test_a_whole_class_that_is_slow_fails_though_its_cells_agree(make_record):
    assert len(verdicts(judged(make_record(value=380.0)))[Verdict.FAIL]) == 12


@pytest.mark.parametrize("status", ["timeout", "error", "not-run", "no-peer-access", "corrupt"])
def test_a_cell_that_was_not_measured_is_incomplete_and_wrong_data_fails(make_record, status):
    verdict = Verdict.FAIL if status == "corrupt" else Verdict.INCOMPLETE
    evaluation = judged(make_record(off={(0, 1): status}))
    assert verdicts(evaluation) == {verdict: {("gpu0", "gpu1")}}
    assert evaluation.verdict is verdict


@pytest.mark.parametrize("value", [396.0, 792.0])  # a half of which is the reference of the whole
def test_a_total_of_less_than_the_whole_is_held_against_no_reference(make_record, value):
    record = make_record(value=value, off={(r, c): "partial" for r in range(4) for c in range(4) if r != c})
    evaluation = judged(record)
    assert set(verdicts(evaluation)) == {Verdict.INCOMPLETE} and EXIT_CODES[evaluation.verdict] == 3
    assert all("only partly" in cell.reason for cell in evaluation.matrices[0].cells.values())


@pytest.mark.parametrize("verified", [None, False])
def test_data_that_was_not_compared_is_incomplete(make_record, verified):
    record = make_record()
    record["results"][0]["verified"] = verified
    assert len(verdicts(judged(record))[Verdict.INCOMPLETE]) == 12


@pytest.mark.parametrize("verified", [None, False])
def test_a_slow_pair_fails_though_its_data_was_not_compared(make_record, verified):
    record = make_record(off={(2, 1): 356.4})
    record["results"][0]["verified"] = verified
    assert verdicts(judged(record))[Verdict.FAIL] == {("gpu2", "gpu1")}


def test_wrong_data_of_one_pair_leaves_the_verdicts_of_the_others(make_record):
    record = make_record(off={(0, 1): "corrupt", (1, 0): 300.0}, result="FAIL")
    assert verdicts(judged(record)) == {Verdict.FAIL: {("gpu0", "gpu1"), ("gpu1", "gpu0")}}


def test_more_than_the_path_can_carry_fails(make_record):
    found = judged(make_record(off={(0, 1): 470.0}), table(upper=1.0))
    assert verdicts(found) == {Verdict.FAIL: {("gpu0", "gpu1")}}
    assert "carry" in found.matrices[0].cells["gpu0", "gpu1"].reason


@pytest.mark.parametrize(("name", "verdict"), [(None, Verdict.NOT_JUDGED), ("another-machine", Verdict.INCOMPLETE)])
def test_without_a_table_nothing_is_judged_and_a_missing_table_is_incomplete(make_record, name, verdict):
    evaluation = judged(make_record(), name=name)
    assert {found: len(pairs) for found, pairs in verdicts(evaluation).items()} == {verdict: 12}
    assert evaluation.matrices[0].unjudged == 12 and evaluation.matrices[0].passed_and_failed() == (set(), set())


def test_a_single_missing_reference_is_seen(make_record):
    references = table()
    del references["gpu3->gpu0"]
    assert verdicts(judged(make_record(), references)) == {Verdict.INCOMPLETE: {("gpu3", "gpu0")}}


def test_a_device_that_has_references_and_is_not_there_is_seen(make_record):
    found = verdicts(judged(make_record(count=4), table(count=5)))
    assert found == {Verdict.INCOMPLETE: {p for p in permutations([f"gpu{i}" for i in range(5)], 2) if "gpu4" in p}}


def test_a_reference_in_another_unit_is_incomplete(make_record):
    assert judged(make_record(), table(unit="us")).verdict is Verdict.INCOMPLETE


def test_noise_that_could_hide_a_failure_is_a_warning_and_other_noise_is_not(make_record):
    record = make_record()
    record["results"][0]["low"][0][1] = 380.0
    record["results"][0]["low"][0][2] = 394.0
    assert verdicts(judged(record)) == {Verdict.WARN: {("gpu0", "gpu1")}}


def test_a_straggler_within_its_reference_is_a_warning(make_record):
    found = judged(make_record(off={(0, 1): 384.0}), table(lower=-0.1))
    assert verdicts(found) == {Verdict.WARN: {("gpu0", "gpu1")}}
    assert EXIT_CODES[found.verdict] == 0


@pytest.mark.parametrize(
    ("ended", "verdict"), [("ERROR", Verdict.INCOMPLETE), ("TIMEOUT", Verdict.INCOMPLETE), ("FAIL", Verdict.FAIL)]
)
def test_a_run_that_ended_badly_never_passes(make_record, ended, verdict):
    assert judged(make_record(result=ended, error="x")).verdict is verdict


def test_a_record_without_results_is_incomplete(make_record):
    record = make_record()
    record["results"] = []
    assert judged(record).verdict is Verdict.INCOMPLETE


def test_latency_fails_above_its_reference(make_record):
    record = make_record(value=1.2)
    record["results"][0] |= {"metric": "latency", "unit": "us", "quantity": "load latency"}
    slow = judged(record, table(value=0.85, lower=-0.25, upper=0.1, unit="us"))
    assert "over its reference" in slow.matrices[0].cells["gpu0", "gpu1"].reason
    assert judged(record, table(value=1.15, lower=-0.25, upper=0.1, unit="us")).verdict is Verdict.PASS


def test_a_matrix_knows_its_classes_and_deviations(make_record):
    matrix = from_result(make_record(off={(0, 1): 198.0})["results"][0])
    assert matrix.classes["NV18"].count == 12
    assert (matrix.classes["NV18"].low, matrix.classes["NV18"].median) == (198.0, 396.0)
    evaluation = evaluate(make_record(off={(0, 1): 198.0}), References({}), None)
    assert evaluation.matrices[0].worse(("gpu0", "gpu1")) == pytest.approx(0.5)


@pytest.mark.parametrize("count", [4, 130])
@pytest.mark.parametrize("converged", [True, False, None])
def test_the_interval_decides_and_not_the_word_converged(make_record, count, converged):
    record = make_record(count=count)
    result = record["results"][0]
    result["converged"] = [[converged for _ in row] for row in result["converged"]]
    references = References({("hgx", CASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
    assert evaluate(record, references, "hgx").verdict is Verdict.PASS
    result["low"][0][1] = 300.0
    cell = evaluate(record, references, "hgx").matrices[0].cells["gpu0", "gpu1"]
    assert cell.verdict is Verdict.WARN and "too noisy" in cell.reason
