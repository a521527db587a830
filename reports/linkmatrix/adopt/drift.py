"""Trends and steps among the runs of a test case, in order of time.

The tests use one number per run and link class: the median of the cells. The cells of a run are not independent,
because they have common causes.

Trend: the exact two-sided test of Mann and Kendall. It assumes no distribution of the noise. The smallest p-value of
six runs is 1/360: each run is below the run before, or each run is above it.

Step: the best split into an earlier and a later side, by Student's t. The noise is the variance inside both sides. The
p-value is multiplied by the number of splits (Bonferroni). With ranks, the smallest p-value of six runs would be 2/20.
This test therefore assumes normal noise.

The runs of each host are a series of their own, because healthy hosts differ. A change of the host is no step.
Hosts that differ by more than the floor, one after the other, are reported as such.

A change of less than half of the floor is ignored. The reference then differs from the newest runs by at most about a
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

#: Probabilities of a false refusal, in total 1 % for one link class. TREND_LEVEL is the smallest p-value of six runs,
#: per link class. STEP_LEVEL is divided by the number of link classes of the test case.
TREND_LEVEL, STEP_LEVEL = 2 / 720, 0.007
SHARE_OF_FLOOR = 0.5  # a smaller trend or step is ignored
LEAST_SIDE, SHARE_OF_RUNS = 2, 0.1  # smallest side of a step: runs, and share of the runs; an outlier is no step
MOST_EXACT = 60  # runs; with more runs the normal approximation is used
TREND, STEP = "trend", "step"


class Drift(NamedTuple):
    """A trend or a step. change: per run (trend) or in total (step), as a fraction. after: runs before the step."""

    kind: str
    change: float
    after: int = 0


@dataclass(frozen=True)
class Series:
    """The level of one link class in each run, in order of time.

    runs: date and time of each run. hosts: the host of each run. least: the smallest change that counts.
    """

    group: str
    levels: np.ndarray
    unit: str
    runs: Sequence[str]
    hosts: Sequence[str]
    least: float

    def by_host(self) -> list["Series"]:
        """The runs of each host; the series itself if all runs are of one host."""
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
                self.least,
            )
            for name, chosen in parts
        ]


class Evidence(NamedTuple):
    """The results of both tests, one number per series. trend, step: whether each is significant and large enough.

    slope, size: of the trend per run and of the step, as fractions. after: the number of runs before the step.
    fits_step: whether two levels fit the runs at least as well as a straight line.
    """

    trend: np.ndarray
    slope: np.ndarray
    step: np.ndarray
    size: np.ndarray
    after: np.ndarray
    fits_step: np.ndarray


def find(levels: np.ndarray, least: float, classes: int = 1) -> Drift | None:
    """The trend or the step of a series; None if there is none.

    least: the smallest change that counts, as a fraction. classes: the number of link classes of the test case.
    """
    if len(levels) < 2 * LEAST_SIDE:
        return None
    found = examine(levels[None], least, classes)
    if found.step[0] and (found.fits_step[0] or not found.trend[0]):
        return Drift(STEP, float(found.size[0]), int(found.after[0]))
    return Drift(TREND, float(found.slope[0])) if found.trend[0] else None


def examine(levels: np.ndarray, least: float, classes: int = 1) -> Evidence:
    """The tests of many series. levels: series × runs. least, classes: as `find`."""
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
    """The smallest score of Mann and Kendall that is significant, two-sided: later pairs above minus later pairs below.

    Exact for up to MOST_EXACT runs, else the normal approximation. More than the largest score if none is significant.
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
    """The numbers of runs before a step that the test tries."""
    side = max(LEAST_SIDE, math.ceil(SHARE_OF_RUNS * count))
    return range(side, count - side + 1)


