"""Rows and columns that are off as a whole, whatever single cells do: by median polish (Tukey)."""

import math
from collections.abc import Iterator

import numpy as np

from ..references import noise
from .places import Names

LEAST_EFFECT = 0.01  # of a row or a column, as a fraction: below, it is not worth a line
MOST_EFFECTS = 4
SETTLED = 1e-6  # change of an effect, of logarithms, below which median polish is done


def polish(deviation: np.ndarray, rounds: int = 10) -> tuple[float, np.ndarray, np.ndarray]:
    """The level, row effects and column effects of a matrix; NaN does not count."""
    rest = np.array(deviation, dtype=float)
    rows, columns, level = np.zeros(rest.shape[0]), np.zeros(rest.shape[1]), 0.0
    with np.errstate(invalid="ignore"):
        for _ in range(rounds):
            step = noise.medians(rest, 1)
            done = np.abs(step).max(initial=0.0) < SETTLED
            rest, rows = rest - step[:, None], rows + step
            shift = float(np.median(columns))
            columns, level = columns - shift, level + shift
            step = noise.medians(rest, 0)
            rest, columns = rest - step[None, :], columns + step
            shift = float(np.median(rows))
            rows, level = rows - shift, level + shift
            if done:
                break
    return level, rows, columns


def effects(deviation: np.ndarray, names: Names, unit: str) -> Iterator[str]:
    """Rows and columns that are off as a whole: medians, whatever single cells do."""
    if min(deviation.shape) < 2 or not np.isfinite(deviation).any():
        return
    _, rows, columns = polish(deviation)
    for word, labels, found in (("row", names.rows, rows), ("column", names.columns, columns)):
        order = [index for index in np.argsort(found) if found[index] <= math.log1p(-LEAST_EFFECT)]
        told = [f"{labels[index]} {100 * math.expm1(found[index]):.1f} %" for index in order[:MOST_EFFECTS]]
        if told:
            what = "speed" if unit == "us" else "bandwidth"
            more = f" and {len(order) - len(told)} more" if len(order) > len(told) else ""
            yield f"{word} effects by median polish ({what}): {', '.join(told)}{more}"
