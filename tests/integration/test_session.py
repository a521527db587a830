"""One job for a suite of test cases: what it runs, what each test reads, and which tests measure by themselves."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from reframe_runs import judged, record_of, report_of

from linkmatrix.judge.verdicts import Verdict

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

WRITE, READ, LATENCY = (f"device_to_device_{name}" for name in ("memcpy_write_ce", "memcpy_read_ce", "flag_latency_sm"))
REPOSITORY = Path(__file__).resolve().parents[2]
BOTH = ("-r", "-n", f"intranode_p2p.*({WRITE}|{READ})$")
SHORT = ("-S", "intranode_p2p.extra_opts=--samples,3,--target-ci,50", "-S", "intranode_p2p.size=1MiB")


def suite(*words):
    """The option that makes these words the suite of the session of one node."""
    return "-S", f"node_session.suite={','.join(words)}"


def session_of(run):
    """The session's entry in ReFrame's report."""
    (found,) = (case for case in run.testcases if case["name"].startswith("node_session"))
    return found


def end_program(folder):
    """SIGKILL to the p2p_matrix that was built below a folder."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            program = process.read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if program.endswith("p2p_matrix") and program.startswith(str(folder)):
            os.kill(int(process.parent.name), signal.SIGKILL)


def test_one_job_and_one_process_measure_the_suite_and_nothing_else(reframe):
    run = reframe(*BOTH, *SHORT, *suite(READ, WRITE))
    assert run.code == 0, run.output
    whole = record_of(session_of(run), "outputdir", "process1")
    assert sorted(result["testcase"] for result in whole["results"]) == sorted([READ, WRITE])
    assert {case["jobid"] for case in run.checks()} == {session_of(run)["jobid"]}
    for check in run.checks():
        record = record_of(check)
        assert [result["testcase"] for result in record["results"]] == [check["testcase"]]
        assert record["asked_by"] == check["display_name"]
        assert record["results"][0] in whole["results"]
    assert "2 test cases in 1 process of one job" in run.output


def test_a_test_case_with_a_size_of_its_own_shares_the_process_of_the_others(reframe):
    run = reframe("-r", "-n", f"intranode_p2p.*({WRITE}|{LATENCY})$", *SHORT, *suite(WRITE, LATENCY))
    assert run.code == 0, run.output
    assert not Path(session_of(run)["outputdir"], "process2").exists()
    sizes = {check["testcase"]: record_of(check)["results"][0]["size_bytes"] for check in run.checks()}
    assert sizes[WRITE] == 1 << 20
    assert sizes[LATENCY] != 1 << 20


def test_a_session_that_dies_in_the_middle_is_judged_as_far_as_it_came(reframe, tmp_path, meanwhile):
    def kill_after_the_first():
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for record in tmp_path.glob("results*/stage/**/process1/record.json"):
                if record.read_text().count('"testcase":') > 1:  # the second has begun
                    end_program(tmp_path)
                    return
            time.sleep(0.02)

    meanwhile(kill_after_the_first)
    # each takes seconds, so the second has begun when the first is there, and has not ended
    long = "intranode_p2p.extra_opts=--samples,100,--target-ci,50,--max-time,60"
    run = reframe("-r", "-n", f"intranode_p2p.*({WRITE}|{READ}|{LATENCY})$", "-S", long, *suite(READ, WRITE, LATENCY))
    assert run.code != 0
    by_name = {check["testcase"]: check for check in run.checks()}
    passed = [name for name, check in by_name.items() if check["result"] == "pass"]
    assert passed == [READ], run.output
    assert record_of(by_name[READ])["result"] == "PASS"
    assert "ended before this test" in by_name[LATENCY]["fail_reason"]
    verdicts = {one.test.testcase: one.verdict for one in judged(run)}
    assert verdicts[LATENCY] == Verdict.INCOMPLETE
    assert verdicts[WRITE] >= Verdict.INCOMPLETE


def jobs_of(run):
    """The job of each test."""
    return [check["jobid"] for check in run.checks()]


def test_without_a_suite_each_test_measures_in_a_job_of_its_own(reframe):
    run = reframe(*BOTH, *SHORT)
    assert run.code == 0, run.output
    assert session_of(run)["jobid"] is None
    assert len(set(jobs_of(run))) == 2 and None not in jobs_of(run)
    for check in run.checks():
        assert record_of(check)["asked_by"] == check["display_name"]


