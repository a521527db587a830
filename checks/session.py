"""Sessions: fixtures that measure a suite of tests in one job.

The variable `suite` of a session's class names the suite. The modes of config/settings.py set the variable. Each test
of the suite reads its part of the session's files. A test outside of the suite, a repeated test and a test of a later
run measure in jobs of their own. A session with a known suite always passes: each test reports its missing results.
"""

import copy
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SkipTestError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from . import suites
from .build import build_linkmatrix
from .kept_fixtures import Restorable
from .processes import fill_job, plan_processes, processes_by_test

RANKS_PER_NODE = "{num_tasks_per_node}"  # placeholder in the launcher options of a partition
SESSIONS = {}  # {(class, partition, environment): session}: the sessions of this run of ReFrame


def counted(number, word, ending="s"):
    """ "1 node", "2 nodes"."""
    return f"{number} {word}{'' if number == 1 else ending}"


def find_session(test, partition, environment):
    """The session that a test reads; None if the test measures in a job of its own."""
    cls = type(test).fixture_space["session"].cls
    first = runtime().current_run == 0 and suites.test_key(test) in suites.TESTS
    if not first or not suites.selects(cls.suite, test):
        return None
    found = SESSIONS.get((cls, partition.fullname, environment.name))
    if found is None:  # --restore-session restored the session
        return None
    planned = test.unique_name in found.processes_by_test
    failed = found.trouble and not found.processes_by_test
    return found if planned or failed else None


class session(Restorable, rfm.RunOnlyRegressionTest, special=True):
    """One job for the tests of a suite."""

    #: The tests that the session measures: a suite (``all``, ``smoke``, ``quick``, ``visibility``, ``acceptance``,
    #: ``full``), or test cases, classes of tests and tags, separated by commas:
    #: ``-S node_session.suite=gpu_topology,device_local_copy``. A word after ``-`` excludes tests: ``all,-nbody``.
    #:
    #: :type: :class:`str`
    #: :default: empty: each test measures in a job of its own
    #:
    #: .. versionadded:: 0.2.0
    suite = variable(str, value="", loggable=True)

    #: Why the job did not run to its end. Each test of the session reports this reason.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    #:
    #: .. versionadded:: 0.2.0
    trouble = variable(str, value="", loggable=True)

    descr = "one job for all test cases of a suite"
    sourcesdir = None
    keep_files = ["process*"]
    build = fixture(build_linkmatrix, scope="environment")
    #: whether the session submits no job
    without_job = False

    @property
    def job(self):
        """The job; None if the session submits none, so that ReFrame polls no scheduler for the job."""
        return None if self.without_job else super().job

    @run_after("setup")
    def refuse_unknown_words(self):
        if why := suites.unknown_words_error(self.suite):
            raise ReframeError(f"{type(self).__name__}.{why}")

    @run_before("run")
    def plan(self):
        self.processes_by_test, self.display_names, processes = {}, {}, []
        SESSIONS[type(self), self.current_partition.fullname, self.current_environ.name] = self
        try:
            requests = [(one, one.job_request()) for one in self.planned_tests()]
            requests = [(one, request) for one, request in requests if self.can_measure(request, requests[0][1])]
            processes = plan_processes([request for _, request in requests])
            self.display_names = {one.unique_name: one.display_name for one, _ in requests}
            if processes:
                self.set_limits([one for one, _ in requests])
                fill_job(self, processes, self.display_name)
        except (ReframeError, ValueError) as error:
            self.trouble = str(error)
        self.processes_by_test = processes_by_test(processes)
        self.without_job = bool(self.trouble) or not processes
        if not self.without_job:
            partition, tests = self.current_partition.fullname, counted(len(self.processes_by_test), "test case")
            programs, nodes = counted(len(processes), "process", "es"), counted(self.layout["num_nodes"], "node")
            limit = f"time limit {self.time_limit / 60:.0f} min"
            getlogger().info(f"{partition}: {tests} in {programs} of one job, {nodes}, {limit}")

    def planned_tests(self):
        """Copies of the tests of the suite, prepared for this partition, without tests that will be skipped."""
        if runtime().current_run > 0:
            return []
        found = []
        for test in suites.select_tests(self.suite, type(self), self.current_partition, self.current_environ):
            planned = copy.copy(test)
            planned.planning_session = self
            try:
                planned.prepare()
            except (SkipTestError, ReframeError):  # the test reports it
                continue
            found.append(planned)
        return found

    def can_measure(self, request, first):
        """Whether the job of the first request can fulfil another request too."""
        raise NotImplementedError

    def set_limits(self, tests):
        """Sets the longest time limit and the shortest `max_pending_time` of the tests."""
        limits = [one.time_limit for one in tests if one.time_limit]
        if len(limits) == len(tests):
            self.time_limit = max(limits)
        waits = [one.max_pending_time for one in tests if one.max_pending_time]
        self.max_pending_time = min(waits, default=None)
        self.exclusive_access = any(one.exclusive_access for one in tests)

    def run(self):
        if self.without_job:
            return
        try:
            super().run()
        except ReframeError as error:  # ReFrame would skip the tests, and a skip counts as passed
            self.trouble, self.without_job = str(error), True

    def run_complete(self):
        if self.without_job:
            return True
        try:
            return super().run_complete()
        except ReframeError as error:
            self.trouble = str(error)
            return True

    def run_wait(self):
        if self.without_job:
            return
        try:
            super().run_wait()
        except ReframeError as error:
            self.trouble = self.trouble or str(error)

    @sanity_function
    def passes(self):
        return True

    @run_before("cleanup")
    def create_job_files(self):
        """Creates empty files if no job was submitted: ReFrame copies the files of every job."""
        if self.without_job and not self.is_dry_run():
            job = super().job
            for name in (job.stdout, job.stderr, job.script_filename):
                Path(self.stagedir, name).touch()


class node_session(session):
    """A job for the GPUs, processors and ranks of one node, or of several nodes if all tests request several."""

    def can_measure(self, request, first):
        alike = request.nodes == 1 or request.ranks_per_node == first.ranks_per_node
        return request.nodes == first.nodes and request.node == first.node and alike


class nodes_session(session):
    """A job of as many nodes as the largest test requests. Smaller tests run on the first nodes of the job."""

    descr = "one job of several nodes for all test cases of a suite"

    def can_measure(self, request, first):
        """Whether the launcher can start the request's ranks in the job of the first request.

        srun takes a number of ranks per node. Another launcher takes a number if the partition's `rank_options` contain
        the placeholder.
        """
        options = self.current_partition.extras.get("rank_options", [])
        srun = self.job.launcher.registered_name.startswith("srun")
        takes_number = srun or any(RANKS_PER_NODE in option for option in options)
        return request.node == first.node and (takes_number or request.ranks_per_node == first.ranks_per_node)
