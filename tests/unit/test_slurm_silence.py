"""Slurm that does not answer for a while, or has lost a job: no session ends, and no job is waited for without end."""

import functools

import pytest
import reframe.utility.osext as osext
from reframe.core.exceptions import ForceExitError

NO_ANSWER = {"errors": "slurm_load_jobs error: Unable to contact slurm controller", "code": 1}
NO_SUCH_JOB = {"errors": "slurm_load_jobs error: Invalid job id specified", "code": 1}
REFUSED = {"errors": "\nsacct: error: Connection refused\n", "code": 1}


def submitted(scheduler, folder, state=None, number="12"):
    """A job of ReFrame, submitted at 1000 s."""
    job = scheduler.make_job("rfm_check", workdir=str(folder))
    job._jobid, job._submit_time, job._state = number, 1000.0, state
    return job


def accounted(state, number="12", code="0:0", nodes="n1"):
    """What sacct prints of a job."""
    return f"JobID|State|ExitCode|End|NodeList\n{number}|{state}|{code}|1100|{nodes}\n"


@pytest.fixture
def slurm(scheduler_of, commands, clock, log, tmp_path):
    """The scheduler `slurm`, whose commands know no job until a test sets what they print."""
    for name in ("sacct", "squeue", "scancel", "scontrol"):
        commands(name)
    found = scheduler_of("slurm")
    found.job = lambda state=None, number="12": submitted(found, tmp_path, state, number)
    return found


def test_where_accounting_fails_the_controller_tells_the_state(slurm, commands):
    job = slurm.job("PENDING")
    commands("sacct", **REFUSED)
    commands("squeue", "12|RUNNING|n[1-2]|\n")
    for _ in range(9):
        slurm.poll(None, job)
    assert (job.state, job._nodespec) == ("RUNNING", "n[1-2]")
    assert commands.calls("scancel") == []


def test_a_late_job_is_cancelled_though_accounting_fails(slurm, commands, clock):
    job = slurm.job("PENDING")
    job.max_pending_time = 60
    clock.now += 60
    commands("sacct", **REFUSED)
    commands("squeue", "12|PENDING||\n")
    slurm.poll(job)
    assert commands.calls("scancel") == ["12"] and "max_pending_time is 60 s" in str(job.exception)


def test_without_sacct_on_path_the_controller_tells_the_state(slurm, commands, monkeypatch, tmp_path):
    (tmp_path / "commands" / "sacct").unlink()
    monkeypatch.setenv("PATH", f"{tmp_path / 'commands'}:/bin")
    commands("squeue", "12|RUNNING|n1|\n")
    job = slurm.job("PENDING")
    slurm.poll(job)
    assert job.state == "RUNNING"


def test_a_job_that_nobody_knows_is_given_up_and_not_before_its_time(slurm, commands, clock, log):
    job = slurm.job("PENDING")
    commands("squeue", **NO_SUCH_JOB)
    commands("scancel", code=1)
    slurm.poll(job)
    clock.now += slurm.UNKNOWN_SECONDS - 0.1
    slurm.poll(job)
    assert job.state == "PENDING" and job.exception is None
    clock.now += 0.1
    slurm.poll(job)
    assert job.state == "LOST" and slurm.finished(job)
    assert "for 2 min: squeue does not know the job; sacct does not know the job" in str(job.exception)
    assert len(log) == 1
    asked = len(commands.calls("squeue"))
    slurm.poll(job)
    assert len(commands.calls("squeue")) == asked


def test_what_a_lost_job_has_left_is_judged(slurm, commands, clock, tmp_path):
    job = slurm.job("RUNNING")
    (tmp_path / job.stdout).touch()
    commands("squeue", **NO_SUCH_JOB)
    for _ in range(2):
        slurm.poll(job)
        clock.now += slurm.UNKNOWN_SECONDS
    assert job.state == "LOST" and job.exception is None


