"""The commands that outputs print are found by the shell that prints them, and their parser takes them."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fake_programs import fake_program

from linkmatrix import cli, invocation

REPOSITORY = Path(__file__).resolve().parents[2]
BUILT = invocation.built_programs


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A folder with a virtual environment, as that of a process with this command line and search path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(invocation.VARIABLE, raising=False)
    monkeypatch.setattr(invocation, "built_programs", BUILT)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    for name in ("linkmatrix", "reframe", "mpirun"):
        fake_program(tmp_path / ".venv" / "bin" / name)

    def started(called, *path):
        monkeypatch.setattr(sys, "argv", [str(called)])
        monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", *map(str, path)]))

    return started


def test_the_commands_are_those_of_linkmatrix():
    assert sorted(invocation.COMMANDS) == sorted(cli.COMMANDS)


def test_a_clone_whose_environment_is_not_activated_is_called_by_path(shell, tmp_path):
    for called in (".venv/bin/linkmatrix", tmp_path / ".venv" / "bin" / "linkmatrix"):
        shell(called)
        assert invocation.linkmatrix_command() == ".venv/bin/linkmatrix"
    said = invocation.runnable("run 'linkmatrix show', reframe -l and mpirun -n 2; linkmatrix measures links")
    assert said == "run '.venv/bin/linkmatrix show', .venv/bin/reframe -l and .venv/bin/mpirun -n 2;" + (
        " linkmatrix measures links"
    )


def test_a_path_with_spaces_is_one_word(shell, tmp_path):
    fake_program(tmp_path / "a b" / "linkmatrix")
    shell(tmp_path / "a b" / "linkmatrix")
    assert invocation.runnable("linkmatrix show") == "'a b/linkmatrix' show"


def test_an_activated_environment_a_site_and_a_container_are_called_by_name(shell, tmp_path):
    folder = tmp_path / ".venv" / "bin"
    for called in (".venv/bin/linkmatrix", folder / "linkmatrix"):
        shell(called, folder)
        assert invocation.runnable("linkmatrix show; reframe -l") == "linkmatrix show; reframe -l"
    (tmp_path / "site").mkdir()
    os.chdir(tmp_path / "site")
    shell(folder / "linkmatrix")
    assert invocation.runnable("linkmatrix show") == f"{folder}/linkmatrix show"


def test_a_module_is_called_as_a_module(shell, tmp_path):
    shell(REPOSITORY / "reports" / "linkmatrix" / "__main__.py", Path(sys.executable).parent / "none")
    said = invocation.runnable("linkmatrix show")
    assert said.endswith(" -m linkmatrix show") and said.count(" -m ") == 1
    assert invocation.runnable(said) == said  # a text may pass here twice
    wrapped = said.replace(" -m linkmatrix", " -m\n  linkmatrix")
    assert invocation.runnable(wrapped) == wrapped
    shell(REPOSITORY / "reports" / "linkmatrix" / "__main__.py", tmp_path / ".venv" / "bin")
    assert invocation.runnable("linkmatrix show") == "linkmatrix show"


def test_a_program_is_the_newest_that_was_built(shell, tmp_path, monkeypatch):
    shell(".venv/bin/linkmatrix")
    assert invocation.runnable("p2p_matrix --soak") == "p2p_matrix --soak"  # none was built
    for number, name in enumerate(("old", "new")):
        fake_program(tmp_path / ".build" / name / "p2p_matrix")
        os.utime(tmp_path / ".build" / name / "p2p_matrix", (number, number))
    assert invocation.runnable("(p2p_matrix --soak)") == "(.build/new/p2p_matrix --soak)"
    assert invocation.runnable("p2p_matrix measures; x/p2p_matrix --soak") == "p2p_matrix measures; x/p2p_matrix --soak"


def test_a_program_among_values_is_no_command():
    text = "--setvar=build_linkmatrix.programs=p2p_matrix,collective_perf --setvar=x=nbody_scaling -r"
    assert invocation.runnable(text) == text


def test_make_run_calls_it_with_the_search_path_of_the_shell():
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", "setup", "run", "ARGS=-n a"],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "PATH='/usr/bin:/bin' .venv/bin/linkmatrix measure -- -n a"


def test_the_container_has_the_commands_on_its_search_path():
    folder = REPOSITORY / "scripts" / "containers"
    assert "ENV PATH=/opt/linkmatrix/.venv/bin:$PATH" in (folder / "Containerfile").read_text().splitlines()
    definition = (folder / "linkmatrix.def").read_text()
    assert "%environment\n    export PATH=/opt/linkmatrix/.venv/bin:$PATH" in definition


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
