"""Intermittent cells: the median is good, but single samples are slow.

A sample is slow if its speed is more than 25 % below the usual speed of its cell. If the fast samples of a cell differ
much, the limit is larger than 25 %. Samples are compared only with samples of the same cell. The usual speed is the
90th percentile of these samples, because an intermittent cell may be slow half of the time.
A pass is slow if one of its samples is slow. A burst of slow samples therefore counts once.

A cell is intermittent if both are true:

* Two or more of its passes are slow.
* Chance explains this number of slow passes in at most one of 1,000 healthy matrices.

The chance is the upper tail of a beta-binomial distribution, because the rate of slow passes differs from cell to cell.
A prior (`cell_prior`) contains the mean and the spread of this rate. The prior counts as `PRIOR_CELLS` cells. The other
cells of the matrix can lower the mean, but never raise it. Intermittent cells are excluded from this mean. The search
is repeated until it finds no further cell.

If a cell has no short samples, each of its ordinary samples is a pass. Consecutive slow samples are one pass.

An intermittent cell is WARN instead of FAIL if one of these is true, because the operating system delays its copies:

* The cell has no short samples.
* CPUs copy the data of the cell inside a node.
* CPUs start and time the copies of the cell.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..record import grids
from ..record.link_classes import BETWEEN_NODES
from ..record.names import HANDOVER, Result
from ..record.units import counted

SLOW = 0.25  # a sample is slow if it is slower than the cell's usual speed by more than this fraction
SLOW_LATENCY = 1 / (1 - SLOW) - 1  # the same for a latency
USUAL, FAST = 0.9, 0.75  # quantiles of a cell's speeds: the usual speed, and the slowest of the fast samples
NOISE = 5.0  # a slow sample is at least this number of σ below the median; σ is that of the fast samples
MIN_PASSES = 2  # slow passes of an intermittent cell: a healthy cell can have one burst
FALSE_ALARMS = 0.001  # probability per healthy matrix
PRIOR_CELLS = 14  # cells: with fewer, a few fast cells lower the mean too much, and false alarms exceed FALSE_ALARMS
PASSES, PER_PASS = 12, 6  # short samples per cell in acceptance
QUICK_SAMPLES = 7  # samples per cell without short samples
MIN_DEVICES, MAX_SHARE = 4, 0.5  # with 4 or more devices, more than half of the cells have a common cause
SAME_PASSES = 0.75  # slow passes coincide if this share of them are slow in most cells
EXAMPLE = 0.1  # share of slow samples for which the detection power is printed
SIGMAS_OF_USUAL, SIGMAS_OF_FAST = 1.2816, 0.6745  # normal quantiles of USUAL and FAST


class Prior(NamedTuple):
    """The rate of slow passes that is expected of healthy cells before the run.

    samples: the rate counts as much as this number of samples of the run.
    """

    links: str  # the links that this prior describes
    rate: float
    samples: float


#: Measured on 2 × H100 and on 1 × H100: see "Intermittent cells" in docs/evidence.md.
GPU_MEMORY = Prior("memory of GPUs", 2e-5, 10_000)  # timed on the GPU
HOST_LINKS = Prior("host links", 0.02, 36)  # between a GPU and host memory, timed on the GPU, in one direction
NETWORK = HOST_LINKS._replace(links="networks")  # assumed: adapters copy the data, as GPUs do
#: Both directions of a host link compete, and the operating system delays all other samples.
OTHER_PRIOR = Prior("other links", 0.1, 18)
STARTED_BY_HOST = "in-turn"  # a value of the key `timing`


def cell_prior(record: Mapping[str, Any], result: Result) -> Prior:
    """The prior for the rate of slow passes of the cells of a result."""
    if any(BETWEEN_NODES in row for row in result["link_class"]):
        return NETWORK
    if (record["backend"], result["timing"]) != ("cuda", "gate"):
        return OTHER_PRIOR
    if result["memory"] == "device":
        return GPU_MEMORY
    return OTHER_PRIOR if result["metric"] == "bidirectional" else HOST_LINKS


@dataclass(frozen=True)
class SlowSamples:
    """The slow samples of the cells of a matrix. All arrays are rows × columns.

    samples, slow: numbers of samples and of slow samples.
    passes, slow_passes: numbers of passes and of slow passes.
    worst: the largest deviation of a sample from the cell's usual speed, as a fraction.
    usual: the usual speed, in the matrix's unit.
    found: True for intermittent cells.
    fails: True for intermittent cells that are FAIL, not WARN.
    short: whether the samples are short samples.
    common: a clause about a common cause, "" unless most cells are intermittent.
    has_common_cause: whether so many cells are intermittent that no single device or pair can be at fault.
    """

    samples: np.ndarray
    slow: np.ndarray
    passes: np.ndarray
    slow_passes: np.ndarray
    worst: np.ndarray
    usual: np.ndarray
    found: np.ndarray
    fails: np.ndarray
    short: bool
    common: str
    has_common_cause: bool

    def sentence(self, row: int, column: int) -> str:
        """Text such as "7 of 72 short samples, in 6 of 12 passes, are up to 50 % worse than its usual speed"."""
        slow = f"{self.slow[row, column]} of {self.samples[row, column]}{' short' if self.short else ''} samples"
        passes = f", in {self.slow_passes[row, column]} of {self.passes[row, column]} passes," if self.short else ""
        worst = f"{100 * self.worst[row, column]:.0f} %"
        return f"{slow}{passes} are up to {worst} worse than its usual speed{self.common}"


def find_slow_samples(record: Mapping[str, Any], result: Result) -> SlowSamples | None:
    """The slow samples of a result; None if the record contains no samples."""
    short = grids.short_sample_array(result)
    samples = grids.ordinary_sample_array(result) if short is None else short
    if samples is None:
        return None
    found = count_slow_samples(samples, result["unit"] == "us", cell_prior(record, result), short is not None)
    return replace(found, fails=found.fails & ~delayed_by_host(record, result))


def delayed_by_host(record: Mapping[str, Any], result: Result) -> np.ndarray:
    """True for the cells whose samples can be slow because the operating system delays a CPU; rows × columns.

    * A CPU copies the data of these cells inside a node, or
    * a CPU starts and times each copy of these cells (staged copies).
    """
    classes = np.array(result["link_class"], dtype=str)
    if result["timing"] == STARTED_BY_HOST:
        return np.full(classes.shape, True)
    if record["backend"] == "mpi" and result["memory"] == "host":
        return classes != BETWEEN_NODES
    return np.full(classes.shape, record["backend"] == "host")


def count_slow_samples(samples: np.ndarray, is_latency: bool, prior: Prior, short: bool = True) -> SlowSamples:
    """Counts the slow samples of each cell and finds the intermittent cells.

    samples: passes × rows × columns × samples of a pass, padded with NaN.
    short: whether these samples are short samples.
    """
    deviation, usual = slowdowns(samples, is_latency)
    known = np.isfinite(samples)
    slow = deviation > threshold(samples, usual, is_latency)
    slow_passes = slow.any(axis=-1) if short else first_of_bursts(slow[..., 0])
    passes = known.any(axis=-1) & (~slow.any(axis=-1) | slow_passes)
    found = intermittent(passes.sum(axis=0), slow_passes.sum(axis=0), prior, samples.shape[-1])
    return SlowSamples(
        known.sum(axis=(0, -1)),
        slow.sum(axis=(0, -1)),
        passes.sum(axis=0),
        slow_passes.sum(axis=0),
        np.where(slow, deviation, 0).max(axis=(0, -1)),
        usual,
        found,
        found & short,
        short,
        *common_cause(found, passes.any(axis=0), slow_passes),
    )


def first_of_bursts(slow: np.ndarray) -> np.ndarray:
    """True for the first slow sample of each burst of consecutive slow samples; samples × rows × columns."""
    return slow & ~np.concatenate([np.zeros_like(slow[:1]), slow[:-1]])


def common_cause(found: np.ndarray, known: np.ndarray, slow: np.ndarray) -> tuple[str, bool]:
    """Returns (clause about a common cause of the slow cells, whether no single device or pair can be at fault).

    The clause is "" unless most cells are intermittent.

    found: True for intermittent cells; rows × columns.
    known: True for measured cells; rows × columns.
    slow: True for slow passes; passes × rows × columns.
    """
    number, cells, several = int(found.sum()), int(known.sum()), max(found.shape) >= MIN_DEVICES
    if not (number > MAX_SHARE * cells if several else number == cells > 1):
        return "", False
    each = slow[:, found]
    coinciding = each[each.mean(axis=1) > MAX_SHARE].sum() / each.sum() >= SAME_PASSES
    clause = f"; {number} of {cells} cells are slow{' in the same passes' if coinciding else ''}"
    return clause + (": check for a common cause first" if several else ""), several


def slowdowns(samples: np.ndarray, is_latency: bool) -> tuple[np.ndarray, np.ndarray]:
    """(slowdown of each sample, usual speed of each cell); NaN without samples.

    The slowdown is the fraction by which a sample is worse than the usual speed of its cell.
    """
    usual = quantile(samples, USUAL, is_latency)
    with np.errstate(invalid="ignore"):
        off = samples / usual[..., None] - 1
    return off if is_latency else -off, usual


def threshold(samples: np.ndarray, usual: np.ndarray, is_latency: bool) -> np.ndarray:
    """The slowdown above which a sample is slow, as a fraction; rows × columns × 1.

    The noise is estimated from the fast samples, so that slow samples do not raise the threshold.
    """
    fast = quantile(samples, FAST, is_latency)
    with np.errstate(invalid="ignore"):
        sigma = np.abs(fast / usual - 1) / (SIGMAS_OF_USUAL - SIGMAS_OF_FAST)
    return np.fmax(SLOW_LATENCY if is_latency else SLOW, (SIGMAS_OF_USUAL + NOISE) * sigma)[..., None]


def quantile(samples: np.ndarray, share: float, is_latency: bool) -> np.ndarray:
    """The quantile `share` of the samples of each cell, from slow to fast; rows × columns, NaN without samples."""
    ordered = np.moveaxis(samples, 0, -1).reshape(*samples.shape[1:3], -1)
    ordered = np.sort(ordered, axis=-1)  # NaN last
    number = np.isfinite(ordered).sum(axis=-1)
    at = (number - 1).clip(0) * (1 - share if is_latency else share)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, (number - 1).clip(0))
    below, above = (np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (low, high))
    return below + (at - low) * (above - below)


def intermittent(passes: np.ndarray, slow: np.ndarray, prior: Prior, per_pass: int) -> np.ndarray:
    """True for intermittent cells; rows × columns. passes, slow: numbers of passes and of slow passes per cell."""
    found = np.zeros(passes.shape, dtype=bool)
    cells = int((passes > 0).sum())
    while True:
        more = found.copy()
        other_slow, other_fast = (np.where(found, 0, counts) for counts in (slow, passes - slow))
        slow_total, fast_total = int(other_slow.sum()), int(other_fast.sum())
        for place in zip(*np.nonzero((slow >= MIN_PASSES) & ~found), strict=True):
            rest = slow_total - int(other_slow[place]), fast_total - int(other_fast[place])
            more[place] = is_intermittent(int(passes[place]), int(slow[place]), cells, rest, prior, per_pass)
        if (more == found).all():
            return found
        found = more


def is_intermittent(
    passes: int, slow: int, cells: int, rest: tuple[int, int], prior: Prior, per_pass: int = PER_PASS
) -> bool:
    """Whether a cell is intermittent.

    passes, slow: numbers of passes and of slow passes of the cell.
    cells: number of cells of the matrix.
    rest: (slow passes, fast passes) of the other cells.
    per_pass: samples per pass.
    """
    weight = prior.samples / per_pass
    known = PRIOR_CELLS * weight
    mean = min(prior.rate, (prior.rate * known + rest[0]) / (known + sum(rest)))
    chance = upper_tail(passes, slow, mean * weight, (1 - mean) * weight)
    return slow >= MIN_PASSES and chance * cells <= FALSE_ALARMS


@lru_cache(maxsize=4096)
def upper_tail(trials: int, least: int, a: float, b: float) -> float:
    """P(X >= least) of a beta-binomial distribution with the parameters a and b, also accurate if P is small."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.fsum(
        math.exp(log_beta(k + a, trials - k + b) - log_beta(a, b) - log_beta(k + 1, trials - k + 1)) / (trials + 1)
        for k in range(least, trials + 1)
    )


