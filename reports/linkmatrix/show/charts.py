"""Charts of test cases that were measured in several sizes, or with several numbers of thread blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..errors import clean
from ..record import units
from ..record.names import extent_of, is_collective
from . import words
from .matrix_text import bands
from .plot import dressed, files_of, styled

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Result
    from .by_size import Table
    from .collectives import Curve
    from .matrix_text import Band, Bands

WIDTH, HEIGHT = 8.4, 4.6  # inches, without the legend
MOST_LINES = 6  # of one chart
PANELS_WIDE, PANEL = 3, (3.7, 2.7)  # small charts next to each other, and their size in inches
LINE = 0.16  # inches of a line of the legend below a chart
MOST_TICKS = 12
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito: for all eyes, and in print
MARKERS = "osDv^P"
GREY, ALPHA, ALONE = "#9aa3ab", 0.3, 7  # of bands; points of a band at one place
REFERENCE = "reference and its tolerance"  # in a legend
MESSAGES = "messages"  # axis of the chart of all messages
AXES = {"size_bytes": "bytes of one transfer", "blocks": "thread blocks", MESSAGES: "bytes of a message"}
Series = dict[tuple[str, ...], list[tuple[int, float]]]  # heads of a column → (size, value) in rising order


class Line(NamedTuple):
    """A line of a chart.

    panel: the lines that are drawn together if there are many. points: (place on the axis, value) in rising order.
    spread: (least, largest) cell of each point. band: references.
    """

    panel: str
    label: str
    points: Sequence[tuple[int, float]]
    spread: Sequence[tuple[float, float]] = ()
    band: Sequence[tuple[int, Band]] = ()
    style: str = "-"


def draw_curves(
    record: dict[str, Any], curves: Sequence[Curve], matrices: Sequence[tuple[Result, MatrixVerdict]] = ()
) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: a picture of curves of one axis and unit, with a line for each link class.

    A line goes through the medians, in a band from the least to the largest cell. matrices: of the record, judged.
    """
    lines = []
    for curve in curves:
        held = references(curve, matrices)
        for name, points in curve.points().items():
            label = ": ".join(filter(None, (name, curve.fit())))
            medians = [(place, summary.median) for place, summary in points]
            spread = [(summary.low, summary.high) for _, summary in points]
            lines.append(Line(curve.testcase, label, medians, spread, held.get(name, ())))
    ran_on = f", {extent_of(record)}" if any(is_collective(curve.results[0]) for curve in curves) else ""
    quantity = f"{curves[0].results[0]['quantity']} ({words.UNITS[curves[0].unit]})"
    return draw(lines, words.provenance(record) + ran_on, curves[0].axis, quantity)


