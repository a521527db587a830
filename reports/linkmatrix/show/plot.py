"""Heat maps of matrices, and charts of series over time, as PNG and SVG.

The pictures are legible in print and for colour-blind readers. Characters such as '$' in names are drawn, not parsed as
mathematics. No window system is needed.
"""

from __future__ import annotations

import contextlib
import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..errors import clean
from ..files import write_whole
from ..judge.verdicts import Verdict
from ..record.names import simulated_fault
from ..record.units import figure
from . import matrix_text, words
from .matrix_text import MAX_ENDPOINTS, common_scale

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from ..record.names import Result
    from ..runs.series import Change

MAX_DRAWN = 128 * 128  # cells with frames and glyphs
CELL_WIDTH, CELL_HEIGHT = 0.80, 0.50  # inches, of a cell with its value
MAX_INCHES = 11.0  # height and width of the cells of a larger matrix
LEFT, RIGHT, TOP, BOTTOM = 1.05, 1.25, 1.25, 0.2  # inches around the cells
MIN_WIDTH = 7.2  # inches: room for the title above a small matrix
DPI = 110
MAX_DEVIATION = 10.0  # percent, worse and better: the ends of the scale of every map of deviations
MAX_MARKED = 128  # endpoints of a map of deviations in which failed cells have a glyph
MAX_RINGS = 200  # cells of a larger map that are marked with rings
#: The colours of the page's tables and of the terminal, from 10 % worse to 10 % better.
WORSE_TO_BETTER = LinearSegmentedColormap.from_list(
    "worse_to_better", ["#a84300", "#f28e2b", "#ffd8a8", "#f4f4f4", "#d6eaf8", "#8cc4e8", "#1f5fa8"]
)
GREY, HATCH, OUTLINE = "#d4d4d4", "#9a9a9a", "#e8590c"
STYLE = {
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "sans-serif",
    "font.size": 9.0,
    "svg.hashsalt": "linkmatrix",  # makes files reproducible
    "hatch.linewidth": 0.8,
}


def heat_map(
    record: dict[str, Any],
    result: Result,
    matrix: MatrixVerdict,
    scale: tuple[float, float] | None = None,
    verdict: Verdict | None = None,
) -> dict[str, bytes]:
    """Draws the heat map of a matrix: {"png": content, "svg": content}.

    scale: (value of the first colour, value of the last colour); default: the scale of this matrix.
    verdict: the verdict of the test case; default: the verdict of the matrix.
    """
    with picture_style():
        figure = draw(result, matrix, scale or common_scale([matrix.matrix]) or (0.0, 1.0))
        draw_title(figure, record, result, matrix.verdict if verdict is None else verdict)
        return to_files(figure)


def deviation_map(
    record: dict[str, Any], result: Result, matrix: MatrixVerdict, verdict: Verdict | None = None
) -> dict[str, bytes]:
    """Draws the map of deviations of a matrix: {"png": content, "svg": content}. verdict: see `heat_map`."""
    with picture_style():
        figure = draw_deviations(matrix)
        draw_title(figure, record, result, matrix.verdict if verdict is None else verdict)
        return to_files(figure)


