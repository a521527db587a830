"""Tables of messages between ranks. A table has a line per size, and contains all tests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record import grids, units
from ..record.matrix import from_result
from ..record.names import MESSAGE_RATE
from ..record.units import figure
from . import words
from .collectives import METRICS, OF_OSU, Sweep, groups_by_size, heads
from .matrix_text import Band, bands

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..judge.verdicts import Verdict
    from ..record.names import Result
    from ..runs.judging import Judged

QUANTITIES = {"latency": "half of a round trip", "bandwidth": "bandwidth", "bidirectional": "sum of both directions"}
RATE = "message_rate"  # a part of a result
MEMORY = {"hh": "host", "dd": "device"}  # {word of OSU: memory}


class Value(NamedTuple):
    """A cell of a table of messages.

    text: the value, or the reason why there is no value.
    verdict: the verdict of the test for this size; None for a value that is not judged.
    number: None if nothing was measured.
    """

    text: str
    verdict: Verdict | None
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """The table of a quantity, such as latencies.

    columns: {heading of a column: {size: value}}. A heading has several lines, such as pairs, memory and transport.
    bands: {heading of a column: references}, only for columns with references.
    """

    title: str
    columns: dict[tuple[str, ...], dict[int, Value]]
    bands: dict[tuple[str, ...], Sequence[tuple[int, Band]]] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """The sizes of all columns, in rising order."""
        return sorted({size for column in self.columns.values() for size in column})


def tables(judged: Iterable[Judged]) -> list[Table]:
    """One table per quantity: half round trips, bandwidths, sums of both directions, and message rates."""
    found: dict[str, Table] = {}
    for one in judged:
        for sweep in groups_by_size(one):
            if isinstance(sweep, Sweep):
                add_columns(sweep, found)
    return [Table(one.title, dict(sorted(one.columns.items(), key=column_order)), one.bands) for one in found.values()]


def column_order(column: tuple[tuple[str, ...], Any]) -> tuple[Any, ...]:
    """The sort key of a column: host memory first, then by the number of pairs."""
    ranks, memory, *rest = column[0]
    number = ranks.partition(" ")[0]
    return memory != "host", int(number) if number.isdigit() else 0, ranks, rest


def add_columns(sweep: Sweep, tables: dict[str, Table]) -> None:
    """Adds a column per link class of a sweep to the tables. found: {title: table}."""
    first = sweep.sizes[0][0]
    title = f"{QUANTITIES[first['metric']]} ({words.UNITS[sweep.unit]})"
    several = len(sweep.column_groups) > 1
    known = bands((result["size_bytes"], matrix) for result, matrix in sweep.sizes)
    for name in sweep.column_groups or [""]:
        head = unique_head((*heads(sweep.one, first), name if several else ""), tables, title)
        values = {result["size_bytes"]: value_of(sweep.one, result, matrix, name) for result, matrix in sweep.sizes}
        table = tables.setdefault(title, Table(title, {}))
        table.columns[head] = values
        if name in known:
            table.bands[head] = known[name]
    rates = {result["size_bytes"]: rate_of(result) for result, _ in sweep.sizes if RATE in result["parts"]}
    if rates:
        title = f"message rate ({words.UNITS[MESSAGE_RATE]})"
        head = unique_head((*heads(sweep.one, first), ""), tables, title)
        tables.setdefault(title, Table(title, {})).columns[head] = rates


def unique_head(head: tuple[str, ...], tables: dict[str, Table], title: str) -> tuple[str, ...]:
    """The heading of a new column. If another column of the table has the same heading, a number is added."""
    taken = tables[title].columns if title in tables else {}
    numbered = (head if number == 1 else (*head[:-1], f"{head[-1]} ({number})".strip()) for number in range(1, 10**6))
    return next(one for one in numbered if one not in taken)


def value_of(judged: Judged, result: Result, matrix: MatrixVerdict, name: str) -> Value:
    """The median of a link class for one size. If no cell has a value: the statuses of the cells."""
    verdict, summary = judged.matrix_verdict(matrix), matrix.matrix.classes.get(name)
    if summary is None:
        statuses = grids.distinct_values(result["status"]) - {"ok", "not-applicable"}
        return Value(" ".join(sorted(statuses)) or "-", verdict)
    return Value(figure(summary.median, words.DECIMALS[matrix.matrix.unit]), verdict, summary.median)


def rate_of(result: Result) -> Value:
    """The median message rate for one size. The rate is not judged, because it follows from the bandwidth."""
    (summary, *_) = from_result(result, RATE).classes.values() or [None]
    if summary is None:
        return Value("-", None)
    return Value(figure(summary.median, words.DECIMALS[MESSAGE_RATE]), None, summary.median)


def published_tables(names: Iterable[str]) -> dict[str, Table]:
    """{title: table} of published systems. names: the names of the systems. Raises BadInput."""
    from ..references import published
    from ..runs import figures

    found: dict[str, Table] = {}
    for name in dict.fromkeys(names):
        for one in figures.published_figures(published.load(name)):
            match = OF_OSU.fullmatch(one.testcase)
            if match is None or one.size_bytes is None or len(one.medians) != 1:
                continue
            title = f"{QUANTITIES[METRICS[match['test']]]} ({words.UNITS[one.unit]})"
            head = (units.counted(int(match["pairs"] or 1), "pair"), MEMORY[match["buffers"]], name, "")
            (value,) = one.medians.values()
            column = found.setdefault(title, Table(title, {})).columns.setdefault(head, {})
            column[one.size_bytes] = Value(figure(value, words.DECIMALS[one.unit]), None, value)
    return found


def with_published(table: Table, others: Mapping[str, Table]) -> Table:
    """The table, with additional columns of published systems. others: {title: table} of these systems."""
    more = others[table.title].columns if table.title in others else {}
    sizes = set(table.sizes)
    cut = {head: {size: value for size, value in column.items() if size in sizes} for head, column in more.items()}
    return Table(table.title, table.columns | {head: column for head, column in cut.items() if column})
