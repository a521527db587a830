"""Charts of test cases that were measured in several sizes, or with several numbers of thread blocks."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..errors import clean
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.matrix import ClassSummary, from_result
from ..record.names import Result, extent_of, is_collective, is_simulation
from . import words
from .by_size import Band, Bands, Table, bands
from .plot import dressed, files_of, styled

LEAST_POINTS = 3  # fewer are no curve
WIDTH, HEIGHT = 8.4, 4.6  # inches, without the legend
MOST_LINES = 6  # of a legend of one column
LINE = 0.16  # inches of a line of the legend below a chart
MOST_TICKS = 12
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito: for all eyes, and in print
MARKERS = "osDv^P"
GREY, ALPHA, ALONE = "#9aa3ab", 0.3, 7  # of bands; points of a band at one place
REFERENCE = "reference and its tolerance"  # in a legend
MESSAGES = "messages"  # axis of the chart of all messages
AXES = {"size_bytes": "bytes of one transfer", "blocks": "thread blocks", MESSAGES: "bytes of a message"}
Series = dict[str, list[tuple[int, float]]]  # name → (size, value) in rising order


@dataclass(frozen=True)
class Curve:
    """A test case along `axis`, a key of AXES: its results in rising order, all else the same."""

    testcase: str
    axis: str
    results: tuple[Result, ...]

    @property
    def unit(self) -> str:
        """The unit of all values."""
        return self.results[0]["unit"]

    @property
    def is_of_messages(self) -> bool:
        """Whether the curve shows messages between ranks. All tests of a run share one chart of such curves."""
        result = self.results[0]
        return self.axis == "size_bytes" and result["engine"] == "mpi" and not is_collective(result)

    def points(self) -> dict[str, list[tuple[int, ClassSummary]]]:
        """{link class: [(place on the axis, its cells)]}."""
        found: dict[str, list[tuple[int, ClassSummary]]] = {}
        for result in self.results:
            for name, summary in from_result(result).classes.items():
                found.setdefault(name, []).append((result[self.axis], summary))
        return found

    def fit(self) -> str:
        """ "t = 2.4 µs + B / 395.7 GB/s, at most 4 % off" of all sizes of a sweep; "" without a fit."""
        parts = self.results[-1]["parts"]
        if self.axis != "size_bytes" or "fit_error" not in parts:
            return ""
        rate, overhead, error = (
            [value for row in parts[name]["values"] for value in row if value is not None]
            for name in ("fit_bandwidth", "fit_overhead", "fit_error")
        )
        if not rate:
            return ""
        line = f"t = {statistics.median(overhead):.1f} µs + B / {statistics.median(rate):.1f} GB/s"
        return f"{line}, at most {max(error):.0f} % off"


def curves_of(record: dict[str, Any]) -> list[Curve]:
    """All curves of a checked record, in its order."""
    found = []
    for axis in ("size_bytes", "blocks"):
        groups: dict[tuple[Any, ...], list[Result]] = {}
        for result in record["results"]:
            if result.get(axis) and not is_simulation(result):  # simulations have other charts
                known = ("size_bytes", "offset", "blocks", "threads", "host_pages", "pairs")
                alike = (result.get(name) for name in known if name != axis)
                groups.setdefault((result["testcase"], result["kernel"], *alike), []).append(result)
        for results in groups.values():
            results.sort(key=lambda result: result[axis])
            if len({result[axis] for result in results}) >= LEAST_POINTS:
                found.append(Curve(results[0]["testcase"], axis, tuple(results)))
    return found


def on_a_curve(record: dict[str, Any]) -> list[Result]:
    """The results that a curve shows, except the last result of each curve, which is also shown as a matrix."""
    return [result for curve in curves_of(record) for result in curve.results[:-1]]


class Line(NamedTuple):
    """A line of a chart.

    points: (place on the axis, value) in rising order. spread: (least, largest) cell of each point. band: references.
    """

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
            label = ": ".join(filter(None, (f"{curve.testcase} {name}", curve.fit())))
            medians = [(place, summary.median) for place, summary in points]
            spread = [(summary.low, summary.high) for _, summary in points]
            lines.append(Line(label, medians, spread, held.get(name, ())))
    ran_on = f", {extent_of(record)}" if any(is_collective(curve.results[0]) for curve in curves) else ""
    quantity = f"{curves[0].results[0]['quantity']} ({words.UNITS[curves[0].unit]})"
    return draw(lines, words.provenance(record) + ran_on, curves[0].axis, quantity)


def draw_sizes(table: Table, others: Table | None, title: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: the columns of a table of messages with references, and of another table, dashed."""
    held = {", ".join(filter(None, head)): band for head, band in table.held.items()}
    lines = []
    for name, points in series_of(table).items():
        lines.append(Line(name, points, band=[(size, one) for size, one in held.get(name, ()) if size > 0]))
    if others is not None:
        lines += [Line(name, points, style="--") for name, points in series_of(others).items()]
    return draw(lines, title, MESSAGES, table.title)


def draw(lines: Sequence[Line], title: str, axis: str, quantity: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: a chart; axis: a key of AXES. Values of messages have a logarithmic axis."""
    label = REFERENCE
    columns = 1 if len(lines) <= MOST_LINES else 2  # of the legend
    height = HEIGHT + LINE * -(-len(lines) // columns)
    with styled():
        figure = Figure(figsize=(WIDTH, height), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for number, line in enumerate(lines):
            colour, marker = look(number)
            places, values = zip(*line.points, strict=True)
            text, style = clean(line.label), {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.5}
            axes.plot(places, values, line.style, label=text, **style)
            if line.spread:
                axes.fill_between(places, *zip(*line.spread, strict=True), color=colour, alpha=0.2, linewidth=0)
            if line.band:
                draw_band(axes, line.band, colour, label)
                label = ""  # once
        if axis == MESSAGES:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # no powers, as TeX sets them
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(bottom=0)
        ticks(axes, {place for line in lines for place, _ in line.points}, are_sizes=axis != "blocks")
        axes.set_xlabel(AXES[axis])
        axes.set_ylabel(quantity)
        dressed(axes)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda at: labels[at] == REFERENCE)  # behind all curves
        shown, texts = [handles[at] for at in order], [labels[at] for at in order]
        figure.legend(shown, texts, fontsize=7.5, frameon=False, loc="outside lower left", ncols=columns)
        add_title(figure, title)
        return files_of(figure)


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
        ", ".join(filter(None, head)): [
            (size, value.number) for size, value in sorted(values.items()) if size > 0 and value.number
        ]
        for head, values in table.columns.items()
    }
    return {name: points for name, points in found.items() if points}
