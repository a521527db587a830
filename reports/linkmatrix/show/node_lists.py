"""Lists of known good or flagged nodes, as options of schedulers or as a host file.

Each line is an option of a job, a host, or a comment. Comments contain reasons and commands that users can copy.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import clean
from ..record import units
from ..runs.known_good import NodeClasses

GOOD, FLAGGED = "known-good", "flagged"
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MAX_REASON = 100  # characters of a reason in a scheduler's command
MAX_UNKNOWN = 50  # named nodes with unknown state


@dataclass(frozen=True)
class Scheduler:
    """The options and commands of a scheduler. An option or command that the scheduler lacks is empty.

    title: the name of the scheduler.
    only: returns the option that runs a job on exactly these nodes.
    without: returns the option that excludes nodes from a job.
    status: returns the command that prints the state of nodes.
    drain: returns the command that keeps jobs off a node, with a reason.
    resume: returns the command that allows jobs on a node again.
    """

    title: str
    only: Callable[[Sequence[str]], str]
    without: Callable[[Sequence[str]], str] = lambda names: ""
    status: Callable[[Sequence[str]], list[str]] = lambda names: []
    drain: Callable[[str, str], list[str]] = lambda name, reason: []
    resume: Callable[[str], list[str]] = lambda name: []


#: {format: scheduler}. Sources: sbatch(1) and scontrol(1) of Slurm; qsub(1B), pbs_resources(7B) and pbsnodes(8B) of
#: PBS, which has no option that excludes nodes; qsub(1), complex(5) and qmod(1) of Grid Engine.
FORMATS = {
    "hostfile": Scheduler("an MPI launcher", only="\n".join, without="\n".join),
    "slurm": Scheduler(
        "Slurm",
        only=lambda names: f"--nodelist={','.join(names)}",
        without=lambda names: f"--exclude={','.join(names)}",
        status=lambda names: ["sinfo", "--list-reasons", f"--nodes={','.join(names)}"],
        drain=lambda name, reason: ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"],
        resume=lambda name: ["scontrol", "update", f"NodeName={name}", "State=RESUME"],
    ),
    "pbs": Scheduler(
        "PBS",
        only=lambda names: f"-l select={'+'.join(f'1:host={name}' for name in names)}",
        status=lambda names: ["pbsnodes", *names],
        drain=lambda name, reason: ["pbsnodes", "-o", "-C", reason, name],
        resume=lambda name: ["pbsnodes", "-r", "-C", "", name],
    ),
    "sge": Scheduler(
        "Grid Engine",
        only=lambda names: f"-l hostname={'|'.join(names)}",
        without=lambda names: f"-l hostname=!({'|'.join(names)})",
        status=lambda names: ["qstat", "-f", "-q", ",".join(f"*@{name}" for name in names)],
        drain=lambda name, reason: ["qmod", "-d", f"*@{name}"],
        resume=lambda name: ["qmod", "-e", f"*@{name}"],
    ),
}


def lines(form: str, which: str, node_classes: NodeClasses, sentences: Sequence[str], clean_runs: int) -> Iterator[str]:
    """Yields the lines of a list.

    form: a key of FORMATS.
    which: GOOD or FLAGGED.
    sentences: sentences about the flags, for the comments.
    """
    scheduler = FORMATS[form]
    condition = f"{clean_runs} clean runs of the same test case, link class and path"
    yield f"# a flag stays until {condition}; nothing was changed on the cluster"
    yield from (f"# {clean(one)}" for one in sentences)
    wanted = node_classes.good if which == GOOD else list(node_classes.flagged)
    names = sorted(name for name in wanted if NODE.fullmatch(name))
    others = sorted(set(wanted) - set(names))
    by_hand = "add the node yourself" if which == GOOD else "exclude the node yourself"
    yield from (f"# {clean(name)} is not a valid node name of {scheduler.title}: {by_hand}" for name in others)
    if which == GOOD:
        unknown = [f"{clean(name)} {why}" for name, why in node_classes.unknown.items()]
        if unknown:
            yield f"# neither known good nor flagged: {', '.join(units.first(unknown, MAX_UNKNOWN))}"
        yield scheduler.only(names) if names else "# no node is known good"
        return
    option = scheduler.without(names) if names else ""
    if option:
        yield option
    elif not names:
        yield f"# no {'other ' if others else ''}node is flagged"
    else:
        yield f"# {scheduler.title} cannot exclude nodes: list the known good nodes with --nodes known-good"
    yield from commands(scheduler, names, node_classes)


def commands(scheduler: Scheduler, names: Sequence[str], node_classes: NodeClasses) -> Iterator[str]:
    """Yields comments that contain commands for users to copy. The commands keep jobs off nodes."""
    if not names or not scheduler.status(names):
        return
    yield "# To keep jobs off these nodes, copy the commands that you want. The first command shows drained nodes:"
    yield f"#   {joined(scheduler.status(names))}"
    for name in names:
        reason = "linkmatrix: " + printable(node_classes.flagged[name])[:MAX_REASON]
        yield f"#   {joined(scheduler.drain(name, reason))}"
    yield from (f"#   {joined(scheduler.resume(name))}   # when it is repaired" for name in names)


def joined(command: Sequence[str]) -> str:
    """A command as text for a shell. In NAME=VALUE, only the value is quoted."""
    pairs = (re.fullmatch(r"(\w+=)(.*)", word, re.DOTALL) for word in command)
    return " ".join(
        pair[1] + shlex.quote(pair[2]) if pair else shlex.quote(word) for pair, word in zip(pairs, command, strict=True)
    )


def printable(text: str) -> str:
    """The text for shells and logs of schedulers: "?" replaces quotes and characters that are not ASCII."""
    return re.sub(r"[^\x20-\x7e]|[\"'`$\\]", "?", text)
