"""What others took of a path and nobody counted: how much slower it made a cell cannot be known.

Measured on two H200 of a virtual machine, whose driver counts no PCIe bytes, with another process on gpu1. It copied
from host memory: copies from the host to gpu1 -52 %, to gpu0, which it did not use, -4 %, latency of host memory
+182 %. It copied inside gpu1: load latency between the devices +120 %, both ways of a link at once -3 %. It computed:
copies inside gpu1 -44 %. NVML's shares of processors and memory were 0 in two of nine looks at a process that never
paused, 2.3 s long together. So a slow cell is no observation where others were, by any look of the run, active at who
makes it, where all looks of the run are too short to say that they were not, or where they may have used a path whose
bytes are not counted. But nobody takes more than a process can that never pauses: what is slower than beside the worst
of those that were seen is broken, and so is a device beside theirs that lost more than such a one did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .others import LEAST_BESIDE_WORDS
from .turns import node_of
from .who import OF_NODES, is_on_device

BESIDE = 0.02  # share that a device where others may have worked can lose beyond what counts as theirs: 0.2 to 3 % seen
# Share that a copy loses whose data are in a memory that others use all the time: two H200 lost 2 to 3 % beside copies
# inside one of them, two H100, whose memory is slower, 12.2 to 13.7 % (three runs). With this share a cell may be 19 %
# slower.
MEMORY = 0.15
# Share of a device that a process takes which never pauses: the worst of eight kinds on two H200 and two H100 made the
# latency of host memory 2.81 times as long, and left a direction of PCIe 48 % and copies inside a device 50 %. Several
# leave of the rest as much as one of them would.
TAKEN = 0.62
AMONG = 0.10  # share of another device of the same node, by its PCIe: the worst lost 9.8 %
WAYS = ("out", "in")


@dataclass(frozen=True)
class Uncounted:
    """Where others were beside what their bytes tell.

    held: {device on which others have a context: how many processes}. active: those of them on which they did something
    in the run, or may have, for it was not looked at long enough. unread: {"pcie_in": devices whose driver does not
    count it}. memory: {device: share of the time in which others used its memory, where they still are by the look of
    the run that saw the most}. makers: the axes whose endpoints make the copies.
    """

    held: Mapping[str, int]
    active: frozenset[str]
    unread: Mapping[str, frozenset[str]]
    memory: Mapping[str, float]
    makers: Sequence[str]
    is_latency: bool
    by_kernel: bool
    both_ways: bool

    def of(self, path: str, link_class: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """The share that others may have had of each cell unseen, at most, were all of one class and over one path."""
        if link_class == "LOCAL":
            return self.taken(self.active, rows, columns)
        if path == "pcie":  # devices of a node share switches, and all of them host memory
            silent = {one for one in self.held if any(self.unread_at(f"pcie_{way}", one) for way in WAYS)}
            nodes = {node_of(one) for one in silent}
            if silent:
                beside = AMONG * at_either({one for one in {*rows, *columns} if node_of(one) in nodes}, rows, columns)
                return np.maximum(beside, self.taken(silent, rows, columns))
        found = self.at_ends(rows, columns, f"{path}_out", f"{path}_in")
        if path == "net":  # between devices it begins and ends on their PCIe
            found = np.maximum(found, self.at_ends(rows, columns, "pcie_out", "pcie_in"))
        if self.both_ways:
            found = np.maximum(found, self.at_ends(rows, columns, f"{path}_in", f"{path}_out"))
        if self.is_latency:
            found = np.maximum(found, self.taken(self.active, rows, columns))
        if self.by_kernel:
            found = np.maximum(found, self.made_at(rows, columns))
        return found

    def beside(self, path: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """The share of each cell that may be lost beyond what counts as of others."""
        silent = {one for one in self.held if any(self.unread_at(f"{path}_{way}", one) for way in WAYS)}
        little = BESIDE * at_either(self.active | silent, rows, columns)
        of_row, of_column = (np.array([self.memory.get(label, 0.0) for label in labels]) for labels in (rows, columns))
        return np.maximum(little, MEMORY * np.maximum.outer(of_row, of_column))

    def taken_of(self, label: str) -> float:
        """The share of a device that the processes of others there take at most."""
        return 1.0 - (1.0 - TAKEN) / max(self.held.get(label, 1), 1)

    def taken(self, labels: Collection[str], rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """That of each cell with one of these devices at an end."""
        return np.maximum.outer(*(self.at_each(labels, axis) for axis in (rows, columns)))

    def at_each(self, labels: Collection[str], axis: Sequence[str]) -> np.ndarray:
        """That of each endpoint of an axis that is one of these devices."""
        return np.array([self.taken_of(label) if label in labels else 0.0 for label in axis])

    def unread_at(self, kind: str, label: str) -> bool:
        """Whether others may have moved what the driver does not count."""
        return label in self.held and label in self.unread.get(kind, ())

    def at_ends(self, rows: Sequence[str], columns: Sequence[str], leaving: str, coming: str) -> np.ndarray:
        """That of cells of which an end's counter was not read."""
        of_row, of_column = (
            self.at_each([label for label in axis if self.unread_at(kind, label)], axis)
            for axis, kind in ((rows, leaving), (columns, coming))
        )
        return np.maximum.outer(of_row, of_column)

    def made_at(self, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """That of cells whose copies a device makes on which others were active."""
        of_row, of_column = (
            self.at_each(self.active if name in self.makers else (), axis)
            for name, axis in (("rows", rows), ("columns", columns))
        )
        return np.maximum.outer(of_row, of_column)

    def where(self, row: str, column: str) -> str:
        """The device of others that a sentence names: an end of the cell if it can be."""
        ends = [one for one in (row, column) if one in self.held]
        return (ends or sorted(self.held) or [row])[0]


def at_either(labels: Collection[str], rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """True for cells with one of these devices at an end."""
    return np.logical_or.outer([row in labels for row in rows], [column in labels for column in columns])


def held_of(others: Mapping[str, Any]) -> dict[str, int]:
    """{device: how many processes of others have a context there}, as its driver lists them."""
    devices = {use["label"] for use in others["uses"] if use["of"] != "cpu" and not use["of"].startswith(OF_NODES)}
    there = (one["where"] for one in others["processes"] if is_on_device(one, devices)) if others["shared"] else ()
    return dict(Counter(label for label in there if label in devices))


def unread_of(others: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """{kind: devices that were asked for it and did not tell, or of which nobody knows how much was the run's own}.

    Where it is so little in all that others moved nothing to speak of, it is known.
    """
    little = LEAST_BESIDE_WORDS * others["seconds"]
    found: dict[str, frozenset[str]] = {}
    for use in others["uses"]:
        unknown = use["counted"] is None or (use["own"] is None and use["counted"] > little)
        found[use["of"]] = found.get(use["of"], frozenset()) | ({use["label"]} if unknown else frozenset())
    return found


def most_of_memory(record: Mapping[str, Any]) -> dict[str, float]:
    """{device: share of the time in which others used its memory}, of all looks of a record the most."""
    found: dict[str, float] = {}
    for others in (result["others"] for result in record["results"] if result.get("others")):
        for use in others["uses"] if others["seconds"] and others["shared"] else ():
            if use["of"] == "memory" and use["counted"] is not None:
                share = min(use["counted"] / others["seconds"], 1.0)
                found[use["label"]] = max(found.get(use["label"], 0.0), share)
    return found


def told_seconds(record: Mapping[str, Any]) -> dict[str, float]:
    """{device: for how long, in all looks of a record, its driver told how much others used it}."""
    found: dict[str, float] = {}
    for others in (result["others"] for result in record["results"] if result.get("others")):
        for label in {use["label"] for use in others["uses"] if use["of"] == "sm" and use["counted"] is not None}:
            found[label] = found.get(label, 0.0) + others["seconds"]
    return found
