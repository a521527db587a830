"""Options of the ReFrame sessions that integration tests run, and accessors for their results."""

import os
import time
from pathlib import Path

import pytest

from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, stored

#: Changes of config/systems/slurm_example.py for ranks that mpirun starts, {old text: new text}.
MPIRUN = {
    '"launcher": "srun"': '"launcher": "mpirun"',
    '"rank_options": ["--cpu-bind=cores"]': '"rank_options": ["--map-by", "numa", "--bind-to", "core"]',
    '"process_options": ["--cpu-bind=none"]': '"process_options": []',
}
#: Options of ReFrame for one test case in host memory, and for one between ranks.
HOST = ("-r", "-n", "device_to_device_memcpy_write_ce$", "-S", "node_session.suite=device_to_device_memcpy_write_ce")
RANKS = ("-r", "-n", "rank_p2p.*rank_to_rank_latency_mpi")
#: Further options for HOST: few samples, and then a program that hangs or receives wrong data.
QUICK = ("-S", "intranode_p2p.extra_opts=--samples,3,--size,1MiB")
HANG = ("-S", f"{QUICK[1]},--simulate-fault,hang:cpu1,--pair-timeout,120,--timeout,120")
CORRUPT = ("-S", f"{QUICK[1]},--simulate-fault,corrupt:cpu1")
#: Further options for a job that leaves no output: a short wait for its files.
NO_OUTPUT = ("-S", "record_wait=2")
#: Environment variables with which Open MPI starts ranks for root.
AS_ROOT = {f"{project}_ALLOW_RUN_AS_ROOT{end}": "1" for project in ("OMPI", "PRTE") for end in ("", "_CONFIRM")}
#: A test that needs a core per rank.
OWN_CORES = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks need two cores")


def only(run):
    """The single check of the session."""
    (check,) = run.checks()
    return check


def failed_because(run):
    """The reason for which the single check failed."""
    assert run.code != 0, run.output
    assert only(run)["result"] == "fail"
    return only(run)["fail_reason"]


def published(check):
    """The names of the performance variables."""
    return {name.split(":")[-1] for name in check["perfvalues"]}


def record_of(check, folder="outputdir", *below):
    """The record of a check, or of a session folder below it."""
    return reading.load(Path(check[folder], *below) / "record.json")


def report_of(run):
    """The path of ReFrame's only report."""
    (report,) = (run.prefix / "reports").glob("run-report-*.json")
    return report


def judged(run, references=None):
    """The judged tests of a session. references: a folder; None for the references of this repository."""
    return judging.judge_all(stored.find(report_of(run)), References.load(references), None)


def wait_until(find, failure, seconds=60):
    """Call a function until it returns a true value, and return this value. Raises AssertionError after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := find():
            return found
        time.sleep(0.2)
    raise AssertionError(f"{failure} after {seconds} s")
