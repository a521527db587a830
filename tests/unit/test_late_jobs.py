"""Jobs of PBS and Grid Engine that would be waited for without end are given up; Slurm is not asked the same twice."""

from dataclasses import dataclass

import pytest


@pytest.fixture
def schedulers(config_module):
    return config_module("schedulers")


@dataclass(eq=False)
class StandInJob:
    """What is asked of a job of ReFrame, in the place of one."""

    state: str
    submit_time: float = 0.0
    max_pending_time: float | None = 10.0
    time_limit: float | None = 100.0
    exception: Exception | None = None


@pytest.mark.parametrize(
    ("job", "first", "last", "said"),
    [
        (StandInJob("PENDING"), 9.9, 10.0, "max_pending_time is 10 s"),
        (StandInJob("COMPLETED"), 119.9, 120.0, "output did not appear"),
        (StandInJob("RUNNING"), 219.9, 220.0, "is its node lost?"),
        (StandInJob("DELETING"), 219.9, 220.0, "is its node lost?"),
        (StandInJob("QUEUED", exception=ValueError("too late")), 119.9, 120.0, "too late; it is still there"),
    ],
)
def test_a_job_is_given_up_at_its_limit_and_not_before(schedulers, job, first, last, said):
    assert schedulers.overdue(job, 0.0) is None
    assert schedulers.overdue(job, first) is None
    assert said in schedulers.overdue(job, last)


def test_a_job_in_an_error_state_is_given_up_at_once(schedulers):
    assert "error state" in schedulers.overdue(StandInJob("ERROR"), 0.0)


def test_the_time_that_a_job_is_in_the_queue_or_suspended_is_none_of_its_time_limit(schedulers):
    job = StandInJob("PENDING", max_pending_time=None)
    assert schedulers.overdue(job, 1e6) is None
    job.state = "RUNNING"
    assert schedulers.overdue(job, 1e6) is None
    job.state = "SUSPENDED"
    assert schedulers.overdue(job, 2e6) is None
    job.state = "RUNNING"
    assert schedulers.overdue(job, 2e6) is None
    assert schedulers.overdue(job, 2e6 + 220) is not None


@dataclass(eq=False)
class StandInSlurmJob:
    """What `asked_once` looks at, in the place of a job of ReFrame."""

    state: str
    _nodespec: str | None = None


def test_the_nodes_of_a_job_are_asked_for_once_for_each_state_and_again_when_slurm_knows_more(schedulers):
    asked = []

    def names(job):
        asked.append((job.state, job._nodespec))
        return [f"names of {job._nodespec}"]

    nodelist, job, other = schedulers.asked_once(names), StandInSlurmJob("RUNNING", "n1"), StandInSlurmJob("COMPLETED")
    for job.state, job._nodespec in (("RUNNING", "n1"), ("COMPLETED", "None assigned"), ("COMPLETED", "n[1-2]")):
        assert nodelist(job) == nodelist(job) == [f"names of {job._nodespec}"]
    assert nodelist(other) == ["names of None"]
    assert asked == [("RUNNING", "n1"), ("COMPLETED", "None assigned"), ("COMPLETED", "n[1-2]"), ("COMPLETED", None)]
