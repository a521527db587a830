"""The checks through a real OpenPBS: submitted, waited for, judged. Every way for a job to end badly is one verdict."""

import pytest
from reframe_runs import (
    CORRUPT,
    HANG,
    HOST,
    NO_OUTPUT,
    OWN_CORES,
    QUICK,
    RANKS,
    failed_because,
    only,
    published,
    record_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.pbs]

BACK_ENDS = pytest.mark.parametrize(
    "replace", [{}, {'"scheduler": "pbs"': '"scheduler": "pbspro"'}], ids=["pbs", "pbspro"]
)


def test_a_job_on_one_node_is_measured_there_and_gets_its_gpus(login, pbs):
    run = login(*HOST, *QUICK, gpus=2)
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] in {"lmp1", "lmp2"}
    assert "Resource_List.ngpus = 2\n" in pbs("qstat", "-xf", only(run)["jobid"])


@BACK_ENDS
def test_ranks_on_two_nodes_are_a_matrix_over_the_network(login, replace):
    run = login(*RANKS, "-S", "rank_p2p.nodes=2", "-S", "rank_p2p.ranks=1", replace=replace)
    assert run.code == 0, run.output
    record = record_of(only(run))
    assert sorted(device["node"] for device in record["devices"]) == ["lmp1", "lmp2"]
    (result,) = record["results"]
    assert {result["link_class"][row][1 - row] for row in range(2)} == {"NET"}
    assert result["complete"]
    assert result["verified"]


def test_ranks_that_share_nodes_have_both_classes(login):
    run = login(*RANKS, "-S", "rank_p2p.nodes=2", "-S", "rank_p2p.ranks=2")
    assert run.code == 0, run.output
    names_of_values = published(only(run))
    assert {"min[NODE]", "max[NET]", "rank0->rank3"} <= names_of_values


@BACK_ENDS
def test_the_checks_between_nodes_are_whole(login, replace):
    names = "crossnode_matrix.*(node_to_node_bandwidth|rank_to_rank_latency)_mpi.*two"
    names += "|crossnode_sweep.*rank_to_rank_(bandwidth|bidirectional|latency)_mpi"
    sizes = ("-S", "crossnode_matrix.size=1MiB", "-S", "crossnode_sweep.sizes=1:4KiB:64")
    run = login("-r", "-n", names, *sizes, replace=replace)
    assert run.code == 0, run.output
    matrices = [check for check in run.checks() if check["name"].startswith("crossnode_matrix")]
    names_of_values = [published(check) for check in run.checks()]
    assert len(matrices) == 2 and len(names_of_values) == 5
    assert sum(found == {"NET@1", "NET@64", "NET@4096"} for found in names_of_values) == 3
    for check in matrices:
        (result,) = record_of(check)["results"]
        assert result["complete"] and result["verified"]
        assert {result["link_class"][row][1 - row] for row in range(2)} == {"NET"}
        assert sorted(device["node"] for device in record_of(check)["devices"]) == ["lmp1", "lmp2"]


def test_a_job_runs_on_the_node_that_is_asked_for(login):
    for node in ("lmp1", "lmp2"):
        run = login(*HOST, *QUICK, "-S", f"on={node}")
        assert run.code == 0, run.output
        assert record_of(only(run))["host"]["name"] == node


@OWN_CORES
def test_ranks_have_cores_of_their_own(login):
    run = login("-r", "-n", "rank_binding", "-S", "rank_binding.nodes=2")
    assert run.code == 0, run.output


@BACK_ENDS
def test_several_jobs_in_flight_are_each_waited_for(login, replace):
    run = login("-r", "-n", "rank_p2p", "-S", "rank_p2p.extra_opts=--samples,3,--size,1MiB", replace=replace)
    assert run.code == 0, run.output
    assert [check["result"] for check in run.checks()] == ["pass"] * 3


def test_an_unknown_queue_is_refused_in_the_words_of_pbs(login):
    run = login(*HOST, replace={'"-q workq"': '"-q nonsense"'})
    assert "Unknown queue" in failed_because(run)


@BACK_ENDS
@pytest.mark.parametrize(("nodes", "gpus"), [(1, 9), (3, 0)], ids=["too-many-gpus", "too-many-nodes"])
def test_a_job_that_can_never_run_is_given_up(login, pbs, nodes, gpus, replace):
    """PBS accepts it, and would keep it for ever."""
    options = ("-S", f"rank_p2p.nodes={nodes}", "-S", "max_pending_time=5s")
    run = login(*RANKS, *options, gpus=gpus, replace=replace)
    assert "maximum pending time exceeded" in failed_because(run)
    assert pbs("qstat") == ""


def test_a_job_that_waits_for_offline_nodes_is_given_up(login, pbs):
    pbs("pbsnodes", "-o", "lmp1", "lmp2")
    try:
        run = login(*HOST, "-S", "max_pending_time=5s")
    finally:
        pbs("pbsnodes", "-r", "lmp1", "lmp2")
    assert "maximum pending time exceeded" in failed_because(run)
    assert pbs("qstat") == ""


def test_a_job_runs_on_the_node_that_is_not_offline(login, pbs):
    pbs("pbsnodes", "-o", "lmp1")
    try:
        run = login(*HOST, *QUICK)
    finally:
        pbs("pbsnodes", "-r", "lmp1")
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] == "lmp2"


@BACK_ENDS
def test_a_job_that_is_deleted_while_it_runs_fails(login, pbs, when, meanwhile, replace):
    meanwhile(lambda: pbs("qdel", when("R")))
    run = login(*HOST, *HANG, replace=replace)
    assert "not with 'Result: PASS'" in failed_because(run)


@BACK_ENDS
def test_a_job_that_is_deleted_while_it_waits_fails(login, pbs, when, meanwhile, replace):
    meanwhile(lambda: pbs("qdel", when("Q")))
    run = login(*RANKS, *NO_OUTPUT, "-S", "rank_p2p.nodes=3", grace=3, replace=replace)
    reason = failed_because(run)
    assert "its output did not appear within 3 s" in reason or "left no output" in reason


@BACK_ENDS
def test_a_job_that_reaches_its_time_limit_fails(login, replace):
    run = login(*HOST, *HANG, "-S", "intranode_p2p.time_limit=5s", replace=replace)
    assert "not with 'Result: PASS'" in failed_because(run)


@BACK_ENDS
def test_a_job_whose_program_fails_tells_its_exit_code(login, replace):
    run = login(*HOST, *CORRUPT, replace=replace)
    assert "cpu1" in failed_because(run)
    assert only(run)["job_exitcode"] == 1


@BACK_ENDS
def test_a_job_whose_node_is_lost_fails(login, when, meanwhile, lose_node, replace):
    meanwhile(lambda: lose_node(when("R")))
    run = login(*HOST, *HANG, *NO_OUTPUT, grace=3, replace=replace)
    reason = failed_because(run)
    assert "its output did not appear within 3 s" in reason or "left no output" in reason
