"""One matrix: a number, or the word that stands in its place, for every pair of a source and a destination."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .errors import BadInput

if TYPE_CHECKING:
    import pandas

UNITS = ("GB/s", "us")  # 1e9 bytes a second; microseconds
PERCENT = "%"  # of a further matrix: a share of the limit, or a loss, which noise may turn below zero
MESSAGE_RATE = "msg/s"  # of a further matrix
MOST_CELLS = 128 * 128  # that are worth an object each
STATUS_WORDS = ("not-applicable", "no-peer-access", "timeout", "error", "corrupt", "not-run")

Pair = tuple[str, str]  # source, destination


def lasting_names(testcase: str, labels: Sequence[str]) -> list[str]:
    """What references and performance variables call the endpoints `labels`, in their order.

    A job gets other nodes each time, so a rank "n17:gpu3" is "rank19", and of a matrix of nodes "n17" is "node2".
    """
    if testcase.startswith("node_to_node_"):
        return [f"node{number}" for number in range(len(labels))]
    return [f"rank{number}" if ":" in label else label for number, label in enumerate(labels)]


@dataclass(frozen=True)
class ClassSummary:
    """The measured cells of one link class, in the matrix's unit."""

    count: int
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Matrix:
    """A table of one test case. Rows are sources, columns destinations.

    cells: {(row, column): number in `unit`, or a word of STATUS_WORDS}. A pair that does not apply, such as the
    diagonal, is not in it. title: what a number is, "bandwidth", "sum of both directions", "one direction" …
    link_class: {(row, column): class}; empty where the source of the matrix does not say. variant: what else was asked
    for, ", 32 blocks"; the same test case may come in several, and in several sizes.

    Raises BadInput for labels that repeat, an unknown unit or word, a number that is not finite or is negative, and for
    cells outside of rows and columns.
    """

    testcase: str
    title: str
    unit: str
    size_bytes: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[Pair, float | str]
    link_class: Mapping[Pair, str] = field(default_factory=dict)
    variant: str = ""

    def __post_init__(self) -> None:
        where = f"matrix '{self.testcase}: {self.title}'"
        if self.unit not in (*UNITS, PERCENT, MESSAGE_RATE):
            raise BadInput(f"{where} has the unit '{self.unit}': only {' and '.join(UNITS)} can be compared")
        for name, labels in (("row", self.rows), ("column", self.columns)):
            if not labels:
                raise BadInput(f"{where} has no {name}s: it was cut off")
            if len(set(labels)) != len(labels):
                raise BadInput(f"{where} has a {name} twice: {', '.join(labels)}")
        for pair, value in self.cells.items():
            check_cell(where, pair, value, self.unit)
            if pair[0] not in self.rows or pair[1] not in self.columns:
                raise BadInput(f"{where} has a cell {pair[0]}->{pair[1]} outside of its rows and columns")

    @cached_property
    def numbers(self) -> dict[Pair, float]:
        """The cells that were measured."""
        return {pair: value for pair, value in self.cells.items() if not isinstance(value, str)}

    @cached_property
    def classes(self) -> dict[str, ClassSummary]:
        """Each link class with a summary of its measured cells, in the order in which they appear."""
        groups: dict[str, list[float]] = {}
        for pair, value in self.numbers.items():
            groups.setdefault(self.link_class.get(pair) or "unknown", []).append(value)
        return {
            name: ClassSummary(len(values), min(values), statistics.median(values), max(values))
            for name, values in groups.items()
        }

    def deviation(self, pair: Pair) -> float | None:
        """A cell's value over the median of its link class, less 1; None where it has no value."""
        value = self.numbers.get(pair)
        if value is None:
            return None
        middle = self.classes[self.link_class.get(pair) or "unknown"].median
        return value / middle - 1 if middle else None

    def frame(self) -> pandas.DataFrame:
        """The numbers as a DataFrame, rows × columns; NaN where there is none. Needs pandas."""
        import pandas

        numbers = self.numbers
        return pandas.DataFrame(
            [[numbers.get((row, column), math.nan) for column in self.columns] for row in self.rows],
            index=pandas.Index(self.rows, name="source"),
            columns=pandas.Index(self.columns, name="destination"),
        )


