"""Statistical tests for trends and steps among the runs of a test case, in order of time.

The tests use one number per run and link class: the median of the cells. The cells of a run are not independent,
because they have common causes.

* Trend: the exact two-sided Mann-Kendall test. The test assumes no distribution of the noise. The smallest p-value of
  six runs is 1/360, if all values fall or all values rise.
* Step: the split into earlier and later runs with the largest Student's t. The noise is the variance inside both sides,
  and is assumed to be normal. The p-value is multiplied by the number of splits (Bonferroni). A rank test is not
  possible, because its smallest p-value of six runs would be 2/20.
* Hosts: the runs of each host are tested separately, because healthy hosts differ. If the level changes together with
  the host and by more than the floor, a difference between the hosts is reported.

A change by less than half of the floor is ignored. The reference then differs from the newest runs by at most about a
quarter of the floor.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..record.matrix import from_result
from ..references.noise import Floor, reference_floor
from .proposal import Sample

#: Significance levels: probabilities of a false refusal, in total 1 % for one link class.
TREND_LEVEL = 2 / 720  # per link class; the smallest p-value of six runs
STEP_LEVEL = 0.007  # divided by the number of link classes of the test case
FLOOR_FRACTION = 0.5  # a trend or step of a smaller fraction of the floor is ignored
LEAST_SIDE, RUN_FRACTION = 2, 0.1  # the smallest side of a step, in runs and as a fraction of all runs
MOST_EXACT = 60  # runs; the normal approximation is used for more runs
TREND, STEP = "trend", "step"


class Drift(NamedTuple):
    """A trend or a step among runs.

    * kind: TREND or STEP
    * change: the change as a fraction; per run for a trend, in total for a step
    * after: number of runs before the step
    """

    kind: str
    change: float
    after: int = 0


@dataclass(frozen=True)
class Series:
    """The median of one link class in each run, in order of time.

    * group: name of the link class. If `by_host` made the series, the name contains the host: "NV18 on n17".
    * levels: one number per run
    * runs: date and time of each run
    * hosts: the host of each run
    * least_change: the smallest change that counts, as a fraction
    """

    group: str
    levels: np.ndarray
    unit: str
    runs: Sequence[str]
    hosts: Sequence[str]
    least_change: float

    def by_host(self) -> list["Series"]:
        """Splits the series into one series per host. If all runs are of one host, returns [self]."""
        names = sorted(set(self.hosts))
        if len(names) == 1:
            return [self]
        parts = [(name, [at for at, host in enumerate(self.hosts) if host == name]) for name in names]
        return [
            Series(
                f"{self.group} on {name}",
                self.levels[chosen],
                self.unit,
                [self.runs[at] for at in chosen],
                [name] * len(chosen),
                self.least_change,
            )
            for name, chosen in parts
        ]


class Evidence(NamedTuple):
    """The results of the tests for a trend and for a step. Each field is an array with one item per series.

    * has_trend: whether there is a significant trend that is large enough
    * slope: the change per run, as a fraction
    * has_step: whether there is a significant step that is large enough
    * step_size: the change at the best split, as a fraction
    * after: the number of runs before the step
    * fits_step: whether a step fits the runs at least as well as a straight line
    """

    has_trend: np.ndarray
    slope: np.ndarray
    has_step: np.ndarray
    step_size: np.ndarray
    after: np.ndarray
    fits_step: np.ndarray


def find_drift(levels: np.ndarray, least: float, classes: int = 1) -> Drift | None:
    """The significant trend or step of a series; None without a significant trend or step.

    * levels: one number per run
    * least: the smallest change that counts, as a fraction
    * classes: the number of link classes that are tested
    """
    if len(levels) < 2 * LEAST_SIDE:
        return None
    found = drift_evidence(levels[None], least, classes)
    if found.has_step[0] and (found.fits_step[0] or not found.has_trend[0]):
        return Drift(STEP, float(found.step_size[0]), int(found.after[0]))
    return Drift(TREND, float(found.slope[0])) if found.has_trend[0] else None


def drift_evidence(levels: np.ndarray, least: float, classes: int = 1) -> Evidence:
    """Tests several series for a trend and a step. levels: series × runs. least, classes: see `find_drift`."""
    count = levels.shape[1]
    first, second = np.triu_indices(count, 1)
    differences = levels[:, second] - levels[:, first]
    slope = np.median(differences / (second - first), axis=1) / np.median(levels, axis=1)
    score = np.abs(np.sign(differences).sum(axis=1))
    trend = (np.abs(slope) * (count - 1) >= least) & (score >= least_score(count))
    splits = possible_splits(count)
    residuals = np.array([residual_of_step(levels, after) for after in splits])
    ratios = np.array([student_ratio(levels, *one) for one in zip(splits, residuals, strict=True)])
    sizes = np.array([np.median(levels[:, k:], axis=1) / np.median(levels[:, :k], axis=1) - 1 for k in splits])
    best = ratios.argmax(axis=0)
    ratio, size, residual = (np.take_along_axis(each, best[None], axis=0)[0] for each in (ratios, sizes, residuals))
    step = (np.abs(size) >= least) & (len(splits) * student_tail(ratio, count - 2) <= STEP_LEVEL / classes)
    return Evidence(trend, slope, step, size, np.array(splits)[best], residual <= residual_of_line(levels))


def least_score(count: int) -> int:
    """The smallest significant score of the two-sided Mann-Kendall test for `count` runs.

    The score is the number of pairs of runs whose values rise, minus the number of pairs whose values fall. The result
    is exact up to MOST_EXACT runs. If no score is significant, the result is larger than every possible score.
    """
    pairs = count * (count - 1) // 2
    if count > MOST_EXACT:
        deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
        return math.ceil(1 - NormalDist().inv_cdf(TREND_LEVEL / 2) * deviation)
    orders = [1]  # the number of orders of the first runs with 0, 1, 2 … inversions
    for runs in range(2, count + 1):
        sums = [0, *accumulate([*orders, *[0] * (runs - 1)])]
        orders = [sums[end] - sums[max(end - runs, 0)] for end in range(1, len(sums))]
    # integers, because the chance of six runs equals the level
    allowed = sum(2 * 720 * orders_up_to <= 2 * math.factorial(count) for orders_up_to in accumulate(orders))
    return pairs - 2 * (allowed - 1)


def possible_splits(count: int) -> range:
    """The possible numbers of runs before a step, for `count` runs.

    Both sides of a step have several runs, because one outlier is no step.
    """
    side = max(LEAST_SIDE, math.ceil(RUN_FRACTION * count))
    return range(side, count - side + 1)


def residual_of_step(levels: np.ndarray, after: int) -> np.ndarray:
    """The sum of squared distances of the runs from the mean of their side of the split, for each series."""
    sides = (levels[:, :after], levels[:, after:])
    return sum(((side - side.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for side in sides)


def residual_of_line(levels: np.ndarray) -> np.ndarray:
    """The sum of squared distances of the runs from the best straight line, for each series."""
    time = np.arange(levels.shape[1]) - (levels.shape[1] - 1) / 2
    off = levels - levels.mean(axis=1, keepdims=True)
    return (off**2).sum(axis=1) - (off @ time) ** 2 / (time**2).sum()


def student_ratio(levels: np.ndarray, after: int, residual: np.ndarray) -> np.ndarray:
    """Student's t of a split, for each series: the difference of both means, divided by its standard error.

    after: number of runs before the split. residual: from `residual_of_step`.
    """
    count = levels.shape[1]
    difference = np.abs(levels[:, :after].mean(axis=1) - levels[:, after:].mean(axis=1))
    error = np.sqrt(residual / (count - 2) * (1 / after + 1 / (count - after)))
    return difference / np.maximum(error, np.finfo(float).tiny)


def student_tail(ratio: np.ndarray, freedom: int) -> np.ndarray:
    """P(|T| ≥ ratio) of Student's distribution with `freedom` degrees of freedom."""
    angle = np.arctan(ratio / math.sqrt(freedom))
    square = np.cos(angle) ** 2
    odd = freedom % 2
    total, term = np.zeros_like(angle), np.cos(angle) if odd else np.ones_like(angle)
    for power in range(2 + odd, freedom + 1, 2):
        total, term = total + term, term * square * (power - 1) / power
    inside = 2 / math.pi * (angle + np.sin(angle) * total) if odd else np.sin(angle) * total
    return np.maximum(0.0, 1 - inside)


