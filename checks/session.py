"""One job for all the test cases that were asked for, in one process for each program; the tests read what it left.

A test of p2p_matrix runs nothing itself: a session, its fixture, runs what the tests that ReFrame selected need, and
each reads its part. A test that is repeated, or does not fit into the job of the others, has a job of its own, made
and read in the same way. A session always passes: its tests say what is missing, each for itself.
"""

import copy
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SkipTestError
from reframe.core.logging import getlogger

from .build import build_linkmatrix
from .ranks import launch_options, layout_of

LEAST_SECONDS = 600  # of a process that measures, the program's own --timeout
TOPOLOGY_SECONDS = 120  # of one that only looks
SECONDS_EACH = 60  # of a test case, where a process has so many that they may need more
ROOM = 120  # seconds of the job beside its processes: starts, modules, launchers


@dataclass(frozen=True)
class Wish:
    """What one test needs of a job.

    testcase: "" for a process without one. size: of --size, "" for the program's own, None where the test case has one
    of its own. opts: the other options. on_each: ranks on a node, None where it does not matter.
    """

    check: str
    testcase: str
    opts: tuple[str, ...]
    size: str | None = None
    tasks: int = 1
    on_each: int | None = None
    gpus: int = 0
    without_mpi: bool = False
    separate: bool = False
    node: str = ""

    @property
    def nodes(self):
        """How many nodes it needs."""
        return -(-self.tasks // (self.on_each or 1))


@dataclass
class Process:
    """One run of p2p_matrix: what its tests have in common; `tests` are their unique names."""

    wish: Wish
    size: str | None
    testcases: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)

    def takes(self, wish):
        """Whether the test can be measured by this process too."""
        kind = (wish.tasks, wish.on_each, wish.without_mpi, wish.opts)
        own = (self.wish.tasks, self.wish.on_each, self.wish.without_mpi, self.wish.opts)
        alone = wish.separate or self.wish.separate or bool(wish.testcase) != bool(self.wish.testcase)
        return kind == own and not alone and (None in (wish.size, self.size) or wish.size == self.size)

    def add(self, wish):
        """Measures it too."""
        self.size = wish.size if self.size is None else self.size
        self.testcases += [wish.testcase] if wish.testcase and wish.testcase not in self.testcases else []
        self.tests.append(wish.check)

    def seconds(self):
        """Its own limit, which it keeps itself, so that what it measured until then is written."""
        given = [self.wish.opts[at + 1] for at, name in enumerate(self.wish.opts[:-1]) if name == "--timeout"]
        if given:
            return int(float(given[-1]))
        return max(LEAST_SECONDS, SECONDS_EACH * len(self.testcases)) if self.testcases else TOPOLOGY_SECONDS

    def options(self, asked_by, folder):
        """All options of the program."""
        named = ["--testcase", ",".join(self.testcases)] if self.testcases else []
        size = ["--size", self.size] if self.size else []
        limit = ["--timeout", str(self.seconds())] if self.seconds() > LEAST_SECONDS else []
        limit = [] if "--timeout" in self.wish.opts else limit
        kept = ["--record", f"{folder}/record.json", "--max-display", "1024", "--asked-by", shlex.quote(asked_by)]
        return [*named, *size, *limit, *kept, *self.wish.opts]


def processes_of(wishes):
    """As few processes as can measure what is wished; what only looks comes first."""
    found = []
    for wish in wishes:
        process = next((one for one in found if one.takes(wish)), None)
        if process is None:
            found.append(process := Process(wish, wish.size))
        process.add(wish)
    return sorted(found, key=lambda process: bool(process.testcases))


def counted(number, word, ending="s"):
    """ "1 node", "2 nodes"."""
    return f"{number} {word}{'' if number == 1 else ending}"


def folder_of(number):
    """Where a job's process of that number leaves its output, errors and record, in the job's stage."""
    return f"process{number + 1}"


def fill(test, processes, asked_by):
    """Makes the job of `test` run the processes one after the other, whatever becomes of each."""
    wishes = [process.wish for process in processes]
    nodes, each = max(wish.nodes for wish in wishes), max(wish.on_each or 1 for wish in wishes)
    test.num_tasks = nodes * each
    test.num_tasks_per_node = each if any(wish.on_each for wish in wishes) else None
    gpus = max(wish.gpus for wish in wishes)
    if gpus:
        test.num_gpus_per_node = gpus
    test.layout = layout_of(test.num_tasks, each)
    test.extra_resources = {**test.extra_resources, "layout": test.layout}
    if wishes[0].node:
        test.extra_resources["node"] = {"host": wishes[0].node}
    if not test.time_limit:
        test.time_limit = sum(process.seconds() for process in processes) + ROOM
    if test.current_partition.time_limit:  # a job that asks for more would wait for ever, or be refused
        asked, test.time_limit = test.time_limit, test.current_partition.time_limit
        test.time_limit = min(asked, test.time_limit)
    program = shlex.quote(str(Path(test.build.stagedir) / "prefix" / "bin" / "p2p_matrix"))
    commands = []
    for number, process in enumerate(processes):
        folder = folder_of(number)
        said = process.options(asked_by if len(process.tests) > 1 else asked_by_alone(test, process), folder)
        words = [launched(test, process.wish), program, *said, f"> {folder}/out 2> {folder}/err"]
        commands += [f"mkdir -p {folder}", " ".join(word for word in words if word)]
    test.job.launcher = getlauncher("local")()
    test.prerun_cmds = [*test.prerun_cmds, *commands[:-1]]
    test.executable, test.executable_opts = commands[-1], []


def asked_by_alone(test, process):
    """The name of the only test of a process."""
    return test.names.get(process.tests[0], test.display_name)


def launched(test, wish):
    """What stands before the program: the partition's launcher, with its options for this layout."""
    launcher = copy.copy(test.job.launcher)
    if wish.without_mpi and launcher.registered_name.startswith(("mpirun", "mpiexec")):
        return ""  # it would bind the process, and all of its threads, to one core
    layout = layout_of(wish.tasks, wish.on_each or 1)
    kind = "rank_options" if wish.tasks > 1 else "process_options"
    within = []
    if layout != test.layout and launcher.registered_name.startswith("srun"):
        within = [f"--nodes={layout['num_nodes']}", f"--ntasks={wish.tasks}"]
        within.append(f"--ntasks-per-node={layout['num_tasks_per_node']}")
    launcher.options = [*launcher.options, *within, *launch_options(test.current_partition.extras, kind, layout)]
    test.job.num_tasks, test.job.num_tasks_per_node = wish.tasks, wish.on_each
    test.job.num_cpus_per_task = test.num_cpus_per_task
    return launcher.run_command(test.job)


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
        self.where = {
            name: (number, len(process.tests)) for number, process in enumerate(processes) for name in process.tests
        }
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
            if getattr(case.check, ".repeat_no", 0):
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
        """Only srun can be told to start fewer ranks on a node than the job has."""
        places = self.job.launcher.registered_name.startswith("srun")
        return wish.node == first.node and (places or wish.on_each == first.on_each)
