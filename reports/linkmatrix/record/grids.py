"""The maps of a result as numpy arrays. A map has one property of each cell, such as its status: rows × columns."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

At = slice | None  # the rows to read; None: all rows


class Grid(Sequence):
    """A map that is stored as an array, with the interface of JSON's lists of lists.

    * read: a function that returns all rows
    * words: the words of the map; the array contains indices of this list. None for an array of numbers.
    * rows: a function that returns only the rows of a slice; None if only all rows can be read
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
        """All rows. The rows are read only once."""
        return self.read()

    def read_rows(self, at: At) -> np.ndarray:
        """The rows of a slice, as an array. at: the slice; None for all rows."""
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
    """Returns a map of numbers as an array of floats. null becomes NaN."""
    if not isinstance(cells, Grid):
        return np.array(cells if at is None else cells[at], dtype=float)
    if cells.words is None:
        return cells.read_rows(at)
    return np.array([np.nan if word is None else word for word in cells.words], dtype=float)[cells.read_rows(at)]


def codes(cells: Cells, at: At = None) -> tuple[np.ndarray, list[Any]]:
    """Returns a map as (codes, values). The value of a cell is `values[code]`. Some values may be unused."""
    if isinstance(cells, Grid) and cells.words is not None:
        return cells.read_rows(at), list(cells.words)
    chosen = cells if at is None else cells[at]
    words = list(dict.fromkeys(value for row in chosen for value in row))
    index = {word: code for code, word in enumerate(words)}
    flat = np.fromiter((index[value] for row in chosen for value in row), dtype=np.intp)
    return flat.reshape(len(chosen), -1), words


def distinct_values(cells: Cells) -> set[Any]:
    """The set of the values in a map."""
    found, words = codes(cells)
    return {words[code] for code in np.flatnonzero(np.bincount(found.ravel()))}


def where(cells: Cells, *wanted: Any) -> np.ndarray:
    """The mask of the cells that have one of the `wanted` values: an array of booleans, rows × columns."""
    found, words = codes(cells)
    return np.array([word in wanted for word in words], dtype=bool)[found]


def from_array(found: np.ndarray, words: Sequence[Any] | None = None) -> Grid:
    """Returns a map for an array in memory. words: as in `Grid`."""
    return Grid(lambda: found, words, lambda at: found[at])


def short_sample_array(result: Mapping[str, Any]) -> np.ndarray | None:
    """The short samples: passes × rows × columns × samples, padded with NaN.

    None if the record contains no short samples.
    """
    passes = (result.get("short_samples") or {}).get("passes")
    return padded_samples([one["values"] for one in passes]) if passes else None


def ordinary_sample_array(result: Mapping[str, Any]) -> np.ndarray | None:
    """The ordinary samples: passes × rows × columns × 1, with one sample per pass.

    None if the record contains no samples.
    """
    if result.get("sampled") is None:
        return None
    return np.moveaxis(padded_samples([result["sampled"]])[0], -1, 0)[..., None]


def padded_samples(passes: list[Any]) -> np.ndarray:
    """Converts nested lists (pass, row, column, sample) to an array. Missing samples become NaN."""
    most = max((len(cell) for rows in passes for row in rows for cell in row), default=0)
    found = np.full((len(passes), len(passes[0]), len(passes[0][0]), max(most, 1)), np.nan)
    for p, rows in enumerate(passes):
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                found[p, r, c, : len(cell)] = cell
    return found
