"""`linkmatrix history`: values over time from ReFrame's reports and kept records, and where their level changed.

A change of level is told with what changed in between: driver, CUDA, MPI, kernel, program, host. A single outlier is
none. `--fleet` puts the newest figures of all hosts beside each other, those with outliers first. Devices that are
suspect are named at the end.
"""

import argparse
import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadInput, clean
from ..files import path_of
from ..record import units
from ..record.matrix import Matrix, from_result
from ..record.units import figure
from ..references.keys import told_apart
from ..references.tolerances import floor_of
from ..runs import folders, stored
from ..runs.changes import change_points
from ..runs.stored import Run
from ..runs.suspects import suspects
from ..runs.testcases import Test
from ..show import fleet, words
from . import arguments

if TYPE_CHECKING:
    import pandas

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
    command.add_argument("paths", nargs="*", type=path_of, metavar="RUN", help="default: all stored reports")
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this one; several times")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cell", metavar="A->B", help="one pair")
    what.add_argument("--row", metavar="A", help="the median of what A sends")
    what.add_argument("--column", metavar="B", help="the median of what B receives")
    what.add_argument("--node", metavar="N", help="the median of what a node sends and receives")
    command.add_argument("--class", dest="link_class", default="", metavar="NV18", help="only this link class")
    command.add_argument("--since", metavar="DATE", help="only runs that started then or later: 2026-11-21")
    command.add_argument("--system", metavar="S:P", help="only this system and partition")
    command.add_argument(
        "--clean-runs", type=int, default=3, metavar="K", help="that clear a suspect device; default: 3"
    )
    arguments.add_reference_options(command)
    command.add_argument(
        "--fleet", action="store_true", help="each pair of each host beside the same pair elsewhere, outliers first"
    )
    command.add_argument("--plot", type=path_of, metavar="DIR", help="a picture of each series into this folder")
    command.set_defaults(command=run_history)


def run_history(options: argparse.Namespace) -> int:
    """Prints a block for each series, and which devices are suspect. Raises BadInput."""
    choice, testcases = choice_of(options), set(options.testcase or ())
    if options.clean_runs < 1:
        raise BadInput(f"--clean-runs {options.clean_runs}: one at least")
    found = list(runs_of(options))
    tests = [test for run in found for test in run.tests]
    if options.fleet and options.plot:
        raise BadInput("--plot draws values over time, and --fleet has the newest of each host: leave one out")
    drawn: list[Path] = []
    if options.fleet:
        blocks = ((key, fleet.lines(hosts, key[2])) for key, hosts in of_fleet(tests, choice, testcases).items())
    else:
        found_series = series(tests, choice, testcases)
        blocks = ((key, over_time(sorted(points), key[2])) for key, points in found_series.items())
        drawn = pictures(found_series, choice, options.plot) if options.plot else []
    count = 0
    for (testcase, size, _, group), lines in blocks:
        count += 1
        print(clean(headline(testcase, size, choice, group)))
        for line in lines:
            print(f"  {clean(line)}")
    if not count:
        print("There is no run with such cells: measure first, or choose others.")
        return NOTHING
    for path in drawn:
        print(path)
    for one in suspects(found, arguments.references_of(options), options.reference, options.clean_runs):
        print(clean(one.sentence(options.clean_runs)))
    return 0


def headline(testcase: str, size: int | None, choice: Choice, group: str) -> str:
    """What a series is of."""
    return f"{testcase} ({units.size(size)}), {' '.join(filter(None, [choice.name, group]))}"


