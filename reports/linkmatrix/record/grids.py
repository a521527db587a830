"""The maps of a result, rows × columns, as numpy arrays. The record or a separate file contains their cells."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

At = slice | None  # the rows to read; None: all rows


class Grid(Sequence):
    """A map in an array, with the interface of JSON's lists of lists.

    read: returns all rows. words: None if the array has numbers (NaN for null); otherwise, the array has indices of
    `words`. rows: returns the rows of a slice without reading the other rows; None if that is impossible.
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
        """All rows; kept after the first read."""
        return self.read()

    def read_rows(self, at: At) -> np.ndarray:
        """The rows of a slice, as an array."""
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
    """A map of numbers as an array of floats, NaN for null."""
    if not isinstance(cells, Grid):
        return np.array(cells if at is None else cells[at], dtype=float)
    if cells.words is None:
        return cells.read_rows(at)
    return np.array([np.nan if word is None else word for word in cells.words], dtype=float)[cells.read_rows(at)]


def codes(cells: Cells, at: At = None) -> tuple[np.ndarray, list[Any]]:
    """A map as (codes, values): the value of a cell is `values[code]`. `values` may contain unused values."""
    if isinstance(cells, Grid) and cells.words is not None:
        return cells.read_rows(at), list(cells.words)
    chosen = cells if at is None else cells[at]
    words = list(dict.fromkeys(value for row in chosen for value in row))
    index = {word: code for code, word in enumerate(words)}
    flat = np.fromiter((index[value] for row in chosen for value in row), dtype=np.intp)
    return flat.reshape(len(chosen), -1), words


def distinct_values(cells: Cells) -> set[Any]:
    """The values of the cells of a map, without repetition."""
    found, words = codes(cells)
    return {words[code] for code in np.flatnonzero(np.bincount(found.ravel()))}


def where(cells: Cells, *wanted: Any) -> np.ndarray:
    """The mask of the cells whose value is in `wanted`: an array of booleans, rows × columns."""
    found, words = codes(cells)
    return np.array([word in wanted for word in words], dtype=bool)[found]


def from_array(found: np.ndarray, words: Sequence[Any] | None = None) -> Grid:
    """A map of an array in memory: numbers, or with `words` their indices."""
    return Grid(lambda: found, words, lambda at: found[at])


def short_sample_array(result: Mapping[str, Any]) -> np.ndarray | None:
    """The short samples, passes × rows × columns × samples, padded with NaN; None if the record has none."""
    passes = (result.get("short_samples") or {}).get("passes")
    return padded_samples([one["values"] for one in passes]) if passes else None


def ordinary_sample_array(result: Mapping[str, Any]) -> np.ndarray | None:
    """The ordinary samples as passes of one sample: passes × rows × columns × 1; None if the record has none."""
    if result.get("sampled") is None:
        return None
    return np.moveaxis(padded_samples([result["sampled"]])[0], -1, 0)[..., None]


def padded_samples(passes: list[Any]) -> np.ndarray:
    """Lists of samples per pass, row and column as one array, padded with NaN."""
    most = max((len(cell) for rows in passes for row in rows for cell in row), default=0)
    found = np.full((len(passes), len(passes[0]), len(passes[0][0]), max(most, 1)), np.nan)
    for p, rows in enumerate(passes):
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                found[p, r, c, : len(cell)] = cell
    return found
