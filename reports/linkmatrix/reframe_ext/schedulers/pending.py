"""Reasons why jobs wait in a queue.

ReFrame waits without a message, and then reports only that the job did not begin in time. This package prints the
scheduler's reason within a minute, and adds the reason to the error. If the reason is permanent, this package cancels
the job. An example of a permanent reason is an account without access to the partition.
"""

import re

from reframe.core.exceptions import SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

from ...errors import clean

#: The errors of a failed command of a scheduler. They exclude ForceExitError: after a signal, the session must end.
COMMAND_ERRORS = (OSError, SpawnedProcessError)
FIRST_QUERY, NEXT_QUERY = 5, 45  # seconds from the submission to the first query, and between queries

ACCOUNT, QOS = "choose another account with -J account=NAME", "choose another QOS with -J qos=NAME"
TIME = "set -S time_limit=…"

#: {regular expression of a permanent reason: its meaning and remedy}. A job with such a reason waits forever.
PERMANENT = {
    r"Job's account not permitted|AccountNotAllowed": f"its account may not use the partition: {ACCOUNT}",
    r"Job's QOS not permitted|QOSNotAllowed|InvalidQOS": f"its quality of service may not use the partition: {QOS}",
    r"InvalidAccount": f"its account no longer exists: {ACCOUNT}",
    r"PartitionConfig": "the partition no longer admits the job: compare its options with `scontrol show partition`",
    r"PartitionNodeLimit": "the partition does not allow this number of nodes in a job: choose another partition with"
    " --system, or fewer nodes with -S nodes=N",
    r"PartitionTimeLimit": f"the job requests more time than the partition allows: {TIME}",
    r"(QOS|Assoc)MaxWall\w*PerJob\w*": "the job requests more time than its quality of service or account allows:"
    f" {TIME}",
    r"(QOS|Assoc)Max\w+PerJob\w*|(QOS|Assoc)Max\w+PerNode\w*": "the job requests more than its quality of service or"
    f" account allows per job: {QOS}",
    r"QOSMin\w+": f"the job requests less than its quality of service requires: {QOS}",
    r"MaxMemPerLimit": "the job requests more memory than the partition allows: lower --mem in 'access' of the"
    " partition",
    r"ReservationDeleted": "its reservation no longer exists: choose another with -J reservation=NAME",
    r"BadConstraints": "no node has the requested resources: compare 'access' and 'resources' of the partition with"
    " `scontrol show node`",
    r"DependencyNeverSatisfied": "a job that this job depends on failed: remove the dependency",
    r"JobHoldMaxRequeue|.*requeued held": "Slurm holds the job after failed launches: see the log of slurmctld, then"
    " measure again",
    r"Can Never Run": "no node has the requested resources: compare 'access' and 'resources' of the partition with"
    " `pbsnodes -a`",
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
#: {regular expression of an error of `sbatch`: the remedy}
REJECTED = {
    "Invalid account": f"your user has no such account for this partition: {ACCOUNT}",
    "Invalid qos": f"your account has no such quality of service: {QOS}",
    "Invalid partition name": "compare --partition in 'access' of the partition with `sinfo -s`",
}


def rejected(error: str) -> str:
    """The scheduler's error about a rejected submission. If the remedy is known, the remedy follows in parentheses."""
    for pattern, remedy in REJECTED.items():
        error = re.sub(f"(?m)^.*{pattern}.*$", lambda found, remedy=remedy: f"{found[0]} ({remedy})", error, count=1)
    return error


def explained(reason: str, cause: str = "") -> str:
    """The scheduler's reason, followed by its meaning in parentheses if the meaning is known.

    cause: a meaning for this job, used instead of the general meaning.
    """
    meanings = {**PERMANENT, **TEMPORARY}.items()
    meaning = cause or next((words for pattern, words in meanings if re.match(pattern, reason)), "")
    return f"{reason} ({meaning})" if meaning else reason


def is_permanent(reason: str) -> bool:
    """Whether a job that waits for this reason can never begin."""
    return any(re.match(pattern, reason) for pattern in PERMANENT)


def duration(seconds: float | None) -> str:
    """The value of max_pending_time as text, such as "8 h (max_pending_time)".

    seconds: None if max_pending_time is not set.
    """
    if not seconds:
        return "any time: max_pending_time is not set"
    unit = next((one for one in ((3600, "h"), (60, "min")) if seconds % one[0] == 0), (1, "s"))
    return f"{seconds / unit[0]:g} {unit[1]} (max_pending_time)"


class Reasons:
    """The scheduler's reasons why jobs wait. Each dictionary has the job ID as key.

    asked: the time of the last query.
    known: the last reason.
    causes: a sentence that explains why the job can never begin, although its reason is usually temporary; "" if the
    job may begin.
    """

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}
        self.known: dict[str, str] = {}
        self.causes: dict[str, str] = {}

    def last(self, job: Job) -> str:
        """The last known reason why a job waits; "" if unknown."""
        return self.known.get(job.jobid, "")

    def explained(self, job: Job) -> str:
        """The last known reason why a job waits, with its meaning."""
        return explained(self.last(job), self.causes.get(job.jobid, ""))

    def is_permanent(self, job: Job) -> bool:
        """Whether the job can never begin."""
        return is_permanent(self.last(job)) or bool(self.causes.get(job.jobid))

    def is_query_due(self, job: Job, now: float) -> bool:
        """Whether the scheduler should be asked now why a job waits."""
        asked = self.asked.get(job.jobid)
        return now >= (job.submit_time + FIRST_QUERY if asked is None else asked + NEXT_QUERY)

    def note(self, job: Job, reason: str, now: float, cause: str = "") -> None:
        """Stores the scheduler's reason why a job waits. Prints the reason if the reason has changed.

        cause: the entry for `causes`.
        """
        reason, cause = clean(reason), clean(cause)
        before = self.last(job), self.causes.get(job.jobid, "")
        self.asked[job.jobid], self.causes[job.jobid] = now, cause
        if reason and (reason, cause) != before:
            self.known[job.jobid] = reason
            limit = "" if self.is_permanent(job) else f"; linkmatrix waits up to {duration(job.max_pending_time)}"
            getlogger().info(f"waiting: job {job.jobid} ({job.name}): {self.explained(job)}{limit}")


class Unanswered(dict[str, tuple[str, float]]):
    """Jobs whose state the scheduler does not report: {job ID: (reason, time of the first unanswered query)}."""

    def is_overdue(self, job: Job, reason: str, detail: str, limit: float, now: float) -> bool:
        """Stores an unanswered query. Prints the reason if the reason has changed.

        Returns whether the queries have been unanswered for at least `limit` seconds.
        reason: why the state is unknown.
        detail: further text for the message.
        now: the present time in seconds.
        """
        if job.jobid not in self or self[job.jobid][0] != reason:
            self[job.jobid] = reason, now
            getlogger().info(
                f"waiting: job {job.jobid} ({job.name}): {reason} ({detail}); linkmatrix repeats the query for up to"
                f" {limit / 60:g} min"
            )
        return now - self[job.jobid][1] >= limit
