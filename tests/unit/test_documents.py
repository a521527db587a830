"""Every block of commands in a document says who runs it: a test here, a test elsewhere, or nobody."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    path
    for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("*/*.md"), *REPOSITORY.glob("[!.]*/*/*.md")])
    if not path.relative_to(REPOSITORY).parts[0].startswith(".")
]
MARK = re.compile(r"<!-- (?:shown|commands: (?P<name>[a-z-]+), run (?:(?P<here>here)|in (?P<file>\S+))) -->")
COMMANDS = {"", "sh", "bash", "console", "shell"}  # languages of blocks that somebody may type


def blocks(text):
    """(line number, language, the line before) of each fenced block."""
    inside, before = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if not inside:
                yield number, line[3:].strip(), before
            inside = not inside
        before = line


def unmarked(text):
    """The line numbers of blocks of commands that say nothing of who runs them."""
    return [number for number, language, mark in blocks(text) if language in COMMANDS and not MARK.fullmatch(mark)]


def marks(path):
    """Each mark of a document that is more than 'shown'."""
    found = (MARK.fullmatch(mark) for _, _, mark in blocks(path.read_text(encoding="utf-8")))
    return [mark for mark in found if mark and mark["name"]]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_each_block_of_commands_says_who_runs_it(path):
    assert unmarked(path.read_text(encoding="utf-8")) == [], f"{path}: put '<!-- shown -->' or more before it"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_who_runs_a_block_names_it(path):
    document = path.relative_to(REPOSITORY)
    for mark in marks(path):
        file = REPOSITORY / (mark["file"] or "tests/integration/test_documents.py")
        assert f"{document}, commands: {mark['name']}" in file.read_text(encoding="utf-8"), f"{file}: {mark[0]}"


def test_a_block_without_a_mark_is_seen():
    assert unmarked("text\n```sh\nmake\n```\n<!-- shown -->\n```\nout\n```\n\n```\nmake\n```\n") == [2, 10]
    assert unmarked("```diff\n-a\n+b\n```\n") == []
    assert unmarked("<!-- commands: x, run somewhere -->\n```sh\nmake\n```\n") == [2]
