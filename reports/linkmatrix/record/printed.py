"""Reads the tables that programs print, line by line; a foreign program's parser is a further row of PARSERS."""

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import BadInput
from .from_table import from_rows
from .matrix import STATUS_WORDS, Matrix

# what rows and columns are: of a matrix, of what all ranks do together, and of a simulation
AXES = (
    "row = source, column = destination",
    "all ranks together, column = buffers",
    "all ranks together, column = left out",
    "all devices together, column = devices",
)
HEAD = re.compile(
    r"(?P<testcase>[a-z0-9_]+): (?P<title>[a-z0-9 _-]+) \((?P<unit>[^)]+)\), (?P<size_bytes>\d+) bytes"
    rf"(?P<variant>(?:, (?:offset \d+|\d+ blocks|\d+ threads|pageable|\d+ pairs?))*), (?:{'|'.join(AXES)})"
)
LARGE = re.compile(
    r"(?P<testcase>[a-z0-9_]+): (?P<title>[a-z0-9 _-]+) \((?P<unit>[^)]+)\), (?P<size_bytes>\d+) bytes, (?P<rows>\d+) x"
    r" (?P<columns>\d+) cells, in (?P<file>\S+)"
)
NUMBER = re.compile(r"-?\d+\.\d+")
NOT_APPLICABLE = "-"
RESULT = re.compile(r"Result: (PASS|FAIL|ERROR|TIMEOUT)")
# what may stand under a table: its summary, where it has none the schedule, and under a part an empty line
SUMMARY = re.compile(r"min (?P<min>[\d.]+)  median [\d.]+  max (?P<max>[\d.]+)  sum (?P<sum>[\d.]+)")
SCHEDULE = re.compile(r"\d+ rounds?, \d+ pairs? at once; .*")

Lines = Iterator[tuple[int, str]]


def p2p_matrix(text: str) -> list[Matrix]:
    """The measured tables of p2p_matrix's standard output, in its order.

    Raises BadInput, naming the line, for a table that is cut off, ragged or holds what is no cell, for one that comes
    twice or has lost a row, and for a text that does not end with the program's own result.
    """
    result_of(text)
    matrices: list[Matrix] = []
    lines = iter(list(enumerate(text.splitlines(), start=1)))
    for number, line in lines:
        head = HEAD.fullmatch(line)
        if head is None:
            if any(axes in line for axes in AXES) and " bytes, " in line:
                raise BadInput(f"line {number}: '{line[:80]}' is no head line of a table of p2p_matrix")
            continue
        matrix, under = read_table(head, number, lines)
        same_case = [other for other in matrices if measured_as(other) == measured_as(matrix)]
        if any(other.title == matrix.title for other in same_case):
            raise BadInput(f"line {number}: the table '{matrix.testcase}: {matrix.title}' comes twice")
        if same_case:
            check_part(f"line {number}", matrix, same_case[0])
        else:
            check_summary(f"line {number}", matrix, under)
        matrices.append(matrix)
    return matrices


class LargeHead(NamedTuple):
    """What stands in place of a table of a matrix that no screen holds: `file` has its cells."""

    testcase: str
    title: str
    unit: str
    size_bytes: int
    endpoints: int
    file: str


def p2p_matrix_large(text: str) -> list[LargeHead]:
    """The matrices of p2p_matrix's standard output whose cells are in a file, in its order.

    Raises BadInput for a text that does not end with the program's own result, and for another shape than a square.
    """
    result_of(text)
    heads = []
    for number, line in enumerate(text.splitlines(), start=1):
        head = LARGE.fullmatch(line)
        if head is None:
            continue
        if head["rows"] != head["columns"]:
            raise BadInput(f"line {number}: {head['rows']} x {head['columns']} cells in a file are no square")
        described = (head[name] for name in ("testcase", "title", "unit"))
        heads.append(LargeHead(*described, int(head["size_bytes"]), int(head["rows"]), head["file"]))
    return heads


