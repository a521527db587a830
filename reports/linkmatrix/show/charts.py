"""Charts of test cases that were measured in several sizes, or with several numbers of thread blocks."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..errors import clean
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.collective import extent_of, is_collective, is_simulation
from ..record.matrix import ClassSummary, from_result
from ..record.reading import Result
from . import words
from .by_size import Band, Bands, Table, bands
from .plot import dressed, files_of, styled

LEAST_POINTS = 3  # fewer are no curve
WIDTH, HEIGHT, HEIGHT_OF_MESSAGES = 8.4, 4.6, 5.4  # inches; the legend of messages may have twenty lines
MOST_LINES = 6  # of a legend of one column
LINE = 0.16  # inches of a line of the legend below a chart
MOST_TICKS = 12
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito: for all eyes, and in print
MARKERS = "osDv^P"
GREY, ALPHA, ALONE = "#9aa3ab", 0.3, 7  # of bands; points of a band at one place
REFERENCE = "reference and its tolerance"  # in a legend
AXES = {"size_bytes": "bytes of one transfer", "blocks": "thread blocks"}
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
        """Whether it is of messages between ranks, which have one chart of all tests of a run."""
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
    for axis in AXES:
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
    """The results that a curve shows, without the last of each curve, which has a matrix too."""
    return [result for curve in curves_of(record) for result in curve.results[:-1]]


def draw_curves(
    record: dict[str, Any], curves: Iterable[Curve], matrices: Sequence[tuple[Result, MatrixVerdict]] = ()
) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: a picture of curves of one axis and unit.

    Each link class is a line through its medians, in a band from its least to its largest cell. Behind the line are the
    references. matrices: of the record, judged.
    """
    curves = list(curves)
    with styled():
        lines = [(curve, name, points) for curve in curves for name, points in curve.points().items()]
        columns = 1 if len(lines) <= MOST_LINES else 2  # of the legend
        size = (WIDTH, HEIGHT + LINE * -(-len(lines) // columns))
        figure = Figure(figsize=size, facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        label = REFERENCE
        for number, (curve, name, points) in enumerate(lines):
            draw_curve(axes, number, ": ".join(filter(None, (f"{curve.testcase} {name}", curve.fit()))), points)
            if found := references(curve, matrices).get(name):
                draw_band(axes, found, COLOURS[number % len(COLOURS)], label)
                label = ""  # once
        axis = curves[0].axis
        ticks(axes, {result[axis] for result in curves[0].results}, are_sizes=axis == "size_bytes")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(AXES[axis])
        axes.set_ylabel(f"{curves[0].results[0]['quantity']} ({words.UNITS[curves[0].unit]})")
        dressed(axes)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda at: labels[at] == REFERENCE)  # behind all curves
        shown, texts = [handles[at] for at in order], [labels[at] for at in order]
        figure.legend(shown, texts, fontsize=7.5, frameon=False, loc="outside lower left", ncols=columns)
        ran_on = f", {extent_of(record)}" if any(is_collective(curve.results[0]) for curve in curves) else ""
        add_title(figure, words.provenance(record) + ran_on)
        return files_of(figure)


def references(curve: Curve, matrices: Sequence[tuple[Result, MatrixVerdict]]) -> Bands:
    """The references of the results of a curve, by link class."""
    judged = {id(result): matrix for result, matrix in matrices}
    results = [result for result in curve.results if id(result) in judged]
    return bands((result[curve.axis], judged[id(result)]) for result in results)


def look(number: int) -> tuple[str, str]:
    """(colour, marker) of a line by its number: no two of 36 have both in common."""
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def draw_curve(axes: Axes, number: int, label: str, points: list[tuple[int, ClassSummary]]) -> None:
    """Draws one link class of one curve."""
    (colour, marker), places = look(number), [place for place, _ in points]
    medians = [summary.median for _, summary in points]
    axes.plot(places, medians, color=colour, marker=marker, markersize=4, linewidth=1.6, label=clean(label))
    low, high = [summary.low for _, summary in points], [summary.high for _, summary in points]
    axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)


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
    """Sets a logarithmic axis with at most MOST_TICKS named places."""
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


def draw_sizes(table: Table, others: Table | None, title: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: the columns of a table of messages with their references, and of another one, dashed.

    Both axes are logarithmic.
    """
    solid, dashed = series_of(table), series_of(others) if others is not None else {}
    held = {", ".join(filter(None, head)): band for head, band in table.held.items()}
    label = REFERENCE
    with styled():
        figure = Figure(figsize=(WIDTH, HEIGHT_OF_MESSAGES), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        lines = [*((*item, "-") for item in solid.items()), *((*item, "--") for item in dashed.items())]
        for number, (name, points, style) in enumerate(lines):
            colour, marker = look(number)
            places, values = zip(*points, strict=True)
            text = clean(name)
            axes.plot(places, values, style, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=text)
        for number, name in enumerate(solid):
            if band := [(size, one) for size, one in held.get(name, ()) if size > 0]:
                draw_band(axes, band, COLOURS[number % len(COLOURS)], label)
                label = ""  # once
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # no powers, which TeX would set
        axes.yaxis.set_minor_formatter(NullFormatter())
        ticks(axes, (size for _, points, _ in lines for size, _ in points))
        axes.set_xlabel("bytes of a message")
        axes.set_ylabel(table.title)
        dressed(axes)
        if lines:
            axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        add_title(figure, title)
        return files_of(figure)
