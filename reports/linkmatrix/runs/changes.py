"""Where a series of values changed its level: optimal partitioning with a bounded loss.

The partition with the least sum of costs plus a penalty for each change (Jackson et al. 2005), where a value costs
(x - level)² / σ², at most 3² (Fearnhead and Rigaill 2019: one outlier is no change), the level is the segment's median,
the penalty 3 log n (BIC for a level and a place), and a segment has three values at least. σ comes from the differences
of neighbours, which a change of level leaves as they are. Exact, O(n²) segments; of a long series the end is looked at.
"""

import math
from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST = 300
LEAST_SEGMENT = 3
BOUND = 3.0  # σ, beyond which a value costs no more
LEAST_SIGMA = 0.0005  # as a fraction of the median: rounding is no noise


class Change(NamedTuple):
    """The level changed between values `at` - 1 and `at`; before and after: medians on both sides."""

    at: int
    before: float
    after: float


def change_points(values: Sequence[float], least: float = 0.005) -> list[Change]:
    """The changes of level of at least the fraction `least`, in order; none for fewer than six values."""
    skipped = max(0, len(values) - MOST)
    x = np.asarray(values[skipped:], dtype=float)
    n = len(x)
    if n < 2 * LEAST_SEGMENT or not np.isfinite(x).all():
        return []
    middle = float(np.median(x))
    steps = np.abs(np.diff(x))
    sigma = max(1.4826 * float(np.median(steps)) / math.sqrt(2), abs(middle) * LEAST_SIGMA, 1e-12)
    penalty = 3 * math.log(n)
    best = np.full(n + 1, np.inf)
    best[0], last = -penalty, np.zeros(n + 1, dtype=int)
    for end in range(LEAST_SEGMENT, n + 1):
        medians = medians_before(x, end)
        for start in range(0, end - LEAST_SEGMENT + 1):
            if not math.isfinite(best[start]):
                continue
            cost = np.minimum(((x[start:end] - medians[start]) / sigma) ** 2, BOUND**2).sum()
            if best[start] + cost + penalty < best[end]:
                best[end], last[end] = best[start] + cost + penalty, start
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(int(last[cuts[-1]]))
    edges = cuts[::-1]
    levels = [float(np.median(x[a:b])) for a, b in zip(edges, edges[1:], strict=False)]
    return [
        Change(skipped + edge, before, after)
        for edge, before, after in zip(edges[1:-1], levels, levels[1:], strict=False)
        if before and abs(after / before - 1) >= least
    ]


def medians_before(x: np.ndarray, end: int) -> list[float]:
    """The medians of x[0:end], x[1:end] … x[end - 1:end], in a fraction of the time that it takes to ask for each."""
    inside: list[float] = []
    found = []
    for value in x[:end][::-1].tolist():
        insort(inside, value)
        half = len(inside) // 2
        found.append(inside[half] if len(inside) % 2 else (inside[half - 1] + inside[half]) / 2)
    return found[::-1]
