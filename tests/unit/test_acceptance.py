"""`linkmatrix run`: never green without a test, the record decides, and what is flagged stays so until runs are clean.

ReFrame is played by a script here: what it does is in the tests of tests/integration.
"""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from linkmatrix import files, suite
from linkmatrix.commands import begin
from linkmatrix.errors import BadInput
from linkmatrix.runs import resume, supervise

KEPT = [["--keep", "0"], ["--keep", "-1"], ["--keep-days", "-1"], ["--keep-days", "99999999999999999999"]]


def test_all_that_was_measured_is_within_its_references(machine):
    machine.prepare("pass", "pass")
    code, out = machine.run("--mode", "acceptance", "--system", "node:gpu")
    assert code == 0 and "2 test cases: 2 PASS" in out and "PASS  acceptance of node:gpu" in out
    (command,) = machine.commands()
    assert command.endswith(" --mode=acceptance --warn-as-error --system=node:gpu") and " --report-junit=" in command
    assert not list((machine.folder / "locks").glob("*.lock"))


@pytest.mark.parametrize("mode", ["quick", "nightly"])
def test_every_mode_takes_no_warning_and_acceptance_alone_requires_references(machine, mode):
    machine.prepare("pass")
    machine.run("--mode", mode)
    assert "--warn-as-error" in machine.commands()[0] and "require_reference" not in machine.commands()[0]


@pytest.mark.parametrize("more", [["-n", "ours"], ["-c", "ours.py"], ["-S", "wait_idle=1"]])
def test_all_checks_are_loaded_where_the_user_selects(machine, more):
    machine.prepare("pass")
    Path("checks").symlink_to(suite.FOLDER / "checks")  # as in a site
    Path("ours.py").write_text("")
    machine.run("--mode", "quick", "--", "--nocolor")
    machine.run("--mode", "quick", "--", *more)
    few, every = machine.commands()
    assert " -c checks/intranode.py " in few and " -c checks/pairs.py " not in few and " -c checks " in every


def test_samples_and_waiting_select_nothing_and_acceptance_takes_no_fewer_samples(machine, linkmatrix):
    machine.prepare("pass")
    code, out = machine.run("--samples", "31", "--wait-idle", "60")
    assert code == 0 and "from now on" in out  # the run is whole, so its manifest is frozen
    assert machine.commands()[0].endswith("-S extra_opts=--samples,31 -S wait_idle=60")
    errors = linkmatrix.err("run", "--reframe", machine.reframe, "--samples", "3")
    assert "acceptance needs at least 7 samples" in errors and len(machine.commands()) == 1


def test_a_pair_of_nodes_is_held_against_no_manifest_and_is_never_nothing(machine):
    machine.prepare("pass", "pass")
    assert machine.run("--mode", "pair")[0] == 0
    machine.prepare("pass")
    code, out = machine.run("--mode", "pair", "--", "-S", "crossnode_matrix.time_limit=5m", "-Jnodelist=n1,n2")
    assert code == 0 and "manifest" not in out
    assert "--name=crossnode_matrix.*testcase=node_to_node_bandwidth_mpi.*extent=two" in machine.commands()[1]
    machine.prepare()
    assert machine.run("--mode", "pair")[0] == 4


def test_no_test_case_is_never_a_pass(machine):
    machine.prepare()
    code, out = machine.run()
    assert code == 4 and "No test case ran" in out


def test_no_report_is_never_a_pass(machine):
    assert machine.run()[0] == 4
    (machine.folder / "code").write_text("1")
    code, out = machine.run()
    assert code == 4 and "no report" in out


def test_a_report_of_another_session_is_not_that_of_the_run(machine):
    machine.prepare("pass")
    (machine.folder / "by_hand").write_text("")
    code, out = machine.run()
    assert code == 4 and "wrote no report" in out and "run-report-0.json belongs to another session" in out


@pytest.mark.parametrize("left", [0, 1, 20, "whose it is", -1])
@pytest.mark.parametrize("code", [0, 1])
def test_a_report_that_a_full_disk_cut_off_is_called_so_and_not_that_of_another_session(
    machine, left, code, linkmatrix
):
    machine.prepare("pass")
    machine.run()
    whole = (machine.folder / "reports" / "run-report-0.json").read_text()
    says_whose = whole.index(".xml") + 20  # a process number may be longer the next time
    (machine.folder / "cut").write_text(str(says_whose if left == "whose it is" else left % len(whole)))
    (machine.folder / "code").write_text(str(code))
    ended, out = machine.run()
    assert ended == 3 and "another session" not in out
    (line,) = (line for line in out.splitlines() if line.startswith("note: "))
    whose = "this run's report" if left in ("whose it is", -1) else "a report that may be this run's"
    assert f"note: {whose} is incomplete or damaged: " in line and "run-report-1.json is not valid JSON: " in line
    assert line.endswith(": if the disk is full, free space; then remove the file and measure again")
    assert f"INCOMPLETE  ReFrame ended with {code} and wrote no readable report" in out
    assert "wrote no report" not in out
    (machine.folder / "cut").unlink()
    (machine.folder / "code").unlink()
    assert machine.run()[0] == 0
    (said,) = linkmatrix.err("show", machine.folder / "reports" / "run-report-1.json").splitlines()
    assert said.startswith("linkmatrix: ") and "run-report-1.json is not valid JSON: " in said
    assert said.endswith(": if the disk is full, free space; then remove the file and measure again")


