"""Test cases in several sizes: collectives, with a line per size as nccl-tests prints, and messages between ranks."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..judge.verdicts import Verdict, worst
from ..record import units
from ..record.matrix import from_result
from ..record.names import body_count, collective_extent, is_collective, is_simulation
from ..record.units import figure
from . import matrix_text, words
from .words import Cell

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import ClassSummary
    from ..record.names import Result
    from ..runs.judging import Judged

#: Columns of out-of-place and in-place: head, unit, and the part of a result that they show; "" for its values.
COLUMNS = (("time", "µs", "time"), ("algbw", "GB/s", "algorithm_bandwidth"), ("busbw", "GB/s", ""))
#: Columns of each number of devices of a simulation.
SIMULATION_COLUMNS = (("time", "µs", "time"), ("efficiency", "%", "efficiency"), ("rate", "GFLOP/s", ""))
TIME_DECIMALS = 1
MOST_SIZES = 12  # that are named before a line
LEAST_POINTS = 3  # of a curve
LEAST_SIZES = 3  # of messages; fewer sizes are shown as matrices
#: Test of OSU → its metric.
METRICS = {"latency": "latency", "multi_lat": "latency", "bw": "bandwidth", "mbw_mr": "bandwidth"}
METRICS |= {"bibw": "bidirectional"}
OF_OSU = re.compile(rf"osu_(?P<test>{'|'.join(METRICS)})_(?P<buffers>hh|dd)(?:_(?P<pairs>\d+)_pairs)?")


@dataclass(frozen=True)
class Collective:
    """A collective of a record, its sizes in rising order."""

    one: Judged
    sizes: tuple[tuple[Result, MatrixVerdict], ...]
    has_table = True  # the terminal prints a line per size below the title

    @property
    def name(self) -> str:
        """The test case."""
        return str(self.sizes[0][0]["testcase"])

    @property
    def unit(self) -> str:
        """The unit of the judged values."""
        return str(self.sizes[0][0]["unit"])

    @property
    def ways(self) -> list[str]:
        """The columns of the results: out-of-place and in-place; for a simulation the numbers of devices."""
        return list(dict.fromkeys(way for result, _ in self.sizes for way in result["columns"]))

    @property
    def columns(self) -> tuple[tuple[str, str, str], ...]:
        """The columns of each of `ways`."""
        return columns_of(self.sizes[0][0])

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all sizes."""
        return worst(self.one.matrix_verdict(matrix) for _, matrix in self.sizes)

    def title(self) -> str:
        """The quantity, the number of ranks, and how to read the table."""
        assert self.one.test.record is not None  # it has results
        quantity = self.sizes[0][0]["quantity"]
        if is_simulation(self.sizes[0][0]):
            return (
                f"{quantity} ({words.UNITS[self.unit]}), efficiency over {self.ways[0]}, one line per number of bodies"
            )
        return f"{quantity} ({words.UNITS[self.unit]}) of {collective_extent(self.one.test.record)}, one line per size"

    def how(self) -> str:
        """A sentence part with the samples, the verification and the duration."""
        samples = matrix_text.sampled(*(result for result, _ in self.sizes))
        verified = matrix_text.verification(*(result for result, _ in self.sizes))
        seconds = sum(result["seconds"] for result, _ in self.sizes)
        return ", ".join([samples, verified, *([f"{seconds:.1f} s"] if seconds else [])])

    def lines(self) -> Iterator[tuple[str, list[Cell]]]:
        """(size, the figures of each way), in the order of `ways` and `columns`."""
        for result, matrix in self.sizes:
            yield (
                size_text(result),
                [cell for way in self.ways for cell in cells_of(result, matrix, way)],
            )

    def said(self, most: int = 5) -> list[str]:
        """Lines about cells that are not PASS and lack more than a reference, about facts, and about notes.

        A line that does not concern all sizes begins with its sizes.
        """
        found: dict[str, list[str]] = {}
        for result, matrix in self.sizes:
            notes = [f"note: {note}" for note in [*result["notes"], *result.get("throttled", [])]]
            for line in [*matrix_text.marked_cells(matrix, most), *words.fact_lines(self.one, result), *notes]:
                found.setdefault(line, []).append(size_text(result))
        return [
            line if len(sizes) == len(self.sizes) else f"{', '.join(units.first(sizes, MOST_SIZES))}: {line}"
            for line, sizes in found.items()
        ]

    def sizes_said(self) -> str:
        """ "128 MiB to 2 GiB"."""
        return " to ".join(dict.fromkeys(size_text(result) for result, _ in (self.sizes[0], self.sizes[-1])))

    def ends(self) -> dict[str, list[str]]:
        """{way: [smallest, largest] figure of all sizes}; one figure if both are equal, [] without a value."""
        found = {}
        for way in self.ways:
            of_sizes = [summary for _, matrix in self.sizes if (summary := matrix.matrix.classes.get(way))]
            ends = (min(one.low for one in of_sizes), max(one.high for one in of_sizes)) if of_sizes else ()
            found[way] = list(dict.fromkeys(figure(value, words.DECIMALS[self.unit]) for value in ends))
        return found

    def span(self) -> str:
        """ "128 MiB to 2 GiB: out-of-place 175.93 to 232.24, in-place 176.42 to 232.21 GB/s"."""
        told = [f"{way} {' to '.join(ends)}" for way, ends in self.ends().items() if ends]
        return f"{self.sizes_said()}: {', '.join(told)} {words.UNITS[self.unit]}" if told else "not measured"


def columns_of(result: Result) -> tuple[tuple[str, str, str], ...]:
    """The columns of out-of-place and in-place of a collective, or of each number of devices of a simulation."""
    return SIMULATION_COLUMNS if is_simulation(result) else COLUMNS


