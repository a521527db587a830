"""Reads the rows under a head line: only whole rows that cannot have shifted are believed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..record.names import Pair
from .table import Reading

MOST = 1e9  # the schema's maximum
LACKS = "the text lacks the row of"
MARKS = ("N/A", "x", "X", "-")


@dataclass
class Grid:
    """The believed rows of a table, {row: {column: word}}, and a sentence for each row that is not believed."""

    columns: list[str]
    rows: dict[str, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def words(self) -> dict[Pair, str]:
        """{(row, column): the word in the cell}."""
        return {
            (row, column): word
            for row, words in self.rows.items()
            for column, word in zip(self.columns, words, strict=True)
        }


def read_grid(
    reading: Reading,
    columns: list[str],
    row_label: Callable[[str, int], str | None],
    number: str,
    wanted: list[str],
    zero_is_mark: bool = False,
    by_place: Sequence[str] = (),
    split: Callable[[str], list[str] | None] = str.split,
) -> Grid:
    """The rows at the reading position, which is moved behind them.

    row_label: the first word of a line and the number of the row → the row's label, None for what is no row. number:
    the regular expression of a number as this program prints it, with its decimals. wanted: all rows, in order.
    zero_is_mark: 0.00 on the diagonal is "itself". by_place: not empty after the last call of row_label: labels say
    nothing, rows are known by their number only. split: a line → its words, of which a row's label is one; None for a
    line between two rows, which is no part of the table.
    """
    grid, seen = Grid(columns), []
    cell = re.compile(f"(?:{number})|" + "|".join(re.escape(mark) for mark in MARKS))
    while reading.at < len(reading.lines):
        words, number_of_line = split(reading.line()), reading.at + 1
        if words is None:
            reading.at += 1
            continue
        label = row_label(words[0], len(seen)) if words else None
        if label is None:
            break
        where = f"line {number_of_line}: row {label}"
        good = len(words) == len(columns) + 1 and all(cell.fullmatch(word) for word in words[1:])
        # without decimals nobody can tell whether the last number is whole
        good = good and not (reading.may_be_cut() and "." not in number)
        if not good:
            grid.faults.append(f"{where} does not fit its {len(columns)} columns: its cells are not believed")
        elif label in seen:
            grid.faults.append(f"{where} comes twice: its cells are not believed")
            grid.rows.pop(label, None)
        else:
            grid.rows[label] = words[1:]
        seen.append(label)
        reading.at += 1
    keep_in_order(grid, seen, wanted)
    if by_place and seen != wanted:
        grid.faults.append("rows that have no name of their own cannot be told apart: none of them is believed")
        grid.rows.clear()
    drop_shifted(grid, (*MARKS, "0.00") if zero_is_mark else MARKS)
    return grid


def keep_in_order(grid: Grid, seen: list[str], wanted: list[str]) -> None:
    """Rows come in the order of `wanted`, and none is missing; what breaks this is a fault."""
    for label in [label for label in grid.rows if label not in wanted]:
        grid.faults.append(f"row {label} is no endpoint of its table: its cells are not believed")
        del grid.rows[label]
    places = [wanted.index(label) for label in seen if label in wanted]
    if places != sorted(places):
        grid.faults.append("the rows are not in order: none of them is believed")
        grid.rows.clear()
    missing = [label for label in wanted if label not in seen]
    if missing:
        grid.faults.append(f"{LACKS} {', '.join(missing)}")


def drop_shifted(grid: Grid, marks: tuple[str, ...]) -> None:
    """A row of a square table whose diagonal is marked elsewhere has shifted."""
    marked = [row for row in grid.rows if row in grid.columns and on_diagonal(grid, row) in marks]
    if not marked:
        return
    for row in [row for row in grid.rows if row in grid.columns and row not in marked]:
        grid.faults.append(f"row {row} has a number on the diagonal, and others have none: its cells are not believed")
        del grid.rows[row]


def on_diagonal(grid: Grid, row: str) -> str:
    """The word in the cell of a row and the column of the same name."""
    return grid.rows[row][grid.columns.index(row)]


def numbers(
    words: dict[Pair, str], scale: float = 1.0, zero_applies: bool = True, no_path: str = "no-peer-access"
) -> dict[Pair, float | str]:
    """Cells as a record has them: numbers times `scale`, or a status word; the diagonal is left out where it is marked.

    zero_applies: a diagonal of 0.00 is one that was not measured, if False
    """
    cells: dict[Pair, float | str] = {}
    for (row, column), word in words.items():
        if word in MARKS:
            if row != column:
                cells[row, column] = no_path
            continue
        value = float(word) * scale
        if row == column and value == 0 and not zero_applies:
            continue
        cells[row, column] = float(f"{value:.9g}") if 0 < value <= MOST else "error"
    return cells


def turned(cells: dict[Pair, float | str]) -> dict[Pair, float | str]:
    """The same with rows and columns changed: of a program whose rows are destinations."""
    return {(column, row): value for (row, column), value in cells.items()}