def measured_as(matrix: Matrix) -> tuple[str, int, str]:
    """What a test case was asked: the tables of one measurement have it in common."""
    return matrix.testcase, matrix.size_bytes, matrix.variant


def result_of(text: str) -> str:
    """PASS, FAIL, ERROR or TIMEOUT: the last line. Raises BadInput where the output was cut off before it."""
    last = text.rstrip().rpartition("\n")[2]
    found = RESULT.fullmatch(last)
    if found is None or not text.endswith("\n"):
        raise BadInput(f"the output is cut off: its last line is '{last[:80]}', not 'Result: …'")
    return found[1]


def read_table(head: re.Match[str], number: int, lines: Lines) -> tuple[Matrix, str]:
    """The table under a head line, and the line that ends it: any other that is no row is refused."""
    columns = next(lines, (number + 1, ""))[1].split()
    if not columns:
        raise BadInput(f"line {number + 1}: the table '{head['testcase']}: {head['title']}' has no columns")
    rows: list[str] = []
    grid: list[list[float | str | None]] = []
    for at, line in lines:
        if not line or SUMMARY.fullmatch(line) or SCHEDULE.fullmatch(line):
            break
        if line.startswith("(first "):
            raise BadInput(f"line {at}: not all rows and columns were printed: read the record, or --max-display more")
        words = line.split()
        if len(words) != len(columns) + 1 or not all(is_cell(word) for word in words[1:]):
            raise BadInput(f"line {at}: '{line[:80]}' does not fit the {len(columns)} columns of its table")
        rows.append(words[0])
        grid.append([cell(word) for word in words[1:]])
    described = {name: head[name] for name in ("testcase", "title", "unit", "variant")}
    try:
        return from_rows({**described, "size_bytes": int(head["size_bytes"])}, rows, columns, grid), line
    except BadInput as error:
        raise BadInput(f"line {number}: {error}") from None


def check_summary(where: str, matrix: Matrix, under: str) -> None:
    """Minimum, maximum and sum under a table are those of its cells: no row was lost, and no digit.

    All are rounded, so a sum may be off by half of its last digit, and by as much for each cell. Raises BadInput
    beginning with `where`.
    """
    name = f"{where}: the table '{matrix.testcase}: {matrix.title}'"
    said, numbers = SUMMARY.fullmatch(under), list(matrix.numbers.values())
    if (said is None) != (not numbers):
        raise BadInput(f"{name} has {len(numbers)} numbers and {'no' if said is None else 'a'} summary: it was cut off")
    if said is None:
        return
    if not all(NUMBER.fullmatch(number) for number in said.groups()):
        raise BadInput(f"{name} has the summary '{under[:80]}', which is not of numbers")
    last_digit = 10.0 ** -len(said["sum"].partition(".")[2])
    off = abs(float(said["sum"]) - math.fsum(numbers))
    extremes = (float(said["min"]), float(said["max"]))
    if extremes != (min(numbers), max(numbers)) or off > last_digit / 2 * (len(numbers) + 1.5):
        raise BadInput(f"{name} does not fit its summary '{under[:80]}': a row or a digit was lost")


def check_part(where: str, part: Matrix, values: Matrix) -> None:
    """A further table of a test case has the cells of its first. Raises BadInput beginning with `where`."""
    if (part.rows, part.columns) != (values.rows, values.columns):
        raise BadInput(
            f"{where}: the table '{part.testcase}: {part.title}' has other rows or columns than '{values.title}':"
            " a row was lost"
        )


def is_cell(word: str) -> bool:
    """Can `word` stand in a table?"""
    return word == NOT_APPLICABLE or word in STATUS_WORDS or NUMBER.fullmatch(word) is not None


def cell(word: str) -> float | str | None:
    """The number or status word of a cell; None for one that does not apply."""
    if word == NOT_APPLICABLE:
        return None
    return word if word in STATUS_WORDS else float(word)


#: Name of a program → its parser: text → matrices.
PARSERS: dict[str, Callable[[str], list[Matrix]]] = {"p2p_matrix": p2p_matrix}
