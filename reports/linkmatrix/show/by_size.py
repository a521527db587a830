"""Messages of every size between ranks: one table of all tests of a run, a line a size, as published sweeps have it.

A matrix for each of twenty sizes would bury what there is to see.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import clean
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import grids, units
from ..record.collective import is_collective
from ..record.matrix import MESSAGE_RATE, from_result
from ..record.reading import Result
from ..record.units import figure
from ..references import published
from ..references.keys import way_between_devices
from ..runs import figures
from ..runs.judging import Judged
from . import reference_band, words
from .collectives import Collective, groups
from .reference_band import Band

LEAST_SIZES = 3  # fewer are matrices
QUANTITIES = {"latency": "half of a round trip", "bandwidth": "bandwidth", "bidirectional": "sum of both directions"}
RATE = "message_rate"  # the part of a result
SIZE = "size"
HEADS = 4  # lines: who, memory, way, link class
#: OSU's tests → what they measure.
METRICS = {"latency": "latency", "multi_lat": "latency", "bw": "bandwidth", "mbw_mr": "bandwidth"}
METRICS |= {"bibw": "bidirectional"}
MEMORY = {"hh": "host", "dd": "device"}
OF_OSU = re.compile(rf"osu_(?P<test>{'|'.join(METRICS)})_(?P<buffers>hh|dd)(?:_(?P<pairs>\d+)_pairs)?")


class Sweep(Collective):
    """A test case between ranks in several sizes, in rising order."""

    @property
    def ways(self) -> list[str]:
        """Link classes."""
        return list(dict.fromkeys(name for _, matrix in self.sizes for name in matrix.matrix.classes))

    @property
    def name(self) -> str:
        """The test case, and what tells it from others of the same."""
        result = self.sizes[0][0]
        return f"{result['testcase']}{label(self.one, result)}"

    def title(self) -> str:
        """What it was."""
        return f"{self.sizes[0][0]['quantity']} ({words.UNITS[self.unit]}), {self.sizes_said()}"


class Value(NamedTuple):
    """A figure of the table; verdict: of its test in that size, None where it has none of its own.

    number: None where nothing was measured, and `text` says why.
    """

    text: str
    verdict: Verdict | None
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """What all tests have of one quantity.

    columns: {its heads: {size: value}}. held: {heads of a column: what it is held against}, of those with references.
    """

    title: str
    columns: dict[tuple[str, ...], dict[int, Value]]
    held: dict[tuple[str, ...], Sequence[tuple[int, Band]]] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """Of all columns, in rising order."""
        return sorted({size for column in self.columns.values() for size in column})


def groups_by_size(one: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """As `collectives.groups`, and sizes of messages together too, at the place of the first."""
    found: list[Collective | tuple[Result, MatrixVerdict]] = []
    swept: dict[tuple[str, ...], list[tuple[Result, MatrixVerdict]]] = {}
    for shown in groups(one):
        if not isinstance(shown, Collective) and is_message(*shown):
            swept.setdefault(series_of(shown[0]), []).append(shown)
    for shown in groups(one):
        several = [] if isinstance(shown, Collective) else swept.get(series_of(shown[0]), [])
        if len({result["size_bytes"] for result, _ in several}) < LEAST_SIZES:
            found.append(shown)
        elif shown[0] is several[0][0]:
            found.append(Sweep(one, tuple(sorted(several, key=lambda size: size[0]["size_bytes"]))))
    return found


def is_message(result: Result, matrix: MatrixVerdict) -> bool:
    """Is it a matrix of messages, with its cells at hand, of which a size is known?"""
    known = result["size_bytes"] is not None and matrix.whole is not None
    return known and result["engine"] == "mpi" and not is_collective(result)


def series_of(result: Result) -> tuple[str, ...]:
    """What sizes of one sweep have in common."""
    asked = (result["testcase"], result["memory"], result["transport"], result.get("pairs"), result.get("offset"))
    return tuple(map(str, asked))


def label(one: Judged, result: Result) -> str:
    """ ", 4 pairs, device memory, staged"."""
    return "".join(f", {word}" for word in heads(one, result) if word)


def heads(one: Judged, result: Result) -> tuple[str, ...]:
    """What tells a column from another one: who, between which memory, and by which way."""
    pairs = result.get("pairs") or pairs_of_nodes(one, result)
    who = units.counted(pairs, "pair") if pairs else "ranks"
    record = one.test.record or {}
    way = way_between_devices(record, result, one.test.variant)
    put = " put" if "_put_" in result["testcase"] else ""
    return f"{who}{put}", result["memory"], way


def pairs_of_nodes(one: Judged, result: Result) -> int:
    """Pairs of ranks that make a cell of two nodes, where all of them do; 0 of a matrix of ranks."""
    if match := OF_OSU.fullmatch(result["testcase"]):
        return int(match["pairs"] or 1)
    record = one.test.record
    if record is None or not result["testcase"].startswith("node_"):
        return 0
    nodes = [device["node"] for device in record["devices"]]
    return max(map(nodes.count, nodes), default=0)


def tables(judged: Iterable[Judged]) -> list[Table]:
    """A table for each quantity: half round trips, bandwidths, both ways, and message rates."""
    found: dict[str, Table] = {}
    for one in judged:
        for sweep in groups_by_size(one):
            if isinstance(sweep, Sweep):
                add_columns(sweep, found)
    return [Table(one.title, dict(sorted(one.columns.items(), key=place)), one.held) for one in found.values()]


def place(column: tuple[tuple[str, ...], Any]) -> tuple[Any, ...]:
    """Where a column stands: host memory first, then by the number of pairs."""
    who, memory, *rest = column[0]
    number = who.partition(" ")[0]
    return memory != "host", int(number) if number.isdigit() else 0, who, rest


def add_columns(sweep: Sweep, found: dict[str, Table]) -> None:
    """Adds the columns of a sweep, one for each link class, to the tables by their titles."""
    first = sweep.sizes[0][0]
    title = f"{QUANTITIES[first['metric']]} ({words.UNITS[sweep.unit]})"
    several = len(sweep.ways) > 1
    held = reference_band.bands((result["size_bytes"], matrix) for result, matrix in sweep.sizes)
    for name in sweep.ways or [""]:
        head = free_head((*heads(sweep.one, first), name if several else ""), found, title)
        values = {result["size_bytes"]: value_of(sweep.one, result, matrix, name) for result, matrix in sweep.sizes}
        table = found.setdefault(title, Table(title, {}))
        table.columns[head] = values
        if name in held:
            table.held[head] = held[name]
    rates = {result["size_bytes"]: rate_of(result) for result, _ in sweep.sizes if RATE in result["parts"]}
    if rates:
        title = f"message rate ({words.UNITS[MESSAGE_RATE]})"
        head = free_head((*heads(sweep.one, first), ""), found, title)
        found.setdefault(title, Table(title, {})).columns[head] = rates


def free_head(head: tuple[str, ...], found: dict[str, Table], title: str) -> tuple[str, ...]:
    """The heads of a column, with a number where the table has them already: two tests may differ in their nodes."""
    taken = found[title].columns if title in found else {}
    again = (head if number == 1 else (*head[:-1], f"{head[-1]} ({number})".strip()) for number in range(1, 10**6))
    return next(one for one in again if one not in taken)


def value_of(one: Judged, result: Result, matrix: MatrixVerdict, name: str) -> Value:
    """The median of a link class in a size; where nothing was measured, what stands in its place."""
    verdict, summary = one.of_matrix(matrix), matrix.matrix.classes.get(name)
    if summary is None:
        said = grids.used(result["status"]) - {"ok", "not-applicable"}
        return Value(" ".join(sorted(said)) or "-", verdict)
    return Value(figure(summary.median, words.DECIMALS[matrix.matrix.unit]), verdict, summary.median)


def rate_of(result: Result) -> Value:
    """The median message rate in a size, which is judged as the bandwidth that it is made of."""
    (summary, *_) = from_result(result, RATE).classes.values() or [None]
    if summary is None:
        return Value("-", None)
    return Value(figure(summary.median, words.DECIMALS[MESSAGE_RATE]), None, summary.median)


def published_tables(names: Iterable[str]) -> dict[str, Table]:
    """{title: what published systems have of sweeps between nodes}, as `tables`. Raises BadInput."""
    found: dict[str, Table] = {}
    for name in dict.fromkeys(names):
        for one in figures.of_published(published.load(name)):
            match = OF_OSU.fullmatch(one.testcase)
            if match is None or one.size_bytes is None or len(one.medians) != 1:
                continue
            title = f"{QUANTITIES[METRICS[match['test']]]} ({words.UNITS[one.unit]})"
            head = (units.counted(int(match["pairs"] or 1), "pair"), MEMORY[match["buffers"]], name, "")
            (value,) = one.medians.values()
            column = found.setdefault(title, Table(title, {})).columns.setdefault(head, {})
            column[one.size_bytes] = Value(figure(value, words.DECIMALS[one.unit]), None, value)
    return found


def beside(table: Table, others: Mapping[str, Table]) -> Table:
    """A table with the columns of another one of the same title behind its own, in its own sizes."""
    more = others[table.title].columns if table.title in others else {}
    sizes = set(table.sizes)
    cut = {head: {size: value for size, value in column.items() if size in sizes} for head, column in more.items()}
    return Table(table.title, table.columns | {head: column for head, column in cut.items() if column})


def rows(table: Table, glyphs: dict[Verdict, str], width: int) -> Iterator[str]:
    """The lines of a table: heads, then sizes; a glyph behind each figure with a verdict.

    In blocks of columns where the width does not hold all of them.
    """
    names = [units.size(size) for size in table.sizes]
    margin = max(map(len, [*names, SIZE]))
    columns = [
        printed(head, [values.get(size) for size in table.sizes], glyphs) for head, values in table.columns.items()
    ]
    while columns:
        room, block = width - margin, 0
        while block < len(columns) and (block == 0 or room > len(columns[block][0])):
            room, block = room - 1 - len(columns[block][0]), block + 1
        lines = list(zip(*columns[:block], strict=True))
        heads = [line for line in lines[:HEADS] if any(map(str.strip, line))]
        for name, line in zip([SIZE, *[""] * (len(heads) - 1), *names], [*heads, *lines[HEADS:]], strict=True):
            yield clean(f"{name:<{margin}} {' '.join(line)}".rstrip())
        columns = columns[block:]


def printed(head: tuple[str, ...], values: Iterable[Value | None], glyphs: dict[Verdict, str]) -> list[str]:
    """The lines of a column, all as wide; right of a number stands its glyph, so of heads a blank."""
    cells = [f"{word} " for word in head]
    for value in values:
        glyph = glyphs[value.verdict] if value is not None and value.verdict is not None else " "
        cells.append("- " if value is None else f"{value.text}{glyph}")
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
