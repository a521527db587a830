"""How often the findings without references are right: `python -m tests.benchmarks.findings [RUNS]`.

Simulated runs of 2 GPUs, whose link classes have two cells. A false alarm is a finding in a healthy run. The detection
power is the share of runs with one fault that have the finding. The samples of a run differ as the runs do, or by
NARROW only. `tests.benchmarks.node_comparison` simulates sweeps of nodes.
"""

import copy
import sys
from pathlib import Path

import numpy as np

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.record import reading
from linkmatrix.references.tables import References

RECORD = reading.load(Path(__file__).parents[1] / "data" / "h200x2_idle.record.json")
NO_REFERENCES = References({})
SAMPLES = 7
NOISE = (0.002, 0.005, 0.01, 0.02)  # standard deviation of a median, as a fraction
NARROW = 0.001  # standard deviation of the samples of a run that are closer to each other than runs are


def of_two_cells(testcase: str, loss: float, sigma: float, within: float, seed: np.random.Generator) -> bool:
    """Whether a matrix of two cells has a finding; one cell loses a fraction of its bandwidth.

    sigma: standard deviation from run to run. within: of the samples of a run.
    """
    record = copy.copy(RECORD)
    result = copy.deepcopy(next(one for one in record["results"] if one["testcase"] == testcase))
    gains = iter([1 - loss, 1.0])
    for r, row in enumerate(result["values"]):
        for c, value in enumerate(row):
            if value is not None:
                samples = np.sort(
                    value * next(gains) * (1 + seed.normal(0, sigma)) * (1 + seed.normal(0, within, SAMPLES))
                )
                result["values"][r][c] = float(np.median(samples))
                result["low"][r][c], result["high"][r][c] = float(samples[0]), float(samples[-1])
    record |= {"results": [result | {"remeasured": [], "controls": []}]}
    (matrix,) = evaluate(record, NO_REFERENCES, None).matrices
    return bool(diagnose(record, record["results"][0], matrix).findings)


def main(runs: int) -> None:
    """Prints a line for each rule and noise."""
    seed, seed_narrow = np.random.default_rng(1), np.random.default_rng(2)
    for testcase, losses in (
        ("device_to_device_memcpy_write_ce", (0.0, 0.03, 0.05, 0.10)),
        ("host_to_device_memcpy_ce", (0.0, 0.10, 0.15, 0.50)),
    ):
        for sigma in NOISE:
            found = [sum(of_two_cells(testcase, loss, sigma, sigma, seed) for _ in range(runs)) for loss in losses]
            shown = ", ".join(f"{100 * loss:.0f} %: {count}" for loss, count in zip(losses, found, strict=True))
            narrow = sum(of_two_cells(testcase, 0.0, sigma, NARROW, seed_narrow) for _ in range(runs))
            print(
                f"two cells, {testcase}, noise {100 * sigma:.1f} %: findings of {runs} runs by loss: {shown},"
                f" 0 % with narrow samples: {narrow}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
