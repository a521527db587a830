"""The layout of a matrix: node, adapters, PCIe switch, NUMA node, rail, leaf switch and NVLink domain of each endpoint.

The adapters of a device are the nearest adapters by PCI path. The adapters of host memory are all adapters of its NUMA
node. These rules exclude adapters:

* An adapter that is down carries no data.
* If counters contain the bytes of the ranks, an adapter whose counters lack these bytes carries no data.
* If one adapter carried all data of a node, all devices of the node use this adapter.

If a single adapter remains, this adapter is a component ("nic"). If several adapters remain, the set of adapters is one
component ("nics"), and no single adapter is flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record.link_classes import ONE_SWITCH
from .deviations import classes_of

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from ..record.names import Result

Subject = int | tuple[int, int]
Indices = tuple[np.ndarray, np.ndarray]  # (component of each row, component of each column); -1 for none

#: {kind of a hypothesis: its component}, if the names differ.
PART_OF = {
    "inside": "node",
    "node_pair": "node",
    "tray": "node",
    "between_sockets": "node",
    "memory": "socket",
    "uplink": "leaf",
    "rail_ends": "rail",
}
NVLINKS = ("links", "nvlinks")  # links of a device inside its node, and inside its NVLink domain
UP = ("ACTIVE", "ACTIVE_DEFER", "up", "unknown")  # states of a port, as in the kernel
MIN_COUNTED = 0.99  # share of the ranks' bytes that counters of adapters must contain
Device = Mapping[str, Any]


def part_of(kind: str) -> str:
    """The kind of component of a kind of hypothesis. Example: "node" for "node_egress" and for "inside"."""
    both = kind.removesuffix("_egress").removesuffix("_ingress")
    return PART_OF.get(both, both)


@dataclass(frozen=True)
class Layout:
    """The components of the rows and columns of a matrix, as indices; -1 for unknown.

    classes: the link class of each cell, rows × columns; -1 for cells that the test case does not measure.
    row_nic, column_nic: the adapter of an endpoint that has a single adapter.
    square: whether rows and columns are the same endpoints.
    bidirectional: whether a cell is the sum of both directions. Egress and ingress then have the same cells.
    of_nodes: whether rows and columns are nodes.
    is_local: whether each column is a device that copies within its own memory.
    parts: {kind of component: (indices of the rows, indices of the columns)}, for the known kinds of "nics" (sets of
    adapters), "switch", "socket", "leaf" and "domain". "domain" exists only if NVLink connects nodes of a domain.
    """

    classes: np.ndarray
    row_node: np.ndarray
    column_node: np.ndarray
    row_nic: np.ndarray
    column_nic: np.ndarray
    row_rail: np.ndarray
    column_rail: np.ndarray
    square: bool = True
    bidirectional: bool = False
    of_nodes: bool = False
    is_local: bool = False
    parts: Mapping[str, Indices] = field(default_factory=dict)

    @property
    def has_nodes(self) -> bool:
        """Whether the matrix has two or more nodes, and the node of each endpoint is known."""
        return self.square and bool((self.row_node >= 0).all()) and len(np.unique(self.row_node)) > 1

    @property
    def in_domain(self) -> np.ndarray:
        """True for cells inside an NVLink domain that spans nodes; rows × columns."""
        of_rows, of_columns = self.places("domain")
        return (of_rows[:, None] == of_columns[None, :]) & (of_rows[:, None] >= 0)

    def places(self, kind: str) -> Indices:
        """(index of the component of each row, index of the component of each column), for a kind of hypothesis."""
        rows, columns = self.classes.shape
        known = {
            "node": (self.row_node, self.column_node),
            "nic": (self.row_nic, self.column_nic),
            "rail": (self.row_rail, self.column_rail),
            "network": (np.arange(rows), np.arange(columns)),
        }
        part = part_of(kind)
        return known.get(part) or self.parts.get(part) or (np.full(rows, -1), np.full(columns, -1))


@dataclass(frozen=True)
class Names:
    """The names of the components of a `Layout`. The indices of the layout are positions in these lists.

    near: {endpoint: adapters that may carry its data}.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    nodes: Sequence[str]
    nics: Sequence[str]
    classes: Sequence[str]
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    near: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Components:
    """The components of one kind.

    of: {label of a device: index of its component, -1 for none}.
    names: the name of each component.
    """

    of: Mapping[str, int]
    names: Sequence[str]


