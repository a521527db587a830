"""The search for faulty components: a small set of hypotheses that explains the slow cells of a matrix.

The deviation x of a cell is the logarithm of measured / expected value, in units of the cell's noise σ. A slow cell has
a negative deviation. For latencies, the sign is reversed.

A hypothesis, such as "the egress of gpu3", is a set of n cells that are all slow by the same factor. Its evidence is
the gain in log likelihood over "no fault": (Σx)² / 2n. More healthy cells or fewer slow cells lower the evidence.

1. Take the hypothesis with the most evidence. The evidence must exceed chance, the deviation must exceed the limit, and
   three quarters of the cells must be slow.
2. If several hypotheses have the same unexplained cells, take the smallest hypothesis, and name all of them.
3. Remove the explained cells, and repeat.

If the noise of a link class is known, the limit of several cells is lower than the limit of one cell (`deviations`).
The evidence of all hypotheses of a kind is computed by sums over groups of cells (np.bincount).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..references import noise
from .families import Family, families, member_cells

if TYPE_CHECKING:
    from .layout import Layout, Subject

FALSE_ALARMS = 0.0002  # probability of a finding in a healthy run
AGREE = 0.75  # share of a hypothesis' cells that must have at least half of its deviation
BEYOND = 0.05  # share of a hypothesis' cells that must be beyond their limit
LINK_CELLS = 2  # a hypothesis with at most so many cells must also be slow in remeasurements
RIVAL = math.log(20)  # log likelihood ratio: a hypothesis with a smaller disadvantage is a rival
MAX_STARTS, MAX_STARTS_CELLS = (
    8,
    128**2,
)  # number of tried first hypotheses; only in matrices with at most so many cells
MAX_CHANCE = 0.0005  # expected number of healthy cells that are as slow in repeated measurements by chance
MAX_FINDINGS = 12  # more findings have a common cause


@dataclass(frozen=True)
class Finding:
    """A hypothesis that explains slow cells, or cells without a value.

    kind, subject: the type and the index of the component, such as ("egress", 3) or ("link", (2, 5)).
    shift: the deviation of the component's cells as a fraction; -0.1 is 10 % slow.
    cells, agreeing: the number of the component's cells, and the number of these cells that are slow.
    evidence: the gain in log likelihood over "no fault".
    equivalent: other hypotheses with the same cells.
    missing: whether the finding is about cells without a value.
    rivals: hypotheses with other cells and nearly as much evidence.
    unconfirmed: whether the finding is a single cell that may have been disturbed. No component is then flagged.
    slow_alone: whether an unconfirmed cell was also slow when remeasured alone. This can be chance.
    within_tolerance: whether every cell is inside its own tolerance.
    node_cause: the reason why the node, not a device, is the cause; "" otherwise.
    """

    kind: str
    subject: Subject
    shift: float
    cells: int
    agreeing: int
    evidence: float
    equivalent: tuple[tuple[str, Subject], ...] = ()
    missing: bool = False
    rivals: tuple[tuple[str, Subject], ...] = ()
    unconfirmed: bool = False
    slow_alone: bool = False
    within_tolerance: bool = False
    node_cause: str = ""


Explained = tuple[Finding, np.ndarray]  # (finding, its cells)


def slowness(shift: float, unit: str) -> str:
    """A deviation as text, such as "11.0 % slow" for a bandwidth and "at 12.4 % more latency" for a latency."""
    if unit == "us":
        return f"at {100 * abs(1 / (1 + shift) - 1):.1f} % more latency"
    return f"{100 * abs(shift):.1f} % slow"


def search(
    deviation: np.ndarray,
    sigma: np.ndarray,
    limit: np.ndarray,
    layout: Layout,
    alone: np.ndarray | None = None,
    joint_limit: np.ndarray | None = None,
    before: np.ndarray | None = None,
) -> tuple[list[Finding], int]:
    """Returns (up to MAX_FINDINGS findings, number of slow cells that no finding explains).

    All arrays are rows × columns.
    deviation: logarithm of value / expected value; negative if slow, NaN without a value.
    sigma: noise of a cell, as a fraction.
    limit: the tolerance of one cell, as a positive fraction.
    alone: deviations of the cells that were remeasured alone, NaN for other cells. If a cell or link is
    healthy alone, the search assumes that a disturbance slowed the first measurement.
    joint_limit: allowed deviation of several cells of one component; by default, `limit`.
    before: deviations of the remeasured cells in their first measurement; by default, `deviation`.
    """
    x = np.where(np.isfinite(deviation), deviation, 0.0).ravel()
    remeasured = np.full(x.shape, np.nan) if alone is None else alone.ravel()
    measured = np.isfinite(deviation).ravel() & (layout.classes.ravel() >= 0)
    cell_limit = np.log1p(np.nan_to_num(limit)).ravel()
    if not measured.any() or not (x < -cell_limit / 2).any():
        return [], 0  # no cell is slow
    known = families(layout)
    count = sum(min(family.groups, int(measured.sum())) for family in known)
    seen = Evidence(
        known,
        x,
        np.where(np.isfinite(remeasured), np.maximum(x, remeasured), x),
        np.maximum(np.where(np.isfinite(sigma), sigma, 1.0).ravel(), 1e-6),
        cell_limit,
        cell_limit if joint_limit is None else np.log1p(np.nan_to_num(joint_limit)).ravel(),
        measured,
        noise.normal_sigmas(FALSE_ALARMS / max(count, 1)),
        np.zeros(x.shape, dtype=bool) if alone is None else ~np.isfinite(remeasured),
        np.isfinite(remeasured) & measured & (remeasured >= -cell_limit),
        x if before is None else np.where(np.isfinite(before), before, deviation).ravel(),
        layout.classes.ravel() >= 0,
    )
    best = seen.explained()
    if x.size <= MAX_STARTS_CELLS and not best.is_simple:
        # a component that overlaps several faults may have more evidence than each fault: try other first hypotheses
        starts = islice(seen.significant(measured), 1, MAX_STARTS)
        best = max([best, *(seen.explained(start) for start in starts)], key=seen.likelihood)
    unconfirmed = sorted(best.unconfirmed, key=lambda one: -one.evidence)[: MAX_FINDINGS - len(best.found)]
    unexplained = best.unexplained + len(best.unconfirmed) - len(unconfirmed)
    return [*(finding for finding, _ in best.found), *unconfirmed], unexplained


class Explanation(NamedTuple):
    """A set of findings that explains the slow cells.

    found: confirmed findings with their cells.
    unconfirmed: unconfirmed findings about single cells, see `Finding.unconfirmed`.
    unexplained: number of slow cells that no finding explains.
    """

    found: list[Explained]
    unconfirmed: list[Finding]
    unexplained: int

    @property
    def is_simple(self) -> bool:
        """Whether there is at most one finding, and all of its cells are slow. No other explanation can be better."""
        return len(self.found) < 2 and all(one.agreeing == one.cells for one, _ in self.found)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The cells of a matrix, and the evidence of hypotheses. Arrays are flat, with an item per cell.

    families: all hypotheses.
    x: deviation, 0 without a value.
    best_x: deviation of the first measurement or of the remeasurement, whichever is better.
    sigma: noise.
    cell_limit: allowed deviation of a single cell, as a logarithm.
    joint_limit: allowed deviation of each cell of a component with several cells, as a logarithm.
    measured: True for cells with a value.
    threshold: least joint deviation of a hypothesis, in σ.
    measured_once: True for cells that were not remeasured; all False if no cell was remeasured.
    healthy_alone: True for cells that were healthy when remeasured alone.
    first_x: deviations of the first measurement.
    applies: True for cells that the test case measures, with or without a value.
    """

    families: list[Family]
    x: np.ndarray
    best_x: np.ndarray
    sigma: np.ndarray
    cell_limit: np.ndarray
    joint_limit: np.ndarray
    measured: np.ndarray
    threshold: float
    measured_once: np.ndarray
    healthy_alone: np.ndarray
    first_x: np.ndarray
    applies: np.ndarray

    def explained(self, start: Explained | None = None) -> Explanation:
        """Explains the slow cells. Takes the strongest hypothesis, removes its cells, and repeats.

        start: the first hypothesis; by default, the strongest hypothesis.
        """
        open_cells, found, confirmed = self.measured.copy(), [], 0
        best = start or self.strongest(open_cells)
        while best is not None:
            open_cells &= ~best[1]
            found.append(best)
            confirmed += not self.is_unconfirmed(best)  # MAX_FINDINGS counts confirmed findings
            if confirmed == MAX_FINDINGS or len(found) == 2 * MAX_FINDINGS:
                break
            best = self.strongest(open_cells)
        is_full = best is not None
        # later findings may explain cells of an earlier finding: search each finding again in its remaining cells
        for place in range(len(found) if len(found) > 1 else 0):
            others = np.logical_or.reduce([cells for at, (_, cells) in enumerate(found) if at != place])
            found[place] = self.strongest(self.measured & ~others) or found[place]
        named = {(one.kind, one.subject): (one, cells) for one, cells in found}
        doubted = [one for one in named.values() if self.is_unconfirmed(one)]
        unconfirmed = [
            replace(one, unconfirmed=True, slow_alone=not (cells & self.measured_once).any()) for one, cells in doubted
        ]
        found = [one for one in named.values() if not self.is_unconfirmed(one)]
        unexplained = int((open_cells & (self.x < -self.cell_limit)).sum()) if is_full else 0
        return Explanation(found, unconfirmed, unexplained)

    def is_unconfirmed(self, explanation: Explained) -> bool:
        """Whether the finding is a single cell that is unconfirmed for one of these reasons:

        * The cell was not remeasured.
        * The cell was slow again, but this may be chance.
        """
        finding, cells = explanation
        is_single = bool((cells & self.measured_once).any())
        return finding.cells == 1 and (is_single or self.expected_by_chance(math.log1p(finding.shift)) > MAX_CHANCE)

    def expected_by_chance(self, shift: float) -> float:
        """The expected number of healthy cells that are as slow as `shift` by chance, even when remeasured.

        The first measurement of a healthy cell is slow with the probability p. The cell is then remeasured three times.
        A measurement is as slow as `shift` with the probability q, and the median of three with about 3q². Of n cells,
        the expected number is 3npq². The estimates are conservative for small matrices:

        * np: number of cells that were slow at first and healthy alone, minus two standard deviations
        * nq: number of these cells that were as slow as `shift` at first, plus one; at most np
        """
        count, healthy = int(self.measured.sum()), int(self.healthy_alone.sum())
        least_healthy = max(0.0, healthy - 2 * math.sqrt(healthy))
        as_deep = int((self.healthy_alone & (self.first_x <= shift)).sum()) + 1
        return 3 * least_healthy * min(least_healthy, as_deep) ** 2 / count**2

    def likelihood(self, explanation: Explanation) -> float:
        """The gain in log likelihood over "no fault", minus the gain that the same number of findings has by chance.

        A cell of several findings is expected to be as slow as the slowest of these findings.
        """
        model = np.zeros(self.x.shape)
        for finding, cells in explanation.found:
            model = np.where(cells, np.minimum(model, math.log1p(finding.shift)), model)
        gain = (self.x**2 - (self.x - model) ** 2) / (2 * self.sigma**2)
        findings = len(explanation.found) + len(explanation.unconfirmed)
        return (
            float(gain[self.measured].sum())
            + sum(finding.evidence for finding in explanation.unconfirmed)
            - findings * self.threshold**2 / 2
        )

    def strongest(self, open_cells: np.ndarray) -> Explained | None:
        """The significant hypothesis with the most evidence in the unexplained cells (`open_cells`), and its cells."""
        return next(self.significant(open_cells), None)

    def candidates(self, open_cells: np.ndarray) -> list[tuple[float, int, Family, int]]:
        """(evidence, sort key, family, group) of each hypothesis whose evidence exceeds chance, most evidence first."""
        weight = np.where(open_cells, 1 / self.sigma**2, 0.0)
        weighted = self.x * weight
        candidates: list[tuple[float, int, Family, int]] = []
        for place, family in enumerate(self.families):
            total, mass = (np.zeros(family.groups) for _ in range(2))
            for label in family.labels:
                index = label + 1  # index 0 counts the cells without a group
                total += np.bincount(index, weighted, family.groups + 1)[1:]
                mass += np.bincount(index, weight, family.groups + 1)[1:]
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = np.where((total < 0) & (mass > 0), total**2 / (2 * mass), 0.0)
            gain[~np.isfinite(gain)] = 0.0
            beyond = np.flatnonzero(gain > self.threshold**2 / 2)
            order = beyond[np.argsort(-gain[beyond])][:40]
            candidates += [(float(gain[group]), -place, family, int(group)) for group in order]
        return sorted(candidates, key=lambda item: (item[0], item[1]), reverse=True)

    def significant(self, open_cells: np.ndarray) -> Iterator[Explained]:
        """Yields the significant hypotheses with their cells, most evidence first."""
        candidates = self.candidates(open_cells)
        known: set[tuple[Family, int]] = set()
        for gain, _, family, group in candidates:
            if (family, group) in known or self.tested(family, group, open_cells) is None:
                continue
            fresh = member_cells(family, group) & self.measured & open_cells
            same = [
                (other, index)
                for value, _, other, index in candidates
                if abs(value - gain) <= 1e-9 * gain
                and np.array_equal(member_cells(other, index) & self.measured & open_cells, fresh)
            ]
            known |= {*same}
            # unmeasured cells count: a slow cell of an endpoint without other values is a fault of the cell
            sizes = [int((member_cells(other, index) & self.applies).sum()) for other, index in same]
            family, group = same[int(np.argmin(sizes))]
            tried = self.tested(family, group, open_cells)
            if tried is None:
                continue
            shift, cells, number, agreeing = tried
            others = [(other, index) for other, index in same if (other, index) != (family, group)]
            equivalent = tuple((other.kind, other.subject(index)) for other, index in others)
            named = (family.kind, family.subject(group))
            rivals = tuple(
                (other.kind, other.subject(index))
                for value, _, other, index in candidates
                if gain - RIVAL <= value
                and (other, index) not in same
                and overlap(member_cells(other, index) & self.measured & open_cells, fresh)
                and self.tested(other, index, open_cells)
            )
            within_tolerance = not (cells & (self.x < -self.cell_limit)).any()
            found = Finding(*named, float(np.expm1(shift)), number, agreeing, gain, equivalent)
            yield replace(found, rivals=rivals, within_tolerance=within_tolerance), cells

    def tested(self, family: Family, group: int, open_cells: np.ndarray) -> tuple[float, np.ndarray, int, int] | None:
        """Tests a hypothesis. Returns (shift, cells, number of cells, number of slow cells); None if not significant.

        * A single cell must be slower than its own tolerance allows.
        * The median of several cells must be beyond the joint limit of these cells. The share BEYOND of the cells must
          be beyond the joint limit of one cell.
        * The share AGREE of the cells must be slow. Cells that another finding explains count too.
        * With up to LINK_CELLS cells, the better value of each remeasured cell is tested.
        """
        cells = member_cells(family, group) & self.measured
        every = np.flatnonzero(cells)
        fresh = every[open_cells[every]]
        number, count = len(every), len(fresh)
        if not count or count * 2 < number:  # too few of its cells are unexplained
            return None
        x = self.best_x if count <= LINK_CELLS else self.x
        limits = self.joint_limit if count > 1 else self.cell_limit
        shift, limit = float(np.median(x[fresh])), float(np.median(limits[fresh]))
        of_median = min(limit, limit * math.sqrt(noise.MEDIAN_EFFICIENCY / count))
        if shift >= -max(min(limit, noise.LEAST_GROUP_DEVIATION), of_median) or (x[fresh] < -limits[fresh]).sum() < max(
            1.0, BEYOND * count
        ):
            return None
        agreeing = int((x[fresh] <= shift / 2).sum())
        if agreeing < AGREE * count or (x[every] <= shift / 2).sum() < AGREE * number:
            return None
        return shift, cells, number, agreeing


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two hypotheses have at least half of the cells of the smaller hypothesis in common."""
    return 2 * int((one & other).sum()) >= min(int(one.sum()), int(other.sum()))
