"""The page about the coverage of a partition.

The page shows when each node and each pair of leaf switches was last measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ..record import units
from . import html
from .plot import POINT, TIME_SIZE, picture_style, set_dates, style_chart, to_files

if TYPE_CHECKING:
    from ..runs.coverage import Coverage

MAX_LISTED = 500  # nodes, the longest unmeasured first
MAX_PAIRS = 100  # of leaf switches, unmeasured pairs first

Day = tuple[str, int, int]  # an item of `runs.coverage.ages_by_day`


def render(covered: Coverage, days: Sequence[Day], within: int) -> str:
    """Renders the HTML page.

    days: from `ages_by_day`.
    within: a pair counts as covered if its last measurement is at most this number of days old.
    """
    from ..runs.coverage import age

    nodes = sorted(covered.nodes, key=lambda node: (node.tested is not None, node.tested or 0.0, node.name))
    ages = [None if node.tested is None else age(covered.now, node.tested) for node in nodes]
    pairs = sorted(covered.pairs.items(), key=lambda item: (item[1] is not None, item[1] or 0.0, item[0]))
    known = [(pair, None if met is None else age(covered.now, met)) for pair, met in pairs]
    return html.rendered(
        "coverage.html",
        title=f"Coverage of {covered.partition}",
        sentence=covered.sentence(within),
        made=f"{datetime.fromtimestamp(covered.now, timezone.utc):%Y-%m-%d %H:%M} UTC",
        suite=", ".join(covered.suite) or "none: every test case was measured on fewer than half of the nodes",
        picture=html.picture(age_chart(days)),
        days=len(days),
        by_age=counted_by_age(ages),
        nodes=[
            {"name": node.name, "age": age_text(old), "leaf": node.leaf, "why": node.away or node.urgent_reason}
            for node, old in list(zip(nodes, ages, strict=True))[:MAX_LISTED]
        ],
        more_nodes=max(0, len(nodes) - MAX_LISTED),
        pairs_by_age=counted_by_age(old for _, old in known),
        pairs=[{"one": one, "other": other, "age": age_text(old)} for (one, other), old in known[:MAX_PAIRS]],
        more_pairs=max(0, len(known) - MAX_PAIRS),
    )


def age_text(days: int | None) -> str:
    """An age in whole days as text; None: never measured."""
    return "never" if days is None else units.counted(days, "day")


def counted_by_age(ages: Iterable[int | None]) -> list[tuple[str, int]]:
    """[(age, number of items with this age)], the oldest first: [("never", 3), ("9 days", 12), …]."""
    counts = Counter(ages)
    order = sorted(counts, key=lambda days: (days is not None, -(days or 0)))
    return [(age_text(days), counts[days]) for days in order]


def age_chart(days: Sequence[Day]) -> bytes:
    """A chart as PNG: the greatest age of a node, by day. The age is the number of days since its last measurement."""
    with picture_style():
        figure = Figure(figsize=TIME_SIZE, facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        times = [datetime.fromisoformat(day) for day, _, _ in days]
        axes.step(times, [greatest for _, greatest, _ in days], where="post", color=POINT, linewidth=1.4)
        set_dates(axes)
        axes.set_ylabel("greatest age of a node, days")
        axes.set_ylim(bottom=0)
        style_chart(axes)
        return to_files(figure)["png"]
