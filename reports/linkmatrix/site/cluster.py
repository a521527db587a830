"""Data types of a cluster: partitions, their nodes, and notes for the site."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from .gres import architecture, has_grace

# the option of a job that requests GPUs. ReFrame inserts the number. For PBS, a word without a dash is a resource.
GPU_OPTIONS = {
    "slurm": "--gres=gpu:{num_gpus_per_node}",
    "pbs": "ngpus={num_gpus_per_node}",
    "sge": "-l gpu={num_gpus_per_node}",
}
# the option that prevents a restart of a job whose node is lost. Grid Engine restarts no job by default.
NO_REQUEUE = {"slurm": "--no-requeue", "pbs": "-r n"}
Answer = Callable[[list[str]], str]  # standard output of a command; raises OSError
CHECK_MINUTES = 30  # the time limit of the checks


class NodeType(NamedTuple):
    """A type of nodes.

    cores, gpus: numbers per node. Some schedulers count threads as cores.
    description: the scheduler's text about GPUs and features.
    types: the scheduler's names of the GPU models.
    slices: the number of MIG slices per node. `gpus` does not contain the slices.
    features: names that a job can request.
    """

    cores: int
    gpus: int
    description: str = ""
    types: tuple[str, ...] = ()
    slices: int = 0
    features: tuple[str, ...] = ()

    def __str__(self) -> str:
        gpus = f"{self.gpus} GPU{'' if self.gpus == 1 else 's'}" if self.gpus else "no GPU"
        return f"{self.cores} cores, {gpus}" + (f" ({self.description})" if self.description else "")


def nodes_as_text(kind: NodeType, count: int) -> str:
    """The number and the type of nodes, such as "6 nodes of 112 cores, 8 GPUs"."""
    return f"{count} node{'' if count == 1 else 's'} of {kind}"


@dataclass(frozen=True)
class Partition:
    """A partition or queue of the scheduler, or only the nodes of one type in a partition of the scheduler.

    nodes: {type of nodes: number of nodes}.
    down: the number of nodes that could run no job when the scheduler was queried.
    access: options of every job.
    layout: options that request slots. Only some schedulers need these options.
    notes: sentences for the administrator of the site.
    limit: the time limit of a job in minutes; None without a limit.
    most: the maximum number of nodes of a job; 0 without a limit.
    closed: whether no job of the current user can start. A note contains the reason.
    parent: the name of the scheduler's partition, if this object contains only the nodes of one type; otherwise "".
    only_by_type: whether jobs can select these nodes only by a request of the GPU type.
    """

    name: str
    nodes: Counter = field(default_factory=Counter)
    down: int = 0
    access: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    limit: float | None = None
    most: int = 0
    closed: bool = False
    parent: str = ""
    only_by_type: bool = False

    @property
    def count(self) -> int:
        """The number of nodes, including nodes that are down."""
        return sum(self.nodes.values())

    @property
    def largest_job(self) -> int:
        """The maximum number of nodes that a job can have."""
        return min(self.count, self.most or self.count)

    @property
    def time_limit(self) -> str:
        """The time limit of jobs in ReFrame's format, such as "20m" or "90s".

        "" if jobs may run for CHECK_MINUTES or longer.
        """
        if self.limit is None or self.limit >= CHECK_MINUTES:
            return ""
        return f"{self.limit:g}m" if self.limit == int(self.limit) else f"{int(self.limit * 60)}s"

    @property
    def gpus(self) -> int:
        """The number of GPUs per node; 0 if the number differs between nodes."""
        numbers = {kind.gpus for kind in self.nodes}
        return numbers.pop() if len(numbers) == 1 else 0

    @property
    def types(self) -> list[str]:
        """The distinct names of the GPU models."""
        return list(dict.fromkeys(name for kind in self.nodes for name in kind.types))

    @property
    def requested_type(self) -> str:
        """The GPU type that each job must request; "" if no request is necessary.

        A request is necessary if a job could otherwise get MIG slices or GPUs of another type.
        """
        is_needed = self.only_by_type or any(kind.slices for kind in self.nodes)
        return self.types[0] if self.gpus and is_needed and len(self.types) == 1 else ""

    @property
    def arch(self) -> str:
        """The architecture of all GPUs, such as "sm_90"; "" if it is unknown or if GPUs differ."""
        found = {architecture(name) for name in self.types}
        return found.pop() if self.gpus and len(found) == 1 and all(kind.types for kind in self.nodes) else ""

    @property
    def has_grace(self) -> bool:
        """Whether some nodes have NVIDIA's Grace processors, which are ARM processors."""
        return any(map(has_grace, self.types))

    @property
    def summary(self) -> str:
        """The nodes as text: "6 nodes of 112 cores, 8 GPUs (gpu:h200:8)", or "9 nodes of 2 types"."""
        if not self.nodes:
            return "an unknown number of nodes"
        if len(self.nodes) == 1:
            return nodes_as_text(*next(iter(self.nodes.items())))
        return f"{self.count} nodes of {len(self.nodes)} types"

    @property
    def remarks(self) -> list[str]:
        """The notes of the partition, and notes about its nodes."""
        found = [nodes_as_text(kind, count) for kind, count in self.nodes.most_common()] if len(self.nodes) > 1 else []
        found += [f"unavailable nodes, according to the scheduler: {self.down}"] if self.down else []
        slices = max((kind.slices for kind in self.nodes), default=0)
        if slices:
            found.append(f"{slices} MIG slices per node are not counted as GPUs: a slice has no links to other GPUs")
        if slices and len(self.types) > 1:
            found.append("jobs may get MIG slices, because a request cannot name several types of GPUs")
        if len({kind.gpus for kind in self.nodes}) > 1:
            found.append(
                "its nodes have different numbers of GPUs, so no GPU is configured: write one partition per node type"
            )
        return [*self.notes, *found]


