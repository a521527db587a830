"""The table of faults is true: its tests are there, and its sentences are those of the sources."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent
ANYTHING = "…"  # what differs from case to case
#: code → how a test says that it was this one
SAID_BY = {
    "0": r"== 0\b|\.out\((?!.*code=)|PASS",
    "1": r"(==|code=) ?1\b|FAIL|!= 0|failed_because",
    "2": r"== 2\b|\.err\((?!.*code=)|BadInput|refus",
    "3": r"(==|code=) ?3\b|INCOMPLETE|DISTURBED",
    "4": r"(==|code=) ?4\b|OSError|CANNOT|SystemExit",
}
FAULTS = 150  # a table from which rows vanish is no table of what was tried


class Row(NamedTuple):
    """A fault, as the README has it; `said` is "" where its sentence is in the test alone."""

    fault: str
    said: str
    code: str
    kept: str
    test: str


def rows() -> list[Row]:
    lines = (TESTS / "faults" / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [
        Row(row[0], row[1].strip("`"), row[2], row[3], row[4].strip("`"))
        for row in cells
        if row[0] != "fault" and not row[0].startswith("-")
    ]


@cache
def words() -> str:
    """Every text in the sources that tell something, one after the other."""
    told = []
    for folder in ("reports", "checks", "config"):
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            told += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for path in sorted((REPOSITORY / "src").rglob("*.[ch]*p*")):
        joined = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))  # as the compiler joins them
        told += re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)
    return "\n".join(text for text in told if isinstance(text, str))


@cache
def texts_in(file: Path) -> dict[str, str]:
    """Each test of a file and its text, with what it is parametrised by; of a native one `Suite.Name`."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".cpp":
        pieces = re.split(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", text, flags=re.MULTILINE)
        return {f"{suite}.{name}": body for suite, name, body in zip(*(pieces[at::3] for at in (1, 2, 3)), strict=True)}
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    lines = text.splitlines()
    first = {node.name: min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in found}
    return {node.name: "\n".join(lines[first[node.name] - 1 : node.end_lineno]) for node in found}


def test_the_table_is_whole():
    table = rows()
    assert len(table) >= FAULTS
    assert all(row.fault and row.kept and row.code in (*SAID_BY, "-") for row in table)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.fault)
def test_the_test_of_a_fault_is_there(row):
    file, _, name = row.test.partition("::")
    assert (TESTS / file).is_file() and name in texts_in(TESTS / file)


@pytest.mark.parametrize("row", [row for row in rows() if row.code != "-"], ids=lambda row: row.fault)
def test_the_code_of_a_fault_is_asserted_by_its_test(row):
    file, _, name = row.test.partition("::")
    assert re.search(SAID_BY[row.code], texts_in(TESTS / file)[name])


@pytest.mark.parametrize("row", [row for row in rows() if row.said], ids=lambda row: row.fault)
def test_the_sentence_of_a_fault_is_one_of_the_sources(row):
    pieces = [piece.strip() for piece in row.said.split(ANYTHING)]
    told = [piece for piece in pieces if len(piece) > 2]
    assert told, "a sentence of nothing that is always the same"
    assert not [piece for piece in told if piece not in words()]
