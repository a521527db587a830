"""The smallest deficit of one cell that a test case could have seen, out of the noise of what was measured.

A cell whose true level is µ(1 - δ) is measured as a normal value of relative standard deviation σ, and fails below its
limit L. It fails with the chance Φ((L / (µ(1 - δ)) - 1) / σ), so the smallest δ that fails with the chance POWER is

    δ = 1 - (L / µ) / (1 + zσ),   z = Φ⁻¹(POWER)

and of a latency with the upper limit U, δ = (U / µ) / (1 - zσ) - 1: the power of a one-sided test of a normal value
with known σ. µ / L is the median of cell / limit in a link class, and σ the standard deviation of these ratios in that
class, at its upper 95 % confidence bound s·√((m - 1) / χ²) with the 5 % quantile of χ² of m - 1 degrees of freedom by
Wilson and Hilferty (1931), for s of few cells is no certain thing; and no less than the cells' own intervals say. The
median of m cells is itself uncertain, π/2·σ²/m (references/noise.py). Cells that are slow make s, and so δ, larger.
tests/benchmarks/power.py holds it against simulated runs.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..references.noise import MEDIAN_EFFICIENCY

POWER = 0.95
CONFIDENCE = 0.95
FEWEST = 3  # cells whose spread says something
INTERVAL = 1.96  # half of an interval of a median with 95 %, in σ


@dataclass(frozen=True)
class Noise:
    """Of a link class: margin: the median of value / limit, above 1 for a bandwidth that passes, below for a latency.

    sigma: of one value, as a fraction, at its upper bound; None where nobody knows. cells: how many say so.
    """

    margin: float
    sigma: float | None
    cells: int
    latency: bool = False

    @property
    def smallest(self) -> float | None:
        """The smallest deficit, as a fraction of what the class reaches, that one cell shows with the chance POWER;
        None where it is not known, or where no deficit is sure to be seen."""
        z = NormalDist().inv_cdf(POWER)
        if self.sigma is None or (self.latency and z * self.sigma >= 1):
            return None
        if self.latency:
            return max(0.0, 1 / (self.margin * (1 - z * self.sigma)) - 1)
        return max(0.0, 1 - 1 / (self.margin * (1 + z * self.sigma)))

    def power(self, deficit: float) -> float | None:
        """The chance that a cell with this deficit fails."""
        if self.sigma is None:
            return None
        level = self.margin * (1 + deficit if self.latency else 1 - deficit)
        off = (1 / level - 1) / max(self.sigma, 1e-12)
        return NormalDist().cdf(-off if self.latency else off)


def chi_square(chance: float, freedom: int) -> float:
    """The quantile of χ², by Wilson and Hilferty (1931): 3 % too small at 4 degrees of freedom, 0.4 % at 8."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part + NormalDist().inv_cdf(chance) * math.sqrt(part)) ** 3


def upper_sigma(ratios: np.ndarray) -> float:
    """The upper bound of the standard deviation of one value, as a fraction of their median, and of that median."""
    m = len(ratios)
    s = float(np.std(ratios / np.median(ratios), ddof=1))
    bound = s * math.sqrt((m - 1) / max(chi_square(1 - CONFIDENCE, m - 1), 1e-9))
    return bound * math.sqrt(1 + MEDIAN_EFFICIENCY / m)


def noise_of(matrix: MatrixVerdict) -> dict[str, Noise]:
    """{link class: its noise} of a matrix that is held and has limits; nothing of others."""
    judged = matrix.whole
    if judged is None:
        return {}
    block, latency = judged.block, matrix.matrix.unit == "us"
    limit = judged.high if latency else judged.low
    there = block.is_status("ok") & np.isfinite(limit) & (limit > 0) & np.isfinite(block.values)
    found = {}
    for code, name in enumerate(matrix.matrix.class_names):
        cells = there & (block.classes == code)
        count = int(cells.sum())
        if not count:
            continue
        ratios = block.values[cells] / limit[cells]
        within = (block.numbers("high")[cells] - block.numbers("low")[cells]) / (2 * INTERVAL * block.values[cells])
        within = within[block.numbers("samples")[cells] >= 2]
        known = [float(np.median(within))] if len(within) else []
        if count >= FEWEST:
            known.append(upper_sigma(ratios))
        known = [one for one in known if np.isfinite(one)]
        found[name] = Noise(float(np.median(ratios)), max(known) if known else None, count, latency)
    return found
