"""One job for all the test cases that were asked for, in one process for each program; the tests read what it left.

A test of p2p_matrix runs nothing itself: a session, its fixture, runs what the tests that ReFrame selected need, and
each reads its part. A test that is repeated, or does not fit into the job of the others, has a job of its own, made
and read in the same way. A session always passes: its tests say what is missing, each for itself.
"""

import copy
import sys

import reframe as rfm
from reframe.core.builtins import fixture, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SkipTestError
from reframe.core.logging import getlogger

from .build import build_linkmatrix
from .processes import fill, places_of, processes_of


def counted(number, word, ending="s"):
    """ "1 node", "2 nodes"."""
    return f"{number} {word}{'' if number == 1 else ending}"


ON_A_NODE = "{num_tasks_per_node}"  # in an option of the launcher: ranks on a node
RUNNING = {}  # of the run of ReFrame that is going on: {test case: the test cases that need it}


def running():
    """The test cases that ReFrame runs now, each with those that depend on it; in a retry, only what is retried.

    A test case of ReFrame 4.10 knows how many depend on it, not which: its runner's local variable does.
    """
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_runall":
        frame = frame.f_back
    if frame is None or "testcases" not in frame.f_locals:
        raise ReframeError("this version of ReFrame does not show what it runs: linkmatrix knows 4.10")
    cases = frame.f_locals["testcases"]
    if RUNNING.get("of") is not cases:  # once for each run: to search for each test anew is quadratic
        RUNNING.clear()
        RUNNING.update({case: [] for case in cases}, of=cases)
        for case in cases:
            for needed in set(case.deps) & RUNNING.keys():
                RUNNING[needed].append(case)
    return RUNNING


class session(rfm.RunOnlyRegressionTest, special=True):
    """One job for the tests that need it: its processes measure what was selected, and nothing else."""

    #: Why the job could not be run to its end, for those who read what it left.
    #:
    #: :type: :class:`str`
    #: :default: ``''``
    #:
    #: .. versionadded:: 0.2.0
    trouble = variable(str, value="", loggable=True)

    descr = "one job for all test cases"
    sourcesdir = None
    keep_files = ["process*"]
    build = fixture(build_linkmatrix, scope="environment")

    @run_before("run")
    def run_what_is_asked_for(self):
        self.where, self.names, processes = {}, {}, []
        try:
            readers = self.readers()
            wishes = [(one, one.wish()) for one in readers]
            wishes = [(one, wish) for one, wish in wishes if self.fits(wish, wishes[0][1])]
            processes = processes_of([wish for _, wish in wishes])
            self.names = {one.unique_name: one.display_name for one, _ in wishes}
            if processes:
                self.take_limits([one for one, _ in wishes])
                fill(self, processes, self.display_name)
        except (ReframeError, ValueError) as error:
            self.trouble = str(error)
        self.where = places_of(processes)
        if processes and not self.trouble:
            said = f"{counted(len(self.where), 'test case')} in {counted(len(processes), 'process', 'es')} of one job"
            where = counted(self.layout["num_nodes"], "node")
            getlogger().info(
                f"{self.current_partition.fullname}: {said}, {where}, time limit {self.time_limit / 60:.0f} min"
            )

    def readers(self):
        """The tests that read this session, as they will be on this partition; not those that will be skipped.

        Of a test that ReFrame repeats, the first: the others measure for themselves, else all would read one run.
        """
        found = []
        cases = running().get(self._case(), [])
        if len(cases) != self._case().num_dependents:
            raise ReframeError(f"{self._case().num_dependents} tests need this session, {len(cases)} are known")
        for case in cases:
            if getattr(case.check, ".repeat_no", 0) or not case.check.in_session:
                continue
            probe = copy.copy(case.check)
            probe._current_partition, probe._current_environ = case.partition, case.environ
            try:
                probe.prepare()
            except (SkipTestError, ReframeError):  # it will say so itself
                continue
            found.append(probe)
        return found

    def fits(self, wish, first):
        """Whether the job of the first test can measure this one too."""
        raise NotImplementedError

    def take_limits(self, readers):
        """What was said of the tests is true of their job: the longest time, and the shortest wait."""
        limits = [one.time_limit for one in readers if one.time_limit]
        if len(limits) == len(readers):
            self.time_limit = max(limits)
        waits = [one.max_pending_time for one in readers if one.max_pending_time]
        self.max_pending_time = min(waits, default=None)
        self.exclusive_access = any(one.exclusive_access for one in readers)

    def run(self):
        if self.trouble or not self.where:
            self._job = None
            return
        try:
            super().run()
        except ReframeError as error:  # else its tests would be skipped, which looks passed
            self.trouble, self._job = str(error), None

    def run_complete(self):
        try:
            return super().run_complete()
        except ReframeError as error:
            self.trouble = str(error)
            return True

    def run_wait(self):
        if self._job is None:
            return
        try:
            super().run_wait()
        except ReframeError as error:
            self.trouble = self.trouble or str(error)

    @sanity_function
    def is_judged_by_its_tests(self):
        return True


class node_session(session):
    """One node: its GPUs, its processors and the ranks on it; or several, where all its tests are told so."""

    def fits(self, wish, first):
        alike = wish.nodes == 1 or wish.on_each == first.on_each
        return wish.nodes == first.nodes and wish.node == first.node and alike


class nodes_session(session):
    """Several nodes, as many as the largest test needs; a test of fewer takes the first of them."""

    descr = "one job of several nodes for all test cases"

    def fits(self, wish, first):
        """srun can be told to start fewer ranks on a node than the job has, and another launcher where the partition's
        options for ranks say how many go on a node.
        """
        placed = self.current_partition.extras.get("rank_options", [])
        places = self.job.launcher.registered_name.startswith("srun") or any(ON_A_NODE in word for word in placed)
        return wish.node == first.node and (places or wish.on_each == first.on_each)
