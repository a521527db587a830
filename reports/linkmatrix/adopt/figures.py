"""What stored runs measured, as arrays: the cells of a run, or of some of its rows, and what each class comes to."""

from collections.abc import Sequence

import numpy as np

from ..errors import BadInput
from ..record.apart import REMEDY, ROUNDING
from ..record.matrix import Block, Matrix

ROWS = 32  # that are read of each run of a matrix that is not held
FIELDS = {"min": "low", "median": "median", "max": "high"}  # of a ClassSummary
SUMMARIES = {"min": np.min, "median": np.median, "max": np.max}


def rows_looked_at(matrix: Matrix) -> list[int]:
    """The rows whose cells are read: all, or some, evenly, of a matrix that is not held."""
    size = len(matrix.rows)
    count = size if matrix.held else min(size, ROWS)
    return np.unique(np.linspace(0, size - 1, count).astype(int)).tolist()


def of_cells_of(
    group: str, inside: np.ndarray, values: np.ndarray, matrices: Sequence[Matrix]
) -> dict[str, list[float]]:
    """{"min", "median", "max": of the cells `inside`, rows × columns, of each run}; values: runs × rows × columns."""
    cells = [of_run[inside] for of_run in values]
    return {word: [figure(of_run) for of_run in cells] for word, figure in SUMMARIES.items()}


def of_summaries(
    group: str, inside: np.ndarray, values: np.ndarray, matrices: Sequence[Matrix]
) -> dict[str, list[float]]:
    """As `of_cells_of`, by what the records say of the class `group`, whose cells are not all held."""
    return {word: [getattr(matrix.classes[group], of) for matrix in matrices] for word, of in FIELDS.items()}


def measured(matrix: Matrix, chosen: Sequence[int]) -> tuple[np.ndarray, set[str]]:
    """(numbers of some rows, NaN where there are none; the link classes that were measured). Nothing else is kept.

    Raises BadInput for a file that is not the record's.
    """
    if matrix.apart is None:
        block = Block(matrix)
        values = block.measured
        occur = np.bincount(block.classes[np.isfinite(values)], minlength=len(matrix.class_names))
        return values, {name for name, count in zip(matrix.class_names, occur.tolist(), strict=True) if count}
    if matrix.held:
        return matrix.whole.measured, set(matrix.classes)
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
    return values, set(matrix.classes)