def test_a_report_that_nobody_may_read_is_called_so(machine, monkeypatch):
    machine.prepare("pass")
    read_whole = files.read_whole

    def refuse(path, most):
        if path.name.startswith("run-report-"):
            raise BadInput(f"{path} cannot be read: Permission denied")
        return read_whole(path, most)

    for module in (files, resume):
        monkeypatch.setattr(module, "read_whole", refuse)
    code, out = machine.run()
    assert code == 3 and "another session" not in out
    assert (
        "run-report-0.json cannot be read: Permission denied: it is unknown whether the report belongs to this run"
        in out
    )


def test_the_folders_of_a_run_have_its_stamp(machine):
    machine.prepare("pass")
    machine.run()
    (stamp,) = (machine.folder / "folders.txt").read_text().split()
    assert f"junit-{stamp}.xml" in machine.commands()[0]


def test_the_record_decides_and_not_the_word_passed(machine):
    machine.prepare("pass", off={(0, 1): 300.0})
    code, out = machine.run()
    assert code == 1 and "FAIL" in out
    assert "again: linkmatrix measure -- --system=node:gpu -n /abc0" in out


def test_a_warning_has_its_reason(machine, make_record):
    content = make_record()
    content["results"][0]["low"][0][1] = 350.0  # of an interval: it crosses the limit
    machine.prepare("pass", content=content)
    code, out = machine.run("--mode=quick")
    assert code == 0 and out.splitlines()[-1].startswith("WARN")
    assert re.search(r"WARN: device_to_device_memcpy_write_ce: gpu0->gpu1 .*350", out), out


def test_what_was_not_measured_is_said_with_its_reason_once_for_all_that_share_it(machine):
    report = json.loads(machine.prepare("fail", "fail", "pass"))
    for case in report["runs"][0]["testcases"][:2]:
        why = "job 7 did not begin in time; the scheduler's reason was: JobHeldUser"
        case |= {"unmeasured": f"not run: {why}", "fail_reason": f"sanity error: {why}"}
        (Path(case["outputdir"]) / "record.json").unlink()
    machine.store(report, code=1)
    code, out = machine.run()
    (line,) = (line for line in out.splitlines() if "JobHeldUser" in line)
    assert line.startswith("  not measured: intranode_p2p %testcase=0 and 1 more: job 7 did not begin in time; ")
    assert code == 3


def test_a_test_that_was_not_measured_is_named_with_its_partition_where_there_are_several(machine):
    report = json.loads(machine.prepare("fail", "fail"))
    for case, partition in zip(report["runs"][0]["testcases"], ("gpu", "cpu"), strict=True):
        why = f"no job began in {partition}"
        case |= {"partition": partition, "unmeasured": f"not run: {why}", "fail_reason": why, "display_name": "same"}
        (Path(case["outputdir"]) / "record.json").unlink()
    machine.store(report, code=1)
    lines = [line for line in machine.run()[1].splitlines() if "not measured: " in line]
    assert len(lines) == 2
    for partition in ("gpu", "cpu"):
        assert [line for line in lines if f"node:{partition}" in line and f"began in {partition}" in line]


@pytest.mark.parametrize("mode", ["quick", "acceptance"])
def test_a_machine_without_references_is_not_judged_and_is_told_what_to_do(machine, mode):
    machine.lack_a_reference("gpu0->gpu1")
    code, out = machine.run("--mode", mode)
    assert code == (3 if mode == "acceptance" else 0), out
    assert "1 test case: 1 NOT JUDGED" in out and f"NOT JUDGED  {mode} of this machine" in out
    assert ("acceptance requires a reference for each value" in out) is (mode == "acceptance")
    assert f"linkmatrix baseline --mode={mode}\n" in out
    assert out.count("Adopt references of this machine") == out.count("Next step: Adopt references") == 1
    assert "again: linkmatrix measure" not in out, "to measure it again does not help"


def test_a_slow_cell_fails_though_reframe_stopped_at_a_missing_reference_before_it(machine):
    machine.lack_a_reference("min[NV18]", "hgx", off={(0, 1): 300.0})
    code, out = machine.run()
    assert code == 1 and "FAIL  acceptance" in out and "again: linkmatrix measure" in out
    assert out.count("Next step: ") == 1 and "linkmatrix diagnose" in out


