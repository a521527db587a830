"""How many sigma a limit is, and what the noise of few runs and of whole classes comes to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.adopt import proposal
from linkmatrix.references import noise


def test_k_is_that_of_the_number_of_cells():
    assert [round(noise.sigma_limit(n * (n - 1)), 1) for n in (8, 64, 1024)] == [3.6, 4.6, 5.6]


def test_noise_above_the_floor_makes_the_limit():
    values = 400 * (1 + 0.01 * np.random.default_rng(1).standard_normal((30, 8, 8)))
    values[:, range(8), range(8)] = np.nan
    found = noise.spread(values, np.full((8, 8), "NV18"))
    assert found.class_sigma["NV18"] == pytest.approx(0.01, rel=0.1)
    limit = noise.tolerance(found.class_sigma["NV18"], 56, 30)
    reference = proposal.make_reference(400.0, found.class_sigma["NV18"], 56, 30, noise.Floor(0.02, 0.05), "GB/s")
    assert reference.lower == -proposal.rounded(limit) and 0.03 < limit < 0.045
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
