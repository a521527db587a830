"""Options of ReFrame after the `--` of `linkmatrix run`, and its environment: they work, or the run is refused."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linkmatrix.record.reading

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

REPOSITORY = Path(__file__).resolve().parents[2]
# rank_binding has none of the variables of the others
SELECTED = ["-n", "device_to_device_memcpy_write_ce$|^rank_binding"]
SHORT = ["-S", "intranode_p2p.size=1MiB"]


def command(*more, mode="quick", before=()):
    reframe = str(Path(sys.executable).parent / "reframe")
    run = [sys.executable, "-m", "linkmatrix", "run", "--mode", mode, "--reframe", reframe, *before]
    return [*run, "--", "--nocolor", *SELECTED, *more]


@pytest.fixture
def variables(tmp_path):
    """The environment of a run, whose results go to a folder of the test."""
    return {**os.environ, "LINKMATRIX_PREFIX": str(tmp_path / "results"), "CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def site(tmp_path, config):
    """The checks in a folder whose partitions ignore other processes: beside other tests nothing here is DISTURBED."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "config").symlink_to(config)
    (folder / "checks").symlink_to(REPOSITORY / "checks")
    return folder


@pytest.fixture
def run(variables, site):
    """A function that runs the selected tests with further options and variables: (exit code, output).

    where: the folder from which, that of `site` by default. before: options of linkmatrix.
    """

    def started(*more, mode="quick", where=site, before=(), **further):
        done = subprocess.run(
            command(*more, mode=mode, before=before),
            env=variables | further,
            cwd=where,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        )
        assert "Traceback" not in done.stdout
        return done.returncode, done.stdout

    return started


def measured(folder):
    """The record of the test case of p2p_matrix."""
    (report,) = (folder / "results" / "reports").glob("run-report-*.json")
    cases = [case for one in json.loads(report.read_text())["runs"] for case in one["testcases"]]
    (case,) = (case for case in cases if case.get("testcase"))
    return linkmatrix.record.reading.load(Path(case["verdict_file"]).with_name("record.json"))


def began(folder):
    return list((folder / "results").rglob("rfm_*.out"))


def test_samples_and_waiting_reach_the_program(run, tmp_path):
    code, out = run(*SHORT, before=("--samples", "3", "--wait-idle", "1"))
    assert (code, "NOT JUDGED  quick of this machine" in out) == (0, True), out
    used = " ".join(measured(tmp_path)["command"])
    assert "--samples 3" in used and "--wait-idle 1" in used


@pytest.mark.parametrize(
    ("mode", "option", "words"),
    [
        ("quick", "tolerated_counters=pcie_replay", []),
        ("acceptance", "on=", []),
    ],
)
def test_a_variable_that_only_some_tests_have_reaches_them(run, tmp_path, mode, option, words):
    code, out = run(*SHORT, "-S", option, mode=mode)
    expected = (3, "INCOMPLETE") if mode == "acceptance" else (0, "NOT JUDGED")  # a selection, and no manifest
    assert (code, f"{expected[1]}  {mode} of this machine" in out) == (expected[0], True), out
    used = measured(tmp_path)["command"]
    assert all(word in used for word in words)


def test_a_busy_machine_that_is_refused_is_no_fail(run):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        code, out = run(before=["--refuse-busy"], where=REPOSITORY)
        busy.kill()
    assert code == 3 and "INCOMPLETE  quick of this machine" in out and "\nFAIL  " not in out, out


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("extr_opts=x", "is 'extra_opts' meant?"),
        ("intranode_p2p.extr_opts=x", "extr_opts"),
        ("wait_idle=soon", "wait_idle|soon"),
        ("intranode_p2p.wait_idle=soon", "wait_idle|soon"),
        ("node_session.time_limit=soon", "soon"),
    ],
)
def test_a_variable_that_no_test_takes_is_bad_input(run, tmp_path, option, named):
    code, out = run("-S", option, mode="acceptance")
    assert code == 2 and out.count("\n") == 1 and re.search(named.replace("?", r"\?"), out), out
    assert not began(tmp_path)


@pytest.mark.parametrize("option", ["--report-file=x.json", "--report-junit=x.xml", "--compress-report"])
def test_an_option_that_moves_a_file_is_bad_input(run, tmp_path, option):
    code, out = run(option)
    assert code == 2 and out.count("\n") == 1 and f"{option.partition('=')[0]} is refused" in out
    assert not began(tmp_path)


@pytest.mark.parametrize("option", ["--ci-generate=x.yml", "--ci-gen", "--distribute=all", "--dist"])
def test_an_option_that_separates_tests_is_refused_before_anything_begins(run, tmp_path, option):
    code, out = run(option)
    assert code == 4 and out.count("\n") == 1 and f"{option.partition('=')[0]}" in out
    assert not (tmp_path / "results" / "reframe.log").exists()


def test_variables_of_the_environment_that_would_hide_the_report_are_left_out(run, tmp_path):
    moved = {"RFM_REPORT_FILE": str(tmp_path / "report.json"), "RFM_TRAP_JOB_ERRORS": "1", "RFM_WARN_AS_ERROR": "1"}
    code, out = run(*SHORT, RFM_GENERATE_FILE_REPORTS="0", **moved)
    assert code == 0 and "NOT JUDGED  quick of this machine" in out, out
    assert measured(tmp_path)["result"] == "PASS"
    assert all(name in out for name in moved)


def test_references_of_another_folder_are_used_or_bad_input(run, tmp_path):
    (tmp_path / "references").mkdir()
    for file in (REPOSITORY / "config" / "references").glob("*.yaml"):
        shutil.copy(file, tmp_path / "references")
    code, out = run(*SHORT, RFM_REFERENCE_PREFIX=str(tmp_path / "references"))
    assert code == 0 and "NOT JUDGED  quick of this machine" in out, out
    code, out = run(RFM_REFERENCE_PREFIX=str(tmp_path / "nowhere"))
    assert code == 2 and "nowhere does not exist" in out


@pytest.mark.parametrize("compiler", ["/does/not/exist", "/bin/false"])
def test_a_compiler_that_cannot_build_is_named_and_nothing_began(run, compiler):
    code, out = run(CXX=compiler)
    assert code == 4, out
    (reason,) = (line for line in out.splitlines() if line.startswith("  INCOMPLETE: build_linkmatrix"))
    assert compiler in reason


def test_a_time_for_the_run_that_is_over_is_no_traceback(run):
    code, out = run("--duration=1s")
    assert code in (3, 4) and "INCOMPLETE  quick of this machine" in out


def running_in(folder):
    """The processes that run in a folder, or below it."""
    working = {path: str(path.resolve(strict=False)) for path in Path("/proc").glob("[0-9]*/cwd")}
    return [path for path, where in working.items() if where.startswith(str(folder))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_cancels_its_jobs_and_is_incomplete(variables, tmp_path, number):
    slow = ("-S", "intranode_p2p.extra_opts=--samples,100000,--max-time,300,--target-ci,0.0001")
    out = tmp_path / "out"
    with out.open("w") as stream:
        child = subprocess.Popen(command(*slow), env=variables, cwd=REPOSITORY, stdout=stream, stderr=stream)
    until = time.monotonic() + 300
    while not list(tmp_path.rglob("process*/out")) and child.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    child.send_signal(number)
    code = child.wait(timeout=120)
    said = out.read_text()
    assert code == 3 and "INCOMPLETE  quick of this machine" in said and "Traceback" not in said, said
    until = time.monotonic() + 60  # the program writes its record when it is ended
    while (running := running_in(tmp_path)) and time.monotonic() < until:
        time.sleep(0.1)
    assert running == []
