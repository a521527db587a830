"""What ReFrame 4.10's back ends lack: an end to every wait for a job of PBS or Grid Engine, and manners with Slurm.

Its back ends for them wait without end for a Grid Engine job that cannot begin or is in an error state, for the output
of a PBS job that was deleted in the queue, and for a job whose node is lost; `pbspro` ends the whole session over a job
that was deleted in the queue. With `end_every_wait` the same back ends give such a job up, with a reason; system files
name them as ever.

The one for Slurm starts `scontrol` each time that the nodes of a job that ended are looked at, about twenty times for
each job; with `ask_once_for_nodes` once.
"""

import functools
import time
import weakref

from reframe.core.exceptions import JobError, ReframeError
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler
from reframe.core.schedulers.sge import SgeJobScheduler
from reframe.core.schedulers.slurm import _SlurmJob as SlurmJob

GRACE = 120  # seconds that a job may be there beyond its time limit, or be gone without its output
BACK_ENDS = (PbsJobScheduler, PbsProJobScheduler, SgeJobScheduler)  # torque polls as pbs does

since = weakref.WeakKeyDictionary()  # job: (its state and whether ReFrame deletes it, when that was first seen)


def overdue(job, now):
    """Why an unfinished job is given up; None where it is not."""
    state, deleted = job.state, job.exception
    if since.get(job, [None])[0] != (state, bool(deleted)):
        since[job] = ((state, bool(deleted)), now)
    seen = since[job][1]
    if deleted:
        return f"{deleted}; it is still there {GRACE} s after its deletion" if now - seen >= GRACE else None
    waited, limit = now - job.submit_time, job.max_pending_time
    if state == "PENDING" and limit and waited >= limit:  # Grid Engine; ReFrame looks after the queue of PBS itself
        return f"it did not begin in time, max_pending_time is {limit:g} s"
    if state == "ERROR":
        return "the scheduler put it into its error state: ask it why, e.g. by `qstat -j`"
    if state == "COMPLETED" and now - seen >= GRACE:
        return f"it ended and its output did not appear within {GRACE} s: was it deleted before it began?"
    if state in ("RUNNING", "EXITING", "DELETING") and job.time_limit and now - seen >= job.time_limit + GRACE:
        return f"it is still there {GRACE} s after its time limit of {job.time_limit:g} s: is its node lost?"
    return None


def give_up(scheduler, job, reason):
    """Deletes the job if the scheduler can still do that, and waits for it no longer."""
    try:
        if job.state != "COMPLETED":
            scheduler.cancel(job)
    except ReframeError as error:
        reason = f"{reason} (it could not be deleted: {error})"
    job._exception = JobError(reason, job.jobid)
    job._state, job._completed = "COMPLETED", True


def bounded(poll):
    """The method `poll` of a back end, and after it an end to what is overdue."""

    @functools.wraps(poll)
    def poll_and_give_up(scheduler, *jobs):
        poll(scheduler, *jobs)
        for job in jobs:
            if job is not None and not scheduler.finished(job) and (reason := overdue(job, time.time())):
                give_up(scheduler, job, reason)

    poll_and_give_up.ends_every_wait = True
    return poll_and_give_up


def one_by_one(poll):
    """The method `poll` of `pbspro`: OpenPBS's `qstat -F json` tells of the first of several jobs only."""

    @functools.wraps(poll)
    def poll_each(scheduler, *jobs):
        for job in jobs:
            try:
                poll(scheduler, job)
            except KeyError:  # a job that never began has no Exit_status
                job._completed = True

    return poll_each


def end_every_wait():
    """Mends the back ends, once however often a configuration is read."""
    if not hasattr(PbsProJobScheduler.poll, "ends_every_wait"):
        PbsProJobScheduler.poll = one_by_one(PbsProJobScheduler.poll)
    for back_end in BACK_ENDS:
        if not hasattr(back_end.poll, "ends_every_wait"):
            back_end.poll = bounded(back_end.poll)


def asked_once(names):
    """The getter of a Slurm job's `nodelist`, which asks again only after the job's state or nodes have changed."""
    known = weakref.WeakKeyDictionary()  # job: (its state and nodes in Slurm's short form, their names)

    @functools.wraps(names)
    def nodelist(job):
        asked = (job.state, job._nodespec)
        if known.get(job, (None,))[0] != asked:
            known[job] = (asked, names(job))
        return known[job][1]

    nodelist.asks_once = True
    return nodelist


def ask_once_for_nodes():
    """Mends the jobs of Slurm, once however often a configuration is read."""
    if not hasattr(SlurmJob.nodelist.fget, "asks_once"):
        SlurmJob.nodelist = property(asked_once(SlurmJob.nodelist.fget))
