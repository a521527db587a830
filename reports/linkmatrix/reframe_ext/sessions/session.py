"""Sessions: fixtures that measure a suite of tests in one job.

The variable `suite` of a session's class names the suite. The modes of config/settings.py set this variable. Each test
of the suite reads its own results from the session's files. Tests outside of the suite, repeated tests and retries
measure in their own jobs. A session with a known suite always passes, because each test reports its missing results.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SkipTestError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from ...record.units import counted
from ..aborts import ABORTS
from ..schedulers.pending import rejected
from . import durations, suites
from .fixtures import Restorable
from .processes import JobRequest, fill_job, plan_processes, processes_by_test

#: {(class, partition, environment): session} of this run of ReFrame
SESSIONS: dict[tuple[type, str, str], Session] = {}


def find_session(test: Any, partition: Any, environment: Any) -> Session | None:
    """The session that measures a test; None if the test measures in its own job."""
    cls = test.session_class
    first = runtime().current_run == 0 and suites.test_key(test) in suites.TESTS
    if not first or not suites.selects(cls.suite, test):
        return None
    found = SESSIONS.get((cls, partition.fullname, environment.name))
    if found is None:  # --restore-session restored the session
        return None
    planned = test.unique_name in found.processes_by_test
    failed = found.trouble and not found.processes_by_test
    return found if planned or failed else None


class Session(Restorable, rfm.RunOnlyRegressionTest, special=True):
    """A job that measures the tests of a suite. A subclass has the fixture `build` and the method `can_measure`."""

    #: The tests that the session measures: a suite (``all``, ``smoke``, ``quick``, ``visibility``, ``acceptance``,
    #: ``full``, ``nbody``, ``peers``), or test cases, classes of tests and tags, separated by commas:
    #: ``-S node_session.suite=gpu_topology,device_local_copy``. A word after ``-`` excludes tests: ``all,-nbody``.
    #: Empty: each test measures in its own job.
    suite = variable(str, value="", loggable=True)

    #: The number of short samples per cell, distributed over the time of each matrix, to find intermittent links:
    #: ``-S node_session.short_samples=72``, as in acceptance. It also applies to tests of the session's class that
    #: measure in their own jobs. Sweeps of sizes and matchings have no short samples.
    short_samples = variable(int, value=0)

    #: The reason if the job did not run to its end. Each test of the session reports this reason.
    trouble = variable(str, value="", loggable=True)

    descr = "one job for all test cases of a suite"
    sourcesdir = None
    keep_files = ["process*"]
    #: whether the session submits no job
    without_job = False

    @property
    def job(self) -> Any:
        """The job of the session. If the session submits no job, the value is None, and ReFrame asks no scheduler."""
        return None if self.without_job else super().job

    @run_after("setup")
    def refuse_unknown_words(self) -> None:
        if why := suites.unknown_words_error(self.suite):
            raise ReframeError(f"{type(self).__name__}.{why}")

    @run_before("run")
    def plan(self) -> None:
        self.processes_by_test: dict[str, tuple[int, int]] = {}
        self.display_names: dict[str, str] = {}
        processes = []
        SESSIONS[type(self), self.current_partition.fullname, self.current_environ.name] = self
        try:
            requests = [(one, one.job_request()) for one in self.planned_tests()]
            requests = self.largest_job(requests)
            processes = plan_processes([request for _, request in requests])
            self.display_names = {one.unique_name: one.display_name for one, _ in requests}
            if processes:
                self.set_limits([one for one, _ in requests])
                fill_job(self, processes, self.display_name)
        except ABORTS:
            raise
        except (ReframeError, ValueError) as error:
            self.trouble = str(error)
        self.processes_by_test = processes_by_test(processes)
        self.without_job = bool(self.trouble) or not processes
        if not self.without_job:
            partition, tests = self.current_partition.fullname, counted(len(self.processes_by_test), "test case")
            programs = f"{len(processes)} process{'' if len(processes) == 1 else 'es'}"
            nodes, limit = counted(self.layout["num_nodes"], "node"), f"time limit {self.time_limit / 60:.0f} min"
            getlogger().info(f"{partition}: {tests} in {programs} of one job, {nodes}, {limit}")

    def planned_tests(self) -> list[Any]:
        """Copies of the tests of the suite that can run on this partition, with their attributes set; [] in a retry."""
        if runtime().current_run > 0:
            return []
        found = []
        for test in suites.select_tests(self.suite, type(self), self.current_partition, self.current_environ):
            planned = copy.copy(test)
            planned.planning_session = self
            try:
                planned.prepare()
            except ABORTS:
                raise
            except (SkipTestError, ReframeError):  # the test itself reports the reason
                continue
            found.append(planned)
        return found

    def largest_job(self, requests: list[tuple[Any, JobRequest]]) -> list[tuple[Any, JobRequest]]:
        """The largest subset of the requests that one job can fulfil. The other tests measure in their own jobs.

        requests: [(test, its request)].
        """
        jobs = [[one for one in requests if self.can_measure(one[1], first)] for _, first in requests]
        return max(jobs, key=len, default=[])

    def can_measure(self, request: JobRequest, first: JobRequest) -> bool:
        """Whether a job that fulfils the request `first` can also fulfil `request`."""
        raise NotImplementedError

    def set_limits(self, tests: list[Any]) -> None:
        """Sets the limits of the session from its tests: the longest time limit, and the shortest `max_pending_time`.

        If one test requires exclusive nodes, the job of the session requires exclusive nodes.
        """
        limits = [one.time_limit for one in tests if one.time_limit]
        if len(limits) == len(tests):
            self.time_limit = max(limits)
        waits = [one.max_pending_time for one in [self, *tests] if one.max_pending_time]
        self.max_pending_time = min(waits, default=None)
        self.exclusive_access = any(one.exclusive_access for one in tests)

    def run(self) -> None:
        if self.without_job:
            return
        try:
            super().run()
        except ABORTS:
            raise
        except ReframeError as error:  # ReFrame would skip the tests, and skipped tests count as passed
            self.trouble, self.without_job = rejected(str(error)), True

    def run_complete(self) -> bool:
        if self.without_job:
            return True
        try:
            return bool(super().run_complete())
        except ABORTS:
            raise
        except ReframeError as error:
            self.trouble = str(error)
            return True

    def run_wait(self) -> None:
        if self.without_job:
            return
        try:
            super().run_wait()
        except ABORTS:
            raise
        except ReframeError as error:
            self.trouble = self.trouble or str(error)
        if Path(self.stagedir, self.job.stdout).exists():  # the job began
            durations.store(self.duration_file, Path(self.stagedir))

    @sanity_function
    def passes(self) -> bool:
        return True

    @run_before("cleanup")
    def create_job_files(self) -> None:
        """Creates empty files for a session that submitted no job, because ReFrame copies the files of every job."""
        if self.without_job and not self.is_dry_run():
            job = super().job
            for name in (job.stdout, job.stderr, job.script_filename):
                Path(self.stagedir, name).touch()
