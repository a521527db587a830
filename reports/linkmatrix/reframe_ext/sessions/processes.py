"""The processes of a job: as few as can measure what its tests wish, and the script that runs them."""

from __future__ import annotations

import copy
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reframe.core.backends import getlauncher

from ...files import write_whole
from ...suite import PROGRAMS

LEAST_SECONDS = 600  # of a process that measures, the program's own --timeout
TOPOLOGY_SECONDS = 120  # of one that only looks
SECONDS_EACH = 60  # of a test case, where a process has so many that they may need more
MOST_BYTES = 64 << 20  # of the references that a process is told, by src/core/text_file.cpp
ROOM = 120  # seconds of the job beside its processes: starts, modules, launchers

# words among the options of another program: all test cases of the process, and the folder of what was built
TESTCASES, BESIDE = "{testcases}", "{beside}"

# in the folder of a process, what is meant for one test of the job alone: of a program that looks where the process
# left no record, and of one that ranks run before they measure
LOOK, RANKS = "topology", "ranks"

# MPI sees the machine through hwloc, which asks OpenCL for its devices too: mpirun starts 4 ranks on 4 H200 in 1.3 s
# with it and in 0.16 s without (Open MPI 4.1.6), and no rank is placed by them. What the site has set stays.
OF_RANKS = {"HWLOC_COMPONENTS": "${HWLOC_COMPONENTS:--opencl}"}


