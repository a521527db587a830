"""Daemons of a real Slurm that end while a session's job is there: the session lives on, and nothing is forgotten."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from fake_programs import fake_program
from reframe_runs import HOST, QUICK, failed_because, only, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]
# in its seconds sacct is asked more than the four times that ReFrame bears
LONG = ("-S", "intranode_p2p.extra_opts=--samples,3000,--target-ci,0.001,--max-time,16,--size,1MiB")


def test_accounting_that_stops_ends_no_session_and_leaves_no_job(login, slurm, daemons, meanwhile, when_running):
    def stop():
        when_running()
        daemons.end("slurmdbd", signal.SIGTERM)

    meanwhile(stop)
    run = login(*HOST, *LONG)
    assert run.code == 0, run.output
    assert only(run)["result"] == "pass"
    assert slurm("squeue", "-h") == ""


def test_where_accounting_is_disabled_a_run_is_judged_nevertheless(login, monkeypatch, tmp_path):
    folder = tmp_path / "bin"
    fake_program(folder / "sacct", "echo Slurm accounting storage is disabled >&2", "exit 1")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    run = login(*HOST, *QUICK)
    assert run.code == 0, run.output
    assert only(run)["result"] == "pass"


@pytest.mark.parametrize("back_end", ["slurm", "squeue"])
def test_a_controller_that_is_away_for_a_while_ends_no_job(login, daemons, meanwhile, when_running, back_end):
    def stop():
        when_running()
        time.sleep(7)  # it keeps what it knows every five seconds, and the job would be lost
        daemons.end("slurmctld", signal.SIGKILL)
        time.sleep(3)
        daemons.start("slurmctld")

    meanwhile(stop)
    run = login(*HOST, *LONG, replace={'"scheduler": "slurm"': f'"scheduler": "{back_end}"'})
    assert run.code == 0, run.output
    assert only(run)["result"] == "pass"


def test_a_job_that_the_controller_has_lost_is_given_up_with_the_reason(login, slurm, daemons, meanwhile, tmp_path):
    def lose():
        pending = ("squeue", "-h", "-t", "PD", "-o", "%j")
        wait_until(lambda: "rfm_node_session" in slurm(*pending), "no job of the session is pending")
        daemons.lose_jobs()

    config = shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    with (config / "systems" / "slurm_example.py").open("a") as file:
        file.write(
            "\nfrom linkmatrix.reframe_ext.schedulers.slurm import Slurm\n"
            "\nSlurm.UNKNOWN_SECONDS = Slurm.CONFIRMED_SECONDS = 4\n"
        )
    slurm("sbatch", "-p", "cpu", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 60")
    meanwhile(lose)
    run = login(*HOST, *QUICK, config=config, timeout=200)
    reason = failed_because(run)
    assert "Slurm does not know the job" in reason
    assert "squeue does not know the job" in reason
