"""Every command in a text that a program prints is one that its parser takes. Examples of --help: test_cli.py."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from linkmatrix import cli, invocation

HOUSE = Path(cli.__file__).parent
#: A command of linkmatrix in a sentence: its words are options with values, paths and placeholders.
PRINTED = re.compile(
    rf"linkmatrix (?P<name>{'|'.join(invocation.COMMANDS)})\b"
    r"(?P<words>(?: (?:--?[\w-]*(?:=[\w\[\]-]+)?|[A-Z][A-Z:]+|[0-9]\w*|auto|slurm-exclude))*)"
)
#: Modules whose examples other tests type.
EXAMPLES = ("cli.py", "commands/init.py", "commands/note.py")


def texts(path):
    """(line number, text) of the strings of a module, without docstrings. {} stands for a value in an f-string."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for one in node.values}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr):
            parts.add(id(node.body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            values = (one.value if isinstance(one, ast.Constant) else "NAME" for one in node.values)
            yield node.lineno, "".join(map(str, values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def printed():
    """(place, command) of each command of linkmatrix in a string of the package."""
    for path in sorted({*HOUSE.rglob("*.py")} - {HOUSE / name for name in EXAMPLES}):
        for line, text in texts(path):
            for found in PRINTED.finditer(text):
                yield f"{path.relative_to(HOUSE)}:{line}", found


COMMANDS = [pytest.param(found, id=f"{place} {found['name']}") for place, found in printed()]


def test_the_commands_were_found():
    wanted = {"linkmatrix baseline", "linkmatrix measure --samples 31", "linkmatrix measure --wait-idle 600"}
    assert wanted <= {one.values[0][0] for one in COMMANDS}


@pytest.mark.parametrize("found", COMMANDS)
def test_a_printed_command_is_taken_by_its_parser(found):
    words = shlex.split(found["words"])
    if found["name"] not in ("init", "note"):  # names of commands in sentences: they take more than options
        assert cli.parser(found["name"]).parse_args([found["name"], *words]).command