@dataclass(frozen=True)
class Wish:
    """What one test needs of a job.

    program: one of `suite.PROGRAMS`, or the path of another. testcase: "" for what needs none: another program, or a
    look at the topology, which each process of p2p_matrix takes before it measures. size: of --size, "" for the
    program's own, None where the test case has one of its own. opts: the other options. on_each: ranks on a node, None
    where it does not matter. group: only tests with the same word share a process. becomes: whether the program takes
    another one's command behind `--into FOLDER`, writes what it has to say there, and becomes that one. environment:
    NAME=VALUE of variables of its processes alone. starter: what starts the program, an absolute path and its options.
    references: lines of the file that the program reads by `--references`.
    """

    check: str
    testcase: str
    opts: tuple[str, ...]
    size: str | None = None
    tasks: int = 1
    on_each: int | None = None
    gpus: int = 0
    without_mpi: bool = False
    group: str = ""
    node: str = ""
    program: str = PROGRAMS[0]
    becomes: bool = False
    environment: tuple[str, ...] = ()
    starter: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def measures(self) -> bool:
        """Whether its program measures, or is to look."""
        return self.program in PROGRAMS

    @property
    def nodes(self) -> int:
        """How many nodes it needs."""
        return -(-self.tasks // (self.on_each or 1))


def kind_of(wish: Wish) -> tuple[Any, ...]:
    """What tests must have in common to be measured by one process."""
    starts = wish.tasks, wish.on_each, wish.without_mpi, wish.environment, wish.starter
    return wish.program, wish.group, wish.opts, *starts


@dataclass
class Process:
    """One run of a program: what its tests have in common; `tests` are their unique names, and `looking` those of them
    that want no more than the topology. before: the one whose program becomes this one's."""

    wish: Wish
    size: str | None
    testcases: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    looking: list[str] = field(default_factory=list)
    before: Process | None = None
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each test case

    def takes(self, wish: Wish) -> bool:
        """Whether the test can be measured by this process too."""
        return kind_of(wish) == kind_of(self.wish) and (None in (wish.size, self.size) or wish.size == self.size)

    def add(self, wish: Wish) -> None:
        """Measures it too."""
        self.size = wish.size if self.size is None else self.size
        self.testcases += [wish.testcase] if wish.testcase and wish.testcase not in self.testcases else []
        self.tests.append(wish.check)
        if wish.references:
            self.references.setdefault(wish.testcase, wish.references)
        self.looking += [] if wish.testcase or not wish.measures else [wish.check]

    def follows(self, other: Process) -> bool:
        """Whether the program of another process can become this one: ranks of one node, started in the same way."""
        starts = [(one.tasks, one.on_each, one.without_mpi) for one in (self.wish, other.wish)]
        alike = starts[0] == starts[1] and self.wish.nodes == 1
        return alike and other.wish.becomes and bool(self.testcases) and not self.before

    def wishes(self) -> list[Wish]:
        """What its job must have."""
        return [one.wish for one in (self.before, self) if one]

    def look(self) -> Process | None:
        """The process that only looks, for where this one measures too and ends before it has; None for none."""
        return Process(self.wish, None, [], self.looking, self.looking) if self.testcases and self.looking else None

    def seconds(self) -> int:
        """Its own limit, which it keeps itself, so that what it measured until then is written."""
        given = [self.wish.opts[at + 1] for at, name in enumerate(self.wish.opts[:-1]) if name == "--timeout"]
        if given:
            return int(float(given[-1]))
        return max(LEAST_SECONDS, SECONDS_EACH * len(self.testcases)) if self.testcases else TOPOLOGY_SECONDS

    def options(self, asked_by: str, folder: str, beside: str = "") -> list[str]:
        """All options of the program. beside: where what was built is."""
        if not self.wish.measures:
            known = {TESTCASES: self.testcases, BESIDE: [shlex.quote(beside)]}
            return [word for option in self.wish.opts for word in known.get(option, [option])]
        named = ["--testcase", ",".join(self.testcases)] if self.testcases else ["--topology"]
        size = ["--size", self.size] if self.size else []
        limit = ["--timeout", str(self.seconds())] if self.seconds() > LEAST_SECONDS else []
        limit = [] if "--timeout" in self.wish.opts else limit
        one_size = "," not in (self.size or "")  # of several the program takes no references
        known = ["--references", f"{folder}.tsv"] if self.references and one_size else []
        kept = ["--record", f"{folder}/record.json", "--asked-by", shlex.quote(asked_by)]
        return [*named, *size, *limit, *known, *kept, *self.wish.opts]


def processes_of(wishes: list[Wish]) -> list[Process]:
    """As few processes as can measure what is wished: what only looks, then matrices, then collectives."""
    found: list[Process] = []
    for wish in wishes:
        process = next((one for one in found if one.takes(wish)), None)
        if process is None:
            found.append(process := Process(wish, wish.size))
        process.add(wish)
    found.sort(key=lambda process: (bool(process.testcases), process.wish.program != PROGRAMS[0]))
    for process in found[:]:
        if after := next((one for one in found if one.follows(process)), None):
            after.before = process
            found.remove(process)
    return found


def places_of(processes: list[Process]) -> dict[str, tuple[int, int]]:
    """{test: (number of its process, how many tests share that)}."""
    return {
        name: (number, len(one.tests))
        for number, process in enumerate(processes)
        for one in (process.before, process)
        if one
        for name in one.tests
    }


def folder_of(number: int) -> str:
    """Where a job's process of that number leaves its output, errors and record, in the job's stage."""
    return f"process{number + 1}"


def fill(test: Any, processes: list[Process], asked_by: str) -> None:
    """Makes the job of `test` run the processes one after the other, whatever becomes of each."""
    wishes = [wish for process in processes for wish in process.wishes()]
    nodes, each = max(wish.nodes for wish in wishes), max(wish.on_each or 1 for wish in wishes)
    test.num_tasks = nodes * each
    test.num_tasks_per_node = each if any(wish.on_each for wish in wishes) else None
    if test.num_tasks > 1:
        test.env_vars = {**OF_RANKS, **test.env_vars}
    gpus = max(wish.gpus for wish in wishes)
    if gpus:
        test.num_gpus_per_node = gpus
    test.layout = layout_of(test.num_tasks, each)
    test.extra_resources = {**test.extra_resources, "layout": test.layout}
    if wishes[0].node:
        test.extra_resources["node"] = {"host": wishes[0].node}
    if not test.time_limit:
        looks = [look for look in (process.look() for process in processes) if look]
        test.time_limit = sum(process.seconds() for process in [*processes, *looks]) + ROOM
    if test.current_partition.time_limit:  # a job that asks for more would wait for ever, or be refused
        asked, test.time_limit = test.time_limit, test.current_partition.time_limit
        test.time_limit = min(asked, test.time_limit)
    commands: list[str] = []
    for number, process in enumerate(processes):
        folder = folder_of(number)
        write_references(process, Path(test.stagedir, f"{folder}.tsv"))
        commands += commands_of(test, process, folder, asked_by)
        if look := process.look():
            instead = "; ".join(commands_of(test, look, f"{folder}/{LOOK}", asked_by))
            commands.append(f"[ -e {folder}/record.json ] || {{ {instead}; }}")
    test.job.launcher = getlauncher("local")()
    test.prerun_cmds = [*test.prerun_cmds, *commands[:-1]]
    test.executable, test.executable_opts = commands[-1], []


def layout_of(tasks: int, on_each: int) -> dict[str, int]:
    """What a job of `tasks` ranks, `on_each` of them on a node, says to the partition's resource ``layout``."""
    return {"num_nodes": -(-tasks // on_each), "num_tasks": tasks, "num_tasks_per_node": on_each}


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
    """What the process is told that cells should be; where it cannot be written, or is too much to be read, nothing."""
    text = "".join(f"{line}\n" for of_testcase in process.references.values() for line in of_testcase).encode()
    try:
        if len(text) > MOST_BYTES:
            process.references.clear()
        elif text:
            write_whole(file, text, lasting=False)
    except OSError:
        process.references.clear()


def commands_of(test: Any, process: Process, folder: str, asked_by: str) -> list[str]:
    """The lines of the job's script that make a process run in its folder."""
    beside = Path(test.build.stagedir) / "prefix" / "bin"
    asked = asked_by if len(process.tests) > 1 else asked_by_alone(test, process)
    said = process.options(asked, folder, str(beside))
    # an absolute path replaces that of the build
    program, folders = [shlex.quote(str(beside / process.wish.program))], folder
    if process.before:
        folders = f"{folder}/{RANKS}"
        program = [shlex.quote(process.before.wish.program), "--into", folders, *program]
    program = [*map(shlex.quote, process.wish.starter), *program]
    if process.wish.environment:  # by a program of its own: not every launcher passes on what it is given
        program = ["env", *map(shlex.quote, process.wish.environment), *program]
    words = [launched(test, process.wish), *program, *said, f"> {folder}/out 2> {folder}/err"]
    # of an earlier run, where ReFrame was told to keep the stage: its record would be taken for one of this run
    return [f"rm -rf {folder}; mkdir -p {folders}", " ".join(word for word in words if word)]


def asked_by_alone(test: Any, process: Process) -> str:
    """The name of the only test of a process."""
    return test.display_names.get(process.tests[0], test.display_name)


def launched(test: Any, wish: Wish) -> str:
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
