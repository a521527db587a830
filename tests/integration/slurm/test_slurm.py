"""The checks through a real Slurm: submitted, waited for, judged. Every way for a job to end badly is one verdict."""

import threading
from pathlib import Path

import pytest

import linkmatrix.record

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

HOST = ("-r", "-n", "device_to_device_memcpy_write_ce$")
RANKS = ("-r", "-n", "rank_to_rank_latency_mpi")
QUICK = "--samples,3,--size,1MiB"
HANG = f"{QUICK},--simulate-fault,hang:cpu1,--timeout,120"


def only(run):
    """The one check that ran."""
    (check,) = run.checks()
    return check


def record_of(check):
    return linkmatrix.record.load(Path(check["outputdir"]) / "record.json")


def test_a_job_on_one_node_is_measured_there(login):
    run = login(*HOST, "-S", f"intranode_p2p.extra_opts={QUICK}")
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] in {"lmx1", "lmx2", "lmx3"}


@pytest.mark.parametrize(
    "replace",
    [{}, {'"launcher": "srun"': '"launcher": "mpirun"'}, {'"scheduler": "slurm"': '"scheduler": "squeue"'}],
    ids=["slurm-srun", "slurm-mpirun", "squeue-srun"],
)
def test_ranks_on_three_nodes_are_a_matrix_over_the_network(login, replace):
    run = login(*RANKS, "-S", "rank_p2p.nodes=3", "-S", "rank_p2p.ranks=1", replace=replace)
    assert run.code == 0, run.output
    record = record_of(only(run))
    assert sorted(device["node"] for device in record["devices"]) == ["lmx1", "lmx2", "lmx3"]
    (result,) = record["results"]
    assert {result["link_class"][row][column] for row in range(3) for column in range(3) if row != column} == {"NET"}
    assert result["complete"]
    assert result["verified"]


def test_ranks_that_share_nodes_have_both_classes(login):
    run = login(*RANKS, "-S", "rank_p2p.nodes=2", "-S", "rank_p2p.ranks=2")
    assert run.code == 0, run.output
    published = {name.split(":")[-1] for name in only(run)["perfvalues"]}
    assert {"min[NODE]", "max[NET]", "rank0->rank3"} <= published


def test_a_resource_that_is_asked_for_is_allocated(login, slurm):
    run = login(*HOST, "-S", f"intranode_p2p.extra_opts={QUICK}", "-J", "gres=gpu:2")
    assert run.code == 0, run.output
    job = only(run)["jobid"]
    assert "gres/gpu=2" in slurm("sacct", "-n", "-X", "-P", "-o", "AllocTRES", "-j", job)


def test_an_unknown_partition_is_refused_in_the_words_of_slurm(login):
    run = login(*HOST, "-J", "partition=nonsense")
    assert run.code != 0
    assert "invalid partition" in run.output.lower()


def test_a_job_that_no_node_can_hold_is_refused_in_the_words_of_slurm(login):
    run = login(*HOST, "-J", "mem=1999G")
    assert run.code != 0
    assert "Requested node configuration is not available" in only(run)["fail_reason"]


def test_a_job_that_waits_behind_others_is_given_up(login, slurm):
    other = slurm("sbatch", "--parsable", "-p", "cpu", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 120")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        slurm("scancel", other)
    assert run.code != 0
    assert "max_pending_time is 5 s" in only(run)["fail_reason"]
    assert "CANCELLED" in only(run)["fail_reason"]


def test_a_job_that_waits_for_drained_nodes_is_given_up(login, slurm):
    slurm("scontrol", "update", "nodename=lmx[1-3]", "state=drain", "reason=test")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert run.code != 0
    assert "max_pending_time is 5 s" in only(run)["fail_reason"]
    assert slurm("squeue", "-h") == ""


def meanwhile(action):
    """Starts `action` on a thread of its own."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_a_job_that_is_cancelled_from_outside_fails(login, slurm, when_running):
    thread = meanwhile(lambda: slurm("scancel", when_running()))
    run = login(*HOST, "-S", f"intranode_p2p.extra_opts={HANG}")
    thread.join(10)
    assert run.code != 0
    assert only(run)["result"] == "fail"
    assert "Terminated" in only(run)["fail_reason"]


def test_a_job_whose_node_goes_down_fails(login, slurm, when_running):
    def take_down():
        node = slurm("squeue", "-h", "-j", when_running(), "-o", "%N")
        slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    thread = meanwhile(take_down)
    try:
        run = login(*HOST, "-S", f"intranode_p2p.extra_opts={HANG}")
    finally:
        thread.join(10)
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert run.code != 0
    assert only(run)["result"] == "fail"
    assert "node failure" in only(run)["fail_reason"].lower()
