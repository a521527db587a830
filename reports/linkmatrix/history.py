"""`linkmatrix history`: values over time from ReFrame's reports and kept records, and where their level changed.

A change of level is told with what changed in between: driver, CUDA, MPI, kernel, program, host. A single outlier is
none. `--fleet` puts the newest figures of all hosts beside each other, those with outliers first. Devices that are
suspect are named at the end.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from . import explain, fleet, judging, runs
from .changes import change_points
from .errors import BadInput, clean
from .runs import Run, Test
from .suspects import suspects
from .units import figure

NOTHING = 3
BARS = "▁▂▃▄▅▆▇█"
MOST_POINTS = 60  # of a sparkline

Key = tuple[str, int | None, str, str]  # test case, size, unit, link class


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
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="that clear a suspect device; default: 3"
    )
    judging.add_reference_options(command)
    command.add_argument(
        "--fleet", action="store_true", help="each pair of each host beside the same pair elsewhere, outliers first"
    )
    command.set_defaults(command=run_history)


def run_history(options: argparse.Namespace) -> int:
    """Prints a block for each series, and which devices are suspect. Raises BadInput."""
    choice, testcases = choice_of(options), set(options.testcase or ())
    if options.clean_runs < 1:
        raise BadInput(f"--clean-runs {options.clean_runs}: one at least")
    found = list(runs_of(options))
    tests = [test for run in found for test in run.tests]
    if options.fleet:
        blocks = (
            (key, fleet.lines(hosts, key[0], key[2])) for key, hosts in of_fleet(tests, choice, testcases).items()
        )
    else:
        blocks = ((key, over_time(sorted(points), key[2])) for key, points in series(tests, choice, testcases).items())
    count = 0
    for (testcase, size, _, group), lines in blocks:
        count += 1
        print(clean(f"{testcase} ({explain.size(size)}), {' '.join(filter(None, [choice.name, group]))}"))
        for line in lines:
            print(f"  {clean(line)}")
    if not count:
        print("There is no run with such cells: measure first, or choose others.")
        return NOTHING
    for one in suspects(found, judging.references_of(options), options.reference, options.clean_runs):
        print(clean(one.sentence(options.clean_runs)))
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


def runs_of(options: argparse.Namespace) -> Iterator[Run]:
    """The runs, with the tests that have records and that the options choose. Raises BadInput."""
    if options.since:
        try:
            date.fromisoformat(options.since)
        except ValueError:
            raise BadInput(f"--since '{options.since}' is no date: write it as 2026-11-21") from None
    for path in options.paths or runs.reports(runs.prefix()):
        run = runs.find(path)
        tests = tuple(
            test
            for test in run.tests
            if test.record is not None
            and (not options.system or test.partition == options.system)
            and (not options.since or test.record["started"] >= options.since)
        )
        yield replace(run, tests=tests)


def series(tests: Iterable[Test], choice: Choice, testcases: set[str]) -> dict[Key, list[Point]]:
    """{(test case, size, unit, link class): points}; each is the median of the chosen cells of a run."""
    found: dict[Key, list[Point]] = {}
    for test, record, result in results_of(tests, testcases):
        software = tuple(sorted({**record["software"], "program": f"{record['program']} {record['version']}"}.items()))
        groups: dict[str, list[float]] = {}
        if "cells" in result and choice == Choice(link_class=choice.link_class):
            summaries = {one["link_class"]: [one["median"]] for one in result["cells"]["classes"]}
            groups = {name: found for name, found in summaries.items() if choice.link_class in ("", name)}
        for group, r, c in chosen(result, choice, record):
            groups.setdefault(group, []).append(result["values"][r][c])
        for group, values in groups.items():
            key = (result["testcase"], result["size_bytes"], result["unit"], group)
            point = Point(
                record["started"], statistics.median(values), record["host"]["name"], str(test.path), software
            )
            found.setdefault(key, []).append(point)
    return found


def of_fleet(
    tests: Iterable[Test], choice: Choice, testcases: set[str]
) -> dict[Key, dict[str, dict[fleet.Position, fleet.Newest]]]:
    """{(test case, size, unit, link class): {host: {position: its newest value}}}; of several cells their median."""
    gathered: dict[Key, dict[str, dict[fleet.Position, tuple[str, list[float]]]]] = {}
    for _, record, result in results_of(tests, testcases):
        group_of = {(r, c): group for group, r, c in chosen(result, choice, record)}
        for host, position, r, c in fleet.places(record, result, iter(group_of)):
            key = (result["testcase"], result["size_bytes"], result["unit"], group_of[r, c])
            of_host = gathered.setdefault(key, {}).setdefault(host, {})
            started, values = of_host.get(position, ("", []))
            if record["started"] > started:
                started, values = record["started"], []
            if record["started"] == started:
                values.append(result["values"][r][c])
            of_host[position] = (started, values)
    return {
        key: {
            host: {place: fleet.Newest(when, statistics.median(values)) for place, (when, values) in of_host.items()}
            for host, of_host in hosts.items()
        }
        for key, hosts in gathered.items()
    }


def results_of(tests: Iterable[Test], testcases: set[str]) -> Iterator[tuple[Test, dict[str, Any], dict[str, Any]]]:
    """(test, record, result) of all results, or of those test cases."""
    for test in tests:
        record = test.record or {"results": []}
        for result in record["results"]:
            if not testcases or result["testcase"] in testcases:
                yield test, record, result


def chosen(result: dict[str, Any], choice: Choice, record: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """(link class, row, column) of the measured cells that are chosen."""
    if "cells" in result:  # they are in a file; of link classes the record has the medians
        return
    nodes = {device["label"]: device["node"] for device in record["devices"]}
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
                yield group, r, c


def over_time(points: list[Point], unit: str) -> Iterator[str]:
    """A sparkline, the range, and each change of level with what else changed."""
    values = [point.value for point in points]
    decimals, shown = explain.DECIMALS[unit], explain.UNITS[unit]
    days = f"{points[0].started[:10]} to {points[-1].started[:10]}"
    yield f"{explain.counted(len(points), 'run')}, {days}: {sparkline(values)}"
    low, middle, high = min(values), statistics.median(values), max(values)
    summary = f"min {figure(low, decimals)}  median {figure(middle, decimals)}  max {figure(high, decimals)} {shown}"
    yield f"{summary}, newest {figure(values[-1], decimals)}"
    found = change_points(values)
    for change in found:
        before, after = points[change.at - 1], points[change.at]
        percent = 100 * (change.after / change.before - 1)
        worse = (percent > 0) == (unit == "us")
        yield (
            f"{'!' if worse else '+'} {figure(change.before, decimals)} -> {figure(change.after, decimals)} {shown}"
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