def class_series(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> Iterator[Series]:
    """Yields one series per link class of a test case. sizes: {size: the results of the runs}.

    A run has one level, even if the run has several sizes, because the sizes of a run are not independent. The level of
    several sizes is the median over the sizes. The value of each size is then in % of the median of all runs.
    """
    levels: dict[str, dict[tuple[str, str, str], list[float]]] = {}
    units: dict[str, tuple[float, str]] = {}
    least: dict[str, float] = {}
    for samples in sizes.values():
        first = samples[0]
        # one matrix in memory at a time
        medians = [{name: one.median for name, one in from_result(of.result).classes.items()} for of in samples]
        for group in set.intersection(*map(set, medians)):
            middle = float(np.median([run_medians[group] for run_medians in medians]))
            if middle <= 0:
                continue
            for sample, run_medians in zip(samples, medians, strict=True):
                run = sample.record["started"], sample.source, sample.record["host"]["name"]
                levels.setdefault(group, {}).setdefault(run, []).append(run_medians[group] / middle)
            several = len(sizes) > 1
            units[group] = (100.0, "% of the median of each size") if several else (middle, first.result["unit"])
            least[group] = FLOOR_FRACTION * min(floor or reference_floor(first.result, group, first.record["backend"]))
    for group, run_levels in sorted(levels.items()):
        scale, unit = units[group]
        runs = sorted(run_levels)
        values = scale * np.array([np.median(run_levels[run]) for run in runs])
        times = [started[:16].replace("T", " ") for started, _, _ in runs]
        yield Series(group, values, unit, times, [host for _, _, host in runs], least[group])


def sentences(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> list[str]:
    """One sentence per trend, per step or per difference between hosts. sizes: {size: results of the runs}."""
    return drift_sentences(list(class_series(sizes, floor)))


def drift_sentences(every: Sequence[Series]) -> list[str]:
    """One sentence per trend or step. Without trends and steps, one sentence per difference between hosts.

    every: one series per link class.
    """
    parts = [part for one in every for part in one.by_host()]
    drifts = [sentence(one, found) for one in parts if (found := find_drift(one.levels, one.least_change, len(parts)))]
    return drifts or [text for one in every if (text := host_sentence(one, len(every)))]


def host_sentence(series: Series, classes: int) -> str:
    """A sentence about two groups of hosts whose levels differ by more than the floor; "" without a difference.

    Example: "NV18 differs between hosts by -5.0 %: …".
    classes: the number of tested link classes.
    """
    found = find_drift(series.levels, series.least_change / FLOOR_FRACTION, classes)
    if found is None or found.kind != STEP:
        return ""
    sides = slice(found.after), slice(found.after, None)
    hosts = [sorted(set(series.hosts[side])) for side in sides]
    if set(hosts[0]) & set(hosts[1]):
        return ""
    values = [f"{np.median(series.levels[side]):.3g} {series.unit}" for side in sides]
    on_hosts = [f"{value} on {', '.join(names)}" for value, names in zip(values, hosts, strict=True)]
    return f"{series.group} differs between hosts by {100 * found.change:+.1f} %: {', '.join(on_hosts)}"


def sentence(series: Series, drift: Drift) -> str:
    """The sentence about a trend or step.

    Examples: "NV18 falls from 396 to 358 GB/s over 6 runs (-2.0 % per run, …)", "NV18 has a step of -5.0 % between …".
    """
    levels, unit, percent = series.levels, series.unit, f"{100 * drift.change:+.1f} %"
    if drift.kind == TREND:
        word = "falls" if drift.change < 0 else "rises"
        ends = f"from {levels[0]:.3g} to {levels[-1]:.3g} {unit} over {len(levels)} runs"
        return f"{series.group} {word} {ends} ({percent} per run, {series.runs[0]} to {series.runs[-1]})"
    after = drift.after
    earlier, later = (float(np.median(side)) for side in (levels[:after], levels[after:]))
    runs = [f"run {number} ({series.runs[number - 1]})" for number in (after, after + 1)]
    ends = f"from {earlier:.3g} to {later:.3g} {unit}"
    return f"{series.group} has a step of {percent} between {runs[0]} and {runs[1]}, {ends}"