def detection_power(results: Iterable[tuple[Mapping[str, Any], Result]]) -> list[str]:
    """Sentences about the probability that a run finds an intermittent link, per type of link.

    The probability of a type is the lowest probability of its test cases.
    results: (record, result) of each matrix of a run.
    """
    worst: dict[tuple[str, str], float] = {}  # {(links, verdict): probability}
    noisy = 0
    for record, result in results:
        passes = (result.get("short_samples") or {}).get("passes")
        if result["quantity"] == HANDOVER or (not passes and result.get("sampled") is None):
            continue
        counts, prior = grids.numbers(result["samples"]), cell_prior(record, result)
        cells = int((counts > 0).sum())
        if not cells:
            continue
        if passes:
            found = power(prior, cells, len(passes), int(result["short_samples"]["fewest"]) // len(passes))
            noisy += too_noisy(result)
        else:
            found = ordinary_power(prior, cells, int(counts[counts > 0].min()))
        verdict = "FAIL" if passes and not delayed_by_host(record, result).all() else "WARN"
        worst[prior.links, verdict] = min(found, worst.get((prior.links, verdict), 1.0))
    by_power = sorted(worst.items(), key=operator.itemgetter(1), reverse=True)
    shares = [f"{100 * found:.1f} % ({links}, {verdict})" for (links, verdict), found in by_power if found >= 0.0005]
    fault = f"a link that loses 50 % in {100 * EXAMPLE:.0f} % of its samples"
    finds = f"a run finds {fault} with a probability of {', '.join(shares)}" if shares else f"a run cannot find {fault}"
    lines = [f"Intermittent links: {finds}."] if worst else []
    if noisy:
        lines.append(f"The short samples of {counted(noisy, 'cell')} are too noisy to show a loss of 50 %.")
    return lines


def too_noisy(result: Result) -> int:
    """The number of cells that are so noisy that a short sample at half speed does not count as slow."""
    samples, is_latency = grids.short_sample_array(result), result["unit"] == "us"
    assert samples is not None
    half = 1.0 if is_latency else 0.5
    return int((threshold(samples, slowdowns(samples, is_latency)[1], is_latency) >= half).sum())


@lru_cache(maxsize=4096)
def power(prior: Prior, cells: int, passes: int = PASSES, per_pass: int = PER_PASS, share: float = EXAMPLE) -> float:
    """The probability that short samples find an intermittent cell, if no other cell of the matrix is slow.

    share: the share of slow samples of this cell.
    """
    chance, rest = 1 - chance_unseen(share, per_pass), (0, (cells - 1) * passes)
    return math.fsum(
        math.comb(passes, k) * chance**k * (1 - chance) ** (passes - k)
        for k in range(MIN_PASSES, passes + 1)
        if is_intermittent(passes, k, cells, rest, prior, per_pass)
    )


@lru_cache(maxsize=4096)
def ordinary_power(prior: Prior, cells: int, samples: int = QUICK_SAMPLES) -> float:
    """The probability that ordinary samples find an intermittent cell whose share of slow samples is EXAMPLE."""
    return math.fsum(
        math.comb(slow - 1, bursts - 1)
        * math.comb(samples - slow + 1, bursts)
        * EXAMPLE**slow
        * (1 - EXAMPLE) ** (samples - slow)
        for slow in range(MIN_PASSES, samples + 1)
        for bursts in range(MIN_PASSES, slow + 1)
        if is_intermittent(samples - slow + bursts, bursts, cells, (0, (cells - 1) * samples), prior, 1)
    )


def chance_unseen(share: float, samples: int = QUICK_SAMPLES) -> float:
    """The probability that no sample of a cell is slow. share: expected fraction of slow samples."""
    return math.pow(1 - share, samples)
