"""`linkmatrix history`: prints the values of stored runs over time, and their changes of level.

* The series that worsened most are printed first. A single outlier is not a change of level.
* A change of level is printed with the recorded changes between the two runs: driver, CUDA, MPI, kernel, program, host.
* The output ends with flagged devices, nodes that cannot be judged, and runs that ended without a report.
* `--fleet` compares the newest values of similar hosts. This option also names the hosts whose driver, firmware or link
  rate differs from the other hosts.
* `--component` prints the slots of a component, and `--slot` prints the components of a slot.
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

NOTHING = 3  # exit code if no stored run contains the chosen cells, as for INCOMPLETE


class Series(NamedTuple):
    """The values of a test case in order of time.

    name: the chosen cells, the link class and the variant, such as "NV18".
    """

    testcase: str
    size_bytes: int | None
    name: str
    unit: str
    points: list[over_time.Point]

    @property
    def title(self) -> str:
        """The printed title of the series."""
        return series_title(self.testcase, self.size_bytes, self.name)


@dataclass(frozen=True)
class Choice:
    """The cells that the user chose. A value of a series is the median of these cells. Empty fields choose all cells.

    cell: (source, destination).
    row: a source.
    column: a destination.
    """

    cell: tuple[str, str] | None = None
    row: str = ""
    column: str = ""
    link_class: str = ""
    node: str = ""

    @property
    def name(self) -> str:
        """The choice as text, such as "gpu0->gpu1" or "row gpu0"; "" for all cells."""
        if self.cell:
            return f"{self.cell[0]}->{self.cell[1]}"
        named = {"row": self.row, "column": self.column, "node": self.node}
        return next((f"{word} {value}" for word, value in named.items() if value), "")


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `history`."""
    arguments.add_stored_runs(command)
    what = command.add_mutually_exclusive_group()
    what.add_argument("--cell", metavar="A->B", help="only the pair from A to B")
    what.add_argument("--row", metavar="A", help="median of row A: the cells from A")
    what.add_argument("--column", metavar="B", help="median of column B: the cells to B")
    what.add_argument("--node", metavar="N", help="median of the cells from and to node N")
    what.add_argument("--component", metavar="SERIAL", help="slots and faults of a component (serial number or UUID)")
    what.add_argument("--slot", metavar="N/SLOT", help="components and faults of a slot, such as n12/3")
    command.add_argument("--class", dest="link_class", default="", metavar="NV18", help="only this link class")
    arguments.add_all(command)
    arguments.add_clean_runs(command)
    arguments.add_reference_options(command)
    command.add_argument(
        "--fleet",
        action="store_true",
        help="compare each pair of each host with the same pair of other hosts, outliers first",
    )
    command.add_argument("--plot", type=path_of, metavar="DIR", help="write a picture of each series into this folder")
    command.set_defaults(command=run_history)


def run_history(options: argparse.Namespace) -> int:
    """Prints the series, the flagged components, and the runs that ended without a report. Raises BadInput.

    Returns NOTHING if no stored run contains the chosen cells.
    """
    choice = read_choice(options)
    if options.component is not None or options.slot is not None:
        return print_component_or_slot(options)
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
        runs = list(recorded_runs(options))
        medians = over_runs.frame([] if options.fleet else chosen_medians(runs, choice))
        named = suspects(runs, arguments.load_references(options), options.reference, options.clean_runs, written)
        ending = [] if options.paths else ending_sentences()
    if options.fleet:
        tests = [test for run in runs for test in run.tests]
        newest = [(test.partition, test.record) for test in tests if test.record is not None]
        newest.sort(key=lambda one: one[1]["started"], reverse=True)
        screen.lines(*node_differences(newest))
        blocks = list(fleet_blocks(tests, choice, set(options.testcase or ()), equal_groups(newest)))
        healthy = "nothing stands out: no host is an outlier"
    else:
        found_series = chosen_series(medians, choice, set(options.testcase or ()))
        blocks = [
            Block(one.title, over_time.worst_change(one.points, one.unit), over_time.lines(one.points, one.unit))
            for one in found_series
        ]
        drawn = pictures(found_series, options.plot) if options.plot else []
        healthy = f"nothing stands out: none of {len(blocks)} series became worse"
        if all(len(one.points) < over_time.MIN_RUNS for one in found_series):
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
    """Whether the index of runs contains all values that the options select. If not, the records must be read."""
    from_records = ("paths", "since", "system", "reference", "references", "cell", "row", "column", "node", "fleet")
    return not any(getattr(options, name) for name in from_records) and bool(folders.reports(folders.prefix()))


