"""Divides a partition of Slurm whose nodes have different GPUs into one partition of ReFrame per type of node.

A type of node is a number of GPUs and their types. The jobs of each new partition need an option that excludes all
other nodes. The first possible option is used:

1. a feature that only these nodes have
2. a list of the other nodes, to exclude them
3. the type of the GPUs
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..record.units import number_ranges
from .cluster import Answer, NodeType, Partition
from .gres import gpus_in

NODES = ["scontrol", "show", "node", "--oneliner"]
SIMPLE = re.compile(r"[A-Za-z0-9_.]+")  # features without an operator of --constraint

GpuType = tuple[int, tuple[str, ...]]  # the GPUs of a node, and their types


class NodeLists:
    """The names of the nodes, by partition and type of node.

    The command `scontrol show node` runs once, when the first names are needed.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.lines: list[dict[str, str]] | None = None

    def nodes_by_type(self, partition: str) -> dict[GpuType, list[str]]:
        """Returns {type of node: names of its nodes} for a partition; {} if Slurm does not answer."""
        if self.lines is None:
            try:
                text = self.answer(NODES)
            except OSError:
                text = ""
            # the first value of a name is used: the reason and the comment are at the end, and may contain any text
            self.lines = [dict(reversed(re.findall(r"(\S+?)=(\S*)", line))) for line in text.splitlines()]
        found: dict[GpuType, list[str]] = {}
        for fields in self.lines:
            if fields.get("NodeName") and partition in fields.get("Partitions", "").split(","):
                gpus = gpus_in(fields.get("Gres", ""))
                found.setdefault((gpus.count, gpus.types), []).append(fields["NodeName"])
        return found


def gpu_type(kind: NodeType) -> GpuType:
    """Returns (number of GPUs per node, types of the GPUs)."""
    return kind.gpus, kind.types


def split_by_node_type(partition: Partition, down: Counter, listed: NodeLists) -> list[Partition]:
    """Divides a partition into one partition per type of node.

    Returns [partition] if all nodes have the same type, or if no option can select the nodes of each type.
    down: {type of node: number of nodes that are down}.
    """
    groups: dict[GpuType, list[NodeType]] = {}
    for kind in partition.nodes:
        groups.setdefault(gpu_type(kind), []).append(kind)
    if len(groups) == 1:
        return [partition]
    parts = [replace(partition, parent=partition.name, nodes=subset(partition.nodes, of)) for of in groups.values()]
    for select in SELECTIONS:
        selected = select(partition, parts, listed)
        if selected:
            names = type_names(partition.name, list(groups))
            return [
                replace(one, name=name, down=sum(subset(down, one.nodes).values()))
                for one, name in zip(selected, names, strict=True)
            ]
    return [partition]


def subset(nodes: Counter, kinds: Sequence[NodeType] | Counter) -> Counter:
    """The entries of {type of node: number of nodes} for the types `kinds`. Types without nodes are left out."""
    return Counter({kind: nodes[kind] for kind in kinds if nodes[kind]})


def type_names(partition: str, kinds: Sequence[GpuType]) -> list[str]:
    """A name per type of node, such as batch-h200. Equal names get the number of GPUs as suffix: batch-h200-8."""
    words = ["-".join(types) or ("gpu" if count else "cpu") for count, types in kinds]
    return [
        f"{partition}-{word}" + (f"-{count}" if words.count(word) > 1 else "")
        for word, (count, _) in zip(words, kinds, strict=True)
    ]


def with_distinct_names(partitions: Sequence[Partition]) -> list[Partition]:
    """The partitions with distinct names. Only the names of divided partitions change."""
    taken = {one.name for one in partitions if not one.parent}
    found = []
    for one in partitions:
        if one.parent:
            names = [one.name, *(f"{one.name}-{number}" for number in range(2, len(partitions) + 2))]
            one = replace(one, name=next(name for name in names if name not in taken))
            taken.add(one.name)
        found.append(one)
    return found


def select_by_feature(_: Partition, parts: Sequence[Partition], __: NodeLists) -> list[Partition]:
    """Adds the option `--constraint` to each part. A part contains the nodes of one type.

    Each type needs a feature that no other type has. Otherwise, returns [].
    """
    found = []
    for one in parts:
        others = {word for other in parts if other is not one for kind in other.nodes for word in kind.features}
        own = [kind.features for kind in one.nodes]
        unique = [word for word in own[0] if all(word in some for some in own) and word not in others]
        usable = [word for word in unique if SIMPLE.fullmatch(word)]
        if not usable:
            return []
        found.append(selected_by(one, f"--constraint={usable[0]}", f"have the feature {usable[0]}"))
    return found


def select_by_exclusion(partition: Partition, parts: Sequence[Partition], listed: NodeLists) -> list[Partition]:
    """Adds the option `--exclude` to each part. The option names the nodes of all other parts.

    Returns [] if Slurm does not list all nodes of each type.
    """
    names = listed.nodes_by_type(partition.name)
    kinds = [gpu_type(next(iter(one.nodes))) for one in parts]
    if {kind: len(of) for kind, of in names.items()} != dict(zip(kinds, (one.count for one in parts), strict=True)):
        return []
    return [
        selected_by(
            one,
            f"--exclude={compressed([name for other in kinds if other != kind for name in names[other]])}",
            f"are {compressed(names[kind])}",
        )
        for one, kind in zip(parts, kinds, strict=True)
    ]


def select_by_gpu_type(_: Partition, parts: Sequence[Partition], __: NodeLists) -> list[Partition]:
    """Lets the jobs of each part request the GPU type of the part.

    Returns [] if two parts have the same GPU type, or if a part does not have exactly one GPU type.
    """
    types = [one.types for one in parts]
    names = [name for some in types for name in some]
    if any(len(some) != 1 or not one.gpus for some, one in zip(types, parts, strict=True)):
        return []
    if len(set(names)) < len(names):
        return []
    return [
        replace(selected_by(one, "", f"have GPUs of the type {some[0]}"), only_by_type=True)
        for one, some in zip(parts, types, strict=True)
    ]


SELECTIONS: tuple[Callable[[Partition, Sequence[Partition], NodeLists], list[Partition]], ...] = (
    select_by_feature,
    select_by_exclusion,
    select_by_gpu_type,
)


def selected_by(part: Partition, option: str, reason: str) -> Partition:
    """Adds an option to a partition, and a note about the nodes that the option selects. option: "" if none is needed.

    reason: the common property of the nodes, for the note.
    """
    note = f"the nodes of {part.parent} that {reason}: the partition has nodes with different GPUs"
    return replace(part, access=(*part.access, *([option] if option else [])), notes=(*part.notes, note))


def compressed(names: Sequence[str]) -> str:
    """The names of nodes in Slurm's short form, such as "n[01-03,07],login"."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for name in names:
        stem, digits = re.fullmatch(r"(.*?)(\d{0,9})", name).groups()  # type: ignore[union-attr]  # it matches any name
        numbers.setdefault((stem, len(digits)), []).append(int(digits or 0))
    parts = []
    for (stem, width), found in numbers.items():
        ranges = [
            f"{first:0{width}d}" + (f"-{last:0{width}d}" if last > first else "")
            for first, last in number_ranges(found)
        ]
        parts.append(stem if not width else stem + ranges[0] if len(found) == 1 else f"{stem}[{','.join(ranges)}]")
    return ",".join(parts)
