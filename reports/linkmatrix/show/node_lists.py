"""Lists of known good or flagged nodes, as options of schedulers and as a host file.

Each line is an option of a job, a host, or a comment. Comments contain reasons, and commands to copy. linkmatrix runs
none of the commands.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import clean
from ..record import units
from ..runs.known_good import NodeClasses

GOOD, SUSPECT = "known-good", "suspect"
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
MOST_REASON = 100  # characters of a node's reason in a scheduler
MOST_UNKNOWN = 50  # nodes that are named


@dataclass(frozen=True)
class Words:
    """The options and commands of a scheduler for names of nodes; each may be empty. title: its name.

    only: the option of a job for exactly these nodes.
    without: the option for all other nodes.
    look: the command that shows the state of nodes.
    drain: the command that keeps jobs off a node, with a reason.
    resume: the command that lets jobs use the node again.
    """

    title: str
    only: Callable[[Sequence[str]], str]
    without: Callable[[Sequence[str]], str] = lambda names: ""
    look: Callable[[Sequence[str]], list[str]] = lambda names: []
    drain: Callable[[str, str], list[str]] = lambda name, reason: []
    resume: Callable[[str], list[str]] = lambda name: []


#: Format → its words, by sbatch(1) and scontrol(1); qsub(1B), pbs_resources(7B) and pbsnodes(8B) of PBS, which has no
#: option that leaves nodes out; qsub(1), complex(5) and qmod(1) of Grid Engine.
FORMATS = {
    "hostfile": Words("an MPI launcher", only="\n".join, without="\n".join),
    "slurm": Words(
        "Slurm",
        only=lambda names: f"--nodelist={','.join(names)}",
        without=lambda names: f"--exclude={','.join(names)}",
        look=lambda names: ["sinfo", "--list-reasons", f"--nodes={','.join(names)}"],
        drain=lambda name, reason: ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"],
        resume=lambda name: ["scontrol", "update", f"NodeName={name}", "State=RESUME"],
    ),
    "pbs": Words(
        "PBS",
        only=lambda names: f"-l select={'+'.join(f'1:host={name}' for name in names)}",
        look=lambda names: ["pbsnodes", *names],
        drain=lambda name, reason: ["pbsnodes", "-o", "-C", reason, name],
        resume=lambda name: ["pbsnodes", "-r", "-C", "", name],
    ),
    "sge": Words(
        "Grid Engine",
        only=lambda names: f"-l hostname={'|'.join(names)}",
        without=lambda names: f"-l hostname=!({'|'.join(names)})",
        look=lambda names: ["qstat", "-f", "-q", ",".join(f"*@{name}" for name in names)],
        drain=lambda name, reason: ["qmod", "-d", f"*@{name}"],
        resume=lambda name: ["qmod", "-e", f"*@{name}"],
    ),
}


def lines(form: str, which: str, found: NodeClasses, told: Sequence[str], clean_runs: int) -> Iterator[str]:
    """The lines of a list. which: GOOD or SUSPECT. told: sentences about the flags."""
    words = FORMATS[form]
    condition = f"{clean_runs} clean runs of the same test case, link class and path"
    yield f"# a flag stays until {condition}; nothing was changed on the cluster"
    yield from (f"# {clean(one)}" for one in told)
    wanted = found.good if which == GOOD else list(found.suspect)
    names = sorted(name for name in wanted if NODE.fullmatch(name))
    others = sorted(set(wanted) - set(names))
    by_hand = "add the node yourself" if which == GOOD else "exclude the node yourself"
    yield from (f"# {clean(name)} is not a valid node name of {words.title}: {by_hand}" for name in others)
    if which == GOOD:
        unknown = [f"{clean(name)} {why}" for name, why in found.unknown.items()]
        if unknown:
            yield f"# neither known good nor flagged: {', '.join(units.first(unknown, MOST_UNKNOWN))}"
        yield words.only(names) if names else "# no node is known good"
        return
    option = words.without(names) if names else ""
    if option:
        yield option
    elif not names:
        yield f"# no {'other ' if others else ''}node is flagged"
    else:
        yield f"# {words.title} cannot exclude nodes: list the known good nodes with --nodes known-good"
    yield from commands(words, names, found)


def commands(words: Words, names: Sequence[str], found: NodeClasses) -> Iterator[str]:
    """Comments with the commands that keep jobs off the nodes, to be copied."""
    if not names or not words.look(names):
        return
    yield "# To keep jobs off these nodes, copy the commands that you want. The first command shows drained nodes:"
    yield f"#   {joined(words.look(names))}"
    for name in names:
        reason = "linkmatrix: " + printable(found.suspect[name])[:MOST_REASON]
        yield f"#   {joined(words.drain(name, reason))}"
    yield from (f"#   {joined(words.resume(name))}   # when it is repaired" for name in names)


def joined(command: Sequence[str]) -> str:
    """A command for a shell; of NAME=VALUE only the value is quoted."""
    pairs = (re.fullmatch(r"(\w+=)(.*)", word, re.DOTALL) for word in command)
    return " ".join(
        pair[1] + shlex.quote(pair[2]) if pair else shlex.quote(word) for pair, word in zip(pairs, command, strict=True)
    )


def printable(text: str) -> str:
    """ASCII without quotes: for a shell, a scheduler and its logs."""
    return re.sub(r"[^\x20-\x7e]|[\"'`$\\]", "?", text)
