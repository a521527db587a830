"""Robust medians and noise of several runs, and tolerances from the noise. The functions use numpy on whole matrices.

A limit is the larger of two values: k·σ, and a floor. The floor is the smallest tolerance of a data path.

* σ is 1.4826 times the median absolute deviation of values from the medians of their cells. All cells of a link class
  share σ, because six runs of one cell are too few to estimate its σ.
* k(m) limits the probability of a false alarm in a healthy run of m cells to 1 %. k(m) is the normal quantile of 1 -
  0.01 / m (Bonferroni): 3.6 for 8 devices (56 cells), 4.6 for 64 devices, 5.6 for 1,024 devices.
* References from few runs need a larger k, because σ and the medians are uncertain (`sigma_limit_of_runs`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..record.link_classes import BETWEEN_NODES
from ..record.names import FEW_CELLS

FALSE_ALARMS = 0.01  # probability per run
ROUGH_FLOOR = (
    0.25  # a floor from 25 % on is rough: the noise of the machine is unknown, and the matrix may lower the floor
)
LEAST_CELLS = 12  # a class with fewer cells does not lower a rough floor
MARGIN, LEAST_ROUGH_FLOOR = 2.0, 0.05  # factor over the measured noise, because noise is not normal; the lowest floor
OWN_SIGMA_FACTOR = 2.0  # a cell whose σ exceeds σ of its class by this factor keeps its own σ
ROWS_PER_STEP = 8
LEAST_GROUP_DEVIATION = 0.02  # smallest deviation of the cells of a slow component, as a fraction
MEDIAN_EFFICIENCY = np.pi / 2  # variance of a median relative to the variance of the mean


def sigma_limit(cells: int) -> float:
    """k(m) of this module's docstring for m = `cells`: the number of σ by which each cell may deviate."""
    return normal_sigmas(FALSE_ALARMS / max(cells, 1))


def normal_sigmas(chance: float) -> float:
    """The limit, in σ, that normally distributed noise exceeds with the probability `chance`, in one direction."""
    return -NormalDist().inv_cdf(chance)


