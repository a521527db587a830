"""What curves are held against: of each place the reference of a link class, between its tolerances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..judge.evaluate import MatrixVerdict

if TYPE_CHECKING:  # `show` has to start without matplotlib
    from matplotlib.axes import Axes

GREY = "#9aa3ab"
ALPHA = 0.3
ALONE = 7  # points, of a band at one place


class Band(NamedTuple):
    """A reference in the unit of its curve; low and high as its tolerances have it, itself where it has none there."""

    low: float
    value: float
    high: float


Bands = Mapping[str, Sequence[tuple[int, Band]]]  # link class → (place on the axis, band) in rising order


def bands(points: Iterable[tuple[int, MatrixVerdict]]) -> Bands:
    """Of matrices at their places, those link classes that have references."""
    found: dict[str, list[tuple[int, Band]]] = {}
    for place, matrix in sorted(points, key=lambda point: point[0]):
        for name in matrix.matrix.classes:
            band = band_of(matrix, name)
            if band is not None:
                found.setdefault(name, []).append((place, band))
    return found


def band_of(matrix: MatrixVerdict, name: str) -> Band | None:
    """The band of the cells of a link class: over all of them, where their references differ; None without any."""
    judged = matrix.whole
    if judged is None or matrix.problem:
        return None
    of_class = (judged.block.classes == matrix.matrix.class_names.index(name)) & np.isfinite(judged.value)
    if not of_class.any():
        return None
    value = judged.value[of_class]
    low, high = (np.where(np.isfinite(limit), limit, value) for limit in (judged.low[of_class], judged.high[of_class]))
    return Band(float(low.min()), float(np.median(value)), float(high.max()))


def draw(axes: Axes, found: Sequence[tuple[int, Band]], colour: str, label: str) -> None:
    """Behind a curve, in its colour: a dashed line through the references, in a grey band of their tolerances."""
    places = [place for place, _ in found]
    low, value, high = zip(*(band for _, band in found), strict=True)
    if len(places) == 1:
        axes.vlines(places, low, high, color=GREY, alpha=2 * ALPHA, linewidth=ALONE, zorder=1, label=label or None)
        return
    axes.fill_between(places, low, high, color=GREY, alpha=ALPHA, linewidth=0, zorder=1, label=label or None)
    axes.plot(places, value, "--", color=colour, linewidth=0.9, zorder=1.5)
