"""PBS and Torque. These extensions limit waits, and avoid these defects of ReFrame's schedulers:

* ReFrame waits forever for a job whose node is lost, and for the output of a job that was deleted in the queue.
* `pbspro` ends the session if a job was deleted in the queue.
* After one failure or one unreadable answer of `qstat`, ReFrame ends the session and leaves its jobs in the queue.
"""

import re
import time
from typing import ClassVar, NamedTuple

import reframe.utility.osext as osext
from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobError, JobSchedulerError, SpawnedProcessError
from reframe.core.schedulers import Job
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler, TorqueJobScheduler

from ...errors import clean
from .pending import COMMAND_ERRORS, Reasons, Unanswered, explained, is_permanent

QUEUED = ("QUEUED", "HELD", "WAITING", "PENDING")
#: The errors that ReFrame raises for unreadable or incomplete JSON.
NO_JSON = (ValueError, LookupError, TypeError)
#: The errors that ReFrame raises for a failure or an unreadable answer of `qstat`. SyntaxError means invalid XML.
NO_ANSWER = (*NO_JSON, *COMMAND_ERRORS, JobError, JobSchedulerError, SyntaxError, AttributeError)


class Phase(NamedTuple):
    """A phase of a job.

    state: the scheduler's state of the job.
    deleted: whether ReFrame has asked the scheduler to delete the job.
    since: the time when the phase began.
    """

    state: str | None
    deleted: bool
    since: float


def printable(error: Exception) -> str:
    """The text of an error on one line, without control characters."""
    return " ".join(clean(str(error)).split())