def ending_sentences() -> Iterator[str]:
    """Sentences about nodes that cannot be judged, and about runs that ended without a report. Raises BadInput."""
    prefix = folders.prefix()
    if folders.reports(prefix):
        from ..runs import index

        with index.open_index(prefix, arguments.reference_folder()) as found:
            yield from (f"{node} {why}" for node, why in found.disturbance_streaks().items())
    yield from missing_runs.missing_run_sentences(prefix)


def print_component_or_slot(options: argparse.Namespace) -> int:
    """Prints the history of the component or slot that the options name. Raises BadInput."""
    refused = {"testcase": options.testcase, "class": options.link_class, "fleet": options.fleet, "plot": options.plot}
    given = next((name for name, value in refused.items() if value), None)
    if given:
        raise BadInput(f"--{given} selects values, and --component and --slot do not print values: omit one of them")
    if options.component is not None and not options.component.strip():
        raise BadInput("--component '' is not a serial number or UUID: copy it from `linkmatrix show`")
    place = parse_slot(options.slot, "--slot") if options.slot is not None else None
    written = notes.load(folders.prefix())
    evidence = list(flag_evidence(options, place))
    if place is not None:
        lines = over_time.slot_history(evidence, place, options.clean_runs, written)
    else:
        lines = over_time.part_history(evidence, options.component, options.clean_runs, written)
    screen = Screen()
    screen.lines(*lines)
    if not lines:
        screen.lines(f"No stored run contains {options.slot or 'the component ' + options.component}.")
    return 0 if lines else NOTHING


def flag_evidence(options: argparse.Namespace, place: Slot | None) -> Iterator[RunFlags]:
    """The flagged and the clean components of each run that the options select. Raises BadInput.

    Without options that select runs, the index finds the runs that contain the component or the node of the slot.
    """
    if options.paths or options.since or options.system or options.reference or options.references:
        references = arguments.load_references(options)
        yield from (flags_in_run(run, references, options.reference) for run in recorded_runs(options))
        return
    from ..runs import index

    with index.open_index(folders.prefix(), arguments.reference_folder()) as stored_runs:
        Screen().lines(*(f"note: {note}" for note in stored_runs.notes))
        nodes = stored_runs.node_numbers([place[0]]) if place else stored_runs.nodes_with_part(options.component)
        yield from stored_runs.flags_on(stored_runs.nodes_sharing_parts(nodes))


def chosen_series(medians: "pandas.DataFrame", choice: Choice, testcases: set[str]) -> list[Series]:
    """One series per test case, size, unit and link class of the chosen medians.

    testcases: names of test cases; an empty set for all.
    """
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


def series_title(testcase: str, size: int | None, *names: str) -> str:
    """The title of a series, such as "device_to_device_memcpy_write_ce (512 MiB), NV18"."""
    return f"{testcase} ({units.size(size)}), {' '.join(filter(None, names))}"


def pictures(all_series: Iterable[Series], folder: Path) -> list[Path]:
    """Writes a PNG and an SVG file per series, and returns their paths. Raises OSError."""
    from ..show import plot

    paths: list[Path] = []
    for number, one in enumerate(all_series, 1):
        started, values = [point.started for point in one.points], [point.value for point in one.points]
        events = over_time.changes(one.points), over_time.changed(one.points)
        drawn = plot.draw_series(one.title, started, values, one.unit, *events)
        name = "-".join(filter(None, [one.testcase, re.sub(r"[^A-Za-z0-9]+", "-", one.name).strip("-")]))
        paths += plot.save(drawn, folder, f"{number:02}-{name}")
    return paths


