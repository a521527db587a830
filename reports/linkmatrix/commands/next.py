"""`linkmatrix next`: prints the coverage of a partition, and commands that measure what is due within a budget.

Each node and each pair of leaf switches is measured in turn. The jobs use one or two nodes and have the lowest
priority. `--submit` runs the commands. The measured part of a preempted job counts, and the rest stays due.
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

NOTHING = 3
BUDGET = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)[ -]?node-(hour|minute|second)s?")
SECONDS = {"hour": 3600, "minute": 60, "second": 1}
MOST_NAMED = 20  # nodes that the output lists with a reason
LEAST_LIMIT, LIMIT = 300, 3  # time limit of a job: seconds at least, and multiple of the expected duration
DAYS = 365  # the period of the page
WORST = (0, 3, 4, 2, 1)  # exit codes of runs, from best to worst


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `next`."""
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
        help="nodes per leaf switch: lines such as leaf1: n[1-32], or Slurm's topology.conf (default: ask Slurm)",
    )
    command.add_argument(
        "--within",
        type=int,
        default=30,
        metavar="DAYS",
        help="a pair of leaf switches is covered if it was measured in the last DAYS (default: 30)",
    )
    command.add_argument("--html", type=path_of, metavar="FILE", help="write the coverage as an HTML page")
    command.add_argument("--submit", action="store_true", help="run the printed commands, one after the other")
    arguments.add_clean_runs(command)
    command.add_argument(
        "--references", type=path_of, metavar="DIR", help="folder of references (default: config/references)"
    )
    command.add_argument("--reframe", default="reframe", metavar="PROGRAM", help="path of ReFrame (default: reframe)")
    command.set_defaults(command=run_next)


def run_next(options: argparse.Namespace) -> int:
    """Returns 0; 3 if no run is stored; with --submit the exit code of the worst run. Raises BadInput."""
    if not 1 <= options.within <= 3650:
        raise BadInput("--within: 1 to 3650 days")
    budget = budget_of(options)
    from ..runs import coverage, index, patrol
    from ..runs import notes as written

    folder, notes = options.references or arguments.reference_folder(), []
    with index.open_index(folders.prefix(), folder) as found:
        there = found.partitions()
        if not there:
            say(*(f"note: {note}" for note in found.notes))
            say("There is no stored run. Measure first: linkmatrix run --mode=sweep")
            return NOTHING
        name = chosen(options.system, there)
        said, known, leaves = site(options, name, notes)
        told = written.load(folders.prefix())
        covered = coverage.coverage(found, name, time.time(), known, leaves, options.clean_runs, told)
        together = covered.together if configured.node_option(said, ()) else None  # or no job can ask for certain nodes
        jobs = patrol.plan(covered.nodes, covered.pairs, covered.alone, together, budget or 0.0)
        notes += [*found.notes, *(f"{node} {why}" for node, why in found.disturbance_streaks().items())]
        for line in [*lines(covered, options.within), *(f"note: {note}" for note in notes)]:
            say(line)
        if options.html:
            from ..show import coverage as page

            days = coverage.ages_by_day(found, covered, DAYS)
            write_whole(options.html, page.render(covered, days, options.within).encode())
            say(str(options.html))
    if budget is None:
        return 0
    for line in planned(covered, jobs, budget):
        say(line)
    commands = commands_of(jobs, name, said)
    for command in commands:
        say(f"$ {shlex.join(command)}", flush=True)
    return submitted(commands, options) if options.submit else 0


def budget_of(options: argparse.Namespace) -> float | None:
    """The budget in node-seconds; None without a budget. Raises BadInput."""
    if options.budget is None:
        if options.submit:
            raise BadInput("--submit needs a budget: add --budget 20-node-hours")
        return None
    match = BUDGET.fullmatch(options.budget.strip())
    if match is None or float(match[1]) == 0:
        raise BadInput(f"--budget '{options.budget}' is not a budget: write 20-node-hours or 90-node-minutes")
    return float(match[1]) * SECONDS[match[2]]


def chosen(system: str | None, there: Sequence[str]) -> str:
    """The partition to measure. system: the value of --system. there: partitions with stored runs. Raises BadInput."""
    if system is None and len(there) > 1:
        raise BadInput(f"several partitions have stored runs ({', '.join(there)}): choose one with --system {there[0]}")
    if system is not None and system not in there:
        raise BadInput(f"--system {system}: no run of this partition is stored: use {', '.join(there)}")
    return system or there[0]


