"""flapping [RUNS]: how often a cell that is slow now and then is PASS, WARN and FAIL.

One cell of four GPUs has the fault of each line. The 12 cells are judged three times: as if nothing read single samples
(before), with the ordinary samples, seven or more (quick), and with short samples too (acceptance). The noise of
samples is lognormal with σ of 0.15 %. A cell outside its tolerance is measured three times more, and its second-worst
median counts, as in the programs. Passes of short samples are taken between the rounds, as in the programs. The length
of a phase is a multiple of the time of the matrix. RUNS of each line, by default 200. In the repository's folder:
`python -m tests.benchmarks.flapping`.
"""

import sys
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkmatrix.judge import intermittent
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References
from tests.benchmarks.healthy_warnings import CASE, MOST, TABLE, Measured, result_of, settled

RUNS, GPUS, SIGMA, LEVEL, TOLERANCE = 200, 4, 0.0015, 400.0, 0.02
TARGET, AGAIN = 0.0025, 3  # the half width of the interval at which sampling stops; measurements of a slow cell
PASSES, PER_PASS = intermittent.PASSES, intermittent.PER_PASS
ROUNDS = 2 * (GPUS - 1)  # of a matrix: disjoint pairs, in one direction and then in the other
IN_ROUNDS = 0.8  # share of the passes that is taken between the rounds, as in src/measure/short_samples.cpp
FAULTY = (0, 1)
KINDS = (Verdict.PASS, Verdict.WARN, Verdict.FAIL)
Speeds = Callable[[np.ndarray], np.ndarray]  # the speed of samples at some times, as a share of the healthy speed


class Fault(NamedTuple):
    """The fault of a cell: its loss while slow, and the share of slow samples.

    phase: of a cell that is slow in every other phase, the length of a phase in times of the matrix; else 0.
    """

    name: str
    loss: float = 0.0
    share: float = 0.0
    phase: float = 0.0

    def speeds(self, chance: np.random.Generator) -> Speeds:
        """The speeds in one run."""
        offset = chance.uniform(0, 2)

        def at(times: np.ndarray) -> np.ndarray:
            slow = (times / self.phase + offset) % 2 < 1 if self.phase else chance.random(times.shape) < self.share
            return np.where(slow, 1 - self.loss, 1.0)

        return at


FAULTS = (
    Fault("50 % in 10 % of samples", 0.5, 0.1),
    Fault("50 % in 20 % of samples", 0.5, 0.2),
    Fault("90 % in 25 % of samples", 0.9, 0.25),
    *(Fault(f"50 % in phases of {phase:g}", 0.5, phase=phase) for phase in (0.25, 1, 5)),
    Fault("healthy"),
)
REFERENCES = References({(TABLE, CASE): {"cell[NV18]": Reference(LEVEL, -TOLERANCE, TOLERANCE, "GB/s")}})


def noisy(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Samples of healthy cells."""
    return LEVEL * np.exp(chance.normal(0, SIGMA, shape))


def pass_times() -> np.ndarray:
    """When passes are taken, as a share of the time of the matrix: twice per round, and the rest at the end."""
    slots = np.arange(1, 2 * ROUNDS + 1) / (2 * ROUNDS)
    due = np.ceil(IN_ROUNDS * PASSES * slots)
    return np.append(slots, 1)[np.searchsorted(due, np.arange(1, PASSES + 1))]


def record_of(fault: Fault, chance: np.random.Generator) -> dict:
    """A record of one matrix, as far as it is judged."""
    speeds, shape = fault.speeds(chance), (GPUS, GPUS)
    samples = noisy(chance, (*shape, MOST))
    samples[FAULTY] *= speeds(np.full(MOST, chance.uniform(0, 0.5)))
    found = np.full((4, *shape), np.nan)
    for place in map(tuple, np.argwhere(~np.eye(GPUS, dtype=bool))):
        found[(slice(None), *place)] = settled(samples[place], TARGET)
    middle, counts = found[0], np.nan_to_num(found[3]).astype(int)
    if middle[FAULTY] < LEVEL * (1 - TOLERANCE):
        times = chance.uniform(0.5, 1, (AGAIN, 1)).repeat(MOST, axis=1)
        again = [settled(one, TARGET)[0] for one in noisy(chance, (AGAIN, MOST)) * speeds(times)]
        middle[FAULTY] = np.sort([middle[FAULTY], *again])[1]
    result = result_of(Measured(*found))
    sampled = [[cell[:most] for cell, most in zip(*row, strict=True)] for row in zip(samples, counts, strict=True)]
    short = noisy(chance, (PASSES, *shape, PER_PASS))
    short[:, FAULTY[0], FAULTY[1]] *= speeds(pass_times()[:, None].repeat(PER_PASS, axis=1))
    passes = [{"values": without_diagonal(one)} for one in short.tolist()]
    result |= {"timing": "gate", "memory": "device", "sampled": [[cell.tolist() for cell in row] for row in sampled]}
    result |= {"short_samples": {"asked": PASSES * PER_PASS, "fewest": PASSES * PER_PASS, "passes": passes}}
    return {"backend": "cuda", "result": "PASS", "results": [result], "devices": []}


def without_diagonal(rows: list) -> list:
    """Lists of samples per cell, without those of the diagonal."""
    return [[[] if r == c else cell for c, cell in enumerate(row)] for r, row in enumerate(rows)]


def without(record: dict, *names: str) -> dict:
    """A record without some fields of its results."""
    return {**record, "results": [{**one, **dict.fromkeys(names)} for one in record["results"]]}


def verdicts_of_runs(fault: Fault, runs: int, seed: int) -> list[Counter[Verdict]]:
    """How many runs have each verdict: before, in quick, in acceptance."""
    chance, found = np.random.default_rng(seed), [Counter[Verdict]() for _ in range(3)]
    for _ in range(runs):
        record = record_of(fault, chance)
        for counter, names in zip(found, (("sampled", "short_samples"), ("short_samples",), ()), strict=True):
            counter[evaluate(without(record, *names), REFERENCES, TABLE).verdict] += 1
    return found


def main() -> int:
    """Prints each line of the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    heads = (f"{name}:{'':{11 - len(name)}s}PASS  WARN  FAIL" for name in ("before", "quick", "acceptance"))
    print(f"{runs} runs per line, in %\n{'loss':25s}{'    '.join(heads)}")
    for number, fault in enumerate(FAULTS):
        found = verdicts_of_runs(fault, runs, number)
        shares = (" ".join(f"{100 * one[kind] / runs:5.1f}" for kind in KINDS) for one in found)
        print(f"{fault.name:25s}{'    '.join(f'{each:>28s}' for each in shares)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