def robust_sigma(values: np.ndarray) -> float:
    """The σ of normally distributed values, estimated from their median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


@dataclass(frozen=True)
class Spread:
    """The medians and the noise of the cells over several runs.

    * centre: the median of each cell, rows × columns; NaN if a run has no value
    * sigma: σ of each cell as a fraction of its median, rows × columns
    * class_sigma: {link class: σ as a fraction}
    * residuals: value / median - 1, runs × rows × columns
    """

    centre: np.ndarray
    sigma: np.ndarray
    class_sigma: dict[str, float]
    residuals: np.ndarray


def spread(values: np.ndarray, classes: np.ndarray) -> Spread:
    """Calculates the median and the noise of each cell over several runs.

    * values: runs × rows × columns, NaN for missing values. The function overwrites this array with the residuals,
      because a copy of 30 runs of 1,024 endpoints would need 250 MB.
    * classes: the link class of each cell, rows × columns
    """
    runs = values.shape[0]
    applies = np.isfinite(values).all(axis=0)
    centre = np.where(applies, median_of_runs(values), np.nan)
    residuals = np.divide(values, centre, out=values)
    residuals -= 1
    small = small_sample_factor(runs)
    sigma = np.full(centre.shape, np.nan)
    class_sigma = {}
    for name in np.unique(classes[applies]):
        cells = applies & (classes == name)
        class_sigma[str(name)] = float(1.4826 * small * median_residual(residuals, cells))
        sigma[cells] = class_sigma[str(name)]
    if runs >= 2 * 6:
        own = 1.4826 * small * median_of_runs(residuals, np.abs)
        noisy = applies & (own > OWN_SIGMA_FACTOR * sigma)
        sigma[noisy] = own[noisy]
    return Spread(centre, sigma, class_sigma, residuals)


def small_sample_factor(runs: int) -> float:
    """The correction factor for the σ of a few values around their own median. Without the factor, σ is too small.

    runs: the number of values. The factor was fitted to normal noise, and is correct within 1 % for 6 or more runs.
    Examples: 1.27 for 6 runs, 1.12 for 12 runs, 1.04 for 30 runs.
    """
    return 1 + 1.16 / runs + 2.9 / runs**2


def median_residual(residuals: np.ndarray, cells: np.ndarray) -> float:
    """The median of the absolute residuals of the selected cells, over all runs.

    residuals: runs × rows × columns. cells: True for the selected cells, rows × columns. These cells have no NaN.
    """
    off = np.empty((len(residuals), int(cells.sum())))
    for run, of_run in enumerate(residuals):
        np.abs(of_run[cells], out=off[run])
    off = off.ravel()
    low, high = (off.size - 1) // 2, off.size // 2
    off.partition((low, high))
    return float((off[low] + off[high]) / 2)


def median_of_runs(values: np.ndarray, transform: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
    """The median of each cell over the runs, rows × columns. The result of a cell with a NaN is undefined.

    values: runs × rows × columns. transform: a function that is first applied to the values.
    """
    runs = len(values)
    centre = np.empty(values.shape[1:])
    # a few rows at a time, because the values of a cell are far apart in an array of a gigabyte
    for first in range(0, len(centre), ROWS_PER_STEP):
        rows = transform(values[:, first : first + ROWS_PER_STEP])
        ordered = np.sort(rows.reshape(runs, -1).T, axis=1, kind="quicksort")
        centre[first : first + ROWS_PER_STEP] = median_of_sorted(ordered, runs).reshape(rows.shape[1:])
    return centre


def medians(values: np.ndarray, axis: int) -> np.ndarray:
    """The median of each row (axis 1) or of each column (axis 0). NaN is ignored.

    If a row or column contains only NaN, its median is 0.
    """
    ordered = np.sort(values if axis == 1 else values.T, axis=1)  # NaN is last
    count = (~np.isnan(ordered)).sum(axis=1)
    return np.where(count > 0, median_of_sorted(ordered, np.maximum(count, 1)), 0.0)


def median_of_sorted(ordered: np.ndarray, count: int | np.ndarray) -> np.ndarray:
    """The median of the first `count` numbers of each row of `ordered`. Each row must be sorted."""
    lines = np.arange(len(ordered))
    return (ordered[lines, (count - 1) // 2] + ordered[lines, count // 2]) / 2


def tolerance(sigma: float, cells: int, runs: int) -> float:
    """The tolerance k·σ, as a fraction, for a comparison of new values with the medians of some runs.

    cells: the number of compared cells. runs: the number of runs.
    """
    return sigma_limit_of_runs(cells, runs) * sigma


def sigma_limit_of_runs(cells: int, runs: int) -> float:
    """The number of σ by which a new value may differ from the median of `runs` runs.

    This number is larger than `sigma_limit`, because the medians and σ of few runs are uncertain.
    cells: the number of compared cells.
    """
    return with_uncertain_sigma(sigma_limit(cells), cells, runs) * float(np.sqrt(1 + MEDIAN_EFFICIENCY / runs))


def with_uncertain_sigma(k: float, cells: int, runs: int) -> float:
    """The allowed deviation in σ, if σ is estimated from `runs` runs of `cells` cells.

    The result is larger than k, so that the probability of a false alarm is the same as with an exactly known σ. The
    factor is 1 + (k² + 1) / 4ν. This is the first-order ratio of a quantile of Student's t distribution with ν degrees
    of freedom to the same quantile of the normal distribution. ν = cells · (runs - 3) / 2 was fitted to 1 to 132 cells.
    k: the allowed deviation in σ, if σ is known exactly.
    """
    return k * (1 + (k**2 + 1) / (2 * max(cells, 1) * max(runs - 3, 1)))


def outliers(spread: Spread, cells: int, floor: float | np.ndarray) -> np.ndarray:
    """True for values that differ from the median of their cell by more than the noise; runs × rows × columns.

    cells: the number of compared cells.
    floor: the smallest deviation of an outlier, as a fraction, for all cells or per cell (rows × columns).
    """
    runs = len(spread.residuals)
    k = with_uncertain_sigma(sigma_limit(cells * runs), cells, runs)
    limit = np.maximum(floor, k * np.nan_to_num(spread.sigma))
    with np.errstate(invalid="ignore"):
        return np.array([np.abs(of_run) > limit for of_run in spread.residuals])  # NaN is no outlier


def class_deviations(
    logs: np.ndarray, classes: np.ndarray, floors: float | Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compares each cell with the faster cells of its link class. Returns (deviation, σ, allowed deviation) of each.

    The cells of a class with at most FEW_CELLS cells are compared with the best cell. The floor replaces their noise.

    * logs: logarithms of the values, rows × columns. Larger is better. NaN for missing values.
    * classes: the index of each cell's class; -1 for cells without a class
    * floors: the smallest limits as fractions, one for all classes or one per class
    """
    groups = int(classes.max(initial=-1)) + 1
    class_floors = np.append(np.broadcast_to(floors, groups), np.max(floors, initial=0.0))  # the last one is for -1
    k = sigma_limit(int((classes >= 0).sum()))
    deviation, sigma = np.full(logs.shape, np.nan), np.full(logs.shape, np.nan)
    limit = class_floors[classes]
    for group in range(groups):
        floor = float(class_floors[group])
        inside = (classes == group) & np.isfinite(logs)
        if inside.sum() < 2:
            continue
        good = logs[inside]
        level, found = upper_part(good) if len(good) > FEW_CELLS else (float(good.max()), 0.0)
        least = floor if len(good) < LEAST_CELLS else min(floor, measured_floor(good - level, found, k, floor))
        deviation[inside] = good - level
        sigma[inside] = max(found, least / k)
        limit[inside] = np.maximum(least, k * sigma[inside])
    return deviation, sigma, limit