def test_a_reference_that_only_reframe_misses_is_named(machine, linkmatrix):
    machine.lack_a_reference("min[NV18]", "hgx")
    code, _ = machine.run()
    assert code == 3
    out = linkmatrix.out("show", code=3)
    assert "no reference value found" in out and "'min[NV18]'" in out


def test_an_exit_code_that_no_test_explains_is_incomplete(machine):
    machine.prepare("pass")
    (machine.folder / "code").write_text("1")
    code, out = machine.run()
    assert code == 3 and "ReFrame ended with 1 though no test case failed" in out


def test_suspects_are_named_until_runs_are_clean(machine, make_record):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    code, out = machine.run()
    assert code == 1 and "gpu3 of node001 is flagged since" in out and "0 of 3 clean runs of" in out
    for day, clean in (("22", "1 of 2 clean runs of"), ("23", "")):
        machine.prepare("pass", content=make_record() | {"started": f"2026-11-{day}T01:50:22Z"})
        out = machine.run("--clean-runs", "2")[1]
        assert clean in out and bool(clean) == ("is flagged" in out)


def test_a_file_system_on_which_nothing_can_be_locked_costs_incomplete(machine, monkeypatch):
    def refused(path, timeout):
        raise sqlite3.OperationalError("locking protocol")

    monkeypatch.setattr(sqlite3, "connect", refused)
    machine.prepare("pass")
    code, out = machine.run()
    assert code == 0 and "flags of earlier runs are unknown" in out and "locking protocol" in out


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
    assert "gpu3 of node001 is flagged since" in out
    with sqlite3.connect(machine.folder / "index.db") as kept:
        assert kept.execute("SELECT COUNT(*) FROM reports").fetchone() == (57,)
    shutil.rmtree(machine.folder / "output" / "0-1")  # what was found in a report is remembered
    assert "gpu3 of node001 is flagged since" in machine.run()[1]


def test_a_report_that_cannot_be_read_is_told_and_does_not_end_the_run(machine):
    machine.prepare("pass")
    (machine.folder / "reports").mkdir()
    (machine.folder / "reports" / "run-report-77.json").write_text("{")
    code, out = machine.run()
    assert code == 0 and "run-report-77.json is not valid JSON" in out


def test_a_corrected_reference_judges_remembered_reports_again(machine, reference_folder):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    assert "gpu3 of node001 is flagged" in machine.run()[1]
    file = Path("config/references/p2p.yaml")
    file.write_text(re.sub(r"(gpu3->gpu\d: \[)396.0", r"\g<1>350.0", file.read_text()))
    assert "is flagged" not in machine.run()[1]


def test_a_run_does_not_outlive_its_time(machine, monkeypatch):
    (machine.folder / "wait").write_text("")
    monkeypatch.setattr(supervise, "GRACE", 5)
    code, out = machine.run("--timeout", "0.0002")
    assert code == 4 and "time limit" in out


def test_a_full_disk_starts_nothing(machine, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    code, out = machine.run()
    assert code == 4 and "MiB: remove files" in out and not (machine.folder / "command.txt").exists()


@pytest.mark.parametrize("result", ["pass", "fail"])
def test_a_disk_that_is_full_after_the_run_is_neither_pass_nor_fail(machine, monkeypatch, result):
    machine.prepare(result, off={(0, 1): 300.0} if result == "fail" else {})
    monkeypatch.setattr(begin, "FULL", 1 << 62)
    code, out = machine.run()
    (line,) = (line for line in out.splitlines() if line.startswith("INCOMPLETE"))
    assert code == 4 and "PASS" not in out and "FAIL" not in out
    assert f"the disk of {machine.folder} is full: remove files" in line and "run-report-0.json" in line


@pytest.mark.parametrize("arguments", [["--retries", "-1"], ["--timeout", "0"], *KEPT])
def test_bad_input_starts_nothing(machine, linkmatrix, arguments):
    assert linkmatrix.err("run", "--reframe", machine.reframe, *arguments).count("\n") == 1


def test_a_run_prints_its_kinds_and_errors_of_reframe_but_not_its_other_output(machine):
    machine.prepare("pass", *["fail"] * 9)
    said = 'echo "FAILURE INFO for case"; echo "ERROR: of its own"; exec'
    machine.reframe.write_text(machine.reframe.read_text().replace("exec", said))
    code, out = machine.run("--mode", "quick")
    assert code == 3 and "bandwidth, devices" in out and len(out.splitlines()) <= 25
    assert "FAILURE INFO" not in out and "$ " not in out and out.count("ERROR: of its own") == 1
    assert out.count("again: linkmatrix measure") == 3
    code, out = machine.run("--mode", "quick", "-v")
    assert code == 3 and out.startswith("$ ")
