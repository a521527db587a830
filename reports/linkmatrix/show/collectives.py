"""Test cases with several sizes: collectives, messages between ranks, and curves."""

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

#: Columns of a collective, for out-of-place and for in-place: (head, unit, part of the result; "" for its values).
COLUMNS = (("time", "µs", "time"), ("algbw", "GB/s", "algorithm_bandwidth"), ("busbw", "GB/s", ""))
#: Columns of a simulation, for each number of devices.
SIMULATION_COLUMNS = (("time", "µs", "time"), ("efficiency", "%", "efficiency"), ("rate", "GFLOP/s", ""))
TIME_DECIMALS = 1
MAX_SIZES = 12  # named sizes of a remark
MIN_POINTS = 3  # of a curve
MIN_SIZES = 3  # of a sweep of messages; fewer sizes are shown as matrices
#: {test of OSU: metric}
METRICS = {"latency": "latency", "multi_lat": "latency", "bw": "bandwidth", "mbw_mr": "bandwidth"}
METRICS |= {"bibw": "bidirectional"}
OF_OSU = re.compile(rf"osu_(?P<test>{'|'.join(METRICS)})_(?P<buffers>hh|dd)(?:_(?P<pairs>\d+)_pairs)?")


@dataclass(frozen=True)
class Collective:
    """A collective or simulation in several sizes, in rising order."""

    one: Judged
    sizes: tuple[tuple[Result, MatrixVerdict], ...]
    has_table = True  # whether the terminal prints a line per size

    @property
    def name(self) -> str:
        """The test case."""
        return str(self.sizes[0][0]["testcase"])

    @property
    def unit(self) -> str:
        """The unit of the judged values."""
        return str(self.sizes[0][0]["unit"])

    @property
    def column_groups(self) -> list[str]:
        """The groups of columns: out-of-place and in-place; for a simulation, the numbers of devices."""
        return list(dict.fromkeys(name for result, _ in self.sizes for name in result["columns"]))

    @property
    def columns(self) -> tuple[tuple[str, str, str], ...]:
        """(heading, unit, name of the part of the result) of each column of a group."""
        return columns_of(self.sizes[0][0])

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all sizes."""
        return worst(self.one.matrix_verdict(matrix) for _, matrix in self.sizes)

    def title(self) -> str:
        """The quantity, the number of ranks, and what a line of the table means."""
        assert self.one.test.record is not None  # it has results
        quantity = self.sizes[0][0]["quantity"]
        if is_simulation(self.sizes[0][0]):
            first = self.column_groups[0]
            return f"{quantity} ({words.UNITS[self.unit]}), efficiency over {first}, one line per number of bodies"
        return f"{quantity} ({words.UNITS[self.unit]}) of {collective_extent(self.one.test.record)}, one line per size"

    def how(self) -> str:
        """The samples, the verification and the duration, as text."""
        samples = matrix_text.sampled(*(result for result, _ in self.sizes))
        verified = matrix_text.verification(*(result for result, _ in self.sizes))
        seconds = sum(result["seconds"] for result, _ in self.sizes)
        return ", ".join([samples, verified, *([f"{seconds:.1f} s"] if seconds else [])])

    def lines(self) -> Iterator[tuple[str, list[Cell]]]:
        """Yields (size, cells) for each size. The cells of all column groups are in one list, in order."""
        for result, matrix in self.sizes:
            yield (
                size_text(result),
                [cell for name in self.column_groups for cell in cells_of(result, matrix, name)],
            )

    def remarks(self, most: int = 5) -> list[str]:
        """Lines about cells that are not PASS, about facts, and about notes.

        Cells without a reference have no line. A line begins with its sizes, unless the line is about all sizes.
        most: the maximum number of cells per size.
        """
        found: dict[str, list[str]] = {}
        for result, matrix in self.sizes:
            notes = [f"note: {note}" for note in [*result["notes"], *result.get("throttled", [])]]
            for line in [*matrix_text.marked_cells(matrix, most), *words.fact_lines(self.one, result), *notes]:
                found.setdefault(line, []).append(size_text(result))
        return [
            line if len(sizes) == len(self.sizes) else f"{', '.join(units.first(sizes, MAX_SIZES))}: {line}"
            for line, sizes in found.items()
        ]

    def size_range(self) -> str:
        """The smallest and largest size: "128 MiB to 2 GiB"."""
        return " to ".join(dict.fromkeys(size_text(result) for result, _ in (self.sizes[0], self.sizes[-1])))

    def extremes(self) -> dict[str, list[str]]:
        """{column group: [lowest, highest]} of the values of all sizes.

        A list has one value if both are equal, and no value if nothing was measured.
        """
        found = {}
        for name in self.column_groups:
            summaries = [summary for _, matrix in self.sizes if (summary := matrix.matrix.classes.get(name))]
            ends = (min(one.low for one in summaries), max(one.high for one in summaries)) if summaries else ()
            found[name] = list(dict.fromkeys(figure(value, words.DECIMALS[self.unit]) for value in ends))
        return found

    def span(self) -> str:
        """Sizes and values as text.

        Example: "128 MiB to 2 GiB: out-of-place 175.93 to 232.24, in-place 176.42 to 232.21 GB/s".
        """
        ranges = [f"{name} {' to '.join(ends)}" for name, ends in self.extremes().items() if ends]
        return f"{self.size_range()}: {', '.join(ranges)} {words.UNITS[self.unit]}" if ranges else "not measured"


def columns_of(result: Result) -> tuple[tuple[str, str, str], ...]:
    """(heading, unit, name of the part of the result) of each column of a collective or simulation."""
    return SIMULATION_COLUMNS if is_simulation(result) else COLUMNS


def size_text(result: Result) -> str:
    """The size of a result: "64 KiB", or "65536 bodies" for a simulation."""
    bodies = body_count(result) if is_simulation(result) else None
    return units.size(result["size_bytes"]) if bodies is None else f"{bodies} bodies"


def cells_of(result: Result, matrix: MatrixVerdict, name: str) -> list[Cell]:
    """The cells of a column group in one size. A missing value is a dash with the verdict INCOMPLETE."""
    columns = columns_of(result)
    if name not in result["columns"]:
        return [*(Cell("-") for _ in columns[:-1]), Cell("-", Verdict.INCOMPLETE)]
    at, found = result["columns"].index(name), []
    for _, _, part in columns[:-1]:
        known = result.get("parts", {}).get(part)
        value = known["values"][0][at] if known else None
        decimals = TIME_DECIMALS if part == "time" else words.DECIMALS[known["unit"]] if known else 0
        found.append(Cell("-" if value is None else figure(value, decimals)))
    cell = matrix.cells.get((result["rows"][0], name))
    status, value = result["status"][0][at], result["values"][0][at]
    text = (
        words.SHORT.get(status, status)
        if status != "ok" or value is None
        else figure(value, words.DECIMALS[result["unit"]])
    )
    verdict, reason = (cell.verdict, cell.reason) if cell is not None else (Verdict.INCOMPLETE, "")
    return [*found, Cell(text, verdict, reason=reason)]


def groups(judged: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """One item per matrix or collective of a test. A collective is at the position of its first size."""
    collectives: dict[str, list[tuple[Result, MatrixVerdict]]] = {}
    for result, matrix in judged.matrices:
        if is_collective(result):
            collectives.setdefault(result["testcase"], []).append((result, matrix))
    found: list[Collective | tuple[Result, MatrixVerdict]] = []
    for result, matrix in judged.matrices:
        if not is_collective(result):
            found.append((result, matrix))
        elif (sizes := collectives[result["testcase"]])[0][0] is result:
            found.append(Collective(judged, tuple(sorted(sizes, key=lambda size: size[0]["size_bytes"] or 0))))
    return found


class Sweep(Collective):
    """A test case of messages between ranks in several sizes, in rising order."""

    has_table = False  # the messages of all tests are in one table

    @property
    def column_groups(self) -> list[str]:
        """The link classes."""
        return list(dict.fromkeys(name for _, matrix in self.sizes for name in matrix.matrix.classes))

    @property
    def name(self) -> str:
        """The test case, with the number of pairs, the memory and the transport."""
        result = self.sizes[0][0]
        return ", ".join(filter(None, [result["testcase"], *heads(self.one, result)]))

    def title(self) -> str:
        """The quantity and the sizes."""
        return f"{self.sizes[0][0]['quantity']} ({words.UNITS[self.unit]}), {self.size_range()}"


def groups_by_size(judged: Judged) -> list[Collective | tuple[Result, MatrixVerdict]]:
    """The items of `groups`. All sizes of a sweep of messages are merged into one item."""
    found: list[Collective | tuple[Result, MatrixVerdict]] = []
    swept: dict[tuple[str, ...], list[tuple[Result, MatrixVerdict]]] = {}
    for shown in groups(judged):
        if not isinstance(shown, Collective) and is_message(*shown):
            swept.setdefault(sweep_key(shown[0]), []).append(shown)
    for shown in groups(judged):
        several = [] if isinstance(shown, Collective) else swept.get(sweep_key(shown[0]), [])
        if len({result["size_bytes"] for result, _ in several}) < MIN_SIZES:
            found.append(shown)
        elif shown[0] is several[0][0]:
            found.append(Sweep(judged, tuple(sorted(several, key=lambda size: size[0]["size_bytes"]))))
    return found


def is_message(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix contains messages of a known size, and fits into memory."""
    known = result["size_bytes"] is not None and matrix.whole is not None
    return known and result["engine"] == "mpi" and not is_collective(result)


