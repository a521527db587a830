"""Charts of test cases over sizes or numbers of thread blocks, and of simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from ..errors import clean
from ..record import units
from ..record.names import body_count, collective_extent, column_devices, is_collective, is_simulation
from . import words
from .matrix_text import bands
from .plot import LINE, picture_style, style_chart, to_files

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Result
    from .by_size import Table
    from .collectives import Curve
    from .matrix_text import Band, Bands

WIDTH, HEIGHT = 8.4, 4.6  # inches, without the legend
MAX_LINES = 6  # of one chart
PANELS_WIDE, PANEL = 3, (3.7, 2.7)  # small charts per row, and their size in inches
MAX_TICKS = 12
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
)  # by Okabe and Ito, for colour-blind readers and print
MARKERS = "osDv^P"
GREY, ALPHA, LINE_WIDTH = "#9aa3ab", 0.3, 7  # of bands; line width, in points, of a band with a single position
REFERENCE = "reference and its tolerance"  # in a legend
MESSAGES = "messages"  # axis of charts of messages
AXES = {"size_bytes": "bytes of one transfer", "blocks": "thread blocks", MESSAGES: "bytes of a message"}
Series = dict[tuple[str, ...], list[tuple[int, float]]]  # {heads of a column: [(size, value)]} in rising order


class Line(NamedTuple):
    """A line of a chart.

    panel: name of the small chart that contains the line. Used only if there are more than MAX_LINES lines.
    points: (position on the axis, value) in rising order.
    spread: (lowest, highest) cell of each point.
    band: (position on the axis, reference with its limits).
    style: line style of matplotlib.
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
    """Draws curves that have the same axis and unit in one chart: {"png": content, "svg": content}.

    Each link class has a line through its medians. A band around the line extends from the lowest to the highest cell.
    matrices: (result, verdicts) of the record, for references.
    """
    lines = []
    for curve in curves:
        known = references(curve, matrices)
        for name, points in curve.points().items():
            label = ": ".join(filter(None, (name, curve.fit())))
            medians = [(place, summary.median) for place, summary in points]
            spread = [(summary.low, summary.high) for _, summary in points]
            lines.append(Line(curve.testcase, label, medians, spread, known.get(name, ())))
    ran_on = f", {collective_extent(record)}" if any(is_collective(curve.results[0]) for curve in curves) else ""
    quantity = f"{curves[0].results[0]['quantity']} ({words.UNITS[curves[0].unit]})"
    return draw(lines, words.provenance(record) + ran_on, curves[0].axis, quantity)


def draw_sizes(table: Table, others: Table | None, title: str) -> dict[str, bytes]:
    """Draws a table of messages: {"png": content, "svg": content}. others: a second table, drawn with dashed lines."""
    lines = []
    for (ranks, *head), points in column_points(table).items():
        band = [(size, one) for size, one in table.bands.get((ranks, *head), ()) if size > 0]
        lines.append(Line(ranks, ", ".join(filter(None, head)), points, band=band))
    if others is not None:
        for (ranks, *head), points in column_points(others).items():
            lines.append(Line(ranks, ", ".join(filter(None, head)), points, style="--"))
    return draw(lines, title, MESSAGES, table.title)


def draw(lines: Sequence[Line], title: str, axis: str, quantity: str) -> dict[str, bytes]:
    """Draws lines: {"png": content, "svg": content}. If there are more than MAX_LINES, each panel has a small chart.

    axis: a key of AXES.
    Charts of messages have a logarithmic value axis. The value axis of latencies is reversed, so that lower is worse in
    every chart.
    """
    panels: dict[str, list[Line]] = {}
    for line in lines:
        panels.setdefault(line.panel if len(lines) > MAX_LINES else "", []).append(line)
    several = len(panels) > 1
    wide = min(PANELS_WIDE, len(panels))
    rows = -(-len(panels) // wide)
    size = (wide * PANEL[0], rows * PANEL[1]) if several else (WIDTH, HEIGHT + LINE * len(lines))
    is_latency = quantity.endswith(f"({words.UNITS['us']})")
    with picture_style():
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
        return to_files(figure)


def draw_panel(axes: Axes, lines: Sequence[Line], several: bool) -> None:
    """Draws lines with spreads and references.

    several: whether there are several charts. Each chart then has its own legend.
    """
    label = REFERENCE
    for number, line in enumerate(lines):
        colour, marker = line_style(number)
        places, values = zip(*line.points, strict=True)
        text = clean(line.label if several else " ".join(filter(None, (line.panel, line.label))))
        axes.plot(places, values, line.style, label=text, color=colour, marker=marker, markersize=3, linewidth=1.4)
        if line.spread:
            axes.fill_between(places, *zip(*line.spread, strict=True), color=colour, alpha=0.2, linewidth=0)
        if line.band:
            draw_band(axes, line.band, colour, label)
            label = ""  # a single entry in the legend
    style_chart(axes)
    if several:
        axes.legend(*legend_of(axes), fontsize=6.5, frameon=False, loc="best")


def legend_of(axes: Axes) -> tuple[list[Any], list[str]]:
    """(handles, labels) of a legend. References come last."""
    found = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda one: one[1] == REFERENCE)
    return [handle for handle, _ in found], [label for _, label in found]