def test_daemons_that_are_silent_are_waited_for_and_then_the_job_is_given_up_with_what_they_said(
    slurm, commands, clock
):
    job = slurm.job("RUNNING")
    commands("sacct", **REFUSED)
    commands("squeue", **NO_ANSWER)
    for seconds in (0, slurm.UNKNOWN_SECONDS, slurm.SILENCE_SECONDS - slurm.UNKNOWN_SECONDS - 1):
        clock.now += seconds
        slurm.poll(job)
        assert job.state == "RUNNING"
    clock.now += 1
    slurm.poll(job)
    assert "for 30 min: squeue does not answer; sacct: sacct: error: Connection refused" in str(job.exception)
    assert commands.calls("scancel") == ["12"]


def test_a_silence_that_ends_is_forgotten(slurm, commands, clock):
    job = slurm.job("RUNNING")
    commands("sacct", **REFUSED)
    commands("squeue", **NO_ANSWER)
    slurm.poll(job)
    commands("sacct", accounted("RUNNING"))
    clock.now += 100
    slurm.poll(job)
    commands("sacct", **REFUSED)
    clock.now += slurm.SILENCE_SECONDS - 1
    slurm.poll(job)
    assert job.state == "RUNNING"


def test_a_job_that_accounting_calls_running_for_ever_is_asked_of_the_controller(slurm, commands, clock, log):
    job = slurm.job("RUNNING")
    commands("sacct", accounted("RUNNING"))
    commands("squeue", **NO_SUCH_JOB)
    slurm.poll(job)
    assert commands.calls("squeue") == [] and log == []
    for seconds in (slurm.CONFIRMED_SECONDS, slurm.UNKNOWN_SECONDS):
        clock.now += seconds
        slurm.poll(job)
    assert job.state == "LOST"


def test_a_job_that_was_cancelled_and_is_gone_is_cancelled(slurm, commands):
    job = slurm.job("PENDING")
    commands("squeue", **NO_SUCH_JOB)
    slurm.cancel(job)
    slurm.poll(job)
    assert job.state == "CANCELLED" and slurm.finished(job)


def test_accounting_tells_the_exit_code_and_the_nodes_of_each_job(slurm, commands):
    jobs = [slurm.job("RUNNING"), slurm.job("RUNNING", "13")]
    commands("sacct", accounted("FAILED", code="3:0", nodes="n[1-2]") + accounted("TIMEOUT", "13"))
    commands("scontrol", "n1\nn2\n")
    slurm.poll(*jobs)
    assert [(job.state, job.exitcode) for job in jobs] == [("FAILED", 3), ("TIMEOUT", 0)]
    assert all(slurm.finished(job) for job in jobs) and jobs[0].nodelist == ["n1", "n2"]


def test_parts_of_a_job_have_all_ended_before_it_has(slurm, commands):
    job = slurm.job("RUNNING")
    commands("sacct", accounted("COMPLETED", "12+0") + accounted("RUNNING", "12+1"))
    slurm.poll(job)
    assert job.state == "COMPLETED,RUNNING" and not slurm.finished(job)


def test_without_accounting_a_controller_that_is_silent_has_not_ended_a_job(
    scheduler_of, commands, clock, log, tmp_path
):
    squeue = scheduler_of("squeue")
    job = submitted(squeue, tmp_path, "RUNNING")
    commands("squeue", **NO_SUCH_JOB)
    squeue.poll(job)  # too soon for the controller to know it
    assert job.state == "RUNNING" and commands.calls("squeue") == []
    clock.now += 2
    commands("squeue", **NO_ANSWER)
    squeue.poll(None, job)
    assert job.state == "RUNNING"
    commands("squeue", "12|TIMEOUT|n1|\n")
    squeue.poll(job)
    assert job.state == "TIMEOUT"
    commands("squeue", **NO_SUCH_JOB)
    squeue.poll(job)
    assert job.state == "COMPLETED"


