"""One matrix: the numbers, statuses and link classes of all pairs of a source and a destination, as arrays.

The cells are in the record's JSON, or in a file next to the record. The interface is the same for both. A matrix in a
file with more than MOST_LOADED cells is never loaded as a whole. `blocks` yields some of its rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import grids
from .link_classes import UNKNOWN
from .names import FEW_CELLS, Pair, is_collective, option_text

if TYPE_CHECKING:
    from .external_cells import ExternalCells

MOST_LOADED = 1 << 22  # maximum of the cells in memory, if the cells are in a separate file
CELLS_PER_BLOCK = 1 << 19  # of a larger matrix

MAPS = ("values", "status", "low", "high", "limit", "samples", "converged", "link_class")


def codes_in_order(codes: np.ndarray) -> list[int]:
    """The distinct codes, in the order in which they first appear."""
    used = np.flatnonzero(np.bincount(codes))  # np.unique would sort a million codes
    return sorted(used.tolist(), key=lambda code: int(np.argmax(codes == code)))


@dataclass(frozen=True)
class ClassSummary:
    """The summary of the measured cells of one link class, in the unit of the matrix."""

    count: int
    low: float
    median: float
    high: float

    def baseline(self, unit: str) -> tuple[float, str]:
        """Returns (value, name) of the baseline for cells without a reference. The name is "best cell" or "median".

        For a class of at most FEW_CELLS cells, the baseline is the best cell. The median could be a faulty cell.
        """
        if self.count > FEW_CELLS:
            return self.median, "median"
        return (self.low if unit == "us" else self.high), "best cell"


class CellView(Mapping):
    """A read-only mapping {(row label, column label): value} of the cells in a mask.

    * mask: booleans, rows × columns
    * at: a function that returns the value for the indices of a row and a column
    """

    def __init__(
        self, rows: Sequence[str], columns: Sequence[str], mask: np.ndarray, at: Callable[[int, int], Any]
    ) -> None:
        self.rows, self.columns, self.mask, self.at = rows, columns, mask, at
        self.row_index = {name: r for r, name in enumerate(rows)}
        self.column_index = {name: c for c, name in enumerate(columns)}

    def __getitem__(self, pair: Pair) -> Any:
        r, c = self.row_index[pair[0]], self.column_index[pair[1]]
        if not self.mask[r, c]:
            raise KeyError(pair)
        return self.at(r, c)

    def __iter__(self) -> Iterator[Pair]:
        return ((self.rows[r], self.columns[c]) for r, c in zip(*np.nonzero(self.mask), strict=True))

    def __len__(self) -> int:
        return int(self.mask.sum())


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a matrix. Each array is rows × columns, and is read when it is used.

    at: the slice of the rows; None for all rows.
    """

    matrix: Matrix
    at: grids.At = None

    @property
    def first(self) -> int:
        """The index of the first row in the matrix."""
        return 0 if self.at is None else self.at.start

    def numbers(self, name: str) -> np.ndarray:
        """The map `name` ("low", "high", "limit", "samples") as floats. A missing number is NaN."""
        return grids.numbers(self.matrix.maps[name], self.at)

    def is_status(self, *words: str) -> np.ndarray:
        """The mask of the cells whose status is one of `words`."""
        if words not in self.by_status:
            found, known = self.status
            self.by_status[words] = np.take(np.array([word in words for word in known], dtype=bool), found)
        return self.by_status[words]

    @cached_property
    def by_status(self) -> dict[tuple[str, ...], np.ndarray]:
        """The cache of `is_status`: {words: mask}. Several rules ask for the same words."""
        return {}

    @cached_property
    def status(self) -> tuple[np.ndarray, list[str]]:
        """Returns (codes, words). The status of a cell is `words[code]`."""
        return grids.codes(self.matrix.maps["status"], self.at)

    @cached_property
    def values(self) -> np.ndarray:
        """The values of all cells, including corrupt cells. A cell without a value is NaN."""
        return self.numbers("values")

    @cached_property
    def measured(self) -> np.ndarray:
        """The values of the cells with status "ok". All other cells are NaN."""
        return np.where(self.is_status("ok"), self.values, np.nan)

    @cached_property
    def applies(self) -> np.ndarray:
        """The mask of the cells whose status is not "not-applicable".

        Usually, these are all cells except the diagonal.
        """
        return ~self.is_status("not-applicable")

    @cached_property
    def classes(self) -> np.ndarray:
        """The link class of each cell, as an index of `matrix.class_names`."""
        return grids.codes(self.matrix.maps["link_class"], self.at)[0]


