"""Robust median and spread of many runs, and the tolerance that follows, with numpy on whole matrices.

A limit is the larger of a floor and k·σ. σ is 1.4826 times the median absolute deviation of a link class's values
from the medians of their cells. The cells of a class share σ, because six runs of one cell are too few to estimate its
σ. k(m) limits the probability of any false alarm among m cells of a healthy run to 1 %. k(m) is the normal quantile
of 1 - 0.01 / m (Bonferroni): 3.6 for 8 devices (56 cells), 4.6 for 64 devices, 5.6 for 1,024 devices. k of a limit is
larger, because σ and the medians of few runs are uncertain (`sigmas_of_runs`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..record.names import FEW_CELLS

FALSE_ALARMS = 0.01  # probability per run
ROUGH = 0.25  # a floor above this is rough: the noise of the machine is unknown, and the matrix may lower the floor
ENOUGH = 12  # cells of a class that may lower a rough floor
MARGIN, LEAST_ROUGH = 2.0, 0.05  # factor over the measured noise, because noise is not normal; the lowest floor
OWN_SPREAD = 2.0  # a cell whose σ exceeds σ of its class by this factor keeps its own σ
ROWS_AT_ONCE = 8
LEAST_OF_SEVERAL = 0.02  # least deviation of several cells of a slow component, as a fraction
MEDIAN_EFFICIENCY = np.pi / 2  # variance of a median relative to the variance of the mean


def sigmas(cells: int) -> float:
    """k(m), the number of σ that a cell may deviate if `cells` cells are judged together."""
    return sigmas_of(FALSE_ALARMS / max(cells, 1))


def sigmas_of(chance: float) -> float:
    """The number of σ that normal noise exceeds on one side with this probability."""
    return -NormalDist().inv_cdf(chance)


def robust_sigma(values: np.ndarray) -> float:
    """The σ of a normal distribution with the median absolute deviation of these values."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


@dataclass(frozen=True)
class Spread:
    """The medians and the noise of the cells of several runs.

    centre: the median of each cell, rows × columns; NaN unless every run has a value.
    sigma: σ of each cell, as a fraction. of_class: {link class: σ}.
    residuals: value / median - 1, runs × rows × columns.
    """

    centre: np.ndarray
    sigma: np.ndarray
    of_class: dict[str, float]
    residuals: np.ndarray


def spread(values: np.ndarray, classes: np.ndarray) -> Spread:
    """The medians and the noise of runs.

    values: runs × rows × columns, NaN for missing values. classes: the link class of each cell, rows × columns.
    """
    runs = values.shape[0]
    applies = np.isfinite(values).all(axis=0)
    centre = np.where(applies, median_of_runs(values), np.nan)
    residuals = values / centre
    residuals -= 1
    small = small_sample_factor(runs)
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


def small_sample_factor(runs: int) -> float:
    """The factor that corrects the spread around a median of `runs` values, which lies close to these values.

    The factor was fitted to normal noise and is correct within 1 % from 6 runs: 1.27 for 6, 1.12 for 12, 1.04 for 30.
    """
    return 1 + 1.16 / runs + 2.9 / runs**2


def median_of_all(residuals: np.ndarray, cells: np.ndarray) -> float:
    """The median absolute residual of the chosen cells over all runs.

    residuals: runs × rows × columns. cells: a mask, rows × columns, of cells without NaN.
    """
    off = np.empty((len(residuals), int(cells.sum())))
    for run, of_run in enumerate(residuals):
        np.abs(of_run[cells], out=off[run])
    off = off.ravel()
    low, high = (off.size - 1) // 2, off.size // 2
    off.partition((low, high))
    return float((off[low] + off[high]) / 2)


