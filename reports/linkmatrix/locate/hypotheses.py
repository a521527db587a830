"""Search of the component at fault: the smallest set of hypotheses that explains the slow cells of a matrix.

A cell's deviation x is the logarithm of measured / expected value, in units of the σ of its link class. For latencies
the sign is reversed: a negative deviation is slow. A hypothesis, such as "the egress of gpu3", is a set of n cells that
are all slow by the same factor. Its evidence is the gain in log likelihood over "no fault", (Σx)² / 2n. A larger set
with healthy cells has less evidence, and so has a part of the true set. The search takes the hypothesis with the most
evidence if it exceeds chance, is deep enough, and three quarters of its cells are slow. It then repeats with the cells
that remain. Hypotheses with the same unexplained cells are indistinguishable: the smallest is taken, all are named. If
the noise of a link class is known, the threshold for several cells is lower than for one cell (`deviations`).

All hypotheses of a kind are sums over groups of cells (np.bincount), so 1,024 endpoints take about a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..references import noise
from .families import Family, families, members

if TYPE_CHECKING:
    from .layout import Layout, Subject

ALARMS = 0.0002  # probability of any finding in a healthy run
AGREE = 0.75  # share of a hypothesis' cells that must be slow by at least half of it
BEYOND = 0.05  # share of a hypothesis' cells that must be beyond their own tolerance
FEW = 2  # cells of a link: so few must be slow alone too, if they were remeasured
NEARLY = math.log(20)  # log likelihood ratio: hypotheses with a smaller loss are not ruled out
RETRIED, MOST_RETRIED = 8, 128**2  # number of alternative first hypotheses, in matrices of at most so many cells
MOMENTS = 0.0005  # expected number of healthy cells that are taken for faulty after repeated disturbances
MOST = 12  # findings; more have another cause


@dataclass(frozen=True)
class Finding:
    """A hypothesis that explains slow cells, or cells without a value.

    kind, subject: the type and the index of the component, such as ("egress", 3) or ("link", (2, 5)).
    shift: the deviation of the component's cells as a fraction; -0.1 is 10 % slow.
    cells, agreeing: the number of the component's cells, and the number of these cells that are slow.
    alike: other hypotheses with the same cells.
    missing: whether the cells have no value.
    rivals: hypotheses with other cells and nearly as much evidence.
    once: whether the finding is a single cell that may have been disturbed. Then no component is flagged.
    again: whether this cell was also slow when remeasured alone, but one such cell is likely by chance.
    allowed: whether every cell is inside its own tolerance.
    of_node: why the node is at fault, so that no device is flagged; "" otherwise.
    """

    kind: str
    subject: Subject
    shift: float
    cells: int
    agreeing: int
    evidence: float
    alike: tuple[tuple[str, Subject], ...] = ()
    missing: bool = False
    rivals: tuple[tuple[str, Subject], ...] = ()
    once: bool = False
    again: bool = False
    allowed: bool = False
    of_node: str = ""


Explained = tuple[Finding, np.ndarray]  # with its cells


def slowness(shift: float, unit: str) -> str:
    """ "11.0 % slow", or "at 12.4 % more latency". shift: of the speed, as a fraction; -0.11 is 11 % slow."""
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
    """(at most MOST findings, number of cells beyond their own limit that these do not explain).

    deviation: logarithm of value / expected, rows × columns; slow is negative, NaN without a value. sigma: noise of one
    cell, as a fraction. limit: allowed deviation of one cell, as a positive fraction: its tolerance. alone: deviations
    of cells that were remeasured alone, NaN for other cells. A cell or a link that is healthy alone was disturbed.
    joint_limit: allowed deviation of several cells of one component; None: `limit`. before: first deviations of the
    remeasured cells; None: as in `deviation`.
    """
    x = np.where(np.isfinite(deviation), deviation, 0.0).ravel()
    again = np.full(x.shape, np.nan) if alone is None else alone.ravel()
    applies = np.isfinite(deviation).ravel() & (layout.classes.ravel() >= 0)
    least = np.log1p(np.nan_to_num(limit)).ravel()
    if not applies.any() or not (x < -least / 2).any():
        return [], 0  # no cell is slow
    known = families(layout)
    count = sum(min(family.groups, int(applies.sum())) for family in known)
    seen = Evidence(
        known,
        x,
        np.where(np.isfinite(again), np.maximum(x, again), x),
        np.maximum(np.where(np.isfinite(sigma), sigma, 1.0).ravel(), 1e-6),
        least,
        least if joint_limit is None else np.log1p(np.nan_to_num(joint_limit)).ravel(),
        applies,
        noise.normal_sigmas(ALARMS / max(count, 1)),
        np.zeros(x.shape, dtype=bool) if alone is None else ~np.isfinite(again),
        np.isfinite(again) & applies & (again >= -least),
        x if before is None else np.where(np.isfinite(before), before, deviation).ravel(),
        layout.classes.ravel() >= 0,
    )
    best = seen.explained()
    if x.size <= MOST_RETRIED and not best.plain:
        # a component that overlaps several faults may have more evidence than each fault: try the others first, too
        starts = islice(seen.significant(applies), 1, RETRIED)
        best = max([best, *(seen.explained(start) for start in starts)], key=seen.likelihood)
    once = sorted(best.once, key=lambda one: -one.evidence)[: MOST - len(best.found)]
    return [*(finding for finding, _ in best.found), *once], best.left + len(best.once) - len(once)


class Explanation(NamedTuple):
    """found: findings with cells. once: findings about single cells measured once. left: unexplained slow cells."""

    found: list[Explained]
    once: list[Finding]
    left: int

    @property
    def plain(self) -> bool:
        """Whether there is at most one finding, and all of its cells agree. No other explanation is then better."""
        return len(self.found) < 2 and all(one.agreeing == one.cells for one, _ in self.found)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The cells of a matrix and the evidence in them; arrays are flat, one item per cell.

    x: deviation, 0 without a value.
    calm: x, or the deviation alone if that is better.
    spread: σ.
    least, several: allowed deviation of a single cell, and of a cell of a component with several cells.
    applies: cells with a value.
    chance: threshold in σ.
    single: cells that were measured only once, in a matrix in which other cells were remeasured.
    healthy_alone: cells that were healthy when remeasured alone.
    first: deviations before cells were remeasured.
    there: cells of the matrix, with or without a value.
    """

    known: list[Family]
    x: np.ndarray
    calm: np.ndarray
    spread: np.ndarray
    least: np.ndarray
    several: np.ndarray
    applies: np.ndarray
    chance: float
    single: np.ndarray
    healthy_alone: np.ndarray
    first: np.ndarray
    there: np.ndarray

    def explained(self, start: Explained | None = None) -> Explanation:
        """The strongest hypothesis (or `start`), then the strongest hypothesis in the remaining cells, and so on."""
        open_cells, found, lasting = self.applies.copy(), [], 0
        best = start or self.strongest(open_cells)
        while best is not None:
            open_cells &= ~best[1]
            found.append(best)
            lasting += not self.seen_once(best)  # a cell that was seen once does not count towards MOST
            if lasting == MOST or len(found) == 2 * MOST:
                break
            best = self.strongest(open_cells)
        full = best is not None
        # an early finding may have cells that a later one explains: keep what no other finding explains
        for place in range(len(found) if len(found) > 1 else 0):
            others = np.logical_or.reduce([cells for at, (_, cells) in enumerate(found) if at != place])
            found[place] = self.strongest(self.applies & ~others) or found[place]
        named = {(one.kind, one.subject): (one, cells) for one, cells in found}
        doubted = [one for one in named.values() if self.seen_once(one)]
        once = [replace(one, once=True, again=not (cells & self.single).any()) for one, cells in doubted]
        found = [one for one in named.values() if not self.seen_once(one)]
        left = int((open_cells & (self.x < -self.least)).sum()) if full else 0
        return Explanation(found, once, left)

    def seen_once(self, one: Explained) -> bool:
        """Whether the finding is one cell that was measured once, or whose remeasurements are slow by chance."""
        finding, cells = one
        is_single = bool((cells & self.single).any())
        return finding.cells == 1 and (is_single or self.by_chance(math.log1p(finding.shift)) > MOMENTS)

    def by_chance(self, shift: float) -> float:
        """The expected number of cells of a healthy matrix that are as slow as this, also in their remeasurements.

        A disturbance hits a measurement with chance p, and deeper than `shift` with chance q. A cell that is slow at
        first is remeasured three times, alone; the second-worst value of all four counts. So np of n cells are healthy
        when alone, nq of them were as deep at first, and 3npq² have two slow remeasurements. q is estimated with one
        more cell than observed, because zero cells prove nothing, and is at most p. p is estimated with two standard
        deviations fewer cells than observed, because few cells of a small matrix say little about p.
        """
        count, healthy = int(self.applies.sum()), int(self.healthy_alone.sum())
        least_healthy = max(0.0, healthy - 2 * math.sqrt(healthy))
        as_deep = int((self.healthy_alone & (self.first <= shift)).sum()) + 1
        return 3 * least_healthy * min(least_healthy, as_deep) ** 2 / count**2

    def likelihood(self, one: Explanation) -> float:
        """The gain in log likelihood over "no fault", minus the gain that this number of findings has by chance.

        A cell of several findings is as slow as the slowest one: the narrowest component of its path decides.
        """
        model = np.zeros(self.x.shape)
        for finding, cells in one.found:
            model = np.where(cells, np.minimum(model, math.log1p(finding.shift)), model)
        gain = (self.x**2 - (self.x - model) ** 2) / (2 * self.spread**2)
        findings = len(one.found) + len(one.once)
        return float(gain[self.applies].sum()) + sum(o.evidence for o in one.once) - findings * self.chance**2 / 2

    def strongest(self, open_cells: np.ndarray) -> Explained | None:
        """The hypothesis with the most evidence in the open cells, and its cells; None if none is significant."""
        return next(self.significant(open_cells), None)

    def candidates(self, open_cells: np.ndarray) -> list[tuple[float, int, Family, int]]:
        """(evidence, order, family, group) of the hypotheses beyond chance, the most evidence first."""
        weight = np.where(open_cells, 1 / self.spread**2, 0.0)
        weighted = self.x * weight
        candidates: list[tuple[float, int, Family, int]] = []
        for place, family in enumerate(self.known):
            total, mass = (np.zeros(family.groups) for _ in range(2))
            for label in family.labels:
                index = (
                    label + 1
                )  # cells of no group are counted at index 0 and dropped, which is faster than a selection
                total += np.bincount(index, weighted, family.groups + 1)[1:]
                mass += np.bincount(index, weight, family.groups + 1)[1:]
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = np.where((total < 0) & (mass > 0), total**2 / (2 * mass), 0.0)
            gain[~np.isfinite(gain)] = 0.0
            beyond = np.flatnonzero(gain > self.chance**2 / 2)
            order = beyond[np.argsort(-gain[beyond])][:40]
            candidates += [(float(gain[group]), -place, family, int(group)) for group in order]
        return sorted(candidates, key=lambda item: (item[0], item[1]), reverse=True)

    def significant(self, open_cells: np.ndarray) -> Iterator[Explained]:
        """The significant hypotheses with their cells, the most evidence first."""
        candidates = self.candidates(open_cells)
        known_alike: set[tuple[Family, int]] = set()
        for gain, _, family, group in candidates:
            if (family, group) in known_alike or self.tested(family, group, open_cells) is None:
                continue
            fresh = members(family, group) & self.applies & open_cells
            same = [
                (other, index)
                for value, _, other, index in candidates
                if abs(value - gain) <= 1e-9 * gain
                and np.array_equal(members(other, index) & self.applies & open_cells, fresh)
            ]
            known_alike |= {*same}
            # count unmeasured cells too: one slow cell of an endpoint without other values is the cell's fault first
            sizes = [int((members(other, index) & self.there).sum()) for other, index in same]
            family, group = same[int(np.argmin(sizes))]
            tried = self.tested(family, group, open_cells)
            if tried is None:
                continue
            shift, cells, number, agreeing = tried
            others = [(other, index) for other, index in same if (other, index) != (family, group)]
            alike = tuple((other.kind, other.subject(index)) for other, index in others)
            named = (family.kind, family.subject(group))
            rivals = tuple(
                (other.kind, other.subject(index))
                for value, _, other, index in candidates
                if gain - NEARLY <= value
                and (other, index) not in same
                and overlap(members(other, index) & self.applies & open_cells, fresh)
                and self.tested(other, index, open_cells)
            )
            allowed = not (cells & (self.x < -self.least)).any()
            found = Finding(*named, float(np.expm1(shift)), number, agreeing, gain, alike)
            yield replace(found, rivals=rivals, allowed=allowed), cells

    def tested(self, family: Family, group: int, open_cells: np.ndarray) -> tuple[float, np.ndarray, int, int] | None:
        """(shift, cells, number, agreeing) of a significant hypothesis; None otherwise.

        A single cell must be beyond its own tolerance. For several cells, the median must be beyond the joint limit of
        n cells, and some cells beyond their limit as one of several. The cells must agree, also those that another
        finding explains. One disturbed measurement is no fault of a hypothesis with few cells.
        """
        cells = members(family, group) & self.applies
        every = np.flatnonzero(cells)
        fresh = every[open_cells[every]]
        number, count = len(every), len(fresh)
        # few remaining cells are no evidence for a large hypothesis
        if not count or count * 2 < number:
            return None
        x = self.calm if count <= FEW else self.x
        least = self.several if count > 1 else self.least
        shift, alone = float(np.median(x[fresh])), float(np.median(least[fresh]))
        together = max(
            min(alone, noise.LEAST_GROUP_DEVIATION), min(alone, alone * math.sqrt(noise.MEDIAN_EFFICIENCY / count))
        )
        if shift >= -together or (x[fresh] < -least[fresh]).sum() < max(1.0, BEYOND * count):
            return None
        agreeing = int((x[fresh] <= shift / 2).sum())
        if agreeing < AGREE * count or (x[every] <= shift / 2).sum() < AGREE * number:
            return None
        return shift, cells, number, agreeing


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two hypotheses share half of the cells of the smaller one. Otherwise both may be at fault."""
    return 2 * int((one & other).sum()) >= min(int(one.sum()), int(other.sum()))
