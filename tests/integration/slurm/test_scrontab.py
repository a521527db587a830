"""An entry of `linkmatrix schedule --scrontab` as a job of a real Slurm: it measures all nodes but its own."""

import re
import subprocess
import sys

import pytest
from reframe_runs import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

LITTLE = ("--", "-S", "node_sweep.extra_opts=--samples,3,--target-ci,50")


@pytest.fixture
def partitions(daemons):
    """The partitions `measured` and `service`, which share no node; gone when the test ends."""
    measured = "PartitionName=measured Nodes=lmx[1-2] MaxTime=0:30:00"
    service = "PartitionName=service Nodes=lmx3 MaxTime=0:45:00"
    with daemons.configured_with(measured, service):
        yield


@pytest.fixture
def schedule(of_linkmatrix, site, tmp_path):
    """A function that calls `linkmatrix schedule --scrontab` for a sweep of a partition of Slurm."""

    def call(partition, *options):
        file = site / "config" / "systems" / "slurm_example.py"
        file.write_text(file.read_text().replace('"--partition=cpu"', f'"--partition={partition}"'))
        command = [sys.executable, "-m", "linkmatrix", "schedule", "--scrontab", "--mode=sweep"]
        return subprocess.run(
            [*command, "--system=slurm-example:cpu", *options, *LITTLE],
            env={**of_linkmatrix, "LINKMATRIX_PREFIX": str(tmp_path / "results")},
            cwd=site,
            timeout=60,
            text=True,
            capture_output=True,
        )

    return call


def test_an_entry_that_would_hold_a_core_of_a_measured_node_is_refused(schedule):
    done = schedule("cpu")
    assert (done.returncode, done.stdout) == (2, "") and "--cron or --systemd" in done.stderr
    done = schedule("cpu", "--partition=gpu")
    assert done.returncode == 2 and "lmx1, lmx2, lmx3" in done.stderr


def test_an_entry_fits_its_partition_and_sweeps_all_other_nodes(partitions, schedule, slurm, tmp_path):
    done = schedule("measured")
    assert done.returncode == 0, done.stderr
    assert "#SCRON --partition=service\n" in done.stdout and "#SCRON --time=45\n" in done.stdout
    *head, entry = done.stdout.splitlines()
    script = tmp_path / "entry.sh"
    lines = ["#!/bin/sh", *(line.replace("#SCRON", "#SBATCH") for line in head if line.startswith("#SCRON"))]
    script.write_text("\n".join([*lines, re.fullmatch(r"30 2 \* \* \* (.*)", entry)[1], ""]))
    (tmp_path / "results").mkdir(exist_ok=True)
    job = slurm("sbatch", "--parsable", str(script))
    unfinished = ("squeue", "-h", "-j", job, "-t", "PD,R,CG", "-o", "%T")
    wait_until(lambda: not slurm(*unfinished), "the job has not ended", 400)
    (log,) = (tmp_path / "results").glob("schedule-*.log")
    text = log.read_text()
    assert "2 nodes: 2 NOT JUDGED" in text, text
    assert slurm("sacct", "-n", "-X", "-P", "-o", "NodeList,ExitCode", "-j", job) == "lmx3|0:0"
    assert list((tmp_path / "results" / "runs").glob("scheduled-*.json"))
