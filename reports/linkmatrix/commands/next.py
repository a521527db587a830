"""`linkmatrix next`: prints the coverage of a partition, and commands for the next measurements within a budget.

The commands measure each node and each pair of leaf switches in turn. Their jobs use one or two nodes and have the
lowest priority. `--submit` runs the commands. If a job is preempted, its completed measurements count.
"""

import argparse
import math
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadInput, say
from ..files import path_of, write_whole
from ..record import units
from ..runs import folders
from ..site import configured, environment
from ..site import nodes as site_nodes
from . import arguments

NOTHING = 3  # exit code if no run is stored, as for INCOMPLETE
BUDGET = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)[ -]?node-(hour|minute|second)s?")
SECONDS = {"hour": 3600, "minute": 60, "second": 1}
MOST_NAMED = 20  # nodes that the output lists with a reason
LEAST_LIMIT = 300  # minimum time limit of a job in seconds
LIMIT = 3  # time limit of a job as a multiple of its expected duration
DAYS = 365  # the period that the HTML page shows
WORST = (0, 3, 4, 2, 1)  # exit codes of runs, from best to worst


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `next`."""
    command.add_argument(
        "--budget", metavar="N-node-hours", help="node time to use, such as 20-node-hours or 90-node-minutes"
    )
    command.add_argument(
        "--system", metavar="S:P", help="system and partition (default: the only partition of the stored runs)"
    )
    command.add_argument(
        "--nodes",
        metavar="LIST",
        help="nodes of the partition, such as n[001-016],n20 (default: all nodes that the scheduler reports)",
    )
    command.add_argument(
        "--groups",
        type=path_of,
        metavar="FILE",
        help="nodes per leaf switch: lines such as 'leaf1: n[1-32]', or Slurm's topology.conf (default: ask Slurm)",
    )
    command.add_argument(
        "--within",
        type=int,
        default=30,
        metavar="DAYS",
        help="a pair of leaf switches is covered if it was measured in the last DAYS (default: 30)",
    )
    command.add_argument("--html", type=path_of, metavar="FILE", help="write the coverage as an HTML page")
    command.add_argument("--submit", action="store_true", help="run the printed commands one after the other")
    arguments.add_clean_runs(command)
    command.add_argument(
        "--references", type=path_of, metavar="DIR", help="folder of references (default: config/references)"
    )
    command.add_argument("--reframe", default="reframe", metavar="PROGRAM", help="path of ReFrame (default: reframe)")
    command.set_defaults(command=run_next)


def run_next(options: argparse.Namespace) -> int:
    """Prints the coverage of a partition and the planned jobs. With --submit, runs the jobs. Raises BadInput.

    Returns NOTHING if no run is stored. With --submit, returns the exit code of the worst job. Otherwise, returns 0.
    """
    if not 1 <= options.within <= 3650:
        raise BadInput(f"--within {options.within}: use 1 to 3650 days")
    budget = budget_seconds(options)
    from ..runs import coverage, index, patrol
    from ..runs import notes as user_notes

    folder, notes = options.references or arguments.reference_folder(), []
    with index.open_index(folders.prefix(), folder) as found:
        partitions = found.partitions()
        if not partitions:
            say(*(f"note: {note}" for note in found.notes))
            say("There is no stored run. Measure first: linkmatrix run --mode=sweep")
            return NOTHING
        name = chosen_partition(options.system, partitions)
        partition, known, leaves = scheduler_state(options, name, notes)
        repairs = user_notes.load(folders.prefix())
        covered = coverage.coverage(found, name, time.time(), known, leaves, options.clean_runs, repairs)
        # without an option that selects nodes, no job can measure a certain pair of nodes
        pair_duration = covered.pair_duration if configured.node_option(partition, ()) else None
        jobs = patrol.plan(covered.nodes, covered.pairs, covered.node_duration, pair_duration, budget or 0.0)
        notes += [*found.notes, *(f"{node} {why}" for node, why in found.disturbance_streaks().items())]
        for line in [*coverage_lines(covered, options.within), *(f"note: {note}" for note in notes)]:
            say(line)
        if options.html:
            from ..show import coverage as page

            days = coverage.ages_by_day(found, covered, DAYS)
            write_whole(options.html, page.render(covered, days, options.within).encode())
            say(str(options.html))
    if budget is None:
        return 0
    for line in plan_lines(covered, jobs, budget):
        say(line)
    commands = job_commands(jobs, name, partition)
    for command in commands:
        say(f"$ {shlex.join(command)}", flush=True)
    return run_commands(commands, options) if options.submit else 0


def budget_seconds(options: argparse.Namespace) -> float | None:
    """The value of --budget in node-seconds; None without --budget. Raises BadInput."""
    if options.budget is None:
        if options.submit:
            raise BadInput("--submit needs a budget: add --budget 20-node-hours")
        return None
    match = BUDGET.fullmatch(options.budget.strip())
    if match is None or float(match[1]) == 0:
        raise BadInput(f"--budget '{options.budget}' is not a budget: write 20-node-hours or 90-node-minutes")
    return float(match[1]) * SECONDS[match[2]]


def chosen_partition(system: str | None, stored: Sequence[str]) -> str:
    """The partition to measure, such as "system:partition". Raises BadInput.

    system: the value of --system.
    stored: the partitions that have stored runs. Without --system, runs from before the system file do not count.
    """
    if system is not None and system not in stored:
        raise BadInput(f"--system {system}: no run of this partition is stored: use {', '.join(stored)}")
    described = [name for name in stored if name.partition(":")[0] != configured.GENERIC] or list(stored)
    if system is None and len(described) > 1:
        listed = ", ".join(described)
        raise BadInput(f"several partitions have stored runs ({listed}): choose one with --system {described[0]}")
    return system or described[0]


def scheduler_state(
    options: argparse.Namespace, name: str, notes: list[str]
) -> tuple[dict[str, Any], dict[str, str] | None, dict[str, str]]:
    """Asks ReFrame about a partition, and the scheduler about the nodes of the partition. Raises BadInput.

    Returns three values:

    * ReFrame's configuration of the partition; {} if unknown
    * {node: why the node accepts no job, or ""}; None if unknown
    * {node: leaf switch}

    name: the partition.
    notes: the function appends sentences about unknown values.
    """
    program, repository = environment.program(options.reframe), folders.repository()
    partition: dict[str, Any] = {}
    if program and (repository / "config" / "settings.py").is_file():
        partition = configured.partition(program, repository, name)
    else:
        notes.append(f"the scheduler was not asked, because '{options.reframe}' or config/settings.py is missing here")
    known = None
    if partition and partition["scheduler"] != "local":
        try:
            known = configured.nodes_of(partition)
        except (OSError, BadInput) as error:
            notes.append(f"the nodes of {name} are unknown, so only nodes of stored runs count: {error}")
    if options.nodes:
        reasons = known or {}
        known = {node: reasons.get(node, "") for node in site_nodes.expand_names(options.nodes)}
    leaves = configured.read_groups(options.groups) if options.groups else configured.scheduler_groups(partition)
    return partition, known, leaves


def coverage_lines(covered: Any, within: int) -> Iterator[str]:
    """The lines about the coverage of the partition.

    covered: a `coverage.Coverage`.
    within: the value of --within, in days.
    """
    size = f"{units.counted(len(covered.nodes), 'node')}, {units.counted(len(covered.pairs), 'pair')} of leaf switches"
    yield f"{covered.partition}: {covered.sentence(within)} ({size})"
    away = [f"{node.name} ({node.away})" for node in covered.nodes if node.away]
    if away:
        yield f"  {len(away)} accept no job now: {', '.join(units.first(away, MOST_NAMED))}"


def plan_lines(covered: Any, jobs: Sequence[Any], budget: float) -> Iterator[str]:
    """The lines about the planned jobs: their number, their cost and their reasons.

    covered: a `coverage.Coverage`.
    budget: node-seconds.
    """
    if covered.node_duration is None:
        yield "the duration of a node is unknown: measure a node first with linkmatrix run --mode=sweep --nodes NODE"
    over_network = [node for node in covered.nodes if node.over_network and not node.away]
    if (covered.pairs or over_network) and covered.pair_duration is None:
        yield "the duration of two nodes is unknown: measure two nodes first with linkmatrix run --mode=pair"
    hours = sum(job.cost for job in jobs) / 3600
    alone, pairs = ([job for job in jobs if job.kind == kind] for kind in ("node", "pair"))
    yield f"planned: {units.figure(hours, 2)} of {budget / 3600:g} node-hours"
    for found, what, span in ((alone, "node", covered.node_duration), (pairs, "pair of nodes", covered.pair_duration)):
        if found:
            took = f"took at most {span.seconds:.0f} s after the start of the job"
            yield (
                f"  {units.counted(len(found), what)}, {span.seconds:.0f} s each: 90 % of"
                f" {units.counted(span.runs, 'stored run')} {took}"
            )
    reasons = [f"{', '.join(job.nodes)}: {job.why}" for job in jobs if job.why]
    yield from (f"  {reason}" for reason in units.first(reasons, MOST_NAMED))
    planned = {name for job in pairs for name in job.nodes}
    left = [f"{node.name}: {node.over_network}" for node in over_network if node.name not in planned]
    if left:
        yield "not planned; to unflag these nodes, measure them with another node: linkmatrix run --mode=pair"
        yield from (f"  {one}" for one in units.first(left, MOST_NAMED))


def job_commands(jobs: Sequence[Any], name: str, partition: dict[str, Any]) -> list[list[str]]:
    """The command lines of the jobs: one command for all single nodes, and one command per pair of nodes.

    Raises BadInput.
    """
    alone, pairs = ([job for job in jobs if job.kind == kind] for kind in ("node", "pair"))
    low = configured.low_priority_options(partition)
    run = ["linkmatrix", "run", f"--system={name}"]
    found = []
    if alone:
        nodes = ",".join(job.nodes[0] for job in alone)
        limit = f"node_sweep.time_limit={time_limit(alone[0].seconds)}"
        found.append([*run, "--mode=sweep", "--nodes", nodes, "--", "-S", limit, *low])
    for job in pairs:
        limit = f"crossnode_matrix.time_limit={time_limit(job.seconds)}"
        on_nodes = configured.node_option(partition, job.nodes)
        found.append([*run, "--mode=pair", "--", "-S", limit, on_nodes, *low])
    return found


def time_limit(seconds: float) -> str:
    """The time limit of a job as text for ReFrame, such as "15m".

    seconds: the expected duration of the job.
    """
    return f"{math.ceil(max(LEAST_LIMIT, LIMIT * seconds) / 60)}m"


def run_commands(commands: Sequence[Sequence[str]], options: argparse.Namespace) -> int:
    """Runs the commands one after the other, and returns the worst exit code."""
    codes = [0]
    for command in commands:
        split = command.index("--")
        words = [*command[1:split], f"--reframe={options.reframe}", *command[split:]]
        codes.append(subprocess.run([sys.executable, "-m", "linkmatrix", *words], check=False).returncode)
    return max(codes, key=lambda code: WORST.index(code) if code in WORST else WORST.index(4))
