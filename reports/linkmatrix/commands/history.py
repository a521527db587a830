"""`linkmatrix history`: values over time from ReFrame's reports and kept records, and where their level changed.

The series that became worst come first. A change of level is printed with the recorded changes between its runs:
driver, CUDA, MPI, kernel, program, host. A single outlier is no change. `--fleet` names the hosts with another driver,
firmware or link rate, and compares the newest values of similar hosts. The output ends with flagged devices, nodes that
cannot be judged, and runs that ended without a report. `--component` and `--slot` print the slots of a component,
or the components of a slot.
"""

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadInput, say
from ..files import path_of
from ..judge.inventory_diff import equal_groups, node_differences
from ..record import units
from ..record.matrix import Matrix, from_result
from ..record.names import simulated_fault
from ..references.keys import distinguishing_words
from ..references.noise import reference_floor
from ..runs import folders, missing_runs, notes
from ..runs import series as over_runs
from ..runs.components import Slot, parse_slot
from ..runs.stored import Run
from ..runs.suspects import flags_in_run, suspects
from ..runs.suspicion import RunFlags
from ..runs.testcases import Test
from ..show import over_time
from ..show.screen import Screen
from . import arguments
from .arguments import Block

if TYPE_CHECKING:
    import pandas

NOTHING = 3


class Series(NamedTuple):
    """The values of a test case in the order of time. name: the chosen cells, the link class and the variant."""

    testcase: str
    size_bytes: int | None
    name: str
    unit: str
    points: list[over_time.Point]

    @property
    def title(self) -> str:
        """The title, as `headline` has it."""
        return headline(self.testcase, self.size_bytes, self.name)