def upper_part(values: np.ndarray) -> tuple[float, float]:
    """Returns (median, σ) of the healthy cells, estimated from the 70 % and 90 % quantiles of all cells.

    Slow cells are below these quantiles. In a normal distribution, the quantiles are 0.524 σ and 1.282 σ above the
    median of the healthy cells.
    """
    high, higher = np.quantile(values, [0.70, 0.90])
    sigma = float(higher - high) / (1.2816 - 0.5244)
    return float(high) - 0.5244 * sigma, sigma


def measured_floor(deviations: np.ndarray, sigma: float, k: float, floor: float) -> float:
    """The floor of a link class: `floor`, or a floor from the noise of the cells if `floor` is at least ROUGH_FLOOR.

    deviations: deviations of the cells from the level of the class. sigma: σ of the faster cells of the class.
    """
    if floor < ROUGH_FLOOR:
        return floor
    noise = k * max(sigma, robust_sigma(deviations))
    return max(LEAST_ROUGH_FLOOR, MARGIN * noise, MARGIN * float(deviations.max()))


class Floor(NamedTuple):
    """The smallest lower tolerance and the smallest upper tolerance of a reference, as fractions."""

    lower: float
    upper: float


class DataPath(Enum):
    """The hardware that transfers the data of a cell."""

    LINK = "engines of GPUs, over the links between GPUs"
    HOST = "engines of GPUs, to and from host memory"
    STAGED = "engines of GPUs by way of host memory"
    PROCESSOR = "threads or ranks of a machine over its memory"
    NETWORK = "between nodes, from the host memory of ranks"
    FABRIC = "between nodes, from the memory of GPUs"


#: Floors of bandwidths with a reference.
#:
#: * LINK: one NVLink of 18 is 5.6 %.
#: * HOST: a PCIe link that lost lanes or a generation is 50 % slower. On a virtual machine with 2 × H200, undisturbed
#:   cells were up to 4.3 % slower in 5 of 18 runs, for up to a second. The host showed no cause.
#: * PROCESSOR: varies with the load. Two ranks on the same machine had 11.9 to 16.0 GB/s in 44 undisturbed runs, with
#:   a median of 13.2 GB/s.
FLOORS = {
    DataPath.LINK: Floor(0.02, 0.05),
    DataPath.HOST: Floor(0.08, 0.10),
    DataPath.STAGED: Floor(0.05, 0.10),
    DataPath.PROCESSOR: Floor(0.20, 0.30),
    DataPath.NETWORK: Floor(0.03, 0.10),
    DataPath.FABRIC: Floor(0.03, 0.10),
}
#: Data paths whose bandwidth does not vary with the load of the cores.
STEADY = (DataPath.LINK, DataPath.HOST, DataPath.NETWORK, DataPath.FABRIC)
#: Floors of bandwidths without a reference. The cells of the run may lower a floor from ROUGH_FLOOR on.
FLOORS_WITHOUT_REFERENCE = {
    DataPath.LINK: 0.02,
    DataPath.HOST: 0.08,
    DataPath.STAGED: 0.20,
    DataPath.PROCESSOR: 0.50,
    DataPath.NETWORK: 0.50,
    DataPath.FABRIC: 0.05,
}
LATENCY = Floor(0.25, 0.20)


def data_path(result: Mapping[str, Any], link_class: str, backend: str = "") -> DataPath:
    """The hardware that transfers the data of the cells of a link class.

    backend: the back end of the record; "" if unknown.
    """
    of_ranks = result["memory"] == "host" and result["engine"] == "mpi"
    if link_class == BETWEEN_NODES:
        return DataPath.NETWORK if of_ranks else DataPath.FABRIC
    if backend == "host" or of_ranks:
        return DataPath.PROCESSOR
    if result["transport"] == "staged":
        return DataPath.STAGED
    return DataPath.HOST if result["memory"] == "host" else DataPath.LINK


def reference_floor(result: Mapping[str, Any], link_class: str, backend: str = "") -> Floor:
    """The floor of a reference for the cells of a link class. backend: see `data_path`."""
    return LATENCY if result["unit"] == "us" else FLOORS[data_path(result, link_class, backend)]


def rank_floor(unit: str, link_class: str) -> float:
    """The floor of a cell between the host memory of two ranks, as a fraction: the smaller of lower and upper floor."""
    path = DataPath.NETWORK if link_class == BETWEEN_NODES else DataPath.PROCESSOR
    return min(LATENCY if unit == "us" else FLOORS[path])


def floor_without_reference(result: Mapping[str, Any], link_class: str, backend: str = "") -> float:
    """The floor of a cell without a reference: the smallest deviation from its class that is slow, as a fraction."""
    return min(LATENCY) if result["unit"] == "us" else FLOORS_WITHOUT_REFERENCE[data_path(result, link_class, backend)]
