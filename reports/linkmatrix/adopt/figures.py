"""The measured values of stored runs as arrays: all cells of a run, or the cells of some rows."""

from collections.abc import Sequence

import numpy as np

from ..errors import BadInput
from ..record.apart import REMEDY, ROUNDING
from ..record.matrix import Block, Matrix

ROWS = 32  # that are read of each run of a matrix that is not held


def rows_looked_at(matrix: Matrix) -> list[int]:
    """The rows whose cells are read: all, or some, evenly, of a matrix that is not held."""
    size = len(matrix.rows)
    count = size if matrix.held else min(size, ROWS)
    return np.unique(np.linspace(0, size - 1, count).astype(int)).tolist()


def measured(matrix: Matrix, chosen: Sequence[int]) -> np.ndarray:
    """The numbers of some rows, NaN where there are none. Raises BadInput for a file that is not the record's."""
    if matrix.apart is None:
        return Block(matrix).measured
    if matrix.held:
        return matrix.whole.measured
    facts, rows = matrix.apart.facts(), []
    for row in chosen:
        block = Block(matrix, slice(row, row + 1))
        facts.add(block)
        rows.append(block.measured[0])
    values = np.array(rows)
    said = np.array(matrix.apart.medians[0])[chosen]
    there = np.array([np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in values])
    if not np.allclose(there, said, rtol=ROUNDING):
        raise BadInput(f"{facts.path} holds other cells than its record says: {REMEDY}")
    return values