def test_the_session_measures_its_whole_suite_though_one_test_is_selected(reframe):
    run = reframe("-r", "-n", f"intranode_p2p.*{WRITE}$", *SHORT, *suite(READ, WRITE))
    assert run.code == 0, run.output
    assert len(record_of(session_of(run), "outputdir", "process1")["results"]) == 2
    (check,) = run.checks()
    assert check["jobid"] == session_of(run)["jobid"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("quik", "quick"), ("device_to_device_memcpy_wirte_ce", WRITE), (f"{READ},-nobdy", "nbody")],
)
def test_an_unknown_word_of_a_suite_fails_with_similar_ones_and_measures_nothing(reframe, word, meant):
    run = reframe(*BOTH, *SHORT, *suite(word), "--max-retries=1")
    assert run.code != 0
    session = session_of(run)
    assert (session["result"], session["fail_phase"]) == ("fail", "setup")
    assert f"unknown words: {word.rpartition(',-')[2]}" in session["fail_reason"]
    (similar,) = re.findall("Similar words: ([^.]*)", session["fail_reason"])
    assert meant in similar
    assert [check["result"] for check in run.checks()] == ["fail_deps"] * 2
    assert {one.verdict for one in judged(run)} == {Verdict.INCOMPLETE}


def test_a_rerun_measures_in_a_job_of_its_own(reframe):
    run = reframe("-r", "-n", f"intranode_p2p.*{WRITE}$", *SHORT, *suite(WRITE), "--reruns=2")
    assert run.code == 0, run.output
    cases = [case for one in json.loads(report_of(run).read_text())["runs"] for case in one["testcases"]]
    jobs = [case["jobid"] for case in cases if not case["fixture"]]
    sessions = [case["jobid"] for case in cases if case["name"].startswith("node_session")]
    assert len(set(jobs)) == 3 and sessions == [jobs[0], None, None]


def test_a_test_that_is_retried_has_a_job_of_its_own(reframe):
    wrong = ("-S", "intranode_p2p.extra_opts=--samples,3,--target-ci,50,--simulate-fault,corrupt:cpu1")
    options = ("-S", "intranode_p2p.size=1MiB", *suite(WRITE), "--max-retries=3")
    run = reframe("-r", "-n", f"intranode_p2p.*{WRITE}$", *wrong, *options)
    assert run.code != 0
    assert "retry 3/3" in run.output and "could not resolve dependency" not in run.output
    (check,) = run.testcases  # of the last attempt: ReFrame alone loses it in the second
    assert check["testcase"] == WRITE
    assert "cpu1" in check["fail_reason"]
    assert Path(check["stagedir"], "process1", "record.json").exists()


def test_what_failed_is_measured_again_where_the_session_is_restored(reframe):
    wrong = ("-S", "intranode_p2p.extra_opts=--samples,3,--target-ci,50,--simulate-fault,corrupt:cpu1")
    first = reframe(*BOTH, *wrong, "-S", "intranode_p2p.size=1MiB", *suite(READ, WRITE))
    assert first.code != 0
    again = reframe("-r", f"--restore-session={report_of(first)}", "--failed", *SHORT, *suite(READ, WRITE))
    assert again.code == 0, again.output
    assert {check["testcase"]: check["result"] for check in again.checks()} == {READ: "pass", WRITE: "pass"}
    for check in again.checks():
        assert record_of(check)["asked_by"] == check["display_name"]


@pytest.mark.parametrize("option", ["--exec-policy=serial", "--exec-policy=async"])
def test_the_session_is_measured_first_by_each_policy(reframe, option):
    run = reframe(*BOTH, *SHORT, *suite(READ, WRITE), option)
    assert run.code == 0, run.output
    assert {*jobs_of(run)} == {session_of(run)["jobid"]}


def test_distribute_is_refused_with_what_to_do(reframe):
    run = reframe(*BOTH, "--distribute=all")
    assert run.code != 0
    for check in run.checks():
        assert "--distribute is refused" in check["fail_reason"]
        assert "-S on=NODE" in check["fail_reason"]
        assert check["jobid"] is None


# The check of the topology, of the back end host: two cores are promised what `promised` says of them.
HOST_TOPOLOGY = """
import reframe as rfm
from reframe.utility import import_module_from_file

topology = import_module_from_file("{checks}/topology.py", load_parents=True)


@rfm.simple_test
class host_topology(topology.gpu_topology):
    valid_systems = valid_prog_environs = ["*"]

    def program_opts(self):
        return ["--backend", "host"]

    def faults(self):
        return topology.path_faults(self.record, type(self.expected)(peer_access={promised}))
"""


