"""drift [SERIES]: how often `linkmatrix adopt` refuses healthy runs, and finds a trend of 2 % per run or a step of 5 %.

Each number is the share of SERIES test cases, by default 10,000, with one link class whose floor is 2 %. The noise of a
run is common to its cells (the worst case), or independent in each of 56 cells. It is normal, Student's t with three
degrees of freedom, one of two levels, or autocorrelated (AR(1), 0.8). A second table has runs of two healthy nodes, one
after the other. In the repository's folder: `python -m tests.benchmarks.drift`.
"""

import sys

import numpy as np

from linkmatrix.adopt import drift

CELLS, LEAST, SEED = 56, 0.01, 33
RUNS, SIGMAS = (6, 8, 12), (0.003, 0.01, 0.03)
NOISES = ("normal", "t3", "two levels", "autocorrelated", "per cell")
TREND, STEP, CORRELATION = -0.02, -0.05, 0.8
NODES_APART = (0.0, 0.015, 0.03, 0.05)


def simulate(chance: np.random.Generator, noise: str, sigma: float, level: np.ndarray, count: int) -> np.ndarray:
    """The medians of the link class, series × runs. level: the true level of each run."""
    shape = (count, len(level))
    if noise == "per cell":
        return level * np.median(1 + sigma * chance.standard_normal((*shape, CELLS)), axis=2)
    if noise == "autocorrelated":
        found = chance.standard_normal(shape)
        for run in range(1, shape[1]):
            found[:, run] = CORRELATION * found[:, run - 1] + np.sqrt(1 - CORRELATION**2) * found[:, run]
        return level * (1 + sigma * found)
    draws = {
        "normal": chance.standard_normal,
        "t3": lambda size: chance.standard_t(3, size) / np.sqrt(3),
        "two levels": lambda size: chance.choice([-1.0, 1.0], size),
    }
    return level * (1 + sigma * draws[noise](shape))


def rate(chance: np.random.Generator, noise: str, sigma: float, level: np.ndarray, count: int) -> float:
    """The share of simulated series in which a trend or a step is found."""
    found = drift.drift_evidence(simulate(chance, noise, sigma, level, count), LEAST)
    return float((found.has_trend | found.has_step).mean())


def rate_of_nodes(chance: np.random.Generator, sigma: float, apart: float, runs: int, count: int) -> float:
    """The share of series refused whose first half is of one node, and whose second half is of a slower node."""
    half = runs // 2
    levels = simulate(chance, "normal", sigma, np.where(np.arange(runs) < half, 1, 1 - apart), count)
    names = ["a"] * half + ["b"] * (runs - half)
    refused = 0
    for one in levels:
        series = drift.Series("NV18", one, "GB/s", [""] * runs, names, LEAST)
        refused += bool(drift.drift_sentences([series]))
    return refused / count


def main(count: int = 10_000) -> None:
    """Prints the tables."""
    chance = np.random.default_rng(SEED)
    print(f"{count} series per number")
    print("| noise | sigma | runs | healthy | -2 % per run | -5 % after half | -5 % before the last two |")
    print("|---|---|---|---|---|---|---|")
    for noise in NOISES:
        for sigma in SIGMAS:
            for runs in RUNS:
                time = np.arange(runs)
                levels = [
                    np.ones(runs),
                    (1 + TREND) ** time,
                    np.where(time < runs // 2, 1, 1 + STEP),
                    np.where(time < runs - 2, 1, 1 + STEP),
                ]
                rates = " | ".join(f"{100 * rate(chance, noise, sigma, level, count):.1f} %" for level in levels)
                print(f"| {noise} | {100 * sigma:g} % | {runs} | {rates} |", flush=True)
    print("| sigma | runs | " + " | ".join(f"nodes {100 * apart:g} % apart" for apart in NODES_APART) + " |")
    for sigma in SIGMAS:
        for runs in RUNS[1:]:
            found = [rate_of_nodes(chance, sigma, apart, runs, count // 10) for apart in NODES_APART]
            rates = " | ".join(f"{100 * one:.1f} %" for one in found)
            print(f"| {100 * sigma:g} % | {runs} | {rates} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
