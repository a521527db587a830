"""How jobs of a real Slurm end that do not end well: in the words of who knows."""

import os
import signal
import subprocess
import time

import pytest
from reframe_runs import HANG, HOST, RANKS, failed_because

pytestmark = [pytest.mark.integration, pytest.mark.slurm]


def test_a_job_that_is_cancelled_is_not_called_late(login, slurm, when_running, meanwhile):
    meanwhile(lambda: slurm("scancel", when_running()))
    reason = failed_because(login(*HOST, *HANG))
    assert "the job was cancelled" in reason
    assert "TIMEOUT" not in reason and "time limit" not in reason


def test_ranks_that_lost_rank_0_end_though_srun_leaves_them(login, process_of_rank, meanwhile):
    """Without SLURM_KILL_BAD_EXIT srun lets them run to the job's time limit, ten minutes later."""
    alone = {'["SLURM_KILL_BAD_EXIT", "1"]': '["SLURM_KILL_BAD_EXIT", "0"]'}
    long = "crossnode_matrix.extra_opts=--samples,3000,--target-ci,0.001,--max-time,100,--timeout,500"
    check = ("-r", "-n", "crossnode_matrix.*rank_to_rank_bandwidth_mpi.*extent=all", "-S", "crossnode_matrix.nodes=3")

    def kill():
        process = process_of_rank("p2p_matrix", 0)
        time.sleep(3)  # by then it measures
        os.kill(process, signal.SIGKILL)

    meanwhile(kill)
    reason = failed_because(login(*check, "-S", long, replace=alone))
    assert "time limit" not in reason and "TIMEOUT" not in reason, reason


@pytest.mark.parametrize("words", ["OMPI was not built with SLURM's PMI support", "each rank started alone"])
def test_ranks_without_pmi_are_incomplete_with_the_words_of_open_mpi_and_the_variable_to_set(login, words, monkeypatch):
    """Debian's Open MPI 4 reports it, and ranks of Open MPI 5 start alone."""
    if words.startswith("OMPI"):
        monkeypatch.setenv("PATH", f"/usr/bin:{os.environ['PATH']}")
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout
    if ("Open MPI) 4" in version) != words.startswith("OMPI"):
        pytest.skip(f"another version: {version.splitlines()[0]}")
    without = {'["SLURM_WAIT", "50"]': '["SLURM_WAIT", "50"], ["SLURM_MPI_TYPE", "none"]'}
    reason = failed_because(login(*RANKS, replace=without))
    assert "INCOMPLETE" in reason and "SLURM_MPI_TYPE" in reason and words in reason, reason