def number_components(devices: Iterable[Device], part: Callable[[Device], str]) -> Components:
    """Numbers the components of devices. part: function that returns the name of a device's component, "" for none."""
    of_device = {device["label"]: part(device) for device in devices}
    number = {name: at for at, name in enumerate(dict.fromkeys(name for name in of_device.values() if name))}
    return Components({label: number.get(name, -1) for label, name in of_device.items()}, list(number))


def layout_of(content: Mapping[str, Any], result: Result, matrix: Matrix) -> tuple[Layout, Names]:
    """The layout of a matrix, and the names of its components."""
    devices = {device["label"]: device for device in content.get("devices", [])}
    every = list(devices.values())
    node = number_components(every, lambda device: device["node"])
    rows, columns = list(matrix.rows), list(matrix.columns)
    of_nodes = set(rows) <= set(node.names) - set(devices)  # rows are nodes
    near = data_adapters(content, result, every)
    parts = {
        "nics": number_components(every, lambda device: adapter_name(near[device["label"]], device, alone=False)),
        "switch": number_components(every, switches_of(content, every)),
        "socket": number_components(every, numa_node),
        "leaf": number_components(every, leaf),
        "domain": number_components(every, domain),
    }
    nic = number_components(every, lambda device: adapter_name(near[device["label"]], device, alone=True))
    if of_nodes:
        node = Components({name: at for at, name in enumerate(node.names)}, node.names)
        leaves = {device["node"]: parts["leaf"].of[device["label"]] for device in every}
        parts = {"leaf": Components(leaves, parts["leaf"].names), "domain": Components({}, [])}

    def indices(of: Mapping[str, int]) -> Indices:
        found = [np.array([of.get(label, -1) for label in labels], dtype=int) for labels in (rows, columns)]
        return found[0], found[1]

    index, classes = classes_of(matrix)
    if not crosses_nodes(indices(parts["domain"].of), indices(node.of), nvlink_cells(index, classes)):
        parts["domain"] = Components({}, [])
    layout = Layout(
        index,
        *indices(node.of),
        *indices({} if of_nodes else nic.of),
        *indices({} if of_nodes else rails(every, nic)),
        square=rows == columns,
        bidirectional=result["metric"] == "bidirectional",
        of_nodes=of_nodes,
        is_local=classes == ["LOCAL"] and len(rows) == 1,
        parts={kind: indices(part.of) for kind, part in parts.items() if part.names},
    )
    named = {kind: part.names for kind, part in parts.items() if part.names}
    return layout, Names(rows, columns, node.names, nic.names, classes, named, near)


def data_adapters(content: Mapping[str, Any], result: Result, devices: Sequence[Device]) -> dict[str, tuple[str, ...]]:
    """{device: names of the adapters that may carry its data}, by the rules in the docstring of this module."""
    by = counted_adapters(result)
    ports: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for port in content.get("adapters", []):
        where = (port["place"].get("node", content["host"]["name"]), port["name"])
        ports.setdefault(where, []).append(port)
    for where in ((device["node"], name) for device in devices for name in device["nics"]):
        ports.setdefault(where, [])

    def may_carry(node: str, name: str) -> bool:
        known = ports[node, name]
        is_up = not known or any((port["state"] or "unknown") in UP for port in known)
        return is_up and (node not in by or bool(counter_names(name, known) & by[node]))

    alone = {node: only_adapter(node, ports, names) for node, names in by.items()}
    return {
        device["label"]: alone.get(device["node"])
        or tuple(name for name in device["nics"] if may_carry(device["node"], name))
        for device in devices
    }


def only_adapter(
    node: str, ports: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]], by: set[str]
) -> tuple[str, ...]:
    """The adapter that carried all data of a node's ranks; () if there is no single adapter, or an unknown adapter.

    ports: {(node, adapter): its ports}.
    by: names of the counters that contain the bytes of the ranks, from `counted_adapters`.
    """
    known = {name: counter_names(name, of_adapter) for (where, name), of_adapter in ports.items() if where == node}
    carried = [name for name, words in known.items() if words & by]
    return (carried[0],) if len(carried) == 1 and by <= known[carried[0]] else ()


def counted_adapters(result: Result) -> dict[str, set[str]]:
    """{node: names of the counters that contain the bytes of the node's ranks}.

    A node is left out if its counters contain less than the share MIN_COUNTED of these bytes.
    """
    uses = [one for one in (result.get("others") or {}).get("uses", []) if one["of"] in ("net_out", "net_in")]
    unknown = {one["label"] for one in uses if not (one["counted"] and one["own"] and one.get("by"))}
    unknown |= {
        one["label"] for one in uses if one["label"] not in unknown and one["counted"] < MIN_COUNTED * one["own"]
    }
    return {one["label"]: {*one["by"].split(", ")} for one in uses if one["label"] not in unknown}


