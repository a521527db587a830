"""error_rates [RUNS]: false alarms and detection power of each rule of the judge, as docs/evidence.md has them.

Rules with a formula are computed. Rules without one are simulated on 4 GPUs: 12 cells, references with a tolerance of
2 %, samples with σ of 0.15 %, seven samples per cell. RUNS of each line, by default 2,000. In the repository's folder:
`python -m tests.benchmarks.error_rates`.
"""

import sys
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from linkmatrix.judge import intermittent
from linkmatrix.judge.evaluate import judge_result
from linkmatrix.judge.rules import RULES
from linkmatrix.record.units import counted
from linkmatrix.references import noise
from linkmatrix.references.tables import Reference, References
from tests.benchmarks.flapping import GPUS, LEVEL, SIGMA, noisy
from tests.benchmarks.healthy_warnings import CASE, TABLE, Measured, result_of

RUNS, SAMPLES = 2000, intermittent.QUICK_SAMPLES
ALARMS = 10  # times as many runs for rare false alarms
CELLS = GPUS * (GPUS - 1)
HEAD = "| rule | fault of one cell | false alarms, % of healthy matrices | detection power, % |\n|---|---|---|---|"
OTHER_NOISE = "| healthy cells | false alarms, % of healthy matrices |\n|---|---|"
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
        rates = f"{self.false_alarms:.2f}" + ("" if np.isnan(self.power) else f" | {self.power:.1f}")
        return f"| {self.fault} | {rates} |" if np.isnan(self.power) else f"| {self.rule} | {self.fault} | {rates} |"


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
            rows.append(Row("corrupt", fault, 0, 100 * (1 - intermittent.chance_unseen(share * compared, SAMPLES))))
    return rows


def of_samples(runs: int) -> list[Row]:
    """The rows of intermittent cells: a loss of 50 % in some samples.

    The rate of each healthy cell is drawn from the prior. The power is that which the programs print.
    """
    chance, rows = np.random.default_rng(1), []
    for what, prior, all_cells in (
        *((f"{gpus} GPUs", intermittent.GPU_MEMORY, gpus * (gpus - 1)) for gpus in (2, 4, 8, 16)),
        *((counted(links, "host link"), intermittent.HOST_LINKS, links) for links in (1, 2, 8, 16)),
        *((f"network of {cells} cells", intermittent.NETWORK, cells) for cells in (56,)),
        *((counted(cells, "other cell"), intermittent.OTHER_PRIOR, cells) for cells in (1, 2, 12)),
    ):
        alarms = false_alarms(chance, ALARMS * runs, prior, all_cells)
        for share in (intermittent.EXAMPLE,) if prior is intermittent.GPU_MEMORY else (intermittent.EXAMPLE, 0.25):
            fault = f"50 % in {100 * share:.0f} % of 72 short samples, {what}"
            rows.append(
                Row("intermittent", fault, 100 * alarms, 100 * intermittent.power(prior, all_cells, share=share))
            )
    for what, prior in (("12 host links", intermittent.HOST_LINKS), ("12 other cells", intermittent.OTHER_PRIOR)):
        power = intermittent.ordinary_power(prior, CELLS, SAMPLES)
        alarms = false_alarms(chance, ALARMS * runs, prior, CELLS, (SAMPLES, 1))
        rows.append(Row("may be intermittent", f"50 % in 10 % of 7 samples, {what}", 100 * alarms, 100 * power))
    return rows


def false_alarms(
    chance: np.random.Generator,
    runs: int,
    prior: intermittent.Prior,
    cells: int,
    sizes: tuple[int, int] = (intermittent.PASSES, intermittent.PER_PASS),
) -> float:
    """The share of healthy matrices with an intermittent cell.

    sizes: passes of each cell, and samples of each pass.
    """
    weight, passes = prior.samples / sizes[1], np.full(cells, sizes[0])
    slow = chance.binomial(sizes[0], chance.beta(prior.rate * weight, (1 - prior.rate) * weight, (runs, cells)))
    found = (intermittent.intermittent(passes, one, prior, sizes[1]).any() for one in slow[slow.max(axis=1) > 1])
    return sum(found) / runs


def of_other_noise(runs: int) -> list[Row]:
    """False alarms of `intermittent` where the noise of healthy cells has heavy tails."""
    chance, rows = np.random.default_rng(3), []
    for what, is_latency, degrees, scale in (
        ("bandwidth", False, 3, 0.01),
        ("bandwidth", False, 3, 0.03),
        ("latency", True, 2, 0.01),
        ("latency", True, 2, 0.02),
    ):
        alarms = 0
        for _ in range(runs):
            noise = scale * np.abs(chance.standard_t(degrees, (intermittent.PASSES, 1, CELLS, intermittent.PER_PASS)))
            samples = 1 + noise if is_latency else 1 - noise
            alarms += bool(intermittent.count_slow_samples(samples, is_latency, intermittent.GPU_MEMORY).found.any())
        fault = f"{what} of GPUs, t{degrees} noise of {100 * scale:g} %, 12 cells"
        rows.append(Row("intermittent", fault, 100 * alarms / runs, np.nan))
    return rows


def matrix_rules(samples: np.ndarray, references: References) -> np.ndarray:
    """The rules of the cells of a matrix with these samples, as names."""
    ordered, diagonal = np.sort(samples, axis=-1), np.eye(GPUS, dtype=bool)
    grids = (np.median(samples, axis=-1), ordered[..., 0], ordered[..., -1], np.full((GPUS, GPUS), float(SAMPLES)))
    result = result_of(Measured(*(np.where(diagonal, np.nan, grid) for grid in grids)))
    each = np.moveaxis(np.where(diagonal[..., None], np.nan, samples), -1, 0)[..., None]
    slow = intermittent.count_slow_samples(each, False, intermittent.GPU_MEMORY, short=False)
    whole = judge_result(result, references, TABLE, slow=slow).whole
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
        ("may be intermittent", "50 % in 10 % of 7 samples, 4 GPUs", half_in_a_tenth, 0.05),
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
    """Prints the tables in Markdown."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(HEAD)
    for row in (*computed(), *of_samples(runs), *of_warnings(runs)):
        print(row.text(), flush=True)
    print(f"\n{OTHER_NOISE}")
    for row in of_other_noise(runs):
        print(row.text(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
