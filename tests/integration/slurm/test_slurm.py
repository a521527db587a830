"""The checks through a real Slurm: submitted, waited for, judged. Every way for a job to end badly is one verdict."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reframe_runs import (
    CORRUPT,
    HANG,
    HOST,
    MPIRUN,
    OWN_CORES,
    QUICK,
    RANKS,
    failed_because,
    only,
    published,
    record_of,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

REPOSITORY = Path(__file__).resolve().parents[3]


def test_who_ends_another_cluster_ends_nothing_of_this_one(cluster, tmp_path):
    def hosts():
        return subprocess.check_output(["ip", "netns", "list"], text=True, timeout=10).split().count("lmx1")

    assert hosts() == 1
    subprocess.run([Path(__file__).parent / "cluster", "down", tmp_path], timeout=60, check=True)
    assert hosts() == 1


def test_a_job_on_one_node_is_measured_there(login):
    run = login(*HOST, *QUICK)
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] in {"lmx1", "lmx2", "lmx3"}


@pytest.mark.parametrize(
    "replace",
    [{}, MPIRUN, {'"scheduler": "slurm"': '"scheduler": "squeue"'}],
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
    names_of_values = published(only(run))
    assert {"min[NODE]", "max[NET]", "rank0->rank3"} <= names_of_values


@pytest.mark.parametrize("option", ["--gpus-per-node={num_gpus_per_node}", "--gres=gpu:{num_gpus_per_node}"])
def test_gpus_are_allocated_in_both_ways_to_ask_for_them(login, slurm, option):
    """The nodes of this cluster have no GPU behind the resource, so the host back end measures."""
    node = '"resources": [{"name": "node"'
    resources = f'"resources": [{{"name": "_rfm_gpu", "options": ["{option}"]}}, {{"name": "node"'
    run = login(
        *HOST,
        *(*QUICK, "-S", "intranode_p2p.num_gpus_per_node=2"),
        replace={node: resources},
    )
    assert run.code == 0, run.output
    job = only(run)["jobid"]
    assert "gres/gpu=2" in slurm("sacct", "-n", "-X", "-P", "-o", "AllocTRES", "-j", job)


# a partition with GPUs as slurm_example.py has one, of which this cluster has two on a node, without CUDA
WITH_GPUS = {
    '"features": ["mpi", "crossnode"]': '"features": ["gpu", "mpi", "crossnode"], '
    '"devices": [{"type": "gpu", "num_devices": 2}]',
    '"resources": [{"name": "node"': '"resources": [{"name": "_rfm_gpu", '
    '"options": ["--gpus-per-node={num_gpus_per_node}"]}, {"name": "node"',
    '"rank_options": ["--cpu-bind=cores"]': '"rank_options": ["--cpu-bind=cores", "--gpu-bind=none"]',
}
PROCESS = '"process_options": ["--cpu-bind=none"],'


@pytest.mark.parametrize(
    ("replace", "asked"), [({}, False), ({PROCESS: f'{PROCESS} "gpus_in_every_job": True,'}, True)], ids=["none", "all"]
)
def test_ranks_of_host_memory_ask_for_no_gpus_unless_every_job_of_the_partition_must(login, slurm, replace, asked):
    run = login(*RANKS, replace={**WITH_GPUS, **replace})
    assert run.code == 0, run.output
    assert len(record_of(only(run))["devices"]) == 2
    job = only(run)["jobid"]
    # accounting knows a job a little later than the queue
    wanted = wait_until(
        lambda: slurm("sacct", "-n", "-X", "-P", "-o", "ReqTRES", "-j", job), "accounting has no job", 20
    )
    assert "cpu=" in wanted and ("gres/gpu=2" in wanted) == asked


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("gres=gpu:3", "Requested node configuration is not available"),
        ("mem=1999G", "Requested node configuration is not available"),
        ("partition=nonsense", "compare --partition in 'access' of the partition with `sinfo -s`"),
        ("account=nonsense", "choose another account with -J account=NAME"),
    ],
)
def test_what_slurm_does_not_take_is_refused_in_its_words(login, option, said):
    run = login(*HOST, "-J", option)
    assert run.code != 0
    assert said.lower() in (only(run)["fail_reason"] + run.output).lower()


def test_a_job_that_waits_behind_others_is_given_up(login, slurm):
    other = slurm("sbatch", "--parsable", "-p", "cpu", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 120")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        slurm("scancel", other)
    reason = failed_because(run)
    assert "max_pending_time is 5 s" in reason
    assert "CANCELLED" in reason


def test_a_job_that_waits_for_drained_nodes_is_given_up(login, slurm):
    slurm("scontrol", "update", "nodename=lmx[1-3]", "state=drain", "reason=test")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert "max_pending_time is 5 s" in failed_because(run)
    assert slurm("squeue", "-h") == ""


def test_a_job_that_is_cancelled_from_outside_fails(login, slurm, when_running, measuring, meanwhile):
    def cancel():
        job = when_running()
        measuring()
        slurm("scancel", job)

    meanwhile(cancel)
    run = login(*HOST, *HANG)
    # in the words of slurmstepd or of srun, whichever was last to write
    assert re.search("CANCELLED|Terminated", failed_because(run))


def test_a_job_whose_node_goes_down_fails(login, slurm, when_running, meanwhile):
    def take_down():
        node = slurm("squeue", "-h", "-j", when_running(), "-o", "%N")
        slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    meanwhile(take_down)
    try:
        run = login(*HOST, *HANG)
    finally:
        slurm("scontrol", "update", "nodename=lmx[1-3]", "state=resume")
    assert "node failure" in failed_because(run).lower()


@pytest.mark.slow
def test_a_job_that_reaches_its_time_limit_fails(login):
    """A minute and more: Slurm knows no shorter limit."""
    run = login(*HOST, *HANG, "-S", "intranode_p2p.time_limit=1m")
    assert "the job reached its time limit" in failed_because(run)


def test_what_detect_writes_on_the_login_node_runs(login, slurm, tmp_path, undisturbed):
    """The scheduler's own description of the cluster, as a system file, and a run with that file and nothing added.

    README.md, commands: on-a-cluster.
    """
    config = shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    command = [sys.executable, "-m", "linkmatrix", "detect", "--scheduler", "auto", "--system", "slurm-other"]
    done = subprocess.run(
        [*command, "--config", config], capture_output=True, text=True, timeout=60, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    text = (config / "systems" / "slurm_other.py").read_text()
    assert "3 nodes of 4 cores, 2 GPUs (gpu:2)" in text
    text = (
        text.replace('"gpu", "cuda", "mpi"', '"mpi"').replace('"gnu-cuda"', '"gnu"').replace('"cuda", "mpi"', '"mpi"')
    )
    (config / "systems" / "slurm_other.py").write_text(text)  # no CUDA behind these GPUs
    undisturbed(config)
    run = login(*RANKS, "-S", "rank_p2p.nodes=3", "-S", "rank_p2p.ranks=1", system="slurm-other", config=config)
    assert run.code == 0, run.output


def page_of(*prefixes, out):
    """(exit code, {node: text of its row, from worst to best}) of the page over the runs of all these folders."""
    reports = [report for prefix in prefixes for report in (prefix / "reports").glob("run-report-*.json")]
    references = ["--references", prefixes[0] / "references"]
    command = [sys.executable, "-m", "linkmatrix", "report", *reports, "--out", out, *references]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    text = (out / "report.html").read_text()
    table = re.search(r"<h2[^>]*>Nodes</h2>.*?</section>", text, re.DOTALL)[0]
    rows = re.findall(r'<tr><th scope="row">([^<]+)</th>(.*?)</tr>', table, re.DOTALL)
    return done.returncode, {node: re.sub(r"<[^>]+>", "", cells) for node, cells in rows}


def test_a_node_that_is_drained_is_the_first_on_the_page_of_all(login, slurm, tmp_path):
    prefixes = []
    slurm("scontrol", "update", "nodename=lmx2", "state=drain", "reason=test")
    try:
        for node in ("lmx1", "lmx2", "lmx3"):
            options = ("-S", f"on={node}", *QUICK, "-S", "max_pending_time=5s")
            run = login(*HOST, *options)
            assert (run.code != 0) == (node == "lmx2"), run.output
            prefixes.append(run.prefix)
    finally:
        slurm("scontrol", "update", "nodename=lmx2", "state=resume")
    code, rows = page_of(*prefixes, out=tmp_path / "page")
    assert code == 3  # nothing was measured there, and the others have no references
    assert next(iter(rows)) == "lmx2"
    assert "nothing measured" in rows["lmx2"]
    assert all("GB/s" in rows[node] for node in ("lmx1", "lmx3"))


def test_a_run_on_each_node_is_one_page_with_the_bad_node_first(login, tmp_path):
    """For schedulers that ReFrame cannot distribute over: a session for each node, and one page of all."""
    prefixes = []
    for node in ("lmx1", "lmx2", "lmx3"):
        run = login(*HOST, "-S", f"on={node}", *(CORRUPT if node == "lmx3" else QUICK))
        assert (run.code != 0) == (node == "lmx3"), run.output
        prefixes.append(run.prefix)
    code, rows = page_of(*prefixes, out=tmp_path / "page")
    assert code == 1
    assert next(iter(rows)) == "lmx3"
    assert sorted(rows) == ["lmx1", "lmx2", "lmx3"]


def test_a_node_cannot_be_asked_for_where_the_partition_does_not_say_how(login):
    run = login(*HOST, "-S", "on=lmx1", replace={'"resources": [{"name": "node", ': '"resources": [{"name": "other", '})
    assert "has no resource 'node'" in failed_because(run)


BINDING = ("-r", "-n", "rank_binding", "-S", "rank_binding.nodes=2", "-S", "rank_binding.ranks=2")


def test_ranks_that_are_not_bound_are_found_out(login):
    """This cluster has no plugin that binds (TaskPlugin=task/none), so srun leaves both ranks on all cores."""
    run = login(*BINDING)
    reason = failed_because(run)
    assert re.search(r"rank \d on lmx\d \(cores [\d,-]+\) and rank \d share cores", reason)


@OWN_CORES
def test_ranks_that_mpirun_binds_are_where_they_should_be(login):
    run = login(*BINDING, replace=MPIRUN)
    assert run.code == 0, run.output
