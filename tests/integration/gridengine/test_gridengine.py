"""The checks through a real Grid Engine: submitted, waited for, judged. Every way to end badly is one verdict."""

import os
import re
import signal

import pytest
from reframe_runs import CORRUPT, HANG, HOST, NO_OUTPUT, OWN_CORES, QUICK, RANKS, failed_because, only, record_of

pytestmark = [pytest.mark.integration, pytest.mark.gridengine]


def test_a_job_is_measured_on_the_host_that_grid_engine_gave_it(login):
    run = login(*HOST, *QUICK)
    assert run.code == 0, run.output
    assert record_of(only(run))["host"]["name"] == "lmxge"


def test_ranks_are_a_matrix_and_have_a_slot_each(login, gridengine):
    # the machine may have fewer cores than this
    unbound = {'"--bind-to", "core"': '"--bind-to", "none"', '# "shared_cores": True': '"shared_cores": True'}
    run = login(*RANKS, "-S", "rank_p2p.ranks=3", replace=unbound)
    assert run.code == 0, run.output
    record = record_of(only(run))
    assert [device["node"] for device in record["devices"]] == ["lmxge"] * 3
    (result,) = record["results"]
    assert result["complete"]
    assert result["verified"]
    assert re.search(r"^slots +3 *$", gridengine("qacct", "-j", only(run)["jobid"]), re.MULTILINE)


def test_programs_are_built_on_a_host_in_a_job_with_a_slot_and_a_queue(login, gridengine):
    run = login(*HOST, *QUICK, "-S", "build_linkmatrix.build_locally=no")
    assert run.code == 0, run.output
    job = gridengine("qacct", "-j", "rfm_build_*")
    assert re.search(r"^slots +1 *$", job, re.MULTILINE) and re.search(r"^granted_pe +mpi *$", job, re.MULTILINE)


def test_several_jobs_in_flight_are_each_waited_for(login):
    run = login("-r", "-n", "rank_p2p", "-S", "rank_p2p.extra_opts=--samples,3,--size,1MiB")
    assert run.code == 0, run.output
    assert [check["result"] for check in run.checks()] == ["pass"] * 3


def test_a_job_runs_on_the_host_that_is_asked_for_and_on_no_other(login, gridengine):
    run = login(*HOST, *QUICK, "-S", "on=lmxge")
    assert run.code == 0, run.output
    assert re.search(r"^category .*hostname=lmxge", gridengine("qacct", "-j", only(run)["jobid"]), re.MULTILINE)
    run = login(*HOST, *QUICK, "-S", "on=nowhere")
    assert 'can\'t resolve hostname "nowhere"' in failed_because(run)


@OWN_CORES
def test_ranks_have_cores_of_their_own(login):
    run = login("-r", "-n", "rank_binding")
    assert run.code == 0, run.output


@OWN_CORES
def test_ranks_that_one_host_got_instead_of_two_are_found_out(login):
    """As a parallel environment does whose rule is $pe_slots, and so this one's."""
    run = login("-r", "-n", "crossnode_sweep.*rank_to_rank_bandwidth", "-S", "crossnode_sweep.sizes=1KiB:4KiB:4")
    assert "1 ranks should run on each of 2 nodes, but these ran: 2 on lmxge" in failed_because(run)


def test_an_unknown_queue_is_refused_in_the_words_of_grid_engine(login):
    run = login(*HOST, replace={'"-q all.q"': '"-q nonsense.q"'})
    assert 'job requests unknown queue "nonsense.q"' in failed_because(run)


def test_a_job_that_wants_more_slots_than_there_are_is_given_up(login, gridengine):
    run = login(*RANKS, "-S", "rank_p2p.ranks=9", "-S", "max_pending_time=5s")
    assert "did not begin in time, max_pending_time is 5 s" in failed_because(run)
    assert gridengine("qstat") == ""


def test_a_job_in_the_error_state_is_given_up(login, gridengine):
    run = login(*HOST, replace={'"-S /bin/bash"': '"-S /bin/nonsense"'})
    assert "the scheduler put the job into its error state" in failed_because(run)
    assert gridengine("qstat") == ""


def test_a_job_that_is_deleted_while_it_waits_fails(login, gridengine, when, meanwhile):
    meanwhile(lambda: gridengine("qdel", when("qw")))
    run = login(*RANKS, *NO_OUTPUT, "-S", "rank_p2p.ranks=9")
    assert "left no output" in failed_because(run)


def test_a_job_that_is_deleted_while_it_runs_fails(login, gridengine, when, measuring, meanwhile):
    def delete():
        job = when("r")
        measuring()
        gridengine("qdel", job)

    meanwhile(delete)
    run = login(*HOST, *HANG)
    assert "not with 'Result: PASS'" in failed_because(run)


def test_a_job_that_reaches_its_time_limit_fails(login):
    run = login(*HOST, *HANG, "-S", "intranode_p2p.time_limit=3s")
    assert "not with 'Result: PASS'" in failed_because(run)


def test_a_job_whose_program_fails_is_a_failure_though_grid_engine_tells_no_exit_code(login):
    run = login(*HOST, *CORRUPT)
    assert only(run)["job_exitcode"] is None
    assert "cpu1" in failed_because(run)


def test_a_job_whose_host_is_lost_is_given_up_after_its_time_limit(login, when, daemon, meanwhile):
    lost = daemon()

    def lose():
        when("r")
        os.kill(lost, signal.SIGSTOP)

    meanwhile(lose)
    try:
        run = login(*HOST, *HANG, "-S", "intranode_p2p.time_limit=5s", grace=5)
    finally:
        os.kill(lost, signal.SIGCONT)
    assert "is its node lost?" in failed_because(run)
