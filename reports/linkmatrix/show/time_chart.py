"""A picture of a series over time: a point per run, and a line with its size per change of level.

Other changes, such as the driver, firmware or host, are dotted lines with a number, which the text below explains.
"""

import io
import textwrap
import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from ..errors import clean
from ..runs.series import Change
from . import words
from .plot import DPI, STYLE

WIDTH, HEIGHT = 8.4, 3.6  # inches
LINE = 0.16  # inches of a line of text below
MOST_TEXT = 130  # characters of it
MOST_TOLD = 30  # changes that have a number and a line, the newest; those before them are lines alone
BEYOND = 0.05  # of the time that is shown, at each end
#: What matplotlib has a day for, with a day to spare: a clock may be off by any number of years.
FIRST, LAST = datetime(1, 1, 3, tzinfo=timezone.utc), datetime(9999, 12, 29, tzinfo=timezone.utc)
POINT, LEVEL, CHANGED, EVENT = "#0072b2", "#555555", "#d55e00", "#00664d"  # after Okabe & Ito: for all eyes, in print


def draw(
    title: str,
    started: Sequence[str],
    values: Sequence[float],
    unit: str,
    changes: Sequence[Change],
    changed: Sequence[tuple[int, str]] = (),
) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: values in their unit at ISO times, in order, and the levels between the changes.

    changed: (index of a value, what else changed before it)
    """
    times = [min(max(datetime.fromisoformat(one.replace("Z", "+00:00")), FIRST), LAST) for one in started]
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        numbers = {at: number for number, (at, _) in enumerate(changed[-MOST_TOLD:], 1)}
        height = HEIGHT + LINE * len(numbers)
        figure = Figure(figsize=(WIDTH, height), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        axes.plot(times, values, "o-", color=POINT, markersize=4, linewidth=0.8)
        edges = [0, *(change.at for change in changes), len(values)]
        levels = [*(change.before for change in changes), changes[-1].after] if changes else []
        for level, first, end in zip(levels, edges, edges[1:], strict=False):
            axes.plot([times[first], times[end - 1]], [level, level], color=LEVEL, linewidth=1.6)
        for change in changes:
            axes.axvline(times[change.at], color=CHANGED, linestyle="--", linewidth=1)
            percent = 100 * (change.after / change.before - 1)
            place = (times[change.at], 1.0)
            axes.annotate(f"{percent:+.1f} %", place, xycoords=("data", "axes fraction"), fontsize=8, color=CHANGED)
        for at, _ in changed:
            middle = times[at - 1] + (times[at] - times[at - 1]) / 2
            axes.axvline(middle, color=EVENT, linestyle=":", linewidth=1.2)
            place = (middle, 0.0)
            axes.annotate(f"{numbers.get(at, '')}", place, xycoords=("data", "axes fraction"), fontsize=8, color=EVENT)
        if changed:
            figure.supxlabel(told(changed), fontsize=8, x=0.01, ha="left", color=EVENT)
        axes.set_xlim(*ends(times))
        locator = AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.set_ylabel(words.UNITS[unit])
        axes.grid(color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.suptitle(clean(title), fontsize=9, x=0.01, ha="left")
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_figure(png, dpi=DPI, format="png", metadata={"Software": None})
        FigureCanvasSVG(figure).print_figure(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}


def told(changed: Sequence[tuple[int, str]]) -> str:
    """A line of text for each numbered change."""
    lines = [f"{number}: {clean(text)}" for number, (_, text) in enumerate(changed[-MOST_TOLD:], 1)]
    return "\n".join(textwrap.shorten(line, MOST_TEXT, placeholder=" …") for line in lines)


def ends(times: Sequence[datetime]) -> tuple[datetime, datetime]:
    """The first and last time of the picture."""
    beyond = (max(times) - min(times)) * BEYOND or timedelta(hours=12)
    first = min(times) - min(beyond, min(times) - FIRST)
    last = max(times) + min(beyond, LAST - max(times))
    return (first, last) if first < last else (first, first + timedelta(hours=1))