def counter_names(name: str, ports: Sequence[Mapping[str, Any]]) -> set[str]:
    """The names under which byte counters can count the data of an adapter.

    These are the names of the adapter, of its ports, of its interfaces and of its bond.
    """
    numbers = {f"{name}:{port['place'].get('port', '1')}" for port in ports}
    interfaces = (interface for port in ports for interface in port.get("interfaces", []))
    return {name, *numbers, *(word for one in interfaces for word in (one.get("name"), one.get("bond")) if word)}


def adapter_name(names: Sequence[str], device: Device, alone: bool) -> str:
    """The name of a device's adapters, such as "mlx5_2 of n17" or "mlx5_2, mlx5_3 of n17"; "" if not wanted.

    alone: True: only a single adapter is wanted. False: only a set of several adapters is wanted.
    """
    return f"{', '.join(sorted(names))} of {device['node']}" if names and (len(names) == 1) == alone else ""


def numa_node(device: Device) -> str:
    """The NUMA node of a device, such as "NUMA node 1 of n17"; "" if unknown."""
    number = device["numa"]
    return f"NUMA node {number} of {device['node']}" if number is not None and number >= 0 else ""


def leaf(device: Device) -> str:
    """The leaf switch of a device's node; "" if unknown."""
    return str(device.get("place", {}).get("leaf", ""))


def domain(device: Device) -> str:
    """The NVLink domain and clique of a device; "" if unknown."""
    return str(device.get("place", {}).get("domain", ""))


def nvlink_cells(index: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """True for cells whose link class is NVLink.

    index: link class of each cell as an index, -1 for none.
    classes: names of the link classes.
    """
    return np.isin(index, [at for at, name in enumerate(classes) if name.startswith("NV")])


def crosses_nodes(domains: Indices, nodes: Indices, nvlink: np.ndarray) -> bool:
    """Whether NVLink connects nodes of one domain. nvlink: see `nvlink_cells`."""
    same = (domains[0][:, None] == domains[1][None, :]) & (domains[0] >= 0)[:, None]
    return bool((same & (nodes[0][:, None] != nodes[1][None, :]) & nvlink).any())


def switches_of(content: Mapping[str, Any], devices: Sequence[Device]) -> Callable[[Device], str]:
    """Returns a function that returns the name of a device's PCIe switch, "" if unknown.

    A device and an adapter share a switch if the PCI path between them has no host bridge. The switch is named after
    its first adapter.
    """
    labels = {(device["node"], device["pci"]): device["label"] for device in devices if device["pci"]}
    behind: dict[str, str] = {}
    for port in content.get("adapters", []):
        node = port["place"].get("node", content["host"]["name"])
        near = [gpu["pci"] for gpu in port.get("gpus", []) if gpu["link_class"] in ONE_SWITCH]
        for label in (labels[node, pci] for pci in near if (node, pci) in labels):
            behind.setdefault(label, f"the PCIe switch of {port['name']} of {node}")
    return lambda device: behind.get(device["label"], "")


def rails(devices: Sequence[Device], nic: Components) -> dict[str, int]:
    """{device: index of its rail}. The index is the position of the device's adapter on its node.

    If the adapter of any device is unknown, the index is the position of the device on its node.
    """
    by_nic = all(number >= 0 for number in nic.of.values())
    found: dict[str, int] = {}
    numbers: dict[str, dict[Any, int]] = {}
    for device in devices:
        known = numbers.setdefault(device["node"], {})
        found[device["label"]] = known.setdefault(nic.of[device["label"]] if by_nic else device["label"], len(known))
    return found


def subject_masks(kind: str, subject: Subject, layout: Layout) -> Indices:
    """(True for the rows of the component of a finding, True for its columns)."""
    rows, columns = layout.places(kind)
    wanted = subject if isinstance(subject, tuple) else (subject,)
    if part_of(kind) in ("egress", "ingress", "device", "link", "cell", *NVLINKS):
        rows, columns = (np.arange(length) for length in layout.classes.shape)
        if kind == "cell":
            return rows == wanted[0], columns == wanted[1]
        if not layout.square:  # row i and column i are different endpoints
            rows, columns = (-1 - rows, columns) if kind == "ingress" else (rows, -1 - columns)
    return np.isin(rows, wanted), np.isin(columns, wanted)