def check_cell(where: str, pair: Pair, value: Any, unit: str) -> None:
    """Raises BadInput for what can be no cell."""
    name = f"{where}: {pair[0]}->{pair[1]}"
    if isinstance(value, str):
        if value not in STATUS_WORDS:
            raise BadInput(f"{name} is '{value}', neither a number nor one of {', '.join(STATUS_WORDS)}")
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadInput(f"{name} is {value}, which nothing can measure")
    elif value < 0 and unit != PERCENT:
        raise BadInput(f"{name} is {value} {unit}, which nothing can measure")


def is_large(result: Mapping[str, Any]) -> bool:
    """Has a result so many cells that objects for each of them take too long, and is numpy here to do without?"""
    return len(result["rows"]) * len(result["columns"]) > MOST_CELLS and find_spec("numpy") is not None


def has_status(result: Mapping[str, Any], word: str) -> bool:
    """Does any cell have this status? The compact form knows without a look at the cells that none does."""
    if "cells" in result:
        return any(count and status == word for status, count in zip(*status_counts(result), strict=True))
    words = getattr(result["status"], "words", None)
    return (words is None or word in words) and any(word in row for row in result["status"])


def status_counts(result: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """(status words, cells of each) of a result whose cells are in a file."""
    return result["cells"]["statuses"], result["cells"]["counts"]


def from_result(result: Mapping[str, Any], part: str | None = None) -> Matrix:
    """The matrix of an entry of a record's `results`, or of one of its parts; the record has been checked."""
    if "cells" in result:
        from . import huge

        return huge.matrix_of(result)
    if is_large(result):
        from . import large

        return large.matrix_of(result, part)
    source = result if part is None else result["parts"][part]
    cells: dict[Pair, float | str] = {}
    classes: dict[Pair, str] = {}
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            status, value = result["status"][r][c], source["values"][r][c]
            if status == "not-applicable" or (status == "ok" and value is None):
                continue
            cells[row, column] = value if status == "ok" else status
            classes[row, column] = result["link_class"][r][c]
    return Matrix(
        testcase=result["testcase"],
        title=result["quantity"] if part is None else source["title"],
        unit=source["unit"],
        size_bytes=result["size_bytes"],
        rows=tuple(result["rows"]),
        columns=tuple(result["columns"]),
        cells=cells,
        link_class=classes,
        variant=variant_of(result),
    )


def variant_of(result: Mapping[str, Any]) -> str:
    """What was asked for beyond test case and size, as the program prints it: ", offset 4, 32 blocks"."""
    words = {"offset": "offset {}", "blocks": "{} blocks", "threads": "{} threads"}
    parts = [text.format(result[key]) for key, text in words.items() if result.get(key)]
    parts += ["pageable"] if result.get("host_pages") == "pageable" else []
    return "".join(f", {part}" for part in parts)


def from_rows(
    head: Mapping[str, Any], rows: Sequence[str], columns: Sequence[str], grid: list[list[float | str | None]]
) -> Matrix:
    """A matrix out of a grid of cells, None where one does not apply; `head` has testcase, title, unit, size_bytes
    and perhaps variant.

    Raises BadInput where the grid is ragged.
    """
    for row, cells in zip(rows, grid, strict=True):
        if len(cells) != len(columns):
            raise BadInput(
                f"matrix '{head['testcase']}: {head['title']}': row {row} has {len(cells)} cells, not {len(columns)}"
            )
    cells = {
        (row, column): value
        for row, line in zip(rows, grid, strict=True)
        for column, value in zip(columns, line, strict=True)
        if value is not None
    }
    return Matrix(rows=tuple(rows), columns=tuple(columns), cells=cells, **head)
