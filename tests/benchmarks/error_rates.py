"""error_rates [RUNS]: false alarms and detection power of each rule of the judge, as docs/verdicts.md has them.

Rules with a formula are computed. Rules without one are simulated on 4 GPUs: 12 cells, references with a tolerance of
2 %, samples with σ of 0.15 %, seven samples per cell. RUNS of each line, by default 2,000. In the repository's folder:
`python -m tests.benchmarks.error_rates`.
"""

import sys
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from linkmatrix.judge import intermittent
from linkmatrix.judge.evaluate import judge_matrix
from linkmatrix.judge.rules import RULES
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References
from tests.benchmarks.flapping import GPUS, LEVEL, SIGMA, noisy
from tests.benchmarks.healthy_warnings import CASE, TABLE, Measured, result_of

RUNS, SAMPLES = 2000, intermittent.QUICK_SAMPLES
CELLS = GPUS * (GPUS - 1)
HEAD = "| rule | fault of one cell | false alarms, % of healthy matrices | detection power, % |\n|---|---|---|---|"
#: Rules that compare facts: no noise makes a false alarm or hides a fault.
FACTS = {*RULES} - {"corrupt", "off reference", "intermittent", "may be intermittent", "noisy", "straggling"}


class Row(NamedTuple):
    """A row of the table: shares of healthy matrices and of faulty cells, in %."""

    rule: str
    fault: str
    false_alarms: float
    power: float

    def text(self) -> str:
        """The row in Markdown."""
        return f"| {self.rule} | {self.fault} | {self.false_alarms:.2f} | {self.power:.1f} |"


#: {what is wrong in a transfer: share of its bytes that are compared}: if every block is wrong, any share shows it.
#: The shares of single blocks are measured on two H100: `compared_share` of their records.
COMPARED = {
    "wrong in every block": 1,
    "wrong in one block, 57 % compared (write_ce)": 0.57,
    "wrong in one block, 34 % compared (all_reduce)": 0.34,
    "wrong in one block, 11 % compared (device_to_host)": 0.11,
}


def computed() -> list[Row]:
    """The rows that have a formula."""
    sigma = SIGMA * np.sqrt(noise.MEDIAN_EFFICIENCY / SAMPLES)
    off, healthy = NormalDist(LEVEL * 0.979, LEVEL * sigma), NormalDist(LEVEL, LEVEL * sigma)
    limit, fault = 0.98 * LEVEL, "2.1 % slow, tolerance 2 %"
    rows = [Row("off reference", fault, 100 * CELLS * healthy.cdf(limit), 100 * off.cdf(limit))]
    for share in (0.1, 0.01):
        for wrong, compared in COMPARED.items():
            fault = f"{100 * share:g} % of samples {wrong}"
            rows.append(Row("corrupt", fault, 0, 100 * (1 - intermittent.unseen(share * compared, SAMPLES))))
    return rows


def of_short_samples(runs: int) -> list[Row]:
    """The rows of intermittent cells: 50 % in 10 % of samples, on healthy GPUs that are slow as the prior assumes."""
    prior = intermittent.PRIORS["cuda", "gate", "device"]
    chance, rows = np.random.default_rng(1), []
    healthy, faulty = (1 - (1 - rate) ** intermittent.PER_PASS for rate in (prior.rate, intermittent.EXAMPLE))
    for gpus in (2, 4, 8, 16):
        cells = gpus * (gpus - 1)
        passes, counts = np.full(cells, intermittent.PASSES), (runs, cells)
        slow = chance.binomial(intermittent.PASSES, healthy, counts)
        alarms = sum(found(passes, one).any() for one in slow[slow.max(axis=1) > 1])
        slow[:, 0] = chance.binomial(intermittent.PASSES, faulty, runs)
        power = sum(bool(found(passes, one)[0]) for one in slow)
        fault = f"50 % in 10 % of 72 short samples, {gpus} GPUs"
        rows.append(Row("intermittent", fault, 100 * alarms / runs, 100 * power / runs))
    return rows


def found(passes: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """The cells of GPUs that are intermittent."""
    prior = intermittent.PRIORS["cuda", "gate", "device"]
    return intermittent.intermittent(passes, slow, prior, intermittent.PER_PASS)


def matrix_rules(samples: np.ndarray, references: References) -> np.ndarray:
    """The rules of the cells of a matrix with these samples, as names."""
    ordered, diagonal = np.sort(samples, axis=-1), np.eye(GPUS, dtype=bool)
    grids = (np.median(samples, axis=-1), ordered[..., 0], ordered[..., -1], np.full((GPUS, GPUS), float(SAMPLES)))
    result = result_of(Measured(*(np.where(diagonal, np.nan, grid) for grid in grids)))
    each = np.moveaxis(np.where(diagonal[..., None], np.nan, samples), -1, 0)[..., None]
    prior = intermittent.PRIORS["cuda", "gate", "device"]
    slow = intermittent.count(each, False, prior, short=False)
    whole = judge_matrix(result, references, TABLE, slow=slow).whole
    assert whole is not None
    return np.array([*RULES])[whole.rules]


def half_in_a_tenth(chance: np.random.Generator) -> np.ndarray:
    """The speeds of a cell that loses 50 % in 10 % of its samples."""
    return np.where(chance.random(SAMPLES) < intermittent.EXAMPLE, 0.5, 1.0)


def noisier(chance: np.random.Generator) -> np.ndarray:
    """The speeds of a cell with ten times the noise, 1.9 % slower."""
    return 0.981 * np.exp(chance.normal(0, 9 * SIGMA, SAMPLES))


def slower(chance: np.random.Generator) -> np.ndarray:
    """The speeds of a cell that is 2.5 % slower than its class."""
    return np.full(SAMPLES, 0.975)


def of_warnings(runs: int) -> list[Row]:
    """The rows of WARN, simulated."""
    chance, rows = np.random.default_rng(2), []
    for rule, fault, speeds, tolerance in (
        ("may be intermittent", "50 % in 10 % of 7 samples", half_in_a_tenth, 0.05),
        ("noisy", "1.9 % slow, σ of 1.35 %, tolerance 2 %", noisier, 0.02),
        ("straggling", "2.5 % slower than its class, tolerance 5 %", slower, 0.05),
    ):
        references = References({(TABLE, CASE): {"cell[NV18]": Reference(LEVEL, -tolerance, tolerance, "GB/s")}})
        alarms = power = 0
        for _ in range(runs):
            samples = noisy(chance, (GPUS, GPUS, SAMPLES))
            alarms += bool((matrix_rules(samples, references) == rule).any())
            samples[0, 1] *= speeds(chance)
            power += bool(matrix_rules(samples, references)[0, 1] == rule)
        rows.append(Row(rule, fault, 100 * alarms / runs, 100 * power / runs))
    return rows


def main() -> int:
    """Prints the table in Markdown."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(HEAD)
    for row in (*computed(), *of_short_samples(runs), *of_warnings(runs)):
        print(row.text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