def median_of_runs(values: np.ndarray, of: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
    """The median over the runs of each cell, rows × columns; undefined for a cell with a NaN.

    values: runs × rows × columns. of: a function that is applied to the values first. A few rows are sorted at a time,
    because the values of a cell are far apart in an array of a gigabyte.
    """
    runs = len(values)
    centre = np.empty(values.shape[1:])
    for first in range(0, len(centre), ROWS_AT_ONCE):
        some = of(values[:, first : first + ROWS_AT_ONCE])
        ordered = np.sort(some.reshape(runs, -1).T, axis=1, kind="quicksort")
        centre[first : first + ROWS_AT_ONCE] = median_of_sorted(ordered, runs).reshape(some.shape[1:])
    return centre


def medians(values: np.ndarray, axis: int) -> np.ndarray:
    """The medians of rows (axis 1) or columns (axis 0), without NaN; 0 for a line without numbers."""
    ordered = np.sort(values if axis == 1 else values.T, axis=1)  # NaN is last
    count = (~np.isnan(ordered)).sum(axis=1)
    return np.where(count > 0, median_of_sorted(ordered, np.maximum(count, 1)), 0.0)


def median_of_sorted(ordered: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    """The median of the first `count` numbers of each row of `ordered`, whose rows are sorted."""
    lines = np.arange(len(ordered))
    return (ordered[lines, (count - 1) // 2] + ordered[lines, count // 2]) / 2


def tolerance(sigma: float, cells: int, runs: int) -> float:
    """k·σ, as a fraction, of a new value compared with a median of `runs` values."""
    return sigmas_of_runs(cells, runs) * sigma


def sigmas_of_runs(cells: int, runs: int) -> float:
    """k, the number of σ by which `cells` new values may differ from medians of `runs` values, with σ of these runs.

    Larger than `sigmas` for two reasons: the medians are uncertain, and σ of few values is uncertain.
    """
    return with_uncertain_sigma(sigmas(cells), cells, runs) * float(np.sqrt(1 + MEDIAN_EFFICIENCY / runs))


def with_uncertain_sigma(k: float, cells: int, runs: int) -> float:
    """The number of σ for the same probability as `k`, if σ is estimated from `runs` runs of `cells` cells.

    Student's t, to first order, has the factor 1 + (k² + 1) / 4ν. Here ν = cells · (runs - 3) / 2, fitted to 1 to 132
    cells.
    """
    return k * (1 + (k**2 + 1) / (2 * max(cells, 1) * max(runs - 3, 1)))


def outliers(found: Spread, cells: int, floor: float | np.ndarray) -> np.ndarray:
    """Mask, runs × rows × columns, of values that differ from their cell's median by more than the noise.

    floor: the least deviation of an outlier, as a fraction; one for all cells, or rows × columns.
    """
    runs = len(found.residuals)
    k = with_uncertain_sigma(sigmas(cells * runs), cells, runs)
    limit = np.maximum(floor, k * np.nan_to_num(found.sigma))
    with np.errstate(invalid="ignore"):
        return np.array([np.abs(of_run) > limit for of_run in found.residuals])  # NaN is no outlier


def against_class(
    logs: np.ndarray, classes: np.ndarray, floors: float | Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(deviation, sigma, limit) of each cell compared with the upper part of its link class, rows × columns.

    A class of at most FEW_CELLS cells is compared with its best cell, and the floor alone is its noise. logs:
    logarithms of values, larger is better, NaN for missing values. classes: index of each cell's class, -1 for none.
    floors: as fractions, one for all classes or one per class.
    """
    groups = int(classes.max(initial=-1)) + 1
    of_class = np.append(np.broadcast_to(floors, groups), np.max(floors, initial=0.0))  # the last one is for -1
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
    """(median, σ) of the healthy cells, from the upper part of the values. Slow cells are in the lower part.

    70 % and 90 % of a normal distribution are below 0.524 and 1.282 σ above its median.
    """
    high, higher = np.quantile(values, [0.70, 0.90])
    sigma = float(higher - high) / (1.2816 - 0.5244)
    return float(high) - 0.5244 * sigma, sigma


def measured_floor(off: np.ndarray, found: float, k: float, floor: float) -> float:
    """A rough floor, lowered to what the cells of a class show: their spread on both sides, and the best cell."""
    if floor < ROUGH:
        return floor
    return max(LEAST_ROUGH, MARGIN * k * max(found, robust_sigma(off)), MARGIN * float(off.max()))


class Floor(NamedTuple):
    """The least tolerances below and above a reference, as fractions."""

    lower: float
    upper: float


class Carrier(Enum):
    """The hardware that transfers the data of a cell."""

    LINK = "engines of GPUs over their own links"
    HOST = "engines of GPUs, to and from host memory"
    STAGED = "engines of GPUs by way of host memory"
    PROCESSOR = "threads or ranks of a machine over its memory"
    NETWORK = "between nodes, from the host memory of ranks"
    FABRIC = "between nodes, from the memory of GPUs"


#: Bandwidth, with a reference. One NVLink of 18 is 5.6 %. Transfers by processors vary with the load.
#: Host memory: a PCIe link that lost lanes or a generation is 50 % slower. Undisturbed cells of 2 × H200 in a virtual
#: machine were up to 4.3 % slower in 5 of 18 runs, for up to a second; the host showed no cause. Two ranks there had
#: 11.9 to 16.0 GB/s in 44 undisturbed runs, with a median of 13.2 GB/s.
FLOORS = {
    Carrier.LINK: Floor(0.02, 0.05),
    Carrier.HOST: Floor(0.08, 0.10),
    Carrier.STAGED: Floor(0.05, 0.10),
    Carrier.PROCESSOR: Floor(0.20, 0.30),
    Carrier.NETWORK: Floor(0.03, 0.10),
    Carrier.FABRIC: Floor(0.03, 0.10),
}
#: Carriers whose cells do not vary with the load of the processors.
STEADY = (Carrier.LINK, Carrier.HOST, Carrier.NETWORK, Carrier.FABRIC)
#: Bandwidth, without a reference: only the cells of the run show its noise. They may lower a floor above `noise.ROUGH`.
ALONE = {
    Carrier.LINK: 0.02,
    Carrier.HOST: 0.08,
    Carrier.STAGED: 0.20,
    Carrier.PROCESSOR: 0.50,
    Carrier.NETWORK: 0.50,
    Carrier.FABRIC: 0.05,
}
LATENCY = Floor(0.25, 0.20)


def carrier_of(result: Mapping[str, Any], link_class: str, backend: str = "") -> Carrier:
    """The carrier of the cells of a link class. backend: of the record, if known."""
    of_ranks = result["memory"] == "host" and result["engine"] == "mpi"
    if link_class == "NET":
        return Carrier.NETWORK if of_ranks else Carrier.FABRIC
    if backend == "host" or of_ranks:
        return Carrier.PROCESSOR
    if result["transport"] == "staged":
        return Carrier.STAGED
    return Carrier.HOST if result["memory"] == "host" else Carrier.LINK


def floor_of(result: Mapping[str, Any], link_class: str, backend: str = "") -> Floor:
    """The least tolerances of a reference."""
    return LATENCY if result["unit"] == "us" else FLOORS[carrier_of(result, link_class, backend)]


def floor_of_ranks(unit: str, link_class: str) -> float:
    """The smaller floor of a matrix between ranks. Only such matrices are too large for their record."""
    carrier = Carrier.NETWORK if link_class == "NET" else Carrier.PROCESSOR
    return min(LATENCY if unit == "us" else FLOORS[carrier])


def floor_alone(result: Mapping[str, Any], link_class: str, backend: str = "") -> float:
    """The least deviation from its link class, as a fraction, of a slow cell without a reference."""
    return min(LATENCY) if result["unit"] == "us" else ALONE[carrier_of(result, link_class, backend)]