@dataclass(frozen=True)
class Choice:
    """The cells of a matrix whose median is a value: a pair, or those of a source, destination, node or link class."""

    cell: tuple[str, str] | None = None
    row: str = ""
    column: str = ""
    link_class: str = ""
    node: str = ""

    @property
    def name(self) -> str:
        """The choice in words; "" for each link class."""
        named = {"row": self.row, "column": self.column, "node": self.node}
        said = next((f"{word} {value}" for word, value in named.items() if value), "")
        return f"{self.cell[0]}->{self.cell[1]}" if self.cell else said


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `history`."""
    arguments.add_stored_runs(command)
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cell", metavar="A->B", help="only the pair from A to B")
    what.add_argument("--row", metavar="A", help="median of the cells that A sends")
    what.add_argument("--column", metavar="B", help="median of the cells that B receives")
    what.add_argument("--node", metavar="N", help="median of the cells that a node sends and receives")
    what.add_argument("--component", metavar="SERIAL", help="slots and faults of a component (serial number or UUID)")
    what.add_argument("--slot", metavar="N/SLOT", help="components and faults of a slot, such as n12/3")
    command.add_argument("--class", dest="link_class", default="", metavar="NV18", help="only this link class")
    arguments.add_all(command)
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
    """Prints the series that became worst, flagged components, and runs without a report. Raises BadInput."""
    choice = choice_of(options)
    if options.component is not None or options.slot is not None:
        return of_part_or_place(options)
    if options.fleet and options.plot:
        raise BadInput("--plot draws values over time, and --fleet compares the newest values: use one of them")
    prefix, screen = folders.prefix(), Screen()
    written, drawn = notes.load(prefix), []
    if is_indexed(options):
        from ..runs import index

        with index.open_index(prefix, arguments.reference_folder(), again=True) as found:
            medians, named = found.medians(), found.suspects(options.clean_runs, written)
            ending = [*(f"{node} {why}" for node, why in found.disturbance_streaks().items()), *found.notes]
    else:
        runs = list(runs_of(options))
        medians = over_runs.frame([] if options.fleet else medians_of(runs, choice))
        named = suspects(runs, arguments.references_of(options), options.reference, options.clean_runs, written)
        ending = [] if options.paths else of_all_runs()
    if options.fleet:
        tests = [test for run in runs for test in run.tests]
        newest = [(test.partition, record) for test, record in newest_first(tests)]
        screen.lines(*node_differences(newest))
        blocks = list(fleet_blocks(tests, choice, set(options.testcase or ()), equal_groups(newest)))
        healthy = "nothing stands out: no host is an outlier"
    else:
        found_series = series_of(medians, choice, set(options.testcase or ()))
        blocks = series_blocks(found_series)
        drawn = pictures(found_series, options.plot) if options.plot else []
        healthy = f"nothing stands out: none of {len(blocks)} series became worse"
        if all(len(one.points) < over_time.FEWEST for one in found_series):
            healthy = "too few runs to find a step: at least six are needed"
    is_chosen = options.all or bool(options.testcase) or choice != Choice()
    arguments.print_worst(screen, blocks, healthy, is_chosen)
    if not blocks:
        screen.lines("No stored run contains these cells: measure first, or choose other cells.")
    for path in drawn:
        say(path)
    for one in named:
        screen.lines(one.sentence(options.clean_runs), *(f"  {step}" for step in one.advice()))
    screen.lines(*ending)
    return 0 if blocks else NOTHING


def is_indexed(options: argparse.Namespace) -> bool:
    """Whether the index has all that the options select; if not, the records of the runs are read."""
    by_record = ("paths", "since", "system", "reference", "references", "cell", "row", "column", "node", "fleet")
    return not any(getattr(options, name) for name in by_record) and bool(folders.reports(folders.prefix()))


def of_all_runs() -> Iterator[str]:
    """Sentences on nodes that cannot be judged, and on runs that ended without a report. Raises BadInput."""
    prefix = folders.prefix()
    if folders.reports(prefix):
        from ..runs import index

        with index.open_index(prefix, arguments.reference_folder()) as found:
            yield from (f"{node} {why}" for node, why in found.disturbance_streaks().items())
    yield from missing_runs.missing_run_sentences(prefix)


def of_part_or_place(options: argparse.Namespace) -> int:
    """Prints the history of a component or slot. Raises BadInput."""
    ignored = {"testcase": options.testcase, "class": options.link_class, "fleet": options.fleet, "plot": options.plot}
    given = next((name for name, value in ignored.items() if value), None)
    if given:
        raise BadInput(
            f"--{given} selects values, and --component and --slot select a component or slot: leave one out"
        )
    if options.component is not None and not options.component.strip():
        raise BadInput("--component '' is not a serial number or UUID: copy it from `linkmatrix show`")
    place = parse_slot(options.slot, "--slot") if options.slot is not None else None
    written = notes.load(folders.prefix())
    found = list(found_of(options, place))
    if place is not None:
        lines = over_time.slot_history(found, place, options.clean_runs, written)
    else:
        lines = over_time.part_history(found, options.component, options.clean_runs, written)
    screen = Screen()
    screen.lines(*lines)
    if not lines:
        screen.lines(f"No stored run contains {options.slot or 'the component ' + options.component}.")
    return 0 if lines else NOTHING


def found_of(options: argparse.Namespace, place: Slot | None) -> Iterator[RunFlags]:
    """The flags and clean scopes of the chosen runs; of all stored runs by the index. Raises BadInput."""
    if options.paths or options.since or options.system or options.reference or options.references:
        references = arguments.references_of(options)
        yield from (flags_in_run(run, references, options.reference) for run in runs_of(options))
        return
    from ..runs import index

    with index.open_index(folders.prefix(), arguments.reference_folder()) as stored_runs:
        Screen().lines(*(f"note: {note}" for note in stored_runs.notes))
        nodes = stored_runs.node_numbers([place[0]]) if place else stored_runs.nodes_with_part(options.component)
        yield from stored_runs.flags_on(stored_runs.nodes_sharing_parts(nodes))


def series_of(medians: "pandas.DataFrame", choice: Choice, testcases: set[str]) -> list[Series]:
    """The chosen series. testcases: their test cases, none for all."""
    import pandas

    if testcases:
        medians = medians[medians["testcase"].isin(testcases)]
    if choice.link_class:
        medians = medians[medians["link_class"] == choice.link_class]
    found = []
    for (testcase, size, unit, name, variant), rows in medians.groupby(over_runs.SERIES, dropna=False, sort=False):
        named = " ".join(filter(None, (choice.name, name + variant)))
        known_size = None if pandas.isna(size) else int(size)
        found.append(Series(testcase, known_size, named, unit, over_time.points_of(rows)))
    return found


def series_blocks(found: Iterable[Series]) -> list[Block]:
    """What is printed about each series."""
    return [
        Block(one.title, over_time.worst_change(one.points, one.unit), over_time.lines(one.points, one.unit))
        for one in found
    ]


def headline(testcase: str, size: int | None, *names: str) -> str:
    """The title of a series: "device_to_device_memcpy_write_ce (512 MiB), NV18"."""
    return f"{testcase} ({units.size(size)}), {' '.join(filter(None, names))}"


def pictures(found: Iterable[Series], folder: Path) -> list[Path]:
    """Writes a PNG and an SVG of each series, and returns their paths. Raises OSError."""
    from ..show import plot

    paths: list[Path] = []
    for number, one in enumerate(found, 1):
        started, values = [point.started for point in one.points], [point.value for point in one.points]
        events = over_time.changes(one.points), over_time.changed(one.points)
        drawn = plot.draw_series(one.title, started, values, one.unit, *events)
        name = "-".join(filter(None, [one.testcase, re.sub(r"[^A-Za-z0-9]+", "-", one.name).strip("-")]))
        paths += plot.save(drawn, folder, f"{number:02}-{name}")
    return paths


def choice_of(options: argparse.Namespace) -> Choice:
    """The choice from the options. Raises BadInput."""
    cell = None
    if options.cell:
        pair = options.cell.split("->")
        if len(pair) != 2 or not all(pair):
            raise BadInput(f"--cell '{options.cell}' is not a pair: use the form gpu0->gpu1, in quotes")
        cell = (pair[0], pair[1])
    return Choice(cell, options.row or "", options.column or "", options.link_class, options.node or "")


def runs_of(options: argparse.Namespace) -> Iterator[Run]:
    """The runs with the selected tests that have a record, without simulated faults. Raises BadInput."""
    for run in arguments.selected_runs(options):
        tests = (test for test in run.tests if test.record is not None and not simulated_fault(test.record))
        yield replace(run, tests=tuple(tests))


def medians_of(runs: Iterable[Run], choice: Choice) -> Iterator[over_runs.Median]:
    """The median of the chosen cells of each link class of all results."""
    by_class = choice == Choice(link_class=choice.link_class)
    for test in (test for run in runs for test in run.tests):

        def values_of(matrix: Matrix, test: Test = test) -> dict[str, float]:
            return chosen(test, matrix, choice).groupby("link_class", sort=False)["value"].median().to_dict()

        yield from over_runs.medians(test, None if by_class else values_of)


def newest_first(tests: Iterable[Test]) -> list[tuple[Test, dict[str, Any]]]:
    """(test, record) of the tests with records, the newest first."""
    found = [(test, test.record) for test in tests if test.record is not None]
    return sorted(found, key=lambda one: one[1]["started"], reverse=True)


def fleet_blocks(tests: Iterable[Test], choice: Choice, testcases: set[str], groups: dict[str, str]) -> Iterator[Block]:
    """A block for each test case and link class. groups: {host: the facts that distinguish it in its partition}.

    Hosts are compared with hosts of the same group.
    """
    import pandas

    from ..show import nodes

    placed, floors = [], {}
    for test, record, result in results_of(tests, testcases):
        matrix = from_result(result)
        apart = distinguishing_words(record, result, test.variant)
        cells = nodes.with_positions(record, chosen(test, matrix, choice))
        placed.append(cells.assign(link_class=cells["link_class"] + apart))
        for name in matrix.class_names:
            floors[result["testcase"], name + apart] = min(reference_floor(result, name, record["backend"]))
    if not placed:
        return
    newest = nodes.newest(pandas.concat(placed, ignore_index=True))
    newest["floor"] = [floors[case] for case in zip(newest["testcase"], newest["link_class"], strict=True)]
    newest["group"] = newest["of_host"].map(lambda host: groups.get(host, ""))
    for (testcase, size, unit, name), of_case in newest.groupby(nodes.CASE, dropna=False, sort=False):
        alike = sorted(of_case.groupby("group"), key=lambda item: (-item[1]["of_host"].nunique(), item[0]))
        for group, of_group in alike:
            title = headline(testcase, None if pandas.isna(size) else int(size), choice.name, name)
            title += f" with {group}" if group else ""
            yield Block(title, nodes.worst_outlier(of_group, unit), nodes.host_lines(of_group, unit))


def results_of(tests: Iterable[Test], testcases: set[str]) -> Iterator[tuple[Test, dict[str, Any], dict[str, Any]]]:
    """(test, record, result) of all results, or of some test cases."""
    for test in tests:
        record = test.record or {"results": []}
        for result in record["results"]:
            if not testcases or result["testcase"] in testcases:
                yield test, record, result


def chosen(test: Test, matrix: Matrix, choice: Choice) -> "pandas.DataFrame":
    """The chosen cells that were measured, as in runs/table.py; none of a matrix that does not fit into memory."""
    from ..runs import table

    cells = (
        table.matrix_table(table.shared_columns(test, matrix), matrix) if matrix.fits_memory else table.test_cells([])
    )
    keep = cells["status"] == "ok"
    source, destination = choice.cell or (choice.row, choice.column)
    for column, wanted in (("source", source), ("destination", destination), ("link_class", choice.link_class)):
        keep &= (cells[column] == wanted) if wanted else True
    if choice.node:
        devices = (test.record or {"devices": []})["devices"]
        inside = [device["label"] for device in devices if device["node"] == choice.node]
        keep &= cells["source"].isin(inside) | cells["destination"].isin(inside)
    return cells[keep]
