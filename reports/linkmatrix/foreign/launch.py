"""Counts the nodes and ranks of a command of nccl-tests, or of a list of ranks. Unknown counts are None."""

import re
import shlex

from ..record.names import Extent

LAUNCHERS = ("mpirun", "mpiexec", "srun")
UNKNOWN = Extent(None, None)
BUS = r"\([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\)"  # a device's PCI address
HOST = r"[A-Za-z0-9][\w.-]{0,127}"
#: The start of a line such as `Process 6 (worker-1): device 2: NVIDIA GB200`; the group `model` follows.
PROCESS = rf"^Process +(?P<rank>\d{{1,5}}) \((?P<host>{HOST})\): device (?P<device>\d{{1,3}}): "
#: The spellings of a launcher's options.
PROCESSES = ("-np", "--np", "-n", "-c", "--ntasks")
HOSTS = ("--host", "-host", "-H", "--hosts")
NODES = ("-N", "--nodes")
PER_NODE = ("--ntasks-per-node",)
PER_PROCESS = (
    ("-t", "--nthreads"),
    ("-g", "--ngpus"),
)  # of nccl-tests: threads per process, and GPUs (ranks) per thread


def ranks_extent(ranks: dict[int, tuple[str, int]]) -> Extent:
    """The number of nodes and the number of ranks in a list of ranks; UNKNOWN if a rank is missing.

    ranks: {rank: (host, device)}.
    """
    if not ranks or sorted(ranks) != list(range(len(ranks))):
        return UNKNOWN
    return Extent(len({host for host, _ in ranks.values()}), len(ranks))


def rank_labels(ranks: dict[int, tuple[str, int]]) -> tuple[str, ...]:
    """The label of each rank's GPU; () if two labels are equal.

    Labels are "gpu0" if all ranks are on one host, and "host:gpu0" if there are several hosts.
    """
    several = len({host for host, _ in ranks.values()}) > 1
    found = [(f"{host}:" if several else "") + f"gpu{number}" for _, (host, number) in sorted(ranks.items())]
    return tuple(found) if len(set(found)) == len(found) else ()


def command_extent(command: str | None) -> Extent:
    """The number of nodes and the number of ranks that a command starts; UNKNOWN if the command is not clear.

    Example: `mpirun -np 16 --host a:8,b:8 all_reduce_perf -g 1` starts 16 ranks on 2 nodes.
    """
    try:
        words = shlex.split(command or "")
    except ValueError:  # an unclosed quotation
        return UNKNOWN
    at = next((place for place, word in enumerate(words) if re.fullmatch(r"(.*/)?\w+_perf", word)), None)
    if at is None:
        return UNKNOWN
    each = 1
    for names in PER_PROCESS:
        count = option_number(words[at + 1 :], names, 1)
        if count is None:
            return UNKNOWN
        each *= count
    before = [word for word in words[:at] if not re.match(r"\w+=", word)]
    if not before:
        return Extent(1, each)
    launcher = before[0].rpartition("/")[2]
    if launcher not in LAUNCHERS:
        return UNKNOWN
    nodes, processes = (srun_extent if launcher == "srun" else mpirun_extent)(before)
    return Extent(nodes, None if processes is None else processes * each)


def mpirun_extent(words: list[str]) -> Extent:
    """The number of nodes and the number of processes of a command of Open MPI.

    In the list of hosts, "a:8" is a host with 8 slots. "a" is one slot of host a. The list can repeat a host.
    """
    count, hosts = option_number(words, PROCESSES), option_value(words, HOSTS)
    if hosts is None:
        return Extent(1 if count == 1 else None, count)
    slots = 0
    for host in hosts.split(","):
        _, colon, count_there = host.partition(":")
        if colon and not count_there.isdigit():
            return Extent(None, count)
        slots += int(count_there) if colon else 1
    named = len({host.partition(":")[0] for host in hosts.split(",")})
    count = slots if count is None else count
    # with fewer processes than slots, the mapping decides how many nodes are used
    return Extent(named if count >= slots or named == 1 else None, count)


def srun_extent(words: list[str]) -> Extent:
    """The number of nodes and the number of processes of an `srun` command, from its options.

    Without an option, Slurm starts one process per node.
    """
    nodes, count = option_number(words, NODES), option_number(words, PROCESSES)
    if count is None and nodes is not None:
        per_node = option_number(words, PER_NODE, 1)
        count = None if per_node is None else nodes * per_node
    return Extent(1 if count == 1 else nodes, count)


def option_value(words: list[str], names: tuple[str, ...]) -> str | None:
    """The value of an option; None if the command does not contain the option.

    names: the spellings of the option. The forms `-n 2`, `-n2` and `--nodes=2` are recognised.
    """
    found = None
    for place, word in enumerate(words):
        for name in names:
            short = len(name) == 2 and word.startswith(name) and word[2:].isdigit()
            if word == name and place + 1 < len(words):
                found = words[place + 1]
            elif short or word.startswith(f"{name}="):
                found = word[len(name) :].removeprefix("=")
    return found


def option_number(words: list[str], names: tuple[str, ...], default: int | None = None) -> int | None:
    """The number after an option; None if the number is invalid. `default` if the command lacks the option.

    names: the spellings of the option.
    """
    text = option_value(words, names)
    if text is None:
        return default
    return int(text) if text.isdigit() and 0 < int(text) <= 1 << 24 else None
