"""The components of a machine, their connections, and the marks of faulty components.

A device and an adapter are behind the same PCIe switch if the PCI path between them has no host bridge. Devices are a
mesh if all of their pairs have the same link class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ..judge.rules import name
from ..judge.verdicts import Verdict
from ..locate.layout import UP, numa_node, part_of, switches_of
from ..record.link_classes import MEANINGS, ONE_SWITCH
from ..record.units import counted
from .findings import cells_with_rule, disturbances

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..locate.hypotheses import Finding
    from ..record.names import Pair
    from ..runs.judging import Judged
    from .analysis import Analysis

MAX_ADAPTERS = 16  # of a node
MAX_CELLS = 3  # named cells with wrong data
MIN_MESH = 3  # devices of a mesh; two devices are a pair
POSITION_CLASSES = ("X", "", *MEANINGS)  # link classes that follow from the positions of devices
#: {suffix of the kind of a finding: word of its mark}
DIRECTIONS = {"egress": "slow out", "ingress": "slow in"}
Record = Mapping[str, Any]
Member = tuple[str, str]  # ("device" or "adapter", its label or name)
Part = tuple[str, Any]  # as in `Mark.parts`


class Adapter(NamedTuple):
    """A network adapter. rate: text such as "400 Gb/sec"."""

    name: str
    rate: str
    up: bool


class Group(NamedTuple):
    """The components behind a PCIe switch, or the components of a NUMA node whose switch is unknown."""

    devices: tuple[str, ...]
    adapters: tuple[Adapter, ...]
    switch: bool

    @property
    def columns(self) -> int:
        """The number of components side by side in the drawing."""
        return max(len(self.devices), len(self.adapters))


class Socket(NamedTuple):
    """A NUMA node in the drawing of a machine. number: its NUMA number; None if unknown."""

    number: int | None
    groups: tuple[Group, ...]

    @property
    def columns(self) -> int:
        """The number of components side by side in the drawing."""
        return sum(group.columns for group in self.groups)


class Node(NamedTuple):
    """A node in the drawing. left_out: number of adapters that are not drawn."""

    name: str
    sockets: tuple[Socket, ...]
    left_out: int

    @property
    def columns(self) -> int:
        """The number of components side by side in the drawing."""
        return sum(one.columns for one in self.sockets)

    @property
    def groups(self) -> list[Group]:
        """The groups of all NUMA nodes."""
        return [group for one in self.sockets for group in one.groups]

    @property
    def devices(self) -> list[str]:
        """The labels of the devices in the order of the drawing."""
        return [label for group in self.groups for label in group.devices]


class LinkedDevices(NamedTuple):
    """The devices of a mesh or of a pair, and their link class."""

    link_class: str
    labels: tuple[str, ...]


class Machine(NamedTuple):
    """The nodes of a record, the meshes of devices, and the pairs of devices."""

    nodes: tuple[Node, ...]
    meshes: tuple[LinkedDevices, ...]
    pairs: tuple[LinkedDevices, ...]


class Mark(NamedTuple):
    """A mark on a component that is faulty or that another process used.

    parts: the marked parts of the drawing; empty for a component outside the drawing, such as a leaf switch. A part is
    ("device", label), ("pair", (source, destination)), ("adapter", (node, name)), ("switch", label of a device behind
    it), ("socket", (node, number)), ("class", link class) or ("node", name).
    component: name of the component.
    word: the problem in short, such as "slow out".
    testcases: the test cases that show the mark.
    """

    verdict: Verdict
    parts: tuple[Part, ...]
    component: str
    word: str
    testcases: tuple[str, ...]

    def __str__(self) -> str:
        """The mark as text: "gpu3, slow out: device_to_device_memcpy_write_ce and 3 other test cases"."""
        more = f" and {counted(len(self.testcases) - 1, 'other test case')}" if len(self.testcases) > 1 else ""
        drawn = "" if self.parts else ", which the drawing does not contain"
        return f"{self.component}, {self.word}{drawn}: {self.testcases[0]}{more}"


def machine_from(record: Record) -> Machine:
    """The machine, from the topology, devices and adapters of a record."""
    by_node: dict[str, list[Record]] = {}
    for device in record["devices"]:
        by_node.setdefault(device["node"], []).append(device)
    classes = classes_of(record)
    nodes = (node_of(record, node, devices, classes) for node, devices in by_node.items())
    meshes, pairs = meshes_and_pairs(classes)
    return Machine(tuple(nodes), tuple(meshes), tuple(pairs))


def classes_of(record: Record) -> dict[Pair, str]:
    """{(device, other device): link class}; {} if the record has no link classes. Each pair occurs once."""
    classes = record["topology"]["link_class"]
    labels = record["topology"]["labels"] if classes else []
    pairs = combinations(range(len(labels)), 2)
    return {(labels[a], labels[b]): classes[a][b] or classes[b][a] for a, b in pairs}


def meshes_and_pairs(classes: Mapping[Pair, str]) -> tuple[list[LinkedDevices], list[LinkedDevices]]:
    """(meshes, pairs outside meshes). Link classes in POSITION_CLASSES are left out."""
    meshes, pairs = [], []
    for link in dict.fromkeys(one for one in classes.values() if one not in POSITION_CLASSES):
        of_class = [pair for pair, one in classes.items() if one == link]
        for members in connected_sets(of_class):
            inside = [pair for pair in of_class if pair[0] in members]
            complete = len(inside) == len(members) * (len(members) - 1) // 2
            if complete and len(members) >= MIN_MESH:
                meshes.append(LinkedDevices(link, tuple(members)))
            else:
                pairs += [LinkedDevices(link, pair) for pair in inside]
    return meshes, pairs


def connected_sets(pairs: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
    """The connected components of the graph with the edges `pairs`, in the order of their first edge."""
    found: list[list[Any]] = []
    for a, b in pairs:
        touched = [one for one in found if a in one or b in one]
        merged = list(dict.fromkeys([*(member for one in touched for member in one), a, b]))
        at = found.index(touched[0]) if touched else len(found)
        found = [one for one in found if one not in touched]
        found.insert(at, merged)
    return found


def node_of(record: Record, node: str, devices: Sequence[Record], classes: Mapping[Pair, str]) -> Node:
    """A node with its devices and up to MAX_ADAPTERS adapters. Adapters near a device are preferred."""
    host = record["host"]["name"]
    ports = [port for port in record.get("adapters", []) if port["place"].get("node", host) == node]
    every = {port["name"]: port for port in ports}
    near: dict[str, list[str]] = {}
    for adapter, port in every.items():
        pci = {gpu["pci"] for gpu in port.get("gpus", []) if gpu["link_class"] in ONE_SWITCH}
        near[adapter] = [device["label"] for device in devices if device["pci"] in pci]
    up = {port["name"] for port in ports if (port["state"] or "unknown") in UP}
    adapters = {
        adapter: Adapter(adapter, (every[adapter]["rate"] or "").split(" (")[0], adapter in up)
        for adapter in sorted(every, key=lambda adapter: not near[adapter])[:MAX_ADAPTERS]
    }
    numa: dict[Member, int | None] = {("device", device["label"]): device["numa"] for device in devices}
    numa |= {("adapter", adapter): every[adapter]["numa"] for adapter in adapters}
    numa = {member: number if number is not None and number >= 0 else None for member, number in numa.items()}
    switched = [(("adapter", adapter), ("device", label)) for adapter in adapters for label in near[adapter]]
    switched += [(("device", a), ("device", b)) for (a, b), one in classes.items() if one in ONE_SWITCH]
    groups: list[tuple[int | None, Group]] = []
    for behind in connected_sets(switched):
        if members := [one for one in behind if one in numa]:
            number = next((numa[one] for one in members if numa[one] is not None), None)
            groups.append((number, make_group(members, adapters, switch=True)))
    taken = {member for behind in connected_sets(switched) for member in behind}
    alone = [member for member in numa if member not in taken]
    for number in dict.fromkeys(numa[member] for member in alone):
        members = [member for member in alone if numa[member] == number]
        groups.append((number, make_group(members, adapters, switch=False)))
    numbers = sorted({number for number, _ in groups}, key=lambda number: (number is None, number))
    sockets = [Socket(number, tuple(one for at, one in groups if at == number)) for number in numbers]
    return Node(node, tuple(sockets), len(every) - len(adapters))


def make_group(members: Sequence[Member], adapters: Mapping[str, Adapter], switch: bool) -> Group:
    """Makes a group. Its devices are in the order of their numbers. switch: whether its members share a PCIe switch."""
    devices = sorted((label for kind, label in members if kind == "device"), key=lambda label: (len(label), label))
    return Group(tuple(devices), tuple(adapters[one] for kind, one in members if kind == "adapter"), switch)


def class_lines(record: Record) -> list[str]:
    """A sentence per link class: the number of its pairs, and its meaning."""
    counts = Counter(classes_of(record).values())
    every = sum(counts.values())
    lines = []
    for link, count in sorted(counts.items()):
        pairs = "the pair" if every == 1 else "every pair" if count == every else counted(count, "pair")
        number = link.removeprefix("NV")
        nvlinks = f"connected by {counted(int(number), 'NVLink')}" if number != link and number.isdigit() else ""
        lines.append(", ".join(filter(None, [f"{link or 'unknown'}: {pairs}", nvlinks or MEANINGS.get(link, "")])))
    return lines


def merged_marks(analysis: Analysis, tests: Iterable[Judged]) -> list[Mark]:
    """The marks of tests without duplicates, the worst first."""
    found: dict[tuple[Any, ...], Mark] = {}
    for mark in (mark for one in tests for mark in test_marks(analysis, one)):
        key = (mark.parts, mark.component, mark.word)
        known = found.get(key, mark)
        testcases = tuple(dict.fromkeys([*known.testcases, *mark.testcases]))
        found[key] = known._replace(verdict=max(known.verdict, mark.verdict), testcases=testcases)
    return sorted(found.values(), key=lambda mark: -mark.verdict)


def test_marks(analysis: Analysis, judged: Judged) -> Iterator[Mark]:
    """Yields the marks of a test: components of findings, disturbed components, and unexplained cells."""
    record = judged.test.record or {}
    for result, matrix in judged.matrices:
        testcases = (result["testcase"],)
        if matrix.counts[Verdict.DISTURBED]:
            yield from disturbance_marks(record, result)
        found = analysis.diagnosis(judged, result, matrix)
        for finding, component, verdict in zip(found.findings, found.components, found.verdicts, strict=True):
            word = "no value" if finding.missing else DIRECTIONS.get(finding.kind.rpartition("_")[2], "slow")
            yield Mark(verdict, tuple(finding_parts(finding, component, record, matrix)), component, word, testcases)
        for pair, word in marked_cells(found.findings, matrix).items() if not matrix.problem else ():
            yield Mark(matrix.cells[pair].verdict, (("pair", pair),), name(pair), word, testcases)


def disturbance_marks(record: Record, result: Record) -> Iterator[Mark]:
    """Yields the marks of devices, adapters and nodes that another process used during a measurement."""
    labels = {device["label"] for device in record.get("devices", [])}
    for one, _, _ in disturbances(record, result):
        where, node = one["where"], one["node"]
        kind = "device" if where in labels else "adapter" if one["kind"] == "adapter" else "node"
        part = {"device": where, "adapter": (node, where), "node": node}[kind]
        component = where if kind != "node" else node
        yield Mark(Verdict.DISTURBED, ((kind, part),), component, "other process", (result["testcase"],))


def marked_cells(findings: Sequence[Finding], matrix: MatrixVerdict) -> dict[Pair, str]:
    """{cell: word of its mark}, for cells with wrong data, above the limit of their path, or without a value."""
    cells = {pair: "wrong data" for pair in cells_with_rule(matrix, "corrupt")[:MAX_CELLS]}
    cells |= {pair: "too fast" for pair in cells_with_rule(matrix, "impossible")[:1]}
    if not any(finding.missing for finding in findings):
        cells |= {pair: "no value" for pair in cells_with_rule(matrix, "not measured", last="not-run")[:1]}
    if all(finding.within_tolerance for finding in findings):
        failed = [pair for pair, cell in matrix.worst_cells(1)[0] if cell.verdict is Verdict.FAIL or cell.value is None]
        cells |= {pair: "off" if matrix.cells[pair].value is not None else "no value" for pair in failed} | cells
    return cells


def finding_parts(finding: Finding, component: str, record: Record, matrix: MatrixVerdict) -> Iterator[Part]:
    """Yields the parts of the drawing that belong to a finding.

    component: name of the component. See `Mark.parts`.
    """
    kind, subject, of = part_of(finding.kind), finding.subject, matrix.subset.matrix
    devices = record.get("devices", [])
    if finding.kind in ("link", "cell") and isinstance(subject, tuple):
        a, b = subject
        yield "pair", (of.rows[a], of.columns[b])
        if finding.kind == "link":
            yield "pair", (of.rows[b], of.columns[a])
    elif kind in ("device", "egress", "ingress", "links", "network"):
        yield ("device" if any(component == device["label"] for device in devices) else "node"), component
    elif kind in ("nic", "nics"):
        names, _, node = component.rpartition(" of ")
        yield from (("adapter", (node, adapter)) for adapter in names.split(", "))
    elif kind == "switch":
        behind = switches_of(record, devices)
        yield from (("switch", device["label"]) for device in devices if behind(device) == component)
    elif kind == "socket":
        found = {(device["node"], device["numa"]) for device in devices if numa_node(device) == component}
        yield from (("socket", one) for one in sorted(found))
    elif kind == "class":
        yield "class", component
    elif kind in ("node", "node_pair", "inside", "between_sockets"):
        nodes = component.removeprefix("nodes ").split(" and ") if finding.kind == "node_pair" else [component]
        yield from (("node", node) for node in nodes)


def marked_devices(record: Record, marks: Iterable[Mark]) -> dict[str, list[str]]:
    """{device: texts of the marks on the device, on an adapter near it, or on its node}."""
    found: dict[str, list[str]] = {}
    for mark in marks:
        for device in record["devices"]:
            near = {("adapter", (device["node"], adapter)) for adapter in device["nics"]}
            if {("device", device["label"]), ("node", device["node"]), *near} & set(mark.parts):
                found.setdefault(device["label"], []).append(f"{mark.component}: {mark.word}")
    return found
