"""Robust centre and spread of many runs, and the tolerance that follows: numpy on whole matrices at once.

A limit is the larger of a floor and k(m)·σ. σ is 1.4826 times the median absolute deviation of a link class's values
from their cells' medians; the cells of a class share it, because six runs of one cell say little about its own. k(m)
keeps the chance of any false alarm in m cells of a healthy run at 1 %: the normal quantile of 1 - 0.01 / m
(Bonferroni), 3.6 for 8 devices (56 cells), 4.6 for 64, 5.6 for 1,024.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from ..record.names import FEW_CELLS

FALSE_ALARMS = 0.01  # of a run
ROUGH = 0.25  # a floor above this is for machines whose noise nobody knows: the matrix itself may say that it is less
ENOUGH = 12  # cells of a class that say so
MARGIN, LEAST_ROUGH = 2.0, 0.05  # over what is measured, for what is not normal; and no less than this
OWN_SPREAD = 2.0  # a cell that is this much noisier than its class has a tolerance of its own
ROWS_AT_ONCE = 8
MEDIAN_EFFICIENCY = np.pi / 2  # the median of n has pi/2 times the variance of their mean


def sigmas(cells: int) -> float:
    """k(m): how many σ a cell may be off where `cells` are judged at once."""
    return sigmas_of(FALSE_ALARMS / max(cells, 1))


def sigmas_of(chance: float) -> float:
    """How many σ noise exceeds, on one side, with this chance."""
    return -NormalDist().inv_cdf(chance)


def robust_sigma(values: np.ndarray) -> float:
    """The σ of a normal distribution with the median absolute deviation of these values."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


@cache
def binomial_tail(trials: int, hits: int, chance: float) -> float:
    """The chance of `hits` or more in so many trials, each with this chance."""
    return sum(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(hits, trials + 1))


@dataclass(frozen=True)
class Spread:
    """The median of each cell, rows × columns, NaN where it does not apply; and σ as a fraction, of each and by class.

    residuals: runs × rows × columns, value / median - 1
    """

    centre: np.ndarray
    sigma: np.ndarray
    of_class: dict[str, float]
    residuals: np.ndarray


def spread(values: np.ndarray, classes: np.ndarray) -> Spread:
    """values: runs × rows × columns, NaN where a cell does not apply; classes: rows × columns of words."""
    runs = values.shape[0]
    applies = np.isfinite(values).all(axis=0)
    centre = np.where(applies, median_of_runs(values), np.nan)
    residuals = values / centre
    residuals -= 1
    small = of_few(runs)
    sigma = np.full(centre.shape, np.nan)
    of_class = {}
    for name in np.unique(classes[applies]):
        cells = applies & (classes == name)
        of_class[str(name)] = float(1.4826 * small * median_of_all(residuals, cells))
        sigma[cells] = of_class[str(name)]
    if runs >= 2 * 6:
        own = 1.4826 * small * median_of_runs(residuals, np.abs)
        noisy = applies & (own > OWN_SPREAD * sigma)
        sigma[noisy] = own[noisy]
    return Spread(centre, sigma, of_class, residuals)


def of_few(runs: int) -> float:
    """By how much deviations from a median of `runs` are too small, for it lies near each of them.

    Fitted to normal noise, within 1 % from 6 runs on: 1.27 of 6, 1.12 of 12, 1.04 of 30.
    """
    return 1 + 1.16 / runs + 2.9 / runs**2


def median_of_all(residuals: np.ndarray, cells: np.ndarray) -> float:
    """The median of what the chosen cells, rows × columns, are off in all runs, whichever way; none of them is NaN."""
    off = np.empty((len(residuals), int(cells.sum())))
    for run, of_run in enumerate(residuals):
        np.abs(of_run[cells], out=off[run])
    off = off.ravel()
    low, high = (off.size - 1) // 2, off.size // 2
    off.partition((low, high))
    return float((off[low] + off[high]) / 2)


