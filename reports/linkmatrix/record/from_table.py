"""A matrix out of a table of cells that a program printed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from . import grids
from .matrix import BODIES, FLAGS, MESSAGE_RATE, PERCENT, ROUNDS, STATUS_WORDS, UNITS, WORDS, Matrix, Pair


def from_rows(
    head: Mapping[str, Any], rows: Sequence[str], columns: Sequence[str], grid: Sequence[Sequence[float | str | None]]
) -> Matrix:
    """A matrix out of a grid of cells, None where one does not apply; `head` has testcase, title, unit, size_bytes
    and perhaps variant.

    Raises BadInput where the grid is ragged, for labels that repeat, an unknown unit or word, and a number that is not
    finite or is negative.
    """
    where = f"matrix '{head['testcase']}: {head['title']}'"
    if head["unit"] not in (*UNITS, PERCENT, MESSAGE_RATE, BODIES, ROUNDS, WORDS, FLAGS):
        raise BadInput(f"{where} has the unit '{head['unit']}': only {' and '.join(UNITS)} can be compared")
    for name, labels in (("row", rows), ("column", columns)):
        if not labels:
            raise BadInput(f"{where} has no {name}s: it was cut off")
        if len(set(labels)) != len(labels):
            raise BadInput(f"{where} has a {name} twice: {', '.join(labels)}")
    for row, cells in zip(rows, grid, strict=True):
        if len(cells) != len(columns):
            raise BadInput(f"{where}: row {row} has {len(cells)} cells, not {len(columns)}")
        for column, value in zip(columns, cells, strict=True):
            if value is not None:
                check_cell(where, (row, column), value, head["unit"])
    words = ("ok", *STATUS_WORDS)
    of_type = {type(None): lambda one: "not-applicable", str: str}
    status = [[of_type.get(type(one), lambda _: "ok")(one) for one in row] for row in grid]
    values = [[None if isinstance(one, str) else one for one in row] for row in grid]
    shape = (len(rows), len(columns))
    maps = {
        "values": grids.of_array(np.array(values, dtype=float).reshape(shape)),
        "status": grids.of_array(np.array([[words.index(one) for one in row] for row in status]).reshape(shape), words),
        "link_class": grids.of_array(np.zeros(shape, dtype=np.uint8), [""]),
    }
    return Matrix(rows=tuple(rows), columns=tuple(columns), maps=maps, **head)


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
