"""The tests for trends and steps: exact chances, false refusals, and series that are neither."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.adopt import drift

NOISE = [0.0, 0.0012, -0.0008, 0.0005, -0.0011, 0.0007, 0.0002, -0.0004, 0.0009, -0.0006, 0.0003, -0.0002]


def test_six_runs_in_each_order_have_the_exact_chance_of_a_trend():
    chances = np.array([drift.trend_chance(order) for order in permutations(range(6))])
    assert (chances <= drift.TREND_LEVEL).mean() == pytest.approx(2 / 720)
    assert (chances <= 0.05).mean() == pytest.approx(12 / 720)


def test_the_tail_of_student_s_distribution_is_that_of_its_tables():
    for t, freedom, chance in ((12.706, 1, 0.05), (4.604, 4, 0.01), (8.610, 4, 0.001), (2.086, 20, 0.05)):
        assert drift.student_tail(t, freedom) == pytest.approx(chance, rel=0.002)
    assert drift.student_tail(0.0, 4) == 1 and drift.student_tail(float("inf"), 5) == 0


@pytest.mark.parametrize("runs", [6, 8, 12])
def test_false_refusals_of_normal_noise_are_at_most_one_percent(runs):
    """3,000 series each: the upper end of 1 % is 1.5 %."""
    chance = np.random.default_rng(7)
    found = [drift.find(1 + 0.01 * chance.standard_normal(runs), 0.01) for _ in range(3000)]
    assert sum(one is not None for one in found) / len(found) < 0.015


@given(
    st.integers(6, 12).flatmap(lambda count: st.tuples(st.just(count), st.integers(0, count - 1))),
    st.floats(-0.9, 5.0),
    st.permutations(range(12)),
)
def test_no_single_outlier_of_any_size_is_a_step(place, size, order):
    count, at = place
    levels = 100 * (1 + np.array(NOISE)[order][:count])
    levels[at] *= 1 + size
    found = drift.find(levels, 0.01)
    assert found is None or found.kind == drift.TREND


@given(st.lists(st.floats(50, 150), min_size=6, max_size=20), st.floats(0.001, 1000))
def test_a_finding_does_not_depend_on_the_unit_and_turns_with_time(levels, factor):
    one = drift.find(np.array(levels), 0.01)
    other = drift.find(np.array(levels) * factor, 0.01)
    back = drift.find(np.array(levels[::-1]), 0.01)
    assert (one is None) == (other is None) == (back is None)
    if one and other and back:
        assert one.kind == other.kind == back.kind and one.change == pytest.approx(other.change)
        assert (one.change > 0) == (back.change < 0)
