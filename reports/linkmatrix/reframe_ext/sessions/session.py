"""One job that measures a suite of test cases, with one process for each program; the tests read what it left.

A member of a session runs nothing itself: its fixture, a session, measures the suite that the variable `suite` of its
class names. The modes of config/settings.py set it. A test outside of the suite, a repeated test and a test of a later
run measures in a job of its own, which is made and read in the same way. A session whose suite is known always passes:
its tests report what is missing, each for itself.
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
from . import suites
from .fixtures import Restorable
from .processes import Wish, fill, places_of, processes_of

SESSIONS: dict[tuple[type, str, str], Session] = {}  # by class, partition and environment: those of this process


def session_of(test: Any, partition: Any, environment: Any) -> Session | None:
    """The session that a test reads; None if the test measures in a job of its own."""
    cls = type(test).fixture_space["session"].cls
    first = runtime().current_run == 0 and suites.key_of(test) in suites.TESTS
    if not first or not suites.selects(cls.suite, test):
        return None
    found = SESSIONS.get((cls, partition.fullname, environment.name))
    if found is None:  # restored
        return None
    return found if test.unique_name in found.where or (found.trouble and not found.where) else None


class Session(Restorable, rfm.RunOnlyRegressionTest, special=True):
    """One job for the tests of a suite. A subclass has the fixture `build`, and `fits` says which tests share a job."""

    #: What the session measures: a suite (``all``, ``smoke``, ``quick``, ``visibility``, ``acceptance``, ``full``), or
    #: test cases and classes of tests, with commas: ``-S node_session.suite=gpu_topology,device_local_copy``. A word
    #: after ``-`` is left out: ``all,-nbody``. Tags are words too. Empty: each test measures in a job of its own.
    suite = variable(str, value="", loggable=True)

    #: Why the job could not be run to its end, for those who read what it left.
    trouble = variable(str, value="", loggable=True)

    descr = "one job for all test cases of a suite"
    sourcesdir = None
    keep_files = ["process*"]
    #: whether it submits no job
    idle = False

    @property
    def job(self) -> Any:
        """As ReFrame's; None without a job, which no scheduler must be asked for."""
        return None if self.idle else super().job

    @run_after("setup")
    def refuse_unknown_words(self) -> None:
        if why := suites.fault(self.suite):
            raise ReframeError(f"{type(self).__name__}.{why}")

    @run_before("run")
    def plan(self) -> None:
        self.where: dict[str, tuple[int, int]] = {}
        self.display_names: dict[str, str] = {}
        processes = []
        SESSIONS[type(self), self.current_partition.fullname, self.current_environ.name] = self
        try:
            wishes = [(one, one.wish()) for one in self.readers()]
            wishes = self.largest_job(wishes)
            processes = processes_of([wish for _, wish in wishes])
            self.display_names = {one.unique_name: one.display_name for one, _ in wishes}
            if processes:
                self.take_limits([one for one, _ in wishes])
                fill(self, processes, self.display_name)
        except (ReframeError, ValueError) as error:
            self.trouble = str(error)
        self.where = places_of(processes)
        self.idle = bool(self.trouble) or not processes
        if not self.idle:
            number = f"{len(processes)} process{'' if len(processes) == 1 else 'es'}"
            where, limit = counted(self.layout["num_nodes"], "node"), f"{self.time_limit / 60:.0f} min"
            getlogger().info(
                f"{self.current_partition.fullname}: {counted(len(self.where), 'test case')} in {number} of one job,"
                f" {where}, time limit {limit}"
            )

    def readers(self) -> list[Any]:
        """Copies of the tests of the suite as they will be on this partition, without those that will be skipped."""
        if runtime().current_run > 0:
            return []
        found = []
        for test in suites.tests_of(self.suite, type(self), self.current_partition, self.current_environ):
            planned = copy.copy(test)
            planned.planner = self
            try:
                planned.prepare()
            except (SkipTestError, ReframeError):  # the test reports it
                continue
            found.append(planned)
        return found

    def largest_job(self, wishes: list[tuple[Any, Wish]]) -> list[tuple[Any, Wish]]:
        """The (test, wish) that one job can measure: as many as possible. The others measure in jobs of their own."""
        jobs = [[one for one in wishes if self.fits(one[1], first)] for _, first in wishes]
        return max(jobs, key=len, default=[])

    def fits(self, wish: Wish, first: Wish) -> bool:
        """Whether the job of the first test can measure this one too."""
        raise NotImplementedError

    def take_limits(self, readers: list[Any]) -> None:
        """Gives the job the longest time limit of the tests, and the shortest wait of the tests and its own."""
        limits = [one.time_limit for one in readers if one.time_limit]
        if len(limits) == len(readers):
            self.time_limit = max(limits)
        waits = [one.max_pending_time for one in [self, *readers] if one.max_pending_time]
        self.max_pending_time = min(waits, default=None)
        self.exclusive_access = any(one.exclusive_access for one in readers)

    def run(self) -> None:
        if self.idle:
            return
        try:
            super().run()
        except ReframeError as error:  # else its tests would be skipped, which looks passed
            self.trouble, self.idle = str(error), True

    def run_complete(self) -> bool:
        if self.idle:
            return True
        try:
            return bool(super().run_complete())
        except ReframeError as error:
            self.trouble = str(error)
            return True

    def run_wait(self) -> None:
        if self.idle:
            return
        try:
            super().run_wait()
        except ReframeError as error:
            self.trouble = self.trouble or str(error)

    @sanity_function
    def is_judged_by_its_tests(self) -> bool:
        return True

    @run_before("cleanup")
    def leave_files_of_a_job(self) -> None:
        """ReFrame copies the files of a job, also of one that was not submitted."""
        if self.idle and not self.is_dry_run():
            job = super().job
            for name in (job.stdout, job.stderr, job.script_filename):
                Path(self.stagedir, name).touch()