@contextlib.contextmanager
def picture_style() -> Iterator[None]:
    """Applies the style of all pictures, without warnings about characters that no font contains."""
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def style_chart(axes: Axes) -> None:
    """Adds the grid of a chart and removes its frame."""
    axes.grid(color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def to_files(figure: Figure) -> dict[str, bytes]:
    """{"png": content, "svg": content} of a picture. The same picture always has the same contents."""
    png, svg = io.BytesIO(), io.BytesIO()
    FigureCanvasAgg(figure).print_figure(png, dpi=DPI, format="png", metadata={"Software": None})
    FigureCanvasSVG(figure).print_figure(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}


def save(pictures: dict[str, bytes], folder: Path, name: str) -> list[Path]:
    """Writes pictures to folder/name.png and folder/name.svg, and returns the paths. Raises OSError."""
    paths = [folder / f"{name}.{kind}" for kind in pictures]
    for path, content in zip(paths, pictures.values(), strict=True):
        write_whole(path, content)
    return paths


def draw(result: Result, matrix: MatrixVerdict, scale: tuple[float, float]) -> Figure:
    """The heat map without its title. In a large matrix, FAIL cells have a separate colour."""
    assert matrix.whole is not None
    figure, axes = frame(matrix.matrix)
    # the dark end is worse in both metrics
    normal = Normalize(*scale)
    colours = matplotlib.colormaps["viridis_r" if result["unit"] == "us" else "viridis"]
    values = matrix.matrix.whole.values
    picture = colours(normal(np.nan_to_num(values)))
    if values.size > MAX_DRAWN:
        picture[matrix.whole.codes == Verdict.FAIL] = matplotlib.colors.to_rgba(OUTLINE)
    show_cells(axes, matrix, picture, np.isfinite(values))
    for row, column in np.argwhere(matrix.matrix.whole.applies).tolist() if values.size <= MAX_DRAWN else ():
        draw_cell(axes, result, matrix, (row, column), tuple(picture[row, column]))
    add_bar(figure, axes, ScalarMappable(normal, colours), words.UNITS[result["unit"]])
    return figure


def show_cells(axes: Axes, matrix: MatrixVerdict, picture: np.ndarray, measured: np.ndarray) -> None:
    """Draws the colours of all cells: white without a value, grey for cells that the test case leaves out."""
    picture[~measured] = (1.0, 1.0, 1.0, 1.0)
    picture[~matrix.matrix.whole.applies] = matplotlib.colors.to_rgba(GREY)
    rows, columns = measured.shape
    axes.imshow(picture, extent=(0, columns, rows, 0), aspect="auto", interpolation="nearest")


def draw_deviations(matrix: MatrixVerdict) -> Figure:
    """The map of deviations without its title: orange is worse, blue is better."""
    assert matrix.whole is not None
    figure, axes = frame(matrix.matrix)
    normal = Normalize(-MAX_DEVIATION, MAX_DEVIATION)
    worse = 100 * matrix.whole.worse
    show_cells(axes, matrix, WORSE_TO_BETTER(normal(-np.nan_to_num(worse))), np.isfinite(worse))
    if max(worse.shape) <= MAX_MARKED:
        for verdict in words.STRIKING:
            for row, column in np.argwhere(matrix.whole.codes == verdict).tolist():
                axes.text(column + 0.5, row + 0.5, words.GLYPHS[verdict], ha="center", va="center", fontsize=6)
    bad = np.argwhere(np.nan_to_num(worse) >= MAX_DEVIATION)
    if max(worse.shape) > MAX_MARKED and 0 < len(bad) <= MAX_RINGS:
        axes.scatter(bad[:, 1] + 0.5, bad[:, 0] + 0.5, s=30, facecolors="none", edgecolors=OUTLINE, linewidths=1.2)
    bar = add_bar(figure, axes, ScalarMappable(normal, WORSE_TO_BETTER), "% worse … better", extend="both")
    bar.ax.set_yticks([-10, -5, -2, 0, 2, 5, 10])
    return figure


def fits(matrix: Matrix) -> bool:
    """Whether the cells of a matrix are large enough to contain their values."""
    return max(len(matrix.rows), len(matrix.columns)) <= MAX_ENDPOINTS


def frame(matrix: Matrix) -> tuple[Figure, Axes]:
    """An empty picture for the cells of a matrix, with the names of the endpoints on its axes."""
    rows, columns = len(matrix.rows), len(matrix.columns)
    size = (CELL_WIDTH, CELL_HEIGHT) if fits(matrix) else (MAX_INCHES / max(rows, columns),) * 2
    body_width, body_height = columns * size[0], rows * size[1]
    width, height = max(LEFT + body_width + RIGHT, MIN_WIDTH), TOP + body_height + BOTTOM
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((LEFT / width, BOTTOM / height, body_width / width, body_height / height))
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    label_axes(axes, matrix, fits(matrix))
    return figure, axes


def add_bar(figure: Figure, axes: Axes, colours: ScalarMappable, label: str, extend: str = "neither") -> Colorbar:
    """Adds the colour scale, to the right of the cells."""
    (width, height), body = figure.get_size_inches(), axes.get_position()
    bar_axes = figure.add_axes((body.x1 + 0.2 / width, body.y0, 0.16 / width, body.height))
    bar = figure.colorbar(colours, cax=bar_axes, extend=extend)
    bar.ax.locator_params(nbins=max(2, min(7, int(body.height * height / 0.35))))
    bar.ax.ticklabel_format(useOffset=False)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize=8)
    return bar


