"""Slurm, with daemons that may be silent for a while, jobs that may be lost, and preemption.

ReFrame ends the session where `sacct` fails four times in a row, and leaves its jobs in the queue. It waits without end
for a job that `sacct` does not know. Its scheduler `squeue` takes a job for COMPLETED where squeue itself fails. Here
the controller is asked about each job that accounting does not report, and a question without an answer is repeated.

A preempted job waits, to ReFrame. Here it has ended, unless the controller has put it into the queue again.
"""

import contextlib
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import reframe.utility.osext as osext
from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobBlockedError, JobError, ReframeError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, slurm_state_completed

from .pending import Reasons, is_never, meaning
from .slurm_job import SlurmJob

ANSWER = 60  # seconds that squeue may take
SILENT, UNKNOWN_JOB = "squeue does not answer", "squeue does not know it"
LOST = "LOST"  # the state of a job that is given up
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


class Doubt(NamedTuple):
    """Why nothing is known of a job, and since when."""

    why: str
    since: float


def states_of(job: Job) -> list[str]:
    """The states of all parts of a job: of an array, or of a heterogeneous job."""
    return (job.state or "").split(",")


def has_ended(job: Job) -> bool:
    """Whether all parts of a job have ended, whether by themselves or by preemption."""
    return all(state == PREEMPTED or slurm_state_completed(state) for state in states_of(job))


def last_line(error: Exception) -> str:
    """The last line that a failed command printed."""
    lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
    return lines[-1].strip() if lines else "it failed without a word"


