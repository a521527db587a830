"""The smallest deficit that a contract says it could have seen is one that is found."""

import pytest
from deficits import LIMIT, Deficits

from linkmatrix.contract.power import POWER, Noise, chi_square, noise_of

TRIALS = 60


@pytest.mark.parametrize("unit", ["GB/s", "us"])
@pytest.mark.parametrize("sigma", [0.002, 0.01])
def test_what_is_said_to_be_seen_is_found(unit, sigma):
    sim = Deficits(6, unit, sigma, seed=7)
    noise = sim.noise()
    smallest = noise.smallest
    assert 1 - LIMIT < smallest < 0.10
    assert noise.power(smallest) == pytest.approx(POWER)
    assert sim.found(smallest, TRIALS) >= 0.85  # less than 51 of 60, where each has 95 %, has a chance of 0.1 %
    assert sim.found(0.0, TRIALS) <= 0.01 + (sigma == 0.01) * 0.05


def test_noise_that_is_larger_hides_more():
    found = [Deficits(6, "GB/s", sigma, seed=3).noise().smallest for sigma in (0.002, 0.005, 0.01, 0.02)]
    assert found == sorted(found) and found[-1] > 2 * (1 - LIMIT)


def test_the_formula_by_hand():
    one = Noise(margin=1.05, sigma=0.01, cells=56)
    assert one.smallest == pytest.approx(1 - 1 / (1.05 * (1 + 1.644854 * 0.01)))
    assert one.power(one.smallest) == pytest.approx(POWER)
    late = Noise(margin=0.8, sigma=0.01, cells=56, latency=True)
    assert late.smallest == pytest.approx(1 / (0.8 * (1 - 1.644854 * 0.01)) - 1)
    assert late.power(late.smallest) == pytest.approx(POWER)


@pytest.mark.parametrize(("freedom", "quantile"), [(4, 0.71072), (8, 2.7326), (11, 4.5748), (55, 38.958)])
def test_quantiles_of_chi_square_are_those_of_tables(freedom, quantile):
    assert 0.97 * quantile <= chi_square(0.05, freedom) <= 1.001 * quantile  # less is on the safe side


def test_of_one_cell_without_an_interval_nothing_is_known():
    assert Noise(margin=1.1, sigma=None, cells=1).smallest is None
    assert Noise(margin=0.5, sigma=0.7, cells=9, latency=True).smallest is None
    judged = Deficits(4, "GB/s", 0.01).judged()
    assert set(noise_of(judged)) == {"NV18"}
