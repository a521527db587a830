"""`linkmatrix run`: one at a time, never green without a test, and nothing of a run is left behind.

ReFrame is played by a script here: what it does is in the tests of tests/integration.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linkmatrix import cli, lock
from linkmatrix.lock import Held
from linkmatrix.runs import supervise


def test_all_that_was_measured_is_within_its_references(machine):
    machine.prepare("pass", "pass")
    code, out = machine.run("--mode", "acceptance", "--system", "node:gpu")
    assert code == 0 and "2 test cases: 2 PASS" in out and "PASS  acceptance of node:gpu" in out
    assert "--mode=acceptance --system=node:gpu --report-junit=" in machine.commands()[0]
    assert not list((machine.folder / "locks").glob("*.lock"))


@pytest.mark.parametrize("mode", ["quick", "nightly"])
def test_every_mode_wants_references_and_takes_no_warning(machine, mode):
    machine.prepare("pass")
    machine.run("--mode", mode)
    assert "-S require_reference=yes --warn-as-error" in machine.commands()[0]


def test_no_test_case_is_never_a_pass(machine):
    machine.prepare()
    code, out = machine.run()
    assert code == 3 and "0 test cases: that is never a pass" in out


def test_no_report_is_never_a_pass(machine):
    assert machine.run()[0] == 3
    (machine.folder / "code").write_text("1")
    code, out = machine.run()
    assert code == 4 and "no report" in out


def test_a_report_of_another_session_is_not_that_of_the_run(machine):
    machine.prepare("pass")
    (machine.folder / "by_hand").write_text("")
    code, out = machine.run()
    assert code == 3 and "wrote no report" in out and "run-report-0.json is of another session" in out


def test_the_folders_of_a_run_have_its_stamp(machine):
    machine.prepare("pass")
    machine.run()
    (stamp,) = (machine.folder / "folders.txt").read_text().split()
    assert f"junit-{stamp}.xml" in machine.commands()[0]


def test_the_record_decides_and_not_the_word_passed(machine):
    machine.prepare("pass", off={(0, 1): 300.0})
    code, out = machine.run()
    assert code == 1 and "FAIL" in out
    assert "again: reframe -C config/settings.py -c checks -R -r --system=node:gpu -n /abc0" in out


@pytest.mark.parametrize("mode", ["quick", "acceptance"])
def test_a_machine_without_references_gets_no_verdict_and_is_told_what_to_do(machine, mode):
    machine.lack_a_reference("gpu0->gpu1")
    code, out = machine.run("--mode", mode)
    assert code == 3 and "1 test case: 1 NO VERDICT" in out and f"NO VERDICT  {mode} of this machine" in out
    assert "there are no references to hold it against" in out and "linkmatrix adopt --table NAME --write" in out
    assert "again: reframe" not in out, "to measure it again does not help"


def test_a_slow_cell_fails_though_reframe_stopped_at_a_missing_reference_before_it(machine):
    machine.lack_a_reference("min[NV18]", "hgx", off={(0, 1): 300.0})
    code, out = machine.run()
    assert code == 1 and "FAIL  acceptance" in out and "again: reframe" in out


def test_a_reference_that_only_reframe_misses_is_named(machine, capsys):
    machine.lack_a_reference("min[NV18]", "hgx")
    code, _ = machine.run()
    assert code == 3
    assert cli.main(["show"]) == 3
    out = capsys.readouterr().out
    assert "no reference value found" in out and "'min[NV18]'" in out


def test_counters_that_reframe_tolerated_are_so_without_references_too(machine, make_record):
    counter = {"name": "pcie_replay", "before": 0, "after": 5}
    content = {**make_record(), "health": [{"label": "gpu1", "counters": [counter], "readings": []}]}
    machine.lack_a_reference("gpu0->gpu1", content=content)
    code, out = machine.run()
    assert code == 3 and "suspect" not in out


def test_an_exit_code_that_no_test_explains_is_no_verdict(machine):
    machine.prepare("pass")
    (machine.folder / "code").write_text("1")
    code, out = machine.run()
    assert code == 3 and "ReFrame ended with 1 though no test case failed" in out


def test_retries_are_counted_and_shown(machine):
    machine.prepare("pass", attempts=2)
    code, out = machine.run("--retries", "1")
    assert "--max-retries=1" in machine.commands()[0] and "1 retries, of intranode_p2p_0" in out


@pytest.mark.parametrize(
    ("first", "code", "word"), [({(0, 1): 300.0}, 0, "WARN"), ({(0, 1): "corrupt"}, 1, "FAIL"), ({}, 0, "PASS")]
)
def test_what_passes_when_repeated_is_a_warning_and_wrong_data_stays_a_failure(machine, first, code, word):
    machine.prepare("pass")
    (last,) = json.loads((machine.folder / "prepared.json").read_text())["runs"]
    machine.prepare("fail" if first else "pass", off=first, result="FAIL" if "corrupt" in first.values() else "PASS")
    report = json.loads((machine.folder / "prepared.json").read_text())
    report["runs"].append(last)
    (machine.folder / "prepared.json").write_text(json.dumps(report))
    found, out = machine.run("--retries", "1")
    assert found == code and f"{word}  acceptance" in out
    assert ("passed when it was repeated: intranode_p2p %testcase=0: it failed" in out) == bool(first)


def test_what_passes_with_one_environment_does_not_excuse_another(machine):
    machine.prepare("pass", off={(0, 1): 300.0})
    report = json.loads((machine.folder / "prepared.json").read_text())
    machine.prepare("pass")
    other = json.loads((machine.folder / "prepared.json").read_text())
    (bad,), (good,) = (one["runs"][0]["testcases"] for one in (report, other))
    gnu, nvhpc = ({**bad, "environ": name, "result": "fail"} for name in ("gnu", "nvhpc"))
    report["runs"] = [{"testcases": [gnu, nvhpc]}, {"testcases": [gnu, {**good, "environ": "nvhpc"}]}]
    (machine.folder / "prepared.json").write_text(json.dumps(report))
    code, out = machine.run("--retries", "1")
    assert code == 1 and out.count("passed when it was repeated") == 1


def test_a_run_is_resumed_without_what_passed(machine):
    machine.prepare("pass", "fail", "skip", "pass")
    machine.run("--mode", "quick")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "2 test cases passed before (run-report-0.json): not measured again" in out
    assert " -R -r --tag=quick " in machine.commands()[1] and "--exclude=/abc0 --exclude=/abc3" in machine.commands()[1]
    assert "--exclude=/abc1" not in machine.commands()[1] and "--exclude=/abc2" not in machine.commands()[1]
    code, out = machine.run("--mode", "nightly", "--resume")
    assert "all is measured again" in out and "--exclude" not in machine.commands()[2]


def test_what_the_record_fails_is_measured_again_though_reframe_passed_it(machine):
    machine.prepare("pass", "pass", off={(0, 1): 300.0})
    machine.run()
    machine.run("--resume")
    assert "--exclude=/abc1" in machine.commands()[1] and "--exclude=/abc0" not in machine.commands()[1]


def test_what_passed_stays_so_over_several_resumed_runs_and_a_whole_run_begins_anew(machine):
    machine.prepare("pass", "fail", "fail")
    machine.run()
    content = json.loads((machine.folder / "prepared.json").read_text())
    content["runs"][0]["testcases"] = content["runs"][0]["testcases"][1:]
    content["runs"][0]["testcases"][0] |= {"result": "pass", "fail_reason": None}
    (machine.folder / "prepared.json").write_text(json.dumps(content))
    machine.run("--resume")
    machine.run("--resume")
    assert "--exclude=/abc0 --exclude=/abc1" in machine.commands()[2]
    machine.run()
    machine.run("--resume")
    assert "--exclude=/abc1" in machine.commands()[4] and "--exclude=/abc0" not in machine.commands()[4]


def test_where_nothing_is_left_the_run_before_is_judged_again(machine):
    machine.prepare("pass", "pass")
    assert machine.run()[0] == 0
    (machine.folder / "prepared.json").unlink()  # ReFrame writes no report of no test
    for _ in range(2):
        code, out = machine.run("--resume")
        assert code == 0 and "nothing is left to measure" in out and "2 test cases: 2 PASS" in out
    machine.prepare("fail", "pass")
    assert machine.run()[0] == 1
    (machine.folder / "prepared.json").unlink()
    code, out = machine.run("--resume")
    assert code == 1 and "1 FAIL" in out  # a selection that has become smaller makes no pass


def test_the_second_run_says_who_holds_the_lock(machine):
    machine.prepare("pass")
    (machine.folder / "locks").mkdir()
    holder = {**lock.holder(), "since": "2026-11-21T01:00:00Z"}
    (machine.folder / "locks" / "node-gpu.lock").write_text(json.dumps(holder))
    code, out = machine.run("--system", "node:gpu")
    assert code == 4 and f"process {os.getpid()}" in out and "since 2026-11-21T01:00:00Z" in out
    assert not (machine.folder / "command.txt").exists()
    assert machine.run("--system", "node:other")[0] == 0


def test_the_lock_of_a_dead_holder_is_taken_over_with_a_note(machine):
    machine.prepare("pass")
    (machine.folder / "locks").mkdir()
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(timeout=30)
    dead = {"pid": child.pid, "born": "1", "host": socket.gethostname(), "since": "2026-11-21T01:00:00Z"}
    (machine.folder / "locks" / "any.lock").write_text(json.dumps(dead))
    code, out = machine.run()
    assert code == 0 and "which died, was taken over" in out
    assert list((machine.folder / "locks").iterdir()) == [machine.folder / "locks" / "any-acceptance.last.json"]


def test_a_process_that_only_has_the_number_of_the_dead_does_not_hold_the_lock(tmp_path):
    path = tmp_path / "a.lock"
    path.write_text(json.dumps({**lock.holder(), "born": "1"}))
    with lock.held(path) as note:
        assert "taken over" in note


def test_a_holder_on_another_host_is_believed(tmp_path):
    path = tmp_path / "a.lock"
    path.write_text(json.dumps({"pid": 1, "born": "1", "host": "elsewhere", "since": "2026-11-21T01:00:00Z"}))
    with pytest.raises(Held, match="on elsewhere is running since"), lock.held(path):
        pass
    assert path.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_what_is_no_lock_is_left_alone(tmp_path, text):
    path = tmp_path / "a.lock"
    path.write_text(text)
    with pytest.raises(Held, match="look at it"), lock.held(path):
        pass
    assert path.read_text() == text


def test_of_many_that_want_the_lock_one_at_a_time_has_it(tmp_path):
    path = tmp_path / "a.lock"
    code = (
        "import sys, time; from pathlib import Path; from linkmatrix import lock\n"
        "place = Path(sys.argv[1])\n"
        "for _ in range(400):\n"
        "    try:\n"
        "        with lock.held(place / 'a.lock'):\n"
        "            (place / 'busy').mkdir(); time.sleep(0.002); (place / 'busy').rmdir()\n"
        "            break\n"
        "    except lock.Held:\n"
        "        time.sleep(0.005)\n"
        "else:\n"
        "    sys.exit(3)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    path.write_text(json.dumps({"pid": 2**22 + 1, "born": "1", "host": socket.gethostname(), "since": "then"}))
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) for _ in range(6)]
    assert [child.wait(timeout=60) for child in children] == [0] * 6
    assert not path.exists()


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
    assert code == 0 and "the run before left no report, so all is measured again" in out


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
    machine.prepare("pass", "abort")
    (machine.folder / "aborts").write_text("")
    killed(machine, "--mode", "quick")
    (report,) = (machine.folder / "reports").glob("run-report-*.json")
    (machine.folder / "aborts").unlink()
    machine.run("--mode", "nightly")  # another run's report is newer
    code, out = machine.run("--mode", "quick", "--resume")
    assert f"the run before was killed, and its ReFrame left {report.name}" in out
    assert "--exclude=/abc0" in machine.commands()[-1] and "--exclude=/abc1" not in machine.commands()[-1]


def test_a_run_that_was_killed_and_left_nothing_takes_no_other_runs_report(machine):
    machine.prepare("pass")
    machine.run("--mode", "nightly")
    killed(machine, "--mode", "quick")
    machine.run("--mode", "nightly")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "the run before left no report, so all is measured again" in out
    assert "--exclude" not in machine.commands()[-1]


def test_a_killed_run_takes_reframe_with_it_and_its_lock_is_taken_over(machine):
    machine.prepare("pass")
    killed(machine)
    code, out = machine.run()
    assert code == 0 and "which died, was taken over" in out


def test_suspects_are_named_until_runs_are_clean(machine):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    code, out = machine.run()
    assert code == 1 and "gpu3 of node001 is suspect since" in out and "0 of 2 clean since" not in out
    machine.prepare("pass")
    assert "1 of 2 clean since" in machine.run("--clean-runs", "2")[1]
    assert "is suspect" not in machine.run("--clean-runs", "2")[1]


def test_a_suspect_is_named_however_many_reports_of_others_follow(machine, make_record):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    machine.run()
    content = make_record()
    for device in content["devices"]:
        device["node"] = "node002"
    other = machine.prepare("pass", content=content)
    for number in range(100, 155):
        (machine.folder / "reports" / f"run-report-{number}.json").write_text(other)
    code, out = machine.run()
    assert "gpu3 of node001 is suspect since" in out
    assert len(json.loads((machine.folder / "suspects.json").read_text())["reports"]) == 57
    shutil.rmtree(machine.folder / "output" / "0-1")  # what was found in a report is remembered
    assert "gpu3 of node001 is suspect since" in machine.run()[1]


def test_a_report_that_cannot_be_read_is_told_and_does_not_end_the_run(machine):
    machine.prepare("pass")
    (machine.folder / "reports").mkdir()
    (machine.folder / "reports" / "run-report-77.json").write_text("{")
    code, out = machine.run()
    assert code == 0 and "run-report-77.json is not valid JSON" in out


def test_a_corrected_reference_judges_remembered_reports_again(machine, reference_folder):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    assert "gpu3 of node001 is suspect" in machine.run()[1]
    file = Path("config/references/p2p.yaml")
    file.write_text(re.sub(r"(gpu3->gpu\d: \[)396.0", r"\g<1>350.0", file.read_text()))
    assert "is suspect" not in machine.run()[1]


def test_a_run_does_not_outlive_its_time(machine, monkeypatch):
    (machine.folder / "wait").write_text("")
    monkeypatch.setattr(supervise, "GRACE", 5)
    code, out = machine.run("--timeout", "0.0002")
    assert code == 4 and "time limit" in out


def test_a_full_disk_starts_nothing(machine, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    code, out = machine.run()
    assert code == 4 and "nothing was started" in out and not (machine.folder / "command.txt").exists()


def test_old_reports_go_and_the_newest_stays(machine):
    machine.prepare("pass")
    for _ in range(3):
        machine.run()
    machine.run("--keep", "2")
    assert len(list((machine.folder / "reports").glob("run-report-*.json"))) == 2


@pytest.mark.parametrize("arguments", [["--retries", "-1"], ["--timeout", "0"], ["--reframe", "/no/such"]])
def test_bad_input_starts_nothing(machine, capsys, arguments):
    assert cli.main(["run", "--reframe", str(machine.reframe), *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_process_that_has_the_lock_does_not_get_it_twice(tmp_path):
    held, waiting = threading.Event(), threading.Event()

    def hold():
        with lock.held(tmp_path / "a.lock"):
            held.set()
            waiting.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with pytest.raises(Held), lock.held(tmp_path / "a.lock"):
        pass
    waiting.set()
    thread.join(10)
    assert not (tmp_path / "a.lock").exists()


@pytest.fixture
def schedule(capsys, tmp_path, monkeypatch):
    def run(*arguments):
        code = cli.main(["schedule", *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("installed", [True, False])
def test_a_timer_is_what_systemd_accepts(schedule, tmp_path, monkeypatch, installed):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt install systemd)")
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true" if installed and name == "linkmatrix" else None)
    code, out, _ = schedule("--systemd", "--at", "23:05", "--every", "weekly", "--system", "node:gpu")
    assert code == 0 and "OnCalendar=Mon *-*-* 23:05:00" in out
    parts = out.split("# /etc/systemd/system/")[1:]
    for part in parts:
        name, _, text = part.partition("\n")
        (tmp_path / Path(name).name).write_text(text)
    units = sorted(str(path) for path in tmp_path.glob("linkmatrix-*"))
    assert len(units) == 3
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if "linkmatrix" in line]
    assert ours == [], done.stderr


def test_a_crontab_line_has_its_five_fields_and_no_bare_percent(schedule, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", "/tmp/a b/100%")
    code, out, _ = schedule("--cron", "--at", "02:30", "--mode", "quick")
    line = out.splitlines()[1]
    assert code == 0 and line.startswith("30 2 * * * cd ")
    assert "run --mode=quick" in line and r"'/tmp/a b/100\%/schedule.log'" in line


@pytest.mark.parametrize("form", ["--cron", "--systemd", "--scrontab"])
def test_a_timer_has_what_modules_and_schedulers_set_and_no_more_of_path(schedule, monkeypatch, tmp_path, form):
    programs = tmp_path / "module" / "bin"
    programs.mkdir(parents=True)
    (programs / "mpirun").write_text("#!/bin/sh\n")
    (programs / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/games:{programs}:{os.environ['PATH']}")
    for name, value in {"LMOD_CMD": "/lmod/lmod", "LD_LIBRARY_PATH": "/mpi/lib", "SLURM_CONF": "/s.conf"}.items():
        monkeypatch.setenv(name, value)
    code, out, _ = schedule(form, "--", "-J", "account=proj")
    assert code == 0 and f"{programs}:" in out and "games" not in out
    assert all(text in out for text in ("LMOD_CMD=/lmod/lmod", "LD_LIBRARY_PATH=/mpi/lib", "SLURM_CONF=/s.conf"))
    assert "-- -J account=proj" in out


def test_whom_a_failure_is_told_is_in_each_form(schedule):
    found = {form: schedule(f"--{form}", "--mail", "ops@example.org")[1] for form in ("cron", "systemd", "scrontab")}
    assert found["cron"].startswith("MAILTO=ops@example.org\n")
    assert "OnFailure=linkmatrix-failed@%n.service" in found["systemd"] and "To: ops@example.org" in found["systemd"]
    assert "#SCRON --mail-type=FAIL\n#SCRON --mail-user=ops@example.org\n" in found["scrontab"]


def test_a_scrontab_entry_names_its_partition(schedule):
    code, out, _ = schedule("--scrontab", "--partition", "gpu", "--every", "weekly")
    assert code == 0 and "#SCRON --partition=gpu" in out and out.splitlines()[-1].startswith("30 2 * * 1 cd ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cron", "--at", "25:00"],
        ["--cron", "--system", "a;b"],
        ["--scrontab", "--partition", "a b"],
        ["--cron", "--mail", "a\nb"],
        ["--cron", "--", "-n", "x" * 1000],
    ],
)
def test_a_schedule_that_cannot_be_is_one_sentence(schedule, arguments):
    code, out, errors = schedule(*arguments)
    assert (code, out, errors.count("\n")) == (2, "", 1)