def read_choice(options: argparse.Namespace) -> Choice:
    """The choice from --cell, --row, --column, --node and --class. Raises BadInput."""
    cell = None
    if options.cell:
        pair = options.cell.split("->")
        if len(pair) != 2 or not all(pair):
            raise BadInput(f"--cell '{options.cell}' is not a pair: use the form gpu0->gpu1, in quotes")
        cell = (pair[0], pair[1])
    return Choice(cell, options.row or "", options.column or "", options.link_class, options.node or "")


def recorded_runs(options: argparse.Namespace) -> Iterator[Run]:
    """The runs that the options select. Raises BadInput.

    Tests without a record, and tests with a simulated fault, are left out.
    """
    for run in arguments.selected_runs(options):
        tests = (test for test in run.tests if test.record is not None and not simulated_fault(test.record))
        yield replace(run, tests=tuple(tests))


def chosen_medians(runs: Iterable[Run], choice: Choice) -> Iterator[over_runs.Median]:
    """The medians of the chosen cells: one median per result and link class."""
    by_class = choice == Choice(link_class=choice.link_class)
    for test in (test for run in runs for test in run.tests):

        def values_of(matrix: Matrix, test: Test = test) -> dict[str, float]:
            return chosen_cells(test, matrix, choice).groupby("link_class", sort=False)["value"].median().to_dict()

        yield from over_runs.medians(test, None if by_class else values_of)


def fleet_blocks(tests: Iterable[Test], choice: Choice, testcases: set[str], groups: dict[str, str]) -> Iterator[Block]:
    """A block per test case, link class and group of hosts. Each host is compared with the other hosts of its group.

    groups: {host: description of the hardware and software that hosts of one group share}.
    """
    import pandas

    from ..show import nodes

    placed, floors = [], {}
    for test, record, result in chosen_results(tests, testcases):
        matrix = from_result(result)
        variant = distinguishing_words(record, result, test.variant)
        cells = nodes.with_positions(record, chosen_cells(test, matrix, choice)[nodes.NEEDED])
        placed.append(nodes.newest(cells.assign(link_class=cells["link_class"] + variant)))
        for name in matrix.class_names:
            floors[result["testcase"], name + variant] = min(reference_floor(result, name, record["backend"]))
    if not placed:
        return
    newest = nodes.newest(pandas.concat(placed, ignore_index=True))
    newest["floor"] = [floors[case] for case in zip(newest["testcase"], newest["link_class"], strict=True)]
    newest["group"] = newest["of_host"].map(lambda host: groups.get(host, ""))
    for (testcase, size, unit, name), of_case in newest.groupby(nodes.CASE, dropna=False, sort=False):
        largest_first = sorted(of_case.groupby("group"), key=lambda item: (-item[1]["of_host"].nunique(), item[0]))
        for group, of_group in largest_first:
            title = series_title(testcase, None if pandas.isna(size) else int(size), choice.name, name)
            title += f" with {group}" if group else ""
            yield Block(title, nodes.worst_outlier(of_group, unit), nodes.host_lines(of_group, unit))


def chosen_results(tests: Iterable[Test], testcases: set[str]) -> Iterator[tuple[Test, dict[str, Any], dict[str, Any]]]:
    """Yields (test, record, result) for each result of the test cases; for all results if `testcases` is empty."""
    for test in tests:
        record = test.record or {"results": []}
        for result in record["results"]:
            if not testcases or result["testcase"] in testcases:
                yield test, record, result


def chosen_cells(test: Test, matrix: Matrix, choice: Choice) -> "pandas.DataFrame":
    """A table of the chosen cells that were measured, with the columns of runs/table.py.

    The table is empty if the matrix does not fit into memory.
    """
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
