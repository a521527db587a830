"""PBS and Torque, with an end to every wait.

ReFrame waits without end for the output of a job that was deleted in the queue, and for a job whose node is lost. Its
scheduler `pbspro` ends the session over a job that was deleted in the queue. Each of its schedulers ends the session
where `qstat` fails once or prints something that cannot be read, and leaves its jobs in the queue.
"""

import re
import time
from typing import ClassVar, NamedTuple

import reframe.utility.osext as osext
from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobError, ReframeError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler, TorqueJobScheduler

from .pending import Reasons, is_never, meaning

QUEUED = ("QUEUED", "HELD", "WAITING", "PENDING")
#: What ReFrame raises if JSON cannot be read, or lacks what it needs.
NO_JSON = (ValueError, LookupError, TypeError)
#: What ReFrame raises if `qstat` fails or prints something that cannot be read: an error of XML is a SyntaxError.
NO_ANSWER = (*NO_JSON, ReframeError, OSError, SyntaxError, AttributeError)


class Phase(NamedTuple):
    """The state of a job, whether ReFrame deletes it, and since when both are so."""

    state: str | None
    deleted: bool
    since: float


class EndedWaits(PbsJobScheduler):
    """A scheduler that gives up each job that would be waited for without end, and reports why jobs wait."""

    GRACE = 120  # seconds that a job may be there beyond its time limit, or be gone without its output
    SILENCE = 1800  # seconds without an answer that can be read: a server that restarts is back by then
    #: the command that reports why a job waits, and the regular expression of the reason in its output
    ASK: ClassVar = ("qstat -f {}", r"^\s*comment = (.*(?:\n\t.*)*)")

    def __init__(self) -> None:
        super().__init__()
        self.reasons = Reasons()
        self.phases: dict[str, Phase] = {}  # by job ID
        self.silent: dict[str, float] = {}  # by job ID: since when there is no answer

    def poll(self, *jobs: Job | None) -> None:
        """Update jobs as ReFrame does, then end the waits that are over. Repeat a question without an answer."""
        given = [job for job in jobs if job is not None]
        try:
            self.ask(given)
        except NO_ANSWER as error:
            if isinstance(error, SpawnedProcessError) and len(given) > 1:  # one of them cannot be deleted
                for job in given:
                    self.poll(job)
                return
            for job in given:
                self.end_silence(job, f"{type(error).__name__}: {' '.join(str(error).split())}", time.time())
            return
        for job in given:
            self.silent.pop(job.jobid, None)
            if not self.finished(job):
                self.end_wait(job, time.time())

    def ask(self, jobs: list[Job]) -> None:
        """Update jobs as ReFrame does. Raises one of NO_ANSWER."""
        super().poll(*jobs)

    def end_silence(self, job: Job, error: str, now: float) -> None:
        """Note that there is no answer about a job, and give the job up after SILENCE seconds."""
        limit = f"{self.SILENCE / 60:g} min"
        if job.jobid not in self.silent:
            self.silent[job.jobid] = now
            getlogger().info(
                f"job {job.jobid} ({job.name}): no answer that can be read ({error}); the scheduler is asked again for"
                f" up to {limit}"
            )
        if now - self.silent[job.jobid] >= self.SILENCE and not self.finished(job):
            self.give_up(job, f"the scheduler has given no answer that can be read for {limit}: {error}")

    def end_wait(self, job: Job, now: float) -> None:
        """Ask why an unfinished job waits, and give it up where it is overdue."""
        if job.state in QUEUED:
            self.end_pending(job, now)
        if reason := self.overdue(job, now):
            self.give_up(job, reason)

    def end_pending(self, job: Job, now: float) -> None:
        """Delete a job that can never begin, and add the reason to ReFrame's error where it deleted the job."""
        if not job.exception and self.reasons.is_due(job, now):
            self.reasons.note(job, self.pending_reason(job), now)
        reason = self.reasons.of(job)
        if not reason:
            return
        if job.exception is None and is_never(reason):
            try:
                self.cancel(job)
            except ReframeError:
                return  # it is tried again
            job._exception = JobError(f"the job could never begin, and was deleted: {meaning(reason)}", job.jobid)
        elif job.exception is not None and reason not in str(job.exception):
            text = str(job.exception).removeprefix(f"[jobid={job.jobid}] ")
            job._exception = JobError(f"{text}; the scheduler's reason was: {meaning(reason)}", job.jobid)

    def pending_reason(self, job: Job) -> str:
        """Why a job waits, in the scheduler's words; "" for no reason."""
        command, pattern = self.ASK
        found = re.search(pattern, osext.run_command(command.format(job.jobid), log=False).stdout, re.MULTILINE)
        return re.sub(r"\n\t", "", found[1]).strip().removeprefix("Not Running: ") if found else ""

    def overdue(self, job: Job, now: float) -> str:
        """Why an unfinished job is given up; "" where it is not."""
        state, deleted = job.state, job.exception
        phase = self.phases.get(job.jobid)
        if phase is None or (phase.state, phase.deleted) != (state, bool(deleted)):
            phase = self.phases[job.jobid] = Phase(state, bool(deleted), now)
        lasted, limit, grace = now - phase.since, job.max_pending_time, self.GRACE
        if deleted:
            return f"{deleted}; it is still there {grace} s after its deletion" if lasted >= grace else ""
        if state == "PENDING" and limit and now - job.submit_time >= limit:  # Grid Engine; ReFrame ends those of PBS
            why = f"; the scheduler's reason was: {meaning(reason)}" if (reason := self.reasons.of(job)) else ""
            return f"it did not begin in time, max_pending_time is {limit:g} s{why}"
        if state == "ERROR":
            return "the scheduler put it into its error state: ask it why, e.g. by `qstat -j`"
        if state == "COMPLETED" and lasted >= grace:
            return f"it ended and its output did not appear within {grace} s: was it deleted before it began?"
        if state in ("RUNNING", "EXITING", "DELETING") and job.time_limit and lasted >= job.time_limit + grace:
            return f"it is still there {grace} s after its time limit of {job.time_limit:g} s: is its node lost?"
        return ""

    def give_up(self, job: Job, reason: str) -> None:
        """Delete a job if the scheduler still can, and wait for it no longer."""
        try:
            if job.state != "COMPLETED":
                self.cancel(job)
        except ReframeError as error:
            reason = f"{reason} (it could not be deleted: {error})"
        job._exception = JobError(reason, job.jobid)
        job._state, job._completed = "COMPLETED", True


@register_scheduler("linkmatrix_pbs")
class Pbs(EndedWaits):
    """PBS, asked by `qstat -f`."""


@register_scheduler("linkmatrix_torque")
class Torque(EndedWaits, TorqueJobScheduler):
    """Torque."""


@register_scheduler("linkmatrix_pbspro")
class PbsPro(EndedWaits, PbsProJobScheduler):
    """PBS, asked by `qstat -xf -F json`."""

    def ask(self, jobs: list[Job]) -> None:
        """Ask for each job by itself: OpenPBS reports only the first of several jobs in JSON.

        OpenPBS prints JSON that cannot be read for some environments of jobs. `qstat -f` is asked about these jobs.
        """
        for job in jobs:
            try:
                super().ask([job])
            except NO_JSON as error:
                if job.state == "COMPLETED" and error.args == ("Exit_status",):  # it never began
                    job._completed = True
                else:
                    PbsJobScheduler.poll(self, job)
