"""Judges the matrices of a record by the rules of `rules`.

A record does not change and can be judged again.

Matrices are judged in blocks of rows. A matrix that fits into memory keeps the verdict of each cell. For a larger
matrix, only counts, the worst cells and a submatrix are kept. The submatrix contains the endpoints that may be faulty.

A matrix of 16,384 endpoints has 268 million cells. Judging this matrix needs the memory of one block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadInput
from ..record.matrix import Matrix, from_result, has_status
from ..record.units import MOST_NAMED
from ..references import noise
from .cell_counts import KEPT, CellCounts, class_limits, endpoints_to_examine
from .cell_sentences import name
from .disturbances import Disturbances, disturbances
from .expected import Expected
from .intermittent import SlowSamples, find_slow_samples
from .rules import NAMES_PROCESS, NO_VERIFICATION, Judged, JudgedCells, judge
from .run_findings import ending
from .verdicts import WORDS, CellVerdict, Verdict, worst

if TYPE_CHECKING:
    from ..record.names import Pair, Result
    from ..references.tables import References
    from .soak_cells import SoakFinding

SLOW_SHARE = 0.75  # a row or column is slow if this share of its cells is slow


@dataclass(frozen=True, eq=False)
class MatrixVerdict:
    """The verdicts on the cells of a matrix.

    unverified: why the data is not verified; "" if the data is verified.
    missing: {cell: verdict}, for cells that have a reference and were not measured.
    whole: the verdict of each cell; None if the matrix does not fit into memory.
    problem: why the matrix could not be judged; "" if the matrix was judged.
    node: for each row, the index of its node.
    others: the disturbances during the measurement.
    """

    matrix: Matrix
    expected: Expected
    unverified: str
    cell_counts: CellCounts
    missing: Mapping[Pair, CellVerdict]
    whole: Judged | None = None
    problem: str = ""
    node: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)
    others: Disturbances | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the cells; INCOMPLETE if there are no cells."""
        return worst(verdict for verdict, count in self.counts.items() if count)

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """The number of cells with each verdict."""
        if self.problem:
            return {verdict: int(verdict is Verdict.INCOMPLETE) for verdict in Verdict}
        found = {verdict: int(self.cell_counts.row_counts[:, verdict].sum()) for verdict in Verdict}
        return {**found, Verdict.INCOMPLETE: found[Verdict.INCOMPLETE] + len(self.missing)}

    def disturbed_sentences(self) -> list[str]:
        """A sentence per process that disturbed cells."""
        if self.whole is None or not self.counts[Verdict.DISTURBED]:
            return []
        found = (
            self.whole.process_sentence(r, c) for r, c in np.argwhere(np.isin(self.whole.rules, NAMES_PROCESS)).tolist()
        )
        return list(dict.fromkeys(found))

    @property
    def unjudged(self) -> int:
        """The number of measured cells without a reference."""
        return self.cell_counts.unjudged

    @property
    def compared(self) -> int:
        """The number of cells with a reference."""
        return self.cell_counts.compared + len(self.missing)

    @cached_property
    def cells(self) -> Mapping[Pair, CellVerdict]:
        """{cell: verdict}. If the matrix does not fit into memory, only the worst cells are included."""
        if self.problem:
            pair = (self.matrix.rows[0], self.matrix.columns[-1])
            return {pair: CellVerdict(Verdict.INCOMPLETE, self.problem)}
        if self.whole is not None:
            return JudgedCells(self.whole, self.missing)
        return dict(self.worst_cells(KEPT)[0])

    def worse(self, pair: Pair) -> float | None:
        """The fraction by which a cell is worse than its reference; negative if the cell is better.

        A cell without a reference is compared with its link class. Returns None if the cell was not measured.
        """
        if self.whole is None or not isinstance(self.cells, JudgedCells):
            return None
        row, column = self.cells.row_index.get(pair[0]), self.cells.column_index.get(pair[1])
        if row is None or column is None:
            return None
        off = float(self.whole.worse[row, column])
        return None if np.isnan(off) else off

    @property
    def baseline(self) -> str:
        """The baseline of cells without a reference, in words: "the median", "the best cell", or both."""
        found = {of.baseline(self.matrix.unit)[1] for of in self.matrix.classes.values()} or {"median"}
        return f"the {' or the '.join(sorted(found))}"

    def axis_medians(self) -> tuple[list[float], list[float]]:
        """(median deviation of each row, median deviation of each column), as fractions; positive if slow.

        If the cells are in a separate file, each median in the record is compared with `level`.
        """
        if self.whole is not None:
            known = np.where(np.isfinite(self.whole.worse), self.whole.worse, np.nan)
            return noise.medians(known, 1).tolist(), noise.medians(known, 0).tolist()
        assert self.matrix.external is not None  # without a file, a matrix is in memory
        level, sign = self.level, 1 if self.matrix.unit == "us" else -1
        rows, columns = (
            [sign * (value / level - 1) if value and level else 0.0 for value in axis]
            for axis in self.matrix.external.medians
        )
        return rows, columns

    @property
    def level(self) -> float:
        """The expected value of most cells: the reference of the largest link class, or the median of row medians."""
        classes = self.matrix.classes
        largest = max(classes, key=lambda one: classes[one].count, default="")
        reference = self.expected.class_references.get(largest)
        if reference is not None and reference.unit == self.matrix.unit:
            return reference.value
        measured = [value for value in self.matrix.external.medians[0] if value] if self.matrix.external else []
        return float(np.median(measured)) if measured else 0.0

    def worst_cells(self, most: int) -> tuple[list[tuple[Pair, CellVerdict]], int]:
        """(the worst bad cells, the number of all bad cells).

        A cell is bad if its verdict is not PASS. A cell that only lacks a reference is not bad.
        most: the maximum number of returned cells, up to KEPT.
        """
        if self.problem:
            return list(self.cells.items()), 1
        bad = sum(count for verdict, count in self.counts.items() if verdict is not Verdict.PASS) - self.unjudged
        found = [self.cell_at(int(r), int(c)) for _, r, c in self.cell_counts.worst[:most]]
        found += list(self.missing.items())[:most]
        return sorted(found, key=lambda item: -item[1].verdict)[:most], bad

    def cell_at(self, row: int, column: int) -> tuple[Pair, CellVerdict]:
        """(pair, verdict) of the cell with these indices of row and column."""
        pair = (self.matrix.rows[row], self.matrix.columns[column])
        if self.whole is not None:
            return pair, self.whole.cell(row, column)
        part = self.matrix.part([row], [column])
        return pair, judge(part, part.whole, self.expected, self.unverified, self.others).cell(0, 0)

    def overview(self) -> list[str]:
        """The lines that replace the table of a matrix that does not fit into memory; [] for any other matrix."""
        return [] if self.whole is not None or self.problem else [*self.class_lines(), *self.slow_lines()]

    def class_lines(self) -> list[str]:
        """A line per link class: "NET: 16,383 FAIL, 268,402,689 PASS of 268,419,072 cells"."""
        lines = []
        for group, counts in self.cell_counts.class_counts.items():
            known = [f"{counts[verdict]:,} {WORDS[verdict]}" for verdict in reversed(Verdict) if counts[verdict]]
            lines.append(f"{group}: {', '.join(known)} of {int(counts.sum()):,} cells")
        return lines

    def slow_lines(self) -> list[str]:
        """A line per slow row or column, the worst first, such as "all cells of row n17 are 48.0 % low"."""
        word = "high" if self.matrix.unit == "us" else "low"
        lines = []
        names, medians, found = self.matrix.rows, self.axis_medians(), self.cell_counts
        slow_ones, all_ones = (found.slow_rows, found.slow_columns), (found.row_counts, found.column_counts)
        for axis, slow, counts, off in zip(("row", "column"), slow_ones, all_ones, medians, strict=True):
            applies = counts.sum(axis=1)
            whole = np.flatnonzero((slow >= SLOW_SHARE * applies) & (applies > 0))
            order = sorted(whole.tolist(), key=lambda at, off=off: -off[at])
            for at in order[:MOST_NAMED]:
                share = "all" if slow[at] == applies[at] else f"{slow[at]:,} of {applies[at]:,}"
                lines.append(f"{share} cells of {axis} {names[at]} are {100 * off[at]:.1f} % {word}")
            if len(order) > MOST_NAMED:
                lines.append(f"and {len(order) - MOST_NAMED} more {axis}s")
        return lines

    def passed_and_failed(self) -> tuple[set[str], set[str]]:
        """(endpoints with a cell that is PASS or WARN, endpoints with a cell that is FAIL or INCOMPLETE).

        Cells that only lack a reference do not count.
        """
        good, bad = set(), set()
        if self.whole is not None:
            codes, unjudged = self.whole.codes, self.whole.unjudged
            masks = ((good, (codes >= 0) & (codes <= Verdict.WARN)), (bad, (codes > Verdict.DISTURBED) & ~unjudged))
            for labels, cells in masks:
                labels |= {self.matrix.rows[at] for at in np.flatnonzero(cells.any(axis=1))}
                labels |= {self.matrix.columns[at] for at in np.flatnonzero(cells.any(axis=0))}
            return good, bad
        sides = ((self.matrix.rows, self.cell_counts.row_counts), (self.matrix.columns, self.cell_counts.column_counts))
        wrong = [Verdict.FAIL] if self.unjudged else [Verdict.FAIL, Verdict.INCOMPLETE]
        for labels, counts in sides:
            good |= {labels[at] for at in np.flatnonzero(counts[:, [Verdict.PASS, Verdict.WARN]].any(axis=1))}
            bad |= {labels[at] for at in np.flatnonzero(counts[:, wrong].any(axis=1))}
        return good, bad

    @cached_property
    def subset(self) -> MatrixVerdict:
        """The verdicts that the diagnosis examines. For cells in a separate file: a submatrix is judged again."""
        if self.whole is not None or self.problem:
            return self
        chosen = endpoints_to_examine(self.cell_counts, self.node)
        part = self.matrix.part(chosen, chosen)
        return judge_matrix(part, self.expected, self.unverified, {}, self.node[chosen], self.others)


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one record.

    matrices: the verdicts on the matrices, in the order of the record's `results`.
    floor: the best verdict that the `Result:` of the program allows.
    soaked: findings about cells that were worse in the soak than before the soak.
    """

    matrices: tuple[MatrixVerdict, ...]
    floor: Verdict = Verdict.PASS
    soaked: tuple[SoakFinding, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the matrices, the soak and the program's result."""
        matrices = worst(matrix.verdict for matrix in self.matrices)
        return max(self.floor, matrices, *(one.verdict for one in self.soaked))


