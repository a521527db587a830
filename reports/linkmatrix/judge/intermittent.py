"""Intermittent cells: cells with some slow samples and a healthy median.

The short samples of a cell are compared with each other only. A sample is slow if it is more than 25 % worse than the
cell's usual speed. The usual speed is the 90th percentile of the samples, so the rule also finds a cell that is slow
half of the time. If the fast samples of a cell differ more, the limit is larger than 25 %.

A pass of a cell is slow if any of the cell's samples in the pass is slow. A burst of slow samples therefore counts
once. A cell is intermittent if two conditions are met. At least two of its passes are slow. In at most one of 1,000
healthy matrices, any cell has so many slow passes.

The number of slow passes of a healthy cell has a beta-binomial distribution. Its rate comes from the other cells of the
matrix and from a prior (`PRIORS`). The search leaves intermittent cells out of the rate. It is repeated until it finds
no other cell.

If a cell has no short samples, each ordinary sample is a pass. Such a cell is WARN at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..record import grids
from ..record.reading import Result

SLOW = 0.25  # a sample is slow if it is worse than the cell's usual speed by more than this fraction
USUAL, FAST = 0.9, 0.75  # quantiles of the samples, from slow to fast: the usual speed, and the end of fast samples
NOISE = 5.0  # σ of the fast samples: a slow sample of a healthy cell is further below the median than this
LEAST_PASSES = 2  # slow passes of an intermittent cell: a single burst can have another cause than the link
FALSE_ALARMS = 0.001  # probability of a false alarm per healthy matrix
PASSES, PER_PASS = 12, 6  # passes, and samples per pass, of each cell in acceptance
QUICK_SAMPLES = 7  # ordinary samples of each cell
EXAMPLE = 0.1  # share of slow samples for which the detection power is printed
SIGMAS_OF_USUAL, SIGMAS_OF_FAST = 1.2816, 0.6745  # normal quantiles of USUAL and FAST


class Prior(NamedTuple):
    """The prior of healthy cells. rate: the share of slow samples. samples: the weight of the prior, in samples."""

    rate: float
    samples: float


#: (back end, timing, memory) → prior. All other cells have OTHERS, because the operating system delays their samples.
PRIORS = {("cuda", "gate", "device"): Prior(2e-5, 10_000)}
OTHERS = Prior(0.1, 30)


@dataclass(frozen=True)
class SlowSamples:
    """The slow samples of each cell of a matrix; arrays are rows × columns.

    samples, slow: the number of samples and of slow samples. passes, slow_passes: the number of passes and of slow
    passes. worst: the largest deviation of a sample from the cell's usual speed, as a fraction. usual: the usual speed,
    in the matrix's unit. found: True for intermittent cells. short: whether the samples are short samples.
    """

    samples: np.ndarray
    slow: np.ndarray
    passes: np.ndarray
    slow_passes: np.ndarray
    worst: np.ndarray
    usual: np.ndarray
    found: np.ndarray
    short: bool

    def sentence(self, row: int, column: int) -> str:
        """ "7 of 72 short samples, in 6 of 12 passes, are up to 50 % worse than its usual speed"."""
        counted = f"{self.slow[row, column]} of {self.samples[row, column]}{' short' if self.short else ''} samples"
        passes = f", in {self.slow_passes[row, column]} of {self.passes[row, column]} passes," if self.short else ""
        return f"{counted}{passes} are up to {100 * self.worst[row, column]:.0f} % worse than its usual speed"


def slow_samples(record: Mapping[str, Any], result: Result) -> SlowSamples | None:
    """The slow samples of a result; None if the record lists no samples."""
    short = of_short_samples(result)
    samples = of_ordinary_samples(result) if short is None else short
    if samples is None:
        return None
    prior = PRIORS.get((record["backend"], result["timing"], result["memory"]), OTHERS)
    return count(samples, result["unit"] == "us", prior, short is not None)


def of_short_samples(result: Result) -> np.ndarray | None:
    """The short samples, passes × rows × columns × samples, padded with NaN; None if the record has none."""
    passes = (result.get("short_samples") or {}).get("passes")
    return stacked([one["values"] for one in passes]) if passes else None


def of_ordinary_samples(result: Result) -> np.ndarray | None:
    """The ordinary samples in the same shape, one pass per sample; None if the record does not list them."""
    if result.get("sampled") is None:
        return None
    return np.moveaxis(stacked([result["sampled"]])[0], -1, 0)[..., None]


def stacked(passes: list[Any]) -> np.ndarray:
    """Lists of samples per pass, row and column as one array, padded with NaN."""
    most = max((len(cell) for rows in passes for row in rows for cell in row), default=0)
    found = np.full((len(passes), len(passes[0]), len(passes[0][0]), max(most, 1)), np.nan)
    for p, rows in enumerate(passes):
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                found[p, r, c, : len(cell)] = cell
    return found


def count(samples: np.ndarray, is_latency: bool, prior: Prior, short: bool = True) -> SlowSamples:
    """Counts the slow samples of each cell and finds the intermittent cells.

    samples: passes × rows × columns × samples, padded with NaN.
    """
    deviations, usual = off_usual(samples, is_latency)
    known = np.isfinite(samples)
    slow = deviations > threshold(samples, usual, is_latency)
    passes, slow_passes = known.any(axis=-1).sum(axis=0), slow.any(axis=-1).sum(axis=0)
    return SlowSamples(
        known.sum(axis=(0, -1)),
        slow.sum(axis=(0, -1)),
        passes,
        slow_passes,
        np.where(slow, deviations, 0).max(axis=(0, -1)),
        usual,
        intermittent(passes, slow_passes, prior, samples.shape[-1]),
        short,
    )


def off_usual(samples: np.ndarray, is_latency: bool) -> tuple[np.ndarray, np.ndarray]:
    """(fraction by which each sample is worse than its cell's usual speed, the usual speeds); NaN if missing."""
    usual = quantile(samples, USUAL, is_latency)
    with np.errstate(invalid="ignore"):
        off = samples / usual[..., None] - 1
    return off if is_latency else -off, usual


def threshold(samples: np.ndarray, usual: np.ndarray, is_latency: bool) -> np.ndarray:
    """The fraction by which a slow sample of each cell is worse than the usual speed, at least; rows × columns × 1.

    σ is the standard deviation of the fast samples. If at most three quarters are slow, σ is the same.
    """
    fast = quantile(samples, FAST, is_latency)
    with np.errstate(invalid="ignore"):
        sigma = np.abs(fast / usual - 1) / (SIGMAS_OF_USUAL - SIGMAS_OF_FAST)
    return np.fmax(SLOW, (SIGMAS_OF_USUAL + NOISE) * sigma)[..., None]


def quantile(samples: np.ndarray, share: float, is_latency: bool) -> np.ndarray:
    """The quantile `share` of each cell's samples, ordered from slow to fast; rows × columns, NaN without samples."""
    each = np.moveaxis(samples, 0, -1).reshape(*samples.shape[1:3], -1)
    each = np.sort(each, axis=-1)  # NaN last
    number = np.isfinite(each).sum(axis=-1)
    at = (number - 1).clip(0) * (1 - share if is_latency else share)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, (number - 1).clip(0))
    below, above = (np.take_along_axis(each, of[..., None], axis=-1)[..., 0] for of in (low, high))
    return below + (at - low) * (above - below)


