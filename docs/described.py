"""Generates tables of the checks and their variables, from ReFrame's description and from the sources."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    plain = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in plain)


#: A system with all features. On other systems, ReFrame does not describe checks that cannot run.
EVERYTHING = """
import runpy

site_configuration = runpy.run_path({settings!r})["site_configuration"]
everything = {{"name": "any", "features": ["gpu", "cuda", "mpi", "nccl", "crossnode", "rdma", "tcp"]}}
of_this = {{"scheduler": "local", "launcher": "local", "environs": ["any"]}}
site_configuration["environments"] = [{{**everything, "target_systems": ["any"]}}]
site_configuration["systems"] = [{{"name": "any", "hostnames": [".*"], "partitions": [{{**everything, **of_this}}]}}]
"""


def described() -> dict[str, list[dict[str, Any]]]:
    """{check: its tests} in ReFrame's description. Raises LookupError if ReFrame fails or leaves out a check."""
    beside = Path(sys.executable).with_name("reframe")
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings.py"
        settings.write_text(EVERYTHING.format(settings=str(REPOSITORY / "config" / "settings.py")), encoding="utf-8")
        command = [
            str(beside) if beside.exists() else "reframe",
            "-C",
            str(settings),
            "-c",
            "checks",
            "-R",
            "--describe",
        ]
        names = {"LINKMATRIX_NODES": "any"}  # without nodes, there is no sweep
        done = subprocess.run(
            command, cwd=REPOSITORY, env=os.environ | names, capture_output=True, text=True, timeout=300
        )
    if done.returncode != 0:
        raise LookupError(f"reframe --describe ended with {done.returncode}: {done.stderr[-500:]}")
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for test in json.loads(done.stdout[done.stdout.index("[\n") :]):
        found[test["@class"]].append(test)
    if missing := checks_of_sources() - found.keys():
        raise LookupError(f"ReFrame does not describe {', '.join(sorted(missing))} for a system with all features")
    return found


def checks() -> str:
    """A table of the checks: what they measure, and the features that they need."""

    def where(tests: list[dict[str, Any]]) -> str:
        asked = {word for test in tests for word in test["valid_systems"]}
        return " or ".join("any" if word in ("*", "any:any") else f"`{word}`" for word in sorted(asked))

    rows = [
        (
            f"`{name}`",
            tests[0]["descr"],
            str(len(tests)),
            ", ".join(sorted({tag for test in tests for tag in test["tags"]})),
            where(tests),
        )
        for name, tests in sorted(described().items())
    ]
    return table(("check", "measures", "test cases", "tags", "where"), rows)


class Variable(NamedTuple):
    """A variable of a check, which `-S` sets: its name, meaning, type and default."""

    name: str
    means: str
    type: str
    default: str


ROLE = re.compile(r":\w+:`([^`]*)`")
TYPES = {"typ.List[str]": "List[str]", "typ.Bool": "bool"}


def variable(definition: ast.Assign, above: list[str]) -> Variable:
    """Reads the definition of a variable. Raises LookupError without a comment.

    above: the lines before the definition, of which those with `#:` describe it. The line `:default:` replaces the
    value of the definition.
    """
    said: list[str] = []
    for line in reversed(above):
        if not line.strip().startswith("#:"):
            break
        said.insert(0, line.strip()[2:].strip())
    name, call = ast.unparse(definition.targets[0]), definition.value
    assert isinstance(call, ast.Call)
    means, _, default = " ".join(said).partition(":default:")
    if not means.strip():
        raise LookupError(f"the variable {name} of a check has no comment with #: above it")
    value = next(f"`{ast.unparse(one.value)}`" for one in call.keywords if one.arg == "value")
    texts = [ROLE.sub(r"`\1`", text.strip()).replace("``", "`") for text in (means, default or value)]
    kind = ast.unparse(call.args[0])
    return Variable(name, texts[0], f"`{TYPES.get(kind, kind)}`", texts[1])


class Class(NamedTuple):
    """A class of the checks: the names of its bases, its variables, and whether it is a ReFrame test."""

    bases: list[str]
    variables: list[Variable]
    is_test: bool


def classes() -> dict[str, Class]:
    """{name: class} of the classes in checks/."""
    found = {}
    for file in sorted((REPOSITORY / "checks").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        later = re.findall(r"^ +rfm\.simple_test\((\w+)\)", text, re.MULTILINE)
        for one in (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)):
            tests = [name for name in map(ast.unparse, one.decorator_list) if name.endswith("simple_test")]
            found[one.name] = Class(
                [ast.unparse(base).rpartition(".")[2] for base in one.bases],
                [
                    variable(line, text.splitlines()[: line.lineno - 1])
                    for line in one.body
                    if isinstance(line, ast.Assign) and ast.unparse(line.value).startswith("variable(")
                ],
                bool(tests) or one.name in later,
            )
    return found


def checks_of_sources() -> set[str]:
    """The names of all checks."""
    return {name for name, one in classes().items() if one.is_test}


def settable() -> dict[Variable, set[str]]:
    """{variable: the checks that have it}, from the sources."""
    known, found = classes(), defaultdict(set)

    def line_of(name: str) -> Iterator[str]:
        yield name
        for base in known[name].bases if name in known else ():
            yield from line_of(base)

    for check in [*sorted(checks_of_sources()), "build_linkmatrix"]:
        for one in (one for name in line_of(check) if name in known for one in known[name].variables):
            found[one].add(check)
    return found


MOST_NAMED = 4  # checks, in a cell of a table


def variables() -> str:
    """A table of the variables that `-S CHECK.NAME=VALUE` sets, without variables that checks set themselves."""
    found = sorted((one.name, one, checks) for one, checks in settable().items() if "set by" not in one.default)
    every = {check for _, _, checks in found for check in checks}

    def said(checks: set[str]) -> str:
        few = [f"`{name}`" for name in sorted(checks)]
        if len(few) <= MOST_NAMED:
            return ", ".join(few)
        left = sorted(every - checks - {"build_linkmatrix"})
        if len(left) <= MOST_NAMED:
            return "all" + (f" but {', '.join(f'`{name}`' for name in left)}" if left else "")
        return ", ".join(few[: MOST_NAMED - 1]) + f" and {len(few) - MOST_NAMED + 1} more"

    rows = [(f"`{name}`", one.means, one.type, one.default, said(checks)) for name, one, checks in found]
    return table(("variable", "meaning", "type", "default", "checks"), rows)
