"""The processes that a job starts to measure its tests, and the script of the job.

Tests with the same program, options and layout share a process.
"""

from __future__ import annotations

import copy
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reframe.core.backends import getlauncher

from ...files import write_whole
from ...suite import PROGRAMS
from . import containers, durations

MIN_SECONDS = 600  # minimum time limit of a measuring process, the program's default --timeout
TOPOLOGY_SECONDS = 120  # time limit of a process that only reads the topology
SECONDS_PER_TESTCASE = 60  # time limit per test case, for a process with many test cases
MAX_REFERENCE_BYTES = 64 << 20  # limit of src/core/command_line.cpp

# placeholders in the options of a foreign program: all test cases of the process, and the folder of built programs
TESTCASES, PROGRAM_FOLDER = "{testcases}", "{beside}"

TOPOLOGY_FOLDER = "topology"  # subfolder of a process that reads the topology, if the measuring process wrote no record
RANKS_FOLDER = "ranks"  # subfolder of a program that ranks run before they measure

# Without OpenCL, hwloc starts faster: mpirun starts 4 ranks on 4 H200 in 0.16 s instead of 1.3 s (Open MPI 4.1.6). MPI
# does not use OpenCL devices to place ranks. A value that the site has set stays.
RANK_ENVIRONMENT = {"HWLOC_COMPONENTS": "${HWLOC_COMPONENTS:--opencl}"}


