"""Intermittent cells: single samples are slow, and the median is not."""

import numpy as np
import pytest

from linkmatrix.judge import intermittent
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.rules import RULES
from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import suspects
from linkmatrix.show.analysis import Analysis
from tests.tools.stores import disturbed

CASE = "device_to_device_memcpy_write_ce"
REFERENCES = References({("hgx", CASE): {"cell[NV18]": Reference(396.0, -0.1, 0.05, "GB/s")}})
PASSES, PER_PASS = intermittent.PASSES, intermittent.PER_PASS
RUNS = 400  # simulated
SLOW = {(pass_, 3): 200.0 for pass_ in (1, 4, 9)}  # one sample in each of three passes


def with_short_samples(content, slow=None, cell=(0, 1), passes=PASSES, asked=PASSES * PER_PASS, usual=396.0):
    """A record with short samples. slow: {(pass, sample): value} of one cell."""
    result = content["results"][0]
    size = len(result["rows"])
    samples = np.full((passes, size, size, PER_PASS), usual)
    for (pass_, sample), value in (slow or {}).items():
        samples[pass_, cell[0], cell[1], sample] = value
    values = [
        [[[] if r == c else row[c] for c in range(size)] for r, row in enumerate(one)] for one in samples.tolist()
    ]
    all_passes = [{"began": at + 0.1, "ended": at + 0.2, "values": one} for at, one in enumerate(values)]
    said = {"asked": asked, "fewest": passes * PER_PASS, "bytes": 1 << 26, "transfers": 1, "passes": all_passes}
    result |= {"short_samples": said, "timing": "gate"}
    content["backend"] = "cuda"
    return content


def with_samples(content, samples, cell=(0, 1)):
    """A record that lists the ordinary samples of its cells. samples: those of one cell."""
    result = content["results"][0]
    size = range(len(result["rows"]))
    listed = [[[] if r == c else [396.0] * 7 for c in size] for r in size]
    listed[cell[0]][cell[1]] = samples
    result |= {"sampled": listed, "timing": "gate"}
    content["backend"] = "cuda"
    return content


def judged(content, name="hgx", cell=("gpu0", "gpu1")):
    """(verdict of the matrix, verdict on a cell)."""
    (found,) = evaluate(content, REFERENCES, name).matrices
    return found.verdict, found.cells[cell]


@pytest.mark.parametrize("name", ["hgx", None])
def test_a_cell_that_is_slow_in_several_passes_fails_though_its_median_is_fine(make_record, name):
    verdict, cell = judged(with_short_samples(make_record(), SLOW), name)
    assert verdict is Verdict.FAIL and cell.verdict is Verdict.FAIL
    assert "gpu0->gpu1 is intermittent: 3 of 72 short samples, in 3 of 12 passes," in cell.reason
    assert "49 % worse" in cell.reason


def test_a_quantile_is_counted_from_the_slow_samples_and_ignores_missing_ones():
    samples = np.array([[[np.nan, 5.0, 1.0]], [[np.nan, np.nan, 3.0]], [[np.nan, np.nan, 2.0]]])[..., None]
    for share, is_latency, last in ((0.25, False, 1.5), (0.25, True, 2.5), (1.0, False, 3.0)):
        found = intermittent.quantile(samples, share, is_latency)
        np.testing.assert_array_equal(found, [[np.nan, 5.0, last]])


def test_one_burst_is_no_finding(make_record):
    burst = {(5, sample): 100.0 for sample in range(PER_PASS)}
    assert judged(with_short_samples(make_record(), burst))[0] is Verdict.PASS


@pytest.mark.parametrize(("value", "verdict"), [(297.5, Verdict.PASS), (296.5, Verdict.FAIL)])
def test_a_sample_is_slow_beyond_25_percent(make_record, value, verdict):
    assert judged(with_short_samples(make_record(), dict.fromkeys(SLOW, value)))[0] is verdict


def test_a_cell_that_is_slow_half_of_the_time_fails(make_record):
    slow = {(pass_, sample): 198.0 for pass_ in range(0, PASSES, 2) for sample in range(PER_PASS)}
    assert judged(with_short_samples(make_record(), slow))[1].verdict is Verdict.FAIL


def test_a_latency_is_slow_if_a_transfer_takes_a_third_longer_as_with_bandwidth(make_record):
    for value, verdict in ((2.7, Verdict.FAIL), (2.6, Verdict.PASS), (1.0, Verdict.PASS)):
        content = with_short_samples(make_record(value=2.0), dict.fromkeys(SLOW, value), usual=2.0)
        content["results"][0]["unit"] = "us"
        found = evaluate(content, References({}), None).matrices[0].cells["gpu0", "gpu1"]
        assert (found.verdict is Verdict.FAIL) is (verdict is Verdict.FAIL)


