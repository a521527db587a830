"""`make test` ends with whether a test failed. The files for containers do what CI does on a bare Debian 12."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_programs import fake_program

CI = Path(__file__).resolve().parents[2] / ".ci"


@pytest.fixture
def make_test(tmp_path):
    """A function that runs .ci/test where there is no GoogleTest: (exit code, what it printed)."""
    shutil.copytree(CI, tmp_path / ".ci")
    tools = tmp_path / "tools"
    fake_program(tools / "python", "exit $ENDS")
    fake_program(tools / "g++", "exit 1")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CXX": "g++", "ENDS": "0"}
    environment.pop("LINKMATRIX_NO_SKIP", None)

    def run(part, *arguments, **variables):
        command = [tmp_path / ".ci" / "test", part, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**environment, **variables}, text=True, capture_output=True, timeout=60
        )
        return done.returncode, done.stdout.splitlines()

    return run


@pytest.mark.parametrize("part", ["first", "rest"])
def test_without_googletest_native_tests_are_named_as_not_run(make_test, part):
    code, lines = make_test(part)
    assert code == 0 and lines[-1] == "No test failed."
    assert any(line.startswith("NOT RUN: native tests") and "libgtest-dev" in line for line in lines)


def test_a_selection_is_named_as_one(make_test):
    assert make_test("first", "-k", "dots")[1][-1] == "No test failed of those that '-k dots' selects."


@pytest.mark.parametrize("variables", [{"ENDS": "1"}, {"LINKMATRIX_NO_SKIP": "1"}, {"ENDS": "5"}])
@pytest.mark.parametrize("part", ["first", "rest"])
def test_a_failure_and_no_test_at_all_and_in_ci_what_was_left_out_fail(make_test, part, variables):
    code, lines = make_test(part, **variables)
    assert code == 1 and "No test failed." not in lines


REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("Containerfile", "linkmatrix.def")
OF_A_CLONE = {"git", "ca-certificates"}  # which CI has before it begins


def text(name):
    return (REPOSITORY / "scripts" / "containers" / name).read_text(encoding="utf-8").replace("\\\n", " ")


def packages(name):
    return set(re.search(r"apt-get install -qy --no-install-recommends ([a-z0-9 .+-]+)", text(name))[1].split())


@pytest.mark.parametrize("name", FILES)
def test_what_it_installs_is_what_ci_installs(name):
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    known = {word for found in re.findall(r"packages\+?=\(([^)]*)\)", script) for word in found.split()}
    assert packages(name) - known == OF_A_CLONE
    assert {"python3-venv", "g++", "make", "libgtest-dev", "openmpi-bin"} <= packages(name)


def test_both_have_the_same():
    assert packages(FILES[0]) == packages(FILES[1])
    for name in FILES:
        assert "debian:12" in text(name) and "make build" in text(name) and "make .venv/.ready-test" in text(name)


def test_every_target_is_one_of_make():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("$(VENV)", ".venv")
    asked = {target for name in FILES for target in re.findall(r"\bmake (?!libgtest)([\w./-]+)", text(name))}
    assert {target for target in asked if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)} == set()


def test_what_a_clone_has_built_is_left_out_of_an_image():
    ignored = (REPOSITORY / ".containerignore").read_text(encoding="utf-8").split()
    assert {".venv", ".build", ".linkmatrix"} <= set(ignored)
