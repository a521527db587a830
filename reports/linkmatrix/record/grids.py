"""The maps of a result, rows × columns, as numpy arrays. They are in the record's JSON or in a separate file."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

At = slice | None  # rows; None: all rows


class Grid(Sequence):
    """A map with the interface of JSON's lists of lists, over an array of numbers (NaN for null) or of codes of
    `words`.

    read: returns all rows. rows: returns some rows, if these can be read without the other rows.
    """

    def __init__(
        self,
        read: Callable[[], np.ndarray],
        words: Sequence[Any] | None,
        rows: Callable[[slice], np.ndarray] | None = None,
    ) -> None:
        self.read = read  # repeated on demand, so that many runs need little memory
        self.words = words
        self.rows = rows

    @cached_property
    def array(self) -> np.ndarray:
        """The array, which is kept after the first read."""
        return self.read()

    def some(self, at: At) -> np.ndarray:
        """The array of some rows."""
        if at is None:
            return self.read()
        return self.rows(at) if self.rows is not None else self.read()[at]

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, row: int) -> list[Any]:
        if self.words is not None:
            return [self.words[code] for code in self.array[row].tolist()]
        return [None if value != value else value for value in self.array[row].tolist()]


Cells = Grid | list[list[Any]]


def numbers(cells: Cells, at: At = None) -> np.ndarray:
    """A map as floats, NaN for null."""
    if not isinstance(cells, Grid):
        return np.array(cells if at is None else cells[at], dtype=float)
    if cells.words is None:
        return cells.some(at)
    return np.array([np.nan if word is None else word for word in cells.words], dtype=float)[cells.some(at)]


def codes(cells: Cells, at: At = None) -> tuple[np.ndarray, list[Any]]:
    """(index of each cell's value, the values)."""
    if isinstance(cells, Grid) and cells.words is not None:
        return cells.some(at), list(cells.words)
    chosen = cells if at is None else cells[at]
    words = list(dict.fromkeys(value for row in chosen for value in row))
    index = {word: place for place, word in enumerate(words)}
    flat = np.fromiter((index[value] for row in chosen for value in row), dtype=np.intp)
    return flat.reshape(len(chosen), -1), words


def used(cells: Cells) -> set[Any]:
    """The values that occur. The words of a map may contain more."""
    found, words = codes(cells)
    return {words[code] for code in np.flatnonzero(np.bincount(found.ravel()))}


def where(cells: Cells, *wanted: Any) -> np.ndarray:
    """True where a cell is one of `wanted`; rows × columns."""
    found, words = codes(cells)
    return np.array([word in wanted for word in words], dtype=bool)[found]


def of_array(found: np.ndarray, words: Sequence[Any] | None = None) -> Grid:
    """A map over an array in memory."""
    return Grid(lambda: found, words, lambda at: found[at])
