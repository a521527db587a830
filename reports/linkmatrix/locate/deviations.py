"""The deviation of each cell as a logarithm (slow is negative), its noise, and its limit.

A cell fails only by its reference, whose tolerance has a floor for all sites (`noise.FLOORS`): 3 % between nodes, where
the noise of a run is tenths of a percent. A component with several cells is compared with the noise of the run: the
deviations of the cells of its link class. A component that is slower than its like is therefore named, even if each of
its cells passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record import grids
from ..record.checking import LEAST_SAMPLES
from ..record.names import FEW_CELLS, Result, variant_of
from ..references import noise
from ..references.noise import FLOORS, STEADY, carrier_of, floor_alone
from .hypotheses import LEAST, Finding

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from .layout import Layout, Names

ROUNDED = 1e-6  # relative rounding error of a tolerance
LEAST_EFFECT = 0.01  # least printed effect of a row or column, as a fraction
MOST_EFFECTS = 4
SETTLED = 1e-6  # median polish ends if effects change by less, as logarithms


@dataclass(frozen=True)
class Seen:
    """The deviations of a matrix; arrays are rows × columns.

    layout: of the endpoints. deviation, limit, sigma: of each cell, as in `search`. part: whether the matrix is a part
    of a larger matrix, so that some cells of its endpoints are unknown. together: the allowed joint deviation of
    several cells of a component; None: `limit`. before: the first deviation of remeasured cells; None without any.
    impossible: True for cells above the limit of their path; None without any.
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
        """True for measured cells inside their limit that are possible."""
        with np.errstate(invalid="ignore"):
            within = self.deviation >= -np.log1p(np.nan_to_num(self.limit))
        return within if self.impossible is None else within & ~self.impossible

    def each(self, one: Finding) -> bool:
        """Whether every cell of the matrix is measured, and every cell of the finding is as slow as the finding."""
        applies = self.layout.classes >= 0
        return not self.part and one.agreeing == one.cells and bool(np.isfinite(self.deviation[applies]).all())

    def rest_is_fine(self, one: Finding) -> bool:
        """Whether all cells that would be slow for another cause were measured and are within their limits."""
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
    """The deviation of each cell from the upper part of its link class. A class that is slow as a whole appears
    healthy.

    values: rows × columns, NaN for missing values.
    """
    floors = [floor_alone(result, name, content["backend"]) for name in names.classes]
    sign = -1.0 if result["unit"] == "us" else 1.0
    deviation, sigma, limit = noise.against_class(sign * np.log(values), layout.classes, floors)
    if is_smaller_size(content, result):
        deviation = deviation * 0.0
    return Seen(layout, of_small_classes(content, result, deviation, layout, names), limit, sigma=sigma)


def is_smaller_size(content: Mapping[str, Any], result: Result) -> bool:
    """Whether the record contains the bandwidth of the same test case with larger transfers.

    The overhead of small transfers differs between healthy devices. Only the largest size shows the link.
    """
    if result["unit"] == "us":
        return False
    same = (one for one in content["results"] if one["testcase"] == result["testcase"])
    alike = (one for one in same if variant_of(one) == variant_of(result))
    return any((one["size_bytes"] or 0) > (result["size_bytes"] or 0) for one in alike)


def of_small_classes(
    content: Mapping[str, Any], result: Result, deviation: np.ndarray, layout: Layout, names: Names
) -> np.ndarray:
    """The deviations, with 0 for the cells of small classes that noise may explain.

    A class of at most FEW_CELLS cells does not show its noise. A cell differs from the best cell only if the intervals
    of the two medians do not overlap, both have LEAST_SAMPLES samples, and the carrier is one of STEADY.
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
    """The deviation of each cell from its reference; NaN without a reference."""
    judged, bandwidth = matrix.whole, matrix.matrix.unit != "us"
    assert judged is not None
    values, expected = judged.observed, judged.value
    cells = int((layout.classes >= 0).sum())
    limit = 1 - judged.low / expected if bandwidth else judged.high / expected - 1
    limit = np.where(np.isfinite(expected), np.minimum(np.abs(limit), 0.99), np.nan)
    deviation = np.log(values / expected)  # values are positive or NaN
    # a lower tolerance of 2 % is log(0.98), and `search` uses log(1 + limit)
    limit = downwards(limit) if bandwidth else limit
    deviation = deviation if bandwidth else -deviation
    return Seen(layout, deviation, limit, sigma=np.nan_to_num(limit, nan=1.0) / noise.sigmas(cells))


def downwards(fraction: Any) -> Any:
    """The fraction upwards that is as far, in logarithms, as this fraction downwards."""
    return 1 / (1 - fraction) - 1


def beside_its_like(content: Mapping[str, Any], result: Result, seen: Seen, names: Names) -> Seen:
    """The deviations from references, with the limit and the noise of several cells of a component.

    The limit is k(m)·σ of the link class in this run, and at least LEAST, relative to the level of the class. A loss of
    the whole class is drift, which tolerances are for. The limit is at most the tolerance. A tolerance above its floor
    stays, because it contains measured noise. A class with too few cells keeps its tolerance.
    """
    classes, bandwidth = seen.layout.classes, result["unit"] != "us"
    k = noise.sigmas(int((classes >= 0).sum()))
    together = np.array(seen.limit)
    for group, name in enumerate(names.classes):
        inside = (classes == group) & np.isfinite(seen.deviation)
        carrier = carrier_of(result, name, content["backend"])
        if not bandwidth or carrier not in STEADY or inside.sum() < noise.ENOUGH:
            continue
        level, sigma = noise.upper_part(seen.deviation[inside])  # the cells of one of four nodes are half of the class
        least = max(downwards(LEAST), k * sigma) + max(0.0, -level)
        floor = downwards(FLOORS[carrier].lower)
        with np.errstate(invalid="ignore"):
            lowered = (classes == group) & (seen.limit <= floor + ROUNDED)
        together[lowered] = np.minimum(seen.limit[lowered], least)
    return replace(seen, together=together, sigma=np.nan_to_num(together, nan=1.0) / k)


def remeasured_deviations(deviation: np.ndarray, result: Result, matrix: Matrix, look: str) -> np.ndarray | None:
    """The deviations of the remeasured cells, NaN for other cells; None without remeasured cells.

    look: "before" for the first measurement, "after" for the median of the remeasurements.
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
    """The level, the row effects and the column effects by median polish, without NaN."""
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
    """Sentences about rows and columns that deviate as a whole, by median polish."""
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
