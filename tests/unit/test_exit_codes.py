"""Exit codes: 1 is a statement about the machine, 3 that something is missing or disturbed, 4 that nothing began."""

import json
import os
import socket

import pytest
import stored_verdicts

from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.runs import judging, modes
from linkmatrix.runs.testcases import Test as Stored


def judged(verdict, began=True):
    return judging.Judged(Stored("a", began=began), verdict)


@pytest.mark.parametrize(
    ("verdicts", "code", "in_acceptance"),
    [
        ([Verdict.PASS, Verdict.WARN], 0, 0),
        ([Verdict.NOT_JUDGED, Verdict.PASS], 0, 3),
        ([Verdict.DISTURBED, Verdict.NOT_JUDGED], 3, 3),
        ([Verdict.INCOMPLETE, Verdict.DISTURBED], 3, 3),
        ([Verdict.FAIL, Verdict.INCOMPLETE], 1, 1),
        ([], 4, 4),
    ],
)
def test_a_run_ends_with_the_code_of_its_worst_test(verdicts, code, in_acceptance):
    tests = [judged(one) for one in verdicts]
    assert judging.exit_code(tests) == code
    assert judging.exit_code(tests, acceptance=True) == in_acceptance


def test_nothing_began_where_no_test_did():
    tests = [judged(Verdict.INCOMPLETE, began=False)] * 2
    assert judging.exit_code(tests) == 4
    assert judging.exit_code([*tests, judged(Verdict.INCOMPLETE)]) == 3
    assert judging.exit_code([*tests, judged(Verdict.PASS)]) == 3
    assert judging.exit_code([*tests, judged(Verdict.FAIL)]) == 1


REFUSED = ["--skip-sanity-check", "--skip-performance-check", "--skip-sa", "--skip-pe"]
REFUSED += ["--disable-hook=publish", "--disable-hook", "--disa"]  # `publish` gives ReFrame the references


@pytest.mark.parametrize("words", [[one] for one in REFUSED] + [["-S", "strict_check=no"], ["-Sp2p.strict_check=0"]])
@pytest.mark.parametrize("command", ["run", "measure"])
def test_options_by_which_tests_pass_unchecked_are_refused_before_anything_starts(machine, linkmatrix, command, words):
    (line,) = linkmatrix.err(command, "--reframe", machine.reframe, "--", *words).splitlines()
    assert "is refused" in line and not (machine.folder / "command.txt").exists()


@pytest.mark.parametrize(
    "words", [["--skip-prgenv-check"], ["-S", "strict_check=yes"], ["-n", "skip-sanity"], ["--dist"]]
)
def test_other_options_are_not(words):
    assert modes.refused_option(words) == ""


@pytest.fixture
def ended(machine, reference_folder):
    """A function that runs where every test ends in one way: (exit code, output)."""

    def run(result, *options, reasons=(), code=1, **case):
        machine.prepare(result)
        path = machine.folder / "prepared.json"
        stored_verdicts.of_report(path, reference_folder, CheckFacts(reasons=reasons))
        report = json.loads(path.read_text())
        report["runs"][0]["testcases"][0] |= case
        path.write_text(json.dumps(report))
        (machine.folder / "code").write_text(str(code))
        return machine.run(*options)

    return run


NO_VERDICT = {"verdict_sha256": "", "verdict_file": "", "job_began": False}


@pytest.mark.parametrize("how", ["sbatch refused the job", "--distribute is refused", "bad prgenv"])
def test_a_test_whose_job_never_began_is_no_fault_of_the_machine(ended, how):
    code, out = ended("fail", fail_phase="run_wait", fail_reason=how, **NO_VERDICT)
    assert code == 4 and how in out and "FAIL" not in out.replace("PASS", "")


def test_a_job_that_began_and_left_no_verdict_is_incomplete(ended):
    more = {**NO_VERDICT, "job_began": True}
    code, _ = ended("fail", fail_phase="sanity", fail_reason="job exited with exit code 1", **more)
    assert code == 3


@pytest.mark.parametrize("verdict", [Verdict.INCOMPLETE, Verdict.DISTURBED])
@pytest.mark.parametrize("why", ["the job reached its time limit", "the job ran out of memory", "2 ranks on core 0"])
def test_what_is_missing_or_disturbed_is_three(ended, verdict, why):
    code, out = ended("fail", reasons=(Reason(verdict, why),), fail_phase="sanity", fail_reason=why)
    assert code == 3 and why in out


def test_a_promise_that_the_machine_breaks_is_one(ended):
    why = "the partition specifies 8 GPUs, node001 has gpu0"
    assert ended("fail", reasons=(Reason(Verdict.FAIL, why),), fail_phase="sanity", fail_reason=why)[0] == 1


def test_a_dry_run_began_nothing(ended, machine):
    def played(*words):
        machine.prepare("pass")
        report = json.loads((machine.folder / "prepared.json").read_text())
        report["runs"][0]["testcases"][0] |= NO_VERDICT
        machine.store(report)
        return machine.run("--", *words)[0]

    assert played("--dry-run") == 4


def test_a_run_that_is_killed_leaves_a_trace_and_one_that_ends_leaves_none(machine):
    machine.prepare("pass")
    machine.run("--mode", "quick")
    assert not list((machine.folder / "runs").glob("began-*.json"))
    note = machine.reframe.with_name("note.json")
    machine.reframe.write_text(f'#!/bin/sh\ncat "$LINKMATRIX_PREFIX"/runs/began-*.json > {note}\n')
    machine.run("--mode", "quick", "--system", "node:gpu")
    found = json.loads(note.read_text())
    assert (found["mode"], found["system"], found["pid"]) == ("quick", "node:gpu", os.getpid())
    assert found["host"] == socket.gethostname() and found["stamp"].endswith(str(os.getpid())) and found["started"]


def test_a_run_without_a_report_whose_jobs_began_is_incomplete_and_stays_noted(machine):
    job = '"$LINKMATRIX_PREFIX"/stage/"$RFM_TIMESTAMP_DIRS"/n'
    machine.reframe.write_text(f"#!/bin/sh\nmkdir -p {job}\ntouch {job}/rfm_job.out\nexit 1\n")
    code, out = machine.run()
    assert code == 3 and "INCOMPLETE" in out
    assert len(list((machine.folder / "runs").glob("began-*.json"))) == 1
