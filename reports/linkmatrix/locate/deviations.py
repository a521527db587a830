"""By how much each cell of a matrix is off, in logarithms (slow is below 0), its noise, and how far it may be off.

A cell fails by its reference alone, whose tolerance is never below a floor that holds for all sites (`tolerances`):
between nodes 3 %, where the noise of a run is tenths of a percent. A part of several cells is held against that noise:
the cells of its link class say in the same run by how much they vary, each against its own reference. A part that is
off by more stands out among its like, and is named, though each of its cells may pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record import grids
from ..record.checking import LEAST_SAMPLES
from ..record.names import FEW_CELLS, Result
from ..references import noise
from ..references.noise import FLOORS, STEADY, carrier_of, floor_alone
from .hypotheses import LEAST, Finding

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from .layout import Layout, Names

ROUNDED = 1e-6  # of a limit that was a tolerance in a file
LEAST_EFFECT = 0.01  # of a row or a column, as a fraction: below, it is not worth a line
MOST_EFFECTS = 4
SETTLED = 1e-6  # change of an effect, of logarithms, below which median polish is done


@dataclass(frozen=True)
class Seen:
    """What sentences are about: the layout, and deviation, limit and sigma of each cell, as `locate` has them.

    part: whether these are some endpoints of a larger matrix, so that nothing is known of all of its cells. together:
    by how much the cells of a part may be off, of several cells; None: by as much as each alone. before: deviations of
    cells that were measured again, as they were at first; None where there are none. impossible: cells that are more
    than their path can carry; None: none is.
    """

    layout: Layout
    deviation: np.ndarray
    limit: np.ndarray
    part: bool = False
    sigma: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    together: np.ndarray | None = field(default=None, repr=False)
    before: np.ndarray | None = field(default=None, repr=False)
    impossible: np.ndarray | None = field(default=None, repr=False)

    @property
    def fine(self) -> np.ndarray:
        """Where a cell is measured, within its limit and no more than its path can carry."""
        with np.errstate(invalid="ignore"):
            within = self.deviation >= -np.log1p(np.nan_to_num(self.limit))
        return within if self.impossible is None else within & ~self.impossible

    def each(self, one: Finding) -> bool:
        """Is each cell that the matrix has measured, and each of the finding's as slow as it says?"""
        applies = self.layout.classes >= 0
        return not self.part and one.agreeing == one.cells and bool(np.isfinite(self.deviation[applies]).all())

    def rest_is_fine(self, one: Finding) -> bool:
        """Are the cells that the finding is told apart by measured, all of them, and none beyond its own limit?"""
        if self.part:
            return False
        row, column = np.indices(self.layout.classes.shape)
        inside = self.layout.row_node[row] == self.layout.column_node[column]
        subject = one.subject
        if isinstance(subject, tuple):
            cells = (row == subject[1]) & (column == subject[0]) & self.layout.square
        elif one.kind.startswith("links"):
            cells = ((row == subject) | (column == subject)) & ~inside
        else:
            cells = (column if one.kind == "egress" else row) == subject
            cells &= self.layout.square
        cells &= self.layout.classes >= 0
        return bool(cells.any() and self.fine[cells].all())


def from_inside(content: Mapping[str, Any], result: Result, values: np.ndarray, layout: Layout, names: Names) -> Seen:
    """Of each cell from the upper part of its link class: a class that is slow as a whole looks healthy.

    values: rows × columns, NaN where there is none
    """
    floors = [floor_alone(result, name, content["backend"]) for name in names.classes]
    sign = -1.0 if result["unit"] == "us" else 1.0
    deviation, sigma, limit = noise.against_class(sign * np.log(values), layout.classes, floors)
    return Seen(layout, of_small_classes(content, result, deviation, layout, names), limit, sigma=sigma)


def of_small_classes(
    content: Mapping[str, Any], result: Result, deviation: np.ndarray, layout: Layout, names: Names
) -> np.ndarray:
    """The deviations, with 0 for each cell of a class of FEW_CELLS cells or fewer that noise may explain.

    So few cells say nothing about their own noise. A cell differs from the best only if the interval of its median is
    apart from that of the best, both have LEAST_SAMPLES samples, and the carrier is one of STEADY.
    """
    if "low" not in result:  # its cells are in a file next to the record
        return deviation
    found = np.array(deviation)
    low, high, samples = (grids.numbers(result[name]) for name in ("low", "high", "samples"))
    for group, name in enumerate(names.classes):
        inside = (layout.classes == group) & np.isfinite(found)
        if not 1 < inside.sum() <= FEW_CELLS:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.where(inside & (samples >= LEAST_SAMPLES), np.log(high / low), np.inf)
        best = width.ravel()[int(np.argmax(np.where(inside, found, -np.inf)))]
        steady = carrier_of(result, name, content["backend"]) in STEADY
        found[inside & ((-found <= width + best) | (not steady))] = 0.0
    return found


