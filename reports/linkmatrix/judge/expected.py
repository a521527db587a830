"""The references of the cells of a matrix, the link classes that choose them, and cells close to their limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..record.names import DIRECT, LINK_ORDER, NO_CLASS, UNKNOWN, Pair

if TYPE_CHECKING:
    from ..record.matrix import Block, Matrix
    from ..references.pair_classes import MatrixClasses
    from ..references.reading import Reference

NEAR, FAR = 0.9, 2.0  # of the tolerance: see `at_limit`

Ends = tuple[np.ndarray, np.ndarray]  # the low and the high end, rows × columns


@dataclass(frozen=True)
class Expected:
    """The references of the cells and classes of a matrix, from the table `name`.

    classes: the adopted link class of each pair; None: each pair is compared by the class that the run found.
    """

    of_cell: Mapping[Pair, Reference]
    of_class: Mapping[str, Reference]
    name: str | None
    classes: MatrixClasses | None = None

    def of(self, pair: Pair, link_class: str) -> Reference | None:
        """The reference of a cell; if the cell has none, the reference of its class.

        link_class: the class that the run found.
        """
        return self.of_cell.get(pair) or self.of_class.get(self.adopted_class(pair, link_class))

    def adopted_class(self, pair: Pair, link_class: str) -> str:
        """The link class whose reference applies to a cell."""
        return self.classes.of(pair, link_class) if self.classes else link_class

    def class_codes(self, matrix: Matrix, block: Block) -> tuple[np.ndarray, Sequence[str]]:
        """(codes of a block, rows × columns; their classes): the class by which each cell is compared."""
        if self.classes is None:
            return block.classes, matrix.class_names
        rows = matrix.rows[block.first : block.first + len(block.classes)]
        return self.classes.codes(rows, matrix.columns, block.classes, matrix.class_names)


class Comparison(NamedTuple):
    """What the cells of a block are compared with; all arrays are rows × columns.

    value, low, high: of the references, NaN without. wrong_unit: True where a reference has another unit than the
    matrix. worse_path: True where the found link class is worse than the adopted one. lost_path: True where the link
    class is unknown and the adopted one is known.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    wrong_unit: np.ndarray
    worse_path: np.ndarray
    lost_path: np.ndarray


def comparison(matrix: Matrix, block: Block, expected: Expected) -> Comparison:
    """The references and the adopted classes of a block."""
    value, low, high = (np.full(block.values.shape, np.nan) for _ in range(3))
    wrong_unit = np.zeros(block.values.shape, dtype=bool)

    def put(cells: object, reference: Reference) -> None:
        value[cells], low[cells], high[cells] = reference.value, reference.low_limit, reference.high_limit
        wrong_unit[cells] = reference.unit != matrix.unit

    codes, groups = expected.class_codes(matrix, block)
    for code, group in enumerate(groups):
        if group in expected.of_class:
            put(block.applies & (codes == code), expected.of_class[group])
    for r, c, reference in places(matrix, block, expected.of_cell):
        if block.applies[r, c]:
            put((r, c), reference)
    worse_path, lost_path = (
        block.applies & cells_where(compare, block.classes, matrix.class_names, codes, groups)
        for compare in (is_worse, is_lost)
    )
    return Comparison(value, low, high, wrong_unit, worse_path, lost_path)


def places(matrix: Matrix, block: Block, of_cell: Mapping[Pair, Reference]) -> list[tuple[int, int, Reference]]:
    """(row of the block, column, reference) of each cell of the block that has a reference."""
    if not of_cell:
        return []
    count = block.values.shape[0]
    rows = {label: at for at, label in enumerate(matrix.rows[block.first : block.first + count])}
    columns = {label: at for at, label in enumerate(matrix.columns)}
    there = ((pair, one) for pair, one in of_cell.items() if pair[0] in rows and pair[1] in columns)
    return [(rows[pair[0]], columns[pair[1]], one) for pair, one in there]


def at_limit(unit: str, worse: np.ndarray, interval: Ends, value: np.ndarray, limits: Ends) -> np.ndarray:
    """True where the interval of the median crosses the limit on the slow side by more than healthy noise explains.

    The interval is the one that the program records: two order statistics of the samples, with 95 % confidence or more.
    Seven samples give minimum to maximum, with 98.4 %. It must cross the limit, and the median must have used more than
    NEAR of its tolerance, or the interval must reach further than FAR times the tolerance. A crossing alone is too
    frequent where the samples differ by about the tolerance. `python -m tests.benchmarks.healthy_warnings` counts how
    many healthy runs are WARN; docs/evidence.md has the result.

    worse: than the reference, as a fraction. interval: low and high end. value, limits: of the references.
    """
    end, limit = (interval[1], limits[1]) if unit == "us" else (interval[0], limits[0])
    tolerance, reach = np.abs(limit / value - 1), np.abs(end / value - 1)
    crosses = end > limit if unit == "us" else end < limit
    return crosses & ((worse > NEAR * tolerance) | (reach > FAR * tolerance))


def behind_class(matrix: Matrix, block: Block, of_class: Mapping[str, Reference], value: np.ndarray) -> np.ndarray:
    """By which fraction the ratio of each cell to its reference is worse than that of its link class; NaN if unknown.

    A cell that is slower because of its position has a lower reference, and so its ratio is not lower. For a matrix
    that is not in memory as a whole, the class has the ratio of its median to its reference. value: of the references.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        reached = np.where(block.is_status("ok"), block.values / value, np.nan)
        middle = np.full(len(matrix.class_names), np.nan)
        for code, group in enumerate(matrix.class_names):
            if matrix.fits_memory and matrix.whole_classes is None:
                inside = reached[(block.classes == code) & np.isfinite(reached)]
                middle[code] = np.median(inside) if len(inside) else np.nan
            elif group in matrix.classes and group in of_class:
                middle[code] = matrix.classes[group].median / of_class[group].value
        off = reached / middle[block.classes] - 1
    return off if matrix.unit == "us" else -off


def is_worse(found: str, adopted: str) -> bool:
    """Whether a link class is worse than the adopted one. False if the classes cannot be compared."""
    direct, before = DIRECT.fullmatch(found), DIRECT.fullmatch(adopted)
    if direct and before:
        return direct[1] == before[1] and int(direct[2]) < int(before[2])
    if found not in LINK_ORDER:
        return False
    return bool(before) or (adopted in LINK_ORDER and LINK_ORDER.index(found) > LINK_ORDER.index(adopted))


def is_lost(found: str, adopted: str) -> bool:
    """Whether the class of a pair is unknown, and the adopted one is known."""
    return found == UNKNOWN and adopted not in (UNKNOWN, NO_CLASS)


def cells_where(
    compare: Callable[[str, str], bool],
    found: np.ndarray,
    names: Sequence[str],
    adopted: np.ndarray,
    known: Sequence[str],
) -> np.ndarray:
    """True for the cells where `compare` is true of the found and the adopted class.

    found, adopted: rows × columns, indices of `names` and of `known`.
    """
    table = np.array([[compare(one, other) for other in known] for one in names], dtype=bool)
    table = table.reshape(len(names), len(known))
    if list(names) == list(known) and not table.diagonal().any() and np.array_equal(found, adopted):
        return np.zeros(found.shape, dtype=bool)  # fast: every class is the adopted one
    return table[found, adopted]