def median_of_runs(values: np.ndarray, of: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
    """The median of each cell, rows × columns, of runs × rows × columns; of a cell with a NaN it says nothing.

    A few rows at a time, the runs of a cell side by side: in a gigabyte they are far apart.
    """
    runs = len(values)
    centre = np.empty(values.shape[1:])
    for first in range(0, len(centre), ROWS_AT_ONCE):
        some = of(values[:, first : first + ROWS_AT_ONCE])
        ordered = np.sort(some.reshape(runs, -1).T, axis=1, kind="quicksort")
        centre[first : first + ROWS_AT_ONCE] = middle_of(ordered, runs).reshape(some.shape[1:])
    return centre


def medians(values: np.ndarray, axis: int) -> np.ndarray:
    """The median of the numbers along an axis of rows × columns, without those that are NaN; 0 where there is none."""
    ordered = np.sort(values if axis == 1 else values.T, axis=1)  # NaN is last
    count = (~np.isnan(ordered)).sum(axis=1)
    return np.where(count > 0, middle_of(ordered, np.maximum(count, 1)), 0.0)


def middle_of(ordered: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    """The median of the first `count` numbers of each line, which are in order."""
    lines = np.arange(len(ordered))
    return (ordered[lines, (count - 1) // 2] + ordered[lines, count // 2]) / 2


def tolerance(sigma: float, cells: int, runs: int) -> float:
    """k(m)·σ of one new value against a median of `runs`, as a fraction."""
    return sigmas(cells) * sigma * float(np.sqrt(1 + MEDIAN_EFFICIENCY / runs))


def outliers(found: Spread, cells: int, floor: float | np.ndarray) -> np.ndarray:
    """runs × rows × columns: where a run is off its cell's median by more than any noise.

    floor: as a fraction, of all cells or of each, rows × columns.
    """
    limit = np.maximum(floor, sigmas(cells * len(found.residuals)) * np.nan_to_num(found.sigma))
    with np.errstate(invalid="ignore"):
        return np.array([np.abs(of_run) > limit for of_run in found.residuals])  # NaN is not


def against_class(
    logs: np.ndarray, classes: np.ndarray, floors: float | Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(deviation, sigma, limit) of each cell against the upper part of its link class, rows × columns.

    Of FEW_CELLS cells or fewer it is the best cell: the floor alone says what noise is.

    logs: logarithms of values, more is better, NaN where there is none. classes: their indices, -1 where none applies.
    floors: as fractions, of all classes or of each.
    """
    groups = int(classes.max(initial=-1)) + 1
    of_class = np.append(np.broadcast_to(floors, groups), np.max(floors, initial=0.0))  # the last is of -1
    k = sigmas(int((classes >= 0).sum()))
    deviation, sigma = np.full(logs.shape, np.nan), np.full(logs.shape, np.nan)
    limit = of_class[classes]
    for group in range(groups):
        floor = float(of_class[group])
        inside = (classes == group) & np.isfinite(logs)
        if inside.sum() < 2:
            continue
        good = logs[inside]
        level, found = upper_part(good) if len(good) > FEW_CELLS else (float(good.max()), 0.0)
        least = floor if len(good) < ENOUGH else min(floor, measured_floor(good - level, found, k, floor))
        deviation[inside] = good - level
        sigma[inside] = max(found, least / k)
        limit[inside] = np.maximum(least, k * sigma[inside])
    return deviation, sigma, limit


def upper_part(values: np.ndarray) -> tuple[float, float]:
    """(the middle, σ) of what is normal, by its upper part: the slow ones are below.

    70 % and 90 % of a normal distribution are 0.524 and 1.282 σ above its middle.
    """
    high, higher = np.quantile(values, [0.70, 0.90])
    sigma = float(higher - high) / (1.2816 - 0.5244)
    return float(high) - 0.5244 * sigma, sigma


def measured_floor(off: np.ndarray, found: float, k: float, floor: float) -> float:
    """A rough floor lowered to what the cells of a class show: their spread on both sides, and the best of them."""
    if floor < ROUGH:
        return floor
    return max(LEAST_ROUGH, MARGIN * k * max(found, robust_sigma(off)), MARGIN * float(off.max()))
