"""Matrices of many endpoints: the same verdicts as `evaluate` gives, for all cells at once.

A cell becomes an object with its reason only when it is asked for, by evaluate.judge_cell itself, so a reason is the
same in a matrix of 4 and of 1,024 endpoints. Needs numpy.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from . import grids
from .evaluate import IMPLAUSIBLE, STRAGGLES, CellVerdict, MatrixVerdict, Verdict, judge_cell
from .matrix import ClassSummary, Matrix, Pair, variant_of
from .references import Reference, References


class Cells(Mapping):
    """{(row, column): what `at` says of row and column index}, for the cells of a mask."""

    def __init__(
        self, rows: tuple[str, ...], columns: tuple[str, ...], mask: np.ndarray, at: Callable[[int, int], Any]
    ):
        self.rows, self.columns, self.mask, self.at = rows, columns, mask, at
        self.places = ({name: r for r, name in enumerate(rows)}, {name: c for c, name in enumerate(columns)})

    def __getitem__(self, pair: Pair) -> Any:
        r, c = self.places[0][pair[0]], self.places[1][pair[1]]
        if not self.mask[r, c]:
            raise KeyError(pair)
        return self.at(r, c)

    def __iter__(self) -> Iterator[Pair]:
        return ((self.rows[r], self.columns[c]) for r, c in zip(*np.nonzero(self.mask), strict=True))

    def __len__(self) -> int:
        return int(self.mask.sum())


@dataclass(frozen=True)
class LargeMatrix(Matrix):
    """A matrix of a checked record whose cells are views: values, classes as rows × columns."""

    values: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    class_codes: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=int), repr=False)
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Nothing: the record has been checked."""

    @cached_property
    def numbers(self) -> Mapping[Pair, float]:
        """The cells that were measured."""
        return Cells(self.rows, self.columns, np.isfinite(self.values), lambda r, c: float(self.values[r, c]))

    @cached_property
    def classes(self) -> dict[str, ClassSummary]:
        """Each link class with a summary of its measured cells, in the order in which they appear."""
        measured = np.isfinite(self.values)
        found: dict[str, ClassSummary] = {}
        used, first = np.unique(self.class_codes[measured], return_index=True)
        for code in used[np.argsort(first)]:
            inside = self.values[measured & (self.class_codes == code)]
            low, middle, high = (float(summary(inside)) for summary in (np.min, np.median, np.max))
            found[self.class_names[code]] = ClassSummary(len(inside), low, middle, high)
        return found


def matrix_of(result: Mapping[str, Any], part: str | None) -> LargeMatrix:
    """As matrix.from_result does."""
    source = result if part is None else result["parts"][part]
    rows, columns = tuple(result["rows"]), tuple(result["columns"])
    status, words = grids.codes(result["status"])
    names = np.array(words, dtype=object)
    values = grids.numbers(source["values"])
    ok = grids.where(result["status"], "ok")
    values = np.where(ok, values, np.nan)
    class_codes, classes = grids.codes(result["link_class"])
    applies = ~grids.where(result["status"], "not-applicable") & (~ok | np.isfinite(values))
    return LargeMatrix(
        testcase=result["testcase"],
        title=result["quantity"] if part is None else source["title"],
        unit=source["unit"],
        size_bytes=result["size_bytes"],
        rows=rows,
        columns=columns,
        cells=Cells(rows, columns, applies, lambda r, c: float(values[r, c]) if ok[r, c] else str(names[status[r, c]])),
        link_class=Cells(rows, columns, applies, lambda r, c: classes[class_codes[r, c]]),
        variant=variant_of(result),
        values=values,
        class_codes=class_codes,
        class_names=tuple(name or "unknown" for name in classes),
    )


