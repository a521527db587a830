"""The worst cells of a matrix as a table: what was measured and expected, how sure that is, and what it was before."""

from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record.matrix import Pair
from ..record.reading import Result
from ..record.units import counted, figure
from . import words
from .maps import marks, percent
from .scale import DEVIATIONS, NOISE

MOST = 10  # cells of a table
WORTH = DEVIATIONS[2]  # by how much a cell that only lacks a reference is worse than its class, to be listed
WIDTH, HEIGHT, MARGIN = 96, 22, 3  # of a picture of earlier values, in CSS pixels
NOTHING = "–"

History = Callable[[Pair], list[float]]  # what a cell was in runs before, the oldest first


def table(result: Result, matrix: MatrixVerdict, history: History) -> list[dict[str, Any]]:
    """A row for each of the worst cells that are not as they should be; of a matrix that is not held, of those looked
    at closely. None where nothing could be judged.
    """
    if matrix.problem:
        return []
    return [row_of(result, matrix.closely, at, history) for at in worst(matrix.closely)]


def worst(matrix: MatrixVerdict) -> list[tuple[int, int]]:
    """The places of the cells that are listed, the worst first."""
    judged = matrix.whole
    assert judged is not None
    worse = judged.badness()
    open_ones = (judged.codes > Verdict.PASS) & ~judged.unjudged
    listed = np.flatnonzero(open_ones | (np.isfinite(worse) & (worse >= WORTH) & (judged.codes >= 0)))
    # what has a verdict of its own stands before what only lacks a reference
    bad = np.where(open_ones, 1000.0 * judged.codes, 0.0) + np.clip(worse, -100, 100)
    order = listed[np.argsort(-bad.ravel()[listed], kind="stable")][:MOST]
    return [(int(row), int(column)) for row, column in zip(*np.unravel_index(order, worse.shape), strict=True)]


def row_of(result: Result, matrix: MatrixVerdict, at: tuple[int, int], history: History) -> dict[str, Any]:
    """A cell: verdict, endpoints, link class and figures, as texts."""
    judged, unit = matrix.whole, matrix.matrix.unit
    assert judged is not None
    pair, cell = matrix.at(*at)
    value, low, high, samples = (float(judged.numbers(name)[at]) for name in ("values", "low", "high", "samples"))
    group = matrix.matrix.class_names[judged.block.classes[at]]
    reference, allowed = float(judged.value[at]), float((judged.high if unit == "us" else judged.low)[at])
    known = matrix.matrix.classes.get(group)
    expected, baseline = known.baseline(unit) if known else (np.nan, "median")
    if np.isfinite(reference):
        expected, baseline = reference, "reference"
    off = float(judged.worse[at])
    text = {
        "value": shown(value, unit) if cell.value is not None else matrix.matrix.status_at(*at),
        "expected": shown(expected, unit),
        "of": baseline,
        "off": percent(result, off) if np.isfinite(off) else NOTHING,
        "interval": f"{shown(low, unit)} to {shown(high, unit)}" if np.isfinite(low) else NOTHING,
        "allowed": shown(allowed, unit),
        "samples": f"{samples:.0f}" if samples > 0 else NOTHING,
    }
    earlier = history(pair)
    drawn = trend([*earlier, value], expected, unit) if earlier and cell.value is not None else ""
    return {**marks(cell.verdict), "source": pair[0], "destination": pair[1], "group": group, **text, "trend": drawn}


def shown(value: float, unit: str) -> str:
    """A figure, or a dash where there is none."""
    return figure(value, words.DECIMALS[unit]) if np.isfinite(value) else NOTHING


def trend(values: list[float], expected: float, unit: str) -> Markup:
    """A line through the values, the newest marked; noise does not fill its height."""
    middle = expected if np.isfinite(expected) else float(np.median(values))
    low, high = min([*values, middle * (1 - NOISE)]), max([*values, middle * (1 + NOISE)])
    step = (WIDTH - 2 * MARGIN) / (len(values) - 1)
    points = [
        (MARGIN + step * at, HEIGHT - MARGIN - (value - low) / (high - low) * (HEIGHT - 2 * MARGIN))
        for at, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    (x, y), decimals = points[-1], words.DECIMALS[unit]
    told = f"{counted(len(values) - 1, 'run')} before: {', '.join(figure(value, decimals) for value in values[:-1])}"
    return Markup(
        '<svg class="trend" width="{}" height="{}" role="img" aria-label="{}"><polyline points="{}"></polyline>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="2.5"></circle></svg>'
    ).format(WIDTH, HEIGHT, told, line, x, y)
