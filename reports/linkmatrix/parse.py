"""Reads the tables that programs print, line by line; a foreign program's parser is a further row of PARSERS."""

import re
from collections.abc import Callable, Iterator

from .errors import BadInput
from .matrix import STATUS_WORDS, Matrix, from_rows

HEAD = re.compile(
    r"(?P<testcase>[a-z0-9_]+): (?P<title>[a-z0-9 _-]+) \((?P<unit>[^)]+)\), (?P<size_bytes>\d+) bytes,"
    r" row = source, column = destination"
)
NUMBER = re.compile(r"\d+\.\d+")
NOT_APPLICABLE = "-"
RESULT = re.compile(r"Result: (PASS|FAIL|ERROR|TIMEOUT)")

Lines = Iterator[tuple[int, str]]


def p2p_matrix(text: str) -> list[Matrix]:
    """The measured tables of p2p_matrix's standard output, in its order.

    Raises BadInput, naming the line, for a table that is cut off, ragged or holds what is no cell, for a table that
    comes twice, and for a text that does not end with the program's own result.
    """
    result_of(text)
    matrices: list[Matrix] = []
    lines = iter(list(enumerate(text.splitlines(), start=1)))
    for number, line in lines:
        head = HEAD.fullmatch(line)
        if head is None:
            if "row = source, column = destination" in line and " bytes, " in line:
                raise BadInput(f"line {number}: '{line[:80]}' is no head line of a table of p2p_matrix")
            continue
        matrix = read_table(head, number, lines)
        if any((m.testcase, m.title) == (matrix.testcase, matrix.title) for m in matrices):
            raise BadInput(f"line {number}: the table '{matrix.testcase}: {matrix.title}' comes twice")
        matrices.append(matrix)
    return matrices


def result_of(text: str) -> str:
    """PASS, FAIL, ERROR or TIMEOUT: the last line. Raises BadInput where the output was cut off before it."""
    last = text.rstrip().rpartition("\n")[2]
    found = RESULT.fullmatch(last)
    if found is None or not text.endswith("\n"):
        raise BadInput(f"the output of p2p_matrix is cut off: its last line is '{last[:80]}', not 'Result: …'")
    return found[1]


def read_table(head: re.Match[str], number: int, lines: Lines) -> Matrix:
    """The table under a head line, up to the first line that is not one of its rows."""
    columns = next(lines, (number + 1, ""))[1].split()
    if not columns:
        raise BadInput(f"line {number + 1}: the table '{head['testcase']}: {head['title']}' has no columns")
    rows: list[str] = []
    grid: list[list[float | str | None]] = []
    # A matrix of pairs has as many rows as columns; others end where a line does not begin with a label.
    for at, line in lines:
        words = line.split()
        if len(words) != len(columns) + 1 or not all(is_cell(word) for word in words[1:]):
            if line.startswith("(first "):
                raise BadInput(
                    f"line {at}: not all rows and columns were printed: read the record, or --max-display more"
                )
            if words and is_cell(words[-1]) and not line.startswith("min "):
                raise BadInput(f"line {at}: '{line[:80]}' does not fit the {len(columns)} columns of its table")
            break
        rows.append(words[0])
        grid.append([cell(word) for word in words[1:]])
    described = {"testcase": head["testcase"], "title": head["title"], "unit": head["unit"]}
    try:
        return from_rows({**described, "size_bytes": int(head["size_bytes"])}, rows, columns, grid)
    except BadInput as error:
        raise BadInput(f"line {number}: {error}") from None


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