def residual_of_step(levels: np.ndarray, after: int) -> np.ndarray:
    """The sum of the squared distances from the mean of the side, per series."""
    sides = (levels[:, :after], levels[:, after:])
    return sum(((side - side.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for side in sides)


def residual_of_line(levels: np.ndarray) -> np.ndarray:
    """The sum of the squared distances from the best straight line, per series."""
    time = np.arange(levels.shape[1]) - (levels.shape[1] - 1) / 2
    off = levels - levels.mean(axis=1, keepdims=True)
    return (off**2).sum(axis=1) - (off @ time) ** 2 / (time**2).sum()


def student_ratio(levels: np.ndarray, after: int, residual: np.ndarray) -> np.ndarray:
    """Student's t of the two sides of a split: the difference of the means in units of its standard error."""
    count = levels.shape[1]
    difference = np.abs(levels[:, :after].mean(axis=1) - levels[:, after:].mean(axis=1))
    error = np.sqrt(residual / (count - 2) * (1 / after + 1 / (count - after)))
    return difference / np.maximum(error, np.finfo(float).tiny)


def student_tail(ratio: np.ndarray, freedom: int) -> np.ndarray:
    """P(|T| ≥ ratio) of Student's distribution with this many degrees of freedom."""
    angle = np.arctan(ratio / math.sqrt(freedom))
    square = np.cos(angle) ** 2
    odd = freedom % 2
    total, term = np.zeros_like(angle), np.cos(angle) if odd else np.ones_like(angle)
    for power in range(2 + odd, freedom + 1, 2):
        total, term = total + term, term * square * (power - 1) / power
    inside = 2 / math.pi * (angle + np.sin(angle) * total) if odd else np.sin(angle) * total
    return np.maximum(0.0, 1 - inside)


def series_of(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> Iterator[Series]:
    """One series per link class of a test case. sizes: {size: its runs}.

    The sizes of a run share causes. The level of several sizes is the median of their percentages.
    """
    levels: dict[str, dict[tuple[str, str, str], list[float]]] = {}
    units: dict[str, tuple[float, str]] = {}
    least: dict[str, float] = {}
    for samples in sizes.values():
        first = samples[0]
        # one matrix in memory at a time
        medians = [{name: one.median for name, one in from_result(of.result).classes.items()} for of in samples]
        for group in set.intersection(*map(set, medians)):
            middle = float(np.median([of_run[group] for of_run in medians]))
            if middle <= 0:
                continue
            for sample, of_run in zip(samples, medians, strict=True):
                run = sample.record["started"], sample.source, sample.record["host"]["name"]
                levels.setdefault(group, {}).setdefault(run, []).append(of_run[group] / middle)
            several = len(sizes) > 1
            units[group] = (100.0, "% of the median of each size") if several else (middle, first.result["unit"])
            least[group] = SHARE_OF_FLOOR * min(floor or reference_floor(first.result, group, first.record["backend"]))
    for group, of_runs in sorted(levels.items()):
        scale, unit = units[group]
        runs = sorted(of_runs)
        values = scale * np.array([np.median(of_runs[run]) for run in runs])
        times = [started[:16].replace("T", " ") for started, _, _ in runs]
        yield Series(group, values, unit, times, [host for _, _, host in runs], least[group])


def sentences(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> list[str]:
    """One sentence per link class with a trend or a step. sizes: {size: its runs}."""
    return series_sentences(list(series_of(sizes, floor)))


def series_sentences(every: Sequence[Series]) -> list[str]:
    """The sentences on the series of a test case, one series per link class."""
    parts = [part for one in every for part in one.by_host()]
    drifts = [sentence(one, found) for one in parts if (found := find(one.levels, one.least, len(parts)))]
    return drifts or [text for one in every if (text := host_sentence(one, len(every)))]


def host_sentence(series: Series, classes: int) -> str:
    """ "NV18 differs between hosts by -5.0 %: …" if a step of more than the floor is a change of the hosts; else ""."""
    found = find(series.levels, series.least / SHARE_OF_FLOOR, classes)
    if found is None or found.kind != STEP:
        return ""
    sides = slice(found.after), slice(found.after, None)
    hosts = [sorted(set(series.hosts[side])) for side in sides]
    if set(hosts[0]) & set(hosts[1]):
        return ""
    values = [f"{np.median(series.levels[side]):.3g} {series.unit}" for side in sides]
    on_hosts = [f"{value} on {', '.join(names)}" for value, names in zip(values, hosts, strict=True)]
    return f"{series.group} differs between hosts by {100 * found.change:+.1f} %: {', '.join(on_hosts)}"


def sentence(series: Series, found: Drift) -> str:
    """ "NV18 falls from 396 to 358 GB/s over 6 runs (-2.0 % per run, …)" or "NV18 has a step of -5.0 % between …"."""
    levels, unit, percent = series.levels, series.unit, f"{100 * found.change:+.1f} %"
    if found.kind == TREND:
        word = "falls" if found.change < 0 else "rises"
        ends = f"from {levels[0]:.3g} to {levels[-1]:.3g} {unit} over {len(levels)} runs"
        return f"{series.group} {word} {ends} ({percent} per run, {series.runs[0]} to {series.runs[-1]})"
    after = found.after
    before, behind = (float(np.median(side)) for side in (levels[:after], levels[after:]))
    runs = [f"run {number} ({series.runs[number - 1]})" for number in (after, after + 1)]
    ends = f"from {before:.3g} to {behind:.3g} {unit}"
    return f"{series.group} has a step of {percent} between {runs[0]} and {runs[1]}, {ends}"