def draw_sizes(table: Table, others: Table | None, title: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: the columns of a table of messages with references, and of another table, dashed."""
    lines = []
    for (who, *head), points in series_of(table).items():
        band = [(size, one) for size, one in table.held.get((who, *head), ()) if size > 0]
        lines.append(Line(who, ", ".join(filter(None, head)), points, band=band))
    if others is not None:
        for (who, *head), points in series_of(others).items():
            lines.append(Line(who, ", ".join(filter(None, head)), points, style="--"))
    return draw(lines, title, MESSAGES, table.title)


def draw(lines: Sequence[Line], title: str, axis: str, quantity: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: one chart; of more than MOST_LINES lines, a small chart for each panel.

    axis: a key of AXES. Values of messages have a logarithmic axis. The axis of a latency is reversed, so that worse is
    lower in every chart.
    """
    panels: dict[str, list[Line]] = {}
    for line in lines:
        panels.setdefault(line.panel if len(lines) > MOST_LINES else "", []).append(line)
    several = len(panels) > 1
    wide = min(PANELS_WIDE, len(panels))
    rows = -(-len(panels) // wide)
    size = (wide * PANEL[0], rows * PANEL[1]) if several else (WIDTH, HEIGHT + LINE * len(lines))
    is_latency = quantity.endswith(f"({words.UNITS['us']})")
    with styled():
        figure = Figure(figsize=size, facecolor="white", layout="constrained")
        grid = figure.subplots(rows, wide, sharex=True, sharey=True, squeeze=False)
        for axes, (name, of_panel) in zip(grid.flat, panels.items(), strict=False):
            draw_panel(axes, of_panel, several)
            axes.set_title(clean(name), fontsize=8)
        set_axes(grid[0][0], axis, [place for line in lines for place, _ in line.points], is_latency)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        figure.supxlabel(AXES[axis], fontsize=9)
        figure.supylabel(quantity + (", reversed: lower is worse" if is_latency else ""), fontsize=9)
        if not several:
            handles, labels = legend_of(grid[0][0])
            figure.legend(handles, labels, fontsize=7.5, frameon=False, loc="outside lower left")
        add_title(figure, title)
        return files_of(figure)


def draw_panel(axes: Axes, lines: Sequence[Line], several: bool) -> None:
    """Draws lines with their spreads and references; in one of several panels, with a legend."""
    label = REFERENCE
    for number, line in enumerate(lines):
        colour, marker = look(number)
        places, values = zip(*line.points, strict=True)
        text = clean(line.label if several else " ".join(filter(None, (line.panel, line.label))))
        axes.plot(places, values, line.style, label=text, color=colour, marker=marker, markersize=3, linewidth=1.4)
        if line.spread:
            axes.fill_between(places, *zip(*line.spread, strict=True), color=colour, alpha=0.2, linewidth=0)
        if line.band:
            draw_band(axes, line.band, colour, label)
            label = ""  # once
    dressed(axes)
    if several:
        axes.legend(*legend_of(axes), fontsize=6.5, frameon=False, loc="best")


def legend_of(axes: Axes) -> tuple[list[Any], list[str]]:
    """(handles, labels) of a legend, the references last."""
    found = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda one: one[1] == REFERENCE)
    return [handle for handle, _ in found], [label for _, label in found]


def set_axes(axes: Axes, axis: str, places: Iterable[int], is_latency: bool) -> None:
    """Sets the scales that all panels share."""
    if axis == MESSAGES:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # no powers, as TeX sets them
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    if is_latency:
        axes.invert_yaxis()
    ticks(axes, places, are_sizes=axis != "blocks")


def references(curve: Curve, matrices: Sequence[tuple[Result, MatrixVerdict]]) -> Bands:
    """The references of the results of a curve, by link class."""
    judged = {id(result): matrix for result, matrix in matrices}
    results = [result for result in curve.results if id(result) in judged]
    return bands((result[curve.axis], judged[id(result)]) for result in results)


def look(number: int) -> tuple[str, str]:
    """(colour, marker) of a line by its number: no two of 36 have both in common."""
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def draw_band(axes: Axes, found: Sequence[tuple[int, Band]], colour: str, label: str) -> None:
    """Draws references behind a curve: a dashed line in its colour, in a grey band of their tolerances."""
    places = [place for place, _ in found]
    low, value, high = zip(*(band for _, band in found), strict=True)
    if len(places) == 1:
        axes.vlines(places, low, high, color=GREY, alpha=2 * ALPHA, linewidth=ALONE, zorder=1, label=label or None)
        return
    axes.fill_between(places, low, high, color=GREY, alpha=ALPHA, linewidth=0, zorder=1, label=label or None)
    axes.plot(places, value, "--", color=colour, linewidth=0.9, zorder=1.5)


def ticks(axes: Axes, places: Iterable[int], are_sizes: bool = True) -> None:
    """Sets a logarithmic axis with at most MOST_TICKS labelled ticks."""
    every = sorted(set(places))
    shown = every[:: -(-len(every) // MOST_TICKS)] if every else []
    axes.set_xscale("log", base=2)
    names = [units.size(place) if are_sizes else str(place) for place in shown]
    axes.set_xticks(shown, names, fontsize=8, rotation=35 if are_sizes else 0)
    axes.minorticks_off()


def add_title(figure: Figure, text: str) -> None:
    """Adds a grey line above a chart."""
    figure.suptitle(clean(text), fontsize=8, color="#555555", x=0.01, ha="left")


def series_of(table: Table) -> Series:
    """The columns of a table that have numbers; an empty message has no place on the axis."""
    found = {
        head: [(size, value.number) for size, value in sorted(values.items()) if size > 0 and value.number]
        for head, values in table.columns.items()
    }
    return {name: points for name, points in found.items() if points}