def pictures(found: dict[Key, list[Point]], choice: Choice, folder: Path) -> list[Path]:
    """A PNG and an SVG of each series, and their paths. Raises OSError."""
    from ..show import over_time, plot

    paths: list[Path] = []
    for number, ((testcase, size, unit, group), points) in enumerate(found.items(), 1):
        points = sorted(points)
        values = [point.value for point in points]
        drawn = over_time.draw(
            headline(testcase, size, choice, group),
            [point.started for point in points],
            values,
            unit,
            change_points(values),
        )
        name = "-".join(filter(None, [testcase, re.sub(r"[^A-Za-z0-9]+", "-", f"{choice.name} {group}").strip("-")]))
        paths += plot.save(drawn, folder, f"{number:02}-{name}")
    return paths


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
    paths = options.paths or folders.reports(folders.prefix())
    for run in stored.find_each(paths, for_verdicts=False) if paths else ():
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
        matrix = from_result(result)
        if choice == Choice(link_class=choice.link_class):
            groups = {name: of.median for name, of in matrix.classes.items() if choice.link_class in ("", name)}
        else:
            groups = chosen(test, matrix, choice).groupby("link_class", sort=False)["value"].median()
        apart = told_apart(record, result, test.variant)
        for group, value in groups.items():
            key = (result["testcase"], result["size_bytes"], result["unit"], group + apart)
            point = Point(record["started"], float(value), record["host"]["name"], str(test.path), software)
            found.setdefault(key, []).append(point)
    return found


def of_fleet(
    tests: Iterable[Test], choice: Choice, testcases: set[str]
) -> dict[Key, dict[str, dict[fleet.Position, fleet.Newest]]]:
    """{(test case, size, unit, link class): {host: {position: its newest value}}}; of several cells their median."""
    import pandas

    placed, floors = [], {}
    for test, record, result in results_of(tests, testcases):
        matrix = from_result(result)
        placed.append(fleet.placed(record, chosen(test, matrix, choice)))
        for name in matrix.class_names:
            floors[result["testcase"], name] = min(floor_of(result, name, record["backend"]))
    found: dict[Key, dict[str, dict[fleet.Position, fleet.Newest]]] = {}
    if not placed:
        return found
    case = ["testcase", "size_bytes", "unit", "link_class"]
    cells = pandas.concat(placed, ignore_index=True)
    where = [*case, "of_host", "from_place", "to_place"]
    newest = cells[cells["started"] == cells.groupby(where, dropna=False)["started"].transform("max")]
    medians = newest.groupby(where, dropna=False, sort=False).agg(
        started=("started", "first"), value=("value", "median")
    )
    for (*key, host, source, destination), (started, value) in zip(medians.index, medians.to_numpy(), strict=True):
        size = None if pandas.isna(key[1]) else int(key[1])
        hosts = found.setdefault((key[0], size, key[2], key[3]), {})
        hosts.setdefault(host, {})[source, destination] = fleet.Newest(
            started, float(value), floors.get((key[0], key[3]), 0.0)
        )
    return found


def results_of(tests: Iterable[Test], testcases: set[str]) -> Iterator[tuple[Test, dict[str, Any], dict[str, Any]]]:
    """(test, record, result) of all results, or of those test cases."""
    for test in tests:
        record = test.record or {"results": []}
        for result in record["results"]:
            if not testcases or result["testcase"] in testcases:
                yield test, record, result


def chosen(test: Test, matrix: Matrix, choice: Choice) -> "pandas.DataFrame":
    """The measured cells that are chosen, as runs/table.py has them; none of a matrix that is not held."""
    from ..runs import table

    cells = table.of_matrix(table.facts_of(test, matrix), matrix) if matrix.held else table.of_tests([])
    keep = cells["status"] == "ok"
    source, destination = choice.cell or (choice.row, choice.column)
    for column, wanted in (("source", source), ("destination", destination), ("link_class", choice.link_class)):
        keep &= (cells[column] == wanted) if wanted else True
    if choice.node:
        devices = (test.record or {"devices": []})["devices"]
        inside = [device["label"] for device in devices if device["node"] == choice.node]
        keep &= cells["source"].isin(inside) | cells["destination"].isin(inside)
    return cells[keep]


def over_time(points: list[Point], unit: str) -> Iterator[str]:
    """A sparkline, the range, and each change of level with what else changed."""
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
