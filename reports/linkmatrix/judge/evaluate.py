"""Judges a record against references. The record never changes, so it can be judged again at any time.

A matrix of any size is judged in blocks of rows, by the rules of `rules`. A matrix in memory keeps the verdict of
each cell. A larger matrix keeps counts, the worst cells, and a submatrix of the endpoints that may be at fault. A
matrix of 16,384 endpoints has 268 million cells and needs no more memory than one block.
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
from .cell_counts import KEPT, CellCounts, endpoints_to_examine, usual_limits
from .cell_sentences import name
from .disturbances import Disturbances, disturbances
from .expected import Expected
from .intermittent import SlowSamples, slow_samples
from .rules import COMPARES_NOTHING, OTHERS, Judged, JudgedCells, judge
from .run_findings import ending
from .verdicts import WORDS, CellVerdict, Verdict, worst

if TYPE_CHECKING:
    from ..record.names import Pair, Result
    from ..references.tables import References
    from .soak_cells import SoakFinding

WHOLE = 0.75  # a row is slow if this share of its cells is slow


@dataclass(frozen=True, eq=False)
class MatrixVerdict:
    """A matrix with the verdict of each cell that applies, and of each missing cell that has a reference.

    whole: the verdicts of a matrix in memory.
    lost: {missing cell with a reference: verdict}.
    problem: why the matrix could not be judged, "" if it was.
    node: index of the node of each row.
    others: the disturbances during the measurement.
    """

    matrix: Matrix
    expected: Expected
    unverified: str
    cell_counts: CellCounts
    lost: Mapping[Pair, CellVerdict]
    whole: Judged | None = None
    problem: str = ""
    node: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)
    others: Disturbances | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst of the cells; INCOMPLETE without any."""
        return worst(verdict for verdict, count in self.counts.items() if count)

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """The number of cells with each verdict."""
        if self.problem:
            return {verdict: int(verdict is Verdict.INCOMPLETE) for verdict in Verdict}
        found = {verdict: int(self.cell_counts.of_rows[:, verdict].sum()) for verdict in Verdict}
        return {**found, Verdict.INCOMPLETE: found[Verdict.INCOMPLETE] + len(self.lost)}

    def disturbed_sentences(self) -> list[str]:
        """The sentences about the processes that disturbed cells, each once."""
        if self.whole is None or not self.counts[Verdict.DISTURBED]:
            return []
        found = (self.whole.others_sentence(r, c) for r, c in np.argwhere(np.isin(self.whole.rules, OTHERS)).tolist())
        return list(dict.fromkeys(found))

    @property
    def unjudged(self) -> int:
        """The number of cells that lack only a reference."""
        return self.cell_counts.unjudged

    @property
    def compared(self) -> int:
        """The number of cells with a reference."""
        return self.cell_counts.compared + len(self.lost)

    @cached_property
    def cells(self) -> Mapping[Pair, CellVerdict]:
        """The verdict of each cell. If the cells are in a file, only the worst cells have one."""
        if self.problem:
            pair = (self.matrix.rows[0], self.matrix.columns[-1])
            return {pair: CellVerdict(Verdict.INCOMPLETE, self.problem)}
        if self.whole is not None:
            return JudgedCells(self.whole, self.lost)
        return dict(self.worst_cells(KEPT)[0])

    def worse(self, pair: Pair) -> float | None:
        """How much worse a cell is than expected, as a fraction: 0.05 is 5 % worse, a negative number is better.

        The expected value is the cell's reference, otherwise the baseline of its link class. None without a value.
        """
        if self.whole is None:
            return None
        places = self.cells.places if isinstance(self.cells, JudgedCells) else ({}, {})
        if pair[0] not in places[0] or pair[1] not in places[1]:
            return None
        off = float(self.whole.worse[places[0][pair[0]], places[1][pair[1]]])
        return None if np.isnan(off) else off

    @property
    def baseline(self) -> str:
        """The words for what cells without a reference are compared with: a median, a best cell, or both."""
        found = {of.baseline(self.matrix.unit)[1] for of in self.matrix.classes.values()} or {"median"}
        return f"the {' or the '.join(sorted(found))}"

    def axis_medians(self) -> tuple[list[float], list[float]]:
        """The median of `worse` of each row and of each column.

        If the cells are in a file, the record's medians of rows and columns are compared with `level`.
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
        """What a median should be: the reference of the class with the most cells, else the median of the rows."""
        classes = self.matrix.classes
        largest = max(classes, key=lambda one: classes[one].count, default="")
        reference = self.expected.of_class.get(largest)
        if reference is not None and reference.unit == self.matrix.unit:
            return reference.value
        measured = [value for value in self.matrix.external.medians[0] if value] if self.matrix.external else []
        return float(np.median(measured)) if measured else 0.0

    def worst_cells(self, most: int) -> tuple[list[tuple[Pair, CellVerdict]], int]:
        """(the worst cells that are not PASS and lack more than a reference, how many there are); `most` up to KEPT."""
        if self.problem:
            return list(self.cells.items()), 1
        bad = sum(count for verdict, count in self.counts.items() if verdict is not Verdict.PASS) - self.unjudged
        found = [self.at(int(r), int(c)) for _, r, c in self.cell_counts.worst[:most]]
        found += list(self.lost.items())[:most]
        return sorted(found, key=lambda item: -item[1].verdict)[:most], bad

    def at(self, row: int, column: int) -> tuple[Pair, CellVerdict]:
        """A cell by its indices."""
        pair = (self.matrix.rows[row], self.matrix.columns[column])
        if self.whole is not None:
            return pair, self.whole.cell(row, column)
        part = self.matrix.part([row], [column])
        return pair, judge(part, part.whole, self.expected, self.unverified, self.others).cell(0, 0)

    def overview(self) -> list[str]:
        """The lines that replace the table of a matrix whose cells are in a file; [] for any other matrix."""
        return [] if self.whole is not None or self.problem else [*self.class_tally(), *self.slow_lines()]

    def class_tally(self) -> list[str]:
        """ "NET: 16,383 FAIL, 268,402,689 PASS of 268,419,072 cells"."""
        lines = []
        for group, counts in self.cell_counts.of_class.items():
            told = ", ".join(
                f"{counts[verdict]:,} {WORDS[verdict]}" for verdict in reversed(Verdict) if counts[verdict]
            )
            lines.append(f"{group}: {told} of {int(counts.sum()):,} cells")
        return lines

    def slow_lines(self) -> list[str]:
        """Lines such as "all cells of row n17 are 48.0 % low", the worst first, for cells in a file."""
        word = "high" if self.matrix.unit == "us" else "low"
        lines = []
        names, medians, found = self.matrix.rows, self.axis_medians(), self.cell_counts
        slow_ones, all_ones = (found.slow_rows, found.slow_columns), (found.of_rows, found.of_columns)
        for axis, slow, counts, off in zip(("row", "column"), slow_ones, all_ones, medians, strict=True):
            applies = counts.sum(axis=1)
            whole = np.flatnonzero((slow >= WHOLE * applies) & (applies > 0))
            order = sorted(whole.tolist(), key=lambda at, off=off: -off[at])
            for at in order[:MOST_NAMED]:
                share = "all" if slow[at] == applies[at] else f"{slow[at]:,} of {applies[at]:,}"
                lines.append(f"{share} cells of {axis} {names[at]} are {100 * off[at]:.1f} % {word}")
            if len(order) > MOST_NAMED:
                lines.append(f"and {len(order) - MOST_NAMED} more {axis}s")
        return lines

    def clean_labels(self) -> tuple[set[str], set[str]]:
        """(endpoints with a cell that passed, endpoints with a cell that failed or is missing).

        Cells that are DISTURBED or NOT JUDGED, or that lack only a reference, do not count.
        """
        good, bad = set(), set()
        if self.whole is not None:
            codes, unjudged = self.whole.codes, self.whole.unjudged
            masks = ((good, (codes >= 0) & (codes <= Verdict.WARN)), (bad, (codes > Verdict.DISTURBED) & ~unjudged))
            for labels, cells in masks:
                labels |= {self.matrix.rows[at] for at in np.flatnonzero(cells.any(axis=1))}
                labels |= {self.matrix.columns[at] for at in np.flatnonzero(cells.any(axis=0))}
            return good, bad
        sides = ((self.matrix.rows, self.cell_counts.of_rows), (self.matrix.columns, self.cell_counts.of_columns))
        wrong = [Verdict.FAIL] if self.unjudged else [Verdict.FAIL, Verdict.INCOMPLETE]
        for labels, counts in sides:
            good |= {labels[at] for at in np.flatnonzero(counts[:, [Verdict.PASS, Verdict.WARN]].any(axis=1))}
            bad |= {labels[at] for at in np.flatnonzero(counts[:, wrong].any(axis=1))}
        return good, bad

    @cached_property
    def subset(self) -> MatrixVerdict:
        """This verdict. If the cells are in a file, the verdict on a submatrix of suspect and healthy endpoints."""
        if self.whole is not None or self.problem:
            return self
        chosen = endpoints_to_examine(self.cell_counts, self.node)
        part = self.matrix.part(chosen, chosen)
        return judged_matrix(part, self.expected, self.unverified, {}, self.node[chosen], self.others)


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on one record, in the order of its `results`.

    floor: the best verdict that the result of the program allows. soaked: findings about cells that are worse in the
    soak.
    """

    matrices: tuple[MatrixVerdict, ...]
    floor: Verdict = Verdict.PASS
    soaked: tuple[SoakFinding, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the matrices, the soak and the program's result."""
        said = [self.floor, *(one.verdict for one in self.soaked)]
        return max(*said, worst(matrix.verdict for matrix in self.matrices))


def evaluate(record: Mapping[str, Any], references: References, reference_name: str | None) -> Evaluation:
    """Compares every cell of a checked record with the reference table `reference_name`; None or "" for no table."""
    node = {device["label"]: device["node"] for device in record.get("devices", [])}

    def judged(result: Result) -> MatrixVerdict:
        others, slow = disturbances(record, result), slow_samples(record, result)
        return judge_matrix(result, references.of(record, result), reference_name, node, others, slow)

    matrices = tuple(judged(result) for result in record["results"])
    soaked: list[SoakFinding] = []
    if "soak" in record:
        from .soak_cells import soak_findings, soak_results

        for place, result in soak_results(record):
            soaked += soak_findings(place, result["testcase"], matrices[place].whole, judged(result).whole)
    return Evaluation(matrices, ending(record), tuple(soaked))


def judge_matrix(
    result: Mapping[str, Any],
    references: References,
    reference_name: str | None,
    node: Mapping[str, str] | None = None,
    others: Disturbances | None = None,
    slow: SlowSamples | None = None,
) -> MatrixVerdict:
    """The verdict on an entry of a record's `results`.

    node: {endpoint: its node}; an endpoint without an entry is its own node. others: the disturbances during the
    measurement. slow: the slow samples of the cells. A test case that the table lacks is judged as without a table.
    """
    matrix = from_result(result)
    if reference_name and not references.covers(reference_name, matrix.testcase):
        reference_name = None
    labels = (matrix.rows, matrix.columns)
    of_cell = references.cells(reference_name, matrix.testcase, *labels) if reference_name else {}
    of_class = references.classes(reference_name, matrix.testcase) if reference_name else {}
    names = [(node or {}).get(label, label) for label in matrix.rows]
    index = {label: at for at, label in enumerate(dict.fromkeys(names))}
    places = np.array([index[label] for label in names], dtype=int)
    classes = references.matrix_classes(reference_name, matrix.testcase, *labels)
    expected = Expected(of_cell, of_class, reference_name, classes)
    return judged_matrix(matrix, expected, not_compared(result), of_cell, places, others, slow)


def judged_matrix(
    matrix: Matrix,
    expected: Expected,
    unverified: str,
    wanted: Mapping[Pair, Any],
    node: np.ndarray,
    others: Disturbances | None = None,
    slow: SlowSamples | None = None,
) -> MatrixVerdict:
    """The verdicts on a matrix, judged block by block. wanted: pairs that must be measured.

    If the file of the cells is missing or belongs to another record, the matrix is INCOMPLETE.
    """
    tally, whole = CellCounts.of(len(matrix.rows), len(matrix.columns)), None
    try:
        limits = None if matrix.fits_memory else usual_limits(matrix)
        for block in matrix.blocks():
            judged = judge(matrix, block, expected, unverified, others, slow)
            tally.add(judged, limits)
            whole = judged if matrix.fits_memory else None
        lost = lost_cells(matrix, expected, wanted, whole)
    except BadInput as error:
        return MatrixVerdict(matrix, expected, unverified, tally, {}, problem=str(error))
    return MatrixVerdict(matrix, expected, unverified, tally, lost, whole, node=node, others=others)


def lost_cells(
    matrix: Matrix, expected: Expected, wanted: Mapping[Pair, Any], whole: Judged | None
) -> dict[Pair, CellVerdict]:
    """The cells that have a reference but are not in the matrix, or do not apply: {pair: INCOMPLETE verdict}."""
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    lost = {}
    for pair in wanted:
        there = pair[0] in rows and pair[1] in columns
        if there and whole is not None:
            there = bool(whole.codes[rows[pair[0]], columns[pair[1]]] >= 0)
        if not there or (whole is None and pair[0] == pair[1]):
            reason = f"{name(pair)} has a reference in '{expected.name}' and was not measured"
            lost[pair] = CellVerdict(Verdict.INCOMPLETE, reason, None, expected.of_cell[pair])
    return lost


def not_compared(result: Mapping[str, Any]) -> str:
    """Why the data of a result counts as unverified; "" if the record has the verification of every cell."""
    if result["size_bytes"] == 0:
        return ""  # an empty message has no data
    if result["verified"] is None:
        # only the records of linkmatrix's own programs contain `timing`
        return "its data was not verified (--no-verify)" if result["timing"] else COMPARES_NOTHING
    return "" if result["verified"] or has_status(result, "corrupt") else "not all of its data was verified"