@dataclass(frozen=True, eq=False)
class Matrix:
    """The matrix of one test case. Rows are sources, columns are destinations, values are in `unit`.

    * maps: {name: rows × columns}, with the names of MAPS. A part of a result has values, status and link_class only.
    * title: the measured quantity, such as "bandwidth" or "sum of both directions"
    * variant: options other than the size, such as ", 32 blocks". A test case may have several variants and sizes.
    * external: the summary of cells in a separate file; None if the record contains the cells
    * whole_classes: the class summaries of the whole matrix, if this matrix is a part of another matrix
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
        """Whether all cells may be loaded. Only cells in a separate file may be too many."""
        return self.external is None or len(self.rows) * len(self.columns) <= MOST_LOADED

    @cached_property
    def whole(self) -> Block:
        """A block with all rows of the matrix. The matrix must fit into memory.

        Raises BadInput if the file differs from its summary. The block refers to a copy of this matrix. A reference to
        this matrix would be a cycle, which would keep the arrays until the next garbage collection.
        """
        if self.external is None:
            return Block(replace(self))
        in_file, block = self.external.file_summary(), Block(replace(self), slice(0, len(self.rows)))
        in_file.add(block)
        in_file.check()
        return block

    def blocks(self) -> Iterator[Block]:
        """Yields all rows in order, in blocks. A matrix that fits into memory is one block.

        Raises BadInput if the file differs from the summary in the record. The error may follow the last block.
        """
        if self.fits_memory:
            yield self.whole
            return
        assert self.external is not None
        in_file, step = self.external.file_summary(), max(1, CELLS_PER_BLOCK // len(self.columns))
        for first in range(0, len(self.rows), step):
            block = Block(self, slice(first, min(first + step, len(self.rows))))
            in_file.add(block)
            yield block
        in_file.check()

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
        """A matrix with only some rows and columns of this matrix. rows, columns: their indices.

        The part keeps the class summaries of this matrix.
        """
        maps: dict[str, grids.Cells] = {}
        if self.fits_memory:
            for name, cells in self.maps.items():
                coded = not isinstance(cells, grids.Grid) or cells.words is not None
                found, words = grids.codes(cells) if coded else (grids.numbers(cells), None)
                maps[name] = grids.from_array(found[np.ix_(rows, columns)], words)
        else:
            picked: dict[str, list[np.ndarray]] = {name: [] for name in self.maps}
            for row in rows:
                for name, cells in self.maps.items():
                    picked[name].append(cells.read_rows(slice(int(row), int(row) + 1))[0, columns])
            maps = {name: grids.from_array(np.array(found), self.maps[name].words) for name, found in picked.items()}
        return replace(
            self,
            rows=tuple(self.rows[at] for at in rows),
            columns=tuple(self.columns[at] for at in columns),
            maps=maps,
            external=None,
            whole_classes=self.classes,
        )

    def status_at(self, row: int, column: int) -> str:
        """The status of a cell. row, column: its indices. The matrix must be in memory."""
        codes, words = self.whole.status
        return str(words[codes[row, column]])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the link classes. The codes of `Block.classes` are indices of this list.

        The name of an unknown link class is "unknown".
        """
        cells = self.maps["link_class"]
        words = cells.words if isinstance(cells, grids.Grid) else grids.codes(cells)[1]
        return tuple(name or UNKNOWN for name in words or ())

    @cached_property
    def cells(self) -> Mapping[Pair, float | str]:
        """Returns {pair: value in `unit`} of the cells that apply.

        A cell that is not "ok" has its status instead of a value.

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
        """Returns {pair: value} of the measured cells. Empty if the matrix does not fit into memory."""
        if not self.fits_memory:
            return {}
        values = self.whole.measured
        return CellView(self.rows, self.columns, np.isfinite(values), lambda r, c: float(values[r, c]))

    @cached_property
    def link_class(self) -> Mapping[Pair, str]:
        """Returns {pair: link class} of the cells that apply. An unknown class is "".

        Empty if the matrix does not fit into memory.
        """
        if not self.fits_memory:
            return {}
        codes, words = grids.codes(self.maps["link_class"])
        return CellView(self.rows, self.columns, self.cells.mask, lambda r, c: words[codes[r, c]])

    @cached_property
    def classes(self) -> Mapping[str, ClassSummary]:
        """Returns {link class: summary of its measured cells}, in the order in which the classes first appear."""
        if self.whole_classes is not None:
            return self.whole_classes
        if self.external is not None:
            return {name: ClassSummary(*of) for name, of in self.external.classes.items()}
        values, codes = self.whole.measured, self.whole.classes
        measured = np.isfinite(values)
        found: dict[str, ClassSummary] = {}
        for code in codes_in_order(codes[measured]):
            inside = values[measured & (codes == code)]
            low, middle, high = (float(summary(inside)) for summary in (np.min, np.median, np.max))
            found[self.class_names[code]] = ClassSummary(len(inside), low, middle, high)
        return found


def external_cells(result: Mapping[str, Any]) -> ExternalCells:
    """The summary of a result whose cells are in a separate file."""
    from .external_cells import ExternalCells  # imported here, because few records have cells in a file

    return ExternalCells(result)


def has_status(result: Mapping[str, Any], word: str) -> bool:
    """Whether a cell of a result has the status `word`. result: an entry of a record's `results`."""
    if "cells" in result:
        return bool(external_cells(result).counts.get(word))
    return any(word in row for row in result["status"])


def from_result(result: Mapping[str, Any], part: str | None = None) -> Matrix:
    """The matrix of a result. The record must already be checked.

    result: an entry of the record's `results`. part: a key of its `parts`; None for the result itself.
    """
    source = result if part is None else result["parts"][part]
    cells_in_file = external_cells(result) if "cells" in result else None
    column_classes = {"link_class": [list(result["columns"])]} if is_collective(result) else {}
    names = ("values", "status", "link_class") if part is not None else MAPS
    found = cells_in_file is None or cells_in_file.found
    return Matrix(
        testcase=result["testcase"],
        title=result["quantity"] if part is None else source["title"],
        unit=source["unit"],
        size_bytes=result["size_bytes"],
        rows=tuple(result["rows"]),
        columns=tuple(result["columns"]),
        maps={name: (source if name == "values" else result)[name] for name in names if found} | column_classes,
        variant=option_text(result),
        external=cells_in_file,
    )
