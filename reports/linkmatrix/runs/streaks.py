"""Cells that were DISTURBED several times in a row: their node cannot be judged while the other process runs.

Only an undisturbed run in which the whole test case of the cell is PASS or WARN ends the row.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..judge.verdicts import Verdict
from ..record import units
from . import answers
from .bound import short
from .judging import Judged
from .questions import CLEAN, disturbed_nodes
from .suspects import endpoints

ENOUGH = 3  # DISTURBED in a row
MOST_CELLS = 64  # per test case


class Cell(NamedTuple):
    """A DISTURBED cell. source, destination: the components. pair: their labels in that run. processes: names."""

    testcase: str
    source: str
    destination: str
    pair: str
    processes: tuple[str, ...]


class Measured(NamedTuple):
    """A test on a node: the run of the program, its test cases, those that are clean, and their DISTURBED cells."""

    node: str
    started: int
    run: int
    testcases: frozenset[str]
    clean: frozenset[str]
    disturbed: tuple[Cell, ...]


def of_row(row: Mapping[str, Any]) -> Measured:
    """A row of `indexing.rows_of_test`."""
    cells = tuple(Cell(*cell[:4], tuple(cell[4])) for cell in row["disturbed"])
    of_case = answers.of_json(row["cases"]).items()
    clean = frozenset(name for name, one in of_case if one.whole and not one.disturbed and one.verdict in CLEAN)
    return Measured(row["node"], row["started"], row["run"], frozenset(row["cases"]), clean, cells)


def disturbed_cells(one: Judged) -> dict[str, list[Cell]]:
    """{node: the DISTURBED cells with an endpoint on the node}, of the nodes that another process disturbed."""
    found: dict[str, list[Cell]] = {}
    record = one.test.record
    for result, matrix in one.matrices:
        assert record is not None
        nodes = disturbed_nodes(record, result)
        if matrix.whole is None or not nodes:
            continue
        known = {label: device for label, (device, _) in endpoints(record).items()}
        rows, columns = matrix.matrix.rows, matrix.matrix.columns
        places = np.argwhere(matrix.whole.codes == Verdict.DISTURBED)[:MOST_CELLS].tolist()
        for pair in ((rows[r], columns[c]) for r, c in places):
            ends = [known.get(label, (record["host"]["name"], label)) for label in pair]
            for node in {node for node, _ in ends} & nodes.keys():
                parts = (name for _, name in ends)
                cell = Cell(result["testcase"], *parts, f"{pair[0]}->{pair[1]}", tuple(nodes[node]))
                found.setdefault(node, []).append(cell)
    return found


def sentences(tests: Iterable[Measured]) -> dict[str, str]:
    """{node: why it cannot be judged} of the nodes with a cell that was DISTURBED the last ENOUGH times.

    The names of nodes are compared without their domains.
    """
    of_node: dict[str, list[Measured]] = {}
    for test in tests:
        of_node.setdefault(short(test.node), []).append(test)
    found = {node: sentence for node, of in of_node.items() if (sentence := next(of_streaks(of), ""))}
    return dict(sorted(found.items()))


def of_streaks(tests: Iterable[Measured]) -> Iterator[str]:
    """A sentence for each cell of a node that was DISTURBED the last times, the longest streak first."""
    counts: dict[tuple[str, str, str], int] = {}
    newest: dict[tuple[str, str, str], Cell] = {}
    known: set[tuple[int, frozenset[str]]] = set()
    for test in sorted(tests, key=lambda test: test.started):
        if (test.run, test.testcases) in known:  # a copy, or another test of the same run
            continue
        known.add((test.run, test.testcases))
        now = {cell[:3]: cell for cell in test.disturbed}
        counts = {key: count for key, count in counts.items() if key[0] not in test.clean}
        for key, cell in now.items():
            counts[key], newest[key] = counts.get(key, 0) + 1, cell
    for key, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count >= ENOUGH:
            cell = newest[key]
            names = " and ".join(units.first(list(cell.processes)))
            of = f"{cell.testcase} {cell.pair} was DISTURBED {count} times in a row"
            yield f"cannot be judged while {names} {'runs' if len(cell.processes) == 1 else 'run'}: {of}"
