"""Rules at their edges: what is exactly at a limit is within it, and what has no number says nothing of a number."""

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References

TESTCASE = "device_to_device_memcpy_write_ce"


def cell(content, reference, pair=("gpu0", "gpu1")):
    """The verdict on a cell of a record, all of whose cells have this reference."""
    table = {"cell[NV18]": reference} if reference else {}
    (found,) = evaluate(content, References({("hgx", TESTCASE): table}), "hgx").matrices
    return found.cells[pair]


#: limits are 100 and 300 GB/s, exactly
WIDE = Reference(200.0, -0.5, 0.5, "GB/s")


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(100.0, Verdict.PASS), (99.99, Verdict.FAIL), (300.0, Verdict.PASS), (300.01, Verdict.NOT_JUDGED)],
)
def test_a_value_at_its_limit_is_within_it(make_record, value, verdict):
    found = cell(make_record(value=value), WIDE)
    assert found.verdict is verdict and found.deviation == value / 200 - 1


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(100, 300, Verdict.PASS), (99.9, 300, Verdict.WARN), (100, 300.1, Verdict.PASS)],
)
def test_an_interval_up_to_the_limit_passes_and_on_the_good_side_it_may_cross(make_record, low, high, verdict):
    content = make_record(value=200.0, off={(0, 1): 109.0})
    content["results"][0]["low"][0][1], content["results"][0]["high"][0][1] = low, high
    assert cell(content, WIDE).verdict is verdict


@pytest.mark.parametrize(
    ("unit", "value", "end", "verdict"),
    [
        ("GB/s", 183.0, 179.0, Verdict.PASS),  # the median used 85 % of its tolerance of 10 %
        ("GB/s", 181.0, 179.0, Verdict.WARN),
        ("GB/s", 200.0, 161.0, Verdict.PASS),
        ("GB/s", 200.0, 159.0, Verdict.WARN),  # the interval reaches further than twice the tolerance
        ("us", 217.0, 221.0, Verdict.PASS),
        ("us", 219.0, 221.0, Verdict.WARN),
        ("us", 200.0, 239.0, Verdict.PASS),
        ("us", 200.0, 241.0, Verdict.WARN),
    ],
)
def test_a_crossing_that_healthy_noise_explains_is_no_warning(make_record, unit, value, end, verdict):
    content = make_record(value=value)
    content["results"][0].update(unit=unit)
    content["results"][0]["high" if unit == "us" else "low"][0][1] = end
    assert cell(content, Reference(200.0, -0.1, 0.1, unit)).verdict is verdict


@pytest.mark.parametrize(("samples", "sure"), [(6, 97), (7, 98), (8, 99), (9, 96), (14, 99), (28, 96)])
def test_the_sentence_names_the_confidence_of_the_interval(make_record, samples, sure):
    """The order statistics that src/core/statistics.cpp chooses; of seven samples 1 - 2 / 2^7."""
    content = make_record(value=200.0)
    result = content["results"][0]
    result["low"][0][1], result["samples"][0][1] = 50.0, samples
    found = cell(content, Reference(200.0, -0.1, 0.1, "GB/s"))
    assert found.verdict is Verdict.WARN and f"the {sure} % interval" in found.reason


def test_a_cell_that_is_slower_by_its_place_is_not_slower_than_its_like(make_record):
    """Ranks on other sockets have lower references: such cells were WARN in every healthy run."""
    content = make_record(value=396.0, off={(0, 1): 300.0, (1, 0): 290.0})
    table = {"cell[NV18]": Reference(396.0, -0.1, 0.1, "GB/s"), "gpu0->gpu1": Reference(301.0, -0.1, 0.1, "GB/s")}
    table["gpu1->gpu0"] = Reference(301.0, -0.1, 0.1, "GB/s")
    (found,) = evaluate(content, References({("hgx", TESTCASE): table}), "hgx").matrices
    verdicts = {pair: one.verdict for pair, one in found.cells.items() if one.verdict is not Verdict.PASS}
    assert verdicts == {("gpu1", "gpu0"): Verdict.WARN} and "3.7 % worse" in found.cells["gpu1", "gpu0"].reason


@pytest.mark.parametrize(("unit", "allowed"), [("GB/s", 0.0625), ("us", 0.125)])
def test_a_cell_is_a_straggler_beyond_what_it_is_noisy_itself(make_record, monkeypatch, unit, allowed):
    """Fractions of two, so that what is exactly at the edge is exactly there."""
    worse = 1 if unit == "us" else -1
    wide = Reference(256.0, -0.25, 0.25, unit)
    for off, verdict in ((allowed, Verdict.PASS), (allowed + 0.0625, Verdict.WARN)):
        value = 256.0 * (1 + worse * off)
        content = make_record(value=256.0, off={(0, 1): value})
        result = content["results"][0]
        result.update(unit=unit)
        result["low"][0][1], result["high"][0][1] = value * (1 - allowed / 2), value * (1 + allowed / 2)
        found = cell(content, wide)
        assert found.verdict is verdict
        if verdict is Verdict.WARN:
            assert f"value / reference is {100 * off:.1f} % worse than the median of its link class" in found.reason


def test_a_total_of_a_part_is_no_value_to_hold_against_anything(make_record):
    content = make_record(off={(0, 1): "partial"})
    for reference in (WIDE, None):
        found = cell(content, reference)
        assert (found.verdict, found.value, found.deviation) == (Verdict.INCOMPLETE, None, None)
        assert not found.unjudged


@pytest.mark.parametrize(("timing", "verdict"), [("gate", Verdict.INCOMPLETE), (None, Verdict.NOT_JUDGED)])
def test_only_a_program_that_could_compare_data_is_incomplete_without(make_record, timing, verdict):
    """Other programs, such as perftest, compare no data: each of their runs was incomplete."""
    content = make_record()
    content["results"][0].update(verified=None, timing=timing)
    inside = Reference(396.0, -0.1, 0.1, "GB/s")
    assert cell(content, inside).verdict is verdict
    assert cell(content, Reference(500.0, -0.1, 0.1, "GB/s")).verdict is Verdict.FAIL
