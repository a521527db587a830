"""Why a job waits in the queue: said on the terminal within a minute, and in the sentence that ends the waiting.

ReFrame 4.10 waits without a word, and then says that it did not begin in time. What cannot heal, such as an account
that the partition does not let in, is not waited for; all else is, for as long as `max_pending_time` says.
"""

import functools
import re
import time
import weakref
from typing import NamedTuple

import reframe.utility.osext as osext
from reframe.core.exceptions import JobBlockedError, JobError, ReframeError
from reframe.core.logging import getlogger
from reframe.core.schedulers.pbs import PbsJobScheduler, PbsProJobScheduler
from reframe.core.schedulers.sge import SgeJobScheduler
from reframe.core.schedulers.slurm import SlurmJobScheduler

FIRST, AGAIN = 5, 45  # seconds from the submission to the first question, and from one to the next

# {the reason, as a regular expression: what it means}; a job that waits for one of these waits for ever
NEVER = {
    r"Job's account not permitted|AccountNotAllowed": "its account may not use the partition",
    r"Job's QOS not permitted|QOSNotAllowed|InvalidQOS": "its quality of service may not use the partition",
    r"InvalidAccount": "its account does not exist any more",
    r"PartitionNodeLimit": "it asks for more nodes than the partition has, or gives to a job",
    r"PartitionTimeLimit": "it asks for more time than the partition gives: -S time_limit=…",
    r"(QOS|Assoc)MaxWall\w*PerJob\w*": "it asks for more time than its quality of service or account gives:"
    " -S time_limit=…",
    r"(QOS|Assoc)Max\w+PerJob\w*|(QOS|Assoc)Max\w+PerNode\w*": "it asks for more than its quality of service or"
    " account gives to a job",
    r"QOSMin\w+": "it asks for less than its quality of service wants of a job",
    r"MaxMemPerLimit": "it asks for more memory than the partition gives",
    r"ReservationDeleted": "its reservation does not exist any more",
    r"BadConstraints": "no node has what it asks for",
    r"DependencyNeverSatisfied": "the job that it depends on failed",
    r"Can Never Run": "no node has what it asks for",
}
# the same of what may pass
WAITS = {
    r"PartitionDown|PartitionInactive": "the partition takes no jobs now: ask your administrators",
    r"Priority": "other jobs come first",
    r"Resources": "its nodes are not free",
    r"JobHeldAdmin": "an administrator holds it, and alone can release it",
    r"JobHeldUser": "its user holds it: `scontrol release` lets it go",
    r"Reservation": "its reservation has not begun",
    r"ReqNodeNotAvail|Nodes required for job are DOWN": "nodes that it needs are down, drained or reserved",
    r"Licenses": "its licences are not free",
}


class Seen(NamedTuple):
    """What is known of a job that waits: when that was asked, and the reason, "" for none yet."""

    asked: float
    reason: str = ""


seen = weakref.WeakKeyDictionary()  # job: Seen


def meaning(reason):
    """The reason in the scheduler's words, with ours where there are any."""
    known = next((words for pattern, words in {**NEVER, **WAITS}.items() if re.match(pattern, reason)), "")
    return f"{reason} ({known})" if known else reason


def is_never(reason):
    """Whether the job could wait for ever."""
    return any(re.match(pattern, reason) for pattern in NEVER)


def is_due(job, now):
    """Whether the scheduler is to be asked about a job that waits."""
    return now >= (seen[job].asked + AGAIN if job in seen else job.submit_time + FIRST)


def note(job, reason, now):
    """Says a reason that is new."""
    before = seen.get(job, Seen(now)).reason
    seen[job] = Seen(now, reason or before)
    if reason and reason != before and reason != "None":
        limit = "" if is_never(reason) else f"; it is waited for up to {duration(job.max_pending_time)}"
        getlogger().info(f"waiting: job {job.jobid} ({job.name}): {meaning(reason)}{limit}")


def duration(seconds):
    """ "8 h", "90 s" """
    if not seconds:
        return "any time: max_pending_time is not set"
    unit = next((one for one in ((3600, "h"), (60, "min")) if seconds % one[0] == 0), (1, "s"))
    return f"{seconds / unit[0]:g} {unit[1]} (max_pending_time)"


def verdict(job, now):
    """Why a job that waits is waited for no longer; None where it is."""
    reason = seen[job].reason if job in seen else ""
    if reason and is_never(reason):
        return f"the job could never begin, and was CANCELLED: {meaning(reason)}"
    if job.max_pending_time and now - job.submit_time >= job.max_pending_time:
        why = f"the scheduler's reason was: {meaning(reason)}" if reason else "the scheduler gave no reason"
        late = "stands still" if job.state in STOPPED else "did not begin in time"
        return f"it {late}, max_pending_time is {job.max_pending_time:g} s: CANCELLED; {why}"
    return None


