"""The file of numpy's beside a record that holds the cells of a matrix too large for it, read in blocks of rows.

It is read, not mapped: a page that is mapped counts as memory of this process, and a file that is cut short while it is
read would end it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .errors import BadInput

CELL = np.dtype(
    [("value", "<f4"), ("low", "<f4"), ("high", "<f4"), ("samples", "<u2"), ("status", "u1"), ("converged", "u1")]
)
CELLS_AT_ONCE = 1 << 20  # 16 MiB of the file
REMEDY = "keep it beside its record, or measure again"


@dataclass(frozen=True)
class CellFile:
    """A checked file of endpoints × endpoints cells, which begin at byte `start`."""

    path: Path
    endpoints: int
    start: int

    @classmethod
    def beside(cls, result: Mapping[str, Any], folder: Path | None) -> "CellFile":
        """That of an entry of `results`, in the folder of its record. Raises BadInput: one sentence."""
        if folder is None:
            raise BadInput(f"where {result['cells']['file']} is, nobody said: name the record by its path")
        path, endpoints = folder / result["cells"]["file"], len(result["rows"])
        try:
            with path.open("rb") as file:
                start = start_of(file, endpoints)
                size = file.seek(0, 2)
        except OSError as error:
            raise BadInput(f"{path}, which has the cells, cannot be read: {error.strerror}: {REMEDY}") from None
        except ValueError as error:
            raise BadInput(
                f"{path} does not hold the cells of the record: {' '.join(str(error).split())[:200]}"
            ) from None
        wanted = start + endpoints**2 * CELL.itemsize
        if size != wanted:
            raise BadInput(f"{path} has {size} bytes, not {wanted}: it was cut short: {REMEDY}")
        return cls(path, endpoints, start)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """(first row, cells) of some rows at a time, all in order. Raises BadInput."""
        rows = max(1, CELLS_AT_ONCE // self.endpoints)
        with self.opened() as file:
            for first in range(0, self.endpoints, rows):
                yield first, self.read(file, first, min(rows, self.endpoints - first))

    def rows(self, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(row, its cells) of the rows that are wanted. Raises BadInput."""
        with self.opened() as file:
            for row in wanted.tolist():
                yield row, self.read(file, row, 1)[0]

    def part(self, wanted: np.ndarray) -> np.ndarray:
        """The cells between some endpoints. Raises BadInput."""
        return np.array([cells[wanted] for _, cells in self.rows(wanted)], dtype=CELL)

    def opened(self) -> BinaryIO:
        """The file. Raises BadInput."""
        try:
            return self.path.open("rb")
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read: {error.strerror}: {REMEDY}") from None

    def read(self, file: BinaryIO, first: int, rows: int) -> np.ndarray:
        """Some rows."""
        try:
            file.seek(self.start + first * self.endpoints * CELL.itemsize)
            found = np.fromfile(file, CELL, rows * self.endpoints)
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read: {error.strerror}: {REMEDY}") from None
        if len(found) != rows * self.endpoints:
            raise BadInput(f"{self.path} was cut short while it was read: {REMEDY}")
        return found.reshape(rows, self.endpoints)


def start_of(file: BinaryIO, endpoints: int) -> int:
    """Where the cells begin. Raises ValueError for another array than theirs."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"it is of version {version} of numpy's format")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype != CELL or by_column:
        raise ValueError(f"its cells are {dtype}")
    if shape != (endpoints, endpoints):
        raise ValueError(f"it is {shape}, and there are {endpoints} endpoints")
    return file.tell()
