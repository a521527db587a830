"""The checks between nodes through a real Slurm: every cell over the network, or one verdict that names the node.

docs/between-nodes.md, commands: between-nodes.
"""

from itertools import permutations

import pytest
from reframe_runs import MPIRUN, judged, only, published, record_of

from linkmatrix.judge.verdicts import Verdict

pytestmark = [pytest.mark.integration, pytest.mark.slurm]

NODES = ["lmx1", "lmx2", "lmx3"]
MATRIX = "crossnode_matrix.*{}.*extent={}"
QUICK = ("-S", "crossnode_matrix.extra_opts=--samples,3,--target-ci,50", "-S", "crossnode_matrix.size=1MiB")
SWEEP = ("-r", "-n", "crossnode_sweep.*rank_to_rank_bandwidth_mpi", "-S", "crossnode_sweep.sizes=1:4KiB:64")

LAUNCHERS = pytest.mark.parametrize("replace", [{}, MPIRUN], ids=["srun", "mpirun"])


def matrix(testcase, extent="all", nodes=3):
    """The options of reframe for one matrix; nodes: how many are asked for, where the partition does not say."""
    wanted = ("-S", f"crossnode_matrix.nodes={nodes}") if nodes else ()
    return ("-r", "-n", MATRIX.format(testcase, extent), *QUICK, *wanted)


def result_of(check, folder="outputdir"):
    """The record's only matrix, and its devices."""
    record = record_of(check, folder)
    (result,) = record["results"]
    return result, record["devices"]


def cells(result, table):
    """{(row, column): entry} without the diagonal."""
    pairs = permutations(range(len(result["rows"])), 2)
    return {(result["rows"][r], result["columns"][c]): result[table][r][c] for r, c in pairs}


def names(kind, count=3):
    """The performance variables of a whole matrix over the network."""
    pairs = {f"{kind}{row}->{kind}{column}" for row, column in permutations(range(count), 2)}
    return pairs | {"min[NET]", "median[NET]", "max[NET]"}


def assert_whole(result, labels):
    assert sorted(result["rows"]) == sorted(result["columns"]) == sorted(labels)
    assert set(cells(result, "status").values()) == {"ok"}
    assert set(cells(result, "link_class").values()) == {"NET"}
    assert result["complete"] and result["verified"]


@LAUNCHERS
def test_a_matrix_of_three_nodes_is_whole_and_has_a_message_rate(login, replace):
    run = login(*matrix("node_to_node_bandwidth_mpi"), replace=replace)
    assert run.code == 0, run.output
    result, devices = result_of(only(run))
    assert_whole(result, NODES)
    assert sorted(device["node"] for device in devices) == NODES
    assert [part["title"] for part in result["parts"].values()] == ["message rate"]
    assert published(only(run)) == names("node")


@LAUNCHERS
def test_a_matrix_of_ranks_on_three_nodes_is_whole(login, replace):
    run = login(*matrix("rank_to_rank_bandwidth_mpi"), replace=replace)
    assert run.code == 0, run.output
    result, devices = result_of(only(run))
    assert_whole(result, [device["label"] for device in devices])
    assert sorted(device["node"] for device in devices) == NODES
    assert published(only(run)) == names("rank")


@LAUNCHERS
def test_a_sweep_over_three_nodes_has_every_size(login, replace):
    run = login(*SWEEP, "-S", "crossnode_sweep.nodes=3", replace=replace)
    assert run.code == 0, run.output
    assert published(only(run)) == {"NET@1", "NET@64", "NET@4096"}
    record = record_of(only(run))
    assert [result["size_bytes"] for result in record["results"]] == [1, 64, 4096]
    for result in record["results"]:
        assert_whole(result, [device["label"] for device in record["devices"]])


def test_a_size_is_held_against_its_own_reference(login):
    """No network carries a thousand GB/s: the middle size fails, and no other."""
    table = "crossnode_sweep:\n  $index: [reference_name, testcase]\n  here@sweep:\n    rank_to_rank_bandwidth_mpi:\n"
    lines = {"NET@1": "0.000000001, 0", "NET@64": "1000, -0.5", "NET@4096": "0.000000001, 0"}
    table += "".join(f"      '{name}': [{value}, null, GB/s]\n" for name, value in lines.items())
    run = login(*SWEEP, "-S", "crossnode_sweep.reference_name=here", references=table)
    assert run.code != 0
    reason = only(run)["fail_reason"]
    assert "NET@64" in reason
    assert "NET@1=" not in reason and "NET@4096" not in reason


