"""Each command, name and file on the page "Coming from another program" exists."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from linkmatrix.references import published

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "coming-from.md").read_text(encoding="utf-8")
DOCUMENTS = PAGE[PAGE.index("\n## Documents") :]
ROWS = [re.split(r"\s+\|\s+", line.strip("| ")) for line in DOCUMENTS.splitlines() if line.startswith("| ")]
PROGRAM = re.compile(r"`(?:mpirun [^`]*)?((?:p2p_matrix|collective_perf|nbody_scaling)\b[^`]*)`")
CASES = json.loads((REPOSITORY / "checks" / "testcases.json").read_text(encoding="utf-8"))
COLLECTIVES = json.loads((REPOSITORY / "tests/data/h200x2_collectives.record.json").read_text(encoding="utf-8"))
TESTCASES = {case["name"] for case in CASES} | {result["testcase"] for result in COLLECTIVES["results"]}
SOURCES = {"p2p_matrix": "src/p2p", "collective_perf": "src/collective", "nbody_scaling": "src/nbody"}


def sources(program):
    """The text of the source files that can define an option of a program."""
    folders = [REPOSITORY / SOURCES[program], REPOSITORY / "src" / "core", REPOSITORY / "src" / "program"]
    files = [file for folder in folders for file in folder.rglob("*.?pp")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("command", PROGRAM.findall(DOCUMENTS))
def test_options_and_test_cases_exist(command):
    program, *words = command.split()
    text = sources(program)
    for option in (word for word in words if word.startswith("--")):
        assert f'"{option}"' in text or f'"{option.removeprefix("--")}"' in text, option
    if "--testcase" in words:
        names = words[words.index("--testcase") + 1].split(",")
        assert {name for name in names if not name.isdigit()} <= TESTCASES


def test_the_suites_exist():
    known = {suite for case in CASES for suite in case["suites"]}
    assert set(re.findall(r"--suite ([a-z0-9-]+)", DOCUMENTS)) <= known


def test_the_published_systems_exist_and_none_is_left_out():
    named = set(re.findall(r"--against ([a-z0-9:-]+)`", DOCUMENTS)) - {"NAME"}
    assert named <= set(published.SYSTEMS)
    assert {name.split(":")[0] for name in published.SYSTEMS} == {name.split(":")[0] for name in named}


def test_the_checks_and_tags_exist():
    text = "\n".join(file.read_text(encoding="utf-8") for file in (REPOSITORY / "checks").glob("*.py"))
    assert [name for name in re.findall(r"-n (\w+)", DOCUMENTS) if f"class {name}(" not in text] == []
    assert [tag for tag in re.findall(r"-r -t (\w+)", DOCUMENTS) if f'"{tag}"' not in text] == []


def test_the_recorded_outputs_exist_and_are_tracked():
    tracked = subprocess.run(["git", "ls-files", "tests/data"], cwd=REPOSITORY, text=True, capture_output=True).stdout
    cells = [row[2] for row in ROWS if row[2] not in ("recorded output",) and not row[2].startswith("---")]
    files = [re.match(r"`([^`]+)`", cell)[1] for cell in cells if cell != "none"]
    assert files
    assert [file for file in files if f"tests/data/{file}\n" not in tracked] == []
