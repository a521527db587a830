"""What a machine is made of and how it is connected, as its record says: nodes, NUMA nodes, PCIe switches, adapters.

Only what the record says is a part. Devices and adapters that reach each other without a host bridge are behind one
PCIe switch; pairs of one link class, all with all, are a mesh, whatever switches are inside of it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..locate.places import ONE_SWITCH, UP
from ..record.units import counted

MOST_ADAPTERS = 16  # of a node
LEAST_OF_MESH = 3  # devices; two are a pair
OF_PLACES = ("X", "", "CORE", "NODE", "SYS", "PHB", "NET", *ONE_SWITCH)  # classes that follow from where devices sit
MEANINGS = {
    "PIX": "over one PCIe bridge at most",
    "PXB": "over several PCIe bridges, and no host bridge",
    "PHB": "over a PCIe host bridge, which is a part of the processor",
    "NODE": "inside of a node",
    "SYS": "between NUMA nodes, over the link of the processors",
    "NET": "between nodes, over the network",
    "CORE": "between cores of one NUMA node",
}
Member = tuple[str, str]  # ("device" or "adapter", its label or name)


@dataclass(frozen=True)
class Adapter:
    """A network adapter; rate: as the kernel says it, "400 Gb/sec"."""

    name: str
    rate: str
    up: bool


@dataclass(frozen=True)
class Group:
    """What is behind one PCIe switch, or what of a NUMA node is behind none."""

    devices: tuple[str, ...]
    adapters: tuple[Adapter, ...]
    switch: bool

    @property
    def columns(self) -> int:
        """How many stand side by side."""
        return max(len(self.devices), len(self.adapters))


@dataclass(frozen=True)
class Socket:
    """A NUMA node; number: None where the record does not know it."""

    number: int | None
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Node:
    """A node of the record; left_out: adapters that are not drawn."""

    name: str
    sockets: tuple[Socket, ...]
    left_out: int


@dataclass(frozen=True)
class Connected:
    """Devices of one link class: all pairs of them, or one."""

    link_class: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """A record's devices and what connects them."""

    nodes: tuple[Node, ...]
    meshes: tuple[Connected, ...]
    pairs: tuple[Connected, ...]


def machine_of(record: Mapping[str, Any]) -> Machine:
    """What a record's topology, devices and adapters say."""
    by_node: dict[str, list[Mapping[str, Any]]] = {}
    for device in record["devices"]:
        by_node.setdefault(device["node"], []).append(device)
    classes = classes_of(record)
    nodes = tuple(node_of(record, name, devices, classes) for name, devices in by_node.items())
    meshes, pairs = meshes_and_pairs(classes)
    return Machine(nodes, tuple(meshes), tuple(pairs))


