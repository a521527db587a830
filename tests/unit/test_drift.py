"""The tests for trends and steps: exact chances, false refusals, and series that are neither."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.adopt import drift

NOISE = [0.0, 0.0012, -0.0008, 0.0005, -0.0011, 0.0007, 0.0002, -0.0004, 0.0009, -0.0006, 0.0003, -0.0002]


def test_six_runs_in_each_order_have_the_exact_chance_of_a_trend():
    orders = 100.0 + np.array(list(permutations(range(6))))
    assert drift.drift_evidence(orders, 0.0).has_trend.sum() == 2 == round(720 * drift.TREND_LEVEL)
    assert drift.least_score(5) > 10  # the five runs of any order have no significant trend


@pytest.mark.parametrize("runs", [7, 8])
def test_seven_and_eight_runs_attain_at_most_the_level_of_six(runs):
    orders = np.array(list(permutations(range(runs))))
    first, second = np.triu_indices(runs, 1)
    score = np.abs(np.sign(orders[:, second] - orders[:, first]).sum(axis=1))
    least = drift.least_score(runs)
    assert (score >= least).mean() <= drift.TREND_LEVEL < (score >= least - 2).mean()


def test_the_tail_of_student_s_distribution_is_that_of_its_tables():
    for t, freedom, chance in ((12.706, 1, 0.05), (4.604, 4, 0.01), (8.610, 4, 0.001), (2.086, 20, 0.05)):
        assert drift.student_tail(np.array([t]), freedom)[0] == pytest.approx(chance, rel=0.002)
    assert drift.student_tail(np.array([0.0, np.inf]), 5).tolist() == [1, 0]


@pytest.mark.parametrize("runs", [6, 8, 12])
def test_false_refusals_of_normal_noise_are_at_most_one_percent(runs):
    """20,000 series each, with noise far above the least size: four standard errors of 1 % are 0.3 %."""
    found = drift.drift_evidence(1 + 0.03 * np.random.default_rng(7).standard_normal((20_000, runs)), 0.01)
    assert (found.has_trend | found.has_step).mean() < 0.013


@given(
    st.integers(6, 12).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count - 1))),
    st.floats(-0.9, 5.0),
    st.permutations(range(12)),
)
def test_no_single_outlier_of_any_size_is_a_step(place, size, order):
    count, at = place
    levels = 100 * (1 + np.array(NOISE)[order][:count])
    levels[at] *= 1 + size
    found = drift.find_drift(levels, 0.01)
    assert found is None or found.kind == drift.TREND


@given(st.lists(st.floats(50, 150), min_size=6, max_size=20), st.floats(0.001, 1000))
def test_a_finding_does_not_depend_on_the_unit_and_turns_with_time(levels, factor):
    one = drift.find_drift(np.array(levels), 0.01)
    other = drift.find_drift(np.array(levels) * factor, 0.01)
    back = drift.find_drift(np.array(levels[::-1]), 0.01)
    assert (one is None) == (other is None) == (back is None)
    if one and other and back:
        assert one.kind == other.kind == back.kind and one.change == pytest.approx(other.change)
        assert (one.change > 0) == (back.change < 0)
