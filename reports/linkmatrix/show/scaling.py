"""Charts of a simulation on several numbers of devices: time, rate and efficiency, by devices and by bodies.

A picture per test case has six charts. The upper three have a line for each number of bodies, with a dashed line for a
run without losses. The lower three have a line for each number of devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from ..record.names import bodies_of, devices_of, is_simulation
from ..record.units import counted
from . import words
from .charts import COLOURS, MARKERS, add_title
from .plot import dressed, files_of, styled

if TYPE_CHECKING:
    from ..record.names import Result

WIDTH, HEIGHT = 11.4, 6.6  # inches
FIGURES = ("time", "efficiency")  # parts of a result


class Point(NamedTuple):
    """The result of one number of devices with one number of bodies; of a weak scaling, bodies per device."""

    devices: int
    bodies: int
    time: float  # µs of a step
    rate: float  # GFLOP/s
    efficiency: float  # %


class Chart(NamedTuple):
    """A column of the picture. ideal: the value of n times the devices of the first point, without losses."""

    title: str
    value: Callable[[Point], float]
    ideal: Callable[[Point, float], float]
    is_log: bool


CHARTS = (
    Chart("time of a step (s)", lambda point: point.time * 1e-6, lambda first, n: first.time * 1e-6 / n, True),
    Chart("rate (GFLOP/s)", lambda point: point.rate, lambda first, n: first.rate * n, False),
    Chart("efficiency (%)", lambda point: point.efficiency, lambda first, n: first.efficiency, False),
)


def simulations_of(record: dict[str, Any]) -> dict[str, list[Result]]:
    """{test case: its results, bodies rising} of those that can be drawn: something of them was measured."""
    found: dict[str, list[Result]] = {}
    for result in record["results"]:
        if is_simulation(result) and points_of([result]):
            found.setdefault(result["testcase"], []).append(result)
    return {name: sorted(results, key=lambda result: result["size_bytes"]) for name, results in found.items()}


def points_of(results: Iterable[Result]) -> list[Point]:
    """The points that were measured with correct data and an efficiency."""
    found = []
    for result in results:
        parts = result["parts"]
        if "efficiency" not in parts or "time" not in parts:
            continue
        for at, column in enumerate(result["columns"]):
            rate, *others = (values[0][at] for values in (result["values"], *(parts[n]["values"] for n in FIGURES)))
            known = [rate, *others]
            if result["status"][0][at] == "ok" and None not in known:
                found.append(Point(devices_of(column), bodies_of(result) or 0, others[0], rate, others[1]))
    return found


def draw(record: dict[str, Any], results: Sequence[Result]) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: the picture of a test case."""
    points = points_of(results)
    with styled():
        figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white", layout="constrained")
        grid = figure.subplots(2, len(CHARTS))
        is_weak = results[0]["testcase"].endswith("_weak")
        for place, chart in enumerate(CHARTS):
            by_devices(grid[0][place], chart, points, is_weak)
            by_bodies(grid[1][place], chart, points, is_weak)
        grid[0][0].legend(fontsize=7, frameon=False, loc="best")
        grid[1][0].legend(fontsize=7, frameon=False, loc="best")
        add_title(figure, f"{results[0]['testcase']}, {words.provenance(record)}")
        return files_of(figure)


def by_devices(axes: Axes, chart: Chart, points: list[Point], is_weak: bool) -> None:
    """A line for each number of bodies, and a dashed line for a simulation without losses."""
    for number, bodies in enumerate(sorted({point.bodies for point in points})):
        line = sorted((point for point in points if point.bodies == bodies), key=lambda point: point.devices)
        places = [point.devices for point in line]
        label = f"{bodies} bodies{' a device' if is_weak else ''}"
        add_line(axes, number, places, [chart.value(point) for point in line], label)
        # n devices have n² times the interactions where each has as many bodies as one
        times = [(places[0] / place) if is_weak and chart.is_log else place / places[0] for place in places]
        ideal = [chart.ideal(line[0], n) for n in times]
        axes.plot(places, ideal, color=COLOURS[number % len(COLOURS)], linestyle="--", linewidth=0.8, alpha=0.7)
    finish(axes, chart, sorted({point.devices for point in points}), "devices")


def by_bodies(axes: Axes, chart: Chart, points: list[Point], is_weak: bool) -> None:
    """A line for each number of devices."""
    for number, devices in enumerate(sorted({point.devices for point in points})):
        line = sorted((point for point in points if point.devices == devices), key=lambda point: point.bodies)
        places = [point.bodies for point in line]
        add_line(axes, number, places, [chart.value(point) for point in line], counted(devices, "device"))
    axes.set_xscale("log")
    bodies = sorted({point.bodies for point in points})
    finish(axes, chart, bodies, "bodies of a device" if is_weak else "bodies", rotation=35)


def add_line(axes: Axes, number: int, places: list[int], values: list[float], label: str) -> None:
    """Draws a line with its points."""
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    axes.plot(places, values, color=colour, marker=marker, markersize=4, linewidth=1.4, label=label)


def finish(axes: Axes, chart: Chart, places: list[int], along: str, rotation: int = 0) -> None:
    """Sets scale, ticks, labels and grid."""
    axes.set_xticks(places, [str(place) for place in places], fontsize=8, rotation=rotation)
    axes.xaxis.set_minor_locator(NullLocator())
    if chart.is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # no powers, which TeX would set
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, 1.05 * axes.dataLim.y1)  # matplotlib's own margin is too small where values are alike
    axes.set_xlabel(along, fontsize=8)
    axes.set_title(chart.title, fontsize=8.5)
    axes.tick_params(labelsize=8)
    dressed(axes)