@register_scheduler("linkmatrix_slurm")
class Slurm(SlurmJobScheduler):
    """Slurm with accounting: `sacct` reports the states, and the controller those that `sacct` does not."""

    SILENCE = 1800  # seconds without any answer: daemons that are restarted or upgraded are back by then
    UNKNOWN = 120  # seconds that a job may be known to nobody: the controller learns of it first, accounting later
    CONFIRMED = 300  # seconds for which accounting is believed: what the controller lost stays RUNNING there

    def __init__(self) -> None:
        super().__init__()
        self._max_sacct_failures = 0  # each failure is raised, and `poll` asks the controller
        self.reasons = Reasons()
        self.doubts: dict[str, Doubt] = {}  # by job ID, as is the next
        self.confirmed: dict[str, float] = {}  # when the controller last reported a job

    def make_job(self, *args: Any, **keywords: Any) -> SlurmJob:
        """A job that expands its node list once; otherwise as ReFrame's."""
        if self._multi_clusters:
            access = keywords.get("sched_access") or []
            keywords["sched_access"] = [*access, f"-M {','.join(self._multi_clusters)}"]
        return SlurmJob(*args, **keywords)

    def finished(self, job: Job) -> bool:
        """Whether a job has ended, or is given up."""
        return job.state == LOST or has_ended(job)

    def poll(self, *jobs: Job | None) -> None:
        """Update jobs from accounting, and from the controller where accounting reports nothing."""
        given = [job for job in jobs if job is not None]
        if not given:
            return
        before, accounting = [job.state for job in given], "sacct does not know it"
        for job in given:
            job._state = None
        try:
            super().poll(*given)
        except (OSError, SpawnedProcessError) as error:
            accounting = f"sacct: {last_line(error)}"
        reported = [job for job in given if job.state is not None]
        for job, state in zip(given, before, strict=True):
            job._state = job.state or state
        now = time.time()
        self.take_requeued([job for job in reported if PREEMPTED in states_of(job)])
        believed = [job for job in reported if not self.is_old(job, now)]
        for job in believed:
            self.doubts.pop(job.jobid, None)
        self.take_from_controller([job for job in given if job not in believed], accounting, now)
        self.end_pending(given, now)

    def is_old(self, job: Job, now: float) -> bool:
        """Whether the controller must confirm that a job has not ended."""
        return not has_ended(job) and now - self.confirmed.get(job.jobid, job.submit_time) >= self.CONFIRMED

    def ask_controller(self, jobs: list[Job]) -> dict[str, tuple[str, str]] | None:
        """{job ID: (states, nodes)} from squeue, also of jobs that ended lately.

        None if squeue does not answer, or if it prints other lines in place of a job.
        """
        numbers = ",".join(job.jobid for job in jobs)
        command = f'{self._squeue} -h -t all -j {numbers} -o "%i|%T|%N|"'
        try:
            done = osext.run_command(command, log=False, timeout=ANSWER)
        except (OSError, SpawnedProcessError):
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

    def take_requeued(self, preempted: list[Job]) -> None:
        """Take the controller's state of preempted jobs: it may have put them into the queue again."""
        reported = (self.ask_controller(preempted) if preempted else None) or {}
        for job in preempted:
            job._state, job._nodespec = reported.get(job.jobid, (job.state, job._nodespec))

    def take_from_controller(self, jobs: list[Job], accounting: str, now: float) -> None:
        """Take the controller's state of jobs. A job that it does not report is doubted, and given up in the end.

        accounting: why accounting reports nothing of them.
        """
        jobs = [job for job in jobs if job.state != LOST]
        if not jobs:
            return
        reported = self.ask_controller(jobs)
        for job in jobs:
            if reported is None:
                self.doubt(job, SILENT, accounting, now)
            elif job.jobid in reported:
                job._state, job._nodespec = reported[job.jobid]
                self.confirmed[job.jobid] = now
                self.doubts.pop(job.jobid, None)
            elif job.is_cancelling:
                job._state = "CANCELLED"
            else:
                self.take_unknown(job, accounting, now)

    def take_unknown(self, job: Job, accounting: str, now: float) -> None:
        """Doubt a job that the controller does not know."""
        self.doubt(job, UNKNOWN_JOB, accounting, now)

    def doubt(self, job: Job, why: str, accounting: str, now: float) -> None:
        """Ask again for as long as that may help; then give the job up."""
        limit = self.SILENCE if why == SILENT else self.UNKNOWN
        if job.jobid not in self.doubts or self.doubts[job.jobid].why != why:
            self.doubts[job.jobid] = Doubt(why, now)
            getlogger().info(
                f"job {job.jobid} ({job.name}): {why} ({accounting}); Slurm is asked again for up to {limit / 60:g} min"
            )
        if now - self.doubts[job.jobid].since < limit:
            return
        with contextlib.suppress(OSError, ReframeError):  # the job may be gone
            self.cancel(job)
        job._state = LOST
        if not Path(job.workdir, job.stdout).exists():  # output that a job has left is judged
            job._exception = JobError(
                f"Slurm has lost the job, or does not answer: {why}, for {limit / 60:g} min; {accounting}", job.jobid
            )

    def end_pending(self, jobs: list[Job], now: float) -> None:
        """Print why jobs wait, and cancel those that can never begin or have waited too long.

        A job that was requeued or suspended waits too, and may do so for ever.
        """
        waiting = [job for job in jobs if {*states_of(job)} & (QUEUED | STOPPED) and not job.is_cancelling]
        due = [job for job in waiting if self.reasons.is_due(job, now)]
        found = self.pending_reasons(due) if due else {}
        for job in due:
            self.reasons.note(job, found.get(job.jobid, ""), now)
        for job in waiting:
            if why := self.why_cancelled(job, now):
                with contextlib.suppress(OSError, ReframeError):  # it is tried again; raised, it would end the session
                    self.cancel(job)
                    job._exception = JobBlockedError(why, job.jobid)

    def pending_reasons(self, jobs: list[Job]) -> dict[str, str]:
        """{job ID: reason} from squeue, without jobs that it does not know or that have no reason."""
        numbers = ",".join(job.jobid for job in jobs)
        try:
            done = osext.run_command(f'{self._squeue} -h -j {numbers} -o "%i|%r"', log=False, timeout=ANSWER)
        except (OSError, ReframeError):  # it is asked again
            return {}
        pairs = (line.partition("|") for line in done.stdout.splitlines())
        return {
            re.split(r"[_+]", number)[0]: why.strip() for number, _, why in pairs if why.strip() not in ("", "None")
        }

    def why_cancelled(self, job: Job, now: float) -> str:
        """Why a waiting job is not waited for any longer; "" where it is."""
        reason = self.reasons.of(job)
        if is_never(reason):
            return f"the job could never begin, and was CANCELLED: {meaning(reason)}"
        if job.max_pending_time and now - job.submit_time >= job.max_pending_time:
            why = f"the scheduler's reason was: {meaning(reason)}" if reason else "the scheduler gave no reason"
            late = "stands still" if job.state in STOPPED else "did not begin in time"
            return f"it {late}, max_pending_time is {job.max_pending_time:g} s: CANCELLED; {why}"
        if reason.partition(",")[0] in self._cancel_reasons:
            return f"it is not waited for, and was CANCELLED: {meaning(reason)}"
        return ""

    def _cancel_if_blocked(self, jobs: list[Job], reasons: Any = None) -> None:
        """Do nothing: `end_pending` cancels jobs, with the reason."""

    def _cancel_if_pending_too_long(self, jobs: list[Job]) -> None:
        """Do nothing: `end_pending` cancels jobs, with the reason."""


@register_scheduler("linkmatrix_squeue")
class Squeue(Slurm, SqueueJobScheduler):
    """Slurm without accounting: the controller alone reports the states."""

    def poll(self, *jobs: Job | None) -> None:
        """Update jobs from the controller. It knows a new job a little after its submission."""
        now = time.time()
        known = [job for job in jobs if job is not None and now - job.submit_time >= self.SQUEUE_DELAY]
        self.take_from_controller(known, "the scheduler squeue asks no accounting", now)
        self.end_pending(known, now)

    def take_unknown(self, job: Job, accounting: str, now: float) -> None:
        """A job that the controller does not know has ended: it forgets each some time after its end."""
        job._state = "COMPLETED"
