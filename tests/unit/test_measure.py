"""`make run`, which is `linkmatrix measure`: what it ends with is what `linkmatrix` says of the run.

ReFrame is played by a script here, as in test_acceptance.py.
"""

import dataclasses
import io
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linkmatrix import cli, lock
from linkmatrix.errors import BadInput
from linkmatrix.record import reading
from linkmatrix.record.matrix import ClassSummary
from linkmatrix.references.tables import References
from linkmatrix.runs import judging
from linkmatrix.runs.stored import Run
from linkmatrix.runs.testcases import Test
from linkmatrix.show import summary, words
from linkmatrix.show.analysis import Analysis
from linkmatrix.show.screen import Screen
from linkmatrix.site import environment

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"


@pytest.fixture
def measure(machine, tmp_path):
    """A function that measures where the machine's ReFrame is that of PATH: (exit code, what it printed)."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "reframe").symlink_to(machine.reframe)
    (machine.folder / "reports").mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "RFM_TIMESTAMP_DIRS": "played",  # as config/settings.py sets it
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "reports"),
    }

    def run(*options, verbose=False):
        command = [sys.executable, "-m", "linkmatrix", "measure", *(["-v"] if verbose else []), "--", *options]
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=120, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return run


@pytest.mark.parametrize("of_reframe", ["0", "1"])
def test_a_machine_without_references_is_not_judged_whether_reframe_asked_for_them_or_not(machine, measure, of_reframe):
    machine.lack_a_reference("gpu0->gpu1")
    (machine.folder / "code").write_text(of_reframe)
    code, out = measure()
    assert code == (3 if of_reframe == "1" else 0) and "1 test case: 1 NOT JUDGED" in out
    assert "linkmatrix baseline" in out and "before you replace a component" not in out


def test_all_within_its_references_is_a_pass(machine, measure):
    machine.prepare("pass", "pass")
    code, out = measure()
    assert code == 0 and "2 test cases: 2 PASS" in out


def test_the_last_lines_name_the_report_of_this_run(machine, measure):
    """Another run may have ended later, by the time that somebody types the command."""
    machine.prepare("pass")
    _, out = measure()
    (report,) = (machine.folder / "reports").glob("run-report-*.json")
    assert f" show {report} " in out[out.index("Matrices: ") :]


def test_a_pipe_and_a_folder_that_look_like_reports_are_not_waited_for(machine, measure):
    os.mkfifo(machine.folder / "reports" / "run-report-998.json")
    (machine.folder / "reports" / "run-report-999.json").mkdir()
    code, out = measure()
    assert code == 4 and "no test fits this machine" in out


def test_a_slow_cell_is_a_failure(machine, measure):
    machine.prepare("pass", off={(0, 1): 300.0})
    assert measure()[0] == 1


def test_without_a_report_nothing_was_run(machine, measure):
    code, out = measure()
    assert code == 4 and "no test fits this machine" in out
    code, out = measure("-n", "nothing")
    assert code == 4 and "no test matches -n nothing" in out and len(out.splitlines()) == 1


def test_a_full_disk_starts_nothing(machine, monkeypatch, linkmatrix):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 255 << 20))
    (line,) = linkmatrix.out("measure", "--reframe", machine.reframe, code=4).splitlines()
    assert f"{machine.folder} has 255 MiB of free space, and a run needs 256" in line
    assert not (machine.folder / "command.txt").exists()


def test_a_disk_that_fills_up_during_the_run_is_one_sentence_and_incomplete(machine, monkeypatch, linkmatrix):
    machine.prepare("pass")
    monkeypatch.setenv("RFM_TIMESTAMP_DIRS", "played")
    (machine.folder / "reports").mkdir()
    left = iter((*[1 << 30] * 3, 4096))  # prefix, locks and builds have space before the run
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 31, 1 << 30, next(left)))
    (line,) = linkmatrix.out("measure", "--reframe", machine.reframe, code=4).splitlines()
    assert f"the disk of {machine.folder} is full: remove files" in line and "run-report-0.json" in line


@pytest.mark.parametrize("variable", ["LINKMATRIX_PREFIX", "LINKMATRIX_BUILD"])
def test_a_folder_that_cannot_be_written_is_named_with_the_variable_for_another(
    machine, monkeypatch, linkmatrix, tmp_path, variable
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(variable, str(tmp_path / "file" / "folder"))
    (line,) = linkmatrix.out("measure", "--reframe", machine.reframe, code=4).splitlines()
    assert f"{tmp_path}/file/folder: Not a directory" in line and f"${variable}" in line


@pytest.mark.parametrize("command", ["measure", "run"])
def test_a_build_folder_of_another_user_is_used_as_it_is(machine, monkeypatch, tmp_path, command):
    builds = tmp_path / "builds"
    builds.mkdir()
    machine.prepare("pass")
    monkeypatch.setenv("LINKMATRIX_BUILD", str(builds))
    monkeypatch.setattr(os, "access", lambda path, mode, usual=os.access: path != builds and usual(path, mode))
    cli.main([command, "--reframe", str(machine.reframe)])
    assert (machine.folder / "command.txt").exists()


@pytest.mark.parametrize("command", ["measure", "run"])
def test_without_reframe_nothing_begins_and_its_installation_is_named(machine, linkmatrix, command):
    (line,) = linkmatrix.out(command, "--reframe", "no-such-reframe", code=4).splitlines()
    assert "no-such-reframe" in line and "pip install ReFrame-HPC" in line


@pytest.mark.parametrize("command", ["measure", "run"])
def test_a_second_run_says_whose_the_first_is_and_starts_nothing(machine, capsys, command):
    with lock.held(machine.folder / "locks" / "any.lock"):
        assert cli.main([command, "--reframe", str(machine.reframe)]) == 4
    (line,) = capsys.readouterr().out.splitlines()
    assert f"not started: process {os.getpid()} on" in line and "has been running since" in line
    assert not (machine.folder / "command.txt").exists()


def test_without_a_home_open_mpi_gets_one(machine, measure, monkeypatch):
    monkeypatch.delenv("HOME")
    machine.reframe.write_text('#!/bin/sh\necho "home: $HOME"\nexit 1\n')
    assert f"home: {pwd.getpwuid(os.getuid()).pw_dir}" in measure()[1]


def test_whom_no_file_of_users_knows_has_the_folder_of_results_for_a_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    environment.set_home(tmp_path)
    assert os.environ["HOME"] == str(tmp_path)


def test_after_a_failed_build_no_part_is_suspect(machine, measure):
    report = json.loads(machine.prepare("fail", "fail_deps"))
    build, other = report["runs"][0]["testcases"]
    build |= {"name": "build_linkmatrix", "display_name": "build_linkmatrix", "fixture": True}
    build |= {"fail_phase": "compile_wait", "fail_reason": "build error: the build failed: g++: no such program"}
    machine.store(report, code=1)
    code, out = measure()
    assert code == 4 and "the build failed: g++: no such program" in out
    assert "suspect" not in out.replace("no part is suspect", "")
    assert "before you replace a component" not in out and "seen again" not in out
    assert "last output of the program" not in out  # no program ran


def test_what_needed_a_build_that_failed_says_so_once_for_all(machine, measure):
    report = json.loads(machine.prepare("fail", *["skip"] * 5))
    build, *others = report["runs"][0]["testcases"]
    build |= {"name": "build_linkmatrix ~here", "unique_name": "build_linkmatrix_1", "fixture": True}
    build |= {"display_name": "build_linkmatrix ~here", "fail_phase": "compile", "fail_reason": "no cmake is on PATH"}
    for one in others:
        needed = [["node_session_1", "here", "default"], ["build_linkmatrix_1", "here", "default"]]
        one |= {"fail_reason": None, "dependencies_actual": needed}
    machine.store(report, code=1)
    code, out = measure()
    assert code == 4 and "6 test cases: 6 INCOMPLETE" in out
    told = "intranode_p2p %testcase=1: not run, because build_linkmatrix failed (also in 4 other test cases)"
    assert out.count(told) == 1 and "build_linkmatrix ~here: no cmake is on PATH" in out
    assert "ended it with" not in out


@pytest.mark.parametrize(
    ("before", "behind", "chosen"),
    [
        (["--samples", "31"], [], "--mode=measure -S extra_opts=--samples,31"),
        (["--wait-idle", "9", "--refuse-busy"], ["-n", "ab"], "-S wait_idle=9 -S refuse_busy=yes -n ab"),
        ([], ["-S", "wait_idle=1"], "--mode=measure -S wait_idle=1"),
    ],
)
def test_only_a_selection_replaces_the_default_selection(machine, before, behind, chosen):
    machine.prepare("pass")
    cli.main(["measure", "--reframe", str(machine.reframe), *before, "--", *behind])
    command = machine.commands()[0]
    assert command.endswith(chosen) and ("--mode=measure" in command) is ("--mode=measure" in chosen)


def test_what_is_to_be_called_again_is_measure_and_not_what_it_called(machine, measure, capsys):
    machine.prepare("pass", off={(0, 1): 300.0})
    for options, again in (([], "measure"), (["-n", "ab"], "measure -- -n ab")):
        assert measure(*options)[0] == 1
        cli.main(["show"])
        assert f"again: linkmatrix {again}\n" in capsys.readouterr().out


def test_the_answer_has_at_most_25_lines_however_much_was_measured(tmp_path):
    for name, most in (("h200x4_full", 10), ("h200x2_collectives", 1), ("h200x4_sweep", 2), ("slurm3_nodes", 1)):
        record = reading.load(REPOSITORY / "tests" / "data" / f"{name}.record.json")
        run = Run(tmp_path, tuple(Test(name=f"{name} {number}", record=record) for number in range(3)))
        judged = judging.judge_all(run, References.load(None), None)
        out = io.StringIO()
        summary.show(Analysis(None, judged), ["Matrices: …", "Other commands: …"], out, 80)
        lines = out.getvalue().splitlines()
        assert len(lines) <= summary.MAX_LINES, out.getvalue()
        rows = [line for line in lines if line[:1] in words.GLYPHS.values() and re.search(" (GB/s|µs)( |$)", line)]
        assert 1 <= len(rows) <= most
        assert "NOT JUDGED" in out.getvalue() and out.getvalue().count("Next step: ") == 1


def test_many_kinds_leave_room_for_findings(tmp_path, make_record):
    """A machine with GPUs, ranks and collectives, and a test case that was lost, printed 28 lines."""
    records = [
        reading.load(REPOSITORY / "tests" / "data" / f"{name}.record.json")
        for name in ("h200x4_full", "h200x2_collectives", "cpu16_ranks_storm")
    ]
    tests = [Test(name=f"case {number}", record=record) for number, record in enumerate(records)]
    tests += [Test(name=name, result="fail", reason="the program was ended by signal Killed " * 4) for name in "ab"]
    judged = judging.judge_all(Run(tmp_path, tuple(tests)), References.load(None), None)
    out = io.StringIO()
    summary.show(Analysis(None, judged), ["Matrices: …", "Other commands: …", "Exit code 3"], out, 80, more=1)
    assert len(out.getvalue().splitlines()) <= summary.MAX_LINES - 1, out.getvalue()
    assert "signal Killed" in " ".join(out.getvalue().split()) and "more kinds: " in out.getvalue()


def test_findings_leave_room_for_verdict_and_next_step(tmp_path, make_record):
    tests = []
    for number in range(6):  # nodes, each with slow links and a lost endpoint
        off = {(number % 4, c): 100.0 + number for c in range(4)} | {(0, 3): "timeout"}
        tests.append(Test(name=f"case {number}", record=make_record(off=off, host=f"node{number}")))
    judged = judging.judge_all(Run(tmp_path, tuple(tests)), References.load(None), None)
    for width in (80, 120):
        out = io.StringIO()
        summary.show(Analysis(None, judged), ["Matrices: …", "Other commands: …"], out, width)
        lines = out.getvalue().splitlines()
        assert len(lines) <= summary.MAX_LINES, out.getvalue()
        assert any("6 test cases: " in line for line in lines) and any(
            "more: linkmatrix show" in line for line in lines
        )


def test_a_kind_has_its_number_range_spread_and_shares(tmp_path):
    record = reading.load(REPOSITORY / "tests" / "data" / "h200x4_full.record.json")
    judged = judging.judge_all(Run(tmp_path, (Test(name="full", record=record),)), References.load(None), None)
    of = {kind.name: kind for kind in summary.kinds(judged)}
    assert of["bandwidth, within a device"].columns()[1:] == ("1", "2093–2095 GB/s", "-", "100 %", "0.1 %")
    assert len(of["latency, devices"].testcases) == 12
    assert sum(len(kind.testcases) for kind in of.values()) == len(record["results"])


@pytest.mark.parametrize("file", sorted(DATA.glob("*.record.json")), ids=lambda path: path.name.partition(".")[0])
def test_the_kinds_fit_in_80_columns(tmp_path, file):
    try:
        record = reading.load(file)
    except BadInput:
        return
    judged = judging.judge_all(Run(tmp_path, (Test(name="one", record=record),)), References.load(None), None)
    found = summary.kinds(judged)
    narrow, wide = (summary.kind_lines(found, Screen(width=width)) for width in (80, 200))
    assert len(narrow) == len(wide) and all(len(line) <= 80 for line in narrow), narrow
    assert [line.partition(",")[0] for line in narrow[1:]] == [line.partition(",")[0] for line in wide[1:]]


def test_the_widest_kind_of_a_gpu_fits_in_80_columns():
    limits = {"of_limit": [0.98, 1.02], "of_typical": [0.98, 1.02]}
    devices = summary.Kind("total bidirectional, devices", "GB/s", summaries=[ClassSummary(9, 371.74, 380, 1399.22)])
    latency = summary.Kind("latency, devices", "us", summaries=[ClassSummary(9, 0.834, 1, 16.408)], **limits)
    one = summary.kind_lines([dataclasses.replace(devices, **limits), latency], Screen(width=80))
    assert max(map(len, one)) <= 80 and "371.7–1399 GB/s 98–102 %" in one[1] and "0.834–16.41 µs" in one[2]
    assert summary.kind_lines([devices], Screen(width=80))[1].count(" - ") == 0  # a column without values is left out


def test_the_output_of_reframe_is_shown_by_verbose_alone_and_its_errors_always(machine, measure):
    machine.prepare("pass")
    machine.reframe.write_text(
        machine.reframe.read_text().replace(
            "exec", 'case "$*" in *--describe*) ;; *) echo "FAILURE INFO"; echo "ERROR: of its own";; esac; exec'
        )
    )
    code, out = measure()
    assert code == 0 and "FAILURE INFO" not in out and "ERROR: of its own" in out
    code, out = measure(verbose=True)
    assert code == 0 and "FAILURE INFO" in out and out.count("ERROR: of its own") == 1
