"""healthy_warnings [RUNS]: how often a healthy run of 12 test cases is WARN, and how often FAIL.

Each test case has its references from six simulated runs, by the rule of `linkmatrix adopt`, and is judged by
`linkmatrix.judge`. The noise of samples, and that of a cell from run to run (σ_run), is lognormal and independent.
Flukes: cells that lose an exponential share of 5 % on average in one run. Such a cell is FAIL where its program does
not measure it again, as this simulation does not. Sampling stops as in `src/core/statistics.cpp`, or after seven
samples. RUNS of each line, by default 1,000. In the repository's folder: `python -m tests.benchmarks.healthy_warnings`.
"""

import sys
from collections import Counter
from typing import NamedTuple

import numpy as np

from linkmatrix.adopt.cells import cell_references
from linkmatrix.judge.evaluate import judge_result
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.matrix import from_result
from linkmatrix.references import noise
from linkmatrix.references.noise import FLOORS, DataPath
from linkmatrix.references.tables import References

MOST_WARN = 0.02  # of healthy runs
RUNS, PER_ADOPTION, ADOPTED = 1000, 25, 6
LEAST, MOST, WINDOW, SETTLED = 7, 28, 7, 0.05  # samples, as the programs' StopRule
SPREAD, FLUKES, LOSS = 0.002, 0.005, 0.05  # between healthy cells; share of cells that lose this much on average
CASE, TABLE, UNIT = "device_to_device_memcpy_write_ce", "machine", "GB/s"
FLOOR = FLOORS[DataPath.LINK]


class Noise(NamedTuple):
    """The noise of a test case: σ of a sample, and the half width of the median's interval at which sampling stops.

    run: σ of a cell from run to run, as a fraction
    """

    sigma: float
    target: float = 0.0025
    run: float = 0.0


class Line(NamedTuple):
    """A line of the table. stops: sampling by the stop rule. flukes: share of the cells."""

    machine: str
    stops: bool = False
    gpus: int = 2
    run: float = 0.0
    flukes: float = FLUKES


#: Name of a machine → its test cases. Copies between host and device are noisy on real machines, and have σ of 2 %.
MACHINES = {
    "0.15 %": [Noise(0.0015)] * 12,
    "0.5 %": [Noise(0.005)] * 12,
    "1 %": [Noise(0.01)] * 12,
    "host copies": [Noise(0.0015)] * 8 + [Noise(0.005, 0.01)] * 2 + [Noise(0.02, 0.01)] * 2,
}


LINES = (
    *(Line(name, stops) for name in ("0.15 %", "0.5 %", "1 %") for stops in (True, False)),
    Line("host copies", stops=True),
    Line("0.5 %", run=0.005),
    Line("0.5 %", run=0.005, flukes=0.0),
    Line("0.5 %", gpus=8, flukes=0.0),
    Line("0.5 %", gpus=8, run=0.002, flukes=0.0),
    Line("0.5 %", gpus=8, run=0.005, flukes=0.0),
)


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


def stopped(chance: np.random.Generator, sigma: float, target: float) -> tuple[float, float, float, int]:
    """(median, low, high, samples) of a cell around 1, sampled by the stop rule."""
    return settled(np.exp(chance.normal(0, sigma, MOST)), target)


def settled(values: np.ndarray, target: float) -> tuple[float, float, float, int]:
    """(median, low, high, samples) of a cell with these samples, up to the one at which sampling stops."""
    for count in range(LEAST, MOST + 1):
        ordered, drop = np.sort(values[:count]), dropped(count)
        low, high, middle = ordered[drop], ordered[count - 1 - drop], float(np.median(ordered))
        done = (high - low) / 2 / middle <= target or count == MOST
        if not done and count >= 2 * WINDOW:
            before, now = robust_sigma(values[: count - WINDOW]), robust_sigma(values[:count])
            done = before > 0 and abs(now / before - 1) < SETTLED
        if done:
            return middle, float(low), float(high), count
    raise AssertionError("a cell ends at its last sample")


def run_of(chance: np.random.Generator, of: Noise, level: np.ndarray, stops: bool, flukes: float) -> Measured:
    """One run of a test case. level: of each cell, NaN where none applies."""
    if stops:
        each = [[stopped(chance, of.sigma, of.target) for _ in row] for row in level]
        found = np.moveaxis(np.array(each, dtype=float), -1, 0)
    else:
        samples = np.sort(np.exp(chance.normal(0, of.sigma, (*level.shape, LEAST))))
        found = np.array([samples[..., at] for at in (LEAST // 2, 0, -1)] + [np.full(level.shape, LEAST)])
    lost = np.where(chance.random(level.shape) < flukes, chance.exponential(LOSS, level.shape), 0.0)
    factor = level * np.exp(chance.normal(0, of.run, level.shape)) * (1 - np.minimum(lost, 0.9))
    return Measured(*(found[:3] * factor), np.where(np.isfinite(level), found[3], np.nan))


def adopted(chance: np.random.Generator, of: Noise, level: np.ndarray, stops: bool) -> References:
    """The references of six runs, as `linkmatrix adopt` makes them of a machine of few endpoints."""
    runs = [run_of(chance, of, level, stops, 0.0) for _ in range(ADOPTED)]
    classes = np.where(np.isfinite(level), "NV18", "X")
    found = noise.spread(np.array([run.values for run in runs]), classes)
    cells, matrix = int(np.isfinite(level).sum()), from_result(result_of(runs[0]))
    table = cell_references(matrix, found, classes, cells, ADOPTED, {"NV18": FLOOR})[0]
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


def verdicts_of_runs(line: Line, runs: int, seed: int) -> Counter[Verdict]:
    """How many of the runs have each verdict: the worst of their test cases."""
    chance = np.random.default_rng(seed)
    worst = np.zeros(runs, dtype=int)
    for noise_of_samples in MACHINES[line.machine]:
        of = noise_of_samples._replace(run=line.run)
        for first in range(0, runs, PER_ADOPTION):
            level = 400 * np.exp(chance.normal(0, SPREAD, (line.gpus, line.gpus)))
            np.fill_diagonal(level, np.nan)
            references = adopted(chance, of, level, line.stops)
            for run in range(first, min(first + PER_ADOPTION, runs)):
                result = result_of(run_of(chance, of, level, line.stops, line.flukes))
                worst[run] = max(worst[run], judge_result(result, references, TABLE).verdict)
    return Counter(Verdict(one) for one in worst.tolist())


def main() -> int:
    """Prints each line of the table. Returns 1 where WARN is too frequent."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{runs} healthy runs of 12 test cases, in %\nσ of a sample  samples  GPUs  σ_run  flukes   WARN   FAIL")
    too_many = False
    for number, line in enumerate(LINES):
        found = verdicts_of_runs(line, runs, number)
        warn, fail = (100 * found[one] / runs for one in (Verdict.WARN, Verdict.FAIL))
        too_many |= warn > 100 * MOST_WARN
        samples = "7 to 28" if line.stops else "7"
        model = f"{line.machine:13s}  {samples:7s}  {line.gpus:4d}  {100 * line.run:5.1f}  {100 * line.flukes:6.1f}"
        print(f"{model} {warn:6.2f} {fail:6.2f}", flush=True)
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