def evaluate(record: Mapping[str, Any], references: References, reference_name: str | None) -> Evaluation:
    """Judges every cell of a checked record. reference_name: name of the reference table; None or "" for no table."""
    node = {device["label"]: device["node"] for device in record.get("devices", [])}

    def judged(result: Result) -> MatrixVerdict:
        others, slow = disturbances(record, result), find_slow_samples(record, result)
        return judge_result(result, references.for_result(record, result), reference_name, node, others, slow)

    matrices = tuple(judged(result) for result in record["results"])
    soaked: list[SoakFinding] = []
    if "soak" in record:
        from .soak_cells import soak_findings, soak_results

        for place, result in soak_results(record):
            soaked += soak_findings(place, result["testcase"], matrices[place].whole, judged(result).whole)
    return Evaluation(matrices, ending(record), tuple(soaked))


def judge_result(
    result: Mapping[str, Any],
    references: References,
    reference_name: str | None,
    node: Mapping[str, str] | None = None,
    others: Disturbances | None = None,
    slow: SlowSamples | None = None,
) -> MatrixVerdict:
    """Judges an entry of a record's `results`.

    reference_name: name of the reference table. A table without this test case is ignored.
    node: {endpoint: its node}. An endpoint without an entry is a node of its own.
    others: the disturbances during the measurement.
    slow: the slow samples of the cells.
    """
    matrix = from_result(result)
    if reference_name and not references.covers(reference_name, matrix.testcase):
        reference_name = None
    labels = (matrix.rows, matrix.columns)
    cell_references = references.cells(reference_name, matrix.testcase, *labels) if reference_name else {}
    class_references = references.classes(reference_name, matrix.testcase) if reference_name else {}
    names = [(node or {}).get(label, label) for label in matrix.rows]
    index = {label: at for at, label in enumerate(dict.fromkeys(names))}
    places = np.array([index[label] for label in names], dtype=int)
    classes = references.matrix_classes(reference_name, matrix.testcase, *labels)
    expected = Expected(cell_references, class_references, reference_name, classes)
    return judge_matrix(matrix, expected, unverified_reason(result), cell_references, places, others, slow)


