"""Noise: centre and spread of runs, outliers, and the number of sigma of a limit."""

import faults
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.adopt import proposal
from linkmatrix.references import noise

#: of runs with a median of 100: residuals of 0, 1 and 2 %, of which 1 % is the median
SIX = [98.0, 99.0, 100.0, 100.0, 101.0, 102.0]
UP_TO_SIX = 1 + 1.16 / 6 + 2.9 / 36


def runs_of(*cells):
    """Runs × 1 × cells, out of the values of each cell."""
    return np.array(cells, dtype=float).T[:, None, :]


def test_one_cell_or_none_may_be_wrong_once_in_a_hundred_runs():
    assert noise.sigma_limit(1) == pytest.approx(2.3263, abs=1e-4)
    assert noise.sigma_limit(0) == noise.sigma_limit(1)
    assert noise.sigma_limit(2) == pytest.approx(2.5758, abs=1e-4)
    assert noise.normal_sigmas(0.5) == 0


def test_the_spread_of_a_class_is_the_median_deviation_of_all_its_cells_and_no_other_class_counts():
    loud = [value + 9 * (value - 100) for value in SIX]
    found = noise.spread(runs_of(SIX, SIX, loud), np.array([["NV18", "NV18", "NET"]]))
    assert found.class_sigma == {
        "NV18": pytest.approx(1.4826 * UP_TO_SIX * 0.01),
        "NET": pytest.approx(1.4826 * UP_TO_SIX * 0.10),
    }
    assert found.sigma.tolist() == [[found.class_sigma["NV18"], found.class_sigma["NV18"], found.class_sigma["NET"]]]
    assert found.centre.tolist() == [[100, 100, 100]]
    assert found.residuals[:, 0, 0].tolist() == pytest.approx([-0.02, -0.01, 0, 0, 0.01, 0.02])


def test_a_cell_that_one_run_lacks_says_nothing_and_leaves_its_class_as_it_is():
    lacking = [np.nan, *[500.0] * 5]
    found = noise.spread(runs_of(SIX, lacking, SIX), np.array([["NV18", "NV18", "NV18"]]))
    assert np.isnan(found.centre[0]).tolist() == np.isnan(found.sigma[0]).tolist() == [False, True, False]
    assert found.class_sigma == {"NV18": pytest.approx(1.4826 * UP_TO_SIX * 0.01)}
    assert noise.spread(runs_of(lacking), np.array([["NV18"]])).class_sigma == {}


@pytest.mark.parametrize(("runs", "own"), [(12, True), (11, False)])
@pytest.mark.parametrize(("louder", "beyond"), [(3, True), (1.5, False)])
def test_twelve_runs_know_a_cell_that_is_more_than_twice_as_noisy_as_its_class(runs, own, louder, beyond):
    steps = np.linspace(-1, 1, runs)
    quiet, loud = 100 * (1 + 0.01 * steps), 100 * (1 + 0.01 * louder * steps)
    found = noise.spread(runs_of(quiet, quiet, quiet, loud), np.full((1, 4), "NV18"))
    of_class, its_own = (
        found.class_sigma["NV18"],
        1.4826 * noise.small_sample_factor(runs) * 0.01 * louder * np.median(np.abs(steps)),
    )
    assert found.sigma[0, :3].tolist() == [of_class] * 3
    assert found.sigma[0, 3] == pytest.approx(its_own if own and beyond else of_class)


def spread_of(residuals, sigma):
    residuals = np.array(residuals)
    return noise.Spread(np.ones(residuals.shape[1:]), np.array(sigma), {}, residuals)


def test_an_outlier_is_beyond_the_floor_and_beyond_the_noise_of_all_runs_together():
    k = noise.with_uncertain_sigma(noise.sigma_limit(3 * 2), 3, 2)
    found = spread_of([[[0.021, -0.021, 0.0]], [[0.019, -0.019, np.nan]]], [[0.0001, 0.0001, 0.0001]])
    assert noise.outliers(found, 3, 0.02).tolist() == [[[True, True, False]], [[False, False, False]]]
    assert noise.outliers(found, 3, np.array([[0.03, 0.01, 0.01]])).tolist() == [
        [[False, True, False]],
        [[False, True, False]],
    ]
    noisy = spread_of([[[1.01 * k * 0.05, -1.01 * k * 0.05]], [[0.99 * k * 0.05, 0.0]]], [[0.05, 0.05]])
    assert noise.outliers(noisy, 3, 0.02).tolist() == [[[True, True]], [[False, False]]]
    at_its_limit = spread_of([[[0.5, -0.5]]], [[0.0, 0.0]])
    assert not noise.outliers(at_its_limit, 2, 0.5).any()
    unknown = spread_of([[[0.5]]], [[np.nan]])
    assert noise.outliers(unknown, 3, 0.02).all() and not noise.outliers(unknown, 3, 0.6).any()


