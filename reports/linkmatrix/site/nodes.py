"""The nodes of a partition, and why some nodes accept no job, as the scheduler reports them."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ..errors import BadInput, clean
from . import machine
from .cluster import Answer
from .grid_engine import is_selected, queue_instances
from .pbs import AWAY, blocks, destinations, serves
from .slurm import HELD_SIGNS, SIGNS, held, unfit

NODES = ["sinfo", "-a", "-h", "-N", "-o", "%P|%N|%T|%E"]
KINDS = ["sinfo", "-a", "-h", "-N", "-o", "%N|%f|%G"]
ALL = "all"  # in the place of names
MOST = 100_000  # nodes that a list may name
MOST_RANGES = 8  # of one name
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]|\[[0-9,-]+\])*")


def expanded(text: str) -> list[str]:
    """The distinct names in "n[001-003],login1". Raises BadInput for a text without names or in another format."""
    names = list(islice((name for part in entries(text) for name in names_of(part, text)), MOST + 1))
    if not names or len(names) > MOST:
        count = f"more than {MOST}" if names else "0"
        raise BadInput(f"'{text}' names {count} nodes: write '{ALL}', or names such as n[001-016],n20")
    return list(dict.fromkeys(names))


def entries(text: str) -> list[str]:
    """The entries of a list with commas. A comma in brackets separates no entries."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def names_of(part: str, text: str) -> Iterator[str]:
    """The names of one entry: "n[1-2]-ib[0,1]" has four."""
    if not NAME.fullmatch(part) or part.count("[") > MOST_RANGES:
        raise BadInput(
            f"'{part}' in '{text}' is not the name of a node: write '{ALL}', or names such as n[001-016],n20"
        )
    found = re.search(r"\[([^\]]*)\]", part)
    if not found:
        yield part
        return
    for number in numbers(found[1], text):
        yield from names_of(part[: found.start()] + number + part[found.end() :], text)


def numbers(ranges: str, text: str) -> Iterator[str]:
    """ "08-10,12" as "08", "09", "10", "12"."""
    for one in ranges.split(","):
        ends = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", one)
        if not ends or int(ends[2] or ends[1]) < int(ends[1]) or int(ends[2] or ends[1]) - int(ends[1]) > MOST:
            raise BadInput(f"'[{ranges}]' in '{text}' is not a range of numbers: use the form n[001-016,20]")
        yield from (f"{number:0{len(ends[1])}d}" for number in range(int(ends[1]), int(ends[2] or ends[1]) + 1))


def option(options: Iterable[str], *names: str) -> str:
    """The value of an option of a job: "-p cpu", "-pcpu" or "--partition=cpu"; "" without the option."""
    found = [shlex.split(one) for one in options]
    words = [word for one in found for word in one]
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names and (equals or place + 1 < len(words)):
            return value if equals else words[place + 1]
        if word[:2] in names and len(word) > 2:
            return word[2:]
    return ""


def slurm(options: Sequence[str], answer: Answer) -> dict[str, str]:
    """The nodes of the partition in the options, or of the default partition, from sinfo.

    Only nodes that the options select: a reservation, --exclude, a feature or a type of GPUs.
    """
    wanted = set(option(options, "-p", "--partition").split(",")) - {""}
    reservation = option(options, "--reservation")
    reserved = reserved_nodes(reservation, answer) if reservation else None
    selects = selection(options, answer)
    found = {}
    for line in answer(NODES).splitlines():
        partition, name, state, reason = line.split("|", 3)
        if (reserved is not None and name not in reserved) or not selects(name):
            continue
        if partition.removesuffix("*") in wanted or (not wanted and partition.endswith("*")):
            out = unfit(state) or (held(state) and not reserved)
            sign = (SIGNS | HELD_SIGNS).get(state[-1:], "")
            note = sign if reason.strip() in ("none", "None", "") else reason.strip()
            found[name] = ": ".join(filter(None, (state, note))) if out else ""
    return found


def selection(options: Sequence[str], answer: Answer) -> Callable[[str], bool]:
    """Whether the options of a job let it start on a node: --exclude, one feature, and one type of GPUs.

    Expressions of several features are not read: all nodes may fit.
    """
    listed = option(options, "-x", "--exclude")
    excluded = set(expanded(listed)) if listed else set()
    feature = option(options, "-C", "--constraint")
    feature = feature if re.fullmatch(r"[\w.-]+", feature) else ""
    per_node = option(options, "--gpus-per-node")
    requested = re.search(r"(?:^|,)gpu:([^:,]+):", f"gpu:{per_node}" if per_node else option(options, "--gres"))
    gpu_type = requested[1] if requested else ""
    if not feature and not gpu_type:
        return lambda name: name not in excluded
    fits = set()
    for line in answer(KINDS).splitlines():
        name, features, gres = line.split("|", 2)
        if (not feature or feature in features.split(",")) and (not gpu_type or f"gpu:{gpu_type}:" in gres):
            fits.add(name)
    return lambda name: name in fits and name not in excluded


