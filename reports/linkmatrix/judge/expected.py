"""The references of the cells of a matrix, and comparisons of cells with references and link classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..record.link_classes import DIRECT, LINK_ORDER, NO_CLASS, UNKNOWN
from ..record.names import Pair

if TYPE_CHECKING:
    from ..record.matrix import Block, Matrix
    from ..references.pair_classes import MatrixClasses
    from ..references.reading import Reference

NEAR, FAR = 0.9, 2.0  # of the tolerance: see `at_limit`

Bounds = tuple[np.ndarray, np.ndarray]  # (low, high), each rows × columns


@dataclass(frozen=True)
class Expected:
    """The references of a matrix.

    cell_references: {pair: reference}.
    class_references: {link class: reference}, for pairs that are not in `cell_references`.
    name: name of the reference table; None for no table.
    classes: {pair: link class in the references}. If None, the link classes that the run found are used.
    """

    cell_references: Mapping[Pair, Reference]
    class_references: Mapping[str, Reference]
    name: str | None
    classes: MatrixClasses | None = None

    def reference(self, pair: Pair, link_class: str) -> Reference | None:
        """The reference of a cell, or of its link class if the cell has no reference.

        link_class: the class that the run found.
        """
        return self.cell_references.get(pair) or self.class_references.get(self.adopted_class(pair, link_class))

    def adopted_class(self, pair: Pair, link_class: str) -> str:
        """The link class of a cell in the references. link_class: the class that the run found."""
        return self.classes.cell_class(pair, link_class) if self.classes else link_class

    def class_codes(self, matrix: Matrix, block: Block) -> tuple[np.ndarray, Sequence[str]]:
        """(index of the link class of each cell, names of the link classes), as in the references.

        The indices are rows × columns of the block. Each index is a position in the names.
        """
        if self.classes is None:
            return block.classes, matrix.class_names
        rows = matrix.rows[block.first : block.first + len(block.classes)]
        return self.classes.codes(rows, matrix.columns, block.classes, matrix.class_names)


class Comparison(NamedTuple):
    """The cells of a block compared with their references. All arrays are rows × columns.

    value, low, high: value and limits of the reference; NaN without a reference.
    wrong_unit: True if the units of reference and matrix differ.
    worse_path: True if the link class that the run found is worse than the class in the references.
    unknown_path: True if the run found no link class, and the references contain a class.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    wrong_unit: np.ndarray
    worse_path: np.ndarray
    unknown_path: np.ndarray


def comparison(matrix: Matrix, block: Block, expected: Expected) -> Comparison:
    """Looks up the reference of each cell of a block, and compares the units and link classes."""
    value, low, high = (np.full(block.values.shape, np.nan) for _ in range(3))
    wrong_unit = np.zeros(block.values.shape, dtype=bool)

    def put(cells: object, reference: Reference) -> None:
        value[cells], low[cells], high[cells] = reference.value, reference.low_limit, reference.high_limit
        wrong_unit[cells] = reference.unit != matrix.unit

    codes, groups = expected.class_codes(matrix, block)
    for code, group in enumerate(groups):
        if group in expected.class_references:
            put(block.applies & (codes == code), expected.class_references[group])
    for r, c, reference in reference_positions(matrix, block, expected.cell_references):
        if block.applies[r, c]:
            put((r, c), reference)
    worse_path, unknown_path = (
        block.applies & cells_where(compare, block.classes, matrix.class_names, codes, groups)
        for compare in (is_worse, is_unknown)
    )
    return Comparison(value, low, high, wrong_unit, worse_path, unknown_path)


def reference_positions(
    matrix: Matrix, block: Block, cell_references: Mapping[Pair, Reference]
) -> list[tuple[int, int, Reference]]:
    """(row, column, reference) of each cell of the block that has a reference. The rows begin at 0 in each block."""
    if not cell_references:
        return []
    count = block.values.shape[0]
    rows = {label: at for at, label in enumerate(matrix.rows[block.first : block.first + count])}
    columns = {label: at for at, label in enumerate(matrix.columns)}
    there = ((pair, one) for pair, one in cell_references.items() if pair[0] in rows and pair[1] in columns)
    return [(rows[pair[0]], columns[pair[1]], one) for pair, one in there]