def site(
    options: argparse.Namespace, name: str, notes: list[str]
) -> tuple[dict[str, Any], dict[str, str] | None, dict[str, str]]:
    """(ReFrame's configuration of the partition, {node: why it accepts no job}, {node: its leaf switch}).

    {} and None for what is unknown. Adds sentences about the reason to `notes`. Raises BadInput.
    """
    program, repository = environment.program(options.reframe), folders.repository()
    said: dict[str, Any] = {}
    if program and (repository / "config" / "settings.py").is_file():
        said = configured.partition(program, repository, name)
    else:
        notes.append(f"the scheduler was not asked, because '{options.reframe}' or config/settings.py is missing here")
    known = None
    if said and said["scheduler"] != "local":
        try:
            known = configured.nodes_of(said)
        except (OSError, BadInput) as error:
            notes.append(f"the nodes of {name} are unknown, so only nodes of stored runs count: {error}")
    if options.nodes:
        away = known or {}
        known = {node: away.get(node, "") for node in site_nodes.expand_names(options.nodes)}
    leaves = configured.read_groups(options.groups) if options.groups else configured.scheduler_groups(said)
    return said, known, leaves


def lines(covered: Any, within: int) -> Iterator[str]:
    """The lines about the coverage of the partition."""
    of = f"{units.counted(len(covered.nodes), 'node')}, {units.counted(len(covered.pairs), 'pair')} of leaf switches"
    yield f"{covered.partition}: {covered.sentence(within)} ({of})"
    away = [f"{node.name} ({node.away})" for node in covered.nodes if node.away]
    if away:
        yield f"  {len(away)} accept no job now: {', '.join(units.first(away, MOST_NAMED))}"


def planned(covered: Any, jobs: Sequence[Any], budget: float) -> Iterator[str]:
    """The lines about the planned jobs, their reasons and their cost."""
    if covered.alone is None:
        yield "the duration of a node is unknown: measure a node first with linkmatrix run --mode=sweep --nodes NODE"
    over_network = [node for node in covered.nodes if node.over_network and not node.away]
    if (covered.pairs or over_network) and covered.together is None:
        yield "the duration of two nodes is unknown: measure two nodes first with linkmatrix run --mode=pair"
    hours = sum(job.cost for job in jobs) / 3600
    alone, pairs = ([job for job in jobs if job.kind == kind] for kind in ("node", "pair"))
    yield f"planned: {units.figure(hours, 2)} of {budget / 3600:g} node-hours"
    for found, what, span in ((alone, "node", covered.alone), (pairs, "pair of nodes", covered.together)):
        if found:
            yield (
                f"  {units.counted(len(found), what)}, {span.seconds:.0f} s each: 90 % of"
                f" {units.counted(span.runs, 'stored run')} took no longer, without the time to start a job"
            )
    reasons = [f"{', '.join(job.nodes)}: {job.why}" for job in jobs if job.why]
    yield from (f"  {reason}" for reason in units.first(reasons, MOST_NAMED))
    planned = {name for job in pairs for name in job.nodes}
    left = [f"{node.name}: {node.over_network}" for node in over_network if node.name not in planned]
    if left:
        yield "not planned; to unflag these nodes, measure them with another node: linkmatrix run --mode=pair"
        yield from (f"  {one}" for one in units.first(left, MOST_NAMED))


def commands_of(jobs: Sequence[Any], name: str, said: dict[str, Any]) -> list[list[str]]:
    """The command lines: one for all jobs of one node, and one per pair of nodes. Raises BadInput."""
    alone, pairs = ([job for job in jobs if job.kind == kind] for kind in ("node", "pair"))
    low = configured.low_priority_options(said)
    run = ["linkmatrix", "run", f"--system={name}"]
    found = []
    if alone:
        nodes = ",".join(job.nodes[0] for job in alone)
        limit = f"node_sweep.time_limit={limit_of(alone[0].seconds)}"
        found.append([*run, "--mode=sweep", "--nodes", nodes, "--", "-S", limit, *low])
    for job in pairs:
        limit = f"crossnode_matrix.time_limit={limit_of(job.seconds)}"
        pin = configured.node_option(said, job.nodes)
        found.append([*run, "--mode=pair", "--", "-S", limit, pin, *low])
    return found


def limit_of(seconds: float) -> str:
    """The time limit of a job with this expected duration, in ReFrame's format, such as "15m"."""
    return f"{math.ceil(max(LEAST_LIMIT, LIMIT * seconds) / 60)}m"


def submitted(commands: Sequence[Sequence[str]], options: argparse.Namespace) -> int:
    """Runs the commands, one after the other, and returns the worst exit code."""
    codes = [0]
    for command in commands:
        split = command.index("--")
        words = [*command[1:split], f"--reframe={options.reframe}", *command[split:]]
        codes.append(subprocess.run([sys.executable, "-m", "linkmatrix", *words], check=False).returncode)
    return max(codes, key=lambda code: WORST.index(code) if code in WORST else WORST.index(4))
