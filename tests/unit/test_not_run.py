"""`make test` ends with what it did not run, and why: .ci/test and .ci/not_run, with programs that a test plays."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"
#: what ctest 3.25 wrote of GoogleTest's GTEST_SKIP, of a test that passed, and of a program that was not there
OF_CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="3" failures="0" disabled="0" skipped="2" hostname="" time="0">
  <testcase name="a" classname="a" time="0.0087" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>/src/t.cpp:12: Skipped
no two GPUs

[  SKIPPED ] A.b (0 ms)
</system-out>
  </testcase>
  <testcase name="b" classname="b" time="0.0016" status="run"><system-out></system-out></testcase>
  <testcase name="d" classname="d" time="0" status="notrun">
    <skipped message="Unable to find executable"/>
  </testcase>
</testsuite>
"""
TESTS = """import pytest
@pytest.mark.parametrize("number", range(3))
def test_of_a_lab(number):
    pytest.skip("no Slurm here: apt install slurm-wlm")
@pytest.mark.skipif(True, reason="no GPU")
def test_of_gpus(): ...
def test_that_runs(): ...
"""


def not_run(*files):
    done = subprocess.run([sys.executable, CI / "not_run", *files], text=True, capture_output=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


def test_what_was_skipped_is_counted_by_its_reason_the_most_frequent_first(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "ctest.xml").write_text(OF_CTEST)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=pytest.xml", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    assert not_run(tmp_path / "pytest.xml", tmp_path / "ctest.xml") == (
        0,
        [
            "NOT RUN: 3 tests, because no Slurm here: apt install slurm-wlm",
            "NOT RUN: 1 test, because no GPU",
            "NOT RUN: 1 test, because no two GPUs",
            "NOT RUN: 1 test, because Unable to find executable",
            "2 tests passed, 6 not run",
        ],
    )


@pytest.mark.parametrize("content", [None, "<testsuites><testsu", "<testsuites/>"])
def test_without_a_test_that_passed_nothing_is(tmp_path, content):
    if content is not None:
        (tmp_path / "pytest.xml").write_text(content)
    code, lines = not_run(tmp_path / "pytest.xml")
    assert code == 1 and len(lines) == 1


#: plays `python -m pytest`: a test that passes, and of the unit tests another that is skipped
PYTEST = """#!/bin/sh
for word; do case $word in --junitxml=*) file=${word#*=};; esac; done
case $file in
  */unit.xml) more='<testcase name="b"><skipped message="no dot here">t.py:3: no dot here</skipped></testcase>';;
  *) more=;;
esac
echo "<testsuites><testsuite><testcase name='a'/>$more</testsuite></testsuites>" > "$file"
exit ${FAILS:-0}
"""


@pytest.fixture
def make_test(tmp_path):
    """A function that runs .ci/test where there is no GoogleTest: (exit code, what it printed)."""
    shutil.copytree(CI, tmp_path / ".ci")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").write_text(PYTEST)
    (tools / "g++").write_text("#!/bin/sh\nexit 1\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CXX": "g++"}
    environment.pop("LINKMATRIX_NO_SKIP", None)

    def run(*arguments, part="first", **variables):
        command = [tmp_path / ".ci" / "test", part, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**environment, **variables}, text=True, capture_output=True, timeout=60
        )
        return done.returncode, done.stdout.splitlines()

    return run


@pytest.mark.parametrize(
    ("part", "counts"), [("first", "1 test passed, 1 not run"), ("rest", "2 tests passed, 1 not run")]
)
def test_the_last_lines_say_what_was_not_run_and_why(make_test, part, counts):
    code, lines = make_test(part=part)
    assert code == 0
    assert lines[-4:] == [
        "NOT RUN: 1 test, because no dot here",
        "NOT RUN: native tests, because GoogleTest is not installed (Debian: apt install libgtest-dev)",
        counts,
        "No test failed.",
    ]


def test_a_selection_is_named_as_one(make_test):
    assert make_test("-k", "dots")[1][-1] == "No test failed of those that '-k dots' selects."


@pytest.mark.parametrize("variables", [{"FAILS": "1"}, {"LINKMATRIX_NO_SKIP": "1"}])
def test_a_failure_and_in_ci_what_was_left_out_fail(make_test, variables):
    code, lines = make_test(**variables)
    assert code == 1 and lines[-1].startswith("FAILED: ") and "No test failed." not in lines
