"""Values over time in a few lines: each run a bar, each change of level, and what else changed with the runs.

What a run was measured with are its software, firmware and host, as its records tell.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..judge.disturbances import beside
from ..judge.inventory_diff import facts_of_nodes
from ..record import units
from ..record.units import figure
from ..runs.changes import change_points
from . import words

BARS = "▁▂▃▄▅▆▇█"
MOST_POINTS = 60  # of a sparkline
MOST_BESIDE = 2  # sentences about others
MOST_CHANGES = 8  # of software, firmware or host that are told: more are no events, but several hosts beside each other


class Point(NamedTuple):
    """A value at a time, with where it is from and what it was measured with, as (fact, value).

    beside: what others did meanwhile, in sentences; "" for nothing that is known.
    """

    started: str
    value: float
    host: str
    source: str
    facts: tuple[tuple[str, str], ...]
    beside: str = ""


def facts_of(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a record was measured with: software, program, kernel, VBIOS, firmware; of several nodes of each."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, name, fact in facts_of_nodes(record):
        found[name].add(fact)
    of_nodes = {name: " and ".join(sorted(facts)) for name, facts in found.items()}
    program = {"program": f"{record['program']} {record['version']}"}
    return tuple(sorted({**of_nodes, **record["software"], **program}.items()))


def changed(points: Sequence[Point]) -> list[tuple[int, str]]:
    """(index, "driver 580.1 -> 590.2") where something else than the value changed from the point before."""
    found = [(at, told) for at in range(1, len(points)) if (told := differences(points[at - 1], points[at]))]
    hosts = sum(points[at - 1].host != points[at].host for at in range(1, len(points)))
    return found if len(found) <= MOST_CHANGES or not hosts else []


def lines(points: list[Point], unit: str) -> Iterator[str]:
    """A sparkline, the range, each change of level with what else changed, and what changed while the level stayed."""
    values = [point.value for point in points]
    decimals, shown = words.DECIMALS[unit], words.UNITS[unit]
    days = f"{points[0].started[:10]} to {points[-1].started[:10]}"
    yield f"{units.counted(len(points), 'run')}, {days}: {sparkline(values)}"
    low, middle, high = min(values), statistics.median(values), max(values)
    summary = f"min {figure(low, decimals)}  median {figure(middle, decimals)}  max {figure(high, decimals)} {shown}"
    yield f"{summary}, newest {figure(values[-1], decimals)}"
    found = change_points(values)
    for change in found:
        before, after = points[change.at - 1], points[change.at]
        percent = 100 * (change.after / change.before - 1)
        worse = (percent > 0) == (unit == "us")
        said = [one for one in (differences(before, after), of_others(before, after)) if one]
        told = ", ".join(said) or "no recorded change explains it"
        yield (
            f"{'!' if worse else '+'} {figure(change.before, decimals)} -> {figure(change.after, decimals)} {shown}"
            f" ({percent:+.1f} %) between {before.started[:16]} and {after.started[:16]}: {told}"
        )
    for at, told in changed(points):
        if at not in {change.at for change in found}:
            yield f"  between {points[at - 1].started[:16]} and {points[at].started[:16]}: {told}"
    if not found and len(points) < 6:
        yield "too few runs to see a change of level: six are needed"


def differences(before: Point, after: Point) -> str:
    """ "driver 580.1 -> 590.2"; "" without a recorded change."""
    old, new = dict(before.facts), dict(after.facts)
    told = [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    told += [f"host {before.host} -> {after.host}"] if before.host != after.host else []
    return ", ".join(told)


def others_beside(result: Mapping[str, Any]) -> str:
    """What other processes did while a result was measured."""
    return "; ".join(units.first(beside(result), MOST_BESIDE))


def of_others(before: Point, after: Point) -> str:
    """That others came or went; "" where they did neither, as far as the records tell."""
    if bool(before.beside) == bool(after.beside):
        return ""
    return f"from then on {after.beside}" if after.beside else f"until then {before.beside}"


def sparkline(values: list[float]) -> str:
    """The last values as bars; of equal values the middle one."""
    last = values[-MOST_POINTS:]
    low, high = min(last), max(last)
    if high - low <= 1e-9 * abs(high):
        return BARS[3] * len(last)
    return "".join(BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)] for value in last)