def set_axes(axes: Axes, axis: str, places: Iterable[int], is_latency: bool) -> None:
    """Sets the axes, which all panels share. places: positions on the axis."""
    if axis == MESSAGES:
        set_log_scale(axes)
    else:
        axes.set_ylim(bottom=0)
    if is_latency:
        axes.invert_yaxis()
    ticks(axes, places, are_sizes=axis != "blocks")


def set_log_scale(axes: Axes) -> None:
    """Makes the vertical axis logarithmic, with plain numbers as labels, because powers need TeX."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def references(curve: Curve, matrices: Sequence[tuple[Result, MatrixVerdict]]) -> Bands:
    """The references along a curve: {link class: [(position, band)]}."""
    judged = {id(result): matrix for result, matrix in matrices}
    results = [result for result in curve.results if id(result) in judged]
    return bands((result[curve.axis], judged[id(result)]) for result in results)


def line_style(number: int) -> tuple[str, str]:
    """(colour, marker) of the line with this number. The first 36 combinations are distinct."""
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


def draw_band(axes: Axes, bands: Sequence[tuple[int, Band]], colour: str, label: str) -> None:
    """Draws the references of a line as a dashed line in the same colour, and the tolerances as a grey band."""
    places = [place for place, _ in bands]
    low, value, high = zip(*(band for _, band in bands), strict=True)
    if len(places) == 1:
        axes.vlines(places, low, high, color=GREY, alpha=2 * ALPHA, linewidth=LINE_WIDTH, zorder=1, label=label or None)
        return
    axes.fill_between(places, low, high, color=GREY, alpha=ALPHA, linewidth=0, zorder=1, label=label or None)
    axes.plot(places, value, "--", color=colour, linewidth=0.9, zorder=1.5)


def ticks(axes: Axes, places: Iterable[int], are_sizes: bool = True) -> None:
    """Makes the horizontal axis logarithmic, with up to MAX_TICKS labelled ticks."""
    every = sorted(set(places))
    shown = every[:: -(-len(every) // MAX_TICKS)] if every else []
    axes.set_xscale("log", base=2)
    names = [units.size(place) if are_sizes else str(place) for place in shown]
    axes.set_xticks(shown, names, fontsize=8, rotation=35 if are_sizes else 0)
    axes.minorticks_off()


def add_title(figure: Figure, text: str) -> None:
    """Adds a title in grey above a chart."""
    figure.suptitle(clean(text), fontsize=8, color="#555555", x=0.01, ha="left")


def column_points(table: Table) -> Series:
    """{heading: [(size, value)]} of each column of a table. Size 0 and columns without values are left out."""
    found = {
        head: [(size, value.number) for size, value in sorted(values.items()) if size > 0 and value.number]
        for head, values in table.columns.items()
    }
    return {name: points for name, points in found.items() if points}


SCALING_SIZE = (11.4, 6.6)  # inches
FIGURES = ("time", "efficiency")  # parts of a result


class Point(NamedTuple):
    """A value of a simulation. bodies: in weak scaling, the number of bodies per device."""

    devices: int
    bodies: int
    time: float  # µs of a step
    rate: float  # GFLOP/s
    efficiency: float  # %


class ScalingChart(NamedTuple):
    """A chart of how a simulation scales with the number of devices.

    value: function of a point. Returns the value to draw.
    ideal: function of (point with the fewest devices, factor). Returns the value of ideal scaling.
    The factor is the number of devices, divided by the number of devices of the point. For times in weak scaling, the
    factor is the inverse.
    """

    title: str
    value: Callable[[Point], float]
    ideal: Callable[[Point, float], float]
    is_log: bool


SCALING_CHARTS = (
    ScalingChart("time of a step (s)", lambda point: point.time * 1e-6, lambda first, n: first.time * 1e-6 / n, True),
    ScalingChart("rate (GFLOP/s)", lambda point: point.rate, lambda first, n: first.rate * n, False),
    ScalingChart("efficiency (%)", lambda point: point.efficiency, lambda first, n: first.efficiency, False),
)


def simulations_of(record: dict[str, Any]) -> dict[str, list[Result]]:
    """{test case: its results with at least one point, sorted by number of bodies}."""
    found: dict[str, list[Result]] = {}
    for result in record["results"]:
        if is_simulation(result) and points_of([result]):
            found.setdefault(result["testcase"], []).append(result)
    return {name: sorted(results, key=lambda result: result["size_bytes"]) for name, results in found.items()}


def points_of(results: Iterable[Result]) -> list[Point]:
    """The measured points of `results`."""
    found = []
    for result in results:
        parts = result["parts"]
        if "efficiency" not in parts or "time" not in parts:
            continue
        for at, column in enumerate(result["columns"]):
            rate, *others = (values[0][at] for values in (result["values"], *(parts[n]["values"] for n in FIGURES)))
            known = [rate, *others]
            if result["status"][0][at] == "ok" and None not in known:
                found.append(Point(column_devices(column), body_count(result) or 0, others[0], rate, others[1]))
    return found


def draw_scaling(record: dict[str, Any], results: Sequence[Result]) -> dict[str, bytes]:
    """Draws six charts of a simulation: {"png": content, "svg": content}.

    The charts show time, rate and efficiency. The upper charts have the number of devices on the axis, and a line per
    number of bodies. Dashed lines show ideal scaling. The lower charts have the number of bodies on the axis, and a
    line per number of devices.
    """
    points = points_of(results)
    with picture_style():
        figure = Figure(figsize=SCALING_SIZE, facecolor="white", layout="constrained")
        grid = figure.subplots(2, len(SCALING_CHARTS))
        is_weak = results[0]["testcase"].endswith("_weak")
        for place, chart in enumerate(SCALING_CHARTS):
            draw_by_devices(grid[0][place], chart, points, is_weak)
            draw_by_bodies(grid[1][place], chart, points, is_weak)
        grid[0][0].legend(fontsize=7, frameon=False, loc="best")
        grid[1][0].legend(fontsize=7, frameon=False, loc="best")
        add_title(figure, f"{results[0]['testcase']}, {words.provenance(record)}")
        return to_files(figure)


def draw_by_devices(axes: Axes, chart: ScalingChart, points: list[Point], is_weak: bool) -> None:
    """Draws values over the number of devices, with a line per number of bodies. Dashed: ideal scaling."""
    for number, bodies in enumerate(sorted({point.bodies for point in points})):
        line = sorted((point for point in points if point.bodies == bodies), key=lambda point: point.devices)
        places = [point.devices for point in line]
        label = f"{bodies} bodies{' a device' if is_weak else ''}"
        add_line(axes, number, places, [chart.value(point) for point in line], label)
        # weak scaling: n devices have n times the bodies, and n² times the interactions
        times = [(places[0] / place) if is_weak and chart.is_log else place / places[0] for place in places]
        ideal = [chart.ideal(line[0], n) for n in times]
        axes.plot(places, ideal, color=COLOURS[number % len(COLOURS)], linestyle="--", linewidth=0.8, alpha=0.7)
    finish_scaling(axes, chart, sorted({point.devices for point in points}), "devices")


def draw_by_bodies(axes: Axes, chart: ScalingChart, points: list[Point], is_weak: bool) -> None:
    """Draws the values over the number of bodies: a line per number of devices."""
    for number, devices in enumerate(sorted({point.devices for point in points})):
        line = sorted((point for point in points if point.devices == devices), key=lambda point: point.bodies)
        places = [point.bodies for point in line]
        add_line(axes, number, places, [chart.value(point) for point in line], units.counted(devices, "device"))
    axes.set_xscale("log")
    bodies = sorted({point.bodies for point in points})
    finish_scaling(axes, chart, bodies, "bodies of a device" if is_weak else "bodies", rotation=35)


def add_line(axes: Axes, number: int, places: list[int], values: list[float], label: str) -> None:
    """Draws a line with its points."""
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    axes.plot(places, values, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)


def finish_scaling(axes: Axes, chart: ScalingChart, places: list[int], along: str, rotation: int = 0) -> None:
    """Sets scale, ticks, labels and grid of a chart."""
    axes.set_xticks(places, [str(place) for place in places], fontsize=8, rotation=rotation)
    axes.xaxis.set_minor_locator(NullLocator())
    if chart.is_log:
        set_log_scale(axes)
    else:
        axes.set_ylim(0, 1.05 * axes.dataLim.y1)  # matplotlib's margin is too small for nearly equal values
    axes.set_xlabel(along, fontsize=8)
    axes.set_title(chart.title, fontsize=8.5)
    axes.tick_params(labelsize=8)
    style_chart(axes)
