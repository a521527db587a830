"""What whoever interrupts a session of ReFrame sees."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class waiting(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable, executable_opts = "sleep", ["600"]
    sanity_patterns = sn.assert_true(1)
"""
LIMIT = 60  # seconds


def test_an_interrupt_ends_a_session_with_a_sentence_also_where_warnings_are_errors(tmp_path):
    (tmp_path / "check.py").write_text(CHECK)
    reframe = Path(sys.executable).with_name("reframe")
    command = [reframe if reframe.exists() else "reframe", "-C", "config/settings.py", "--system=this-machine"]
    command += ["-c", tmp_path / "check.py", "-r", "--warn-as-error"]
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "prefix")}
    where = {"cwd": REPOSITORY, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    session = subprocess.Popen(command, text=True, **where)
    until = time.monotonic() + LIMIT
    while not list(tmp_path.rglob("rfm_job.out")) and session.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    session.send_signal(signal.SIGINT)
    out = session.communicate(timeout=LIMIT)[0]
    assert "run session stopped: cancelled by user" in out
    assert "Traceback" not in out and session.returncode == 1
