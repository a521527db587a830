"""Slurm that does not answer for a while, or has lost a job: no session ends, and no job is waited for without end."""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SpawnedProcessError


@dataclass(eq=False)
class StandInJob:
    """What is asked of a job of ReFrame, in the place of one."""

    jobid: str = "12"
    name: str = "rfm_check"
    state: str | None = None
    submit_time: float = 1000.0
    is_cancelling: bool = False
    workdir: str = "/nonexistent"
    stdout: str = "rfm_job.out"
    _exception: Exception | None = None
    _nodespec: str | None = None

    @property
    def _state(self):
        return self.state

    @_state.setter
    def _state(self, value):
        self.state = value


@dataclass
class StandInBackEnd:
    """A back end of ReFrame: what sacct and scancel do is told by the test, and what was cancelled is kept."""

    sacct: dict | Exception = field(default_factory=dict)
    scancel: Exception | None = None
    cancelled: list = field(default_factory=list)
    late: list = field(default_factory=list)
    _squeue: str = "squeue"

    def cancel(self, job):
        self.cancelled.append(job.jobid)
        if self.scancel:
            raise self.scancel

    def _cancel_if_pending_too_long(self, jobs):
        self.late += [job.jobid for job in jobs]


def poll(back_end, *jobs):
    """As ReFrame's poll of the back end slurm: sacct tells the states, or it raises."""
    if isinstance(back_end.sacct, Exception):
        raise back_end.sacct
    for job in jobs:
        job._state = back_end.sacct.get(job.jobid)


@pytest.fixture
def lab(config_module, monkeypatch):
    """The module, with a clock, an answer of squeue and a log that are the test's."""
    module = config_module("slurm_silence")
    module.clock, module.said = 1000.0, []
    module.squeue = SimpleNamespace(returncode=0, stdout="", stderr="")
    monkeypatch.setattr(module.time, "time", lambda: module.clock)
    monkeypatch.setattr(module, "getlogger", lambda: SimpleNamespace(info=module.said.append))

    def run_command(command, **_):
        assert re.fullmatch(r'squeue -h -t all -j [\d,]+ -o "%i\|%T\|%N\|"', command)
        if isinstance(module.squeue, Exception):
            raise module.squeue
        return module.squeue

    monkeypatch.setattr(module.osext, "run_command", run_command)
    return module


def failed(text):
    return SpawnedProcessError("sacct", "", text, 1)


NO_ANSWER = SimpleNamespace(returncode=1, stdout="", stderr="slurm_load_jobs error: Unable to contact slurm controller")
NO_SUCH_JOB = SimpleNamespace(returncode=1, stdout="", stderr="slurm_load_jobs error: Invalid job id specified")


@pytest.mark.parametrize("fault", [failed("Connection refused"), FileNotFoundError(2, "No such file", "sacct")])
def test_where_accounting_fails_the_controller_tells_the_state_and_late_jobs_are_ended(lab, fault):
    job, back_end = StandInJob(state="PENDING"), StandInBackEnd(sacct=fault)
    lab.squeue = SimpleNamespace(returncode=0, stdout="12|RUNNING|n[1-2]|\n", stderr="")
    for _ in range(9):
        lab.accounting_first(poll)(back_end, None, job)
    assert (job.state, job._nodespec, back_end.cancelled) == ("RUNNING", "n[1-2]", [])
    assert back_end.late[-1] == "12"


def test_a_job_that_nobody_knows_is_given_up_and_not_before_its_time(lab):
    job, back_end = StandInJob(state="PENDING"), StandInBackEnd(scancel=failed("Invalid job id"))
    lab.squeue = NO_SUCH_JOB
    lab.accounting_first(poll)(back_end, job)
    lab.clock += lab.UNKNOWN - 0.1
    lab.accounting_first(poll)(back_end, job)
    assert job.state == "PENDING" and job._exception is None
    lab.clock += 0.1
    lab.accounting_first(poll)(back_end, job)
    assert job.state == lab.LOST
    assert "squeue does not know it, for 2 min; sacct does not know it" in str(job._exception)
    assert len(lab.said) == 1


def test_what_a_lost_job_has_left_is_judged(lab, tmp_path):
    (tmp_path / "rfm_job.out").touch()
    job = StandInJob(state="RUNNING", workdir=str(tmp_path))
    lab.squeue = NO_SUCH_JOB
    for _ in range(2):
        lab.accounting_first(poll)(StandInBackEnd(), job)
        lab.clock += lab.UNKNOWN
    assert job.state == lab.LOST and job._exception is None


