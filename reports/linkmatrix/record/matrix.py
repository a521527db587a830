"""One matrix: numbers, status words and link classes of every pair of a source and a destination, as arrays.

The cells are in the record's JSON or in a file next to the record. The class hides the difference. A matrix of
more than MOST_LOADED cells is never loaded as a whole: `blocks` yields some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import grids
from .names import FEW_CELLS, UNKNOWN, Pair, is_collective, variant_of

if TYPE_CHECKING:
    from .external_cells import ExternalCells

MOST_LOADED = 1 << 22  # largest number of cells that are loaded together
CELLS_AT_ONCE = 1 << 19  # per block of a matrix that does not fit into memory

MAPS = ("values", "status", "low", "high", "limit", "samples", "converged", "link_class")


def in_order(codes: np.ndarray) -> list[int]:
    """The codes that occur, in the order of their first positions. np.unique would sort a million codes."""
    used = np.flatnonzero(np.bincount(codes))
    return sorted(used.tolist(), key=lambda code: int(np.argmax(codes == code)))


@dataclass(frozen=True)
class ClassSummary:
    """The measured cells of one link class, in the matrix's unit."""

    count: int
    low: float
    median: float
    high: float

    def baseline(self, unit: str) -> tuple[float, str]:
        """(the value with which a cell without a reference is compared, its name): "best cell" or "median".

        A class of at most FEW_CELLS cells has its best cell. The median of two cells is a value that neither cell has.
        """
        if self.count > FEW_CELLS:
            return self.median, "median"
        return (self.low if unit == "us" else self.high), "best cell"