def reserved_nodes(names: str, answer: Answer) -> set[str]:
    """The nodes of Slurm's reservations, such as "a,b". Raises OSError for an unknown reservation."""
    found = set()
    for name in names.split(","):
        answered = answer(["scontrol", "show", "reservation", "--oneliner", name])
        listed = re.search(r"(?:^|\s)Nodes=(\S+)", answered)
        if listed and listed[1] != "(null)":
            found.update(expanded(listed[1]))
    return found


def pbs(options: Sequence[str], answer: Answer) -> dict[str, str]:
    """The nodes of the queue in the options, or of all queues, from pbsnodes. Virtual nodes of a host are one node."""
    queue, found = option(options, "-q").partition("@")[0], {}
    queues = blocks(answer(["qstat", "-Qf"])) if queue else {}
    rules = {one: queues[one] for one in destinations(queue, queues) if one in queues}
    for name, fields in blocks(answer(["pbsnodes", "-a"])).items():
        if rules and not any(serves(fields, one, words) for one, words in rules.items()):
            continue
        state, reason = fields.get("state", "unknown"), fields.get("comment") or fields.get("note") or ""
        out = AWAY.search(state)
        host = fields.get("resources_available.host", name)
        found[host] = found.get(host) or (f"{state}{f': {reason}' if reason else ''}" if out else "")
    return found


def sge(options: Sequence[str], answer: Answer) -> dict[str, str]:
    """The hosts of the queues in the options, or of all queues, from qhost. One open queue is enough."""
    wanted = [one for one in option(options, "-q").split(",") if one] or ["*"]
    found: dict[str, str] = {}
    for one in queue_instances(answer(["qhost", "-q"])):
        if any(is_selected(pattern, one) for pattern in wanted):
            found[one.host] = one.unavailable if found.get(one.host, one.unavailable) else ""
    return found


#: ReFrame's schedulers → a regular expression of the states in which an administrator has taken a node out of service
TAKEN_OUT = {
    **dict.fromkeys(("slurm", "squeue"), r"drain|maint|\w+\$"),
    **dict.fromkeys(("pbs", "pbspro", "torque"), r"[^:]*\b(offline|maintenance)\b"),
    "sge": r"\w*d",
}
#: ReFrame's schedulers → a regular expression of the nodes that the scheduler itself has taken out of service.
#: slurmctld and slurmd drain a node with these reasons, and no administrator knows of it until then.
DRAINED_ITSELF = dict.fromkeys(
    ("slurm", "squeue"),
    r"[^:]*: (Prolog error|Epilog error|Prolog/Epilog failure|Kill task failed|batch job complete failure"
    r"|Duplicate jobid|Low \w+|gres/\S+ count )",
)
#: ReFrame's schedulers → the function that asks for the nodes
QUERIES: dict[str, Callable[[Sequence[str], Answer], dict[str, str]]] = {
    "slurm": slurm,
    "squeue": slurm,
    "pbs": pbs,
    "pbspro": pbs,
    "torque": pbs,
    "sge": sge,
}


def is_taken_out(scheduler: str, why: str) -> bool:
    """Whether an administrator has taken the node out of service. why: the reason that `availability` returns."""
    never = r"(?!)"
    by_itself = re.match(DRAINED_ITSELF.get(scheduler, never), why)
    return not by_itself and bool(re.match(TAKEN_OUT.get(scheduler, never), why))


def availability(scheduler: str, options: Sequence[str], answer: Answer = machine.answer) -> dict[str, str]:
    """{node: the scheduler's reason why the node accepts no job now; "" if it does}.

    options: the partition's options of jobs.

    Raises OSError if the scheduler does not answer, and BadInput for an unknown scheduler.
    """
    if scheduler not in QUERIES:
        raise BadInput(f"linkmatrix cannot ask the scheduler '{scheduler}' for its nodes: name them with --nodes")
    try:  # terminals show the reason, which an administrator may have written
        return {clean(name): clean(why) for name, why in QUERIES[scheduler](options, answer).items()}
    except ValueError:
        raise OSError(f"linkmatrix cannot read how the scheduler '{scheduler}' describes its nodes") from None