@dataclass(frozen=True)
class LargeVerdict(MatrixVerdict):
    """Verdicts as an array, -1 where a cell does not apply; lost: cells with a reference that are not in the matrix."""

    codes: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int8), repr=False)
    unjudged_cells: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=bool), repr=False)
    expected: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    held_cells: int = 0
    lost: Mapping[Pair, CellVerdict] = field(default_factory=dict)
    badness: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    @property
    def verdict(self) -> Verdict:
        """The worst of the cells; NO VERDICT without any."""
        return max((verdict for verdict, count in self.counts.items() if count), default=Verdict.NO_VERDICT)

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """How many cells have each verdict."""
        return {
            verdict: int((self.codes == verdict).sum()) + (len(self.lost) if verdict is Verdict.NO_VERDICT else 0)
            for verdict in Verdict
        }

    @property
    def unjudged(self) -> int:
        """Cells that lack nothing but a reference."""
        return int(self.unjudged_cells.sum())

    @property
    def held(self) -> int:
        """Cells with a reference."""
        return self.held_cells + len(self.lost)

    def axis_medians(self) -> tuple[list[float], list[float]]:
        """As in MatrixVerdict."""
        worse = np.where(np.isfinite(self.matrix.values), self.badness, np.nan)
        rows, columns = (
            [float(np.median(line[np.isfinite(line)])) if np.isfinite(line).any() else 0.0 for line in lines]
            for lines in (worse, worse.T)
        )
        return rows, columns

    def marked(self, most: int) -> tuple[list[tuple[Pair, CellVerdict]], int]:
        """(the worst cells that are not PASS and lack more than a reference, how many there are)."""
        found = np.argwhere((self.codes > Verdict.PASS) & ~self.unjudged_cells)
        codes, badness = (grid[tuple(found.T)] for grid in (self.codes, np.nan_to_num(self.badness)))
        order = np.lexsort((-badness, -codes))[:most]
        pairs = [(self.matrix.rows[r], self.matrix.columns[c]) for r, c in found[order]]
        marked = [(pair, self.cells[pair]) for pair in pairs] + list(self.lost.items())[:most]
        return sorted(marked, key=lambda item: -item[1].verdict)[:most], len(found) + len(self.lost)


def judge_matrix(result: Mapping[str, Any], references: References, name: str | None) -> LargeVerdict:
    """As evaluate.judge_matrix does: the first rule that applies decides."""
    matrix = matrix_of(result, None)
    of_cell = references.cells(name, matrix.testcase, matrix.rows) if name else {}
    of_class = references.classes(name, matrix.testcase) if name else {}
    return judge(result, matrix, of_cell, of_class, name)


def judge(
    result: Mapping[str, Any],
    matrix: LargeMatrix,
    of_cell: Mapping[Pair, Reference],
    of_class: Mapping[str, Reference],
    name: str | None,
) -> LargeVerdict:
    """The verdicts of `matrix`, which is `result`'s; references of cells and of classes out of the table `name`."""
    rows, columns = ({label: at for at, label in enumerate(labels)} for labels in (matrix.rows, matrix.columns))
    applies = ~grids.where(result["status"], "not-applicable")
    value, low_limit, high_limit = (np.full(applies.shape, np.nan) for _ in range(3))
    other_unit = np.zeros(applies.shape, dtype=bool)

    def put(cells: Any, reference: Reference) -> None:
        value[cells], low_limit[cells], high_limit[cells] = reference.value, reference.low_limit, reference.high_limit
        other_unit[cells] = reference.unit != matrix.unit

    for code, group in enumerate(matrix.class_names):
        if group in of_class:
            put(applies & (matrix.class_codes == code), of_class[group])
    lost = {}
    for pair, reference in of_cell.items():
        if pair[0] in rows and pair[1] in columns and applies[rows[pair[0]], columns[pair[1]]]:
            put((rows[pair[0]], columns[pair[1]]), reference)
        else:
            reason = f"{pair[0]}->{pair[1]} has a reference in '{name}' and was not measured"
            lost[pair] = CellVerdict(Verdict.NO_VERDICT, reason, None, reference)

    def reference_of(pair: Pair, r: int, c: int) -> Reference | None:
        return of_cell.get(pair) or of_class.get(matrix.class_names[matrix.class_codes[r, c]])

    def at(r: int, c: int) -> CellVerdict:
        pair = (matrix.rows[r], matrix.columns[c])
        return judge_cell(result, matrix, pair, (r, c), reference_of(pair, r, c), name)

    codes, deviation = verdicts(result, matrix, applies, (value, low_limit, high_limit), other_unit)
    ok = grids.where(result["status"], "ok") & applies
    sign = 1.0 if matrix.unit == "us" else -1.0
    return LargeVerdict(
        matrix=matrix,
        cells=Judged(matrix.rows, matrix.columns, applies, at, lost),
        codes=codes,
        unjudged_cells=ok & np.isnan(value) & (codes == Verdict.NO_VERDICT),
        expected=blanked(other_unit, value, low_limit, high_limit) if np.isfinite(value[~other_unit]).any() else None,
        held_cells=int(np.isfinite(value).sum()),
        lost=lost,
        # what was never tried is a consequence of what went wrong
        badness=np.where(grids.where(result["status"], "not-run"), -np.inf, sign * deviation),
    )