def test_daemons_that_are_silent_are_waited_for_and_then_the_job_is_given_up_with_what_they_said(lab):
    job, back_end = StandInJob(state="RUNNING"), StandInBackEnd(sacct=failed("\nsacct: error: Connection refused\n"))
    lab.squeue = NO_ANSWER
    for seconds in (0, lab.UNKNOWN, lab.SILENCE - lab.UNKNOWN - 1):
        lab.clock += seconds
        lab.accounting_first(poll)(back_end, job)
        assert job.state == "RUNNING"
    lab.clock += 1
    lab.accounting_first(poll)(back_end, job)
    assert "squeue does not answer, for 30 min; sacct: sacct: error: Connection refused" in str(job._exception)
    assert back_end.cancelled == ["12"]


def test_a_silence_that_ends_is_forgotten(lab):
    job, back_end = StandInJob(state="RUNNING"), StandInBackEnd(sacct=failed("refused"))
    lab.squeue = NO_ANSWER
    lab.accounting_first(poll)(back_end, job)
    back_end.sacct = {"12": "RUNNING"}
    lab.clock += 100
    lab.accounting_first(poll)(back_end, job)
    back_end.sacct = failed("refused")
    lab.clock += lab.SILENCE - 1
    lab.accounting_first(poll)(back_end, job)
    assert job.state == "RUNNING"


def test_a_job_that_accounting_calls_running_for_ever_is_asked_of_the_controller(lab):
    job, back_end = StandInJob(state="RUNNING"), StandInBackEnd(sacct={"12": "RUNNING"})
    lab.squeue = FileNotFoundError("squeue is not to be asked yet")
    lab.accounting_first(poll)(back_end, job)
    assert not lab.said
    lab.squeue = NO_SUCH_JOB
    for seconds in (lab.CONFIRMED, lab.UNKNOWN):
        lab.clock += seconds
        lab.accounting_first(poll)(back_end, job)
    assert job.state == lab.LOST


def test_a_job_that_was_cancelled_and_is_gone_is_cancelled(lab):
    job = StandInJob(state="PENDING", is_cancelling=True)
    lab.squeue = NO_SUCH_JOB
    lab.accounting_first(poll)(StandInBackEnd(), job)
    assert job.state == "CANCELLED"


@pytest.fixture
def squeue_alone(lab, monkeypatch):
    """A back end that asks squeue alone."""

    class StandIn(StandInBackEnd):
        SQUEUE_DELAY = 2

    monkeypatch.setattr(lab, "SqueueJobScheduler", StandIn)
    return StandIn()


def test_without_accounting_a_controller_that_is_silent_has_not_ended_a_job(lab, squeue_alone):
    job = StandInJob(state="RUNNING")
    lab.clock += 2
    lab.squeue = NO_ANSWER
    lab.controller_alone(poll)(squeue_alone, job)
    assert job.state == "RUNNING"
    lab.squeue = SimpleNamespace(returncode=0, stdout="12|TIMEOUT|n1|\n", stderr="")
    lab.controller_alone(poll)(squeue_alone, job)
    assert job.state == "TIMEOUT"
    lab.squeue = NO_SUCH_JOB
    lab.controller_alone(poll)(squeue_alone, job)
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
def test_a_job_that_was_preempted_has_ended_unless_it_is_in_the_queue_again(lab, squeue, state, ended):
    """ReFrame takes it for one that waits, and would cancel it as late, hours later."""
    job, back_end = StandInJob(state="RUNNING"), StandInBackEnd(sacct={"12": "PREEMPTED"})
    lab.squeue = SimpleNamespace(returncode=0, stdout=squeue, stderr="")
    lab.accounting_first(poll)(back_end, job)
    assert (job.state, lab.ended(job.state), lab.waits(job.state)) == (state, ended, state == "PENDING")
    assert back_end.cancelled == [] and lab.said == []


def test_a_preempted_job_whose_controller_is_silent_has_ended(lab):
    job, back_end = StandInJob(state="RUNNING"), StandInBackEnd(sacct={"12": "PREEMPTED"})
    lab.squeue = NO_ANSWER
    lab.accounting_first(poll)(back_end, job)
    assert lab.ended(job.state) and back_end.cancelled == []
