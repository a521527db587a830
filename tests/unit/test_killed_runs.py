"""A run that is ended, or killed, leaves no process and no lock, and the next one knows what it left."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone

import pytest

from linkmatrix import lock
from linkmatrix.runs import folders, missing_runs, supervise
from tests.tools import stores


def test_a_run_that_is_ended_leaves_no_lock_and_no_process(machine):
    (machine.folder / "wait").write_text("")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "linkmatrix", "run", "--reframe", str(machine.reframe)]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not (machine.folder / "command.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 4 and "no report" in out
    assert not list((machine.folder / "locks").glob("*.lock"))


def started(machine, *arguments):
    """`linkmatrix run` in a process of its own, and the number of ReFrame's process that it started."""
    (machine.folder / "wait").write_text("")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "linkmatrix", "run", "--reframe", str(machine.reframe), *arguments]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    deadline, pid = time.monotonic() + 60, machine.folder / "pid.txt"
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return child, int(pid.read_text())


def test_reframe_that_is_killed_leaves_no_verdict_and_can_be_run_again(machine):
    machine.prepare("pass")
    child, reframe = started(machine, "--mode", "quick")
    os.kill(reframe, signal.SIGKILL)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 4 and "ReFrame ended with -9 and wrote no report" in out
    assert not list((machine.folder / "locks").glob("*.lock"))
    (machine.folder / "wait").unlink()
    code, out = machine.run("--mode", "quick", "--resume")
    assert code == 0 and "the previous run left no report, so all is measured again" in out


def killed(machine, *arguments):
    """A run that is killed while ReFrame works; returns when ReFrame has ended too."""
    child, reframe = started(machine, *arguments)
    child.kill()
    child.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while lock.born(reframe) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lock.born(reframe)
    (machine.folder / "wait").unlink()


def test_a_run_that_was_killed_is_resumed_from_what_its_reframe_left(machine):
    machine.prepare("pass", "pass", "abort")
    (machine.folder / "aborts").write_text("")
    killed(machine, "--mode", "quick")
    (report,) = (machine.folder / "reports").glob("run-report-*.json")
    (machine.folder / "aborts").unlink()
    machine.run("--mode", "nightly")  # another run's report is newer
    code, out = machine.run("--mode", "quick", "--resume")
    assert f"the previous run was killed, but ReFrame wrote its report: {report.name}" in out
    assert "--exclude=/abc1" in machine.commands()[-1] and "--exclude=/abc2" not in machine.commands()[-1]


def test_a_run_that_was_killed_and_left_nothing_takes_no_other_runs_report(machine):
    machine.prepare("pass")
    machine.run("--mode", "nightly")
    killed(machine, "--mode", "quick")
    machine.run("--mode", "nightly")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "the previous run left no report, so all is measured again" in out
    assert "--exclude" not in machine.commands()[-1]


def test_a_killed_run_takes_reframe_with_it_and_its_lock_is_taken_over(machine):
    machine.prepare("pass")
    killed(machine)
    code, out = machine.run()
    assert code == 0 and "removed the lock of process" in out


@pytest.mark.parametrize(
    ("hours", "process", "ended"),
    [(2, {"pid": os.getpid()}, True), (25, {"host": "another"}, False)],
    ids=["another process has its pid", "another host may have a longer timeout"],
)
def test_a_run_without_a_report_has_ended_if_its_process_is_gone(tmp_path, hours, process, ended):
    (tmp_path / "runs").mkdir()
    ago = datetime.fromtimestamp(time.time() - hours * 3600, timezone.utc)
    stores.began(tmp_path, started=f"{ago:%Y-%m-%dT%H:%M:%SZ}", **process)
    assert bool(missing_runs.ended_without_report(tmp_path)) == ended


def test_a_run_writes_its_process_and_its_timeout_at_its_start(machine):
    machine.prepare("pass")
    killed(machine, "--timeout", "30")
    (run,) = missing_runs.ended_without_report(machine.folder)
    assert run.born.isdigit() and run.timeout == 30


def test_a_file_of_a_run_with_an_infinite_number_says_nothing_and_ends_no_command(tmp_path):
    file = tmp_path / "began-1.json"
    file.write_text('{"started": "2026-11-27T02:30:00Z", "mode": "quick", "system": "", "host": "h", "pid": 1e999}')
    assert missing_runs.read_start(file).mode == "unknown"


def test_a_report_with_an_infinite_start_has_no_known_start(tmp_path):
    file = tmp_path / "run-report-0.json"
    file.write_text('{"session_info": {"time_start_unix": ' + "9" * 400 + "}}")
    assert folders.session_time(file) == 0


def test_a_signal_right_after_the_start_ends_the_command(tmp_path, monkeypatch):
    """The handlers were set after the start: in a background job, which ignores Ctrl-C, a baseline went on."""
    monkeypatch.setattr(supervise, "FORWARDED", [])
    monkeypatch.setattr(supervise, "read_lines", lambda *_: None)
    slow = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (time.sleep(0.5), slow(thread)))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = supervise.run_supervised(["sh", "-c", "kill -INT $PPID; sleep 3"], tmp_path, 60, os.environ)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == -signal.SIGTERM and supervise.FORWARDED == [signal.SIGINT]


def test_a_command_that_ignores_the_signal_is_killed(tmp_path, monkeypatch, capsys):
    """A signal during a query of Slurm was lost, and ReFrame ignores all later signals: the run waited 30 minutes."""
    monkeypatch.setattr(supervise, "FORWARDED", [])
    for name, seconds in {"POLL": 0.05, "CANCELLING": 0.3, "GRACE": 0.3}.items():
        monkeypatch.setattr(supervise, name, seconds)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    script = "trap '' TERM; kill -INT $PPID; sleep 20; sleep 20"
    try:
        code = supervise.run_supervised(["sh", "-c", script], tmp_path, 60, os.environ)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == -signal.SIGKILL
    assert "scancel" in capsys.readouterr().out


@pytest.mark.parametrize(("step", "ended"), [(-400 * 86400, True), (-30, False), (400 * 86400, False)])
def test_a_clock_that_goes_back_ends_the_command(tmp_path, monkeypatch, capsys, step, ended):
    """ReFrame 4.10.4 sleeps as long as the clock went back: 400 days."""
    calls = iter([0.0])
    clock = time.time
    monkeypatch.setattr(supervise, "POLL", 0.05)
    monkeypatch.setattr(supervise.time, "time", lambda: clock() + next(calls, step))
    code = supervise.run_supervised(["sleep", "20" if ended else "0.5"], tmp_path, 60, os.environ)
    assert code == (-signal.SIGTERM if ended else 0)
    assert (f"{-step} s" in capsys.readouterr().out) == ended
