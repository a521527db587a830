"""Matrices of so many endpoints that their cells are in a file: judged by `large`'s rules, a block of rows at a time.

What stays is counted for each row, column and link class, and the worst cells; so 16,384 endpoints, 268 million cells,
need no more memory than a block. What is at fault is looked for among the worst endpoints and healthy ones beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .cell_file import CellFile
from .counting import Counted, count
from .errors import BadInput
from .evaluate import CellVerdict, MatrixVerdict, Verdict
from .large import LargeVerdict
from .matrix import Pair
from .parts import Expected, Result, Source, matrix_of, nodes_of
from .references import References

__all__ = ["HugeVerdict", "judge_matrix", "matrix_of"]

WHOLE = 0.75  # share of a row's cells that are slow, where the row is
MOST_NAMED = 4
SUSPECTS, LOOKED_AT = 48, 384  # endpoints that may be at fault; with their neighbours and healthy ones
WORDS = {Verdict.FAIL: "FAIL", Verdict.NO_VERDICT: "NO VERDICT", Verdict.WARN: "WARN", Verdict.PASS: "PASS"}


@dataclass(frozen=True)
class HugeVerdict(MatrixVerdict):
    """The verdicts on a huge matrix. problem: why nothing could be judged. `cells` has only the worst."""

    counted: Counted = field(default_factory=Counted, repr=False)
    lost: int = 0
    source: Source | None = field(default=None, repr=False)
    medians: tuple[list[float], list[float]] = field(default=([], []), repr=False)
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of the cells."""
        return max((verdict for verdict, count in self.counts.items() if count), default=Verdict.NO_VERDICT)

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """How many cells have each verdict."""
        if self.problem:
            return {verdict: int(verdict is Verdict.NO_VERDICT) for verdict in Verdict}
        found = {verdict: int(self.counted.of_rows[:, verdict].sum()) for verdict in Verdict}
        return {**found, Verdict.NO_VERDICT: found[Verdict.NO_VERDICT] + self.lost}

    @property
    def unjudged(self) -> int:
        """Cells that lack nothing but a reference."""
        return self.counted.lacking

    @property
    def held(self) -> int:
        """Cells with a reference."""
        return self.counted.held + self.lost

    def worse(self, pair: Pair) -> float | None:
        """Known of the worst cells, and of those that have a reference."""
        cell = self.cells.get(pair)
        deviation = cell.deviation if cell is not None else None
        return deviation if deviation is None or self.matrix.unit == "us" else -deviation

    def marked(self, most: int) -> tuple[list[tuple[Pair, CellVerdict]], int]:
        """(the worst cells that are not PASS and lack more than a reference, how many there are)."""
        bad = sum(count for verdict, count in self.counts.items() if verdict is not Verdict.PASS) - self.counted.lacking
        return list(self.cells.items())[:most], bad

    def axis_medians(self) -> tuple[list[float], list[float]]:
        """As in MatrixVerdict, of the medians that the record has, against `level`."""
        level = self.level
        sign = 1 if self.matrix.unit == "us" else -1
        rows, columns = (
            [sign * (value / level - 1) if value and level else 0.0 for value in axis] for axis in self.medians
        )
        return rows, columns

    @property
    def level(self) -> float:
        """What a median should be: the reference of the class with the most cells, else the median of the rows."""
        classes = self.matrix.classes
        largest = max(classes, key=lambda name: classes[name].count, default="")
        reference = self.source.expected.of_class.get(largest) if self.source else None
        if reference is not None and reference.unit == self.matrix.unit:
            return reference.value
        measured = [value for value in self.medians[0] if value]
        return float(np.median(measured)) if measured else 0.0

    def overview(self) -> list[str]:
        """Verdicts by link class, and the rows and columns that are slow as a whole."""
        return [*self.class_tally(), *self.slow_lines()]

    def class_tally(self) -> list[str]:
        """ "NET: 16,383 FAIL, 268,402,689 PASS of 268,419,072 cells"."""
        lines = []
        for name, counts in self.counted.of_class.items():
            told = ", ".join(f"{counts[verdict]:,} {word}" for verdict, word in WORDS.items() if counts[verdict])
            lines.append(f"{name}: {told} of {int(counts.sum()):,} cells")
        return lines

    def slow_lines(self) -> list[str]:
        """ "all cells of row n17 are 48.0 % low", the worst first."""
        word = "high" if self.matrix.unit == "us" else "low"
        lines = []
        names, medians = self.matrix.rows, self.axis_medians()
        found = self.counted
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

    def part(self) -> tuple[dict[str, Any], MatrixVerdict] | None:
        """As in MatrixVerdict: the worst endpoints and healthy ones."""
        return self.closely

    def clean_labels(self) -> tuple[set[str], set[str]]:
        """(endpoints with cells that passed, endpoints with one that failed or is missing)."""
        sides = ((self.matrix.rows, self.counted.of_rows), (self.matrix.columns, self.counted.of_columns))
        good, bad = set(), set()
        for labels, counts in sides:
            good |= {labels[at] for at in np.flatnonzero(counts[:, [Verdict.PASS, Verdict.WARN]].any(axis=1))}
            wrong = [Verdict.FAIL] if self.counted.lacking else [Verdict.FAIL, Verdict.NO_VERDICT]
            bad |= {labels[at] for at in np.flatnonzero(counts[:, wrong].any(axis=1))}
        return good, bad

    @cached_property
    def closely(self) -> tuple[dict[str, Any], LargeVerdict] | None:
        """The cells between the endpoints that may be at fault and healthy ones, as an ordinary matrix."""
        if self.source is None or self.problem:
            return None
        chosen = endpoints(self.counted, self.source.node)
        part = self.source.part(self.source.file.part(chosen), chosen, chosen)
        return part, self.source.judge(part)


