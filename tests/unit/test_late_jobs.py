"""Jobs of PBS and Grid Engine that would be waited for without end are given up."""

import json

import pytest
import reframe.utility.osext as osext


@pytest.fixture
def pbs(scheduler_of, commands, clock, log):
    """The scheduler `pbs`, whose commands know no job; the clock is at the time of the submission."""
    commands("qstat", code=153)
    commands("qdel")
    clock.now = 0.0
    return scheduler_of("pbs")


def submitted(scheduler, folder, state=None, number="12"):
    """A job of ReFrame, submitted at 0 s, with a minute of time and ten seconds to begin."""
    job = scheduler.make_job("rfm_check", workdir=str(folder))
    job._jobid, job._submit_time, job._state = number, 0.0, state
    job.time_limit, job.max_pending_time = 100, 10
    return job


@pytest.mark.parametrize(
    ("state", "deleted", "first", "last", "said"),
    [
        ("PENDING", None, 9.9, 10.0, "max_pending_time is 10 s"),
        ("COMPLETED", None, 119.9, 120.0, "output did not appear"),
        ("RUNNING", None, 219.9, 220.0, "is its node lost?"),
        ("DELETING", None, 219.9, 220.0, "is its node lost?"),
        ("QUEUED", ValueError("too late"), 119.9, 120.0, "too late; the job still exists"),
    ],
)
def test_a_job_is_given_up_at_its_limit_and_not_before(pbs, tmp_path, state, deleted, first, last, said):
    job = submitted(pbs, tmp_path, state)
    job._exception = deleted
    assert pbs.overdue_reason(job, 0.0) == pbs.overdue_reason(job, first) == ""
    assert said in pbs.overdue_reason(job, last)


def test_a_job_in_an_error_state_is_given_up_at_once(pbs, tmp_path):
    assert "error state" in pbs.overdue_reason(submitted(pbs, tmp_path, "ERROR"), 0.0)


def test_the_time_that_a_job_is_in_the_queue_or_suspended_is_none_of_its_time_limit(pbs, tmp_path):
    job = submitted(pbs, tmp_path)
    job.max_pending_time = None
    for job._state, now in (("PENDING", 1e6), ("RUNNING", 1e6), ("SUSPENDED", 2e6), ("RUNNING", 2e6)):
        assert pbs.overdue_reason(job, now) == ""
    assert pbs.overdue_reason(job, 2e6 + 220)


def test_a_job_whose_output_never_comes_is_given_up(pbs, clock, tmp_path):
    job = submitted(pbs, tmp_path)
    pbs.poll(None, job)
    assert job.state == "COMPLETED" and not pbs.finished(job)
    clock.now += pbs.GRACE_SECONDS
    pbs.poll(job)
    assert pbs.finished(job) and "output did not appear" in str(job.exception)


def test_a_job_that_cannot_be_deleted_is_given_up_with_the_reason(pbs, clock, commands, tmp_path):
    commands("qstat", "Job Id: 12\n    job_state = R\n    exec_host = n2/0+n1/0\n")
    commands("qdel", errors="qdel: Server could not connect to MOM 12", code=1)
    job = submitted(pbs, tmp_path)
    pbs.poll(job)
    assert (job.state, job.nodelist) == ("RUNNING", ["n1", "n2"])
    clock.now += job.time_limit + pbs.GRACE_SECONDS
    pbs.poll(job)
    assert pbs.finished(job)
    assert "is its node lost?" in str(job.exception) and "could not connect to MOM" in str(job.exception)


def test_a_job_of_pbs_tells_its_exit_code(pbs, commands, tmp_path):
    commands("qstat", "Job Id: 12\n    job_state = C\n    exit_status = 3\n")
    job = submitted(pbs, tmp_path)
    for name in (job.stdout, job.stderr):
        (tmp_path / name).touch()
    pbs.poll(job)
    assert pbs.finished(job) and job.exitcode == 3


GRID_ENGINE = """<job_info><queue_info><job_list><JB_job_number>12</JB_job_number><JB_owner>{user}</JB_owner>
<state>{state}</state></job_list></queue_info></job_info>"""


@pytest.mark.parametrize(("state", "seconds", "said"), [("Eqw", 5, "error state"), ("qw", 10, "did not begin in time")])
def test_a_job_of_grid_engine_that_cannot_begin_is_given_up(
    scheduler_of, commands, clock, log, tmp_path, state, seconds, said
):
    commands("qdel")
    commands("qstat", GRID_ENGINE.format(user=osext.osuser(), state=state))
    sge = scheduler_of("sge")
    job = submitted(sge, tmp_path)
    clock.now = seconds
    sge.poll(job)
    assert sge.finished(job) and said in str(job.exception)
    assert commands.calls("qdel") == ["12"]


def test_pbspro_asks_for_each_job_and_a_job_that_never_began_has_ended(scheduler_of, commands, clock, log, tmp_path):
    """OpenPBS prints the first of several jobs only, and a job that was deleted in the queue has no Exit_status."""
    jobs = {"12": {"job_state": "F"}, "13": {"job_state": "F", "Exit_status": 3, "exec_host": "n1/0"}}
    pbspro = scheduler_of("pbspro")
    first, second = (submitted(pbspro, tmp_path, number=number) for number in jobs)
    for job in (first, second):
        commands("qstat", json.dumps({"Jobs": {job.jobid: jobs[job.jobid]}}))
        pbspro.poll(job)
    pbspro.poll(None, first, second)
    assert [(pbspro.finished(job), job.exitcode) for job in (first, second)] == [(True, None), (True, 3)]
    assert commands.calls("qstat")[-2:] == ["-xf -F json 12", "-xf -F json 13"]