def from_references(matrix: MatrixVerdict, layout: Layout) -> Seen:
    """Of each cell from its own reference; a cell without one does not count."""
    judged, bandwidth = matrix.whole, matrix.matrix.unit != "us"
    assert judged is not None
    values, expected = judged.observed, judged.value
    cells = int((layout.classes >= 0).sum())
    limit = 1 - judged.low / expected if bandwidth else judged.high / expected - 1
    limit = np.where(np.isfinite(expected), np.minimum(np.abs(limit), 0.99), np.nan)
    deviation = np.log(values / expected)  # of numbers above 0, or NaN
    # as a lower tolerance of 2 % is log(0.98), and what `locate` adds is log(1 + limit)
    limit = downwards(limit) if bandwidth else limit
    deviation = deviation if bandwidth else -deviation
    return Seen(layout, deviation, limit, sigma=np.nan_to_num(limit, nan=1.0) / noise.sigmas(cells))


def downwards(fraction: Any) -> Any:
    """The fraction up that is as far, in logarithms, as this one down."""
    return 1 / (1 - fraction) - 1


def beside_its_like(content: Mapping[str, Any], result: Result, seen: Seen, names: Names) -> Seen:
    """As `from_references` says, and by how much the cells of a part may be off together, and their noise.

    That is k(m)·σ of their link class in this run, LEAST at least, from where the class itself is: what all of it is
    slow by is drift, which tolerances are for. It is no more than their tolerance, which stays as it is where it is
    above its floor, for noise or by what somebody knows of the machine, or the class has too few cells to know its own.
    """
    classes, bandwidth = seen.layout.classes, result["unit"] != "us"
    k = noise.sigmas(int((classes >= 0).sum()))
    together = np.array(seen.limit)
    for group, name in enumerate(names.classes):
        inside = (classes == group) & np.isfinite(seen.deviation)
        carrier = carrier_of(result, name, content["backend"])
        if not bandwidth or carrier not in STEADY or inside.sum() < noise.ENOUGH:
            continue
        level, sigma = noise.upper_part(seen.deviation[inside])  # a node of four is half of its class
        least = max(downwards(LEAST), k * sigma) + max(0.0, -level)
        floor = downwards(FLOORS[carrier].lower)
        with np.errstate(invalid="ignore"):
            lowered = (classes == group) & (seen.limit <= floor + ROUNDED)
        together[lowered] = np.minimum(seen.limit[lowered], least)
    return replace(seen, together=together, sigma=np.nan_to_num(together, nan=1.0) / k)


def looked_at(deviation: np.ndarray, result: Result, matrix: Matrix, look: str) -> np.ndarray | None:
    """Deviations of the cells that were measured again: "before", or "after", the median alone; NaN of the others.

    None where no cell was: nobody knows whether any would have been.
    """
    if not result["remeasured"]:
        return None
    found = np.full(deviation.shape, np.nan)
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    values = matrix.whole.measured
    sign = -1.0 if result["unit"] == "us" else 1.0
    for one in result["remeasured"]:
        at = rows.get(one["row"], -1), columns.get(one["column"], -1)
        if min(at) >= 0 and one[look] and values[at] > 0:
            found[at] = deviation[at] + sign * math.log(one[look] / values[at])
    return found


def polish(deviation: np.ndarray, rounds: int = 10) -> tuple[float, np.ndarray, np.ndarray]:
    """The level, row effects and column effects of a matrix; NaN does not count."""
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


def effects(deviation: np.ndarray, names: Names, unit: str) -> Iterator[str]:
    """Rows and columns that are off as a whole: medians, whatever single cells do."""
    if min(deviation.shape) < 2 or not np.isfinite(deviation).any():
        return
    _, rows, columns = polish(deviation)
    for word, labels, found in (("row", names.rows, rows), ("column", names.columns, columns)):
        order = [index for index in np.argsort(found) if found[index] <= math.log1p(-LEAST_EFFECT)]
        told = [f"{labels[index]} {100 * math.expm1(found[index]):.1f} %" for index in order[:MOST_EFFECTS]]
        if told:
            what = "speed" if unit == "us" else "bandwidth"
            more = f" and {len(order) - len(told)} more" if len(order) > len(told) else ""
            yield f"{word} effects by median polish ({what}): {', '.join(told)}{more}"
