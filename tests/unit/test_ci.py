"""`make test`, which is .ci/test, ends with whether a test failed. A script plays pytest."""

import os
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
