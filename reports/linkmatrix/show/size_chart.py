"""A chart of messages of every size: all tests of a run, and published systems beside them."""

import io
import warnings

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..errors import clean
from ..record import units
from . import reference_band
from .by_size import Table
from .curves import COLOURS, REFERENCE, WIDTH, look
from .plot import DPI, STYLE

HEIGHT = 5.4  # inches: the legend may have twenty lines
MOST_PLACES = 12  # sizes that are named
Series = dict[str, list[tuple[int, float]]]  # name → (size, value) in rising order


def series_of(table: Table) -> Series:
    """The columns of a table, as far as they have numbers; an empty message has no place on the axis."""
    found = {
        ", ".join(filter(None, head)): [
            (size, value.number) for size, value in sorted(values.items()) if size > 0 and value.number
        ]
        for head, values in table.columns.items()
    }
    return {name: points for name, points in found.items() if points}


def draw(table: Table, others: Table | None, title: str) -> dict[str, bytes]:
    """{"png": ..., "svg": ...}: the columns of a table, and of another one, dashed. Both axes are logarithmic.

    Behind a column stand the references that it was held against.
    """
    own, dashed = series_of(table), series_of(others) if others is not None else {}
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        lines = [*((name, points, "-") for name, points in own.items()), *((*item, "--") for item in dashed.items())]
        for number, (name, points, style) in enumerate(lines):
            colour, marker = look(number)
            places, values = zip(*points, strict=True)
            axes.plot(
                places, values, style, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=clean(name)
            )
        held = {", ".join(filter(None, head)): band for head, band in table.held.items()}
        for number, name in enumerate(name for name in own if name in held):
            band = [(size, one) for size, one in held[name] if size > 0]
            if band:
                colour = COLOURS[list(own).index(name) % len(COLOURS)]
                reference_band.draw(axes, band, colour, "" if number else REFERENCE)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # no powers, which TeX would set
        axes.yaxis.set_minor_formatter(NullFormatter())
        places = sorted({size for _, points, _ in lines for size, _ in points})
        shown = places[:: -(-len(places) // MOST_PLACES)] if places else []
        axes.set_xticks(shown, [units.size(place) for place in shown], fontsize=8, rotation=35)
        axes.minorticks_off()
        axes.set_xlabel("bytes of a message")
        axes.set_ylabel(table.title)
        axes.grid(color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if lines:
            axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(clean(title), fontsize=8, color="#555555", x=0.01, ha="left")
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_figure(png, dpi=DPI, format="png", metadata={"Software": None})
        FigureCanvasSVG(figure).print_figure(svg, format="svg", metadata={"Date": None, "Creator": None})
    return {"png": png.getvalue(), "svg": svg.getvalue()}
