"""Judges a record against references. An evaluation can be made again at any time; the record never changes."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from .matrix import Matrix, Pair, from_result, has_status, is_large
from .references import Reference, References
from .units import figure

IMPLAUSIBLE = 1.02  # of what the path can carry: above, bytes were counted that never moved
STRAGGLES = {"GB/s": 0.02, "us": 0.10}  # worse than the median of its link class by more than this is worth a look


class Verdict(IntEnum):
    """From good to bad: the worst of several is their maximum."""

    PASS = 0
    WARN = 1
    NO_VERDICT = 2
    FAIL = 3


EXIT_CODES = {Verdict.PASS: 0, Verdict.WARN: 0, Verdict.NO_VERDICT: 3, Verdict.FAIL: 1}


@dataclass(frozen=True)
class CellVerdict:
    """A cell with its verdict and the reason, one sentence; "" for PASS.

    value: in the matrix's unit, None where nothing was measured. deviation: value / reference - 1, None without one.
    """

    verdict: Verdict
    reason: str = ""
    value: float | None = None
    reference: Reference | None = None
    deviation: float | None = None

    @property
    def unjudged(self) -> bool:
        """Was it measured, and nothing but the reference is missing?"""
        return self.verdict is Verdict.NO_VERDICT and self.value is not None and self.reference is None


@dataclass(frozen=True)
class MatrixVerdict:
    """A matrix with a verdict for each cell that applies, and for each that has a reference and is not there."""

    matrix: Matrix
    cells: Mapping[Pair, CellVerdict]

    @property
    def verdict(self) -> Verdict:
        """The worst of the cells; NO VERDICT without any."""
        return worst(cell.verdict for cell in self.cells.values())

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """How many cells have each verdict."""
        found = Counter(cell.verdict for cell in self.cells.values())
        return {verdict: found[verdict] for verdict in Verdict}

    @property
    def unjudged(self) -> int:
        """Cells that lack nothing but a reference."""
        return sum(cell.unjudged for cell in self.cells.values())

    @property
    def held(self) -> int:
        """Cells with a reference."""
        return sum(cell.reference is not None for cell in self.cells.values())

    def worse(self, pair: Pair) -> float | None:
        """By how much a cell is worse than expected, as a fraction: 0.05 is 5 % worse, negative is better.

        Expected is its reference, or the median of its link class where it has none. None where it has no value.
        """
        cell = self.cells.get(pair)
        deviation = cell.deviation if cell is not None else None
        if deviation is None:
            deviation = self.matrix.deviation(pair)
        return deviation if deviation is None or self.matrix.unit == "us" else -deviation

    def axis_medians(self) -> tuple[list[float], list[float]]:
        """By how much each row, and each column, is worse than expected: the median of its cells, as `worse` says."""
        rows: dict[str, list[float]] = {label: [] for label in self.matrix.rows}
        columns: dict[str, list[float]] = {label: [] for label in self.matrix.columns}
        for row, column in self.matrix.numbers:
            off = self.worse((row, column))
            if off is not None:
                rows[row].append(off)
                columns[column].append(off)
        return tuple([statistics.median(cells or [0.0]) for cells in axis.values()] for axis in (rows, columns))

    def part(self) -> "tuple[Mapping[str, Any], MatrixVerdict] | None":
        """(result, verdicts) of what is drawn of a matrix that no picture shows; None for others, and without cells."""
        return None

    def overview(self) -> list[str]:
        """What is said of a matrix that no table shows; nothing of others."""
        return []

    def marked(self, most: int) -> tuple[list[tuple[Pair, CellVerdict]], int]:
        """(the worst cells that are not PASS and lack more than a reference, how many there are)."""
        found = [item for item in self.cells.items() if item[1].verdict is not Verdict.PASS and not item[1].unjudged]
        # what was never tried is a consequence of what went wrong
        found.sort(key=lambda item: (-item[1].verdict, "not-run" in item[1].reason, -(self.worse(item[0]) or 0.0)))
        return found[:most], len(found)


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one record, its `results` in their order; floor: what its program said of the whole run."""

    matrices: tuple[MatrixVerdict, ...]
    floor: Verdict = Verdict.PASS

    @property
    def verdict(self) -> Verdict:
        """The worst of the matrices and of what the record itself says."""
        return max(self.floor, worst(matrix.verdict for matrix in self.matrices))

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 no verdict."""
        return EXIT_CODES[self.verdict]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """FAIL > NO VERDICT > WARN > PASS; of none at all, NO VERDICT."""
    return max(verdicts, default=Verdict.NO_VERDICT)


def evaluate(
    record: Mapping[str, Any], references: References, reference_name: str | None, folder: Path | None = None
) -> Evaluation:
    """Holds every cell of a checked record against the table of references `reference_name`; None: there is none.

    folder: where the record is; a matrix that is too large for it has its cells in a file there.
    """
    matrices = tuple(judge_matrix(result, references, reference_name, folder, record) for result in record["results"])
    ended = {"PASS": Verdict.PASS, "FAIL": Verdict.FAIL}.get(record["result"], Verdict.NO_VERDICT)
    return Evaluation(matrices, ended)


def judge_matrix(
    result: Mapping[str, Any],
    references: References,
    reference_name: str | None,
    folder: Path | None = None,
    record: Mapping[str, Any] | None = None,
) -> MatrixVerdict:
    """A verdict for every cell of an entry of `results` of `record`."""
    if "cells" in result:
        from . import huge

        return huge.judge_matrix(result, record or {}, references, reference_name, folder)
    if is_large(result):
        from . import large

        return large.judge_matrix(result, references, reference_name)
    matrix = from_result(result)
    expected = references.cells(reference_name, matrix.testcase, matrix.rows) if reference_name else {}
    of_class = references.classes(reference_name, matrix.testcase) if reference_name else {}
    cells = {
        (row, column): judge_cell(
            result,
            matrix,
            (row, column),
            (r, c),
            expected.get((row, column)) or of_class.get(result["link_class"][r][c] or "unknown"),
            reference_name,
        )
        for r, row in enumerate(matrix.rows)
        for c, column in enumerate(matrix.columns)
        if result["status"][r][c] != "not-applicable"
    }
    for pair, reference in expected.items():
        if pair not in cells:
            reason = f"{name(pair)} has a reference in '{reference_name}' and was not measured"
            cells[pair] = CellVerdict(Verdict.NO_VERDICT, reason, None, reference)
    return MatrixVerdict(matrix, cells)


def judge_cell(
    result: Mapping[str, Any],
    matrix: Matrix,
    pair: Pair,
    at: tuple[int, int],
    reference: Reference | None,
    reference_name: str | None,
) -> CellVerdict:
    """The verdict on one cell; the first rule that applies decides."""
    row, column = at
    status, value = result["status"][row][column], result["values"][row][column]
    if status == "corrupt":
        return CellVerdict(Verdict.FAIL, f"{name(pair)}: what arrived is not what was sent", value, reference)
    if status != "ok":
        return CellVerdict(Verdict.NO_VERDICT, f"{name(pair)} was not measured: {status}", None, reference)
    limit = result["limit"][row][column]
    if limit is not None and matrix.unit == "GB/s" and value > limit * IMPLAUSIBLE:
        reason = f"{name(pair)} {quantity(value, matrix.unit)} is more than its path can carry ({limit:.0f} GB/s)"
        return CellVerdict(Verdict.FAIL, reason, value, reference)
    if reference is None:
        where = f"in the table '{reference_name}'" if reference_name else "for this machine"
        return CellVerdict(Verdict.NO_VERDICT, f"{name(pair)} has no reference {where}", value)
    if reference.unit != matrix.unit:
        reason = f"{name(pair)} is measured in {matrix.unit}, and its reference is in {reference.unit}"
        return CellVerdict(Verdict.NO_VERDICT, reason, value, reference)
    deviation = value / reference.value - 1
    if not reference.low_limit <= value <= reference.high_limit:
        return CellVerdict(Verdict.FAIL, off_reference(pair, value, reference), value, reference, deviation)
    unverified = not_compared(result)
    if unverified:
        return CellVerdict(Verdict.NO_VERDICT, f"{name(pair)}: {unverified}", value, reference, deviation)
    warning = worth_a_look(result, matrix, pair, at, reference)
    return CellVerdict(Verdict.WARN if warning else Verdict.PASS, warning, value, reference, deviation)


def not_compared(result: Mapping[str, Any]) -> str:
    """Why nobody knows whether what arrived is what was sent; "" where the record says of each cell whether it is."""
    if result["verified"] is None:
        return "its data was not compared (--no-verify)"
    return "" if result["verified"] or has_status(result, "corrupt") else "not all data was compared"


def off_reference(pair: Pair, value: float, reference: Reference) -> str:
    """ "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under)"."""
    under = value < reference.value
    allowed = reference.lower if under else reference.upper
    side = "under" if under else "over"
    return (
        f"{name(pair)} {quantity(value, reference.unit)} is {100 * abs(value / reference.value - 1):.1f} % {side} its"
        f" reference {quantity(reference.value, reference.unit)} (allowed: {100 * abs(allowed or 0):.1f} % {side})"
    )


def worth_a_look(
    result: Mapping[str, Any], matrix: Matrix, pair: Pair, at: tuple[int, int], reference: Reference
) -> str:
    """What is strange about a cell that passes; "" if nothing is. Noise counts only where it could hide a failure."""
    row, column = at
    value, low, high = (result[key][row][column] for key in ("values", "low", "high"))
    if low < reference.low_limit or high > reference.high_limit:
        between = f"{quantity(low, matrix.unit)} and {quantity(high, matrix.unit)}"
        return f"{name(pair)} is too noisy to be sure: its median lies between {between}"
    deviation = matrix.deviation(pair) or 0.0
    worse = deviation if matrix.unit == "us" else -deviation
    if worse > max(STRAGGLES[matrix.unit], (high - low) / value):
        of_class = "the median of its link class"
        return f"{name(pair)} {quantity(value, matrix.unit)} is {100 * worse:.1f} % worse than {of_class}"
    return ""


def name(pair: Pair) -> str:
    """ "gpu2->gpu5", as performance variables are called."""
    return f"{pair[0]}->{pair[1]}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit."""
    return f"{figure(value, 3)} µs" if unit == "us" else f"{figure(value, 2)} {unit}"
