"""Why a job waits: what is said of it, when that is asked, and what is not waited for."""

import pytest

from linkmatrix.reframe_ext.schedulers import pending


@pytest.mark.parametrize(
    ("reason", "never", "words"),
    [
        ("Job's account not permitted to use this partition (owned allows owners not root)", True, "its account"),
        ("AccountNotAllowed", True, "its account"),
        ("PartitionConfig", True, "scontrol show partition"),
        ("BadConstraints", True, "scontrol show node"),
        ("launch failed requeued held", True, "failed launches"),
        ("PartitionNodeLimit", True, "fewer nodes"),
        ("PartitionTimeLimit", True, "more time"),
        ("QOSMaxWallDurationPerJobLimit", True, "more time"),
        ("AssocMaxNodePerJobLimit", True, "more than"),
        ("QOSMinGRES", True, "less than"),
        ("QOSMinCpuNotSatisfied", True, "less than"),
        ("MaxMemPerLimit", True, "more memory"),
        ("ReservationDeleted", True, "no longer exists"),
        ("Reservation", False, "has not begun"),
        ("Can Never Run: Insufficient amount of resource: ngpus", True, "no node has"),
        ("PartitionDown", False, "ask your administrators"),
        ("Priority", False, "other jobs"),
        ("JobHeldUser", False, "scontrol release"),
        ("JobHeldAdmin", False, "an administrator"),
        ("QOSGrpNodeLimit", False, ""),
        ("something new", False, ""),
    ],
)
def test_what_can_heal_is_told_from_what_cannot(reason, never, words):
    assert pending.is_permanent(reason) == never
    assert pending.explained(reason).startswith(reason)
    assert words in pending.explained(reason)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Batch job submission failed: Invalid account or account/partition combination specified", "account=NAME"),
        ("Batch job submission failed: Invalid qos specification", "qos=NAME"),
        ("Batch job submission failed: Invalid partition name specified", "sinfo -s"),
    ],
)
def test_a_rejected_job_is_told_the_remedy_behind_the_reason(reason, words):
    """In the form of ReFrame, whose last line is no reason."""
    error = f"command 'sbatch job' failed with exit code 1:\n--- stderr ---\nsbatch: error: {reason}\n--- stderr ---"
    lines = pending.rejected(error).splitlines()
    assert lines[2].startswith(f"sbatch: error: {reason} (") and words in lines[2]
    assert [*lines[:2], *lines[3:]] == [*error.splitlines()[:2], *error.splitlines()[3:]]
    assert pending.rejected("sbatch: error: Socket timed out") == "sbatch: error: Socket timed out"


def submitted(scheduler, folder, state, limit=28800, number="12"):
    """A job of ReFrame, submitted at 1000 s."""
    job = scheduler.make_job("rfm_check", workdir=str(folder))
    job._jobid, job._submit_time, job._state, job.max_pending_time = number, 1000.0, state, limit
    return job


@pytest.fixture
def slurm(scheduler_of, commands, clock, log, tmp_path):
    """The scheduler `slurm`; `slurm.waits(state, reason)` is a job in that state, of which squeue prints the reason."""
    commands("scancel")
    found = scheduler_of("slurm")
    found.job = submitted(found, tmp_path, "PENDING")

    def waits(state, reason):
        commands("squeue", f"12|{reason}\n")
        found.job._state = state
        found.end_pending([found.job], clock.now)
        return found.job

    found.waits = waits
    return found