def draw_title(figure: Figure, record: dict[str, Any], result: Result, verdict: Verdict) -> None:
    """Adds the title above the cells: test case, verdict, quantity, machine and time."""
    width, height = figure.get_size_inches()
    badge = f"{words.GLYPHS[verdict]} {words.WORDS[verdict]}"
    fault = simulated_fault(record)
    lines = [
        (clean(f"SIMULATED {fault}: {result['testcase']}" if fault else result["testcase"]), 11.5, "bold", "black"),
        (f"{badge}   {clean(matrix_text.title(result))}", 9, "normal", "black"),
        (clean(words.provenance(record)), 8, "normal", "#555555"),
    ]
    y = 0.12
    for text, points, weight, colour in lines:
        most = int((width - 0.3) * 72 / (points * 0.56))
        shown = textwrap.wrap(text, most, max_lines=1, placeholder=" …") or [""]
        style = {"fontsize": points, "fontweight": weight, "color": colour, "va": "top", "ha": "left"}
        figure.text(0.15 / width, 1 - y / height, shown[0], **style)
        y += points * 1.5 / 72


def draw_cell(
    axes: Axes, result: Result, matrix: MatrixVerdict, at: tuple[int, int], face: tuple[float, float, float, float]
) -> None:
    """Draws a cell: its value or hatches, a frame for FAIL and DISTURBED, and a glyph. face: colour of the cell."""
    assert matrix.whole is not None
    (row, column), has_room = at, fits(matrix.matrix)
    value, status = float(matrix.matrix.whole.values[at]), matrix.matrix.status_at(row, column)
    verdict, missing = Verdict(matrix.whole.codes[at]), np.isnan(value) or status != "ok"
    if missing:
        face = (1.0, 1.0, 1.0, 1.0)
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=face, linewidth=0.8, hatch="////", edgecolor=HATCH))
    if verdict in words.STRIKING:
        inset = 0.04
        outline = Rectangle((column + inset, row + inset), 1 - 2 * inset, 1 - 2 * inset, fill=False, zorder=3)
        outline.set(edgecolor=OUTLINE, linewidth=2.4 if has_room else 1.2)
        outline.set(linestyle="solid" if verdict is Verdict.FAIL else (0, (3, 1.5)))  # the glyphs differ too
        axes.add_patch(outline)
    glyph = words.GLYPHS[verdict] if verdict in words.MARKED else ""
    label = status if missing else figure(value, 1 if value >= 1000 else words.DECIMALS[result["unit"]])
    if text := " ".join(filter(None, (label if has_room else "", glyph))):
        points = (7.5 if len(text) <= 9 else 6.5) if has_room else max(3.0, 60.0 / max(len(matrix.matrix.rows), 1))
        style: dict[str, Any] = {"fontsize": points, "fontweight": "bold" if glyph else "normal"}
        if missing:
            style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink(face), zorder=4, **style)