@LAUNCHERS
def test_a_node_that_hangs_is_marked_in_the_record_that_is_kept_and_the_others_are_measured(login, replace):
    """The node of rank 1: its row and column, and no other cell, also where healthy pairs wait for a busy core."""
    hang = "crossnode_matrix.extra_opts=--samples,3,--target-ci,50,--simulate-fault,hang:rank1,--pair-timeout,10"
    run = login(*matrix("node_to_node_bandwidth_mpi"), "-S", hang, replace=replace)
    assert run.code != 0
    check = only(run)
    assert check["result"] == "fail"
    result, devices = result_of(check, "stagedir")
    (lost,) = (device["node"] for device in devices if device["label"].endswith(":rank1"))
    status = cells(result, "status")
    assert {word for pair, word in status.items() if lost in pair} == {"timeout"}
    assert {word for pair, word in status.items() if lost not in pair} == {"ok"}
    assert not result["complete"]
    reason = check["fail_reason"]
    assert "ended with TIMEOUT" in reason
    assert "rank1 was lost" in reason
    assert "->" not in reason and "Killed" not in reason


def test_what_the_mpi_cannot_do_is_skipped_with_its_reason_and_no_other_test_case(login, monkeypatch):
    """One-sided transfers, of an MPI whose components for them are all left out."""
    monkeypatch.setenv("OMPI_MCA_osc", "^rdma,sm,pt2pt,ucx,monitoring")
    puts, latency = ["rank_to_rank_put_latency_mpi", "rank_to_rank_put_bandwidth_mpi"], "rank_to_rank_latency_mpi"
    run = login(*matrix(f"({'|'.join([*puts, latency])})", "two"))
    results = {case["testcase"]: case["result"] for case in run.checks()}
    assert results == {**dict.fromkeys(puts, "skip"), latency: "pass"}, run.output
    assert run.output.count("not possible here: this MPI cannot create a window") >= 2
    found = {one.test.testcase: one.verdict for one in judged(run)}
    assert {found[name] for name in puts} == {Verdict.INCOMPLETE}


def all_nodes_without(drained, login, slurm):
    """The run of a test of all nodes, while an administrator has drained some."""
    slurm("scontrol", "update", f"nodename={drained}", "state=drain", "reason=bad DIMM")
    try:
        return login(*matrix("node_to_node_bandwidth_mpi", nodes=None))
    finally:
        slurm("scontrol", "update", f"nodename={drained}", "state=resume")


def test_all_nodes_are_those_that_take_jobs_and_the_drained_one_is_named(login, slurm, daemons):
    run = all_nodes_without("lmx2", login, slurm)
    assert run.code == 0, run.output
    result, _ = result_of(only(run))
    assert_whole(result, ["lmx1", "lmx3"])
    assert only(run)["nodes_left_out"] == "lmx2: drained: bad DIMM" and not only(run)["nodes_missing"]


def test_all_nodes_are_skipped_with_the_reason_where_only_one_of_several_takes_jobs(login, slurm, daemons):
    run = all_nodes_without("lmx[2-3]", login, slurm)
    assert run.code == 0, run.output
    assert only(run)["result"] == "skip"
    why = "slurm-example:cpu has 3 nodes, but jobs can start on only 1 of them now"
    assert why in run.output
    assert only(run)["skipped"] == why  # ReFrame's report has no reason of its own
    (one,) = judged(run)
    assert one.verdict is Verdict.INCOMPLETE


def test_pairs_of_ranks_have_every_size_in_one_job_and_more_than_there_are_ranks_are_skipped(login):
    options = ("-S", "crossnode_pairs.ranks=2", "-S", "crossnode_pairs.sizes=1:4KiB:64")
    run = login("-r", "-n", "crossnode_pairs", *options, "-S", "nodes_session.suite=crossnode_pairs")
    assert run.code == 0, run.output
    measured = [check for check in run.checks() if check["result"] == "pass"]
    assert len(measured) == 3 and len({check["jobid"] for check in measured}) == 1
    for check in measured:
        assert published(check) == {"NET@1", "NET@64", "NET@4096"}
        record = record_of(check)
        assert [(one["size_bytes"], one["pairs"]) for one in record["results"]] == [(1, 1), (64, 1), (4096, 1)]
        assert sorted(device["node"] for device in record["devices"]) == ["lmx1", "lmx1", "lmx2", "lmx2"]
    assert run.output.count("has 2 ranks per node, but 4 pairs need 4 ranks: set -S crossnode_pairs.ranks=4") >= 1
