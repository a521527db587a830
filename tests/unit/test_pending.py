"""Why a job waits: what is said of it, when that is asked, and what is not waited for."""

from dataclasses import dataclass

import pytest
from reframe.core.exceptions import SpawnedProcessError


@pytest.fixture
def pending(config_module):
    return config_module("pending")


@dataclass(eq=False)
class StandInJob:
    """What is asked of a job of ReFrame, in the place of one."""

    jobid: str = "12"
    name: str = "rfm_check"
    state: str = "PENDING"
    submit_time: float = 1000.0
    max_pending_time: float | None = 28800.0
    is_cancelling: bool = False
    exception: Exception | None = None
    _exception: Exception | None = None


@pytest.mark.parametrize(
    ("reason", "never", "words"),
    [
        ("Job's account not permitted to use this partition (owned allows owners not root)", True, "its account"),
        ("AccountNotAllowed", True, "its account"),
        ("PartitionNodeLimit", True, "more nodes"),
        ("PartitionTimeLimit", True, "more time"),
        ("QOSMaxWallDurationPerJobLimit", True, "more time"),
        ("AssocMaxNodePerJobLimit", True, "more than"),
        ("QOSMinGRES", True, "less than"),
        ("QOSMinCpuNotSatisfied", True, "less than"),
        ("MaxMemPerLimit", True, "more memory"),
        ("ReservationDeleted", True, "does not exist any more"),
        ("Reservation", False, "has not begun"),
        ("Can Never Run: Insufficient amount of resource: ngpus", True, "no node has"),
        ("PartitionDown", False, "ask your administrators"),
        ("Priority", False, "other jobs"),
        ("JobHeldUser", False, "scontrol release"),
        ("JobHeldAdmin", False, "an administrator"),
        ("QOSGrpNodeLimit", False, ""),
        ("something new", False, ""),
    ],
)
def test_what_can_heal_is_told_from_what_cannot(pending, reason, never, words):
    assert pending.is_never(reason) == never
    assert pending.meaning(reason).startswith(reason)
    assert words in pending.meaning(reason)


def test_a_reason_is_asked_for_soon_and_again_within_a_minute_and_said_once(pending, monkeypatch):
    said = []
    monkeypatch.setattr(pending, "getlogger", lambda: type("Log", (), {"info": lambda _, text: said.append(text)})())
    job = StandInJob()
    assert not pending.is_due(job, 1001) and pending.is_due(job, 1005)
    pending.note(job, "Priority", 1005)
    assert not pending.is_due(job, 1049) and pending.is_due(job, 1065)
    pending.note(job, "Priority", 1065)
    pending.note(job, "PartitionDown", 1125)
    assert len(said) == 2
    assert said[0] == (
        "waiting: job 12 (rfm_check): Priority (other jobs come first); it is waited for up to 8 h (max_pending_time)"
    )
    assert pending.verdict(job, 29799) is None
    assert "the scheduler's reason was: PartitionDown" in pending.verdict(job, 29800)


def test_pbs_and_grid_engine_say_it_in_a_comment(pending, monkeypatch):
    answers = {
        "qstat -f 12": "Job Id: 12\n    job_state = Q\n    comment = Not Running: Insufficient amount of\n\t resource:"
        " ngpus (R: 4 A: 2 T: 2)\n    etime = 1\n",
        "qstat -j 12": "job_number: 12\nscheduling info:            queue instance is full\n",
    }
    monkeypatch.setattr(pending.osext, "run_command", lambda cmd, log: type("Done", (), {"stdout": answers[cmd]}))
    found = {pending.ask(*asked, StandInJob()) for asked in pending.ASKED.values()}
    assert found == {"Insufficient amount of resource: ngpus (R: 4 A: 2 T: 2)", "queue instance is full"}


class StandInBackEnd:
    """A back end that deletes what it is told to."""

    def __init__(self):
        self.deleted = []

    def cancel(self, job):
        self.deleted.append(job.jobid)


def test_a_job_of_pbs_that_can_never_run_is_deleted_and_another_is_not(pending):
    never, later = StandInJob(state="QUEUED"), StandInJob(jobid="13", state="QUEUED")
    pending.seen[never] = pending.Seen(1000, "Can Never Run: Insufficient amount of resource: ngpus")
    pending.seen[later] = pending.Seen(1000, "Job is queued behind others")
    back_end = StandInBackEnd()
    for job in (never, later):
        pending.say_why(back_end, job)
    assert back_end.deleted == ["12"]
    assert "the job could never begin, and was deleted: Can Never Run" in str(never._exception)
    later.exception = ValueError("[jobid=13] maximum pending time exceeded")
    pending.say_why(back_end, later)
    assert str(later._exception).endswith("exceeded; the scheduler's reason was: Job is queued behind others")


class StandInSlurm(StandInBackEnd):
    """Slurm's back end: `squeue` is told by the test, and scancel may give no answer."""

    _squeue, _cancel_reasons, answers = "squeue", (), True

    def cancel_many(self, jobs):
        if not self.answers:
            raise SpawnedProcessError("scancel", "", "Unable to contact slurm controller", 1)
        self.deleted += [job.jobid for job in jobs]


@pytest.fixture
def late(pending, monkeypatch):
    """The module at a time when jobs have waited too long, of which squeue knows no reason."""
    monkeypatch.setattr(pending.time, "time", lambda: 1000.0 + 28800)
    monkeypatch.setattr(pending.osext, "run_command", lambda *_, **__: type("Done", (), {"stdout": "12|None\n"}))
    return pending


@pytest.mark.parametrize(
    ("state", "words"),
    [("REQUEUED", "did not begin in time"), ("REQUEUE_HOLD", "did not begin in time"), ("SUSPENDED", "stands still")],
)
def test_a_job_that_waits_again_or_stands_still_is_not_waited_for_without_end(late, state, words):
    job, back_end = StandInJob(state=state), StandInSlurm()
    late.end_pending(back_end, [job])
    assert back_end.deleted == ["12"]
    assert f"it {words}, max_pending_time is 28800 s" in str(job._exception)
    assert str(job._exception).endswith("the scheduler gave no reason")


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_a_job_that_runs_is_not_ended(late, state):
    job, back_end = StandInJob(state=state), StandInSlurm()
    late.end_pending(back_end, [job])
    assert back_end.deleted == [] and job._exception is None


def test_a_cancellation_without_an_answer_is_tried_again(late):
    job, back_end = StandInJob(), StandInSlurm()
    back_end.answers = False
    late.end_pending(back_end, [job])
    assert job._exception is None
    back_end.answers = True
    late.end_pending(back_end, [job])
    assert back_end.deleted == ["12"] and "did not begin in time" in str(job._exception)
