"""Reasons why jobs wait in a queue.

ReFrame waits without a message, and then reports that the job did not begin in time. Here a reason is printed within a
minute, and is part of the error. A job whose reason cannot pass, such as an account that the partition does not admit,
is not waited for.
"""

import re

from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

FIRST, AGAIN = 5, 45  # seconds from the submission to the first question, and from one question to the next

# {the reason, as a regular expression: its meaning}; a job that waits for one of these waits for ever
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
# the same of reasons that may pass
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


def meaning(reason: str) -> str:
    """The reason in the scheduler's words, with its meaning where that is known."""
    known = next((words for pattern, words in {**NEVER, **WAITS}.items() if re.match(pattern, reason)), "")
    return f"{reason} ({known})" if known else reason


def is_never(reason: str) -> bool:
    """Whether a job with this reason would wait for ever."""
    return any(re.match(pattern, reason) for pattern in NEVER)


def duration(seconds: float | None) -> str:
    """ "8 h (max_pending_time)", "90 s (max_pending_time)" """
    if not seconds:
        return "any time: max_pending_time is not set"
    unit = next((one for one in ((3600, "h"), (60, "min")) if seconds % one[0] == 0), (1, "s"))
    return f"{seconds / unit[0]:g} {unit[1]} (max_pending_time)"


class Reasons:
    """The reasons of one scheduler's waiting jobs, by job ID: when each was asked for, and the last answer."""

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}
        self.known: dict[str, str] = {}

    def of(self, job: Job) -> str:
        """The last reason of a job; "" for none yet."""
        return self.known.get(job.jobid, "")

    def is_due(self, job: Job, now: float) -> bool:
        """Whether the scheduler is to be asked for the reason of a waiting job."""
        asked = self.asked.get(job.jobid)
        return now >= (job.submit_time + FIRST if asked is None else asked + AGAIN)

    def note(self, job: Job, reason: str, now: float) -> None:
        """Store an answer of the scheduler, and print a reason that is new."""
        before = self.of(job)
        self.asked[job.jobid] = now
        if reason and reason != before:
            self.known[job.jobid] = reason
            limit = "" if is_never(reason) else f"; it is waited for up to {duration(job.max_pending_time)}"
            getlogger().info(f"waiting: job {job.jobid} ({job.name}): {meaning(reason)}{limit}")
