"""Reads the rows below a header line, and keeps only complete rows that cannot have shifted."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..record.names import Pair
from .table import Reading

MOST = 1e9  # the schema's maximum
MISSING_ROWS = "missing rows:"
MARKS = ("N/A", "x", "X", "-")


@dataclass
class Grid:
    """The valid rows of a table, and a sentence for each ignored row.

    rows: {label of the row: its words}. columns: the labels of the columns. faults: the sentences.
    """

    columns: list[str]
    rows: dict[str, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def words(self) -> dict[Pair, str]:
        """Returns {(row, column): word in the cell}."""
        return {
            (row, column): word
            for row, words in self.rows.items()
            for column, word in zip(self.columns, words, strict=True)
        }


def prefixed(testcase: str, faults: Sequence[str]) -> tuple[str, ...]:
    """The sentences in `faults`, each preceded by the name of the test case."""
    return tuple(f"{testcase}: {fault}" for fault in faults)


def row_number(word: str, _: int = 0) -> str | None:
    """The label of a row: the first word of a line, if the word is a number. None for other words."""
    return word if re.fullmatch(r"\d{1,5}", word) else None


def read_grid(
    reading: Reading,
    columns: list[str],
    row_label: Callable[[str, int], str | None],
    number: str,
    wanted: list[str],
    zero_is_mark: bool = False,
    unnamed: Sequence[str] = (),
    split: Callable[[str], list[str] | None] = str.split,
) -> Grid:
    """Read the rows at the reading position, and move the position behind the rows.

    row_label: a function of (first word of a line, index of the row). Returns the row's label. Returns None for a line
    that is not a row.
    number: the regular expression of a number, with the decimals that this program prints.
    wanted: the labels of all rows, in order.
    zero_is_mark: whether 0.00 on the diagonal means "does not apply".
    unnamed: a list to which `row_label` adds each row without a name. If a name is missing, the order must be correct.
    split: a function that returns the words of a line. The first word is the row's label. None for a separator.
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
        # without decimals, a cut number looks complete
        good = good and not (reading.may_be_cut() and "." not in number)
        if not good:
            grid.faults.append(f"{where} does not fit its {len(columns)} columns: the row is ignored")
        elif label in seen:
            grid.faults.append(f"{where} is repeated: the row is ignored")
            grid.rows.pop(label, None)
        else:
            grid.rows[label] = words[1:]
        seen.append(label)
        reading.at += 1
    keep_in_order(grid, seen, wanted)
    if unnamed and seen != wanted:
        grid.faults.append("rows without a name are out of order: all rows are ignored")
        grid.rows.clear()
    drop_shifted(grid, (*MARKS, "0.00") if zero_is_mark else MARKS)
    return grid


def keep_in_order(grid: Grid, seen: list[str], wanted: list[str]) -> None:
    """Compare the labels of the rows in the text with the expected labels.

    Missing, unknown and misplaced rows are faults. Unknown rows are removed. One misplaced row removes all rows.
    seen: the labels in the text, in order. wanted: the expected labels, in order.
    """
    for label in [label for label in grid.rows if label not in wanted]:
        grid.faults.append(f"row {label} is no endpoint of the table: the row is ignored")
        del grid.rows[label]
    places = [wanted.index(label) for label in seen if label in wanted]
    if places != sorted(places):
        grid.faults.append("the rows are out of order: all rows are ignored")
        grid.rows.clear()
    missing = [label for label in wanted if label not in seen]
    if missing:
        grid.faults.append(f"{MISSING_ROWS} {', '.join(missing)}")


def drop_shifted(grid: Grid, marks: tuple[str, ...]) -> None:
    """Remove shifted rows. A shifted row has a number on the diagonal, where other rows have a mark."""
    marked = [row for row in grid.rows if row in grid.columns and grid.rows[row][grid.columns.index(row)] in marks]
    if not marked:
        return
    for row in [row for row in grid.rows if row in grid.columns and row not in marked]:
        grid.faults.append(f"row {row} has a number on the diagonal, and other rows have none: the row is ignored")
        del grid.rows[row]


def floats(words: Iterable[str]) -> list[float]:
    """The numbers among the words of a table. Marks such as "N/A" are left out."""
    return [float(word) for word in words if word not in MARKS]


def numbers(
    words: dict[Pair, str], scale: float = 1.0, zero_applies: bool = True, no_path: str = "no-peer-access"
) -> dict[Pair, float | str]:
    """The cells of a record from the words of a table: a number times `scale`, or a status.

    Marks on the diagonal, such as "N/A", are left out.
    zero_applies: whether 0.00 on the diagonal is a value. Otherwise, 0.00 on the diagonal is left out.
    no_path: the status of a mark outside the diagonal.
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
        cells[row, column] = cell_of(value)
    return cells


def cell_of(value: float) -> float | str:
    """A value as a cell: the value rounded to nine digits, or "error" for an impossible value."""
    return float(f"{value:.9g}") if 0 < value <= MOST else "error"


def measured(cells: Mapping[Pair, float | str]) -> dict[Pair, float]:
    """The cells whose value is a number. Cells with a status are left out."""
    return {pair: value for pair, value in cells.items() if not isinstance(value, str)}


def transposed(cells: dict[Pair, float | str]) -> dict[Pair, float | str]:
    """The cells with rows and columns exchanged. In some programs, the rows of a table are the destinations."""
    return {(column, row): value for (row, column), value in cells.items()}
