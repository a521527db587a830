"""`linkmatrix history`: values over time from ReFrame's reports and kept records, and where their level changed.

A change of level is told with what changed in between: driver, CUDA, MPI, kernel, program, host. A single outlier is
none. `--fleet` says which host has another driver, firmware or link rate, and puts the newest figures of those that
have the same beside each other, outliers first. The output ends with flagged devices, nodes that cannot be judged, and
runs that ended without a report. `--part` and `--place` show where a part was, or what was in a place.
"""

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, say
from ..files import path_of
from ..judge.inventory_diff import equal_groups, unlike_nodes
from ..record import units
from ..record.matrix import Matrix, from_result
from ..record.names import simulated_fault
from ..references.keys import told_apart
from ..references.noise import floor_of
from ..runs import folders, index, notes, part_history, stored, unreported
from ..runs.changes import change_points
from ..runs.parts import Place, place_of
from ..runs.stored import Run
from ..runs.suspects import found_in, suspects
from ..runs.suspicion import Found
from ..runs.testcases import Test
from ..show import over_time
from ..show.screen import Screen, watched
from . import arguments

if TYPE_CHECKING:
    import pandas

NOTHING = 3

Key = tuple[str, int | None, str, str]  # test case, size, unit, link class


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
    arguments.add_run_paths(command)
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this test case (repeatable)")
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cell", metavar="A->B", help="only the pair from A to B")
    what.add_argument("--row", metavar="A", help="median of the cells that A sends")
    what.add_argument("--column", metavar="B", help="median of the cells that B receives")
    what.add_argument("--node", metavar="N", help="median of the cells that a node sends and receives")
    what.add_argument("--part", metavar="SERIAL", help="slots and faults of a component (serial number or UUID)")
    what.add_argument("--place", metavar="N/SLOT", help="components and faults of a slot, such as n12/3")
    command.add_argument("--class", dest="link_class", default="", metavar="NV18", help="only this link class")
    command.add_argument("--since", metavar="DATE", help="only runs that started on DATE or later, such as 2026-11-21")
    command.add_argument("--system", metavar="S:P", help="only this system and partition")
    arguments.add_clean_runs(command)
    arguments.add_reference_options(command)
    command.add_argument(
        "--fleet",
        action="store_true",
        help="compare each pair of each host with the same pair of the other hosts, outliers first",
    )
    command.add_argument("--plot", type=path_of, metavar="DIR", help="write a picture of each series into this folder")
    command.set_defaults(command=run_history)


def run_history(options: argparse.Namespace) -> int:
    """Prints a block for each series, the flagged devices, and runs without a report. Raises BadInput."""
    choice, testcases = choice_of(options), set(options.testcase or ())
    if options.part is not None or options.place is not None:
        return of_part_or_place(options)
    found = list(runs_of(options))
    tests = [test for run in found for test in run.tests]
    if options.fleet and options.plot:
        raise BadInput("--plot draws values over time, and --fleet compares the newest values: use one of them")
    drawn: list[Path] = []
    screen = Screen()
    if options.fleet:
        newest = [(test.partition, record) for test, record in newest_first(tests)]
        screen.lines(*unlike_nodes(newest))
        blocks = fleet_blocks(tests, choice, testcases, equal_groups(newest))
    else:
        found_series = series(tests, choice, testcases)
        blocks = ((key, over_time.lines(sorted(points), key[2])) for key, points in found_series.items())
        drawn = pictures(found_series, choice, options.plot) if options.plot else []
    count = 0
    for (testcase, size, _, group), lines in blocks:
        count += 1
        screen.lines(headline(testcase, size, choice, group), *(f"  {line}" for line in lines))
    if not count:
        screen.lines("There is no run with such cells: measure first, or choose others.")
    for path in drawn:
        say(path)
    written = notes.load(folders.prefix())
    named = suspects(found, arguments.references_of(options), options.reference, options.clean_runs, written)
    for one in named:
        screen.lines(one.sentence(options.clean_runs), *(f"  {step}" for step in one.advice()))
    if not options.paths:
        screen.lines(*of_all_runs())
    return 0 if count else NOTHING


def of_all_runs() -> Iterator[str]:
    """Sentences on nodes that cannot be judged, and on runs that ended without a report. Raises BadInput."""
    prefix = folders.prefix()
    if folders.reports(prefix):
        with index.opened(prefix, arguments.reference_folder()) as found:
            yield from (f"{node} {why}" for node, why in found.disturbed().items())
    yield from unreported.sentences(prefix)


def of_part_or_place(options: argparse.Namespace) -> int:
    """Prints the history of a part or of a place. Raises BadInput."""
    ignored = {"testcase": options.testcase, "class": options.link_class, "fleet": options.fleet, "plot": options.plot}
    given = next((name for name, value in ignored.items() if value), None)
    if given:
        raise BadInput(f"--{given} chooses figures, and --part and --place tell where parts were: leave one out")
    if options.part is not None and not options.part.strip():
        raise BadInput("--part '' is not a serial number or UUID: copy it from `linkmatrix show`")
    place = place_of(options.place, "--place") if options.place is not None else None
    written = notes.load(folders.prefix())
    found = list(found_of(options, place))
    if place is not None:
        lines = part_history.of_place(found, place, options.clean_runs, written)
    else:
        lines = part_history.of_part(found, options.part, options.clean_runs, written)
    screen = Screen()
    screen.lines(*lines)
    if not lines:
        screen.lines(f"No run has seen {options.place or 'the part ' + options.part}.")
    return 0 if lines else NOTHING


