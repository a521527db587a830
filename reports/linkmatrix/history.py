"""`linkmatrix history`: values over time from ReFrame's reports and kept records, and where their level changed.

A change of level is told with what changed in between: driver, CUDA, MPI, kernel, program, host. A single outlier is
none. `--fleet` puts the newest figures of all hosts beside each other, the worst first.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from . import explain, runs
from .changes import change_points
from .errors import BadInput, clean
from .runs import Test

NOTHING = 3
BARS = "▁▂▃▄▅▆▇█"
MOST_POINTS = 60  # of a sparkline
MOST_ROWS = 20


class Point(NamedTuple):
    """A value at a time, with where it is from and what it was measured with."""

    started: str
    value: float
    host: str
    source: str
    software: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Choice:
    """Which cells of a matrix are a series: a pair, those of a source, destination, node or class; else each class."""

    cell: tuple[str, str] | None = None
    row: str = ""
    column: str = ""
    link_class: str = ""
    node: str = ""

    @property
    def name(self) -> str:
        """What was chosen, in words; "" for each link class."""
        named = {"row": self.row, "column": self.column, "node": self.node}
        said = next((f"{word} {value}" for word, value in named.items() if value), "")
        return f"{self.cell[0]}->{self.cell[1]}" if self.cell else said


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `history`."""
    command.add_argument("paths", nargs="*", type=Path, metavar="RUN", help="default: all stored reports")
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this one; several times")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cell", metavar="A->B", help="one pair")
    what.add_argument("--row", metavar="A", help="the median of what A sends")
    what.add_argument("--column", metavar="B", help="the median of what B receives")
    what.add_argument("--node", metavar="N", help="the median of what a node sends and receives")
    command.add_argument("--class", dest="link_class", default="", metavar="NV18", help="only this link class")
    command.add_argument("--since", metavar="DATE", help="only runs that started on 2026-11-21 or later")
    command.add_argument("--system", metavar="S:P", help="only this system and partition")
    command.add_argument("--fleet", action="store_true", help="the newest figure of each host, the worst first")
    command.set_defaults(command=run_history)


def run_history(options: argparse.Namespace) -> int:
    """Prints a block for each series. Raises BadInput."""
    choice = choice_of(options)
    found = series(tests_of(options), choice, set(options.testcase or ()))
    if not found:
        print("There is no run with such cells: measure first, or choose others.")
        return NOTHING
    for (testcase, size, unit, group), points in found.items():
        points = sorted(points)
        title = f"{testcase} ({explain.size(size)}), {' '.join(filter(None, [choice.name, group]))}"
        lines = fleet(points, unit) if options.fleet else over_time(points, unit)
        print(clean(title))
        for line in lines:
            print(f"  {clean(line)}")
    return 0


def choice_of(options: argparse.Namespace) -> Choice:
    """What the options ask for. Raises BadInput."""
    cell = None
    if options.cell:
        pair = options.cell.split("->")
        if len(pair) != 2 or not all(pair):
            raise BadInput(f"--cell '{options.cell}' is no pair: write it as gpu0->gpu1, in quotes")
        cell = (pair[0], pair[1])
    return Choice(cell, options.row or "", options.column or "", options.link_class, options.node or "")


def tests_of(options: argparse.Namespace) -> Iterator[Test]:
    """The tests with records that the options choose. Raises BadInput."""
    if options.since:
        try:
            date.fromisoformat(options.since)
        except ValueError:
            raise BadInput(f"--since '{options.since}' is no date: write it as 2026-11-21") from None
    for path in options.paths or runs.reports(runs.prefix()):
        for test in runs.find(path).tests:
            wanted = test.record is not None and (not options.system or test.partition == options.system)
            if wanted and (not options.since or test.record["started"] >= options.since):
                yield test


