"""Reads the measured values of stored runs as arrays: all cells of a run, or the cells of some rows."""

from collections.abc import Sequence

import numpy as np

from ..errors import BadInput
from ..record.external_cells import REMEDY, ROUNDING
from ..record.matrix import Block, Matrix

ROWS = 32  # rows read per run of a matrix too large for memory


def sampled_rows(matrix: Matrix) -> list[int]:
    """The indices of the rows to read: all rows, or ROWS evenly spaced rows of a matrix too large for memory."""
    size = len(matrix.rows)
    count = size if matrix.held else min(size, ROWS)
    return np.unique(np.linspace(0, size - 1, count).astype(int)).tolist()


def measured(matrix: Matrix, chosen: Sequence[int]) -> np.ndarray:
    """The values of the chosen rows, rows × columns; NaN for cells without a value.

    Raises BadInput if the file of cells does not match the record.
    """
    if matrix.external is None:
        return Block(matrix).measured
    if matrix.held:
        return matrix.whole.measured
    facts, rows = matrix.external.facts(), []
    for row in chosen:
        block = Block(matrix, slice(row, row + 1))
        facts.add(block)
        rows.append(block.measured[0])
    values = np.array(rows)
    stored = np.array(matrix.external.medians[0])[chosen]
    found = np.array([np.median(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in values])
    if not np.allclose(found, stored, rtol=ROUNDING):
        raise BadInput(f"{facts.path} does not match the cells of its record: {REMEDY}")
    return values
