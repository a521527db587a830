"""The nodes of a partition, and the reasons why some nodes accept no job, as the scheduler reports them."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ..errors import BadInput, clean
from . import machine
from .cluster import Answer
from .grid_engine import is_selected, queue_instances
from .pbs import UNAVAILABLE, destinations, parse_listing, runs_queue
from .slurm import RESERVED_SIGNS, SIGNS, is_reserved, starts_no_job

NODES = ["sinfo", "-a", "-h", "-N", "-o", "%P|%N|%T|%E"]
KINDS = ["sinfo", "-a", "-h", "-N", "-o", "%N|%f|%G"]
ALL = "all"  # in the place of names
MOST = 100_000  # nodes that a list may name
MOST_RANGES = 8  # of one name
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]|\[[0-9,-]+\])*")


def expand_names(text: str) -> list[str]:
    """The distinct names in a list such as "n[001-003],login1".

    Raises BadInput for a list without names or in another format.
    """
    names = list(islice((name for part in list_entries(text) for name in entry_names(part, text)), MOST + 1))
    if not names or len(names) > MOST:
        count = f"more than {MOST}" if names else "0"
        raise BadInput(f"'{text}' names {count} nodes: write '{ALL}', or names such as n[001-016],n20")
    return list(dict.fromkeys(names))


def list_entries(text: str) -> list[str]:
    """The entries of a list: "n[1,2]" and "login1" for "n[1,2],login1".

    A comma inside brackets does not separate entries.
    """
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def entry_names(part: str, text: str) -> Iterator[str]:
    """The names in an entry of a list. "n[1-2]-ib[0,1]" contains four names. Raises BadInput.

    part: the entry. text: the whole list, for messages.
    """
    if not NAME.fullmatch(part) or part.count("[") > MOST_RANGES:
        raise BadInput(
            f"'{part}' in '{text}' is not the name of a node: write '{ALL}', or names such as n[001-016],n20"
        )
    found = re.search(r"\[([^\]]*)\]", part)
    if not found:
        yield part
        return
    for number in expand_numbers(found[1], text):
        yield from entry_names(part[: found.start()] + number + part[found.end() :], text)


def expand_numbers(ranges: str, text: str) -> Iterator[str]:
    """The numbers in ranges: "08", "09", "10" and "12" for "08-10,12". Raises BadInput.

    text: the whole list, for messages.
    """
    for one in ranges.split(","):
        ends = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", one)
        if not ends or int(ends[2] or ends[1]) < int(ends[1]) or int(ends[2] or ends[1]) - int(ends[1]) > MOST:
            raise BadInput(f"'[{ranges}]' in '{text}' is not a range of numbers: use the form n[001-016,20]")
        yield from (f"{number:0{len(ends[1])}d}" for number in range(int(ends[1]), int(ends[2] or ends[1]) + 1))


def option_value(options: Iterable[str], *names: str) -> str:
    """The value of one of the options `names` of a job; "" if the job lacks the option.

    The forms "-p cpu", "-pcpu" and "--partition=cpu" are recognised.
    """
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
    """Returns {node: reason} for a job with these options, from sinfo. The reason says why the node accepts no job.

    The reason is "" for a node that accepts jobs. These options select the nodes: the partition (the default partition
    if no option names a partition), the reservation, --exclude, a feature, and a GPU type.
    """
    wanted = set(option_value(options, "-p", "--partition").split(",")) - {""}
    reservation = option_value(options, "--reservation")
    reserved = reserved_nodes(reservation, answer) if reservation else None
    selects = node_filter(options, answer)
    found = {}
    for line in answer(NODES).splitlines():
        partition, name, state, reason = line.split("|", 3)
        if (reserved is not None and name not in reserved) or not selects(name):
            continue
        if partition.removesuffix("*") in wanted or (not wanted and partition.endswith("*")):
            out = starts_no_job(state) or (is_reserved(state) and not reserved)
            sign = (SIGNS | RESERVED_SIGNS).get(state[-1:], "")
            note = sign if reason.strip() in ("none", "None", "") else reason.strip()
            found[name] = ": ".join(filter(None, (state, note))) if out else ""
    return found


def node_filter(options: Sequence[str], answer: Answer) -> Callable[[str], bool]:
    """A function that returns whether a job with these options can run on a node.

    Three options are used: --exclude, one feature, and one GPU type. Expressions of several features are ignored.
    """
    listed = option_value(options, "-x", "--exclude")
    excluded = set(expand_names(listed)) if listed else set()
    feature = option_value(options, "-C", "--constraint")
    feature = feature if re.fullmatch(r"[\w.-]+", feature) else ""
    per_node = option_value(options, "--gpus-per-node")
    requested = re.search(r"(?:^|,)gpu:([^:,]+):", f"gpu:{per_node}" if per_node else option_value(options, "--gres"))
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
    """The nodes of the reservations `names`, such as "a,b", from Slurm. Raises OSError for an unknown reservation."""
    found = set()
    for name in names.split(","):
        answered = answer(["scontrol", "show", "reservation", "--oneliner", name])
        listed = re.search(r"(?:^|\s)Nodes=(\S+)", answered)
        if listed and listed[1] != "(null)":
            found.update(expand_names(listed[1]))
    return found


def pbs(options: Sequence[str], answer: Answer) -> dict[str, str]:
    """Returns {host: reason} for the queue in the options, or for all queues.

    The reason says why the host accepts no job; "" for a host that accepts jobs.
    The virtual nodes of a host are one host.
    """
    queue, found = option_value(options, "-q").partition("@")[0], {}
    queues = parse_listing(answer(["qstat", "-Qf"])) if queue else {}
    rules = {one: queues[one] for one in destinations(queue, queues) if one in queues}
    for name, fields in parse_listing(answer(["pbsnodes", "-a"])).items():
        if rules and not any(runs_queue(fields, one, words) for one, words in rules.items()):
            continue
        state, reason = fields.get("state", "unknown"), fields.get("comment") or fields.get("note") or ""
        out = UNAVAILABLE.search(state)
        host = fields.get("resources_available.host", name)
        found[host] = found.get(host) or (f"{state}{f': {reason}' if reason else ''}" if out else "")
    return found


def sge(options: Sequence[str], answer: Answer) -> dict[str, str]:
    """Returns {host: reason} for the queues in the options, or for all queues.

    The reason says why the host accepts no job; "" for a host with a queue that accepts jobs.
    """
    wanted = [one for one in option_value(options, "-q").split(",") if one] or ["*"]
    found: dict[str, str] = {}
    for one in queue_instances(answer(["qhost", "-q"])):
        if any(is_selected(pattern, one) for pattern in wanted):
            found[one.host] = one.unavailable if found.get(one.host, one.unavailable) else ""
    return found


#: ReFrame's schedulers → a regular expression of the states of nodes that an administrator took out of service
OUT_OF_SERVICE = {
    **dict.fromkeys(("slurm", "squeue"), r"drain|maint|\w+\$"),
    **dict.fromkeys(("pbs", "pbspro", "torque"), r"[^:]*\b(offline|maintenance)\b"),
    "sge": r"\w*d",
}
#: ReFrame's schedulers → a regular expression of the states and reasons of nodes that the scheduler itself drained.
DRAINED_BY_SLURM = dict.fromkeys(
    ("slurm", "squeue"),
    r"[^:]*: (Prolog error|Epilog error|Prolog/Epilog failure|Kill task failed|batch job complete failure"
    r"|Duplicate jobid|Low \w+|gres/\S+ count )",
)
#: ReFrame's schedulers → the function that queries the nodes
QUERIES: dict[str, Callable[[Sequence[str], Answer], dict[str, str]]] = {
    "slurm": slurm,
    "squeue": slurm,
    "pbs": pbs,
    "pbspro": pbs,
    "torque": pbs,
    "sge": sge,
}


def is_out_of_service(scheduler: str, why: str) -> bool:
    """Whether an administrator took the node out of service. False if the scheduler itself removed the node.

    why: the node's reason from `availability`.
    """
    never = r"(?!)"
    by_itself = re.match(DRAINED_BY_SLURM.get(scheduler, never), why)
    return not by_itself and bool(re.match(OUT_OF_SERVICE.get(scheduler, never), why))


def availability(scheduler: str, options: Sequence[str], answer: Answer = machine.answer) -> dict[str, str]:
    """Returns {node: reason}, from the scheduler. The reason says why the node accepts no job now.

    The reason is "" for a node that accepts jobs.
    Raises OSError if the scheduler does not answer, and BadInput for an unknown scheduler.
    options: the options of the partition's jobs.
    """
    if scheduler not in QUERIES:
        raise BadInput(f"linkmatrix cannot ask the scheduler '{scheduler}' for its nodes: name them with --nodes")
    try:  # terminals show the reason, which an administrator may have written
        return {clean(name): clean(why) for name, why in QUERIES[scheduler](options, answer).items()}
    except ValueError:
        raise OSError(f"linkmatrix cannot read how the scheduler '{scheduler}' describes its nodes") from None