@pytest.mark.parametrize(("backend", "verdict"), [("mpi", Verdict.PASS), ("cuda", Verdict.FAIL)])
def test_slow_samples_that_all_cells_have_are_usual_between_ranks_and_a_fault_of_gpus(make_record, backend, verdict):
    content = with_short_samples(make_record())
    for one in content["results"][0]["short_samples"]["passes"]:
        one["values"] = [[[200.0, *cell[1:]] if cell else [] for cell in row] for row in one["values"]]
    content["backend"] = backend
    assert judged(content)[0] is verdict


def dipped(content, slow_passes, is_slow=lambda row, column: True):
    """A record with short samples of which the first of some passes is slow in many cells."""
    with_short_samples(content)
    for number in slow_passes:
        one = content["results"][0]["short_samples"]["passes"][number]
        one["values"] = [
            [[200.0, *cell[1:]] if cell and is_slow(r, c) else cell for c, cell in enumerate(row)]
            for r, row in enumerate(one["values"])
        ]
    return content


@pytest.mark.parametrize("gpus", [8, 16])
def test_a_fault_of_all_cells_fails_and_has_a_common_cause(make_record, gpus):
    content, chance = with_short_samples(make_record(count=gpus)), np.random.default_rng(1)
    for one in content["results"][0]["short_samples"]["passes"]:
        one["values"] = [
            [[198.0 if chance.random() < 0.1 else 396.0 for _ in cell] for cell in row] for row in one["values"]
        ]
    matrix = evaluate(content, REFERENCES, "hgx").matrices[0]
    cells, failed = gpus * (gpus - 1), matrix.counts[Verdict.FAIL]
    assert failed >= 0.95 * cells, "of each cell, the power is 99.4 %"
    assert f"{failed} of {cells} cells" in matrix.cells["gpu0", "gpu1"].reason
    assert "common cause" in matrix.cells["gpu0", "gpu1"].reason


@pytest.mark.parametrize(("gpus", "of_node"), [(2, False), (3, False), (4, True), (8, True)])
def test_slow_passes_that_all_cells_share_are_no_pair_s(make_record, gpus, of_node):
    content = dipped(make_record(count=gpus), (2, 7))
    matrix = evaluate(content, REFERENCES, "hgx").matrices[0]
    reason = matrix.cells["gpu0", "gpu1"].reason
    assert matrix.counts[Verdict.FAIL] == gpus * (gpus - 1)
    assert "in the same passes" in reason and ("common cause" in reason) is of_node
    assert bool(flagged(content)) is not of_node


@pytest.mark.parametrize("gpus", [3, 4, 8])
def test_a_device_with_slow_passes_is_not_the_node_s(make_record, gpus):
    content = dipped(make_record(count=gpus), (2, 7), lambda row, column: 0 in (row, column))
    matrix = evaluate(content, REFERENCES, "hgx").matrices[0]
    assert matrix.counts[Verdict.FAIL] == 2 * (gpus - 1)
    assert "cells" not in matrix.cells["gpu0", "gpu1"].reason
    assert "gpu0" in flagged(content)


def flagged(content):
    """The devices that a matrix flags."""
    (matrix,) = evaluate(content, REFERENCES, "hgx").matrices
    return {one.label for one in suspects.matrix_flags(None, content, {}, content["results"][0], matrix)}


def test_two_intermittent_cells_do_not_hide_each_other(make_record):
    content = with_short_samples(make_record(count=2), {(p, 0): 100.0 for p in range(8)})
    for p, one in enumerate(content["results"][0]["short_samples"]["passes"]):
        one["values"][1][0][0] = 100.0 if p in (0, 5, 8) else 396.0
    found = evaluate(content, REFERENCES, "hgx").matrices[0]
    assert [found.cells[pair].verdict for pair in (("gpu0", "gpu1"), ("gpu1", "gpu0"))] == [Verdict.FAIL] * 2


def test_noise_of_the_fast_samples_raises_the_limit(make_record):
    content = with_short_samples(make_record())
    chance = np.random.default_rng(1)
    for one in content["results"][0]["short_samples"]["passes"]:
        one["values"][0][1] = (396 * np.exp(chance.normal(0, 0.12, PER_PASS))).tolist()
    assert judged(content)[0] is Verdict.PASS


def test_other_processes_make_it_disturbed(make_record):
    content = with_short_samples(make_record(), SLOW)
    content["results"][0]["others"] = disturbed(content["devices"][0]["node"], "hog")
    verdict, cell = judged(content)
    assert verdict is Verdict.DISTURBED and "3 of 72 short samples" in cell.reason and "pid" in cell.reason