def ink(face: tuple[float, float, float, float]) -> str:
    """The text colour with the higher contrast on `face`: "black" or "white" (relative luminance of WCAG 2)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in face[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "white"


def label_axes(axes: Axes, matrix: Matrix, fits: bool) -> None:
    """Adds names of endpoints: sources on the left, destinations above. fits: whether all names are shown."""
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    for which, labels, word in ((axes.xaxis, matrix.columns, "destination"), (axes.yaxis, matrix.rows, "source")):
        step = 1 if fits else -(-len(labels) // MAX_ENDPOINTS)
        places = range(0, len(labels), step)
        which.set_ticks([place + 0.5 for place in places])
        which.set_ticklabels([words.short_label(labels[place]) for place in places], fontsize=8.5)
        which.set_label_text(word, fontsize=8, color="#555555")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


TIME_SIZE = (8.4, 3.6)  # inches of a chart over time
LINE = 0.16  # inches of a line of text below the chart
MAX_TEXT = 130  # characters of a line of text
MAX_EVENTS = 30  # newest events, which have a number and a line of text; earlier events are only dotted lines
BEYOND = 0.05  # margin at each end of the time axis, as a share of the shown time
#: The first and last time that matplotlib can draw, with a margin of a day. A clock can be wrong by many years.
FIRST, LAST = datetime(1, 1, 3, tzinfo=timezone.utc), datetime(9999, 12, 29, tzinfo=timezone.utc)
POINT, LEVEL, CHANGED, EVENT = (
    "#0072b2",
    "#555555",
    "#d55e00",
    "#00664d",
)  # by Okabe and Ito, for colour-blind readers and print


def draw_series(
    title: str,
    started: Sequence[str],
    values: Sequence[float],
    unit: str,
    changes: Sequence[Change],
    events: Sequence[tuple[int, str]] = (),
) -> dict[str, bytes]:
    """Draws a chart over time: {"png": content, "svg": content}. Each change of level is a line with its percentage.

    started: ISO times of the values, in order.
    values: in `unit`.
    events: (index of a value, recorded change before this value), drawn as numbered dotted lines with a legend.
    """
    times = [min(max(datetime.fromisoformat(one.replace("Z", "+00:00")), FIRST), LAST) for one in started]
    with picture_style():
        numbers = {at: number for number, (at, _) in enumerate(events[-MAX_EVENTS:], 1)}
        figure = Figure((TIME_SIZE[0], TIME_SIZE[1] + LINE * len(numbers)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        axes.plot(times, values, "o-", color=POINT, markersize=4, linewidth=0.8)
        edges = [0, *(change.at for change in changes), len(values)]
        levels = [*(change.before for change in changes), changes[-1].after] if changes else []
        for level, first, end in zip(levels, edges, edges[1:], strict=False):
            axes.plot([times[first], times[end - 1]], [level, level], color=LEVEL, linewidth=1.6)
        for change in changes:
            axes.axvline(times[change.at], color=CHANGED, linestyle="--", linewidth=1)
            percent = f"{100 * (change.after / change.before - 1):+.1f} %"
            place = (times[change.at], 1.0)
            axes.annotate(percent, place, xycoords=("data", "axes fraction"), fontsize=8, color=CHANGED)
        for at, _ in events:
            middle = times[at - 1] + (times[at] - times[at - 1]) / 2
            axes.axvline(middle, color=EVENT, linestyle=":", linewidth=1.2)
            place = (middle, 0.0)
            axes.annotate(f"{numbers.get(at, '')}", place, xycoords=("data", "axes fraction"), fontsize=8, color=EVENT)
        if events:
            figure.supxlabel(event_lines(events), fontsize=8, x=0.01, ha="left", color=EVENT)
        axes.set_xlim(*time_range(times))
        set_dates(axes)
        axes.set_ylabel(words.UNITS[unit])
        style_chart(axes)
        figure.suptitle(clean(title), fontsize=9, x=0.01, ha="left")
        return to_files(figure)


def set_dates(axes: Axes) -> None:
    """Labels the horizontal axis with dates."""
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def event_lines(events: Sequence[tuple[int, str]]) -> str:
    """A line per event, for the newest MAX_EVENTS events: "1: driver 580.1 -> 590.2"."""
    lines = [f"{number}: {clean(text)}" for number, (_, text) in enumerate(events[-MAX_EVENTS:], 1)]
    return "\n".join(textwrap.shorten(line, MAX_TEXT, placeholder=" …") for line in lines)


def time_range(times: Sequence[datetime]) -> tuple[datetime, datetime]:
    """(first, last) time on the axis of a chart."""
    beyond = (max(times) - min(times)) * BEYOND or timedelta(hours=12)
    first = min(times) - min(beyond, min(times) - FIRST)
    last = max(times) + min(beyond, LAST - max(times))
    return (first, last) if first < last else (first, first + timedelta(hours=1))