@dataclass(frozen=True)
class JobRequest:
    """The program, options and resources that one test requests.

    check: the unique name of the test.
    testcase: "" for a foreign program, and for a test of the topology.
    opts: the options, except test case, size and record.
    size: the value of --size; "" for the program's default; None if the test case has a fixed size.
    tasks: the number of ranks.
    ranks_per_node: None for any number.
    without_mpi: whether to start a single process without mpirun.
    group: only tests of the same group share a process.
    node: the name of the requested node; "" for any node.
    program: one of `suite.PROGRAMS`, or a foreign program: its name in the folder of built programs, or its path.
    execs_next: whether the program has an option `--into FOLDER` for its output, and executes the command after this
    option.
    environment: environment variables of this process, as NAME=VALUE.
    starter: a foreign program, with options, that starts `program`.
    references: the lines of the file that the program reads with the option `--references`.
    """

    check: str
    testcase: str
    opts: tuple[str, ...]
    size: str | None = None
    tasks: int = 1
    ranks_per_node: int | None = None
    gpus: int = 0
    without_mpi: bool = False
    group: str = ""
    node: str = ""
    program: str = PROGRAMS[0]
    execs_next: bool = False
    environment: tuple[str, ...] = ()
    starter: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def runs_suite_program(self) -> bool:
        """Whether the program belongs to this suite. Other programs are foreign programs."""
        return self.program in PROGRAMS

    @property
    def nodes(self) -> int:
        """The number of requested nodes."""
        return -(-self.tasks // (self.ranks_per_node or 1))


def process_key(request: JobRequest) -> tuple[Any, ...]:
    """The properties that requests must have in common, so that one process can fulfil the requests."""
    starts = request.tasks, request.ranks_per_node, request.without_mpi, request.environment, request.starter
    return request.program, request.group, request.opts, *starts


@dataclass
class Process:
    """One process of a job, which measures one or several tests.

    request: the request of the first test.
    tests: the unique names of the tests.
    topology_tests: the unique names of the tests that only read the topology.
    predecessor: a process whose program executes the program of this process.
    references: {test case: lines of its references}.
    most_seconds: a shorter time limit, from the durations of earlier jobs; 0 if unknown.
    """

    request: JobRequest
    size: str | None
    testcases: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    topology_tests: list[str] = field(default_factory=list)
    predecessor: Process | None = None
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    most_seconds: int = 0

    def accepts(self, request: JobRequest) -> bool:
        """Whether this process can also fulfil `request`."""
        same_size = None in (request.size, self.size) or request.size == self.size
        return same_size and process_key(request) == process_key(self.request)

    def add(self, request: JobRequest) -> None:
        """Adds the test of a request to this process."""
        self.size = request.size if self.size is None else self.size
        self.testcases += [request.testcase] if request.testcase and request.testcase not in self.testcases else []
        self.tests.append(request.check)
        if request.references:
            self.references.setdefault(request.testcase, request.references)
        self.topology_tests += [] if request.testcase or not request.runs_suite_program else [request.check]

    def can_follow(self, other: Process) -> bool:
        """Whether the program of `other` can execute the program of this process.

        Both processes must have the same ranks, on one node.
        """
        layouts = [(one.tasks, one.ranks_per_node, one.without_mpi) for one in (self.request, other.request)]
        same_ranks = layouts[0] == layouts[1] and self.request.nodes == 1
        return same_ranks and other.request.execs_next and bool(self.testcases) and not self.predecessor

    def requests(self) -> list[JobRequest]:
        """The requests of this process and of its predecessor."""
        return [one.request for one in (self.predecessor, self) if one]

    def topology_process(self) -> Process | None:
        """A process that only reads the topology. The job starts this process if the measuring process wrote no record.

        Returns None if no test needs the topology.
        """
        if not (self.testcases and self.topology_tests):
            return None
        return Process(self.request, None, [], self.topology_tests, self.topology_tests)

    def seconds(self) -> int:
        """The time limit of the process. At this limit, the program writes its results and ends."""
        opts = self.request.opts
        limits = [opts[at + 1] for at, name in enumerate(opts[:-1]) if name == "--timeout"]
        if limits:
            return int(float(limits[-1]))
        return max(MIN_SECONDS, SECONDS_PER_TESTCASE * len(self.testcases)) if self.testcases else TOPOLOGY_SECONDS

    def options(self, asked_by: str, folder: str, program_folder: str = "") -> list[str]:
        """All options of the program.

        folder: the folder of the process.
        program_folder: the folder of built programs.
        """
        if not self.request.runs_suite_program:
            known = {TESTCASES: self.testcases, PROGRAM_FOLDER: [shlex.quote(program_folder)]}
            return [word for option in self.request.opts for word in known.get(option, [option])]
        named = ["--testcase", ",".join(self.testcases)] if self.testcases else ["--topology"]
        size = ["--size", self.size] if self.size else []
        seconds = min(self.seconds(), self.most_seconds or self.seconds())
        limit = ["--timeout", str(seconds)] if seconds != MIN_SECONDS and self.testcases else []
        limit = [] if "--timeout" in self.request.opts else limit
        one_size = "," not in (self.size or "")  # the program takes references for one size only
        known = ["--references", f"{folder}.tsv"] if self.references and one_size else []
        record = ["--record", f"{folder}/record.json", "--asked-by", shlex.quote(asked_by)]
        return [*named, *size, *limit, *known, *record, *self.request.opts]


def plan_processes(requests: list[JobRequest]) -> list[Process]:
    """The processes that fulfil the requests. The order is: topology and foreign programs, matrices, other programs."""
    found: list[Process] = []
    for request in requests:
        process = next((one for one in found if one.accepts(request)), None)
        if process is None:
            found.append(process := Process(request, request.size))
        process.add(request)
    found.sort(key=lambda process: (bool(process.testcases), process.request.program != PROGRAMS[0]))
    for process in found[:]:
        if follower := next((one for one in found if one.can_follow(process)), None):
            follower.predecessor = process
            found.remove(process)
    return found


def processes_by_test(processes: list[Process]) -> dict[str, tuple[int, int]]:
    """Returns {unique name of a test: (number of its process, number of tests that the process measures)}."""
    return {
        name: (number, len(one.tests))
        for number, process in enumerate(processes)
        for one in (process.predecessor, process)
        if one
        for name in one.tests
    }


def process_folder(number: int) -> str:
    """The folder of a process for output, errors and record, relative to the job's stage.

    number: the number of the process, from 0.
    """
    return f"process{number + 1}"


def fill_job(test: Any, processes: list[Process], asked_by: str) -> None:
    """Sets the resources and the commands of a job. If a process fails, the next process still runs.

    test: the test or session that has the job.
    asked_by: the name of the test or session, for records with several tests.
    """
    requests = [request for process in processes for request in process.requests()]
    nodes = max(request.nodes for request in requests)
    per_node = max(request.ranks_per_node or 1 for request in requests)
    test.num_tasks = nodes * per_node
    test.num_tasks_per_node = per_node if any(request.ranks_per_node for request in requests) else None
    if test.num_tasks > 1:
        test.env_vars = {**RANK_ENVIRONMENT, **test.env_vars}
    gpus = max(request.gpus for request in requests)
    if gpus:
        test.num_gpus_per_node = gpus
    test.layout = layout_of(test.num_tasks, per_node)
    test.extra_resources = {**test.extra_resources, "layout": test.layout}
    if requests[0].node:
        test.extra_resources["node"] = {"host": requests[0].node}
    test.duration_file = durations.duration_file(test, processes)
    if not test.time_limit:
        durations.set_time_limit(test, processes)
    if test.current_partition.time_limit:  # a scheduler refuses a longer job, or never starts it
        requested, test.time_limit = test.time_limit, test.current_partition.time_limit
        test.time_limit = min(requested, test.time_limit)  # both in seconds, as ReFrame converts the attribute
    commands: list[str] = []
    for number, process in enumerate(processes):
        folder = process_folder(number)
        write_references(process, Path(test.stagedir, f"{folder}.tsv"))
        commands += process_commands(test, process, folder, asked_by)
        if topology := process.topology_process():
            instead = "; ".join(process_commands(test, topology, f"{folder}/{TOPOLOGY_FOLDER}", asked_by))
            commands.append(f"[ -e {folder}/record.json ] || {{ {instead}; }}")
    test.job.launcher = getlauncher("local")()
    test.prerun_cmds = [*test.prerun_cmds, *commands[:-1]]
    test.executable, test.executable_opts = commands[-1], []
    test.postrun_cmds = [*test.postrun_cmds, durations.COMMAND]


def layout_of(tasks: int, ranks_per_node: int) -> dict[str, int]:
    """The values for the placeholders in the partition's resource ``layout``, such as {"num_nodes": 2}."""
    return {"num_nodes": -(-tasks // ranks_per_node), "num_tasks": tasks, "num_tasks_per_node": ranks_per_node}


def launch_options(extras: dict[str, Any], kind: str, layout: dict[str, int]) -> list[str]:
    """The launcher's options from the partition's extras. The values of a layout replace the placeholders.

    Raises ValueError for an unknown placeholder.
    kind: "rank_options" or "process_options".
    """
    try:
        return [option.format(**layout) for option in extras.get(kind, [])]
    except (KeyError, IndexError, ValueError):
        known = ", ".join(f"{{{name}}}" for name in layout)
        raise ValueError(f"extras['{kind}'] of the partition may contain only {known} in braces") from None


def write_references(process: Process, file: Path) -> None:
    """Writes the references of a process into a file.

    If the references are too large, or cannot be written, the process runs without references.
    """
    text = "".join(f"{line}\n" for lines in process.references.values() for line in lines).encode()
    try:
        if len(text) > MAX_REFERENCE_BYTES:
            process.references.clear()
        elif text:
            write_whole(file, text, lasting=False)
    except OSError:
        process.references.clear()


def process_commands(test: Any, process: Process, folder: str, asked_by: str) -> list[str]:
    """The lines of the job script that start a process."""
    program_folder = Path(test.build.stagedir) / "prefix" / "bin"
    single_name = test.display_names.get(process.tests[0], test.display_name)
    options = process.options(asked_by if len(process.tests) > 1 else single_name, folder, str(program_folder))
    program, folders = [program_path(process.request.program, program_folder)], folder
    if process.predecessor:
        folders = f"{folder}/{RANKS_FOLDER}"
        program = [program_path(process.predecessor.request.program, program_folder), "--into", folders, *program]
    if process.request.starter:
        starter, *words = process.request.starter
        program = [program_path(starter, program_folder), *map(shlex.quote, words), *program]
    if process.request.environment:  # with `env`, because not every launcher passes variables to ranks
        program = ["env", *map(shlex.quote, process.request.environment), *program]
    command = " ".join([*program, *options])
    if container := partition_container(test):
        gpus = bool(test.current_partition.select_devices("gpu"))
        command = container.command(command, Path(test.stagedir), Path(test.build.stagedir), gpus)
    words = [launch_command(test, process.request), command, f"> {folder}/out 2> {folder}/err"]
    # if ReFrame keeps the stage, the folder may contain the record of an earlier run
    return [f"rm -rf {folder}; mkdir -p {folders}", " ".join(word for word in words if word)]


def partition_container(test: Any) -> containers.Container | None:
    """The container of the test's partition; None if the partition has no container."""
    return containers.from_extras(test.current_partition.extras, test.job.launcher.registered_name)


def program_path(program: str, folder: Path) -> str:
    """The path of a program, quoted for the shell. A name without a folder is a program in `folder`."""
    return shlex.quote(str(folder / program))


def launch_command(test: Any, request: JobRequest) -> str:
    """The command of the partition's launcher that starts the ranks of a request; "" for a start without a launcher."""
    launcher = copy.copy(test.job.launcher)
    if request.without_mpi and launcher.registered_name.startswith(("mpirun", "mpiexec")):
        return ""  # mpirun would bind all threads of the process to one core
    layout = layout_of(request.tasks, request.ranks_per_node or 1)
    kind = "rank_options" if request.tasks > 1 else "process_options"
    within = []
    if layout != test.layout and launcher.registered_name.startswith("srun"):
        within = [f"--nodes={layout['num_nodes']}", f"--ntasks={request.tasks}"]
        within.append(f"--ntasks-per-node={layout['num_tasks_per_node']}")
    container = partition_container(test)
    inside = container.launcher_options(Path(test.stagedir), Path(test.build.stagedir)) if container else []
    chosen = launch_options(test.current_partition.extras, kind, layout)
    launcher.options = [*launcher.options, *within, *chosen, *inside]
    test.job.num_tasks, test.job.num_tasks_per_node = request.tasks, request.ranks_per_node
    test.job.num_cpus_per_task = test.num_cpus_per_task
    return launcher.run_command(test.job)