def judge_matrix(
    result: Result, record: Mapping[str, Any], references: References, name: str | None, folder: Path | None
) -> HugeVerdict:
    """As evaluate.judge_matrix does. A file that is missing or is not the record's is NO VERDICT, and says so."""
    matrix = matrix_of(result)
    medians = (result["cells"]["row_medians"], result["cells"]["column_medians"])
    rows = set(matrix.rows)
    of_cell = references.cells(name, matrix.testcase, matrix.rows) if name else {}
    lost = {
        pair: CellVerdict(Verdict.NO_VERDICT, f"{pair[0]}->{pair[1]} has a reference and was not measured", None, one)
        for pair, one in of_cell.items()
        if pair[0] not in rows or pair[1] not in rows or pair[0] == pair[1]
    }
    kept = {pair: one for pair, one in of_cell.items() if pair not in lost}
    expected = Expected(kept, references.classes(name, matrix.testcase) if name else {}, name)
    try:
        source = Source(result, CellFile.beside(result, folder), nodes_of(record, matrix.rows), expected)
        counted = count(source)
        cells = {**worst(source, counted), **lost}
    except BadInput as error:
        problem = {(matrix.rows[0], matrix.columns[-1]): CellVerdict(Verdict.NO_VERDICT, str(error))}
        return HugeVerdict(matrix, problem, medians=medians, problem=str(error))
    cells = dict(sorted(cells.items(), key=lambda item: -item[1].verdict))
    return HugeVerdict(matrix, cells, counted, len(lost), source, medians)


def worst(source: Source, counted: Counted) -> dict[Pair, CellVerdict]:
    """The worst cells, each with its reason."""
    found = {}
    for r, c in counted.worst:
        row, column = np.array([r]), np.array([c])
        ((_, cells),) = source.file.rows(row)
        part = source.part(cells[None, column], row, column)
        found.update(source.judge(part).cells.items())
    return found


def endpoints(found: Counted, node: np.ndarray) -> np.ndarray:
    """Indices of the endpoints to look at: what may be at fault, the others of its node, and healthy ones, evenly."""
    size = len(node)
    bad = [slow >= size / 2 for slow in (found.slow_rows, found.slow_columns)]
    # a healthy row has a slow cell for each slow column
    rest = [
        np.where(own, slow, np.maximum(0, slow - other.sum()))
        for slow, own, other in zip((found.slow_rows, found.slow_columns), bad, bad[::-1], strict=True)
    ]
    score = np.maximum(*rest)
    order = np.argsort(-score, kind="stable")
    suspects = order[: min(SUSPECTS, int((score > 0).sum()))]
    mates = np.flatnonzero(np.isin(node, node[suspects]))[: LOOKED_AT // 2]
    chosen = np.union1d(suspects, mates)
    healthy = np.setdiff1d(np.arange(size), chosen)
    nodes = np.unique(node[healthy])
    per_node = max(1, len(healthy) // max(len(nodes), 1))
    wanted = max(1, (LOOKED_AT - len(chosen)) // per_node)
    some = nodes[np.unique(np.linspace(0, len(nodes) - 1, wanted).astype(int))] if len(nodes) else nodes
    return np.union1d(chosen, healthy[np.isin(node[healthy], some)])