def judge_matrix(
    matrix: Matrix,
    expected: Expected,
    unverified: str,
    wanted: Mapping[Pair, Any],
    node: np.ndarray,
    others: Disturbances | None = None,
    slow: SlowSamples | None = None,
) -> MatrixVerdict:
    """Judges a matrix block by block. If the file of its cells cannot be read, the matrix is INCOMPLETE.

    wanted: pairs that must be measured.
    node: for each row, the index of its node.
    """
    counts, whole = CellCounts.empty(len(matrix.rows), len(matrix.columns)), None
    try:
        limits = None if matrix.fits_memory else class_limits(matrix)
        for block in matrix.blocks():
            judged = judge(matrix, block, expected, unverified, others, slow)
            counts.add(judged, limits)
            whole = judged if matrix.fits_memory else None
        missing = missing_cells(matrix, expected, wanted, whole)
    except BadInput as error:
        return MatrixVerdict(matrix, expected, unverified, counts, {}, problem=str(error))
    return MatrixVerdict(matrix, expected, unverified, counts, missing, whole, node=node, others=others)


def missing_cells(
    matrix: Matrix, expected: Expected, wanted: Mapping[Pair, Any], whole: Judged | None
) -> dict[Pair, CellVerdict]:
    """{pair: INCOMPLETE verdict} for the wanted pairs that the matrix lacks or that were not measured."""
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    missing = {}
    for pair in wanted:
        is_there = pair[0] in rows and pair[1] in columns
        if is_there and whole is not None:
            is_there = bool(whole.codes[rows[pair[0]], columns[pair[1]]] >= 0)
        if not is_there or (whole is None and pair[0] == pair[1]):
            reason = f"{name(pair)} has a reference in '{expected.name}' and was not measured"
            missing[pair] = CellVerdict(Verdict.INCOMPLETE, reason, None, expected.cell_references[pair])
    return missing


def unverified_reason(result: Mapping[str, Any]) -> str:
    """Why the data of a result is not verified; "" if all data was verified."""
    if result["size_bytes"] == 0:
        return ""  # an empty message has no data
    if result["verified"] is None:
        # only the records of linkmatrix's own programs contain `timing`
        return "its data was not verified (--no-verify)" if result["timing"] else NO_VERIFICATION
    return "" if result["verified"] or has_status(result, "corrupt") else "not all of its data was verified"
