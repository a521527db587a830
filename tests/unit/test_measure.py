"""`make run`, which is scripts/measure: what it ends with is what `linkmatrix` says of the run.

ReFrame is played by a script here, as in test_acceptance.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def measure(machine, tmp_path):
    """A function that runs the script where the machine's ReFrame is that of PATH: (exit code, what it printed)."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "reframe").symlink_to(machine.reframe)
    (programs / "linkmatrix").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m linkmatrix "$@"\n')
    (programs / "linkmatrix").chmod(0o755)
    (machine.folder / "reports").mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "RFM_TIMESTAMP_DIRS": "played",  # as config/settings.py sets it
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "reports"),
    }

    def run(*options):
        command = [REPOSITORY / "scripts" / "measure", *options]
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=120, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return run


@pytest.mark.parametrize("of_reframe", ["0", "1"])
def test_a_machine_without_references_gets_no_verdict_whether_reframe_asked_for_them_or_not(
    machine, measure, of_reframe
):
    machine.lack_a_reference("gpu0->gpu1")
    (machine.folder / "code").write_text(of_reframe)
    code, out = measure()
    assert code == 3 and "1 test case: 1 NO VERDICT" in out
    assert "linkmatrix adopt --table NAME --write" in out and "before a part is replaced" not in out


def test_all_within_its_references_is_a_pass(machine, measure):
    machine.prepare("pass", "pass")
    code, out = measure()
    assert code == 0 and "2 test cases: 2 PASS" in out


def test_a_slow_cell_is_a_failure(machine, measure):
    machine.prepare("pass", off={(0, 1): 300.0})
    assert measure()[0] == 1


def test_an_exit_code_of_reframe_that_no_test_explains_is_no_verdict(machine, measure):
    machine.prepare("pass")
    (machine.folder / "code").write_text("1")
    code, out = measure()
    assert code == 3 and "ReFrame ended with 1" in out


def test_without_a_report_nothing_was_run(machine, measure):
    code, out = measure()
    assert code == 4 and "no check ran" in out


def test_an_option_that_reframe_refuses_is_bad_input(machine, measure):
    (machine.folder / "code").write_text("2")
    code, out = measure("--nosuch")
    assert code == 2 and "no check ran" not in out