#: 11 logarithms, the quantiles of which are themselves: 70 % is the eighth, 90 % the tenth
STEPS = np.arange(11) * 0.001


def test_a_cell_is_held_against_the_middle_that_the_upper_part_of_its_class_has():
    sigma = 0.002 / (1.2816 - 0.5244)
    middle = 0.007 - 0.5244 * sigma
    slow = STEPS.copy()
    slow[:3] -= 0.5  # a slow part does not move what is expected
    for logs in (STEPS, slow):
        deviation, found, limit = noise.class_deviations(logs[None, :], np.zeros((1, 11), dtype=int), 0.0001)
        assert deviation[0] == pytest.approx(logs - middle)
        assert found[0] == pytest.approx(np.full(11, sigma))
        assert limit[0] == pytest.approx(np.full(11, noise.sigma_limit(11) * sigma))


def test_each_class_has_its_floor_and_a_cell_of_none_has_the_greatest():
    classes = np.array([[0, 0, 1, 1, -1, 2, 3, 3]])
    logs = np.array([[5.0, 5.0, 2.0, 2.0, 7.0, 1.0, np.nan, 4.0]])
    deviation, sigma, limit = noise.class_deviations(logs, classes, [0.02, 0.2, 0.1, 0.05])
    assert limit[0].tolist() == pytest.approx([0.02, 0.02, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05])
    # a single cell of a class has nothing to be held against
    assert np.isnan(deviation[0]).tolist() == np.isnan(sigma[0]).tolist() == [False] * 4 + [True] * 4
    assert deviation[0, :4].tolist() == [0, 0, 0, 0]
    # of cells that agree the floor says what noise is
    assert sigma[0, :4].tolist() == pytest.approx([0.02 / noise.sigma_limit(7)] * 2 + [0.2 / noise.sigma_limit(7)] * 2)


@pytest.mark.parametrize(("cells", "limit"), [(12, noise.LEAST_ROUGH_FLOOR), (11, 0.5)])
def test_twelve_cells_that_agree_say_that_a_rough_floor_is_too_rough(cells, limit):
    logs, classes = np.zeros((1, cells)), np.zeros((1, cells), dtype=int)
    assert noise.class_deviations(logs, classes, 0.5)[2][0].tolist() == pytest.approx([limit] * cells)


def test_a_rough_floor_is_no_less_than_twice_what_the_cells_of_a_class_show():
    off = np.array([-0.01, 0.0, 0.0, 0.01])
    assert noise.measured_floor(off, 0.0, 3.0, 0.2) == 0.2  # a fine one stays
    assert noise.measured_floor(off, 0.0, 3.0, noise.ROUGH_FLOOR) == noise.LEAST_ROUGH_FLOOR
    assert noise.measured_floor(off, 0.02, 3.0, 0.5) == pytest.approx(2 * 3.0 * 0.02)  # spread of the upper part
    both_sides = np.array([-0.04, -0.03, -0.03, 0.0, 0.01, 0.01, 0.02])
    assert noise.measured_floor(both_sides + 0.01, 0.0, 3.0, 0.5) == pytest.approx(2 * 3.0 * 1.4826 * 0.02)
    assert noise.measured_floor(both_sides, 0.0, 3.0, 0.5) == pytest.approx(2 * 3.0 * 1.4826 * 0.02)
    assert noise.measured_floor(np.array([0.0, 0.0, 0.0, 0.3]), 0.0, 3.0, 0.5) == pytest.approx(0.6)  # the best of them


def test_few_cells_say_nothing_about_noise_and_fine_floors_stay():
    layout = faults.layout_of(3, per_node=1)
    values = faults.matrix_with([], 0.0, layout, 0.001, np.random.default_rng(1))
    _, _, limit = noise.class_deviations(np.log(values), layout.classes, 0.5)
    assert (limit == 0.5).all()
    layout = faults.layout_of(8, per_node=1)
    values = faults.matrix_with([], 0.0, layout, 0.0001, np.random.default_rng(1))
    assert (noise.class_deviations(np.log(values), layout.classes, 0.2)[2] == 0.2).all()
    rough = noise.class_deviations(np.log(values), layout.classes, 0.5)[2]
    assert set(rough[layout.classes >= 0]) == {noise.LEAST_ROUGH_FLOOR}


def test_k_is_that_of_the_number_of_cells():
    assert [round(noise.sigma_limit(n * (n - 1)), 1) for n in (8, 64, 1024)] == [3.6, 4.6, 5.6]


