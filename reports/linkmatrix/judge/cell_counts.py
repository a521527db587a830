"""Counts of cells by verdict, collected while a matrix is judged in blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..references import noise
from ..references.noise import rank_floor
from .verdicts import Verdict

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from .rules import Judged

KEPT = 32  # number of worst cells that are kept
SAMPLED_ROWS = 32  # rows from which the noise of a class is estimated
MAX_SUSPECTS = 48
MAX_EXAMINED = 384  # suspects, other endpoints of their nodes, and healthy endpoints


def zeros(*shape: int) -> np.ndarray:
    """An array of integer counters, all 0."""
    return np.zeros(shape, dtype=np.int64)


@dataclass
class CellCounts:
    """The numbers of cells of a matrix, by verdict, row, column and link class.

    row_counts: number of cells with each verdict per row; rows × verdicts.
    column_counts: the same per column; columns × verdicts.
    slow_rows, slow_columns: number of slow cells per row and per column; all 0 for a matrix that fits into memory.
    class_counts: {link class: number of cells with each verdict}.
    unjudged: number of measured cells without a reference.
    compared: number of cells with a reference.
    worst: the worst cells, the worst first; each row of this array is (severity, row, column).
    """

    row_counts: np.ndarray
    column_counts: np.ndarray
    slow_rows: np.ndarray
    slow_columns: np.ndarray
    class_counts: dict[str, np.ndarray] = field(default_factory=dict)
    unjudged: int = 0
    compared: int = 0
    worst: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))

    @classmethod
    def empty(cls, rows: int, columns: int) -> CellCounts:
        """All counts 0, for a matrix with this number of rows and columns."""
        counts = (zeros(size, len(Verdict)) for size in (rows, columns))
        return cls(*counts, zeros(rows), zeros(columns))

    def add(self, judged: Judged, limits: np.ndarray | None) -> None:
        """Adds the cells of a block to the counts.

        limits: see `class_limits`. If None, slow cells are not counted.
        """
        first, codes, classes = judged.block.first, judged.codes, judged.block.classes
        rows = slice(first, first + len(codes))
        names = judged.block.matrix.class_names
        if limits is not None:
            slow = slow_cells(judged, limits)
            self.slow_rows[rows] += slow.sum(axis=1)
            self.slow_columns += slow.sum(axis=0)
        for verdict in Verdict:
            which = codes == verdict
            if not which.any():
                continue
            self.row_counts[rows, verdict] += which.sum(axis=1)
            self.column_counts[:, verdict] += which.sum(axis=0)
            counts = np.bincount(classes[which], minlength=len(names))
            for name, count in zip(names, counts.tolist(), strict=True):
                if count:
                    self.class_counts.setdefault(name, zeros(len(Verdict)))[verdict] += count
        self.unjudged += int(judged.unjudged.sum())
        self.compared += int(judged.has_reference.sum())
        self.worst = merge_worst(self.worst, judged, codes)


def slow_cells(judged: Judged, limits: np.ndarray) -> np.ndarray:
    """True for slow, undisturbed cells; rows × columns.

    A cell with a reference is slow if its verdict is FAIL and its value is worse than the reference.
    A cell without a reference is slow if its deviation from its link class exceeds the limit of the class.
    limits: see `class_limits`.
    """
    worse = np.where(judged.disturbed, 0.0, judged.worse)
    failed = (judged.codes == Verdict.FAIL) & (worse > 0)
    return np.where(judged.unjudged, worse > np.take(limits, judged.block.classes), failed)


def class_limits(matrix: Matrix) -> np.ndarray:
    """The largest allowed deviation from the median of each link class, as a fraction.

    These limits apply to cells without a reference.
    """
    size = len(matrix.rows)
    chosen = np.unique(np.linspace(0, size - 1, min(size, SAMPLED_ROWS)).astype(int))
    part = matrix.part(chosen, np.arange(len(matrix.columns))).whole
    limits = np.array([rank_floor(matrix.unit, name) for name in matrix.class_names])
    for code, name in enumerate(matrix.class_names):
        values = part.values[(part.classes == code) & np.isfinite(part.values)]
        if len(values) and name in matrix.classes:
            off = np.abs(values / matrix.classes[name].median - 1)
            limits[code] = max(limits[code], noise.sigma_limit(size * size) * 1.4826 * float(np.median(off)))
    return limits


def merge_worst(worst: np.ndarray, judged: Judged, codes: np.ndarray) -> np.ndarray:
    """Merges the worst cells found so far with the worst cells of a block.

    Returns at most KEPT cells, the worst first; each row of the array is (severity, row, column).
    worst: the worst cells found so far, in the form of the result.
    codes: the verdict of each cell of the block.
    """
    found = np.flatnonzero((codes > Verdict.PASS) & ~judged.unjudged)
    if not len(found):
        return worst
    bad = np.clip(judged.severity().ravel()[found], -100, 100) + 1000.0 * codes.ravel()[found]
    best = np.argpartition(-bad, KEPT)[:KEPT] if len(found) > KEPT else np.arange(len(found))
    best = best[np.lexsort((found[best], -bad[best]))]
    r, c = np.divmod(found[best], codes.shape[1])
    both = np.concatenate([worst, np.column_stack([bad[best], r + judged.block.first, c])])
    return both[np.argsort(-both[:, 0], kind="stable")][:KEPT]


def endpoints_to_examine(counts: CellCounts, node: np.ndarray) -> np.ndarray:
    """The indices of the endpoints that the diagnosis of a large matrix examines.

    The function chooses the suspect endpoints, the other endpoints on their nodes, and some healthy endpoints.
    node: for each endpoint, the index of its node.
    """
    size = len(node)
    bad = [slow >= size / 2 for slow in (counts.slow_rows, counts.slow_columns)]
    # a healthy row has a slow cell for each slow column
    rest = [
        np.where(own, slow, np.maximum(0, slow - other.sum()))
        for slow, own, other in zip((counts.slow_rows, counts.slow_columns), bad, bad[::-1], strict=True)
    ]
    score = np.maximum(*rest)
    order = np.argsort(-score, kind="stable")
    suspects = order[: min(MAX_SUSPECTS, int((score > 0).sum()))]
    mates = np.flatnonzero(np.isin(node, node[suspects]))[: MAX_EXAMINED // 2]
    chosen = np.union1d(suspects, mates)
    healthy = np.setdiff1d(np.arange(size), chosen)
    nodes = np.unique(node[healthy])
    per_node = max(1, len(healthy) // max(len(nodes), 1))
    wanted = max(1, (MAX_EXAMINED - len(chosen)) // per_node)
    some = nodes[np.unique(np.linspace(0, len(nodes) - 1, wanted).astype(int))] if len(nodes) else nodes
    return np.union1d(chosen, healthy[np.isin(node[healthy], some)])