@pytest.mark.parametrize(
    ("squeue", "state", "ended"),
    [
        ("12|PREEMPTED|n1|\n", "PREEMPTED", True),
        ("", "PREEMPTED", True),  # some time after its end the controller forgets a job
        ("12|PENDING||\n", "PENDING", False),  # it may be requeued
        ("12|RUNNING|n2|\n", "RUNNING", False),
    ],
)
def test_a_job_that_was_preempted_has_ended_unless_it_is_in_the_queue_again(slurm, commands, log, squeue, state, ended):
    """ReFrame takes it for one that waits, and would cancel it as late, hours later."""
    job = slurm.job("RUNNING")
    commands("sacct", accounted("PREEMPTED"))
    commands("squeue", squeue)
    slurm.poll(job)
    assert (job.state, slurm.finished(job)) == (state, ended)
    assert commands.calls("scancel") == [] and log == []


def test_the_nodes_of_a_job_are_asked_for_once_for_each_state_and_again_when_slurm_knows_more(slurm, commands):
    job, other = slurm.job("RUNNING"), slurm.job("COMPLETED", "13")
    commands("scontrol", "n1\nn2\n")
    states = (("RUNNING", "n1"), ("COMPLETED", "None assigned"), ("COMPLETED", "n[1-2]"))
    names = []
    for job._state, job._nodespec in states:
        assert job.nodelist == job.nodelist
        names.append(job.nodelist)
    assert names == [[], ["n1", "n2"], ["n1", "n2"]] and other.nodelist == ["n1", "n2"]
    assert commands.calls("scontrol") == [f"show hostname {nodes}" for nodes in ("None assigned", "n[1-2]", "None")]


def test_several_clusters_are_named_in_each_job(slurm, tmp_path):
    slurm._multi_clusters = ["c1", "c2"]
    access = ["-p gpu"]
    jobs = [slurm.make_job(name, sched_access=access) for name in "ab"]
    assert [job.sched_access for job in jobs] == [["-p gpu", "-M c1,c2"]] * 2 and access == ["-p gpu"]


@pytest.mark.parametrize("output", ["<html>busy</html>\n", "12|RUNN", "12 RUNNING n1\n", "13|RUNNING|n1|\nerror\n"])
@pytest.mark.parametrize("word", ["slurm", "squeue"])
def test_an_answer_that_cannot_be_read_is_none(scheduler_of, commands, clock, log, tmp_path, word, output):
    """The job runs: it has not ended, and it is not cancelled."""
    commands("sacct", **REFUSED)
    commands("squeue", output)
    commands("scancel")
    found = scheduler_of(word)
    job = submitted(found, tmp_path, "RUNNING")
    for seconds in (10, found.UNKNOWN_SECONDS, found.UNKNOWN_SECONDS):
        clock.now += seconds
        found.poll(job)
    assert job.state == "RUNNING" and not found.finished(job)
    assert commands.calls("scancel") == [] and "squeue does not answer" in log[0]


@pytest.mark.parametrize("command", ["sacct", "squeue -h -t all", 'squeue -h -j 12 -o "%i|%r"', "scancel"])
def test_a_signal_during_a_query_ends_the_session(slurm, commands, clock, monkeypatch, command):
    """Handlers of ReframeError caught the error that ReFrame raises for SIGTERM, and the session continued."""
    job = slurm.job("PENDING")
    job.max_pending_time = 60
    clock.now += 60
    commands("sacct", **REFUSED)
    commands("squeue", "12|PENDING||\n")
    run = osext.run_command

    def interrupted(cmd, *arguments, **keywords):
        if cmd.startswith(command):
            raise ForceExitError("received signal 15")
        return run(cmd, *arguments, **keywords)

    monkeypatch.setattr(osext, "run_command", interrupted)
    monkeypatch.setattr("reframe.core.schedulers.slurm._run_strict", functools.partial(interrupted, check=True))
    with pytest.raises(ForceExitError):
        slurm.poll(job)