def test_noise_above_the_floor_makes_the_limit():
    values = 400 * (1 + 0.01 * np.random.default_rng(1).standard_normal((30, 8, 8)))
    values[:, range(8), range(8)] = np.nan
    found = noise.spread(values, np.full((8, 8), "NV18"))
    assert found.class_sigma["NV18"] == pytest.approx(0.01, rel=0.1)
    limit = noise.tolerance(found.class_sigma["NV18"], 56, 30)
    reference = proposal.make_reference(400.0, found.class_sigma["NV18"], 56, 30, noise.Floor(0.02, 0.05), "GB/s")
    assert reference.lower == -proposal.round_up(limit) and 0.03 < limit < 0.045
    assert reference.upper == 0.05


@pytest.mark.parametrize(("runs", "cells"), [(6, 1), (6, 2), (6, 12), (6, 56), (12, 2), (30, 2)])
def test_a_healthy_run_of_few_cells_is_seldom_outside_the_limit(runs, cells):
    """σ of 12 values is uncertain: with 2 cells and 6 runs, 4.7 % of healthy runs were outside the limit."""
    chance, trials = np.random.default_rng(3), 4000
    values = 1 + 0.02 * chance.standard_normal((trials, runs + 1, 1, cells))
    classes = np.full((1, cells), "HOST")
    alarms = 0
    for trial in values:
        found = noise.spread(trial[:runs], classes)
        limit = noise.tolerance(found.class_sigma["HOST"], cells, runs)
        alarms += bool((trial[runs] / found.centre - 1 < -limit).any())
    assert alarms / trials < 0.01 + 3 * (0.01 / trials) ** 0.5


@pytest.mark.parametrize(("runs", "cells"), [(6, 1), (6, 2), (6, 12), (6, 56), (12, 2), (30, 2)])
def test_healthy_runs_of_few_cells_seldom_have_an_outlier(runs, cells):
    """σ of few values is uncertain: with 1 to 12 cells, 10 to 14 % of healthy sets of six runs were refused."""
    chance, trials = np.random.default_rng(3), 2000
    values = 1 + 0.02 * chance.standard_normal((trials, runs, 1, cells))
    classes = np.full((1, cells), "HOST")
    refused = sum(noise.outliers(noise.spread(trial, classes), cells, 0.0).any() for trial in values)
    assert refused / trials < 0.05


@pytest.mark.parametrize(("runs", "cells"), [(6, 12), (6, 56), (12, 2), (30, 2)])
def test_a_run_that_lost_ten_sigma_is_an_outlier(runs, cells):
    chance, trials = np.random.default_rng(3), 500
    values = 1 + 0.02 * chance.standard_normal((trials, runs, 1, cells))
    values[:, 0, 0, 0] *= 0.8
    classes = np.full((1, cells), "HOST")
    found = sum(noise.outliers(noise.spread(trial, classes), cells, 0.0)[0, 0, 0] for trial in values)
    assert found / trials > 0.95


@given(st.integers(6, 30), st.floats(0, 0.05))
def test_a_class_of_equal_noise_has_its_spread(runs, sigma):
    chance = np.random.default_rng(0)
    values = 100 * (1 + sigma * chance.standard_normal((runs, 12, 12)))
    found = noise.spread(values.copy(), np.full((12, 12), "NET"))
    assert found.class_sigma["NET"] == pytest.approx(sigma, rel=0.35, abs=1e-9)
    assert np.allclose(found.centre, np.median(values, axis=0))


@pytest.mark.parametrize("runs", [6, 7, 8, 12, 30])
def test_the_noise_of_few_runs_is_not_taken_for_less_than_it_is(runs):
    """Their median lies near each of them: the noise of six was understated by a seventh."""
    values = 100 * (1 + 0.01 * np.random.default_rng(5).standard_normal((runs, 200, 200)))
    found = noise.spread(values, np.full((200, 200), "NET"))
    assert found.class_sigma["NET"] == pytest.approx(0.01, rel=0.02)


def test_a_cell_that_a_run_lacks_has_no_reference():
    values = np.full((6, 2, 2), 5.0)
    values[2, 0, 1] = np.nan
    assert np.isnan(noise.spread(values, np.full((2, 2), "NET")).centre[0, 1])


@pytest.mark.parametrize(("values", "median"), [([3.0, -1.0, 2.0], 2.0), ([3.0, -1.0, 2.0, 8.0], 2.5), ([5.0], 5.0)])
def test_the_median_residual_is_that_of_the_absolute_values(values, median):
    residuals = np.array(values)[:, None, None]
    assert noise.median_residual(residuals, np.array([[True]])) == median