def at_limit(unit: str, worse: np.ndarray, interval: Bounds, value: np.ndarray, limits: Bounds) -> np.ndarray:
    """True for cells whose true median may be slower than the tolerance allows; rows × columns.

    The interval of the median of these cells crosses the slow limit of the tolerance. Noise often moves the interval of
    a healthy cell across this limit. A crossing therefore counts only if one of these is true:

    * The deviation of the median exceeds NEAR times the tolerance.
    * The slow end of the interval deviates by more than FAR times the tolerance.

    `python -m tests.benchmarks.healthy_warnings` counts healthy runs that are WARN; docs/evidence.md has the result.

    worse: the fraction by which each cell is worse than its reference.
    interval: the interval of each median, as recorded; see `cell_sentences.confidence`.
    value: the value of each cell's reference.
    limits: the lowest and the highest value that the tolerance of each reference allows.
    """
    end, limit = (interval[1], limits[1]) if unit == "us" else (interval[0], limits[0])
    tolerance, reach = np.abs(limit / value - 1), np.abs(end / value - 1)
    crosses = end > limit if unit == "us" else end < limit
    return crosses & ((worse > NEAR * tolerance) | (reach > FAR * tolerance))


def class_lag(matrix: Matrix, block: Block, class_references: Mapping[str, Reference], value: np.ndarray) -> np.ndarray:
    """The lag of each cell behind its link class, as a fraction; NaN if unknown.

    1. The ratio of a cell is its value divided by its reference.
    2. The ratio of a link class is the median ratio of its cells.
    3. The lag of a cell is the fraction by which the ratio of the cell is worse than the ratio of its class.

    A lower reference of a cell therefore causes no lag. If the cells are in a separate file, the ratio of a class is
    the median of the class divided by the reference of the class.

    value: the value of each cell's reference.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        reached = np.where(block.is_status("ok"), block.values / value, np.nan)
        middle = np.full(len(matrix.class_names), np.nan)
        for code, group in enumerate(matrix.class_names):
            if matrix.fits_memory and matrix.whole_classes is None:
                inside = reached[(block.classes == code) & np.isfinite(reached)]
                middle[code] = np.median(inside) if len(inside) else np.nan
            elif group in matrix.classes and group in class_references:
                middle[code] = matrix.classes[group].median / class_references[group].value
        off = reached / middle[block.classes] - 1
    return off if matrix.unit == "us" else -off


def is_worse(found: str, adopted: str) -> bool:
    """Whether the link class that the run found is worse than the link class in the references (`adopted`).

    Returns False if the two classes cannot be compared.
    """
    direct, before = DIRECT.fullmatch(found), DIRECT.fullmatch(adopted)
    if direct and before:
        return direct[1] == before[1] and int(direct[2]) < int(before[2])
    if found not in LINK_ORDER:
        return False
    return bool(before) or (adopted in LINK_ORDER and LINK_ORDER.index(found) > LINK_ORDER.index(adopted))


def is_unknown(found: str, adopted: str) -> bool:
    """Whether the run could not find the link class of a cell, and the references contain a class (`adopted`)."""
    return found == UNKNOWN and adopted not in (UNKNOWN, NO_CLASS)


def cells_where(
    compare: Callable[[str, str], bool],
    found: np.ndarray,
    names: Sequence[str],
    adopted: np.ndarray,
    known: Sequence[str],
) -> np.ndarray:
    """True for each cell whose two link classes meet the condition `compare(found, adopted)`; rows × columns.

    found, names: for each cell, the index in `names` of the link class that the run found.
    adopted, known: for each cell, the index in `known` of the link class in the references.
    """
    table = np.array([[compare(one, other) for other in known] for one in names], dtype=bool)
    table = table.reshape(len(names), len(known))
    if list(names) == list(known) and not table.diagonal().any() and np.array_equal(found, adopted):
        return np.zeros(found.shape, dtype=bool)  # saves time if all classes are the adopted classes
    return table[found, adopted]
