"""healthy_warnings [RUNS]: how often a healthy run of 12 test cases is WARN, and how often FAIL.

Each test case has its references from six simulated runs, by the rule of `linkmatrix adopt`, and is judged by
`linkmatrix.judge`. Samples have lognormal noise; 0.5 % of the cells lose an exponential share of 5 % on average in one
run (such a cell is FAIL where its program does not measure it again, as this simulation does not). Sampling stops as in
`src/core/statistics.cpp`, or after seven samples. RUNS of each line, by default 1,000.
In the repository's folder: `python -m tests.benchmarks.healthy_warnings`.
"""

import sys
from collections import Counter
from typing import NamedTuple

import numpy as np

from linkmatrix.adopt.proposal import made
from linkmatrix.judge.evaluate import judge_matrix
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references import noise
from linkmatrix.references.tables import References
from linkmatrix.references.tolerances import FLOORS, Carrier

MOST_WARN = 0.02  # of healthy runs
RUNS, PER_ADOPTION, ADOPTED = 1000, 25, 6
LEAST, MOST, WINDOW, SETTLED = 7, 28, 7, 0.05  # samples, as the programs' StopRule
SPREAD, FLUKES, LOSS = 0.002, 0.005, 0.05  # between healthy cells; share of cells that lose this much on average
CASE, TABLE, UNIT = "device_to_device_memcpy_write_ce", "machine", "GB/s"
FLOOR = FLOORS[Carrier.LINK]


class Noise(NamedTuple):
    """The noise of a test case: σ of a sample, and the half width of the median's interval at which sampling stops."""

    sigma: float
    target: float = 0.0025


#: Name of a machine → its test cases. Copies between host and device are noisy on real machines, and have σ of 2 %.
MACHINES = {
    "0.15 %": [Noise(0.0015)] * 12,
    "0.5 %": [Noise(0.005)] * 12,
    "1 %": [Noise(0.01)] * 12,
    "host copies": [Noise(0.0015)] * 8 + [Noise(0.005, 0.01)] * 2 + [Noise(0.02, 0.01)] * 2,
}


class Measured(NamedTuple):
    """The cells of one run: medians, intervals and numbers of samples."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    samples: np.ndarray


def dropped(samples: int) -> int:
    """How many samples the median's interval drops at each end: as src/core/statistics.cpp."""
    probability = below = 0.5**samples
    k = 0
    while below <= 0.025 and 2 * (k + 1) < samples:
        k += 1
        probability *= (samples - k + 1) / k
        below += probability
    return max(k - 1, 0)


def robust_sigma(values: np.ndarray) -> float:
    """σ by the median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def sampled(chance: np.random.Generator, of: Noise, stops: bool) -> tuple[float, float, float, int]:
    """(median, low, high, samples) of a cell around 1. stops: by the stop rule, else after LEAST samples."""
    values = np.exp(chance.normal(0, of.sigma, MOST))
    for count in range(LEAST, MOST + 1):
        ordered, drop = np.sort(values[:count]), dropped(count)
        low, high, middle = ordered[drop], ordered[count - 1 - drop], float(np.median(ordered))
        done = not stops or (high - low) / 2 / middle <= of.target or count == MOST
        if not done and count >= 2 * WINDOW:
            before, now = robust_sigma(values[: count - WINDOW]), robust_sigma(values[:count])
            done = before > 0 and abs(now / before - 1) < SETTLED
        if done:
            return middle, float(low), float(high), count
    raise AssertionError("a cell ends at its last sample")


def run_of(chance: np.random.Generator, of: Noise, level: np.ndarray, stops: bool, flukes: float) -> Measured:
    """One run of a test case. level: of each cell, NaN where none applies."""
    cells = np.argwhere(np.isfinite(level))
    grids = Measured(*(np.full(level.shape, np.nan) for _ in range(4)))
    for r, c in cells:
        lost = min(chance.exponential(LOSS), 0.9) if chance.random() < flukes else 0.0
        *numbers, count = sampled(chance, of, stops)
        for grid, number in zip(grids, numbers, strict=False):
            grid[r, c] = number * level[r, c] * (1 - lost)
        grids.samples[r, c] = count
    return grids


def adopted(chance: np.random.Generator, of: Noise, level: np.ndarray, stops: bool) -> References:
    """The references of six runs, as `linkmatrix adopt` makes them of a machine of few endpoints."""
    values = np.array([run_of(chance, of, level, stops, 0.0).values for _ in range(ADOPTED)])
    found = noise.spread(values, np.where(np.isfinite(level), "NV18", "X"))
    cells = np.argwhere(np.isfinite(level))
    table = {
        f"gpu{r}->gpu{c}": made(float(found.centre[r, c]), float(found.sigma[r, c]), len(cells), ADOPTED, FLOOR, UNIT)
        for r, c in cells
    }
    return References({(TABLE, CASE): table})


def result_of(measured: Measured) -> dict:
    """A result of a record, as far as it is judged."""
    size = len(measured.values)
    labels = [f"gpu{number}" for number in range(size)]
    there = np.isfinite(measured.values)
    maps = {name: np.where(there, grid, None).tolist() for name, grid in zip(Measured._fields, measured, strict=True)}
    return {
        "testcase": CASE,
        "metric": "bandwidth",
        "quantity": "bandwidth",
        "engine": "ce",
        "unit": UNIT,
        "size_bytes": 1 << 29,
        "rows": labels,
        "columns": labels,
        "status": np.where(there, "ok", "not-applicable").tolist(),
        "link_class": np.where(there, "NV18", "X").tolist(),
        "limit": [[None] * size] * size,
        "converged": [[None] * size] * size,
        "verified": True,
        "notes": [],
    } | maps


def verdicts_of_runs(machine: list[Noise], runs: int, stops: bool, seed: int) -> Counter[Verdict]:
    """How many of the runs have each verdict: the worst of their test cases."""
    chance = np.random.default_rng(seed)
    worst = np.zeros(runs, dtype=int)
    for of in machine:
        for first in range(0, runs, PER_ADOPTION):
            level = 400 * np.exp(chance.normal(0, SPREAD, (2, 2)))
            np.fill_diagonal(level, np.nan)
            references = adopted(chance, of, level, stops)
            for run in range(first, min(first + PER_ADOPTION, runs)):
                result = result_of(run_of(chance, of, level, stops, FLUKES))
                worst[run] = max(worst[run], judge_matrix(result, references, TABLE).verdict)
    return Counter(Verdict(one) for one in worst.tolist())


def main() -> int:
    """Prints a line for each machine. Returns 1 where WARN is too frequent."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{runs} healthy runs of 12 test cases on 2 GPUs, in %\nnoise of a sample  samples   WARN   FAIL")
    too_many = False
    for number, (name, machine) in enumerate(MACHINES.items()):
        for stops in (True, False) if name != "host copies" else (True,):
            found = verdicts_of_runs(machine, runs, stops, 2 * number + stops)
            warn, fail = (found[one] / runs for one in (Verdict.WARN, Verdict.FAIL))
            too_many |= warn > MOST_WARN
            print(f"{name:17s}  {'7 to 28' if stops else '7':7s} {100 * warn:6.2f} {100 * fail:6.2f}")
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
