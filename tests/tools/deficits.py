"""Simulated matrices with one cell that is worse than the others, judged by the limits of a contract."""

import numpy as np

from linkmatrix.contract.power import Noise, noise_of
from linkmatrix.judge.evaluate import MatrixVerdict, judge_matrix
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References

LEVEL, LIMIT = 400.0, 0.97  # of the healthy level, which a bandwidth may not be below; a latency may be 1 / LIMIT
SAMPLES = 7


class Deficits:
    """Matrices of `count` devices in "GB/s" or "us", of normal noise sigma, a fraction."""

    def __init__(self, count: int, unit: str, sigma: float, seed: int = 0) -> None:
        self.count, self.unit, self.sigma = count, unit, sigma
        self.chance = np.random.default_rng(seed)
        lower, upper = (None, 1 / LIMIT - 1) if unit == "us" else (LIMIT - 1, None)
        self.limits = References({("sold", "simulated"): {"cell[NV18]": Reference(LEVEL, lower, upper, unit)}})

    def judged(self, deficit: float = 0.0) -> MatrixVerdict:
        """A run whose cell (0, 1) is worse by `deficit`, a fraction."""
        n = self.count
        level = np.full((n, n), LEVEL)
        level[0, 1] *= 1 + deficit if self.unit == "us" else 1 - deficit
        values = level * (1 + self.sigma * self.chance.standard_normal((n, n)))

        def square(diagonal: object, cells: np.ndarray | object) -> list[list[object]]:
            each = cells if isinstance(cells, np.ndarray) else np.full((n, n), cells, dtype=object)
            return [[diagonal if r == c else each[r, c] for c in range(n)] for r in range(n)]

        labels = [f"gpu{number}" for number in range(n)]
        grid = square(None, values)
        return judge_matrix(
            {
                "testcase": "simulated",
                "metric": "latency" if self.unit == "us" else "bandwidth",
                "quantity": "latency" if self.unit == "us" else "bandwidth",
                "engine": "ce",
                "unit": self.unit,
                "size_bytes": 1 << 20,
                "rows": labels,
                "columns": labels,
                "values": grid,
                "status": square("not-applicable", "ok"),
                "low": grid,
                "high": grid,
                "samples": square(0, SAMPLES),
                "converged": square(None, True),
                "link_class": square("X", "NV18"),
                "limit": square(None, 10 * LEVEL),
                "parts": {},
                "verified": True,
                "schedule": {"mode": "rounds"},
            },
            self.limits,
            "sold",
        )

    def noise(self) -> Noise:
        """What a healthy run says of its noise."""
        return noise_of(self.judged())["NV18"]

    def found(self, deficit: float, trials: int) -> float:
        """The share of runs in which the cell that is worse fails."""
        cell = ("gpu0", "gpu1")
        return sum(self.judged(deficit).cells[cell].verdict is Verdict.FAIL for _ in range(trials)) / trials
