"""Every block of commands in a document says who runs it: a test here, a test elsewhere, or nobody."""

import re
import shlex
from pathlib import Path

import pytest

from linkmatrix import cli

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    path
    for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("*/*.md"), *REPOSITORY.glob("[!.]*/*/*.md")])
    if not path.relative_to(REPOSITORY).parts[0].startswith(".")
]
MARK = re.compile(r"<!-- (?:shown|commands: (?P<name>[a-z-]+), run (?:(?P<here>here)|in (?P<file>\S+))) -->")
COMMANDS = {"", "sh", "bash", "console", "shell"}  # languages of blocks that somebody may type
#: a command of linkmatrix in a block, up to what is the shell's or a comment
TYPED = re.compile(r"(?:^|[;&|] *|[$] ?|next: |/)linkmatrix (?P<words>[a-z][^#;&|<>\n]*)", re.MULTILINE)
#: one in a sentence that has more than its name, which may stand for the command as such
NAMED = re.compile(rf"`(?:[$]?linkmatrix )?(?P<words>(?:{'|'.join(cli.COMMANDS)})\s[^`#;&|<>…]*)`")
#: an option that is named, which may stand without its value
OPTION = re.compile(r" --[a-z-]+`$")


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


def typed(text):
    """The words behind each `linkmatrix` of a document, in its blocks of commands and in its sentences."""
    parts = re.split(r"^```(.*)\n", text, flags=re.MULTILINE)
    for language, inside in zip(parts[1::4], parts[2::4], strict=True):
        if language in COMMANDS:
            yield from (shlex.split(found["words"]) for found in TYPED.finditer(inside))
    for sentences in parts[::4]:
        yield from (shlex.split(found["words"]) for found in NAMED.finditer(sentences) if not OPTION.search(found[0]))


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path.name != "CHANGELOG.md"],  # which names what is no more, too
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_each_command_that_a_document_has_is_taken(path, capsys):
    refused = []
    for words in typed(path.read_text(encoding="utf-8")):
        try:
            cli.parser(words[0]).parse_args(words)
        except SystemExit as end:
            if end.code:
                refused.append(f"linkmatrix {shlex.join(words)}: {capsys.readouterr().err.splitlines()[-1]}")
    assert refused == []


def test_commands_in_blocks_and_sentences_are_seen():
    sentences = "by `linkmatrix show x`, `adopt`, `adopt --table`, `adopt\n--runs 6`\n"
    text = f"{sentences}```sh\n$linkmatrix show; $linkmatrix run # b\n```\nend\n"
    assert list(typed(text)) == [["show"], ["run"], ["show", "x"], ["adopt", "--runs", "6"]]


def test_a_block_without_a_mark_is_seen():
    assert unmarked("text\n```sh\nmake\n```\n<!-- shown -->\n```\nout\n```\n\n```\nmake\n```\n") == [2, 10]
    assert unmarked("```diff\n-a\n+b\n```\n") == []
    assert unmarked("<!-- commands: x, run somewhere -->\n```sh\nmake\n```\n") == [2]
