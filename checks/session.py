"""One job that measures a suite of test cases, with one process for each program; the tests read what it left.

A test of p2p_matrix runs nothing itself: its fixture, a session, measures the suite that the variable `suite` of its
class names. The modes of config/settings.py set it. A test outside of the suite, a repeated test and a test of a later
run measures in a job of its own, which is made and read in the same way. A session whose suite is known always passes:
its tests report what is missing, each for itself.
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
from .processes import fill, places_of, processes_of

ON_A_NODE = "{num_tasks_per_node}"  # in an option of the launcher: ranks on a node
SESSIONS = {}  # {(class, partition, environment): session}: what was measured in this process


def counted(number, word, ending="s"):
    """ "1 node", "2 nodes"."""
    return f"{number} {word}{'' if number == 1 else ending}"


def session_of(test, partition, environment):
    """The session that a test reads; None if the test measures in a job of its own."""
    cls = type(test).fixture_space["session"].cls
    first = runtime().current_run == 0 and suites.key_of(test) in suites.TESTS
    if not first or not suites.selects(cls.suite, test):
        return None
    found = SESSIONS.get((cls, partition.fullname, environment.name))
    if found is None:  # restored
        return None
    return found if test.unique_name in found.where or (found.trouble and not found.where) else None


class session(Restorable, rfm.RunOnlyRegressionTest, special=True):
    """One job for the tests of a suite."""

    #: What the session measures: a suite (``all``, ``smoke``, ``quick``, ``visibility``, ``acceptance``, ``full``), or
    #: test cases and classes of tests, with commas: ``-S node_session.suite=gpu_topology,device_local_copy``. A word
    #: after ``-`` is left out: ``all,-nbody``. Tags are words too.
    #: :default: empty: each test measures in a job of its own
    suite = variable(str, value="", loggable=True)

    #: Why the job could not be run to its end, for those who read what it left.
    trouble = variable(str, value="", loggable=True)

    descr = "one job for all test cases of a suite"
    sourcesdir = None
    keep_files = ["process*"]
    build = fixture(build_linkmatrix, scope="environment")
    #: whether it submits no job
    idle = False

    @property
    def job(self):
        """As ReFrame's; None without a job, which no scheduler must be asked for."""
        return None if self.idle else super().job

    @run_after("setup")
    def refuse_unknown_words(self):
        if why := suites.fault(self.suite):
            raise ReframeError(f"{type(self).__name__}.{why}")

    @run_before("run")
    def plan(self):
        self.where, self.names, processes = {}, {}, []
        SESSIONS[type(self), self.current_partition.fullname, self.current_environ.name] = self
        try:
            wishes = [(one, one.wish()) for one in self.readers()]
            wishes = [(one, wish) for one, wish in wishes if self.fits(wish, wishes[0][1])]
            processes = processes_of([wish for _, wish in wishes])
            self.names = {one.unique_name: one.display_name for one, _ in wishes}
            if processes:
                self.take_limits([one for one, _ in wishes])
                fill(self, processes, self.display_name)
        except (ReframeError, ValueError) as error:
            self.trouble = str(error)
        self.where = places_of(processes)
        self.idle = bool(self.trouble) or not processes
        if not self.idle:
            said = f"{counted(len(self.where), 'test case')} in {counted(len(processes), 'process', 'es')} of one job"
            where = counted(self.layout["num_nodes"], "node")
            getlogger().info(
                f"{self.current_partition.fullname}: {said}, {where}, time limit {self.time_limit / 60:.0f} min"
            )

    def readers(self):
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

    def fits(self, wish, first):
        """Whether the job of the first test can measure this one too."""
        raise NotImplementedError

    def take_limits(self, readers):
        """Gives the job the longest time limit and the shortest wait of the tests."""
        limits = [one.time_limit for one in readers if one.time_limit]
        if len(limits) == len(readers):
            self.time_limit = max(limits)
        waits = [one.max_pending_time for one in readers if one.max_pending_time]
        self.max_pending_time = min(waits, default=None)
        self.exclusive_access = any(one.exclusive_access for one in readers)

    def run(self):
        if self.idle:
            return
        try:
            super().run()
        except ReframeError as error:  # else its tests would be skipped, which looks passed
            self.trouble, self.idle = str(error), True

    def run_complete(self):
        if self.idle:
            return True
        try:
            return super().run_complete()
        except ReframeError as error:
            self.trouble = str(error)
            return True

    def run_wait(self):
        if self.idle:
            return
        try:
            super().run_wait()
        except ReframeError as error:
            self.trouble = self.trouble or str(error)

    @sanity_function
    def is_judged_by_its_tests(self):
        return True

    @run_before("cleanup")
    def leave_files_of_a_job(self):
        """ReFrame copies the files of a job, also of one that was not submitted."""
        if self.idle and not self.is_dry_run():
            job = super().job
            for name in (job.stdout, job.stderr, job.script_filename):
                Path(self.stagedir, name).touch()


class node_session(session):
    """One node: its GPUs, its processors and the ranks on it; or several, where all its tests are told so."""

    def fits(self, wish, first):
        alike = wish.nodes == 1 or wish.on_each == first.on_each
        return wish.nodes == first.nodes and wish.node == first.node and alike


class nodes_session(session):
    """Several nodes, as many as the largest test needs; a test of fewer takes the first of them."""

    descr = "one job of several nodes for all test cases of a suite"

    def fits(self, wish, first):
        """srun can be told to start fewer ranks on a node than the job has, and another launcher where the partition's
        options for ranks say how many go on a node.
        """
        placed = self.current_partition.extras.get("rank_options", [])
        places = self.job.launcher.registered_name.startswith("srun") or any(ON_A_NODE in word for word in placed)
        return wish.node == first.node and (places or wish.on_each == first.on_each)