def verdict_grid(result: Mapping[str, Any], matrix: MatrixVerdict) -> tuple[np.ndarray, np.ndarray]:
    """(verdict of each cell, -1 where it does not apply; cells that lack only a reference), of any matrix."""
    if isinstance(matrix, LargeVerdict):
        return matrix.codes, matrix.unjudged_cells
    codes = np.full((len(result["rows"]), len(result["columns"])), -1, dtype=np.int8)
    unjudged = np.zeros(codes.shape, dtype=bool)
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            cell = matrix.cells.get((row, column))
            if cell is not None:
                codes[r, c], unjudged[r, c] = cell.verdict, cell.unjudged
    return codes, unjudged


def expected_grid(result: Mapping[str, Any], matrix: MatrixVerdict) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(value, low and high limit) of the references in the result's unit, NaN without; None without any."""
    if isinstance(matrix, LargeVerdict):
        return matrix.expected
    grids_of = [np.full((len(result["rows"]), len(result["columns"])), np.nan) for _ in range(3)]
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            cell = matrix.cells.get((row, column))
            if cell is not None and cell.reference is not None and cell.reference.unit == result["unit"]:
                found = cell.reference
                for grid, number in zip(grids_of, (found.value, found.low_limit, found.high_limit), strict=True):
                    grid[r, c] = number
    return (grids_of[0], grids_of[1], grids_of[2]) if np.isfinite(grids_of[0]).any() else None


def blanked(where: np.ndarray, *found: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays without the cells of `where`."""
    value, low, high = (np.where(where, np.nan, grid) for grid in found)
    return value, low, high


class Judged(Cells):
    """Cells, and those that have a reference and are not in the matrix."""

    def __init__(self, *given: Any) -> None:
        *cells, self.lost = given
        super().__init__(*cells)

    def __getitem__(self, pair: Pair) -> CellVerdict:
        return self.lost[pair] if pair in self.lost else super().__getitem__(pair)

    def __iter__(self) -> Iterator[Pair]:
        yield from super().__iter__()
        yield from self.lost

    def __len__(self) -> int:
        return super().__len__() + len(self.lost)


def verdicts(
    result: Mapping[str, Any],
    matrix: LargeMatrix,
    applies: np.ndarray,
    expected: tuple[np.ndarray, np.ndarray, np.ndarray],
    other_unit: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(verdict of each cell, -1 where it does not apply; by which fraction it is off). The rules of judge_cell."""
    value, low_limit, high_limit = expected
    found, low, high, limit = (grids.numbers(result[key]) for key in ("values", "low", "high", "limit"))
    ok, corrupt = (grids.where(result["status"], word) for word in ("ok", "corrupt"))
    middle = np.array(
        [matrix.classes[name].median if name in matrix.classes else np.nan for name in matrix.class_names]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = found / value - 1
        of_class = found / middle[matrix.class_codes] - 1
        worse = np.nan_to_num(of_class if matrix.unit == "us" else -of_class)
        worth_a_look = (low < low_limit) | (high > high_limit)
        worth_a_look |= worse > np.maximum(STRAGGLES[matrix.unit], (high - low) / found)
        outside = ~((low_limit <= found) & (found <= high_limit))
        impossible = (found > limit * IMPLAUSIBLE) if matrix.unit == "GB/s" else np.zeros(ok.shape, dtype=bool)
    compared = bool(result["verified"]) or (result["verified"] is False and bool(corrupt.any()))
    verified = np.full(ok.shape, compared)
    rules = [
        (~applies, -1),
        (corrupt, Verdict.FAIL),
        (~ok, Verdict.NO_VERDICT),
        (impossible, Verdict.FAIL),
        (np.isnan(value) | other_unit, Verdict.NO_VERDICT),
        (outside, Verdict.FAIL),
        (~verified, Verdict.NO_VERDICT),
        (worth_a_look, Verdict.WARN),
    ]
    codes = np.select([mask for mask, _ in rules], [int(code) for _, code in rules], int(Verdict.PASS))
    # as MatrixVerdict.worse: by the reference where that was looked at, else by the class
    off = np.where(np.isfinite(deviation) & ~impossible & ~other_unit, deviation, of_class)
    return codes.astype(np.int8), np.where(ok, off, 0.0)
