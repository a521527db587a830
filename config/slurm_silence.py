"""What ReFrame 4.10 does not survive of Slurm: daemons that do not answer for a while, and jobs that they have lost.

Its back end `slurm` ends the whole session, and leaves its jobs in the queue, where `sacct` fails four times in a row;
and it waits without end for a job that `sacct` does not know. `squeue` takes every job for COMPLETED where squeue
itself fails. Here the controller is asked where accounting says nothing, and a question without an answer is asked
again: for SILENCE where neither says anything, for UNKNOWN where both answer and do not know the job.

A job that was preempted is one that waits to ReFrame, for hours, though it never begins again unless it may be
requeued: then the controller has it in the queue. Here it has ended.
"""

import contextlib
import functools
import re
import time
import weakref
from pathlib import Path
from typing import NamedTuple

import reframe.utility.osext as osext
from reframe.core.exceptions import JobError, ReframeError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import slurm
from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler

SILENCE = 1800  # seconds without any answer: daemons that are restarted or upgraded are back by then
UNKNOWN = 120  # seconds that a job may be known to nobody: the controller learns of it first, accounting later
CONFIRMED = 300  # seconds for which what accounting says is believed: what the controller lost stays RUNNING there
ANSWER = 60  # seconds that squeue may take
LOST = "LOST"  # the state of a job that is given up
PREEMPTED = "PREEMPTED"
ROW = re.compile(r"^(\d+)[^|]*\|([A-Z_]+)\|([^|]*)\|", re.MULTILINE)


class Doubt(NamedTuple):
    """Why nothing is known of a job, and since when."""

    why: str
    since: float


slurm_state_completed, slurm_state_pending = slurm.slurm_state_completed, slurm.slurm_state_pending
doubts = weakref.WeakKeyDictionary()  # job: Doubt
confirmed = weakref.WeakKeyDictionary()  # job: when the controller last told its state


def ask_controller(scheduler, jobs):
    """{job number: (state, nodes)} as squeue says, also of jobs that ended lately; None where it does not answer."""
    numbers = ",".join(job.jobid for job in jobs)
    try:
        done = osext.run_command(
            f'{scheduler._squeue} -h -t all -j {numbers} -o "%i|%T|%N|"', log=False, timeout=ANSWER
        )
    except (OSError, SpawnedProcessError):
        return None
    if done.returncode and "Invalid job id" not in done.stderr:
        return None
    found = {}
    for number, state, nodes in ROW.findall(done.stdout):  # several rows: an array, or parts of a heterogeneous job
        found.setdefault(number, []).append((state, nodes))
    return {number: tuple(map(",".join, zip(*rows, strict=True))) for number, rows in found.items()}


def last_line(error):
    """What a command that failed said, in one line."""
    lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
    return lines[-1].strip() if lines else "it failed without a word"


def accounting_first(poll):
    """The method `poll` of the back end slurm, and after it the controller's word on what accounting did not tell."""

    @functools.wraps(poll)
    def poll_both(scheduler, *jobs):
        jobs = [job for job in jobs if job is not None]
        if not jobs:
            return
        before, why = {job: job.state for job in jobs}, "sacct does not know it"
        for job in jobs:
            job._state = None
        scheduler._max_sacct_failures = 0  # each is seen here
        try:
            poll(scheduler, *jobs)
        except (OSError, SpawnedProcessError) as error:
            why = f"sacct: {last_line(error)}"
        untold = [job for job in jobs if job.state is None]
        for job in untold:
            job._state = before[job]
        now = time.time()
        leave_to_controller(scheduler, [job for job in jobs if PREEMPTED in states_of(job)])
        old = [job for job in jobs if job not in untold and is_old(job, now)]
        for job in set(jobs) - {*untold, *old}:
            doubts.pop(job, None)
        take(scheduler, [*untold, *old], why, now)
        if untold:  # poll has not come as far
            scheduler._cancel_if_pending_too_long(untold)

    poll_both.asks_both = True
    return poll_both


def controller_alone(poll):
    """In the place of the method `poll` of the back end squeue, and after it what ends the waiting for a job."""

    @functools.wraps(poll)
    def poll_controller(scheduler, *jobs):
        now = time.time()
        jobs = [job for job in jobs if job is not None and now - job.submit_time >= scheduler.SQUEUE_DELAY]
        take(scheduler, jobs, "the back end squeue asks no accounting", now)
        scheduler._cancel_if_pending_too_long(jobs)

    poll_controller.asks_both = True
    return poll_controller


def states_of(job):
    """Those of all parts of a job: of an array, or of a heterogeneous job."""
    return (job.state or "").split(",")


def leave_to_controller(scheduler, jobs):
    """A job that was preempted has ended, unless the controller has put it into the queue again."""
    told = ask_controller(scheduler, jobs) if jobs else None
    for job in jobs:
        job._state, job._nodespec = (told or {}).get(job.jobid, (job.state, job._nodespec))


def ended(state):
    """Whether a job in these states has ended."""
    return bool(state) and all(one == PREEMPTED or slurm_state_completed(one) for one in state.split(","))


def waits(state):
    """Whether a part of a job in these states is to begin yet."""
    return any(one != PREEMPTED and slurm_state_pending(one) for one in (state or "").split(","))


def is_old(job, now):
    """Whether the controller is to be asked too about a job that has not ended."""
    return not ended(job.state) and now - confirmed.get(job, job.submit_time) >= CONFIRMED


def take(scheduler, jobs, why, now):
    """Takes the controller's word on jobs; what it does not know is doubted, and given up in the end."""
    jobs = [job for job in jobs if job.state != LOST]
    if not jobs:
        return
    told = ask_controller(scheduler, jobs)
    for job in jobs:
        if told is not None and job.jobid in told:
            job._state, job._nodespec = told[job.jobid]
            confirmed[job] = now
            doubts.pop(job, None)
        elif told is not None and job.is_cancelling:
            job._state = "CANCELLED"
        elif told is not None and isinstance(scheduler, SqueueJobScheduler):
            job._state = "COMPLETED"  # some time after its end the controller forgets a job
        else:
            doubt(scheduler, job, "squeue does not answer" if told is None else "squeue does not know it", why, now)


def doubt(scheduler, job, squeue, sacct, now):
    """Asks again, as long as that may help; then the job is given up."""
    limit = SILENCE if squeue == "squeue does not answer" else UNKNOWN
    if job not in doubts or doubts[job].why != squeue:
        doubts[job] = Doubt(squeue, now)
        getlogger().info(
            f"job {job.jobid} ({job.name}): {squeue} ({sacct}); Slurm is asked again for up to {limit / 60:g} min"
        )
    if now - doubts[job].since < limit:
        return
    with contextlib.suppress(OSError, ReframeError):  # it may be gone
        scheduler.cancel(job)
    job._state = LOST
    if not Path(job.workdir, job.stdout).exists():  # what a job has left is judged
        job._exception = JobError(
            f"Slurm has lost the job, or does not answer: {squeue}, for {limit / 60:g} min; {sacct}", job.jobid
        )


def live_through_silence():
    """Mends the back ends, once however often a configuration is read."""
    if hasattr(SlurmJobScheduler.poll, "asks_both"):
        return
    SlurmJobScheduler.poll = accounting_first(SlurmJobScheduler.poll)
    SqueueJobScheduler.poll = controller_alone(SqueueJobScheduler.poll)
    SlurmJobScheduler.finished = lambda _, job: job.state == LOST or ended(job.state)
    slurm.slurm_state_pending = waits
