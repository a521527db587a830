"""By how much each cell of a matrix is off, in logarithms (slow is below 0), its noise, and how far it may be off."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..record.matrix import Matrix
from ..record.reading import Result
from ..references import noise
from ..references.tolerances import floor_alone
from .families import Layout
from .places import Names
from .sentences import Seen


def from_inside(content: Mapping[str, Any], result: Result, values: np.ndarray, layout: Layout, names: Names) -> Seen:
    """Of each cell from the upper part of its link class: a class that is slow as a whole looks healthy.

    values: rows × columns, NaN where there is none
    """
    floors = [floor_alone(result, name, content.get("backend", "")) for name in names.classes]
    sign = -1.0 if result["unit"] == "us" else 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation, sigma, limit = noise.against_class(sign * np.log(values), layout.classes, floors)
    return Seen(layout, deviation, limit, sigma=sigma)


def from_references(matrix: MatrixVerdict, layout: Layout) -> Seen:
    """Of each cell from its own reference; a cell without one does not count."""
    judged, bandwidth = matrix.whole, matrix.matrix.unit != "us"
    assert judged is not None
    values, expected = judged.observed, judged.value
    cells = int((layout.classes >= 0).sum())
    with np.errstate(invalid="ignore"):
        limit = 1 - judged.low / expected if bandwidth else judged.high / expected - 1
    limit = np.where(np.isfinite(expected), np.minimum(np.abs(limit), 0.99), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.log(values / expected)
    # as a lower tolerance of 2 % is log(0.98), and what `locate` adds is log(1 + limit)
    limit = 1 / (1 - limit) - 1 if bandwidth else limit
    deviation = deviation if bandwidth else -deviation
    return Seen(layout, deviation, limit, sigma=np.nan_to_num(limit, nan=1.0) / noise.sigmas(cells))


def alone(deviation: np.ndarray, result: Result, matrix: Matrix) -> np.ndarray | None:
    """Deviations of the cells that were measured again, alone: the median of those looks; NaN of the others.

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
        if min(at) >= 0 and one["after"] and values[at] > 0:
            found[at] = deviation[at] + sign * math.log(one["after"] / values[at])
    return found
