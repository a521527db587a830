"""Slurm. These extensions limit waits for daemons that do not answer, for lost jobs and for preempted jobs.

| case | ReFrame | this module |
|---|---|---|
| `sacct` fails four times | ends the session, and leaves its jobs in the queue | queries the controller |
| `sacct` does not know a job | waits forever | queries the controller, for a limited time |
| scheduler `squeue`, and squeue fails | the job is COMPLETED | repeats the query, for a limited time |
| a job is preempted | the job is pending | the job has ended, unless the controller requeued it |
"""

import contextlib
import re
import time
from pathlib import Path
from typing import Any

import reframe.utility.osext as osext
from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobBlockedError, JobError
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, slurm_state_completed

from ...errors import clean
from .pending import COMMAND_ERRORS, Reasons, Unanswered
from .slurm_blocked import NODE_REASONS, permanent_cause
from .slurm_job import SlurmJob

QUERY_SECONDS = 60  # time limit of a query
SILENT, UNKNOWN_JOB = "squeue does not answer", "squeue does not know the job"
LOST = "LOST"  # the state of a job that was given up
PREEMPTED = "PREEMPTED"
STOPPED = {"STOPPED", "SUSPENDED"}
QUEUED = {
    "PENDING",
    "CONFIGURING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESV_DEL_HOLD",
    "SPECIAL_EXIT",
    "REVOKED",
}
ROW = re.compile(r"^(\d+)[^|]*\|([A-Z_]+)\|([^|]*)\|", re.MULTILINE)
OTHER_LINE = re.compile(rf"^(?!{ROW.pattern}|CLUSTER: |\s*$).", re.MULTILINE)


def job_states(job: Job) -> list[str]:
    """The states of a job. An array job or heterogeneous job has one state per part."""
    return (job.state or "").split(",")


def has_ended(job: Job) -> bool:
    """Whether all parts of a job have completed or were preempted."""
    return all(state == PREEMPTED or slurm_state_completed(state) for state in job_states(job))


def last_line(error: Exception) -> str:
    """The last line that the failed command printed."""
    lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
    return clean(lines[-1]).strip() if lines else "the command printed nothing"