@pytest.mark.parametrize(("off", "rule"), [({(0, 1): "corrupt"}, "corrupt"), ({(0, 1): 300.0}, "off reference")])
def test_wrong_data_and_a_slow_median_win(make_record, off, rule):
    (found,) = evaluate(with_short_samples(make_record(off=off), SLOW), REFERENCES, "hgx").matrices
    assert [*RULES][found.whole.rules[0, 1]] == rule


def test_it_wins_over_a_warning_by_the_interval(make_record):
    content = with_short_samples(make_record(), SLOW)
    content["results"][0]["low"][0][1] = 100.0
    assert judged(content)[1].verdict is Verdict.FAIL


@pytest.mark.parametrize(("slow", "verdict"), [(1, Verdict.PASS), (2, Verdict.WARN), (3, Verdict.WARN)])
def test_ordinary_samples_are_a_warning_at_most(make_record, slow, verdict):
    found, cell = judged(with_samples(make_record(), [200.0, 396.0] * slow + [396.0] * (7 - 2 * slow)))
    assert found is verdict
    assert verdict is Verdict.PASS or f"may be intermittent: {slow} of 7 samples" in cell.reason


def test_consecutive_slow_ordinary_samples_are_one_pass(make_record):
    for burst in ([200.0] * 11, [200.0, 200.0]):
        verdict, _ = judged(with_samples(make_record(), [396.0] * 8 + burst + [396.0] * 9))
        assert verdict is Verdict.PASS


def test_short_samples_are_read_and_ordinary_ones_are_not(make_record):
    content = with_samples(with_short_samples(make_record()), [200.0] * 3 + [396.0] * 4)
    assert judged(content)[0] is Verdict.PASS


def test_fewer_short_samples_than_asked_for_are_incomplete(make_record):
    content = with_short_samples(make_record(), passes=3)
    (fact,) = (one for one in facts(content) if "short samples" in one.sentence)
    assert fact.verdict is Verdict.INCOMPLETE and "18" in fact.sentence and "72" in fact.sentence
    assert judge_test(content, CheckFacts(CASE), REFERENCES, "hgx").verdict is Verdict.INCOMPLETE


def test_a_matrix_too_large_for_short_samples_is_not_incomplete(make_record):
    content = with_short_samples(make_record(count=65), passes=0)
    assert not [one for one in facts(content) if "short samples" in one.sentence]


@pytest.mark.parametrize("cells", [1, 2, 12, 56])
def test_acceptance_finds_what_the_issue_asks_for_between_gpus(cells):
    prior = intermittent.GPU_MEMORY
    assert intermittent.chance_unseen(0.1) == pytest.approx(0.478, abs=0.001)
    assert intermittent.power(prior, cells, PASSES, PER_PASS) >= 0.99
    assert intermittent.power(prior, cells, 11, PER_PASS) < 0.99, "eleven passes of six are too few"


@pytest.mark.parametrize("prior", [intermittent.GPU_MEMORY, intermittent.HOST_LINKS, intermittent.OTHER_PRIOR])
@pytest.mark.parametrize("cells", [1, 2, 12, 56])
def test_the_detection_power_is_that_of_the_rule(prior, cells):
    chance, passes = np.random.default_rng(5), np.full(cells, PASSES)
    found = 0
    for _ in range(RUNS):
        slow = np.zeros(cells, dtype=int)
        slow[0] = (chance.random((PASSES, PER_PASS)) < 0.1).any(axis=1).sum()
        found += intermittent.intermittent(passes, slow, prior, PER_PASS)[0]
    expected = intermittent.power(prior, cells, PASSES, PER_PASS)
    assert abs(found / RUNS - expected) <= 4 * np.sqrt(max(expected * (1 - expected), 0.01) / RUNS)


@pytest.mark.parametrize(("gpus", "rate"), [(2, 1e-5), (8, 1e-5), (8, 1e-4), (16, 1e-4)])
def test_healthy_matrices_of_gpus_have_few_false_alarms(gpus, rate):
    runs, cells = 2000, gpus * (gpus - 1)
    slow = np.random.default_rng(2).binomial(PASSES, 1 - (1 - rate) ** PER_PASS, (runs, cells))
    prior, passes = intermittent.GPU_MEMORY, np.full(cells, PASSES)
    alarms = sum(intermittent.intermittent(passes, one, prior, PER_PASS).any() for one in slow[slow.max(axis=1) > 1])
    assert alarms <= 7  # 2 are expected of 1 in 1,000: more than 7 are so with 0.1 %