def series(
    tests: Iterable[Test], choice: Choice, testcases: set[str]
) -> dict[tuple[str, int | None, str, str], list[Point]]:
    """{(test case, size, unit, link class): points}; each is the median of the chosen cells of a run."""
    found: dict[tuple[str, int | None, str, str], list[Point]] = {}
    for test in tests:
        record = test.record or {}
        nodes = {device["label"]: device["node"] for device in record["devices"]}
        software = tuple(sorted({**record["software"], "program": f"{record['program']} {record['version']}"}.items()))
        for result in record["results"]:
            if testcases and result["testcase"] not in testcases:
                continue
            for group, values in chosen(result, choice, nodes).items():
                key = (result["testcase"], result["size_bytes"], result["unit"], group)
                point = Point(
                    record["started"], statistics.median(values), record["host"]["name"], str(test.path), software
                )
                found.setdefault(key, []).append(point)
    return found


def chosen(result: dict[str, Any], choice: Choice, nodes: dict[str, str]) -> dict[str, list[float]]:
    """{link class: values of the chosen cells}."""
    groups: dict[str, list[float]] = {}
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            group = result["link_class"][r][c] or "unknown"
            wanted = (
                result["status"][r][c] == "ok"
                and (choice.cell is None or choice.cell == (row, column))
                and (not choice.row or choice.row == row)
                and (not choice.column or choice.column == column)
                and (not choice.link_class or choice.link_class == group)
                and (not choice.node or choice.node in (nodes.get(row), nodes.get(column)))
            )
            if wanted:
                groups.setdefault(group, []).append(result["values"][r][c])
    return groups


def over_time(points: list[Point], unit: str) -> Iterator[str]:
    """A sparkline, the range, and each change of level with what else changed."""
    values = [point.value for point in points]
    decimals, shown = explain.DECIMALS[unit], explain.UNITS[unit]
    days = f"{points[0].started[:10]} to {points[-1].started[:10]}"
    yield f"{explain.counted(len(points), 'run')}, {days}: {sparkline(values)}"
    low, middle, high = min(values), statistics.median(values), max(values)
    summary = f"min {low:.{decimals}f}  median {middle:.{decimals}f}  max {high:.{decimals}f} {shown}"
    yield f"{summary}, newest {values[-1]:.{decimals}f}"
    found = change_points(values)
    for change in found:
        before, after = points[change.at - 1], points[change.at]
        percent = 100 * (change.after / change.before - 1)
        worse = (percent > 0) == (unit == "us")
        yield (
            f"{'!' if worse else '+'} {change.before:.{decimals}f} -> {change.after:.{decimals}f} {shown}"
            f" ({percent:+.1f} %) between {before.started[:16]} and {after.started[:16]}: {differences(before, after)}"
        )
    if not found and len(points) < 6:
        yield "too few runs to see a change of level: six are needed"


def differences(before: Point, after: Point) -> str:
    """ "driver 580.1 -> 590.2"."""
    old, new = dict(before.software), dict(after.software)
    told = [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    told += [f"host {before.host} -> {after.host}"] if before.host != after.host else []
    return ", ".join(told) or "nothing that the records tell changed"


def sparkline(values: list[float]) -> str:
    """The last values as bars; of equal values the middle one."""
    last = values[-MOST_POINTS:]
    low, high = min(last), max(last)
    if high - low <= 1e-9 * abs(high):
        return BARS[3] * len(last)
    return "".join(BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)] for value in last)


def fleet(points: list[Point], unit: str) -> Iterator[str]:
    """The newest value of each host against the median of all hosts, the worst first."""
    newest = {point.host: point for point in points}
    middle = statistics.median(point.value for point in newest.values())
    sign = 1 if unit == "us" else -1
    ranked = sorted(newest.values(), key=lambda point: -sign * (point.value / middle - 1))
    decimals, shown = explain.DECIMALS[unit], explain.UNITS[unit]
    yield f"{explain.counted(len(newest), 'host')}, median {middle:.{decimals}f} {shown}"
    for point in ranked[:MOST_ROWS]:
        percent = 100 * (point.value / middle - 1)
        yield f"{point.host:<24} {point.value:.{decimals}f} {shown} ({percent:+.1f} %)  {point.started[:16]}"
    if len(ranked) > MOST_ROWS:
        yield f"and {len(ranked) - MOST_ROWS} more, all better"
