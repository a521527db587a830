"""The processes that one job runs for its tests, and the lines of the job script that run them.

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

MIN_SECONDS = 600  # time limit of a process that measures: the program's default --timeout
TOPOLOGY_SECONDS = 120  # time limit of a process that only reads the topology
SECONDS_PER_TESTCASE = 60  # longer time limit for a process with many test cases
MAX_REFERENCE_BYTES = 64 << 20  # limit of src/core/command_line.cpp

# placeholders in the options of a foreign program: all test cases of the process, and the folder of built programs
TESTCASES, PROGRAM_FOLDER = "{testcases}", "{beside}"

# Subfolders of a process's folder, each for one test. TOPOLOGY_FOLDER: a topology process that runs if the process left
# no record. RANKS_FOLDER: a program that ranks run before they measure.
TOPOLOGY_FOLDER, RANKS_FOLDER = "topology", "ranks"

# hwloc asks OpenCL for its devices, and MPI places no rank by them. mpirun starts 4 ranks on 4 H200 in 1.3 s with
# OpenCL and in 0.16 s without (Open MPI 4.1.6). A value that the site has set stays.
RANK_ENVIRONMENT = {"HWLOC_COMPONENTS": "${HWLOC_COMPONENTS:--opencl}"}


@dataclass(frozen=True)
class JobRequest:
    """The program, options and resources that one test requests.

    check: the unique name of the test. program: one of `suite.PROGRAMS`, or a foreign program: its name in the folder
    of built programs, or its path. testcase: "" for a foreign program, and for a test of the topology. opts: the
    options but test case, size and record.

    size: the value of --size. "" is the program's default. None: the test case has a fixed size.
    ranks_per_node: None for any.
    group: only tests of the same group share a process.
    execs_next: the program takes another command after `--into FOLDER`, writes its output to this folder, and executes
        the command.
    environment: NAME=VALUE, for this process only.
    starter: a foreign program with options, which starts the program.
    references: lines of the file that the program reads by `--references`.
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
    def measures(self) -> bool:
        """Whether the program is one of linkmatrix."""
        return self.program in PROGRAMS

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return -(-self.tasks // (self.ranks_per_node or 1))


def process_key(request: JobRequest) -> tuple[Any, ...]:
    """The properties that are equal in all tests of a process."""
    starts = request.tasks, request.ranks_per_node, request.without_mpi, request.environment, request.starter
    return request.program, request.group, request.opts, *starts


@dataclass
class Process:
    """One run of a program for several tests.

    request: of the first test. tests: the unique names of the tests. topology_tests: the tests that read the topology
    only. predecessor: the process whose program executes this program.
    """

    request: JobRequest
    size: str | None
    testcases: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    topology_tests: list[str] = field(default_factory=list)
    predecessor: Process | None = None
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each test case
    most_seconds: int = 0

    def accepts(self, request: JobRequest) -> bool:
        """Whether this process can measure another test too."""
        same_size = None in (request.size, self.size) or request.size == self.size
        return same_size and process_key(request) == process_key(self.request)

    def add(self, request: JobRequest) -> None:
        """Adds a test."""
        self.size = request.size if self.size is None else self.size
        self.testcases += [request.testcase] if request.testcase and request.testcase not in self.testcases else []
        self.tests.append(request.check)
        if request.references:
            self.references.setdefault(request.testcase, request.references)
        self.topology_tests += [] if request.testcase or not request.measures else [request.check]

    def can_follow(self, other: Process) -> bool:
        """Whether the program of `other` can start this process by exec: both have the same ranks, on one node."""
        starts = [(one.tasks, one.ranks_per_node, one.without_mpi) for one in (self.request, other.request)]
        alike = starts[0] == starts[1] and self.request.nodes == 1
        return alike and other.request.execs_next and bool(self.testcases) and not self.predecessor

    def requests(self) -> list[JobRequest]:
        """The requests of this process and of its predecessor."""
        return [one.request for one in (self.predecessor, self) if one]

    def topology_process(self) -> Process | None:
        """A process that only reads the topology, in case this process leaves no record; None if no test needs it."""
        if not (self.testcases and self.topology_tests):
            return None
        return Process(self.request, None, [], self.topology_tests, self.topology_tests)

    def seconds(self) -> int:
        """The time limit. The program itself ends in time, and writes what was measured until then."""
        opts = self.request.opts
        given = [opts[at + 1] for at, name in enumerate(opts[:-1]) if name == "--timeout"]
        if given:
            return int(float(given[-1]))
        return max(MIN_SECONDS, SECONDS_PER_TESTCASE * len(self.testcases)) if self.testcases else TOPOLOGY_SECONDS

    def options(self, asked_by: str, folder: str, program_folder: str = "") -> list[str]:
        """All options of the program. program_folder: the folder of built programs."""
        if not self.request.measures:
            known = {TESTCASES: self.testcases, PROGRAM_FOLDER: [shlex.quote(program_folder)]}
            return [word for option in self.request.opts for word in known.get(option, [option])]
        named = ["--testcase", ",".join(self.testcases)] if self.testcases else ["--topology"]
        size = ["--size", self.size] if self.size else []
        seconds = min(self.seconds(), self.most_seconds or self.seconds())
        limit = ["--timeout", str(seconds)] if seconds != MIN_SECONDS and self.testcases else []
        limit = [] if "--timeout" in self.request.opts else limit
        one_size = "," not in (self.size or "")  # the program takes references for one size only
        known = ["--references", f"{folder}.tsv"] if self.references and one_size else []
        kept = ["--record", f"{folder}/record.json", "--asked-by", shlex.quote(asked_by)]
        return [*named, *size, *limit, *known, *kept, *self.request.opts]


def plan_processes(requests: list[JobRequest]) -> list[Process]:
    """The fewest processes that fulfil the requests. Order: topology and foreign programs, matrices, collectives."""
    found: list[Process] = []
    for request in requests:
        process = next((one for one in found if one.accepts(request)), None)
        if process is None:
            found.append(process := Process(request, request.size))
        process.add(request)
    found.sort(key=lambda process: (bool(process.testcases), process.request.program != PROGRAMS[0]))
    for process in found[:]:
        if after := next((one for one in found if one.can_follow(process)), None):
            after.predecessor = process
            found.remove(process)
    return found


def processes_by_test(processes: list[Process]) -> dict[str, tuple[int, int]]:
    """{unique name of a test: (number of its process, number of tests that share the process)}."""
    return {
        name: (number, len(one.tests))
        for number, process in enumerate(processes)
        for one in (process.predecessor, process)
        if one
        for name in one.tests
    }


def process_folder(number: int) -> str:
    """The folder for output, errors and record of a process, relative to the job's stage."""
    return f"process{number + 1}"


def fill_job(test: Any, processes: list[Process], asked_by: str) -> None:
    """Sets the resources and commands of the job of `test`. A process runs even if the previous process failed."""
    requests = [request for process in processes for request in process.requests()]
    nodes = max(request.nodes for request in requests)
    each = max(request.ranks_per_node or 1 for request in requests)
    test.num_tasks = nodes * each
    test.num_tasks_per_node = each if any(request.ranks_per_node for request in requests) else None
    if test.num_tasks > 1:
        test.env_vars = {**RANK_ENVIRONMENT, **test.env_vars}
    gpus = max(request.gpus for request in requests)
    if gpus:
        test.num_gpus_per_node = gpus
    test.layout = layout_of(test.num_tasks, each)
    test.extra_resources = {**test.extra_resources, "layout": test.layout}
    if requests[0].node:
        test.extra_resources["node"] = {"host": requests[0].node}
    test.duration_file = durations.file_of(test, processes)
    if not test.time_limit:
        durations.set_time_limit(test, processes)
    if test.current_partition.time_limit:  # a scheduler refuses a longer job, or never starts it
        asked, test.time_limit = test.time_limit, test.current_partition.time_limit
        test.time_limit = min(asked, test.time_limit)
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
    """The values of the partition's resource ``layout`` for `tasks` ranks, `ranks_per_node` of them on a node."""
    return {"num_nodes": -(-tasks // ranks_per_node), "num_tasks": tasks, "num_tasks_per_node": ranks_per_node}


def launch_options(extras: dict[str, Any], kind: str, layout: dict[str, int]) -> list[str]:
    """The partition's options of the launcher, of the kind ``rank_options`` or ``process_options``, for a layout.

    Raises ValueError for braces with something else in them.
    """
    try:
        return [option.format(**layout) for option in extras.get(kind, [])]
    except (KeyError, IndexError, ValueError):
        known = ", ".join(f"{{{name}}}" for name in layout)
        raise ValueError(f"extras['{kind}'] of the partition may have {known} in braces, and nothing else") from None


def write_references(process: Process, file: Path) -> None:
    """Writes the references of a process. Clears them if writing fails, or if the text is too large for the program."""
    text = "".join(f"{line}\n" for of_testcase in process.references.values() for line in of_testcase).encode()
    try:
        if len(text) > MAX_REFERENCE_BYTES:
            process.references.clear()
        elif text:
            write_whole(file, text, lasting=False)
    except OSError:
        process.references.clear()


def process_commands(test: Any, process: Process, folder: str, asked_by: str) -> list[str]:
    """The lines of the job script that run a process in its folder."""
    program_folder = Path(test.build.stagedir) / "prefix" / "bin"
    asked = asked_by if len(process.tests) > 1 else single_test_name(test, process)
    options = process.options(asked, folder, str(program_folder))
    program, folders = [path_of(process.request.program, program_folder)], folder
    if process.predecessor:
        folders = f"{folder}/{RANKS_FOLDER}"
        program = [path_of(process.predecessor.request.program, program_folder), "--into", folders, *program]
    if process.request.starter:
        starter, *words = process.request.starter
        program = [path_of(starter, program_folder), *map(shlex.quote, words), *program]
    if process.request.environment:  # by `env`: not every launcher passes variables on
        program = ["env", *map(shlex.quote, process.request.environment), *program]
    command = " ".join([*program, *options])
    if container := container_of(test):
        gpus = bool(test.current_partition.select_devices("gpu"))
        command = container.command(command, Path(test.stagedir), Path(test.build.stagedir), gpus)
    words = [launch_command(test, process.request), command, f"> {folder}/out 2> {folder}/err"]
    # If ReFrame keeps the stage, the folder has the record of an earlier run, which would count as one of this run.
    return [f"rm -rf {folder}; mkdir -p {folders}", " ".join(word for word in words if word)]


def container_of(test: Any) -> containers.Container | None:
    """The container of the test's partition; None without one."""
    return containers.of_extras(test.current_partition.extras, test.job.launcher.registered_name)


def path_of(program: str, folder: Path) -> str:
    """A program of a folder, quoted for the shell. An absolute path replaces the folder."""
    return shlex.quote(str(folder / program))


def single_test_name(test: Any, process: Process) -> str:
    """The name of the only test of a process."""
    return test.display_names.get(process.tests[0], test.display_name)


def launch_command(test: Any, request: JobRequest) -> str:
    """The command of the partition's launcher, with the options for this layout; "" to start without the launcher."""
    launcher = copy.copy(test.job.launcher)
    if request.without_mpi and launcher.registered_name.startswith(("mpirun", "mpiexec")):
        return ""  # mpirun would bind all threads of the process to one core
    layout = layout_of(request.tasks, request.ranks_per_node or 1)
    kind = "rank_options" if request.tasks > 1 else "process_options"
    within = []
    if layout != test.layout and launcher.registered_name.startswith("srun"):
        within = [f"--nodes={layout['num_nodes']}", f"--ntasks={request.tasks}"]
        within.append(f"--ntasks-per-node={layout['num_tasks_per_node']}")
    container = container_of(test)
    inside = container.launcher_options(Path(test.stagedir), Path(test.build.stagedir)) if container else []
    chosen = launch_options(test.current_partition.extras, kind, layout)
    launcher.options = [*launcher.options, *within, *chosen, *inside]
    test.job.num_tasks, test.job.num_tasks_per_node = request.tasks, request.ranks_per_node
    test.job.num_cpus_per_task = test.num_cpus_per_task
    return launcher.run_command(test.job)