def sweep_key(result: Result) -> tuple[str, ...]:
    """The key of a sweep. All sizes of the sweep have the same key."""
    key = (result["testcase"], result["memory"], result["transport"], result.get("pairs"), result.get("offset"))
    return tuple(map(str, key))


def heads(judged: Judged, result: Result) -> tuple[str, ...]:
    """The heading of a column of messages: (pairs, memory, transport)."""
    pairs = result.get("pairs") or pairs_per_cell(judged, result)
    ranks = units.counted(pairs, "pair") if pairs else "ranks"
    from ..references.keys import device_route

    record = judged.test.record or {}
    transport = device_route(record, result, judged.test.variant)
    put = " put" if "_put_" in result["testcase"] else ""
    return f"{ranks}{put}", result["memory"], transport


def pairs_per_cell(judged: Judged, result: Result) -> int:
    """The number of pairs of ranks per cell of a matrix of nodes; 0 for a matrix of ranks."""
    if match := OF_OSU.fullmatch(result["testcase"]):
        return int(match["pairs"] or 1)
    record = judged.test.record
    if record is None or not result["testcase"].startswith("node_"):
        return 0
    nodes = [device["node"] for device in record["devices"]]
    return max(map(nodes.count, nodes), default=0)


@dataclass(frozen=True)
class Curve:
    """Results of a test case that differ only in the field `axis`, in rising order. axis: a key of `charts.AXES`."""

    testcase: str
    axis: str
    results: tuple[Result, ...]

    @property
    def unit(self) -> str:
        """The unit of all values."""
        return self.results[0]["unit"]

    @property
    def is_point_to_point(self) -> bool:
        """Whether the curve shows messages between two ranks. All curves of messages share one chart."""
        result = self.results[0]
        return self.axis == "size_bytes" and result["engine"] == "mpi" and not is_collective(result)

    def points(self) -> dict[str, list[tuple[int, ClassSummary]]]:
        """{link class: [(position on the axis, summary of its cells)]}."""
        found: dict[str, list[tuple[int, ClassSummary]]] = {}
        for result in self.results:
            for name, summary in from_result(result).classes.items():
                found.setdefault(name, []).append((result[self.axis], summary))
        return found

    def fit(self) -> str:
        """The fit over all sizes: "t = 2.4 µs + B / 395.7 GB/s, at most 4 % off"; "" without a fit."""
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
    """All curves of a checked record."""
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
            if len({result[axis] for result in results}) >= MIN_POINTS:
                found.append(Curve(results[0]["testcase"], axis, tuple(results)))
    return found


def results_on_curves(record: dict[str, Any]) -> list[Result]:
    """The results to show only as points of a curve: all results of each curve except the last."""
    return [result for curve in curves_of(record) for result in curve.results[:-1]]