def test_a_reason_is_asked_for_soon_and_again_within_a_minute_and_said_once(slurm, clock, log, commands):
    asked = []
    for now, reason in (
        (1001, "Priority"),
        (1005, "Priority"),
        (1049, "Priority"),
        (1065, "Priority"),
        (1125, "PartitionDown"),
    ):
        clock.now = now
        slurm.waits("PENDING", reason)
        asked.append(len(commands.calls("squeue")))
    assert asked == [0, 1, 1, 2, 3]
    assert len(log) == 2
    assert log[0] == (
        "waiting: job 12 (rfm_check): Priority (other jobs come first); linkmatrix waits up to 8 h (max_pending_time)"
    )
    clock.now = 29799
    assert slurm.waits("PENDING", "PartitionDown").exception is None
    clock.now = 29800
    job = slurm.waits("PENDING", "PartitionDown")
    assert "the scheduler's reason was: PartitionDown" in str(job.exception)
    assert commands.calls("scancel") == ["12"] and job.is_cancelling


def test_a_reason_cannot_steer_the_terminal(slurm, clock, log):
    clock.now = 1005
    job = slurm.waits("PENDING", "PartitionConfig\x1b]0;owned\x07")
    assert "PartitionConfig ]0;owned " in log[0] and "\x1b" not in log[0] + str(job.exception)


def test_a_job_of_slurm_that_can_never_begin_is_cancelled_at_once(slurm, clock, commands):
    clock.now += 5
    job = slurm.waits("PENDING", "QOSMaxWallDurationPerJobLimit")
    assert commands.calls("scancel") == ["12"] and "the job could never begin" in str(job.exception)


def test_a_reason_that_the_site_does_not_wait_for_cancels_the_job(slurm, clock, commands):
    slurm._cancel_reasons = ["ReqNodeNotAvail"]
    clock.now += 5
    job = slurm.waits("PENDING", "ReqNodeNotAvail, UnavailableNodes:n1")
    assert commands.calls("scancel") == ["12"] and "UnavailableNodes:n1" in str(job.exception)


JOB = "JobId=12 QOS=normal Partition=cpu ReqNodeList={} NumNodes={} ReqTRES=cpu=8,mem=4000M,node=2,billing=8\n"
NODES = "n1|idle|none\nn2|drained|bad DIMM\nn3|mixed|none\n"
DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


@pytest.mark.parametrize(
    ("reason", "named", "count", "nodes", "words"),
    [
        ("ReqNodeNotAvail, UnavailableNodes:n2", "n2", "1", "n2|drained|bad DIMM\n", "n2 is drained: bad DIMM"),
        ("ReqNodeNotAvail, UnavailableNodes:n2", "n2", "1", "n2|down*|Not responding\n", "n2 is down*"),
        ("ReqNodeNotAvail", "n2", "1", "n2|reserved|none\n", ""),
        ("ReqNodeNotAvail", "n2", "1", "n2|reboot^|update\n", ""),
        (DOWN, "(null)", "3-3", NODES, "the job requests 3 nodes, and 2 of 3 of cpu are in service: n2 is drained"),
        (DOWN, "(null)", "2-2", NODES, ""),
        (DOWN, "(null)", "3-3", "", ""),
        ("Resources", "n2", "1", "n2|drained|bad DIMM\n", ""),
    ],
)
def test_a_job_whose_node_is_out_of_service_is_cancelled_at_once_and_no_other(
    slurm, clock, commands, reason, named, count, nodes, words
):
    commands("scontrol", JOB.format(named, count))
    commands("sinfo", nodes)
    slurm._cancel_reasons = []  # else ReFrame's default ends each job with ReqNodeNotAvail
    clock.now += 5
    job = slurm.waits("PENDING", reason)
    assert commands.calls("scancel") == (["12"] if words else [])
    assert (job.exception is not None) == bool(words)
    if words:
        assert reason in str(job.exception) and words in str(job.exception)


@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [
        ("normal|node=1||\n", "node=2"),
        ("normal||cpu=4|\n", "cpu=8"),
        ("normal|||mem=2G\n", "mem=4000M"),
        ("normal|node=2,cpu=8,mem=4000M||\n", ""),
        ("other|node=1||\n", ""),
        ("", ""),
    ],
)
def test_a_job_that_exceeds_a_limit_of_its_qos_alone_is_cancelled_at_once(slurm, clock, commands, limits, exceeded):
    commands("scontrol", JOB.format("(null)", "2-2"))
    commands("sacctmgr", limits)
    clock.now += 5
    job = slurm.waits("PENDING", "QOSGrpNodeLimit")
    assert commands.calls("scancel") == (["12"] if exceeded else [])
    if exceeded:
        assert "QOSGrpNodeLimit" in str(job.exception) and f"the job requests {exceeded}" in str(job.exception)


