"""The masks of WARN: a median at its limit, and a cell that is slower than its like."""

from collections.abc import Mapping

import numpy as np

from ..record.matrix import Block, Matrix
from ..references.tables import Reference

NEAR, FAR = 0.9, 2.0  # of the tolerance: see `at_limit`

Pair = tuple[np.ndarray, np.ndarray]  # the low and the high end, rows × columns


def at_limit(unit: str, worse: np.ndarray, interval: Pair, value: np.ndarray, limits: Pair) -> np.ndarray:
    """True where the interval of the median crosses the limit on the bad side by more than healthy noise explains.

    The interval is the one that the program records: two order statistics of the samples, with 95 % confidence or more.
    Seven samples give minimum to maximum, with 98.4 %. It must cross the limit, and the median must have used more than
    NEAR of its tolerance, or the interval must reach further than FAR times the tolerance. A crossing alone is too
    frequent where the samples differ by about the tolerance. `docs/verdicts.md` contains the measured WARN rates.

    worse: than the reference, as a fraction. value, limits: of the references
    """
    end, limit = (interval[1], limits[1]) if unit == "us" else (interval[0], limits[0])
    tolerance, reach = np.abs(limit / value - 1), np.abs(end / value - 1)
    crosses = end > limit if unit == "us" else end < limit
    return crosses & ((worse > NEAR * tolerance) | (reach > FAR * tolerance))


def off_like(matrix: Matrix, block: Block, of_class: Mapping[str, Reference], value: np.ndarray) -> np.ndarray:
    """By which fraction each cell is worse than its link class, each cell compared with its own reference.

    A cell that is slower by its place has a lower reference, and is not behind. Of a matrix that is not held, or a part
    of one, the class's reference counts. value: of the references; NaN without one, or without a value.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        reached = np.where(block.is_status("ok"), block.values / value, np.nan)
        middle = np.full(len(matrix.class_names), np.nan)
        for code, group in enumerate(matrix.class_names):
            inside = reached[(block.classes == code) & np.isfinite(reached)]
            if matrix.held and matrix.whole_classes is None:
                middle[code] = np.median(inside) if len(inside) else np.nan
            elif group in matrix.classes and group in of_class:
                middle[code] = matrix.classes[group].median / of_class[group].value
        off = reached / middle[block.classes] - 1
    return off if matrix.unit == "us" else -off