def classes_of(record: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """{(device, other device): link class}, each pair once; empty where a record leaves them out."""
    topology = record["topology"]
    labels = topology["labels"] if topology["link_class"] else []
    return {
        (labels[a], labels[b]): topology["link_class"][a][b] or topology["link_class"][b][a]
        for a, b in combinations(range(len(labels)), 2)
    }


def meshes_and_pairs(classes: Mapping[tuple[str, str], str]) -> tuple[list[Connected], list[Connected]]:
    """(devices that are all connected with all by one class, pairs that are not of such a mesh); both of links only."""
    meshes, pairs = [], []
    for name in dict.fromkeys(one for one in classes.values() if one not in OF_PLACES):
        of_class = [pair for pair, one in classes.items() if one == name]
        for members in joined(of_class):
            inside = [pair for pair in of_class if pair[0] in members]
            complete = len(inside) == len(members) * (len(members) - 1) // 2
            if complete and len(members) >= LEAST_OF_MESH:
                meshes.append(Connected(name, tuple(members)))
            else:
                pairs += [Connected(name, pair) for pair in inside]
    return meshes, pairs


def joined(pairs: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
    """What hangs together, in the order in which it is named first."""
    found: list[list[Any]] = []
    for a, b in pairs:
        touched = [one for one in found if a in one or b in one]
        merged = list(dict.fromkeys([*(member for one in touched for member in one), a, b]))
        at = found.index(touched[0]) if touched else len(found)
        found = [one for one in found if one not in touched]
        found.insert(at, merged)
    return found


def node_of(
    record: Mapping[str, Any],
    name: str,
    devices: Sequence[Mapping[str, Any]],
    classes: Mapping[tuple[str, str], str],
) -> Node:
    """A node with its devices and adapters, those with a device near to them first."""
    every = {port["name"]: port for port in ports_of(record, name)}
    near = {adapter: near_devices(port, devices) for adapter, port in every.items()}
    shown = sorted(every, key=lambda adapter: not near[adapter])[:MOST_ADAPTERS]
    adapters = {adapter: Adapter(adapter, rate_of(every[adapter]), is_up(record, name, adapter)) for adapter in shown}
    numa: dict[Member, int | None] = {("device", device["label"]): known(device["numa"]) for device in devices}
    numa |= {("adapter", adapter): known(every[adapter]["numa"]) for adapter in adapters}
    switched = [(("adapter", adapter), ("device", label)) for adapter in adapters for label in near[adapter]]
    switched += [(("device", a), ("device", b)) for (a, b), one in classes.items() if one in ONE_SWITCH]
    behind = [[one for one in members if one in numa] for members in joined(switched)]
    groups = [(place_of(members, numa), group_of(members, adapters, True)) for members in behind if members]
    taken = {member for members in behind for member in members}
    alone: dict[int | None, list[Member]] = {}
    for member, number in numa.items():
        if member not in taken:
            alone.setdefault(number, []).append(member)
    groups += [(number, group_of(members, adapters, False)) for number, members in alone.items()]
    numbers = sorted({number for number, _ in groups}, key=lambda number: (number is None, number))
    sockets = [Socket(number, tuple(one for at, one in groups if at == number)) for number in numbers]
    return Node(name, tuple(sockets), len(every) - len(adapters))


def ports_of(record: Mapping[str, Any], node: str) -> Iterator[Mapping[str, Any]]:
    """The ports of a node's adapters."""
    for port in record.get("adapters", []):
        if port["place"].get("node", record["host"]["name"]) == node:
            yield port


def near_devices(port: Mapping[str, Any], devices: Sequence[Mapping[str, Any]]) -> list[str]:
    """The devices that an adapter reaches without a host bridge."""
    near = {gpu["pci"] for gpu in port.get("gpus", []) if gpu["link_class"] in ONE_SWITCH}
    return [device["label"] for device in devices if device["pci"] in near]


def rate_of(port: Mapping[str, Any]) -> str:
    """ "400 Gb/sec" of "400 Gb/sec (4X NDR)"."""
    return (port["rate"] or "").split(" (")[0]


def is_up(record: Mapping[str, Any], node: str, adapter: str) -> bool:
    """Has it a port that is up, or one that does not say?"""
    states = [port["state"] or "unknown" for port in ports_of(record, node) if port["name"] == adapter]
    return any(state in UP for state in states)


def known(number: int | None) -> int | None:
    """The number of a NUMA node; the kernel's -1 is none."""
    return number if number is not None and number >= 0 else None


def place_of(members: Sequence[Member], numa: Mapping[Member, int | None]) -> int | None:
    """The NUMA node of what is behind a switch: as the first of it says that knows."""
    return next((numa[member] for member in members if numa[member] is not None), None)


def group_of(members: Sequence[Member], adapters: Mapping[str, Adapter], switch: bool) -> Group:
    """Devices and adapters, each in their order."""
    devices = sorted_labels(label for kind, label in members if kind == "device")
    return Group(devices, tuple(adapters[name] for kind, name in members if kind == "adapter"), switch)


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """gpu2 before gpu10."""
    return tuple(sorted(labels, key=lambda label: (len(label), label)))


def class_lines(record: Mapping[str, Any]) -> list[str]:
    """A sentence for each link class: how many pairs have it, and what it means."""
    counts = Counter(classes_of(record).values())
    every = sum(counts.values())
    lines = []
    for name, count in sorted(counts.items()):
        pairs = "the pair" if every == 1 else "every pair" if count == every else counted(count, "pair")
        lines.append(f"{name or 'unknown'}: {pairs}" + (f", {meaning}" if (meaning := meaning_of(name)) else ""))
    return lines


def meaning_of(link_class: str) -> str:
    """What a link class says."""
    number = link_class.removeprefix("NV")
    if number != link_class and number.isdigit():
        return f"connected by {counted(int(number), 'NVLink')}"
    return MEANINGS.get(link_class, "")
