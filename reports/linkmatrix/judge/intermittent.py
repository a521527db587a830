"""Intermittent cells: cells of which single samples are slow while the median is not.

The short samples of a cell are compared with each other only. A sample is slow if it is more than 25 % worse than the
cell's usual speed. The usual speed is the 90th percentile of the samples, so that a cell may be slow half of the time.
A cell whose fast samples differ much needs a larger deviation.

A pass is slow if any of its samples is slow: a burst of slow samples counts once. A cell is intermittent if at least
two of its passes are slow, and if healthy cells have so many slow passes in at most one of 1,000 matrices. The chance
is that of a beta-binomial distribution: binomial, with a rate that is known from the passes of the other cells of the
matrix and from a prior (`PRIORS`). Cells that are intermittent are left out of the rate, and the search is repeated
until nothing is found.

A cell without short samples has its ordinary samples as passes of one sample each: the cell is WARN at most.
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

SLOW = 0.25  # a sample is slow if worse than the cell's usual speed by more, as a fraction
USUAL, FAST = 0.9, 0.75  # quantiles of the samples, from slow to fast: the usual speed, and the end of fast samples
NOISE = 5.0  # a slow sample is so many σ of the fast samples below the median of a healthy cell
LEAST_PASSES = 2  # that are slow: one burst is no fault of a link
FALSE_ALARMS = 0.001  # of a healthy matrix
PASSES, PER_PASS = 12, 6  # of each cell, in acceptance
QUICK_SAMPLES = 7  # of each cell, without short samples
EXAMPLE = 0.1  # share of slow samples for which the detection power is printed
SIGMAS_OF_USUAL, SIGMAS_OF_FAST = 1.2816, 0.6745  # normal quantiles of USUAL and FAST


class Prior(NamedTuple):
    """What is known of healthy cells before a run: the share of slow samples, and how many samples this is worth."""

    rate: float
    samples: float


#: (back end, timing, memory) → prior. Others have OTHERS: the scheduler of the operating system delays their samples.
PRIORS = {("cuda", "gate", "device"): Prior(2e-5, 10_000)}
OTHERS = Prior(0.1, 30)


@dataclass(frozen=True)
class SlowSamples:
    """The slow samples of each cell of a matrix; arrays are rows × columns.

    samples, slow: number of samples, and of slow ones. passes, slow_passes: the same of passes. worst: the largest
    deviation of a sample from the cell's usual speed, as a fraction. usual: that speed, in the matrix's unit.
    found: True for intermittent cells. short: whether these are short samples.
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
        """ "7 of 72 samples, in 6 of 12 passes, are 50.1 % slower than usual"."""
        counted = f"{self.slow[row, column]} of {self.samples[row, column]}{' short' if self.short else ''} samples"
        passes = f", in {self.slow_passes[row, column]} of {self.passes[row, column]} passes," if self.short else ""
        return f"{counted}{passes} are up to {100 * self.worst[row, column]:.0f} % worse than its usual speed"


def slow_samples(record: Mapping[str, Any], result: Result) -> SlowSamples | None:
    """The slow samples of a result; None where the record lists no samples."""
    short = of_short_samples(result)
    samples = of_ordinary_samples(result) if short is None else short
    if samples is None:
        return None
    prior = PRIORS.get((record["backend"], result["timing"], result["memory"]), OTHERS)
    return count(samples, result["unit"] == "us", prior, short is not None)


def of_short_samples(result: Result) -> np.ndarray | None:
    """The short samples, passes × rows × columns × samples, NaN for none; None where the record has none."""
    passes = (result.get("short_samples") or {}).get("passes")
    return stacked([one["values"] for one in passes]) if passes else None


def of_ordinary_samples(result: Result) -> np.ndarray | None:
    """The other samples likewise, each as a pass of its own; None where the record does not list them."""
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

    samples: passes × rows × columns × samples, NaN for none.
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
    """(by which fraction each sample is worse than the cell's usual speed, this speed); NaN for none."""
    usual = quantile(samples, USUAL, is_latency)
    with np.errstate(invalid="ignore"):
        off = samples / usual[..., None] - 1
    return off if is_latency else -off, usual


def threshold(samples: np.ndarray, usual: np.ndarray, is_latency: bool) -> np.ndarray:
    """By which fraction a sample of each cell must be worse than usual to be slow; rows × columns × 1.

    σ is that of the fast samples: slow samples do not change it, up to three quarters of all.
    """
    fast = quantile(samples, FAST, is_latency)
    with np.errstate(invalid="ignore"):
        sigma = np.abs(fast / usual - 1) / (SIGMAS_OF_USUAL - SIGMAS_OF_FAST)
    return np.fmax(SLOW, (SIGMAS_OF_USUAL + NOISE) * sigma)[..., None]


def quantile(samples: np.ndarray, share: float, is_latency: bool) -> np.ndarray:
    """The value that this share of a cell's samples is not faster than; rows × columns, NaN without samples."""
    each = np.moveaxis(samples, 0, -1).reshape(*samples.shape[1:3], -1)
    each = np.sort(each, axis=-1)  # NaN last
    number = np.isfinite(each).sum(axis=-1)
    at = (number - 1).clip(0) * (1 - share if is_latency else share)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, (number - 1).clip(0))
    below, above = (np.take_along_axis(each, of[..., None], axis=-1)[..., 0] for of in (low, high))
    return below + (at - low) * (above - below)


def intermittent(passes: np.ndarray, slow: np.ndarray, prior: Prior, per_pass: int) -> np.ndarray:
    """True for intermittent cells. passes, slow: of each cell, how many passes, and how many of these are slow."""
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
    """P(X >= least) of a beta-binomial distribution, accurate where it is small."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.fsum(
        math.exp(log_beta(k + a, trials - k + b) - log_beta(a, b) - log_beta(k + 1, trials - k + 1)) / (trials + 1)
        for k in range(least, trials + 1)
    )


def detection_power(results: Iterable[Result]) -> list[str]:
    """What samples show of intermittent cells: a sentence for results with short samples, and one for the others."""
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
    """The chance that at least `least` passes have a slow sample, of a cell that is slow in a share of its samples."""
    chance = 1 - (1 - share) ** per_pass
    return math.fsum(math.comb(passes, k) * chance**k * (1 - chance) ** (passes - k) for k in range(least, passes + 1))


def unseen(share: float, samples: int = QUICK_SAMPLES) -> float:
    """The chance that no sample is slow, of a cell that is slow in a share of its samples."""
    return math.pow(1 - share, samples)
