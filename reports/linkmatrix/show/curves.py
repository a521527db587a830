"""Curves of a test case that was measured in several sizes, or with several numbers of thread blocks.

Their points are what each matrix says of its link classes, as tables and references have it, also where its cells are
in a file: such cells have no rows in runs/table.py, which could be grouped.
"""

import io
import statistics
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ..errors import clean
from ..judge.evaluate import MatrixVerdict
from ..record import units
from ..record.collective import extent_of, is_collective, is_simulation
from ..record.matrix import ClassSummary, from_result
from ..record.reading import Result
from . import reference_band, words
from .plot import DPI, STYLE

LEAST_POINTS = 3  # fewer are no curve
WIDTH, HEIGHT = 8.4, 4.6  # inches
MOST_LINES = 6  # of a legend of one column
LINE = 0.16  # inches of a line of the legend, which stands below
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe & Ito: for all eyes, and in print
MARKERS = "osDv^P"
REFERENCE = "reference and its tolerance"  # in a legend
AXES = {"size_bytes": "bytes of one transfer", "blocks": "thread blocks"}


@dataclass(frozen=True)
class Curve:
    """A test case along `axis`, a key of AXES: its results in rising order, all else the same.

    Each point is the summary of one link class, in the results' unit.
    """

    testcase: str
    axis: str
    results: tuple[Result, ...]

    @property
    def unit(self) -> str:
        """Of all values."""
        return self.results[0]["unit"]

    @property
    def is_of_messages(self) -> bool:
        """Is it of messages between ranks? All tests of a run have one chart of those: `size_chart.py`."""
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
        """What the largest of a sweep says of all sizes, "t = 2.4 µs + B / 395.7 GB/s, at most 4 % off"; "" without."""
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
            if result.get(axis) and not is_simulation(result):  # it has charts of its own
                groups.setdefault(all_but(axis, result), []).append(result)
        for results in groups.values():
            results.sort(key=lambda result: result[axis])
            if len({result[axis] for result in results}) >= LEAST_POINTS:
                found.append(Curve(results[0]["testcase"], axis, tuple(results)))
    return found


def all_but(axis: str, result: Result) -> tuple[Any, ...]:
    """What results of one curve have in common."""
    known = ("size_bytes", "offset", "blocks", "threads", "host_pages", "pairs")
    asked = [result.get(name) for name in known if name != axis]
    return result["testcase"], result["kernel"], *asked


def on_a_curve(record: dict[str, Any]) -> list[Result]:
    """The results that a curve shows, without the last of each, which stands for itself too."""
    return [result for curve in curves_of(record) for result in curve.results[:-1]]


def draw(
    record: dict[str, Any], curves: Iterable[Curve], matrices: Sequence[tuple[Result, MatrixVerdict]] = ()
) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: a picture of curves of one axis and unit.

    Each link class is a line through its medians, in a band from its least to its largest cell. matrices: of the
    record, judged: behind a line stand the references that they were held against, where there are any.
    """
    curves = list(curves)
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        lines = [(curve, name, points) for curve in curves for name, points in curve.points().items()]
        size = (WIDTH, HEIGHT + LINE * -(-len(lines) // legend_columns(len(lines))))
        figure = Figure(figsize=size, facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        label = REFERENCE
        for number, (curve, name, points) in enumerate(lines):
            draw_line(axes, number, curve, name, points)
            if found := references(curve, matrices).get(name):
                reference_band.draw(axes, found, COLOURS[number % len(COLOURS)], label)
                label = ""  # once
        dress(axes, curves[0])
        ran_on = f", {extent_of(record)}" if any(is_collective(curve.results[0]) for curve in curves) else ""
        title = clean(words.provenance(record) + ran_on)
        figure.suptitle(title, fontsize=8, color="#555555", x=0.01, ha="left")
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_figure(png, dpi=DPI, format="png", metadata={"Software": None})
        FigureCanvasSVG(figure).print_figure(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}


def legend_columns(lines: int) -> int:
    """In how many columns a legend of so many lines stands."""
    return 1 if lines <= MOST_LINES else 2


def references(curve: Curve, matrices: Sequence[tuple[Result, MatrixVerdict]]) -> reference_band.Bands:
    """What the results of a curve are held against, by link class."""
    judged = {id(result): matrix for result, matrix in matrices}
    results = [result for result in curve.results if id(result) in judged]
    return reference_band.bands((result[curve.axis], judged[id(result)]) for result in results)


def look(number: int) -> tuple[str, str]:
    """(colour, marker) of a line by its number: no two of 36 have both in common."""
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def draw_line(axes: Axes, number: int, curve: Curve, name: str, points: list[tuple[int, ClassSummary]]) -> None:
    """One link class of one curve."""
    colour, marker = look(number)
    places = [place for place, _ in points]
    said = ": ".join(filter(None, (f"{curve.testcase} {name}", curve.fit())))
    axes.plot(
        places,
        [summary.median for _, summary in points],
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.6,
        label=clean(said),
    )
    axes.fill_between(
        places,
        [summary.low for _, summary in points],
        [summary.high for _, summary in points],
        color=colour,
        alpha=0.2,
        linewidth=0,
    )


def dress(axes: Axes, curve: Curve) -> None:
    """Axes, grid and legend."""
    axes.set_xscale("log", base=2)
    places = sorted({result[curve.axis] for result in curve.results})
    shown = places[:: -(-len(places) // 12)]
    names = [units.size(place) if curve.axis == "size_bytes" else str(place) for place in shown]
    axes.set_xticks(shown, names, fontsize=8, rotation=35 if curve.axis == "size_bytes" else 0)
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(AXES[curve.axis])
    axes.set_ylabel(f"{curve.results[0]['quantity']} ({words.UNITS[curve.unit]})")
    axes.grid(color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda at: labels[at] == REFERENCE)  # behind all curves
    shown, said = [handles[at] for at in order], [labels[at] for at in order]
    axes.get_figure().legend(
        shown, said, fontsize=7.5, frameon=False, loc="outside lower left", ncols=legend_columns(len(said))
    )
