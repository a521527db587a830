"""Messages between ranks: one table of all tests of a run with a line per size, as in published sweeps."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import grids, units
from ..record.matrix import from_result
from ..record.names import MESSAGE_RATE, Result, is_collective
from ..record.units import figure
from ..references.keys import way_between_devices
from ..runs.judging import Judged
from . import words
from .collectives import Collective, groups

LEAST_SIZES = 3  # fewer are matrices
QUANTITIES = {"latency": "half of a round trip", "bandwidth": "bandwidth", "bidirectional": "sum of both directions"}
RATE = "message_rate"  # the part of a result
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
        """The test case, with the number of pairs, the memory and the transport."""
        result = self.sizes[0][0]
        return ", ".join(filter(None, [result["testcase"], *heads(self.one, result)]))

    def title(self) -> str:
        """The quantity and the sizes."""
        return f"{self.sizes[0][0]['quantity']} ({words.UNITS[self.unit]}), {self.sizes_said()}"


class Band(NamedTuple):
    """A reference in the unit of its curve, and the limits of its tolerances; without a tolerance the value itself."""

    low: float
    value: float
    high: float


Bands = Mapping[str, Sequence[tuple[int, Band]]]  # link class → (place on the axis, band) in rising order


class Value(NamedTuple):
    """A figure of the table; verdict: of its test in that size, None for a figure that is not judged.

    number: None if nothing was measured; `text` has the reason.
    """

    text: str
    verdict: Verdict | None
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """One quantity of all tests.

    columns: {its heads: {size: value}}. held: {heads of a column: what it is held against}, of those with references.
    """

    title: str
    columns: dict[tuple[str, ...], dict[int, Value]]
    held: dict[tuple[str, ...], Sequence[tuple[int, Band]]] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """The sizes of all columns, in rising order."""
        return sorted({size for column in self.columns.values() for size in column})


def groups_by_size(one: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """As `collectives.groups`; the sizes of a sweep of messages are one item too, in the place of the first size."""
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
    """Whether a matrix is of messages of a known size, and its cells are in the record."""
    known = result["size_bytes"] is not None and matrix.whole is not None
    return known and result["engine"] == "mpi" and not is_collective(result)


def series_of(result: Result) -> tuple[str, ...]:
    """The key that all sizes of one sweep share."""
    asked = (result["testcase"], result["memory"], result["transport"], result.get("pairs"), result.get("offset"))
    return tuple(map(str, asked))


def heads(one: Judged, result: Result) -> tuple[str, ...]:
    """The heads of a column: pairs, memory and transport."""
    pairs = result.get("pairs") or pairs_of_nodes(one, result)
    who = units.counted(pairs, "pair") if pairs else "ranks"
    record = one.test.record or {}
    way = way_between_devices(record, result, one.test.variant)
    put = " put" if "_put_" in result["testcase"] else ""
    return f"{who}{put}", result["memory"], way


def pairs_of_nodes(one: Judged, result: Result) -> int:
    """The number of pairs of ranks of one cell, for a matrix of nodes; 0 for a matrix of ranks."""
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
    """The sorting key of a column: host memory first, then by the number of pairs."""
    who, memory, *rest = column[0]
    number = who.partition(" ")[0]
    return memory != "host", int(number) if number.isdigit() else 0, who, rest


def add_columns(sweep: Sweep, found: dict[str, Table]) -> None:
    """Adds the columns of a sweep, one for each link class, to the tables by their titles."""
    first = sweep.sizes[0][0]
    title = f"{QUANTITIES[first['metric']]} ({words.UNITS[sweep.unit]})"
    several = len(sweep.ways) > 1
    held = bands((result["size_bytes"], matrix) for result, matrix in sweep.sizes)
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
    """The heads of a column, with a number if the table has them already, as of two tests of different nodes."""
    taken = found[title].columns if title in found else {}
    again = (head if number == 1 else (*head[:-1], f"{head[-1]} ({number})".strip()) for number in range(1, 10**6))
    return next(one for one in again if one not in taken)


def value_of(one: Judged, result: Result, matrix: MatrixVerdict, name: str) -> Value:
    """The median of a link class in a size; without a value its status."""
    verdict, summary = one.of_matrix(matrix), matrix.matrix.classes.get(name)
    if summary is None:
        said = grids.used(result["status"]) - {"ok", "not-applicable"}
        return Value(" ".join(sorted(said)) or "-", verdict)
    return Value(figure(summary.median, words.DECIMALS[matrix.matrix.unit]), verdict, summary.median)


def rate_of(result: Result) -> Value:
    """The median message rate in a size, which is calculated from the judged bandwidth."""
    (summary, *_) = from_result(result, RATE).classes.values() or [None]
    if summary is None:
        return Value("-", None)
    return Value(figure(summary.median, words.DECIMALS[MESSAGE_RATE]), None, summary.median)


def bands(points: Iterable[tuple[int, MatrixVerdict]]) -> Bands:
    """The references of the link classes of matrices at their places on an axis."""
    found: dict[str, list[tuple[int, Band]]] = {}
    for place, matrix in sorted(points, key=lambda point: point[0]):
        for name in matrix.matrix.classes:
            band = band_of(matrix, name)
            if band is not None:
                found.setdefault(name, []).append((place, band))
    return found


def band_of(matrix: MatrixVerdict, name: str) -> Band | None:
    """The band of the references of all cells of a link class; None without references."""
    judged = matrix.whole
    if judged is None or matrix.problem:
        return None
    of_class = (judged.block.classes == matrix.matrix.class_names.index(name)) & np.isfinite(judged.value)
    if not of_class.any():
        return None
    value = judged.value[of_class]
    low, high = (np.where(np.isfinite(limit), limit, value) for limit in (judged.low[of_class], judged.high[of_class]))
    return Band(float(low.min()), float(np.median(value)), float(high.max()))


def published_tables(names: Iterable[str]) -> dict[str, Table]:
    """{title: table} of the sweeps of published systems. Raises BadInput."""
    from ..references import published
    from ..runs import figures

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
    """The table with additional columns from the table of the same title in `others`, for its own sizes only."""
    more = others[table.title].columns if table.title in others else {}
    sizes = set(table.sizes)
    cut = {head: {size: value for size, value in column.items() if size in sizes} for head, column in more.items()}
    return Table(table.title, table.columns | {head: column for head, column in cut.items() if column})
