"""Cells in a numpy file next to the record, for matrices that are too large for JSON.

The file is read in blocks of rows. The file is not memory-mapped, for two reasons:

* Mapped pages count as memory of this process.
* If another process truncates a mapped file, the operating system ends this process.

The record contains a summary: the number of cells per status, and the minimum, median and maximum per link class. A
file that differs from the summary belongs to another run and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from ..errors import BadInput
from . import checking
from .grids import Grid

CELL = np.dtype(
    [("value", "<f4"), ("low", "<f4"), ("high", "<f4"), ("samples", "<u2"), ("status", "u1"), ("converged", "u1")]
)
CLASSES = ("NET", "NODE")  # link classes by code: between nodes, inside a node
REMEDY = "keep the file in the folder of its record, or measure again"
ROUNDING = 1e-6  # relative error of a 32-bit number in the file


@dataclass(frozen=True)
class ExternalCells:
    """The summary of cells in a separate file. result: the entry of the record's `results` with the summary."""

    result: Mapping[str, Any]

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> ExternalCells | None:
        """The summary in an entry of a record's `results`; None if the entry contains the cells."""
        return cls(result) if "cells" in result else None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.result["cells"]["file"]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Returns {status: number of cells}."""
        return dict(zip(self.result["cells"]["statuses"], self.result["cells"]["counts"], strict=True))

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """The summary of each link class, as in the record."""
        return self.result["cells"]["classes"]

    @cached_property
    def classes(self) -> dict[str, tuple[int, float, float, float]]:
        """Returns {link class: (number of measured cells, minimum, median, maximum)}."""
        names = ("measured", "min", "median", "max")
        return {one["link_class"]: tuple(one[name] for name in names) for one in self.result["cells"]["classes"]}

    @property
    def medians(self) -> tuple[list[float], list[float]]:
        """Returns (median of each row, median of each column).

        A row or column without a measured cell has the median 0.
        """
        return self.result["cells"]["row_medians"], self.result["cells"]["column_medians"]

    @property
    def found(self) -> bool:
        """Whether the folder of the file is known."""
        return isinstance(self.result, ResultWithFile)

    def file_summary(self) -> FileSummary:
        """A new, empty summary. The caller adds the blocks of the file.

        Raises BadInput if the file's folder is unknown.
        """
        if not self.found:
            raise BadInput(f"the folder of {self.name} is unknown: name the record by its path")
        return FileSummary(self, self.result.file.path)


class FileSummary:
    """Counts the cells of a file, and compares the result with the summary in the record (`expected`)."""

    def __init__(self, expected: ExternalCells, path: Path) -> None:
        self.expected, self.path = expected, path
        self.statuses = np.zeros(256, dtype=np.int64)
        self.lowest = np.full(len(CLASSES), np.inf)
        self.highest = np.zeros(len(CLASSES))

    def add(self, block: Any) -> None:
        """Adds the cells of a block. Raises BadInput for an invalid cell.

        The message contains the file and the cell.
        """
        status, words = block.status
        if int(status.max(initial=0)) >= len(words):
            raise BadInput(f"{self.path} has a status {status.max()} that its record does not name: {REMEDY}")
        try:
            checking.check_cells(self.expected.result, block, block.first)
        except BadInput as error:
            raise BadInput(f"{self.path}: {error}: {REMEDY}") from None
        wrong = np.argwhere(block.is_status(*checking.WITH_VALUE) != (block.numbers("samples") > 0))
        for r, c in wrong[:1]:
            pair = f"{self.expected.result['rows'][block.first + r]}->{self.expected.result['columns'][c]}"
            raise BadInput(f"{self.path}: {pair} has a status that contradicts its samples: {REMEDY}")
        self.statuses += np.bincount(status.ravel(), minlength=256)
        known = np.isfinite(block.values)
        for code in range(len(CLASSES)):
            values = block.values[(block.classes == code) & known]
            if len(values):
                self.lowest[code] = min(self.lowest[code], values.min())
                self.highest[code] = max(self.highest[code], values.max())

    def check(self) -> None:
        """Raises BadInput if the added cells differ from the summary in the record."""
        differs = f"{self.path} does not contain the cells of its record"
        for (word, expected), counted in zip(self.expected.counts.items(), self.statuses.tolist(), strict=False):
            if expected != counted:
                raise BadInput(f"{differs}: {counted} are '{word}', not {expected}: {REMEDY}")
        for code, name in enumerate(CLASSES):
            found = self.lowest[code], self.highest[code]
            expected = self.expected.classes[name][1::2] if name in self.expected.classes else (np.inf, 0.0)
            if not np.allclose(found, expected, rtol=ROUNDING):
                ranges = f"{found[0]:g} to {found[1]:g}, not {expected[0]:g} to {expected[1]:g}"
                raise BadInput(f"{differs}: {name} is {ranges}: {REMEDY}")


class CellFile:
    """The file with the cells of a result: endpoints × endpoints.

    * node: the index of the node of each endpoint
    * last: (file, slice, rows) of the last read operation. All files share this cache, because a cache per file would
      need too much memory: half a gigabyte for 30 files.
    """

    last: ClassVar[tuple[CellFile, slice, np.ndarray] | None] = None

    def __init__(self, path: Path, endpoints: int, node: np.ndarray) -> None:
        self.path, self.endpoints, self.node = path, endpoints, node

    @cached_property
    def start(self) -> int:
        """The byte position of the first cell. Raises BadInput for a file of another type or size."""
        if self.path.exists() and not self.path.is_file():  # reading a pipe would block
            raise BadInput(f"{self.path}, the file of the cells, is not a regular file: {REMEDY}")
        try:
            with self.path.open("rb") as file:
                start = header_end(file, self.endpoints)
                size = file.seek(0, 2)
        except OSError as error:
            raise BadInput(f"{self.path}, the file of the cells, cannot be read: {error.strerror}: {REMEDY}") from None
        except ValueError as error:
            raise BadInput(
                f"{self.path} does not contain the cells of the record: {' '.join(str(error).split())[:200]}"
            ) from None
        wanted = start + self.endpoints**2 * CELL.itemsize
        if size != wanted:
            raise BadInput(f"{self.path} has {size} bytes, not {wanted}: it was cut short: {REMEDY}")
        return start

    def rows(self, at: slice) -> np.ndarray:
        """The cells of the rows `at`: an array of CELL, rows × columns. Raises BadInput if the file is unreadable."""
        if (last := CellFile.last) is not None and last[0] is self and last[1] == at:
            return last[2]
        CellFile.last = last = None  # free its memory first
        start, count = self.start, at.stop - at.start
        try:
            with self.path.open("rb") as file:
                file.seek(start + at.start * self.endpoints * CELL.itemsize)
                found = np.fromfile(file, CELL, count * self.endpoints)
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read: {error.strerror}: {REMEDY}") from None
        if len(found) != count * self.endpoints:
            raise BadInput(f"{self.path} was truncated while linkmatrix read it: {REMEDY}")
        found = found.reshape(count, self.endpoints)
        CellFile.last = self, at, found
        return found

    def known(self, at: slice, words: Sequence[str]) -> np.ndarray:
        """The mask of the cells with a value, for the rows `at`. words: the status word of each status code."""
        table = np.zeros(256, dtype=bool)
        table[: len(words)] = [word in checking.WITH_VALUE for word in words]
        return np.take(table, self.rows(at)["status"])

    def maps(self, words: Sequence[str]) -> dict[str, Grid]:
        """Returns {name: map}, with the names in matrix.MAPS. words: the status word of each status code."""
        everything = slice(0, self.endpoints)

        def grid(rows: Any, words: Sequence[Any] | None = None) -> Grid:
            return Grid(lambda: rows(everything), words, rows)

        def number(name: str) -> Grid:
            def read(at: slice) -> np.ndarray:
                numbers = self.rows(at)[name].astype(float)
                numbers[~self.known(at, words)] = np.nan
                return numbers

            return grid(read)

        def inside(at: slice) -> np.ndarray:
            return (self.node[at][:, None] == self.node[None, :]).astype(np.uint8)

        shape = self.endpoints
        return {
            "values": number("value"),
            "low": number("low"),
            "high": number("high"),
            "status": grid(lambda at: self.rows(at)["status"], words),
            "samples": grid(lambda at: self.rows(at)["samples"].astype(float)),
            "converged": grid(lambda at: self.rows(at)["converged"] & 1, [False, True]),
            "link_class": grid(inside, CLASSES),
            "limit": grid(lambda at: np.zeros((at.stop - at.start, shape), dtype=np.uint8), [None]),
        }


class ResultWithFile(dict):
    """An entry of a record's `results` whose maps are in a separate file. A map is read when it is used."""

    def __init__(self, result: Mapping[str, Any], file: CellFile) -> None:
        super().__init__(result)
        self.file = file
        self.maps = {**file.maps(result["cells"]["statuses"]), "parts": {}}

    def __missing__(self, key: str) -> Any:
        return self.maps[key]


def attach(record: dict[str, Any], folder: Path) -> None:
    """Adds the maps to each result whose cells are in a separate file. folder: the folder of the record."""
    for number, result in enumerate(record["results"]):
        if "cells" in result:
            path = folder / ExternalCells(result).name
            file = CellFile(path, len(result["rows"]), node_indices(record, result["rows"]))
            record["results"][number] = ResultWithFile(result, file)


def node_indices(record: Mapping[str, Any], labels: Sequence[str]) -> np.ndarray:
    """The index of the node of each endpoint. A label that is not the label of a device is the name of a node."""
    node = {device["label"]: device["node"] for device in record.get("devices", [])}
    index: dict[str, int] = {}
    return np.array([index.setdefault(node.get(label, label), len(index)) for label in labels])


def header_end(file: BinaryIO, endpoints: int) -> int:
    """The byte position of the first cell. Raises ValueError for an array of another type or shape."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"the version of its NumPy format is {version}, not (1, 0)")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype != CELL or by_column:
        raise ValueError(f"its cells have the type {dtype}")
    if shape != (endpoints, endpoints):
        raise ValueError(f"its shape is {shape}, but the record has {endpoints} endpoints")
    return file.tell()