class CellView(Mapping):
    """{(row, column): value of `at` for the indices of row and column}, for the cells of a mask, rows × columns."""

    def __init__(
        self, rows: Sequence[str], columns: Sequence[str], mask: np.ndarray, at: Callable[[int, int], Any]
    ) -> None:
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


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a matrix, from row `first` on. All arrays are rows × columns and are read on demand."""

    matrix: Matrix
    at: grids.At = None

    @property
    def first(self) -> int:
        """The index of the first row."""
        return 0 if self.at is None else self.at.start

    def numbers(self, name: str) -> np.ndarray:
        """A map of numbers such as "low", "high", "limit" or "samples"; NaN for a missing number."""
        return grids.numbers(self.matrix.maps[name], self.at)

    def is_status(self, *words: str) -> np.ndarray:
        """True where the status is one of `words`."""
        if words not in self.by_status:
            found, known = self.status
            self.by_status[words] = np.take(np.array([word in words for word in known], dtype=bool), found)
        return self.by_status[words]

    @cached_property
    def by_status(self) -> dict[tuple[str, ...], np.ndarray]:
        """The answers of `is_status`: rules ask for the same words several times."""
        return {}

    @cached_property
    def status(self) -> tuple[np.ndarray, list[str]]:
        """(codes, the words of the codes)."""
        return grids.codes(self.matrix.maps["status"], self.at)

    @cached_property
    def values(self) -> np.ndarray:
        """The value of each cell, also of corrupt cells; NaN for none."""
        return self.numbers("values")

    @cached_property
    def measured(self) -> np.ndarray:
        """The values of cells with status "ok"; NaN for the other cells."""
        return np.where(self.is_status("ok"), self.values, np.nan)

    @cached_property
    def applies(self) -> np.ndarray:
        """False for cells that do not apply, such as the diagonal."""
        return ~self.is_status("not-applicable")

    @cached_property
    def classes(self) -> np.ndarray:
        """The link classes, as indices of `matrix.class_names`."""
        return grids.codes(self.matrix.maps["link_class"], self.at)[0]


@dataclass(frozen=True, eq=False)
class Matrix:
    """The matrix of one test case. Rows are sources, columns are destinations, values are in `unit`.

    maps: {"values", "status", "link_class", and of a record "low", "high", "limit", "samples", "converged": rows ×
    columns}. title: the measured quantity, "bandwidth", "sum of both directions", "one direction" … variant: further
    options, such as ", 32 blocks"; a test case may have several variants and sizes. external: the summary of cells that
    are in a file, None if the record has the cells. whole_classes: the classes of the complete matrix if this matrix is
    a part.
    """

    testcase: str
    title: str
    unit: str
    size_bytes: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    maps: Mapping[str, grids.Cells] = field(repr=False)
    variant: str = ""
    external: ExternalCells | None = field(default=None, repr=False)
    whole_classes: Mapping[str, ClassSummary] | None = field(default=None, repr=False)

    @property
    def fits_memory(self) -> bool:
        """Whether all cells are loaded together. Larger matrices in a file are read in blocks."""
        return self.external is None or len(self.rows) * len(self.columns) <= MOST_LOADED

    @cached_property
    def whole(self) -> Block:
        """All rows of a matrix in memory. Raises BadInput if the file differs from its summary."""
        if self.external is None:
            return Block(self)
        facts, block = self.external.facts(), Block(self, slice(0, len(self.rows)))
        facts.add(block)
        facts.check()
        return block

    def blocks(self) -> Iterator[Block]:
        """Yields the rows in blocks, in order. A matrix in memory is one block.

        Raises BadInput, also after the last block, if the file differs from the summary in the record.
        """
        if self.fits_memory:
            yield self.whole
            return
        assert self.external is not None
        facts, step = self.external.facts(), max(1, CELLS_AT_ONCE // len(self.columns))
        for first in range(0, len(self.rows), step):
            block = Block(self, slice(first, min(first + step, len(self.rows))))
            facts.add(block)
            yield block
        facts.check()

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
        """The cells between some rows and columns, by their indices. The class summaries are those of the complete
        matrix.
        """
        maps: dict[str, grids.Cells] = {}
        if self.fits_memory:
            for name, cells in self.maps.items():
                coded = not isinstance(cells, grids.Grid) or cells.words is not None
                found, words = grids.codes(cells) if coded else (grids.numbers(cells), None)
                maps[name] = grids.of_array(found[np.ix_(rows, columns)], words)
        else:
            picked: dict[str, list[np.ndarray]] = {name: [] for name in self.maps}
            for row in rows:
                for name, cells in self.maps.items():
                    picked[name].append(cells.some(slice(int(row), int(row) + 1))[0, columns])
            maps = {name: grids.of_array(np.array(found), self.maps[name].words) for name, found in picked.items()}
        return replace(
            self,
            rows=tuple(self.rows[at] for at in rows),
            columns=tuple(self.columns[at] for at in columns),
            maps=maps,
            external=None,
            whole_classes=self.classes,
        )

    def status_at(self, row: int, column: int) -> str:
        """The status of a cell of a matrix in memory, by its indices."""
        codes, words = self.whole.status
        return str(words[codes[row, column]])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The link classes by code; "unknown" for an empty class."""
        cells = self.maps["link_class"]
        words = cells.words if isinstance(cells, grids.Grid) else grids.codes(cells)[1]
        return tuple(name or UNKNOWN for name in words or ())

    @cached_property
    def cells(self) -> Mapping[Pair, float | str]:
        """{pair: value in `unit`, or a status word} of the cells that apply.

        Empty if the matrix does not fit into memory.
        """
        if not self.fits_memory:
            return {}
        block, (status, words) = self.whole, self.whole.status
        ok = block.is_status("ok")
        applies = block.applies & (~ok | np.isfinite(block.values))
        return CellView(
            self.rows,
            self.columns,
            applies,
            lambda r, c: float(block.values[r, c]) if ok[r, c] else str(words[status[r, c]]),
        )

    @cached_property
    def numbers(self) -> Mapping[Pair, float]:
        """{pair: value} of the measured cells; empty if the matrix does not fit into memory."""
        if not self.fits_memory:
            return {}
        values = self.whole.measured
        return CellView(self.rows, self.columns, np.isfinite(values), lambda r, c: float(values[r, c]))

    @cached_property
    def link_class(self) -> Mapping[Pair, str]:
        """{pair: link class, "" for unknown} of the cells that apply; empty if the matrix does not fit into memory."""
        if not self.fits_memory:
            return {}
        codes, words = grids.codes(self.maps["link_class"])
        return CellView(self.rows, self.columns, self.cells.mask, lambda r, c: words[codes[r, c]])

    @cached_property
    def classes(self) -> Mapping[str, ClassSummary]:
        """{link class: summary of its measured cells}, in the order of their first cells."""
        if self.whole_classes is not None:
            return self.whole_classes
        if self.external is not None:
            return {name: ClassSummary(*of) for name, of in self.external.classes.items()}
        values, codes = self.whole.measured, self.whole.classes
        measured = np.isfinite(values)
        found: dict[str, ClassSummary] = {}
        for code in in_order(codes[measured]):
            inside = values[measured & (codes == code)]
            low, middle, high = (float(summary(inside)) for summary in (np.min, np.median, np.max))
            found[self.class_names[code]] = ClassSummary(len(inside), low, middle, high)
        return found


def external_cells(result: Mapping[str, Any]) -> ExternalCells:
    """The summary of a result whose cells are in a file."""
    from .external_cells import ExternalCells  # imported here, because few records have such a file

    return ExternalCells(result)


def has_status(result: Mapping[str, Any], word: str) -> bool:
    """Whether a cell of an entry of a record's `results` has this status."""
    if "cells" in result:
        return bool(external_cells(result).counts.get(word))
    return any(word in row for row in result["status"])


def from_result(result: Mapping[str, Any], part: str | None = None) -> Matrix:
    """The matrix of an entry of a checked record's `results`. part: the name of one of its parts."""
    source = result if part is None else result["parts"][part]
    cells_in_file = external_cells(result) if "cells" in result else None
    ways = {"link_class": [list(result["columns"])]} if is_collective(result) else {}
    names = ("values", "status", "link_class") if part is not None else MAPS
    found = cells_in_file is None or cells_in_file.found
    return Matrix(
        testcase=result["testcase"],
        title=result["quantity"] if part is None else source["title"],
        unit=source["unit"],
        size_bytes=result["size_bytes"],
        rows=tuple(result["rows"]),
        columns=tuple(result["columns"]),
        maps={name: (source if name == "values" else result)[name] for name in names if found} | ways,
        variant=variant_of(result),
        external=cells_in_file,
    )
