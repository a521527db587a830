"""ReFrame's back ends torque and pbs through the Torque wrappers of a real Slurm: not through a PBS.

They prove the job script, submission, polling and deletion of these back ends. They do not prove what PBS does: the
wrappers tell no exit code, and accept `-l place`, `-l select=…:ngpus` and options that do not exist without a word.
../pbs has the tests on OpenPBS.
"""

import os

import pytest
from reframe_runs import CORRUPT, HANG, HOST, RANKS, failed_because, only, record_of, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm]


@pytest.fixture(params=["torque", "pbs"])
def login(request, cluster, torque_commands, on_system, monkeypatch):
    """A function that runs ReFrame on the login node with config/systems/pbs_example.py, by each back end."""
    monkeypatch.setenv("PATH", f"{torque_commands}:/usr/sbin:{os.environ['PATH']}")
    for name, value in cluster.items():
        monkeypatch.setenv(name, value)
    site = {'"scheduler": "pbs"': f'"scheduler": "{request.param}"', '"-q workq"': '"-q cpu"'}

    def run(*options, replace=None, **keywords):
        return on_system("pbs_example.py", "cpu", *options, replace={**site, **(replace or {})}, **keywords)

    return run


def test_ranks_on_three_nodes_are_a_matrix_over_the_network(login):
    run = login(*RANKS, "-S", "rank_p2p.nodes=3", "-S", "rank_p2p.ranks=1")
    assert run.code == 0, run.output
    record = record_of(only(run))
    assert sorted(device["node"] for device in record["devices"]) == ["lmx1", "lmx2", "lmx3"]
    assert record["results"][0]["complete"]


def test_a_job_whose_program_fails_is_a_failure_though_no_exit_code_is_told(login):
    run = login(*HOST, *CORRUPT)
    assert only(run)["job_exitcode"] is None
    assert "cpu1" in failed_because(run)


def test_an_unknown_queue_is_refused_in_the_words_of_slurm(login):
    run = login(*HOST, replace={'"-q workq"': '"-q nonsense"'})
    assert "invalid partition" in failed_because(run).lower()


def test_a_job_that_waits_for_drained_nodes_is_given_up(login, slurm):
    slurm("scontrol", "update", "nodename=lmx[1-3]", "state=drain", "reason=test")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert "maximum pending time exceeded" in failed_because(run)
    assert slurm("squeue", "-h") == ""


def test_a_job_that_is_cancelled_from_outside_fails(login, slurm, meanwhile):
    running = ("squeue", "-h", "-t", "R", "-o", "%i")
    meanwhile(lambda: slurm("scancel", wait_until(lambda: slurm(*running), "no job runs")))
    run = login(*HOST, *HANG)
    assert "not with 'Result: PASS'" in failed_because(run)
