"""The colour of a value: steps of a deviation, and steps between the ends of a scale that several matrices share.

A deviation is shown by how much worse than expected a cell is, whichever way that goes: orange is worse, blue is
better.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..record.matrix import Matrix
from ..record.names import Result
from ..runs.judging import Judged

#: A cell that is worse than expected by at least this fraction has the colour of the step's place, the worst first;
#: negative is better, and what is better than the last has one more. The steps are those of tolerances in use: 2 % for
#: a class, 5 % for a cell, 10 % beyond any noise.
DEVIATIONS = (0.10, 0.05, 0.02, -0.02, -0.05, -0.10)
LEVELS = 8  # steps of a value between the ends of its scale
#: A scale spans at least this fraction on both sides of the median, so that noise does not look like a fault.
NOISE = 0.10
Scale = tuple[float, float]


def deviation_step(worse: float) -> int:
    """The step of a fraction by which a cell is worse than expected: 0 is the worst, len(DEVIATIONS) the best."""
    return next((step for step, least in enumerate(DEVIATIONS) if worse >= least), len(DEVIATIONS))


def level(value: float, scale: Scale) -> int:
    """The step of a value between the ends of a scale: 0 to LEVELS - 1."""
    low, high = scale
    share = (value - low) / (high - low) if high > low else 0.5
    return min(max(int(share * LEVELS), 0), LEVELS - 1)


def scale_of(matrices: Iterable[Matrix]) -> Scale | None:
    """(low, high) of matrices of one unit; None if nothing was measured."""
    each = [matrix.whole.values for matrix in matrices]
    values = np.concatenate([grid[np.isfinite(grid)] for grid in each]) if each else np.empty(0)
    if not len(values):
        return None
    middle = float(np.median(values))
    return min(float(values.min()), middle * (1 - NOISE)), max(float(values.max()), middle * (1 + NOISE))


def key_of(result: Result) -> tuple[Any, ...]:
    """Matrices with the same key share a scale: those of one quantity, size and path between the same endpoints."""
    kinds = [re.sub(r"\d+$", "", labels[0]) for labels in (result["rows"], result["columns"])]
    return result["unit"], result["quantity"], result["size_bytes"], result["peer_access"], *kinds


def shared(judged: Sequence[Judged]) -> dict[tuple[Any, ...], Scale | None]:
    """The scale of each key of the run."""
    groups: dict[tuple[Any, ...], list[Matrix]] = {}
    for one in judged:
        for result, matrix in one.matrices:
            if matrix.whole is not None:
                groups.setdefault(key_of(result), []).append(matrix.matrix)
    return {key: scale_of(matrices) for key, matrices in groups.items()}