def size_text(result: Result) -> str:
    """ "64 KiB"; of a simulation "65536 bodies"."""
    bodies = body_count(result) if is_simulation(result) else None
    return units.size(result["size_bytes"]) if bodies is None else f"{bodies} bodies"


def cells_of(result: Result, matrix: MatrixVerdict, way: str) -> list[Cell]:
    """The figures of one of `Collective.ways` in one size; a missing figure is a dash and INCOMPLETE."""
    columns = columns_of(result)
    if way not in result["columns"]:
        return [*(Cell("-") for _ in columns[:-1]), Cell("-", Verdict.INCOMPLETE)]
    at, found = result["columns"].index(way), []
    for _, _, part in columns[:-1]:
        known = result.get("parts", {}).get(part)
        value = known["values"][0][at] if known else None
        decimals = TIME_DECIMALS if part == "time" else words.DECIMALS[known["unit"]] if known else 0
        found.append(Cell("-" if value is None else figure(value, decimals)))
    cell = matrix.cells.get((result["rows"][0], way))
    status, value = result["status"][0][at], result["values"][0][at]
    text = (
        words.SHORT.get(status, status)
        if status != "ok" or value is None
        else figure(value, words.DECIMALS[result["unit"]])
    )
    verdict, reason = (cell.verdict, cell.reason) if cell is not None else (Verdict.INCOMPLETE, "")
    return [*found, Cell(text, verdict, reason=reason)]


def groups(one: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """The matrices of a test; the sizes of a collective are one item in the place of the first size."""
    collectives: dict[str, list[tuple[Result, MatrixVerdict]]] = {}
    for result, matrix in one.matrices:
        if is_collective(result):
            collectives.setdefault(result["testcase"], []).append((result, matrix))
    found: list[Collective | tuple[Result, MatrixVerdict]] = []
    for result, matrix in one.matrices:
        if not is_collective(result):
            found.append((result, matrix))
        elif (sizes := collectives[result["testcase"]])[0][0] is result:
            found.append(Collective(one, tuple(sorted(sizes, key=lambda size: size[0]["size_bytes"] or 0))))
    return found


class Sweep(Collective):
    """A test case between ranks in several sizes, in rising order."""

    has_table = False  # one table has the messages of all tests

    @property
    def ways(self) -> list[str]:
        """The link classes, which are the ways of this curve."""
        return list(dict.fromkeys(name for _, matrix in self.sizes for name in matrix.matrix.classes))

    @property
    def name(self) -> str:
        """The test case, with the number of pairs, the memory and the transport."""
        result = self.sizes[0][0]
        return ", ".join(filter(None, [result["testcase"], *heads(self.one, result)]))

    def title(self) -> str:
        """The quantity and the sizes."""
        return f"{self.sizes[0][0]['quantity']} ({words.UNITS[self.unit]}), {self.sizes_said()}"


def groups_by_size(one: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """As `groups`; the sizes of a sweep of messages are one item too, in the place of the first size."""
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
    from ..references.keys import device_route

    record = one.test.record or {}
    way = device_route(record, result, one.test.variant)
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


@dataclass(frozen=True)
class Curve:
    """A test case along `axis`, a key of AXES: its results in rising order, all else the same."""

    testcase: str
    axis: str
    results: tuple[Result, ...]

    @property
    def unit(self) -> str:
        """The unit of all values."""
        return self.results[0]["unit"]

    @property
    def is_of_messages(self) -> bool:
        """Whether the curve shows messages between ranks. All tests of a run share one chart of such curves."""
        result = self.results[0]
        return self.axis == "size_bytes" and result["engine"] == "mpi" and not is_collective(result)

    def points(self) -> dict[str, list[tuple[int, ClassSummary]]]:
        """{link class: [(place on the axis, its cells)]}."""
        found: dict[str, list[tuple[int, ClassSummary]]] = {}
        for result in self.results:
            for name, summary in from_result(result).classes.items():
                found.setdefault(name, []).append((result[self.axis], summary))
        return found

    def fit(self) -> str:
        """ "t = 2.4 µs + B / 395.7 GB/s, at most 4 % off" of all sizes of a sweep; "" without a fit."""
        parts = self.results[-1]["parts"]
        if self.axis != "size_bytes" or "fit_error" not in parts:
            return ""
        rate, overhead, error = (
            [value for row in parts[name]["values"] for value in row if value is not None]
            for name in ("fit_bandwidth", "fit_overhead", "fit_error")
        )
        if not rate:
            return ""
        line = f"t = {statistics.median(overhead):.1f} µs + B / {statistics.median(rate):.1f} GB/s"
        return f"{line}, at most {max(error):.0f} % off"


def curves_of(record: dict[str, Any]) -> list[Curve]:
    """All curves of a checked record, in its order."""
    found = []
    for axis in ("size_bytes", "blocks"):
        groups: dict[tuple[Any, ...], list[Result]] = {}
        for result in record["results"]:
            if result.get(axis) and not is_simulation(result):  # simulations have other charts
                known = ("size_bytes", "offset", "blocks", "threads", "host_pages", "pairs")
                alike = (result.get(name) for name in known if name != axis)
                groups.setdefault((result["testcase"], result["kernel"], *alike), []).append(result)
        for results in groups.values():
            results.sort(key=lambda result: result[axis])
            if len({result[axis] for result in results}) >= LEAST_POINTS:
                found.append(Curve(results[0]["testcase"], axis, tuple(results)))
    return found


def on_a_curve(record: dict[str, Any]) -> list[Result]:
    """The results that a curve shows, except the last result of each curve, which is also shown as a matrix."""
    return [result for curve in curves_of(record) for result in curve.results[:-1]]
