"""Reasons why jobs wait in a queue.

ReFrame waits without a message, and then reports that the job did not begin in time. This package prints the reason
within a minute, and adds the reason to the error. A job with a permanent reason, such as an account that the partition
does not admit, is cancelled.
"""

import re

from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

FIRST_QUERY, NEXT_QUERY = 5, 45  # seconds from the submission to the first query, and between queries

#: {regular expression of a permanent reason: its meaning}; a job with such a reason waits forever
PERMANENT = {
    r"Job's account not permitted|AccountNotAllowed": "its account may not use the partition",
    r"Job's QOS not permitted|QOSNotAllowed|InvalidQOS": "its quality of service may not use the partition",
    r"InvalidAccount": "its account does not exist any more",
    r"PartitionNodeLimit": "the job requests more nodes than the partition has, or allows per job",
    r"PartitionTimeLimit": "the job requests more time than the partition allows: set -S time_limit=…",
    r"(QOS|Assoc)MaxWall\w*PerJob\w*": "the job requests more time than its quality of service or account allows:"
    " set -S time_limit=…",
    r"(QOS|Assoc)Max\w+PerJob\w*|(QOS|Assoc)Max\w+PerNode\w*": "the job requests more than its quality of service or"
    " account allows per job",
    r"QOSMin\w+": "the job requests less than its quality of service requires",
    r"MaxMemPerLimit": "the job requests more memory than the partition allows",
    r"ReservationDeleted": "its reservation does not exist any more",
    r"BadConstraints": "no node has the requested resources",
    r"DependencyNeverSatisfied": "a job that this job depends on failed",
    r"Can Never Run": "no node has the requested resources",
}
#: {regular expression of a temporary reason: its meaning}
TEMPORARY = {
    r"PartitionDown|PartitionInactive": "the partition starts no jobs now: ask your administrators",
    r"Priority": "other jobs come first",
    r"Resources": "the requested nodes are not free",
    r"JobHeldAdmin": "an administrator holds the job, and only an administrator can release it",
    r"JobHeldUser": "its user holds the job: run `scontrol release`",
    r"Reservation": "its reservation has not begun",
    r"ReqNodeNotAvail|Nodes required for job are DOWN": "requested nodes are down, drained or reserved",
    r"Licenses": "its licences are not free",
}


def explained(reason: str) -> str:
    """The scheduler's reason, with its meaning in parentheses if the meaning is known."""
    known = next((words for pattern, words in {**PERMANENT, **TEMPORARY}.items() if re.match(pattern, reason)), "")
    return f"{reason} ({known})" if known else reason


def is_permanent(reason: str) -> bool:
    """Whether a job with this reason waits forever."""
    return any(re.match(pattern, reason) for pattern in PERMANENT)


def duration(seconds: float | None) -> str:
    """ "8 h (max_pending_time)" for 28800 s, "90 s (max_pending_time)" for 90 s."""
    if not seconds:
        return "any time: max_pending_time is not set"
    unit = next((one for one in ((3600, "h"), (60, "min")) if seconds % one[0] == 0), (1, "s"))
    return f"{seconds / unit[0]:g} {unit[1]} (max_pending_time)"


class Reasons:
    """The reasons of waiting jobs, by job ID: the time of the last query, and the last answer."""

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}
        self.known: dict[str, str] = {}

    def of(self, job: Job) -> str:
        """The last reason of a job; "" if none is known yet."""
        return self.known.get(job.jobid, "")

    def is_query_due(self, job: Job, now: float) -> bool:
        """Whether it is time to query the reason of a waiting job."""
        asked = self.asked.get(job.jobid)
        return now >= (job.submit_time + FIRST_QUERY if asked is None else asked + NEXT_QUERY)

    def note(self, job: Job, reason: str, now: float) -> None:
        """Store an answer of the scheduler, and print a new reason."""
        before = self.of(job)
        self.asked[job.jobid] = now
        if reason and reason != before:
            self.known[job.jobid] = reason
            limit = "" if is_permanent(reason) else f"; linkmatrix waits up to {duration(job.max_pending_time)}"
            getlogger().info(f"waiting: job {job.jobid} ({job.name}): {explained(reason)}{limit}")
