"""The table of SECURITY.md is true: each protection that it names is shown by a test that is there."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
THREATS = 24  # a table from which rows vanish is no table of what was tried


def rows():
    lines = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] != "attacker" and not row[0].startswith("-")]


def test_the_table_is_whole():
    assert len(rows()) >= THREATS
    assert all(len(row) == 4 and all(row) for row in rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[3])
def test_the_test_of_a_threat_is_there(row):
    file, _, name = row[3].strip("`").partition("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    if file.endswith(".py"):
        assert name in {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    else:
        assert "TEST" in text or "LLVMFuzzerTestOneInput" in text