@pytest.mark.parametrize(
    ("state", "words"),
    [("REQUEUED", "did not begin in time"), ("REQUEUE_HOLD", "did not begin in time"), ("SUSPENDED", "is suspended")],
)
def test_a_job_that_waits_again_or_stands_still_is_not_waited_for_without_end(slurm, clock, commands, state, words):
    clock.now += 28800
    job = slurm.waits(state, "None")
    assert commands.calls("scancel") == ["12"]
    assert f"the job {words}, max_pending_time is 28800 s" in str(job.exception)
    assert str(job.exception).endswith("the scheduler gave no reason")


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_a_job_that_runs_is_not_ended(slurm, clock, commands, state):
    clock.now += 28800
    assert slurm.waits(state, "None").exception is None and commands.calls("scancel") == []


def test_a_cancellation_without_an_answer_is_tried_again(slurm, clock, commands):
    clock.now += 28800
    commands("scancel", errors="Unable to contact slurm controller", code=1)
    assert slurm.waits("PENDING", "None").exception is None
    commands("scancel")
    assert "did not begin in time" in str(slurm.waits("PENDING", "None").exception)


COMMENT = (
    "Job Id: 12\n    job_state = Q\n    comment = Not Running: Insufficient amount of\n"
    "\t resource: ngpus (R: 4 A: 2 T: 2)\n    etime = 1\n"
)


@pytest.mark.parametrize("word", ["pbs", "torque", "pbspro"])
def test_pbs_says_it_in_a_comment(scheduler_of, commands, tmp_path, word):
    commands("qstat", COMMENT)
    found = scheduler_of(word)
    reason = found.pending_reason(submitted(found, tmp_path, "QUEUED"))
    assert reason == "Insufficient amount of resource: ngpus (R: 4 A: 2 T: 2)"
    assert commands.calls("qstat") == ["-f 12"]


def test_grid_engine_says_it_as_scheduling_info(scheduler_of, commands, tmp_path):
    commands("qstat", "job_number: 12\nscheduling info:            queue instance is full\n")
    found = scheduler_of("sge")
    assert found.pending_reason(submitted(found, tmp_path, "PENDING")) == "queue instance is full"
    assert commands.calls("qstat") == ["-j 12"]


@pytest.fixture
def pbs(scheduler_of, commands, clock, log):
    commands("qdel")
    clock.now = 1010.0
    return scheduler_of("pbs")


def test_a_job_of_pbs_that_can_never_run_is_deleted_and_another_is_not(pbs, commands, clock, tmp_path):
    def queued(number, comment):
        return f"Job Id: {number}\n    job_state = Q\n    comment = {comment}\n\n"

    never, later = (submitted(pbs, tmp_path, None, 60, number) for number in ("12", "13"))
    for job, comment in ((never, "Can Never Run: no ngpus"), (later, "Not Running: Job is queued behind others")):
        commands("qstat", queued(job.jobid, comment))
        pbs.poll(job)
    assert commands.calls("qdel") == ["12"]
    assert "the job could never begin, and was deleted: Can Never Run" in str(never.exception)
    assert later.exception is None and later.state == "QUEUED"
    clock.now = 1060.0
    pbs.poll(later)
    assert commands.calls("qdel") == ["12", "13"]
    assert str(later.exception).endswith("exceeded; the scheduler's reason was: Job is queued behind others")
    pbs.poll(later)
    assert str(later.exception).count("[jobid=13]") == str(later.exception).count("reason") == 1