@pytest.fixture
def host_topology(tmp_path):
    """A function that writes that check; its options of ReFrame."""

    def write(promised="True"):
        file = tmp_path / "host_topology.py"
        file.write_text(HOST_TOPOLOGY.format(checks=REPOSITORY / "checks", promised=promised))
        return "-c", str(file)

    return write


def both(run):
    """The entries of the topology and of the test case in ReFrame's report."""
    found = {check["name"].partition("_")[0]: check for check in run.checks()}
    return found["host"], found["intranode"]


ONE = ("-r", "-n", f"host_topology|intranode_p2p.*{WRITE}$", *suite("host_topology", WRITE))


def test_the_topology_is_read_from_the_process_that_measures(reframe, host_topology):
    run = reframe(*ONE, *host_topology(), "-S", "intranode_p2p.size=1MiB")
    assert run.code == 0, run.output
    assert "2 test cases in 1 process of one job" in run.output
    look, _ = both(run)
    whole, record = record_of(session_of(run), "outputdir", "process1"), record_of(look)
    assert (record["results"], record["asked_by"]) == ([], look["display_name"])
    assert record["topology"] == whole["topology"] and len(whole["results"]) == 1
    assert {one.verdict for one in judged(run) if one.test.name == "host_topology"} == {Verdict.PASS}


def test_a_topology_that_is_not_as_promised_fails_alone(reframe, host_topology):
    run = reframe(*ONE, *host_topology(promised="False"), "-S", "intranode_p2p.size=1MiB")
    look, measured = both(run)
    assert (look["result"], measured["result"]) == ("fail", "pass")
    assert "cpu0->cpu1: peer access is on, expected is off" in look["fail_reason"]


def test_a_process_that_was_refused_before_it_measured_leaves_the_topology_to_another(reframe, host_topology):
    run = reframe(*ONE, *host_topology(), "-S", "extra_opts=--devices,0")
    look, measured = both(run)
    assert (look["result"], measured["result"]) == ("pass", "fail"), run.output
    assert "cannot run here: it needs 2 devices" in measured["fail_reason"]
    record = record_of(look)
    assert "--topology" in record["command"] and record["asked_by"] == look["display_name"]
    assert len(record["devices"]) == 1


RANKS = suite("rank_binding", "rank_p2p.rank_to_rank_bandwidth_mpi")


def test_ranks_are_where_they_should_be_and_are_measured_in_one_start(reframe, unavailable):
    run = reframe("-r", "-n", "rank_binding|rank_p2p.*bandwidth_mpi", "-S", "rank_p2p.size=1MiB", *RANKS)
    if not run.checks():
        unavailable("no MPI here, so ReFrame has no rank check to run")
    assert run.code == 0, run.output
    assert "2 test cases in 1 process of one job" in run.output
    outputs = {check["name"].partition("_p2p")[0]: Path(check["outputdir"]) for check in run.checks()}
    said = (outputs["rank_binding"] / "rfm_job.out").read_text().splitlines()
    assert [line.split()[2] for line in said] == ["rank=0", "rank=1"]
    assert "binding host=" not in (outputs["rank"] / "rfm_job.out").read_text()


def test_ranks_that_cannot_be_measured_are_where_they_should_be_all_the_same(reframe, unavailable):
    wrong = ("-S", "rank_p2p.extra_opts=--no-such-option")
    run = reframe("-r", "-n", "rank_binding|rank_p2p.*bandwidth_mpi", *wrong, *RANKS)
    if not run.checks():
        unavailable("no MPI here, so ReFrame has no rank check to run")
    results = {check["name"].partition("_p2p")[0]: check["result"] for check in run.checks()}
    assert results == {"rank_binding": "pass", "rank": "fail"}, run.output


def test_a_record_of_an_earlier_run_in_the_same_stage_is_not_judged(reframe, tmp_path, monkeypatch):
    """As by `reframe --dont-restage` with the same folder: the tests passed, though their program had not begun."""
    monkeypatch.setenv("RFM_TIMESTAMP_DIRS", "same")
    kept = ("--dont-restage", "--keep-stage-files", f"--stage={tmp_path / 'stage'}")
    first = reframe(*BOTH, *SHORT, *suite(READ, WRITE), *kept)
    assert first.code == 0, first.output
    again = reframe(*BOTH, "-S", "intranode_p2p.extra_opts=--no-such-option", *suite(READ, WRITE), *kept)
    assert [check["result"] for check in again.checks()] == ["fail"] * 2, again.output
    for check in again.checks():
        assert "p2p_matrix refused its options: unknown option" in check["fail_reason"]
        assert "ended" not in check["fail_reason"] and not check["unmeasured"]