@register_scheduler("linkmatrix_slurm")
class Slurm(SlurmJobScheduler):
    """Slurm with accounting. If `sacct` does not report a job, the controller reports the state of the job."""

    #: maximum time without an answer; a restart or upgrade of the daemons takes less
    SILENCE_SECONDS = 1800
    #: maximum time in which neither the controller nor accounting knows a job; a new job appears late in accounting
    UNKNOWN_SECONDS = 120
    #: maximum age of the controller's last report of a running job, because lost jobs stay RUNNING in accounting
    CONFIRMED_SECONDS = 300

    def __init__(self) -> None:
        super().__init__()
        self._max_sacct_failures = 0  # ReFrame raises each failure, and `poll` then queries the controller
        self.reasons = Reasons()
        self.unanswered = Unanswered()
        self.confirmed: dict[str, float] = {}  # {job ID: time of the controller's last report}

    def make_job(self, *args: Any, **keywords: Any) -> SlurmJob:
        """Creates a `SlurmJob`. If ReFrame uses several clusters, adds the option -M with the clusters."""
        if self._multi_clusters:
            access = keywords.get("sched_access") or []
            keywords["sched_access"] = [*access, f"-M {','.join(self._multi_clusters)}"]
        return SlurmJob(*args, **keywords)

    def emit_preamble(self, job: Job) -> list[str]:
        """The #SBATCH lines of a job script. For an exclusive job, adds --mem=0 to ReFrame's lines.

        With --exclusive alone, Slurm gives the job all processors and GPUs, but only the default memory (sbatch(1)).
        """
        lines: list[str] = super().emit_preamble(job)
        options = [*job.sched_access, *job.options, *job.cli_options]
        if job.exclusive_access and not any(option.strip().startswith("--mem") for option in options):
            at = next(index for index, line in enumerate(lines) if line.endswith(" --exclusive"))
            lines.insert(at + 1, lines[at].replace("--exclusive", "--mem=0"))
        return lines

    def finished(self, job: Job) -> bool:
        """Whether a job has ended or was given up."""
        return job.state == LOST or has_ended(job)

    def poll(self, *jobs: Job | None) -> None:
        """Updates the states of jobs from accounting. Asks the controller about jobs that accounting omits."""
        given = [job for job in jobs if job is not None]
        if not given:
            return
        before, accounting = [job.state for job in given], "sacct does not know the job"
        for job in given:
            job._state = None
        try:
            super().poll(*given)
        except COMMAND_ERRORS as error:
            accounting = f"sacct: {last_line(error)}"
        reported = [job for job in given if job.state is not None]
        for job, state in zip(given, before, strict=True):
            job._state = job.state or state
        now = time.time()
        self.update_requeued([job for job in reported if PREEMPTED in job_states(job)])
        trusted = [job for job in reported if not self.needs_confirmation(job, now)]
        for job in trusted:
            self.unanswered.pop(job.jobid, None)
        self.update_from_controller([job for job in given if job not in trusted], accounting, now)
        self.end_pending(given, now)

    def needs_confirmation(self, job: Job, now: float) -> bool:
        """Whether the controller must confirm the state that accounting reports for an unfinished job."""
        return not has_ended(job) and now - self.confirmed.get(job.jobid, job.submit_time) >= self.CONFIRMED_SECONDS

    def query_controller(self, jobs: list[Job]) -> dict[str, tuple[str, str]] | None:
        """Asks squeue for the states of jobs. Returns {job ID: (states, nodes)}, with the jobs that ended recently.

        Returns None if squeue does not answer. Also returns None if jobs are missing and squeue prints an unknown line.
        """
        numbers = ",".join(job.jobid for job in jobs)
        command = f'{self._squeue} -h -t all -j {numbers} -o "%i|%T|%N|"'
        try:
            done = osext.run_command(command, log=False, timeout=QUERY_SECONDS)
        except COMMAND_ERRORS:
            return None
        if done.returncode and "Invalid job id" not in done.stderr:
            return None
        rows: dict[str, list[tuple[str, str]]] = {}
        for number, state, nodes in ROW.findall(done.stdout):  # an array or a heterogeneous job has several rows
            rows.setdefault(number, []).append((state, nodes))
        if OTHER_LINE.search(done.stdout) and any(job.jobid not in rows for job in jobs):
            return None
        return {
            number: (",".join(state for state, _ in parts), ",".join(nodes for _, nodes in parts))
            for number, parts in rows.items()
        }

    def update_requeued(self, preempted: list[Job]) -> None:
        """Asks the controller for the states of preempted jobs, because the controller may have requeued the jobs."""
        reported = (self.query_controller(preempted) if preempted else None) or {}
        for job in preempted:
            job._state, job._nodespec = reported.get(job.jobid, (job.state, job._nodespec))

    def update_from_controller(self, jobs: list[Job], accounting: str, now: float) -> None:
        """Updates the states of jobs from the controller.

        If the controller does not report a job for too long, the job is given up and its state becomes LOST.
        accounting: a sentence about the answer of accounting, for the error message of a lost job.
        """
        jobs = [job for job in jobs if job.state != LOST]
        if not jobs:
            return
        reported = self.query_controller(jobs)
        for job in jobs:
            if reported is None:
                self.retry_or_give_up(job, SILENT, accounting, now)
            elif job.jobid in reported:
                job._state, job._nodespec = reported[job.jobid]
                self.confirmed[job.jobid] = now
                self.unanswered.pop(job.jobid, None)
            elif job.is_cancelling:
                job._state = "CANCELLED"
            else:
                self.update_unknown(job, accounting, now)

    def update_unknown(self, job: Job, accounting: str, now: float) -> None:
        """Handles a job that the controller does not know."""
        self.retry_or_give_up(job, UNKNOWN_JOB, accounting, now)

    def retry_or_give_up(self, job: Job, reason: str, accounting: str, now: float) -> None:
        """Handles a job whose state is unknown. Gives up the job if the state has been unknown for too long.

        reason: SILENT or UNKNOWN_JOB.
        accounting: a sentence about the answer of accounting, for the error message.
        """
        limit = self.SILENCE_SECONDS if reason == SILENT else self.UNKNOWN_SECONDS
        if not self.unanswered.is_overdue(job, reason, accounting, limit, now):
            return
        with contextlib.suppress(*COMMAND_ERRORS):  # the job may not exist any more
            self.cancel(job)
        job._state = LOST
        if not Path(job.workdir, job.stdout).exists():  # otherwise the test judges the output
            job._exception = JobError(
                f"Slurm does not know the job, or did not answer for {limit / 60:g} min: {reason}; {accounting}",
                job.jobid,
            )

    def end_pending(self, jobs: list[Job], now: float) -> None:
        """Prints why jobs wait. Cancels jobs that can never begin, and jobs that have waited too long.

        The function includes requeued and suspended jobs, because these jobs may wait forever too.
        """
        waiting = [job for job in jobs if {*job_states(job)} & (QUEUED | STOPPED) and not job.is_cancelling]
        due = [job for job in waiting if self.reasons.is_query_due(job, now)]
        reasons = self.pending_reasons(due) if due else {}
        for job in due:
            reason = reasons.get(job.jobid, "")
            self.reasons.note(job, reason, now, self.permanent_cause(job, reason))
        for job in waiting:
            if reason := self.cancel_reason(job, now):
                with contextlib.suppress(*COMMAND_ERRORS):  # the next poll tries again
                    self.cancel(job)
                    job._exception = JobBlockedError(reason, job.jobid)

    def pending_reasons(self, jobs: list[Job]) -> dict[str, str]:
        """Asks squeue why jobs wait. Returns {job ID: reason}. Jobs without a reason are left out."""
        numbers = ",".join(job.jobid for job in jobs)
        try:
            done = osext.run_command(f'{self._squeue} -h -j {numbers} -o "%i|%r"', log=False, timeout=QUERY_SECONDS)
        except COMMAND_ERRORS:  # the next query may succeed
            return {}
        pairs = (line.partition("|") for line in done.stdout.splitlines())
        reasons = {re.split(r"[_+]", number)[0]: reason.strip() for number, _, reason in pairs}
        return {number: reason for number, reason in reasons.items() if reason not in ("", "None")}

    def permanent_cause(self, job: Job, reason: str) -> str:
        """Explains why a job can never begin, although its reason is usually temporary; "" if the job may begin.

        Limits are queried once per reason. Nodes are queried each time, because a node may be drained later.
        """
        if reason == self.reasons.last(job) and not NODE_REASONS.match(reason):
            return self.reasons.causes.get(job.jobid, "")
        return permanent_cause(reason, job.jobid, self.query)

    @staticmethod
    def query(command: str) -> str:
        """Runs a command, and returns its standard output; "" if the command fails."""
        try:
            return str(osext.run_command(command, log=False, timeout=QUERY_SECONDS).stdout)
        except COMMAND_ERRORS:
            return ""

    def cancel_reason(self, job: Job, now: float) -> str:
        """Why a waiting job must be cancelled; "" if the job may wait."""
        reason, explained = self.reasons.last(job), self.reasons.explained(job)
        if self.reasons.is_permanent(job):
            return f"the job could never begin, and was CANCELLED: {explained}"
        if job.max_pending_time and now - job.submit_time >= job.max_pending_time:
            cause = f"the scheduler's reason was: {explained}" if reason else "the scheduler gave no reason"
            late = "is suspended" if job.state in STOPPED else "did not begin in time"
            return f"the job {late}, max_pending_time is {job.max_pending_time:g} s: CANCELLED; {cause}"
        if reason.partition(",")[0] in self._cancel_reasons:
            return f"the job was CANCELLED, because slurm_job_cancel_reasons contains this reason: {explained}"
        return ""

    def _cancel_if_blocked(self, jobs: list[Job], reasons: Any = None) -> None:
        """Does nothing, because `end_pending` cancels jobs and reports the reason."""

    def _cancel_if_pending_too_long(self, jobs: list[Job]) -> None:
        """Does nothing, because `end_pending` cancels jobs and reports the reason."""


@register_scheduler("linkmatrix_squeue")
class Squeue(Slurm, SqueueJobScheduler):
    """Slurm without accounting. The controller reports the states of all jobs."""

    def poll(self, *jobs: Job | None) -> None:
        """Updates the states of jobs from the controller. Leaves out new jobs, because squeue reports new jobs late."""
        now = time.time()
        known = [job for job in jobs if job is not None and now - job.submit_time >= self.SQUEUE_DELAY]
        self.update_from_controller(known, "the scheduler squeue uses no accounting", now)
        self.end_pending(known, now)

    def update_unknown(self, job: Job, accounting: str, now: float) -> None:
        """Marks a job as completed, because the controller does not know jobs that ended some time ago."""
        job._state = "COMPLETED"
