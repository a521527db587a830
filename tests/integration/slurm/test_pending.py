"""A job that waits in the queue of a real Slurm says why, and one that could wait for ever is not waited for."""

import os
import re

import pytest
from fake_programs import fake_program
from reframe_runs import HOST, QUICK, RANKS, judged, only, wait_until

from linkmatrix.judge.verdicts import Verdict

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

LONG = ("-S", "intranode_p2p.time_limit=2h")
ONE_EACH = (*RANKS, "-S", "rank_p2p.ranks=1")


def verdict(run):
    """The verdict of linkmatrix on the one check."""
    (one,) = judged(run)
    return one.verdict


def ended(run, slurm):
    """Why the one check failed, of which there is no verdict; nothing of it is left in the queue."""
    assert run.code != 0, run.output
    assert slurm("squeue", "-h") == ""
    assert verdict(run) is Verdict.INCOMPLETE
    return only(run)["fail_reason"]


def partition(name):
    """A site whose partition is that of the cluster."""
    return {"--partition=cpu": f"--partition={name}"}


BACK_ENDS = pytest.mark.parametrize("back_end", ["slurm", "squeue"])


@BACK_ENDS
def test_an_account_that_the_partition_does_not_let_in_ends_it_at_once(login, slurm, back_end):
    replace = {**partition("owned"), '"scheduler": "slurm"': f'"scheduler": "{back_end}"'}
    run = login(*HOST, *QUICK, "-J", "account=project", replace=replace)
    reason = ended(run, slurm)
    assert "the job could never begin" in reason
    assert "Job's account not permitted to use this partition" in reason
    assert re.search(r"waiting: job \d+ .*account not permitted", run.output)


def test_more_nodes_than_there_are_end_it_at_once(login, slurm):
    run = login(*ONE_EACH, "-S", "rank_p2p.nodes=4")
    assert re.search("PartitionNodeLimit .the partition does not allow|More processors|node count", ended(run, slurm))


def test_more_time_than_the_quality_of_service_gives_ends_it_at_once(login, slurm):
    reason = ended(login(*HOST, *QUICK, *LONG, replace=partition("brief")), slurm)
    assert "QOSMaxWallDurationPerJobLimit (the job requests more time than its quality of service" in reason


def test_a_job_asks_for_no_more_time_than_its_partition_says(login, slurm):
    replace = {**partition("brief"), '# "time_limit": "20m"': '"time_limit": "20m"'}
    run = login(*HOST, *QUICK, *LONG, replace=replace)
    assert run.code == 0, run.output
    assert "TimeLimit=00:20:00" in slurm("scontrol", "show", "job", only(run)["jobid"])


def test_a_partition_that_is_down_is_waited_for_and_said(login, slurm):
    run = login(*HOST, *QUICK, "-S", "max_pending_time=12s", replace=partition("closed"))
    assert "waiting: job" in run.output
    assert "PartitionDown (the partition starts no jobs now" in run.output
    reason = ended(run, slurm)
    assert "max_pending_time is 12 s" in reason
    assert "the scheduler's reason was: PartitionDown" in reason


def test_a_partition_that_comes_up_again_in_time_is_measured(login, slurm, meanwhile):
    def open_it():
        wait_until(lambda: "PartitionDown" in slurm("squeue", "-h", "-o", "%r"), "no job waits for the partition")
        slurm("scontrol", "update", "partitionname=closed", "state=up")

    meanwhile(open_it)
    try:
        run = login(*HOST, *QUICK, "-S", "max_pending_time=10m", replace=partition("closed"))
    finally:
        slurm("scontrol", "update", "partitionname=closed", "state=down")
    assert run.code == 0, run.output


def test_a_job_that_somebody_cancels_in_the_queue_is_incomplete(login, slurm, meanwhile):
    other = slurm("sbatch", "--parsable", "-p", "cpu", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 120")

    def cancel():
        wait_until(lambda: "rfm_" in slurm("squeue", "-h", "-t", "PD", "-o", "%j"), "no job of a check is pending")
        slurm("scancel", "--state=PENDING", "--partition=cpu")

    meanwhile(cancel)
    try:
        run = login(*HOST, *QUICK)
    finally:
        slurm("scancel", other)
    assert "CANCELLED" in only(run)["fail_reason"] and "before it could write" in only(run)["fail_reason"]
    assert verdict(run) is Verdict.INCOMPLETE


@pytest.mark.parametrize("sweep", [False, True], ids=["session", "sweep"])
def test_a_job_that_cannot_be_submitted_is_incomplete_in_the_words_of_sbatch(login, monkeypatch, tmp_path, sweep):
    folder = tmp_path / "bin"
    fake_program(folder / "sbatch", "echo sbatch: error: Socket timed out on send/recv operation >&2", "exit 1")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("LINKMATRIX_NODES", "lmx1")
    run = login(*(("-r", "--mode=sweep") if sweep else (*HOST, *QUICK)))
    assert "Socket timed out" in only(run)["fail_reason"]
    assert verdict(run) is Verdict.INCOMPLETE


@pytest.fixture
def drained(slurm, daemons):
    """lmx2 is drained until the test ends. A node that is down would return by itself: ReturnToService is 2."""
    slurm("scontrol", "update", "nodename=lmx2", "state=drain", "reason=PSU failed")
    yield "lmx2"
    slurm("scontrol", "update", "nodename=lmx2", "state=resume")


@BACK_ENDS
def test_a_required_node_that_is_out_of_service_ends_it_at_once(login, slurm, drained, back_end):
    run = login(*HOST, *QUICK, "-S", f"on={drained}", replace={'"scheduler": "slurm"': f'"scheduler": "{back_end}"'})
    reason = ended(run, slurm)
    assert "the job could never begin" in reason and "lmx2 is drained: PSU failed" in reason


def test_more_nodes_than_are_in_service_end_it_at_once(login, slurm, drained):
    reason = ended(login(*ONE_EACH, "-S", "rank_p2p.nodes=3"), slurm)
    assert "the job could never begin" in reason and "the job requests 3 nodes, and 2 of 3 of cpu are" in reason


def test_more_nodes_than_the_quality_of_service_has_end_it_at_once(login, slurm):
    slurm("sacctmgr", "-i", "modify", "qos", "brief", "set", "GrpTRES=node=1")
    try:
        reason = ended(login(*ONE_EACH, "-S", "rank_p2p.nodes=2", replace=partition("brief")), slurm)
    finally:
        slurm("sacctmgr", "-i", "modify", "qos", "brief", "set", "GrpTRES=node=-1")
    assert "QOSGrpNodeLimit" in reason and "the job requests node=2" in reason


def test_more_time_than_the_partition_gives_ends_it_at_once(login, slurm):
    reason = ended(login(*HOST, *QUICK, *LONG), slurm)
    assert "PartitionTimeLimit" in reason and "-S time_limit=" in reason
