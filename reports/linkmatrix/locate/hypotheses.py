"""Which part is at fault: the smallest set of hypotheses that explains the slow cells of a matrix.

A cell's deviation is the logarithm of what it is over what it should be, negated where less is better: negative is
slow, in units of its link class's σ. A hypothesis, such as "the egress of gpu3", is a set of cells that would all be
slow by the same factor. Its evidence is the gain in log likelihood over "nothing is wrong", (Σx)² / 2n: a larger set
that takes in healthy cells gains less, a part of the true set too. The one with the most evidence is taken if it is
beyond chance, deep enough, and three quarters of its cells show it; its cells are explained, and the search goes on
with the rest. Sets with the same unexplained cells cannot be told apart: the smallest is taken, all are named.

All hypotheses of a kind are sums over groups of cells (np.bincount), so 1,024 endpoints take about a second.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..references import noise
from .families import Family, Layout, Subject, families, members

ALARMS = 0.0002  # chance of any finding in a healthy run
AGREE = 0.75  # share of a hypothesis' cells that must be slow by at least half of it
LEAST = 0.02  # of a shift of many cells, as a fraction: less is within what machines differ
BEYOND = 0.05  # share of a hypothesis' cells that must be beyond their own tolerance
SETTLED = 1e-6  # change of an effect, of logarithms, below which median polish is done
FEW = 2  # cells, of a pair both ways: these must be slow alone too, where they were measured so
NEARLY = math.log(20)  # of likelihood: what is worse by less than this is not ruled out
MOST = 12  # findings; more than this is another problem


@dataclass(frozen=True)
class Finding:
    """A hypothesis that explains cells.

    kind and subject: ("egress", 3), ("link", (2, 5)), ("node_pair", (0, 1)) …, by index. shift: by how much its cells
    are off, as a fraction: -0.1 is 10 % slow. cells, agreeing: how many it has, and how many of them show it. alike:
    others that would explain the same. missing: its cells have no value; else they are slow. rivals: those with other
    cells whose evidence is nearly as good. once: a single cell of one look; others beside it have had more.
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


def locate(deviation: np.ndarray, sigma: np.ndarray, limit: np.ndarray, layout: Layout) -> list[Finding]:
    """What is at fault, as `search` says."""
    return search(deviation, sigma, limit, layout)[0]


def search(
    deviation: np.ndarray, sigma: np.ndarray, limit: np.ndarray, layout: Layout, alone: np.ndarray | None = None
) -> tuple[list[Finding], int]:
    """(what is at fault, MOST findings at most; cells beyond their own limit that these do not explain).

    deviation: log of value over expected, rows × columns, slow is negative; NaN where there is no value. sigma: of one
    cell, as a fraction. limit: by how much a single cell may be off, as a positive fraction: its tolerance. alone: the
    deviation of cells that were measured again, alone, NaN of others; a cell or a link that is fine then had been
    disturbed, while of many cells together each counts as it was.
    """
    x = np.where(np.isfinite(deviation), deviation, 0.0).ravel()
    spread = np.maximum(np.where(np.isfinite(sigma), sigma, 1.0).ravel(), 1e-6)
    calm = x if alone is None else np.where(np.isfinite(alone.ravel()), np.maximum(x, alone.ravel()), x)
    applies = np.isfinite(deviation).ravel() & (layout.classes.ravel() >= 0)
    least = np.log1p(np.nan_to_num(limit)).ravel()
    if not applies.any() or not (x < -least / 2).any():
        return [], 0  # healthy at a glance
    known = families(layout)
    count = sum(min(family.groups, int(applies.sum())) for family in known)
    chance = noise.sigmas_of(ALARMS / max(count, 1))
    open_cells = applies.copy()
    found: list[tuple[Finding, np.ndarray]] = []
    looks = np.zeros(x.shape, dtype=bool) if alone is None else ~np.isfinite(alone.ravel())
    once: list[Finding] = []  # they come last, and leave no other out
    while len(found) < MOST:
        best = strongest(known, x, calm, spread, least, open_cells, applies, chance)
        if best is None:
            break
        open_cells &= ~best[1]
        if best[0].cells == 1 and (best[1] & looks).any():
            once.append(replace(best[0], once=True))
        else:
            found.append(best)
    # what came first may have taken cells that a later one explains: of each, what nothing else explains
    for place in range(len(found) if len(found) > 1 else 0):
        others = np.logical_or.reduce([cells for at, (_, cells) in enumerate(found) if at != place])
        found[place] = strongest(known, x, calm, spread, least, applies & ~others, applies, chance) or found[place]
    left = int((open_cells & (x < -least)).sum()) if len(found) == MOST else 0
    seen_once = sorted(once, key=lambda one: -one.evidence)[: MOST - len(found)]
    return [*(finding for finding, _ in found), *seen_once], left + len(once) - len(seen_once)


