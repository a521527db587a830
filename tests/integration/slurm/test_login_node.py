"""Manners on a login node of a real Slurm: few questions, few jobs, builds elsewhere, and what one run asks for."""

import os
import shutil
import time
from pathlib import Path

import pytest
from fake_programs import fake_program
from reframe_runs import HOST, NO_OUTPUT, QUICK, RANKS, failed_because, only, record_of

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]


def test_a_partition_may_build_in_a_job_of_its_own(login):
    cpu = '"rank_options": ["--cpu-bind=cores"],'
    run = login(*RANKS, replace={cpu: f'{cpu} "build_locally": False,'})
    assert run.code == 0, run.output
    script = (Path(run.build()["outputdir"]) / "rfm_build.sh").read_text()
    assert (run.build()["scheduler"], run.build()["build_locally"]) == ("linkmatrix_slurm", False)
    assert "#SBATCH --partition=cpu" in script


def test_options_of_one_run_reach_slurm_and_are_kept_to(login, slurm):
    slurm("scontrol", "update", "nodename=lmx2", "availablefeatures=hdr", "activefeatures=hdr")
    try:
        options = ("-J", "constraint=hdr", "-J", "comment=acceptance", "-J", "account=project")
        run = login(*HOST, *options, *QUICK)
    finally:
        slurm("scontrol", "update", "nodename=lmx2", "availablefeatures=", "activefeatures=")
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] == "lmx2"
    job = slurm("scontrol", "show", "job", only(run)["jobid"])
    assert "Features=hdr" in job and "Comment=acceptance" in job and "Account=project" in job


def test_results_that_nodes_cannot_write_end_with_what_to_do(login, hide, tmp_path):
    hide(tmp_path)
    run = login(*HOST, *QUICK, *NO_OUTPUT)
    reason = failed_because(run)
    assert "the scheduler reports FAILED" in reason
    assert "a folder shared by login and compute nodes ($LINKMATRIX_PREFIX" in reason


def test_no_home_directory_on_the_nodes_and_a_strict_umask_are_no_obstacle(login, hide, tmp_path, monkeypatch):
    home = tmp_path / "homes" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    hide(home.parent)
    run = login(*RANKS, "-S", "rank_p2p.nodes=2", umask=0o077)
    assert run.code == 0, run.output
    record = Path(only(run)["outputdir"]) / "record.json"
    assert record.stat().st_mode & 0o077 == 0


def test_nodes_need_nothing_of_the_clone(login, hide, tmp_path):
    """A clone is often in a home that nodes lack; results are in a folder that they share.

    The script of `rank_binding` starts the ranks of `rank_p2p`. Here, nodes cannot bind ranks to cores.
    """
    hide(REPOSITORY)
    suite = ("-S", "node_session.suite=rank_binding,rank_p2p.rank_to_rank_latency_mpi")
    run = login("-r", "-n", "rank_binding|rank_p2p.*rank_to_rank_latency_mpi", *suite)
    results = {check["name"].split()[0]: check["result"] for check in run.checks()}
    assert results["rank_p2p"] == "pass", run.output


def test_no_more_jobs_are_in_flight_than_the_system_says(login, slurm):
    run = login(
        *("-r", "-n", "device_to_device_memcpy_write_ce$", "--repeat=5", *QUICK),
        replace={'"max_jobs": 4': '"max_jobs": 2'},
    )
    assert run.code == 0, run.output
    jobs = ",".join(check["jobid"] for check in run.checks())
    lines = slurm("sacct", "-n", "-X", "-P", "-o", "Submit,End", "-j", jobs).splitlines()
    spans = [tuple(line.split("|")) for line in lines]
    assert len(spans) == 5
    assert max(sum(begin <= submit < end for begin, end in spans) for submit, _ in spans) <= 2


COMMANDS = ("sbatch", "sacct", "squeue", "scancel", "scontrol", "sinfo")


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """A function that returns {command of Slurm: how often it was called}: wrappers stand before the real ones."""
    folder, log = tmp_path / "counting", tmp_path / "calls"
    folder.mkdir()
    log.touch()
    for name in COMMANDS:
        fake_program(folder / name, f"echo {name} >> {log}", f'exec {shutil.which(name)} "$@"')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return lambda: {name: log.read_text().split().count(name) for name in COMMANDS}


def test_slurm_is_asked_seldom_and_for_all_jobs_at_once(login, counted, capsys):
    """Four jobs of some seconds, two at a time; the bound is one question a second, however slow this machine is."""
    jobs = ("-r", "-n", "device_to_device_memcpy_write_ce$", "--repeat=4", *QUICK)
    begin = time.monotonic()
    run = login(*jobs, replace={'"max_jobs": 4': '"max_jobs": 2'}, polls=None)
    seconds = time.monotonic() - begin
    assert run.code == 0, run.output
    assert [len(check["job_nodelist"]) for check in run.checks()] == [1] * 4
    calls = counted()
    with capsys.disabled():
        print(f"\n4 jobs, {seconds:.0f} s: " + ", ".join(f"{count} {name}" for name, count in calls.items()))
    assert calls["sbatch"] == 4
    assert calls["scancel"] == calls["sinfo"] == 0
    assert calls["scontrol"] == 4  # the names of the nodes of each
    assert 0 < calls["sacct"] + calls["squeue"] <= seconds + 4
