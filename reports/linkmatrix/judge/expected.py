"""The references with which the cells of a matrix are compared, and the link classes that choose them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..record.matrix import Block, Matrix, Pair
from ..references.link_order import cells_where, is_lost, is_worse
from ..references.pair_classes import MatrixClasses
from ..references.tables import Reference


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
        """The reference of a cell, else of its class. link_class: the class that the run found."""
        return self.of_cell.get(pair) or self.of_class.get(self.adopted_class(pair, link_class))

    def adopted_class(self, pair: Pair, link_class: str) -> str:
        """The class by which a cell is compared."""
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
