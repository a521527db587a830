"""Scheduler commands that fail for a while or print unreadable answers: no session ends, and no job is lost."""

import pytest
import reframe.utility.osext as osext

XML = """<job_info><queue_info><job_list><JB_job_number>12</JB_job_number><JB_owner>{user}</JB_owner>
<state>r</state></job_list></queue_info></job_info>"""
RUNNING = {
    "pbs": "Job Id: 12\n    job_state = R\n    exec_host = n1/0\n",
    "torque": "Job Id: 12\n    job_state = R\n    exec_host = n1/0\n",
    "pbspro": '{"Jobs": {"12": {"job_state": "R", "exec_host": "n1/0"}}}',
    "sge": XML.format(user=osext.osuser()),
}
SILENT = {"errors": "qstat: cannot connect to server n0 (errno=15034)", "code": 2}
RUBBISH = [SILENT, {"output": "<html>busy</p>\n"}, {"output": '{"Jobs": {"12": {"job_state": "\n'}, {"output": ""}]


@pytest.fixture
def started(scheduler_of, commands, clock, log, tmp_path):
    """A function that returns a scheduler and its job, which runs."""
    commands("qdel")
    clock.now = 0.0

    def make(word):
        scheduler = scheduler_of(word)
        job = scheduler.make_job("rfm_check", workdir=str(tmp_path))
        job._jobid, job._submit_time, job.time_limit = "12", 0.0, 1e6
        commands("qstat", RUNNING[word])
        scheduler.poll(job)
        assert job.state == "RUNNING"
        return scheduler, job

    return make


@pytest.mark.parametrize("answer", RUBBISH, ids=["silent", "html", "json", "empty"])
@pytest.mark.parametrize("word", sorted(RUNNING))
def test_an_answer_that_cannot_be_read_ends_no_session(started, commands, clock, word, answer):
    scheduler, job = started(word)
    commands("qstat", **answer)
    for _ in range(5):
        clock.now += 10
        scheduler.poll(job)
    assert not scheduler.finished(job)
    commands("qstat", RUNNING[word])
    scheduler.poll(job)
    assert job.state == "RUNNING" and job.exception is None and commands.calls("qdel") == []


def test_a_scheduler_that_stays_silent_is_given_up(started, commands, clock, log):
    scheduler, job = started("sge")
    commands("qstat", **SILENT)
    for seconds in (0, scheduler.SILENCE_SECONDS - 1):
        clock.now += seconds
        scheduler.poll(job)
        assert not scheduler.finished(job)
    clock.now += 1
    scheduler.poll(job)
    assert scheduler.finished(job) and "no readable answer for 30 min" in str(job.exception)
    assert commands.calls("qdel") == ["12"] and "cannot connect to server n0" in log[0]


def test_an_error_of_qstat_cannot_steer_the_terminal(started, commands, clock, log):
    scheduler, job = started("sge")
    commands("qstat", **{**SILENT, "errors": "no \x1b[2Jserver"})
    for seconds in (0, scheduler.SILENCE_SECONDS):
        clock.now += seconds
        scheduler.poll(job)
    assert "no [2Jserver" in log[0].replace("  ", " ") and "\x1b" not in log[0] + str(job.exception)


def test_a_state_that_reframe_does_not_know_ends_no_session(started, commands):
    """PBS reports U for a job that is suspended while a user works at its workstation."""
    scheduler, job = started("pbs")
    commands("qstat", RUNNING["pbs"].replace("= R", "= U"))
    scheduler.poll(job)
    assert not scheduler.finished(job) and job.exception is None


def test_where_json_cannot_be_read_pbspro_asks_for_text(started, commands, tmp_path):
    scheduler, job = started("pbspro")
    script = tmp_path / "commands" / "qstat"
    for name in (job.stdout, job.stderr):
        (tmp_path / name).touch()
    commands("qstat")
    script.write_text(f'#!/bin/sh\necho "$*" >> {script}.calls\nexit 153\n')
    scheduler.poll(job)
    assert commands.calls("qstat")[-3:-1] == ["-xf -F json 12", "-f 12"]
    assert scheduler.finished(job) and job.exception is None


def test_a_job_that_cannot_be_deleted_does_not_silence_the_others(started, commands, clock, tmp_path):
    scheduler, job = started("pbs")
    late = scheduler.make_job("rfm_check", workdir=str(tmp_path))
    late._jobid, late._submit_time, late.max_pending_time = "13", 0.0, 5
    commands("qstat", "Job Id: 13\n    job_state = Q\n\n" + RUNNING["pbs"])
    commands("qdel", errors="qdel: busy", code=1)
    clock.now += 10
    scheduler.poll(late, job)
    assert set(scheduler.unanswered) == {"13"} and job.state == "RUNNING"