# Slurm

QUEUED_BY_SLURM = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
STOPPED = {"STOPPED", "SUSPENDED"}
QUEUED_BY_SLURM |= {"REVOKED", *STOPPED}


def squeue(scheduler, jobs):
    """{job number: reason}; a job that squeue does not know is not in it."""
    numbers = ",".join(job.jobid for job in jobs)
    try:
        said = osext.run_command(f'{scheduler._squeue} -h -j {numbers} -o "%i|%r"', log=False, timeout=60).stdout
    except (OSError, ReframeError):  # it is asked again
        return {}
    pairs = (line.partition("|") for line in said.splitlines())
    return {re.split(r"[_+]", number)[0]: reason.strip() for number, bar, reason in pairs if bar}


def does_not_run(job):
    """Whether a job waits, for the first time or again: one that was requeued or suspended may do so for ever."""
    return any(state in QUEUED_BY_SLURM for state in (job.state or "").split(","))


def end_pending(scheduler, jobs):
    """In the place of `_cancel_if_pending_too_long` of the back ends slurm and squeue."""
    now = time.time()
    waiting = [job for job in jobs if job is not None and does_not_run(job) and not job.is_cancelling]
    due = [job for job in waiting if is_due(job, now)]
    if due:
        reasons = squeue(scheduler, due)
        for job in due:
            note(job, reasons.get(job.jobid, "").replace("None", ""), now)
    for job in waiting:
        reason = seen[job].reason if job in seen else ""
        why = verdict(job, now)
        if not why and reason.partition(",")[0] in scheduler._cancel_reasons:
            why = f"it is not waited for, and was CANCELLED: {meaning(reason)}"
        if why:
            try:
                scheduler.cancel_many([job])
            except (OSError, ReframeError):  # it is tried again; raised here, it would end the session
                continue
            job._exception = JobBlockedError(why, job.jobid)


def take_reasons(scheduler, jobs, reasons=None):
    """In the place of `_cancel_if_blocked`: squeue's back end has been told the reasons with the states."""
    now = time.time()
    for job in jobs:
        if reasons and job.jobid in reasons and job.state == "PENDING" and is_due(job, now):
            note(job, reasons[job.jobid][0], now)


# PBS and Grid Engine: {back end: the command that says why, what of its answer}
COMMENT = r"^\s*comment = (.*(?:\n\t.*)*)"
ASKED = {
    PbsJobScheduler: ("qstat -f {}", COMMENT),
    PbsProJobScheduler: ("qstat -f {}", COMMENT),
    SgeJobScheduler: ("qstat -j {}", r"^scheduling info:\s*(.*)"),
}
QUEUED = ("QUEUED", "HELD", "WAITING", "PENDING")


def ask(command, pattern, job):
    """The reason that a command tells of one job; "" for none."""
    said = osext.run_command(command.format(job.jobid), log=False).stdout
    found = re.search(pattern, said, re.MULTILINE)
    reason = re.sub(r"\n\t", "", found[1]).strip() if found else ""
    return reason.removeprefix("Not Running: ")


def with_reasons(poll, command, pattern):
    """The method `poll` of a back end, and after it what keeps jobs in the queue."""

    @functools.wraps(poll)
    def poll_and_say(scheduler, *jobs):
        poll(scheduler, *jobs)
        now = time.time()
        for job in jobs:
            if job is None or job.state not in QUEUED:
                continue
            if not job.exception and is_due(job, now):
                note(job, ask(command, pattern, job), now)
            say_why(scheduler, job)

    poll_and_say.says_why = True
    return poll_and_say


def say_why(scheduler, job):
    """Ends a job that can never begin, and adds the reason to what ReFrame says when it deletes one itself."""
    reason = seen[job].reason if job in seen else ""
    if not reason:
        return
    if job.exception is None and is_never(reason):
        try:
            scheduler.cancel(job)
        except ReframeError:
            return  # it is asked again
        job._exception = JobError(f"the job could never begin, and was deleted: {meaning(reason)}", job.jobid)
    elif job.exception is not None and reason not in str(job.exception):
        text = str(job.exception).removeprefix(f"[jobid={job.jobid}] ")
        job._exception = JobError(f"{text}; the scheduler's reason was: {meaning(reason)}", job.jobid)


def say_why_jobs_wait():
    """Mends the back ends, once however often a configuration is read."""
    SlurmJobScheduler._cancel_if_blocked = take_reasons
    SlurmJobScheduler._cancel_if_pending_too_long = end_pending
    for back_end, (command, pattern) in ASKED.items():
        if not hasattr(back_end.poll, "says_why"):
            back_end.poll = with_reasons(back_end.poll, command, pattern)