class BoundedWaits(PbsJobScheduler):
    """A scheduler that gives up jobs after a maximum time, and reports why jobs wait."""

    #: maximum seconds from the time limit of a job to its end, and from its end to its output
    GRACE_SECONDS = 120
    #: maximum seconds without a readable answer; a restart of the server takes less
    SILENCE_SECONDS = 1800
    #: the command that reports why a job waits, and a regular expression for the reason in its output
    REASON_QUERY: ClassVar = ("qstat -f {}", r"^\s*comment = (.*(?:\n\t.*)*)")

    def __init__(self) -> None:
        super().__init__()
        self.reasons = Reasons()
        self.phases: dict[str, Phase] = {}  # by job ID
        self.unanswered = Unanswered()

    def poll(self, *jobs: Job | None) -> None:
        """Updates the states of jobs, and gives up overdue jobs. An unanswered query is repeated at the next poll."""
        given = [job for job in jobs if job is not None]
        try:
            self.query(given)
        except NO_ANSWER as error:
            if isinstance(error, SpawnedProcessError) and len(given) > 1:  # the deletion of one job failed
                for job in given:
                    self.poll(job)
                return
            for job in given:
                self.retry_or_give_up(job, f"{type(error).__name__}: {printable(error)}", time.time())
            return
        for job in given:
            self.unanswered.pop(job.jobid, None)
            if not self.finished(job):
                self.check_wait(job, time.time())

    def query(self, jobs: list[Job]) -> None:
        """Asks the scheduler for the states of jobs, with ReFrame's method.

        If the scheduler gives no readable answer, raises an error of NO_ANSWER.
        """
        super().poll(*jobs)

    def retry_or_give_up(self, job: Job, error: str, now: float) -> None:
        """Handles a query without a readable answer. Gives up the job after SILENCE_SECONDS.

        error: a description of the failed query.
        """
        limit = self.SILENCE_SECONDS
        if self.unanswered.is_overdue(job, "no readable answer", error, limit, now) and not self.finished(job):
            self.give_up(job, f"the scheduler has given no readable answer for {limit / 60:g} min: {error}")

    def check_wait(self, job: Job, now: float) -> None:
        """Checks an unfinished job. If the job waits, updates the reason. If the job is overdue, gives up the job."""
        if job.state in QUEUED:
            self.end_pending(job, now)
        if reason := self.overdue_reason(job, now):
            self.give_up(job, reason)

    def end_pending(self, job: Job, now: float) -> None:
        """Handles a waiting job. If the job can never begin, deletes the job.

        If ReFrame has already deleted the job, adds the scheduler's reason to the error of the job.
        """
        if not job.exception and self.reasons.is_query_due(job, now):
            self.reasons.note(job, self.pending_reason(job), now)
        reason = self.reasons.last(job)
        if not reason:
            return
        if job.exception is None and is_permanent(reason):
            try:
                self.cancel(job)
            except COMMAND_ERRORS:
                return  # the next poll tries again
            job._exception = JobError(f"the job could never begin, and was deleted: {explained(reason)}", job.jobid)
        elif job.exception is not None and reason not in str(job.exception):
            text = str(job.exception).removeprefix(f"[jobid={job.jobid}] ")
            job._exception = JobError(f"{text}; the scheduler's reason was: {explained(reason)}", job.jobid)

    def pending_reason(self, job: Job) -> str:
        """The scheduler's reason why a job waits; "" if the scheduler reports no reason."""
        command, pattern = self.REASON_QUERY
        found = re.search(pattern, osext.run_command(command.format(job.jobid), log=False).stdout, re.MULTILINE)
        return re.sub(r"\n\t", "", found[1]).strip().removeprefix("Not Running: ") if found else ""

    def overdue_reason(self, job: Job, now: float) -> str:
        """Why an unfinished job must be given up; "" if the job is not overdue."""
        state, deleted = job.state, job.exception
        phase = self.phases.get(job.jobid)
        if phase is None or (phase.state, phase.deleted) != (state, bool(deleted)):
            phase = self.phases[job.jobid] = Phase(state, bool(deleted), now)
        lasted, limit, grace = now - phase.since, job.max_pending_time, self.GRACE_SECONDS
        if deleted:
            return f"{deleted}; the job still exists {grace} s after its deletion" if lasted >= grace else ""
        # ReFrame checks max_pending_time for PBS, but not for Grid Engine
        if state == "PENDING" and limit and now - job.submit_time >= limit:
            why = f"; the scheduler's reason was: {explained(reason)}" if (reason := self.reasons.last(job)) else ""
            return f"the job did not begin in time, max_pending_time is {limit:g} s{why}"
        if state == "ERROR":
            return "the scheduler put the job into its error state: run `qstat -j` for the reason"
        if state == "COMPLETED" and lasted >= grace:
            return f"the job ended and its output did not appear within {grace} s: was the job deleted before it began?"
        if state in ("RUNNING", "EXITING", "DELETING") and job.time_limit and lasted >= job.time_limit + grace:
            return f"the job still exists {grace} s after its time limit of {job.time_limit:g} s: is its node lost?"
        return ""

    def give_up(self, job: Job, reason: str) -> None:
        """Deletes a job, and marks the job as completed with an error. The job is marked even if the deletion fails."""
        try:
            if job.state != "COMPLETED":
                self.cancel(job)
        except COMMAND_ERRORS as error:
            reason = f"{reason} (the deletion failed: {printable(error)})"
        job._exception = JobError(reason, job.jobid)
        job._state, job._completed = "COMPLETED", True


@register_scheduler("linkmatrix_pbs")
class Pbs(BoundedWaits):
    """PBS, polled by `qstat -f`."""


@register_scheduler("linkmatrix_torque")
class Torque(BoundedWaits, TorqueJobScheduler):
    """Torque, polled by `qstat -f`."""


@register_scheduler("linkmatrix_pbspro")
class PbsPro(BoundedWaits, PbsProJobScheduler):
    """PBS, polled by `qstat -xf -F json`."""

    def query(self, jobs: list[Job]) -> None:
        """Asks for each job in a separate query, because OpenPBS's JSON contains only the first of several jobs.

        For some environment variables of a job, OpenPBS prints invalid JSON. Such a job is polled by `qstat -f`.
        """
        for job in jobs:
            try:
                super().query([job])
            except NO_JSON as error:
                if job.state == "COMPLETED" and error.args == ("Exit_status",):  # the job never began
                    job._completed = True
                else:
                    PbsJobScheduler.poll(self, job)