@pytest.mark.parametrize("cells", [1, 2, 4, 8])
def test_healthy_links_to_a_busy_host_have_few_false_alarms(make_record, cells):
    """Copies in both directions on one H100: a beta distribution of mean 5.9 % and weight 15 samples fits them."""
    content = make_record(count=2)
    (result,) = content["results"]
    result |= {"timing": "gate", "memory": "host", "metric": "bidirectional"}
    prior, random = intermittent.cell_prior(content, result), np.random.default_rng(1)
    weight, passes, runs = 14.9 / PER_PASS, np.full(cells, PASSES), 2000
    rates = random.beta(0.059 * weight, 0.941 * weight, (runs, cells))
    slow = random.binomial(PASSES, rates)
    alarms = sum(intermittent.intermittent(passes, one, prior, PER_PASS).any() for one in slow)
    assert alarms <= 0.01 * runs


def test_a_run_states_the_detection_power_of_its_worst_test_case(judged_run, make_record):
    _, found = judged_run(with_samples(make_record(), [396.0] * 7))
    prior = intermittent.GPU_MEMORY
    (sentence,) = (one for one in Analysis(None, found).assessment if "Intermittent links: " in one)
    assert f"{100 * intermittent.ordinary_power(prior, 12, 7):.1f} % (memory of GPUs, WARN)" in sentence


def test_no_other_finding_hides_an_intermittent_cell(judged_run, make_record):
    slow_row = {(2, column): 340.0 for column in (0, 1, 3)}
    content = with_short_samples(make_record(count=4, off=slow_row), SLOW)
    _, found = judged_run(content, reference="hgx")
    topics = {one.topic: one for one in Analysis(None, found).findings}
    assert topics["device"].component == "gpu2" and topics["intermittent"].component == "gpu0->gpu1"
    told = Analysis(None, found, Verdict.FAIL).steps
    assert [line for line in told if "gpu0->gpu1" in line and "--short-samples 72" in line]


def test_the_diagnosis_names_a_failed_cell_and_does_not_advise_itself(make_record, write_record, tmp_path, linkmatrix):
    path = write_record(with_short_samples(make_record(), SLOW), tmp_path / "record.json")
    said = " ".join(linkmatrix.out("diagnose", path, code=1).split())
    assert "1 cell failed, and no single component explains the failure gpu0->gpu1 is intermittent: 3 of 72" in said
    assert "Next step: Measure gpu0->gpu1 again" in said and "linkmatrix diagnose" not in said


@pytest.mark.parametrize(
    ("options", "lacks"),
    [(["--short-samples", "72"], True), (["--short-samples=72"], True), (["--short-samples", "0"], False)],
)
def test_short_samples_that_a_command_asks_for_and_a_record_lacks_are_missing(make_record, options, lacks):
    content = make_record()
    content["command"] += options
    found = [one.verdict for one in facts(content, None) if "short samples" in one.sentence]
    assert found == ([Verdict.INCOMPLETE] if lacks else [])


def test_cells_too_noisy_to_show_a_loss_of_half_are_counted(make_record):
    content = with_short_samples(make_record())
    (result,) = content["results"]
    assert "too noisy" not in " ".join(intermittent.detection_power([(content, result)]))
    for number, one in enumerate(result["short_samples"]["passes"]):
        one["values"][0][1] = [30.0 * number + at for at in range(1, 7)]
    assert "of 1 cell are too noisy" in " ".join(intermittent.detection_power([(content, result)]))


@pytest.mark.parametrize(
    ("backend", "timing", "memory", "link_class", "verdict"),
    [
        ("cuda", "gate", "device", "NV18", Verdict.FAIL),
        ("cuda", "in-turn", "device", "NV18", Verdict.WARN),
        ("host", "gate", "host", "NODE", Verdict.WARN),
        ("mpi", None, "host", "NODE", Verdict.WARN),
        ("mpi", None, "host", "NET", Verdict.FAIL),
    ],
)
def test_a_cell_that_the_operating_system_delays_is_warn_at_most(
    make_record, backend, timing, memory, link_class, verdict
):
    content = with_short_samples(make_record(count=4), {(number, 3): 198.0 for number in range(PASSES)})
    (result,) = content["results"]
    content["backend"], result["timing"], result["memory"] = backend, timing, memory
    result["link_class"] = [[name and link_class for name in row] for row in result["link_class"]]
    slow = intermittent.find_slow_samples(content, result)
    assert slow.found[0, 1] and slow.found.sum() == 1
    assert bool(slow.fails[0, 1]) is (verdict is Verdict.FAIL)


def test_a_run_without_enough_samples_states_that_it_finds_nothing(make_record):
    content = with_samples(make_record(), [396.0] * 7)
    content["backend"] = "host"
    (sentence,) = intermittent.detection_power([(content, content["results"][0])])
    assert "cannot find a link that loses 50 %" in sentence and "0.0 %" not in sentence