def strongest(
    known: list[Family],
    x: np.ndarray,
    calm: np.ndarray,
    spread: np.ndarray,
    least: np.ndarray,
    open_cells: np.ndarray,
    applies: np.ndarray,
    chance: float,
) -> tuple[Finding, np.ndarray] | None:
    """The hypothesis with the most evidence in the cells that are still open, and its cells."""
    weight = np.where(open_cells, 1 / spread**2, 0.0)
    weighted = x * weight
    candidates: list[tuple[float, int, Family, int]] = []
    for place, family in enumerate(known):
        total, mass = (np.zeros(family.groups) for _ in range(2))
        for label in family.labels:
            index = label + 1  # cells of no group are counted too, and left away: to take them out takes longer
            total += np.bincount(index, weighted, family.groups + 1)[1:]
            mass += np.bincount(index, weight, family.groups + 1)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where((total < 0) & (mass > 0), total**2 / (2 * mass), 0.0)
        gain[~np.isfinite(gain)] = 0.0
        beyond = np.flatnonzero(gain > chance**2 / 2)
        order = beyond[np.argsort(-gain[beyond])][:40]
        candidates += [(float(gain[group]), -place, family, int(group)) for group in order]
    candidates.sort(key=lambda item: (item[0], item[1]), reverse=True)
    for gain, _, family, group in candidates:
        if tested(family, group, x, least, open_cells, applies, calm) is None:
            continue
        fresh = members(family, group) & applies & open_cells
        same = [
            (other, index)
            for value, _, other, index in candidates
            if abs(value - gain) <= 1e-9 * gain and np.array_equal(members(other, index) & applies & open_cells, fresh)
        ]
        sizes = [int((members(other, index) & applies).sum()) for other, index in same]
        family, group = same[int(np.argmin(sizes))]
        tried = tested(family, group, x, least, open_cells, applies, calm)
        if tried is None:
            continue
        shift, cells, number, agreeing = tried
        alike = tuple((other.kind, other.subject(index)) for other, index in same if (other, index) != (family, group))
        named = (family.kind, family.subject(group))
        rivals = tuple(
            (other.kind, other.subject(index))
            for value, _, other, index in candidates
            if gain - NEARLY <= value
            and (other, index) not in same
            and overlap(members(other, index) & applies & open_cells, fresh)
            and tested(other, index, x, least, open_cells, applies, calm)
        )
        return Finding(*named, float(np.expm1(shift)), number, agreeing, gain, alike, rivals=rivals), cells
    return None


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Have two hypotheses half of the smaller one's cells in common? Otherwise both may be at fault."""
    return 2 * int((one & other).sum()) >= min(int(one.sum()), int(other.sum()))


def tested(
    family: Family,
    group: int,
    x: np.ndarray,
    least: np.ndarray,
    open_cells: np.ndarray,
    applies: np.ndarray,
    calm: np.ndarray,
) -> tuple[float, np.ndarray, int, int] | None:
    """(shift, cells, number, agreeing) of a hypothesis that stands; None for one that does not.

    calm: x, or what a cell was alone where that is better: of few cells, one disturbed moment is no fault of theirs.

    Deep enough: a single cell beyond its own tolerance; of several the median beyond what n cells may be off together,
    and some of them beyond their own, for what passes everywhere is no fault. Its cells agree, and those that something
    else explained must be slow too, or it is only a rest of that.
    """
    cells = members(family, group) & applies
    fresh = cells & open_cells
    count = int(fresh.sum())
    if not count:
        return None
    x = calm if count <= FEW else x
    shift, alone = float(np.median(x[fresh])), float(np.median(least[fresh]))
    together = max(min(alone, LEAST), min(alone, alone * math.sqrt(noise.MEDIAN_EFFICIENCY / count)))
    if shift >= -together or (x[fresh] < -least[fresh]).sum() < max(1.0, BEYOND * count):
        return None
    agreeing = fresh & (x <= shift / 2)
    number = int(cells.sum())
    if agreeing.sum() < AGREE * fresh.sum() or (cells & (x <= shift / 2)).sum() < AGREE * number:
        return None
    # a rest of few cells out of many is no evidence for the many
    if fresh.sum() * 2 < number:
        return None
    return shift, cells, number, int(agreeing.sum())


def polish(deviation: np.ndarray, rounds: int = 10) -> tuple[float, np.ndarray, np.ndarray]:
    """Median polish (Tukey): the level, row effects and column effects of a matrix; NaN does not count."""
    rest = np.array(deviation, dtype=float)
    rows, columns, level = np.zeros(rest.shape[0]), np.zeros(rest.shape[1]), 0.0
    with np.errstate(invalid="ignore"):
        for _ in range(rounds):
            step = noise.medians(rest, 1)
            done = np.abs(step).max(initial=0.0) < SETTLED
            rest, rows = rest - step[:, None], rows + step
            shift = float(np.median(columns))
            columns, level = columns - shift, level + shift
            step = noise.medians(rest, 0)
            rest, columns = rest - step[None, :], columns + step
            shift = float(np.median(rows))
            rows, level = rows - shift, level + shift
            if done:
                break
    return level, rows, columns
