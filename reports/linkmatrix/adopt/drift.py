"""Trends and steps among the runs of a test case, in order of time.

The tests see one number per run and link class: the median of the cells. The cells of a run share causes, so they are
no independent evidence.

Trend: the exact two-sided test of Mann and Kendall, which assumes no distribution of the noise. Six runs attain 1/360,
if each run is below, or above, the run before.

Step: the best split into an earlier and a later side, by Student's t with the noise inside both sides, times the number
of splits (Bonferroni). The ranks of six runs attain 2/20 only, so this test assumes normal noise.

A trend or step of less than half of the floor is ignored. Its reference is at most a quarter of the floor away from the
newest runs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..record.matrix import from_result
from ..references.tolerances import Floor, floor_of
from .proposal import Sample

#: Chances of a false refusal of a link class, together 1 %. The first is the least that six runs attain. The link
#: classes of a test case share the second.
TREND_LEVEL, STEP_LEVEL = 2 / 720, 0.007
SHARE_OF_FLOOR = 0.5  # a smaller trend or step is ignored
LEAST_SIDE, SHARE_OF_RUNS = 2, 0.1  # the shorter side of a step; one outlier of a longer side is no step
MOST_EXACT = 60  # runs
TREND, STEP = "trend", "step"


class Drift(NamedTuple):
    """A trend or a step. change: per run, or of the step, as a fraction. after: the number of runs before the step."""

    kind: str
    change: float
    after: int = 0


@dataclass(frozen=True)
class Series:
    """The level of one link class in each run, in order of time. runs: date and time of each run, for sentences."""

    group: str
    levels: np.ndarray
    unit: str
    runs: Sequence[str]
    least: float


def find(levels: np.ndarray, least: float, classes: int = 1) -> Drift | None:
    """The trend or the step of a series; None if there is none.

    least: the smallest change that counts, as a fraction. classes: the number of link classes of the test case.
    """
    count, middle = len(levels), float(np.median(levels))
    if count < 2 * LEAST_SIDE:
        return None
    slope = theil_sen(levels) / middle
    trend = abs(slope) * (count - 1) >= least and trend_chance(levels) <= TREND_LEVEL
    splits = possible_splits(count)
    ratios = [student_ratio(levels, after) for after in splits]
    ratio, after = max(zip(ratios, splits, strict=True))
    size = float(np.median(levels[after:]) / np.median(levels[:after]) - 1)
    chance = len(splits) * student_tail(ratio, count - 2)
    step = abs(size) >= least and chance <= STEP_LEVEL / classes
    if step and (not trend or residual_of_step(levels, after) <= residual_of_line(levels)):
        return Drift(STEP, size, after)
    return Drift(TREND, slope) if trend else None


def trend_chance(levels: Sequence[float] | np.ndarray) -> float:
    """The chance, two-sided, of a series at least as ordered as this one if the order is random (Mann-Kendall).

    Equal runs make the result larger than the exact chance. More than MOST_EXACT runs use the normal approximation.
    """
    count = len(levels)
    first, second = np.triu_indices(count, 1)
    values = np.asarray(levels)
    score = abs(int(np.sign(values[second] - values[first]).sum()))
    if count > MOST_EXACT:
        deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
        return math.erfc(max(score - 1, 0) / deviation / math.sqrt(2))
    pairs = count * (count - 1) // 2
    orders = [1]  # the number of orders of the first runs with 0, 1, 2 … inversions
    for runs in range(2, count + 1):
        sums = [0, *accumulate([*orders, *[0] * (runs - 1)])]
        orders = [sums[end] - sums[max(end - runs, 0)] for end in range(1, len(sums))]
    most = (pairs - score + 1) // 2  # inversions of a series with this score
    return min(1.0, 2 * sum(orders[: most + 1]) / math.factorial(count))


def theil_sen(levels: np.ndarray) -> float:
    """The median of the slopes between all pairs of runs, per run."""
    first, second = np.triu_indices(len(levels), 1)
    return float(np.median((levels[second] - levels[first]) / (second - first)))


def possible_splits(count: int) -> range:
    """The numbers of runs before a step that the test tries."""
    side = max(LEAST_SIDE, math.ceil(SHARE_OF_RUNS * count))
    return range(side, count - side + 1)


def residual_of_step(levels: np.ndarray, after: int) -> float:
    """The sum of the squared distances from the mean of the side."""
    return float(sum(((side - side.mean()) ** 2).sum() for side in (levels[:after], levels[after:])))


def residual_of_line(levels: np.ndarray) -> float:
    """The sum of the squared distances from the best straight line."""
    time = np.arange(len(levels)) - (len(levels) - 1) / 2
    off = levels - levels.mean()
    return float((off**2).sum() - (off * time).sum() ** 2 / (time**2).sum())


def student_ratio(levels: np.ndarray, after: int) -> float:
    """Student's t of the two sides of a split: the difference of the means in units of its standard error."""
    before, behind = levels[:after], levels[after:]
    difference = abs(float(before.mean() - behind.mean()))
    variance = residual_of_step(levels, after) / (len(levels) - 2) * (1 / len(before) + 1 / len(behind))
    if variance > 0:
        return difference / math.sqrt(variance)
    return math.inf if difference else 0.0


def student_tail(ratio: float, freedom: int) -> float:
    """P(|T| ≥ ratio) of Student's distribution with this many degrees of freedom."""
    angle = math.atan(ratio / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    total, term = 0.0, math.cos(angle) if odd else 1.0
    for power in range(2 + odd, freedom + 1, 2):
        total, term = total + term, term * square * (power - 1) / power
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return max(0.0, 1 - inside)


def series_of(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> Iterator[Series]:
    """One series per link class of a test case. sizes: {size: its runs}.

    The sizes of a run share causes. The level of several sizes is the median of their percentages.
    """
    levels: dict[str, dict[tuple[str, str], list[float]]] = {}
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
                run = sample.record["started"], sample.source
                levels.setdefault(group, {}).setdefault(run, []).append(of_run[group] / middle)
            several = len(sizes) > 1
            units[group] = (100.0, "% of the median of each size") if several else (middle, first.result["unit"])
            least[group] = SHARE_OF_FLOOR * min(floor or floor_of(first.result, group, first.record["backend"]))
    for group, of_runs in sorted(levels.items()):
        scale, unit = units[group]
        runs = sorted(of_runs)
        values = scale * np.array([np.median(of_runs[run]) for run in runs])
        yield Series(group, values, unit, [started[:16].replace("T", " ") for started, _ in runs], least[group])


def sentences(sizes: Mapping[int, Sequence[Sample]], floor: Floor | None) -> list[str]:
    """One sentence per link class with a trend or a step. sizes: {size: its runs}."""
    every = list(series_of(sizes, floor))
    return [sentence(one, found) for one in every if (found := find(one.levels, one.least, len(every)))]


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


def refuse_drift(name: str, found: Sequence[str], as_is: bool) -> None:
    """Raises BadInput for a trend or a step, unless `as_is` allows it. found: one sentence per link class."""
    if found and not as_is:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        remedy = "Choose runs of one level with --since DATE, or measure again, or set --as-is REASON"
        raise BadInput(f"{name}: {found[0]}{more}. {remedy}")
