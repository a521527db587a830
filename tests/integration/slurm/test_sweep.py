"""A sweep of a real Slurm's nodes: one of them drained, one at fault, one named that is not there."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reframe_runs import report_of, wait_until

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.runs import stored
from linkmatrix.show import summary

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

# what is wrong on one node only: the job's shell knows where it runs
CPU = '"descr": "nodes without GPUs: host memory and the network",'
FAULT = 'if [ "$(hostname)" = lmx3 ]; then FAULT="--simulate-fault corrupt:cpu1"; fi'
WRONG_ON_LMX3 = {CPU: f"{CPU} 'prepare_cmds': ['{FAULT}'],"}
FAULTY = {"more": ("$FAULT",), "replace": WRONG_ON_LMX3}


def jobs_of(slurm):
    """All jobs that the controller knows, ended ones too; the database learns of a job some time later."""
    return slurm("squeue", "-h", "-t", "all", "-o", "%A").split()


@pytest.fixture
def drained(slurm):
    """lmx2, drained for a reason until the test ends."""
    slurm("scontrol", "update", "nodename=lmx2", "state=drain", "reason=bad DIMM")
    yield "lmx2"
    slurm("scontrol", "update", "nodename=lmx2", "state=resume")


def test_all_nodes_are_measured_but_the_drained_one_and_the_one_at_fault_is_named(sweep, slurm, drained):
    before = jobs_of(slurm)
    run, by_node, judged = sweep("all", **FAULTY)
    assert run.code != 0
    assert {node: check["result"] for node, check in by_node.items()} == {
        "lmx1": "pass",
        "lmx2": "skip",
        "lmx3": "fail",
    }, run.output
    assert re.search(r"device_to_device_\w+: cpu\d->cpu\d", by_node["lmx3"]["fail_reason"])
    assert len({check["jobid"] for check in by_node.values() if check["jobid"]}) == 2
    assert len(set(jobs_of(slurm)) - set(before)) == 2  # none for the drained one
    assert stored.find(report_of(run)).rerun.startswith("LINKMATRIX_NODES=lmx1,lmx2,lmx3 ")
    found = {one.test.node: one.verdict for one in judged}
    assert found["lmx3"] is Verdict.FAIL and found["lmx2"] is Verdict.NOT_JUDGED
    lines = summary.node_lines(judged)
    assert lines[1].startswith("  FAIL       lmx3: device_to_device_")
    assert "  out of service lmx2: not run: the scheduler reports drained: bad DIMM" in lines


@pytest.fixture
def four(daemons):
    """The partition `four`: the three nodes, and one that is drained and has no daemon; gone when the test ends."""
    drained = 'NodeName=lmx4 NodeAddr=10.98.77.253 State=DRAIN Reason="bad DIMM"'
    with daemons.configured_with(drained, "PartitionName=four Nodes=ALL"):
        yield "four"


def test_a_sweep_of_four_nodes_with_one_drained_is_exit_code_0_and_lists_the_node(four, site, of_linkmatrix, tmp_path):
    file = site / "config" / "systems" / "slurm_example.py"
    file.write_text(file.read_text().replace("--partition=cpu", f"--partition={four}"))
    reframe = ["--reframe", str(Path(sys.executable).parent / "reframe")]
    command = [sys.executable, "-m", "linkmatrix", "run", "--mode=sweep", "--system=slurm-example:cpu", *reframe]
    little = ["--", "-S", "node_sweep.extra_opts=--samples,3,--target-ci,50"]
    done = subprocess.run(
        [*command, *little],
        env={**of_linkmatrix, "LINKMATRIX_PREFIX": str(tmp_path / "results")},
        cwd=site,
        timeout=300,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    assert "4 nodes: 3 NOT JUDGED, 1 out of service" in done.stdout  # there are no references
    assert re.search(r"^  out of service lmx4: .*drained.*bad DIMM", done.stdout, re.MULTILINE), done.stdout


def test_the_page_has_the_node_at_fault_first_and_the_drained_one(sweep, drained, tmp_path, capsys):
    run, _, _ = sweep("lmx[1-3]", **FAULTY)
    assert cli.main(["report", str(report_of(run)), "--out", str(tmp_path / "page")]) == 1
    page = (tmp_path / "page" / "report.html").read_text()
    assert re.findall(r'<th scope="row">(lmx\d)</th>', page)[0] == "lmx3"
    assert "not run: the scheduler reports drained: bad DIMM" in page


def test_a_node_that_the_partition_does_not_have_is_no_job(sweep, slurm):
    before = jobs_of(slurm)
    _, by_node, judged = sweep("lmx1,nope")
    assert "slurm-example:cpu has no node nope, only lmx1, lmx2, lmx3" in by_node["nope"]["fail_reason"]
    assert len(set(jobs_of(slurm)) - set(before)) == 1
    assert {one.test.node: one.verdict for one in judged}["nope"] is Verdict.INCOMPLETE


@pytest.fixture
def busy(slurm):
    """A job of somebody else that has lmx2 until the test ends."""
    other = slurm(
        "sbatch", "--parsable", "-p", "cpu", "-w", "lmx2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 300"
    )
    yield other
    slurm("scancel", other)


@pytest.mark.parametrize("back_end", ["slurm", "squeue"])
def test_a_node_that_is_drained_while_its_job_waits_is_listed_as_not_run(sweep, slurm, busy, meanwhile, back_end):
    def drain():
        pending = ("squeue", "-h", "-t", "PD", "-o", "%j")
        wait_until(lambda: "rfm_node_sweep" in slurm(*pending), "no job of the sweep is pending")
        slurm("scontrol", "update", "nodename=lmx2", "state=drain", "reason=bad DIMM")

    meanwhile(drain)
    try:
        run, by_node, judged = sweep("lmx[1-2]", replace={'"slurm"': f'"{back_end}"'})
        left = slurm("squeue", "-h", "-o", "%j")
    finally:
        slurm("scontrol", "update", "nodename=lmx2", "state=resume")
    assert {node: check["result"] for node, check in by_node.items()} == {"lmx1": "pass", "lmx2": "skip"}, run.output
    assert "rfm" not in left
    assert {one.test.node: one.test.out_of_service for one in judged} == {"lmx1": False, "lmx2": True}
    lines = summary.node_lines(judged)
    assert "  out of service lmx2: not run: the scheduler reports draining: bad DIMM" in lines


def test_a_node_that_stays_busy_is_incomplete_and_no_failure(sweep, slurm, busy):
    run, _, judged = sweep("lmx2", "-S", "max_pending_time=8s")
    assert run.code != 0
    (one,) = judged
    assert one.verdict is Verdict.INCOMPLETE
    assert "max_pending_time is 8 s" in one.reasons[0]
    assert "rfm" not in slurm("squeue", "-h", "-o", "%j")


def test_a_node_is_asked_for_by_the_name_that_the_scheduler_has_of_it(sweep):
    run, _, _ = sweep("lmx3.cluster.example")
    assert run.code == 0, run.output
    assert [check["job_nodelist"] for check in run.checks()] == [["lmx3"]]


@pytest.fixture
def reservation(slurm):
    """A reservation of lmx2 until the test ends."""
    words = ("ReservationName=acceptance", "users=root", "nodes=lmx2", "starttime=now", "duration=30")
    assert "created" in slurm("scontrol", "create", *words)
    yield "acceptance"
    slurm("scontrol", "delete", "ReservationName=acceptance")


def test_a_sweep_in_a_reservation_measures_the_reserved_nodes_only(sweep, reservation):
    run, by_node, _ = sweep("all", "-J", f"reservation={reservation}")
    assert {node: check["result"] for node, check in by_node.items()} == {"lmx2": "pass"}, run.output


@pytest.mark.slow
def test_of_a_fleet_of_500_nodes_those_that_are_there_are_measured_and_each_other_is_listed(
    sweep, slurm, fleet, capsys
):
    before, begin = jobs_of(slurm), time.monotonic()
    run, _, judged = sweep("all", replace={"--partition=cpu": f"--partition={fleet}"})
    seconds = time.monotonic() - begin
    by_result = {}
    for check in run.checks():
        by_result.setdefault(check["result"], []).append(check["node"])
    assert sorted(by_result["pass"]) == ["lmx1", "lmx2", "lmx3"], run.output
    assert by_result.keys() == {"pass", "skip"} and len(by_result["skip"]) == 497
    assert len(set(jobs_of(slurm)) - set(before)) == 3
    found = {one.test.node: one for one in judged}
    reasons = {found[node].reasons[0].replace("down*", "down") for node in by_result["skip"]}  # * : it does not answer
    assert reasons == {"not run: the scheduler reports down: never built"}
    assert summary.node_lines(judged)[0] == "500 nodes: 500 INCOMPLETE"  # there are no references
    with capsys.disabled():
        print(f"\na sweep of 500 nodes, 3 of them there: {seconds:.0f} s")