def found_of(options: argparse.Namespace, place: Place | None) -> Iterator[Found]:
    """What the chosen runs say of a part or place; of all stored ones, as the index has it. Raises BadInput."""
    if options.paths or options.since or options.system or options.reference or options.references:
        references = arguments.references_of(options)
        yield from (found_in(run, references, options.reference) for run in runs_of(options))
        return
    with index.opened(folders.prefix(), arguments.reference_folder()) as stored_runs:
        Screen().lines(*(f"note: {note}" for note in stored_runs.notes))
        nodes = stored_runs.named([place[0]]) if place else stored_runs.with_part(options.part)
        yield from stored_runs.found_on(stored_runs.with_parts_of(nodes))


def headline(testcase: str, size: int | None, choice: Choice, group: str) -> str:
    """What a series is of."""
    return f"{testcase} ({units.size(size)}), {' '.join(filter(None, [choice.name, group]))}"


def pictures(found: dict[Key, list[over_time.Point]], choice: Choice, folder: Path) -> list[Path]:
    """A PNG and an SVG of each series, and their paths. Raises OSError."""
    from ..show import plot, time_chart

    paths: list[Path] = []
    for number, ((testcase, size, unit, group), points) in enumerate(found.items(), 1):
        points = sorted(points)
        values = [point.value for point in points]
        drawn = time_chart.draw(
            headline(testcase, size, choice, group),
            [point.started for point in points],
            values,
            unit,
            change_points(values),
            over_time.changed(points),
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
            raise BadInput(f"--cell '{options.cell}' is not a pair: use the form gpu0->gpu1, in quotes")
        cell = (pair[0], pair[1])
    return Choice(cell, options.row or "", options.column or "", options.link_class, options.node or "")


def runs_of(options: argparse.Namespace) -> Iterator[Run]:
    """The runs, with the tests that have records of no simulated fault and that the options choose. Raises BadInput."""
    since = arguments.since_of(options)
    paths = options.paths or folders.reports(folders.prefix())
    with watched(paths, "runs") as each:
        found = stored.find_each(each, for_verdicts=False) if paths else []
    for run in found:
        tests = tuple(
            test
            for test in run.tests
            if test.record is not None
            and not simulated_fault(test.record)
            and (not options.system or test.partition == options.system)
            and test.record["started"] >= since
        )
        yield replace(run, tests=tests)


def series(tests: Iterable[Test], choice: Choice, testcases: set[str]) -> dict[Key, list[over_time.Point]]:
    """{(test case, size, unit, link class): points}; each is the median of the chosen cells of a run.

    The link class is followed by what else distinguishes results, and by the node of a test for one node.
    """
    found: dict[Key, list[over_time.Point]] = {}
    for test, record, result in results_of(tests, testcases):
        known = over_time.facts_of(record)
        matrix = from_result(result)
        if choice == Choice(link_class=choice.link_class):
            groups = {name: of.median for name, of in matrix.classes.items() if choice.link_class in ("", name)}
        else:
            groups = chosen(test, matrix, choice).groupby("link_class", sort=False)["value"].median()
        apart = told_apart(record, result, test.variant) + (f", {test.node}" if test.node else "")
        beside = over_time.others_beside(result)
        for group, value in groups.items():
            key = (result["testcase"], result["size_bytes"], result["unit"], group + apart)
            where = record["host"]["name"], str(test.path)
            point = over_time.Point(record["started"], float(value), *where, known, beside)
            found.setdefault(key, []).append(point)
    return found


def newest_first(tests: Iterable[Test]) -> list[tuple[Test, dict[str, Any]]]:
    """The tests that have records, with these, the newest first."""
    found = [(test, test.record) for test in tests if test.record is not None]
    return sorted(found, key=lambda one: one[1]["started"], reverse=True)


def fleet_blocks(
    tests: Iterable[Test], choice: Choice, testcases: set[str], groups: dict[str, str]
) -> Iterator[tuple[Key, Iterator[str]]]:
    """The lines of each test case and link class. groups: {host: what distinguishes it from others of its partition}.

    Hosts are compared with hosts of the same group. The link class is followed by what else distinguishes results, as
    for a series: other programs, memories and libraries.
    """
    import pandas

    from ..show import fleet

    placed, floors = [], {}
    for test, record, result in results_of(tests, testcases):
        matrix = from_result(result)
        apart = told_apart(record, result, test.variant)
        cells = fleet.placed(record, chosen(test, matrix, choice))
        placed.append(cells.assign(link_class=cells["link_class"] + apart))
        for name in matrix.class_names:
            floors[result["testcase"], name + apart] = min(floor_of(result, name, record["backend"]))
    if not placed:
        return
    newest = fleet.newest(pandas.concat(placed, ignore_index=True))
    newest["floor"] = [floors[case] for case in zip(newest["testcase"], newest["link_class"], strict=True)]
    newest["group"] = newest["of_host"].map(lambda host: groups.get(host, ""))
    for (testcase, size, unit, name), of_case in newest.groupby(fleet.CASE, dropna=False, sort=False):
        alike = sorted(of_case.groupby("group"), key=lambda item: (-item[1]["of_host"].nunique(), item[0]))
        for group, of_group in alike:
            key = (testcase, None if pandas.isna(size) else int(size), unit, f"{name} with {group}" if group else name)
            yield key, fleet.lines(of_group, unit)


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