@dataclass(frozen=True)
class Cluster:
    """A cluster, as its scheduler describes it.

    title: the scheduler's name.
    scheduler, launcher: ReFrame's names of scheduler and launcher.
    gpu_option: the option of a job that requests GPUs, with ReFrame's placeholder.
    node_option: the option of a job that requests one node by name, with ReFrame's placeholder.
    environment: (name, value) of environment variables of every job.
    notes: sentences for the administrator of the site.
    host: the name of the login node.
    """

    title: str
    scheduler: str
    launcher: str
    partitions: tuple[Partition, ...]
    gpu_option: str
    node_option: str
    environment: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    host: str = ""

    def gpu_request(self, partition: Partition) -> str:
        """The option of a job that requests GPUs of a partition.

        The option contains ReFrame's placeholder for the number of GPUs.
        """
        kind = f"{partition.requested_type}:" if partition.requested_type else ""
        return self.gpu_option.replace("{", f"{kind}{{", 1)

    @property
    def archs(self) -> list[str]:
        """The architectures of all GPUs in the compilers' format, such as ["90", "100"]. [] if one is unknown."""
        found = {one.arch.removeprefix("sm_") for one in self.open if one.gpus}
        return [] if "" in found else sorted(found, key=int)

    @property
    def open(self) -> list[Partition]:
        """The partitions in which a job can start. If no job can start in any partition, returns all partitions."""
        return [one for one in self.partitions if not one.closed] or list(self.partitions)


def attributes(text: str) -> dict[str, str]:
    """Returns {name: value} of the lines "name = value" in a text."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def number(text: str | None) -> int:
    """The whole number at the start of a text: 2 for "2.000000". 0 if there is no number, or more than nine digits."""
    digits = re.match(r"\d{1,9}(?!\d)", text or "")
    return int(digits[0]) if digits else 0


def minutes(text: str) -> float | None:
    """A time limit in minutes; None for a text without a time, such as "UNLIMITED".

    text: the time as [days-][hours:]minutes:seconds, or a number of seconds.
    """
    parts = re.fullmatch(r"(?:(\d{1,9})-)?(\d{1,9}(?::\d{1,9}){0,2})", text)
    if not parts:
        return None
    clock = [int(part) for part in parts[2].split(":")]
    seconds = sum(value * 60**power for power, value in enumerate(reversed(clock)))
    return int(parts[1] or 0) * 24 * 60 + seconds / 60


def time_notes(limit: str, name: str) -> list[str]:
    """Returns [note] if the time limit is shorter than the time limit of the checks; otherwise [].

    name: the subject of the note.
    """
    found = minutes(limit)
    if found is None or found >= CHECK_MINUTES:
        return []
    return [f"{name} is {limit}, less than the {CHECK_MINUTES} minutes that the checks would request"]


def size_notes(fewest: int, most: int, setting: str) -> tuple[tuple[str, ...], bool]:
    """Returns (notes about limits that exclude jobs of one node or all jobs, whether no job can start).

    fewest, most: the allowed numbers of nodes of a job. setting: the scheduler's name of the lower limit.
    """
    if fewest > most:
        return (f"a job needs {fewest} nodes or more ({setting}), but the maximum is {most}: no job starts",), True
    if fewest > 1:
        return (f"a job needs {fewest} nodes or more ({setting}): use another partition for jobs of one node",), False
    return (), False


def shortest_limit(*limits: str) -> float | None:
    """The shortest of several time limits, in minutes; None if no text contains a limit."""
    return min((found for found in map(minutes, limits) if found is not None), default=None)
