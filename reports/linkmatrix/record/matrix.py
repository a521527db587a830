"""One matrix: numbers, status words and link classes of every pair of a source and a destination, as arrays.

The cells are in the record's JSON or in a file next to the record. The class hides the difference. A matrix of
more than MOST_HELD cells is never loaded as a whole: `blocks` yields some rows at a time.
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
    from .external_cells import Apart

MOST_HELD = 1 << 22  # cells that are held at once, and that can be asked for one by one
CELLS_AT_ONCE = 1 << 19  # of a matrix that is not held

MAPS = ("values", "status", "low", "high", "limit", "samples", "converged", "link_class")


def in_order(codes: np.ndarray) -> list[int]:
    """The codes that occur, in the order of their first places. np.unique would sort a million."""
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
        """(what a cell of this class without a reference is compared with, its name): "best cell" or "median".

        Of FEW_CELLS cells or fewer it is the best cell. The median of two cells is a value that neither has.
        """
        if self.count > FEW_CELLS:
            return self.median, "median"
        return (self.low if unit == "us" else self.high), "best cell"


class CellView(Mapping):
    """{(row, column): what `at` says of row and column index}, for the cells of a mask, rows × columns."""

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
    """Some rows of a matrix, `first` the index of the first; all arrays are rows × columns and read when asked for."""

    matrix: Matrix
    at: grids.At = None

    @property
    def first(self) -> int:
        """The index of the first row."""
        return 0 if self.at is None else self.at.start

    def numbers(self, name: str) -> np.ndarray:
        """A map of numbers, such as "low", "high", "limit" and "samples": float, NaN where there is none."""
        return grids.numbers(self.matrix.maps[name], self.at)

    def is_status(self, *words: str) -> np.ndarray:
        """True where the status is one of `words`."""
        found, known = self.status
        return np.array([word in words for word in known], dtype=bool)[found]

    @cached_property
    def status(self) -> tuple[np.ndarray, list[str]]:
        """(codes, their words)."""
        return grids.codes(self.matrix.maps["status"], self.at)

    @cached_property
    def values(self) -> np.ndarray:
        """Whatever number a cell has, also one that arrived wrong; NaN for none."""
        return self.numbers("values")

    @cached_property
    def measured(self) -> np.ndarray:
        """The numbers of cells whose status is "ok", NaN elsewhere."""
        return np.where(self.is_status("ok"), self.values, np.nan)

    @cached_property
    def applies(self) -> np.ndarray:
        """True but for what is not applicable, such as the diagonal."""
        return ~self.is_status("not-applicable")

    @cached_property
    def classes(self) -> np.ndarray:
        """Link classes, as indices of `matrix.class_names`."""
        return grids.codes(self.matrix.maps["link_class"], self.at)[0]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix of one test case. Rows are sources, columns destinations, in `unit`.

    maps: {"values", "status", "link_class", and of a record's "low", "high", "limit", "samples", "converged": rows ×
    columns}. title: what a number is, "bandwidth", "sum of both directions", "one direction" … variant: what else was
    asked for, ", 32 blocks"; the same test case may come in several, and in several sizes. apart: what the record says
    of cells that are in a file; None where it has them itself. whole_classes: of the matrix that this is a part of.
    """

    testcase: str
    title: str
    unit: str
    size_bytes: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    maps: Mapping[str, grids.Cells] = field(repr=False)
    variant: str = ""
    apart: Apart | None = field(default=None, repr=False)
    whole_classes: Mapping[str, ClassSummary] | None = field(default=None, repr=False)

    @property
    def held(self) -> bool:
        """Can it be asked for each of its cells? Those of a large one in a file cannot be held at once."""
        return self.apart is None or len(self.rows) * len(self.columns) <= MOST_HELD

    @cached_property
    def whole(self) -> Block:
        """All rows at once, of a matrix that is held. Raises BadInput where a file does not hold what it should."""
        if self.apart is None:
            return Block(self)
        facts, block = self.apart.facts(), Block(self, slice(0, len(self.rows)))
        facts.add(block)
        facts.check()
        return block

    def blocks(self) -> Iterator[Block]:
        """Some rows at a time, all in order; of a matrix that is held, all at once.

        Raises BadInput, at the end too, where a file does not hold what its record says.
        """
        if self.held:
            yield self.whole
            return
        assert self.apart is not None
        facts, step = self.apart.facts(), max(1, CELLS_AT_ONCE // len(self.columns))
        for first in range(0, len(self.rows), step):
            block = Block(self, slice(first, min(first + step, len(self.rows))))
            facts.add(block)
            yield block
        facts.check()

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
        """The cells between some rows and columns, by their indices. What is usual in a class is said by all of it."""
        maps: dict[str, grids.Cells] = {}
        if self.held:
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
            apart=None,
            whole_classes=self.classes,
        )

    def status_at(self, row: int, column: int) -> str:
        """The status of a cell of a matrix that is held, by its indices."""
        codes, words = self.whole.status
        return str(words[codes[row, column]])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The link classes that codes stand for; "unknown" where nobody said."""
        cells = self.maps["link_class"]
        words = cells.words if isinstance(cells, grids.Grid) else grids.codes(cells)[1]
        return tuple(name or UNKNOWN for name in words or ())

    @cached_property
    def cells(self) -> Mapping[Pair, float | str]:
        """{pair: number in `unit`, or a status word} of what applies; empty where it is not held."""
        if not self.held:
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
        """The cells that were measured; empty where it is not held."""
        if not self.held:
            return {}
        values = self.whole.measured
        return CellView(self.rows, self.columns, np.isfinite(values), lambda r, c: float(values[r, c]))

    @cached_property
    def link_class(self) -> Mapping[Pair, str]:
        """{pair: class, "" unknown} of what applies; empty where it is not held."""
        if not self.held:
            return {}
        codes, words = grids.codes(self.maps["link_class"])
        return CellView(self.rows, self.columns, self.cells.mask, lambda r, c: words[codes[r, c]])

    @cached_property
    def classes(self) -> Mapping[str, ClassSummary]:
        """Each link class with a summary of its measured cells, in the order in which they appear."""
        if self.whole_classes is not None:
            return self.whole_classes
        if self.apart is not None:
            return {name: ClassSummary(*of) for name, of in self.apart.classes.items()}
        values, codes = self.whole.measured, self.whole.classes
        measured = np.isfinite(values)
        found: dict[str, ClassSummary] = {}
        for code in in_order(codes[measured]):
            inside = values[measured & (codes == code)]
            low, middle, high = (float(summary(inside)) for summary in (np.min, np.median, np.max))
            found[self.class_names[code]] = ClassSummary(len(inside), low, middle, high)
        return found


def external(result: Mapping[str, Any]) -> Apart:
    """The cells of a result that are in a file."""
    from .external_cells import Apart  # few records have such a file

    return Apart(result)


def has_status(result: Mapping[str, Any], word: str) -> bool:
    """Does any cell of an entry of a record's `results` have this status?"""
    if "cells" in result:
        return bool(external(result).counts.get(word))
    return any(word in row for row in result["status"])


def from_result(result: Mapping[str, Any], part: str | None = None) -> Matrix:
    """The matrix of an entry of a record's `results`, or of one of its parts; the record has been checked."""
    source = result if part is None else result["parts"][part]
    apart = external(result) if "cells" in result else None
    ways = {"link_class": [list(result["columns"])]} if is_collective(result) else {}
    names = ("values", "status", "link_class") if part is not None else MAPS
    found = apart is None or apart.found
    return Matrix(
        testcase=result["testcase"],
        title=result["quantity"] if part is None else source["title"],
        unit=source["unit"],
        size_bytes=result["size_bytes"],
        rows=tuple(result["rows"]),
        columns=tuple(result["columns"]),
        maps={name: (source if name == "values" else result)[name] for name in names if found} | ways,
        variant=variant_of(result),
        apart=apart,
    )
