"""The table of a collective: one line per size, as nccl-tests prints it, with out-of-place next to in-place.

Other modules of the package see each size as a matrix of one row.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict, worst
from ..record import units
from ..record.names import Result, bodies_of, extent_of, is_collective, is_simulation
from ..record.units import figure
from ..runs.judging import Judged
from . import matrix_text, words
from .words import Cell

#: Columns of out-of-place and in-place: head, unit, and the part of a result that they show; "" for its values.
COLUMNS = (("time", "µs", "time"), ("algbw", "GB/s", "algorithm_bandwidth"), ("busbw", "GB/s", ""))
#: Columns of each number of devices of a simulation.
OF_SIMULATION = (("time", "µs", "time"), ("efficiency", "%", "efficiency"), ("rate", "GFLOP/s", ""))
TIME_DECIMALS = 1
MOST_SIZES = 12  # that are named before a line
SHORT = {"no-peer-access": "no-peer"}


@dataclass(frozen=True)
class Collective:
    """A collective of a record, its sizes in rising order."""

    one: Judged
    sizes: tuple[tuple[Result, MatrixVerdict], ...]

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
        """The worst of all sizes."""
        return worst(self.one.of_matrix(matrix) for _, matrix in self.sizes)

    def title(self) -> str:
        """The quantity, the number of ranks, and how to read the table."""
        assert self.one.test.record is not None  # it has results
        quantity = self.sizes[0][0]["quantity"]
        if is_simulation(self.sizes[0][0]):
            return f"{quantity} ({words.UNITS[self.unit]}), efficiency over {self.ways[0]}, a line a number of bodies"
        return f"{quantity} ({words.UNITS[self.unit]}) of {extent_of(self.one.test.record)}, a line a size"

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
                size_said(result),
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
                found.setdefault(line, []).append(size_said(result))
        return [
            line if len(sizes) == len(self.sizes) else f"{', '.join(units.first(sizes, MOST_SIZES))}: {line}"
            for line, sizes in found.items()
        ]

    def sizes_said(self) -> str:
        """ "128 MiB to 2 GiB"."""
        return " to ".join(dict.fromkeys(size_said(result) for result, _ in (self.sizes[0], self.sizes[-1])))

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
    return OF_SIMULATION if is_simulation(result) else COLUMNS


def size_said(result: Result) -> str:
    """ "64 KiB"; of a simulation "65536 bodies"."""
    bodies = bodies_of(result) if is_simulation(result) else None
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
        SHORT.get(status, status) if status != "ok" or value is None else figure(value, words.DECIMALS[result["unit"]])
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
