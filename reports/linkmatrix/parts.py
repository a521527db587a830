"""A matrix whose cells are in a file beside its record, and parts of it as ordinary results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import large
from .cell_file import CellFile
from .evaluate import not_compared
from .grids import Grid
from .large import LargeMatrix, LargeVerdict
from .matrix import ClassSummary, Matrix, Pair, variant_of
from .record import WITH_VALUE
from .references import Reference

CLASSES = ("NET", "NODE")  # between nodes, inside one

Result = Mapping[str, Any]


@dataclass(frozen=True)
class HugeMatrix(Matrix):
    """A matrix of a checked record of whose cells the record has only summaries; `cells` is empty."""

    classes: Mapping[str, ClassSummary] = field(default_factory=dict)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Nothing: the record has been checked."""


def matrix_of(result: Result) -> HugeMatrix:
    """As matrix.from_result does."""
    names = ("measured", "min", "median", "max")
    return HugeMatrix(
        testcase=result["testcase"],
        title=result["quantity"],
        unit=result["unit"],
        size_bytes=result["size_bytes"],
        rows=tuple(result["rows"]),
        columns=tuple(result["columns"]),
        cells={},
        variant=variant_of(result),
        classes={one["link_class"]: ClassSummary(*(one[name] for name in names)) for one in result["cells"]["classes"]},
    )


@dataclass(frozen=True)
class PartMatrix(LargeMatrix):
    """Some rows of a huge matrix: what is usual in a link class is said by all of it."""

    classes: Mapping[str, ClassSummary] = field(default_factory=dict)  # type: ignore[assignment]


@dataclass(frozen=True)
class Expected:
    """What cells are held against: references of cells and of classes, out of a table."""

    of_cell: Mapping[Pair, Reference]
    of_class: Mapping[str, Reference]
    name: str | None


@dataclass(frozen=True)
class Source:
    """Where the cells of a result are: its file, the node of each endpoint as an index, and what they should be."""

    result: Result
    file: CellFile
    node: np.ndarray
    expected: Expected

    def part(self, cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> dict[str, Any]:
        """An ordinary result of some of the cells."""
        result = {name: value for name, value in self.result.items() if name != "cells"}
        words = self.result["cells"]["statuses"]
        known = np.array([word in WITH_VALUE for word in words], dtype=bool)[cells["status"]]

        def number(name: str) -> Grid:
            found = np.where(known, cells[name].astype(float), np.nan)
            return Grid(lambda: found, None)

        def of_words(codes: np.ndarray, said: Any) -> Grid:
            return Grid(lambda: codes, said)

        nothing = np.zeros(cells.shape, dtype=np.uint8)
        inside = (self.node[rows][:, None] == self.node[columns][None, :]).astype(np.uint8)
        return {
            **result,
            # as evaluate.not_compared: where one cell says that it is corrupt, the others say that they are not
            "verified": result["verified"] if result["verified"] is None else not not_compared(self.result),
            "rows": [self.result["rows"][at] for at in rows],
            "columns": [self.result["columns"][at] for at in columns],
            "status": of_words(cells["status"], words),
            **{name: number(name) for name in ("low", "high")},
            "values": number("value"),
            "samples": of_words(np.where(known, 1, 0), [0, 1]),
            "converged": of_words(cells["converged"] & 1, [False, True]),
            "link_class": of_words(inside, CLASSES),
            "limit": of_words(nothing, [None]),
            "parts": {},
        }

    def judge(self, part: Result) -> LargeVerdict:
        """The verdicts on a part."""
        rows, columns = set(part["rows"]), set(part["columns"])
        of_cell = {pair: one for pair, one in self.expected.of_cell.items() if pair[0] in rows and pair[1] in columns}
        found = large.matrix_of(part, None)
        classes = matrix_of(self.result).classes
        matrix = PartMatrix(**{**vars(found), "classes": classes})
        return large.judge(part, matrix, of_cell, self.expected.of_class, self.expected.name)


def nodes_of(record: Mapping[str, Any], labels: Sequence[str]) -> np.ndarray:
    """The node of each endpoint, as an index; an endpoint that is no device is a node itself."""
    node = {device["label"]: device["node"] for device in record.get("devices", [])}
    index: dict[str, int] = {}
    return np.array([index.setdefault(node.get(label, label), len(index)) for label in labels])
