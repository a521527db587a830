"""The time limit of a job: by the time that such jobs took before, with a margin, and never longer than at first."""

import importlib
import json
import subprocess
from types import SimpleNamespace

import pytest

durations = importlib.import_module("linkmatrix.reframe_ext.sessions.durations")
processes = importlib.import_module("linkmatrix.reframe_ext.sessions.processes")
AT_FIRST = 10 * processes.MIN_SECONDS + durations.JOB_OVERHEAD


def planned(opts=(), node=""):
    """Ten processes."""
    request = [processes.JobRequest(f"c{number}", "a", (str(number), *opts), node=node) for number in range(10)]
    return processes.plan_processes(request)


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A function that plans a job of a partition, ends it after some seconds or not, and returns its time limit."""
    monkeypatch.setattr(durations, "runtime", lambda: SimpleNamespace(prefix=str(tmp_path / "prefix")))

    def run(seconds=None, scheduler="linkmatrix_slurm", opts=(), partition="site:gpu", tasks=1, node=""):
        place = SimpleNamespace(fullname=partition, scheduler=SimpleNamespace(registered_name=scheduler))
        test = SimpleNamespace(
            current_partition=place,
            current_environ=SimpleNamespace(name="gnu"),
            num_tasks=tasks,
            num_tasks_per_node=1,
            time_limit=None,
        )
        run.processes = planned(opts, node)
        test.duration_file = durations.duration_file(test, run.processes)
        durations.set_time_limit(test, run.processes)
        stage = tmp_path / "stage"
        stage.mkdir(exist_ok=True)
        (stage / durations.FILE).unlink(missing_ok=True)
        if seconds is not None:
            (stage / durations.FILE).write_text(f"{seconds}\n")
        durations.store(test.duration_file, stage)
        run.file = test.duration_file
        return test.time_limit

    return run


def test_a_short_job_asks_for_little_time_from_its_second_run_on(job):
    assert job(13) == AT_FIRST
    assert job(13) == durations.LEAST_SECONDS + durations.JOB_OVERHEAD
    # each program ends in time, and writes what it measured
    assert {process.options("x", "process1")[2:4][1] for process in job.processes} == {str(durations.LEAST_SECONDS)}


def test_the_longest_of_the_last_jobs_counts_with_its_margin(job):
    for seconds in (500, 200, 13):
        job(seconds)
    assert job(13) == durations.MARGIN * 500 + durations.JOB_OVERHEAD
    for _ in range(durations.KEPT):
        job(13)
    assert job(13) == durations.LEAST_SECONDS + durations.JOB_OVERHEAD


def test_no_job_asks_for_more_time_than_at_first(job):
    job(AT_FIRST)
    assert job(13) == AT_FIRST


def test_after_a_job_that_was_killed_the_next_one_asks_for_all_of_its_time(job):
    job(13)
    assert job(None) < AT_FIRST
    assert job(13) == AT_FIRST


@pytest.mark.parametrize(
    ("seconds", "expected"), [(None, AT_FIRST), (500, durations.MARGIN * 500 + durations.JOB_OVERHEAD)]
)
def test_a_slow_node_of_a_sweep_is_not_limited_by_the_durations_of_the_others(job, seconds, expected):
    """The other nodes ended after it, and each wrote its duration."""
    job(seconds, node="slow")
    for number in range(durations.KEPT):
        job(13, node=f"n{number}")
    assert job(13, node="slow") == expected


@pytest.mark.parametrize("other", [{"partition": "site:cpu"}, {"tasks": 2}, {"opts": ("--samples", "31")}])
def test_a_job_of_another_kind_asks_for_all_of_its_time(job, other):
    job(13)
    assert job(13, **other) == AT_FIRST


@pytest.mark.parametrize("other", [{"scheduler": "local"}, {"opts": ("--wait-idle", "600")}])
def test_a_job_that_starts_at_once_or_waits_for_others_asks_for_all_of_its_time(job, other):
    job(13, **other)
    assert job(13, **other) == AT_FIRST


@pytest.mark.parametrize("text", ["", "{}", '{"seconds": "x"}', '{"seconds": [null]}', '{"seconds": [1e999]}', "[1]"])
def test_a_damaged_file_of_durations_is_none(job, text):
    job(13)
    job.file.write_text(text)
    assert job(13) == AT_FIRST
    assert json.loads(job.file.read_text()) == {"seconds": [13]}


@pytest.mark.parametrize("code", [0, 3])
def test_the_last_command_of_a_job_keeps_the_exit_code_of_its_program(tmp_path, code):
    script = f"(exit {code})\n{durations.COMMAND}\n"
    assert subprocess.run(["bash", "-c", script], cwd=tmp_path).returncode == code
    assert (tmp_path / durations.FILE).read_text().strip().isdigit()