def intermittent(passes: np.ndarray, slow: np.ndarray, prior: Prior, per_pass: int) -> np.ndarray:
    """True for intermittent cells. passes, slow: the number of passes and of slow passes of each cell."""
    found = np.zeros(passes.shape, dtype=bool)
    cells = int((passes > 0).sum())
    while True:
        more = found.copy()
        of_slow, of_fast = (np.where(found, 0, counts) for counts in (slow, passes - slow))
        slow_total, fast_total = int(of_slow.sum()), int(of_fast.sum())
        for place in zip(*np.nonzero((slow >= LEAST_PASSES) & ~found), strict=True):
            a = prior.rate * prior.samples / per_pass + slow_total - int(of_slow[place])
            b = (1 - prior.rate) * prior.samples / per_pass + fast_total - int(of_fast[place])
            more[place] = upper_tail(int(passes[place]), int(slow[place]), a, b) * cells <= FALSE_ALARMS
        if (more == found).all():
            return found
        found = more


@lru_cache(maxsize=4096)
def upper_tail(trials: int, least: int, a: float, b: float) -> float:
    """P(X >= least) of a beta-binomial distribution, accurate also for small probabilities."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.fsum(
        math.exp(log_beta(k + a, trials - k + b) - log_beta(a, b) - log_beta(k + 1, trials - k + 1)) / (trials + 1)
        for k in range(least, trials + 1)
    )


def detection_power(results: Iterable[Result]) -> list[str]:
    """The detection power for intermittent cells: one text for results with short samples and for the other results."""
    short, ordinary = [], []
    for result in results:
        passes = (result.get("short_samples") or {}).get("passes")
        if passes:
            short.append((result["short_samples"]["fewest"], len(passes)))
        elif result.get("sampled") is not None:
            counts = grids.numbers(result["samples"])
            ordinary += [int(counts[counts > 0].min())] if (counts > 0).any() else []
    said, cells = [], f"cells that are slow in {100 * EXAMPLE:.0f} % of their samples"
    if short:
        samples, passes = min(short)
        found = 100 * power(EXAMPLE, passes, samples // passes)
        said.append(f"{samples} short samples per cell show two slow passes in {found:.1f} % of {cells}.")
    if ordinary:
        missed = 100 * unseen(EXAMPLE, min(ordinary))
        said.append(f"{min(ordinary)} samples per cell show no slow sample in {missed:.0f} % of {cells}.")
    return [f"Detection power: {' '.join(said)}"] if said else []


def power(share: float, passes: int = PASSES, per_pass: int = PER_PASS, least: int = LEAST_PASSES) -> float:
    """The probability that `least` passes or more are slow, for a cell that is slow in a share of its samples."""
    chance = 1 - (1 - share) ** per_pass
    return math.fsum(math.comb(passes, k) * chance**k * (1 - chance) ** (passes - k) for k in range(least, passes + 1))


def unseen(share: float, samples: int = QUICK_SAMPLES) -> float:
    """The probability that no sample is slow, for a cell that is slow in a share of its samples."""
    return math.pow(1 - share, samples)
