"""Busy is not broken: what others took of a path while it was measured, as the record's counters say it.

A device, a core or an adapter counts what went through it, whoever sent it, and the program knows what of that was its
own. What is left over, as a share f of what the path carries, explains a cell that is as much slower. Such a cell is no
observation: neither a failure nor a PASS. One that is slower than that is broken beside being busy. Where
others were and nobody counted what they took (`uncounted`), they may have had as much as the worst that was seen did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..record.matrix import Block, Matrix, from_result
from ..record.reading import Result
from .others import (
    LEAST,
    LEAST_RATE,
    LEAST_SECONDS,
    SAID,
    Others,
    devices_used,
    foreign,
    gigabytes,
)
from .turns import node_of, quota_of, turns_of_others
from .uncounted import Uncounted, held_of, most_of_memory, told_seconds, unread_of
from .who import Who

MOST = 0.95  # share that is believed: the logarithm of what is left
SLACK, BEYOND = 0.03, 0.15  # how much slower than its share a busy cell may be: always, and for each share
WAYS = ("out", "in")
DRILL = "simulated fault: "
SILENT = 3.0  # seconds: NVML's shares were 0 in looks of 2.3 s at a process that never paused
ALL = 1.0  # share that explains however little is left
# share of the time for which one of two ranks waited, from which on nothing bounds what their messages lose, for each
# end waits for the other's turn: beside others who had 37 to 97 % bandwidths of one node fell up to 30-fold and
# latencies rose up to 41-fold (36 runs, Open MPI 4.1, 2 cores); where waiting ranks yield, 1.4 GB/s between two hosts
# fell to 0.004
TURNS = 0.1
FILLS = 0.75  # of what a path can carry, above which a copy of ours takes all that it does carry


@dataclass(frozen=True)
class Busy:
    """What others did while a matrix was measured.

    rates: {"nvlink_out": {endpoint: their bytes a second}}. shares: {"sm": {endpoint: their share of it}}. executors:
    the axes whose endpoints make the copies: rows of a write. ways: directions that a value is the sum of. node:
    {endpoint: its node}, whose adapters carry what it sends to others. lost: {rank, or node: share of all the time in
    which it waited for others}.
    """

    others: Others
    rates: Mapping[str, Mapping[str, float]]
    shares: Mapping[str, Mapping[str, float]]
    executors: Sequence[str]
    by_kernel: bool
    by_messages: bool
    staged: bool
    uncounted: Uncounted
    ways: int = 1
    node: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, float] = field(default_factory=dict)

    def of(self, matrix: Matrix, block: Block, expected: np.ndarray) -> np.ndarray:
        """The share of others of each cell's path, 0 where nothing tells. expected: of the cells, in their unit."""
        at = slice(block.first, block.first + len(block.classes))
        rows, columns = matrix.rows[at], matrix.columns
        line = self.line(block.numbers("limit"), expected if matrix.unit == "GB/s" else np.nan)
        found = np.zeros(block.classes.shape)
        for code, name in enumerate(matrix.class_names):
            share = self.share_of(self.path_of(name), name, rows, columns, line)
            found = np.where(block.classes == code, share, found)
        return found

    def line(self, limit: np.ndarray, own: np.ndarray | float) -> np.ndarray:
        """GB/s that a path carries one way: its limit, or what a copy of ours should reach that fills it."""
        with np.errstate(invalid="ignore"):  # a small copy waits more than it moves: the path could carry others too
            fills = (own >= FILLS * limit) & (own <= limit)
        return np.where(np.isfinite(limit) & ~fills, limit, own) / self.ways

    def share_of(
        self, path: str, link_class: str, rows: Sequence[str], columns: Sequence[str], line: np.ndarray
    ) -> np.ndarray:
        """The share of others, were all cells of one class."""
        ends = [[self.counted_at(path, label) for label in labels] for labels in (rows, columns)]
        leaving, coming = (
            np.maximum(at_each(ends[0], self.rates.get(out, {}))[:, None], at_each(ends[1], self.rates.get(into, {})))
            for out, into in ((f"{path}_out", f"{path}_in"), (f"{path}_in", f"{path}_out"))
        )
        rate = np.maximum(leaving, coming) if self.goes_both_ways(path) else leaving
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nan_to_num(rate * 1e-9 / line)
        kinds = ["cpu"] + ["sm"] * self.by_kernel + ["memory"] * (link_class == "LOCAL")
        for kind in kinds:
            share = np.maximum(share, self.executed(kind, rows, columns))
        share = np.maximum(share, self.uncounted.beside(path, rows, columns))
        share = np.minimum(np.maximum(self.uncounted.of(path, link_class, rows, columns), share), MOST)
        if not self.by_messages:
            return share
        turns = self.of_both(self.shares.get("cpu", {}), rows, columns)
        lost = self.of_both(self.lost, rows, columns)
        return np.where(lost >= TURNS, ALL, np.maximum(share, turns))

    def executed(self, kind: str, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """The share of others of who makes the copy; of its other end where that is host memory, which makes none."""
        makers = {use["label"]: 0.0 for use in self.others["uses"]} | dict(self.shares.get(kind, {}))
        of_row, of_column = np.broadcast_arrays(
            at_each(rows, makers, np.nan)[:, None], at_each(columns, makers, np.nan)[None, :]
        )
        if len(self.executors) > 1:
            return np.nan_to_num(np.fmax(of_row, of_column))
        maker, other = (of_row, of_column) if self.executors[0] == "rows" else (of_column, of_row)
        return np.nan_to_num(np.where(np.isnan(maker), other, maker))

    def of_both(self, had: Mapping[str, float], rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
        """The share in which not both ranks of a message had their processors, of what others had of each."""
        return np.clip(1 - np.outer(1 - at_each(rows, had), 1 - at_each(columns, had)), 0.0, MOST)

    def path_of(self, link_class: str) -> str:
        """Which counters see the cells of a link class."""
        if link_class == "NET":
            return "net"
        if link_class.startswith("NV") and not self.staged:
            return "nvlink"
        linked = any(self.rates.get(f"nvlink_{way}") for way in WAYS)
        return "nvlink" if link_class == "ALL" and linked else "pcie"

    def goes_both_ways(self, path: str) -> bool:
        """Whether a cell needs the way back too: over a network acknowledgements wait behind what others send there.

        Seen between hosts of 100 Mbit/s: 38 % less into a host from which others sent, at 6.2 in place of 10.1 MB/s.
        """
        return self.ways > 1 or path == "net"

    def counted_at(self, path: str, label: str) -> str:
        """Whose counters see what an endpoint sends and gets over a path: its own, or those of its node's adapters."""
        return self.node.get(label, label) if path == "net" else label

    def adapters_of(self, kind: str, label: str) -> str:
        """ " by eth0"; "" of what is no network."""
        by = next((use.get("by") for use in self.others["uses"] if (use["label"], use["of"]) == (label, kind)), None)
        return f" by {by}" if by else ""

    def sentence(self, row: str, column: str, link_class: str, line: float = math.nan) -> str:
        """ "busy: 1,370 GB left gpu1 that linkmatrix did not send (pid 2983 hog)", of what is the most.

        line: GB/s that the path carries, NaN: nobody knows
        """
        path, seconds = self.path_of(link_class), self.others["seconds"]
        source, sink = self.counted_at(path, row), self.counted_at(path, column)
        verbs = {(source, f"{path}_out"): "left", (sink, f"{path}_in"): "came into"}
        if self.goes_both_ways(path):
            verbs |= {(source, f"{path}_in"): "came into", (sink, f"{path}_out"): "left"}
        moved = max(verbs, key=lambda end: self.rates.get(end[1], {}).get(end[0], 0.0))
        rate = self.rates.get(moved[1], {}).get(moved[0], 0.0)
        amount = f"{gigabytes(rate * seconds)} {verbs[moved]} {moved[0]}{self.adapters_of(moved[1], moved[0])}"
        sent = f"busy: {amount} that linkmatrix did not send{self.who(moved[0])}"
        share, label, kind = max(self.used(row, column, link_class), default=(0.0, row, "cpu"))
        said = f"{SAID[kind].format(share=100 * share, label=label)}{self.when(share, label, kind)}"
        quota = quota_of(self.others, label) if kind == "cpu" else ""
        used = (quota or f"others {said}{self.who(label)}") if share >= LEAST else ""
        of_path = rate * 1e-9 / line if line > 0 else ALL  # of a latency nobody knows what its path carries
        if path == "net" and used and rate > 0:  # which of both it was nobody knows, where both explain something
            both = [(of_path, f"{amount} that linkmatrix did not send")] * (of_path >= LEAST) + [(share, used)]
            return "busy: " + "; ".join(one for _, one in sorted(both, reverse=True))
        if rate > LEAST_RATE or (path == "net" and rate > 0):
            return sent
        if used:
            return f"busy: {used}"
        label = self.uncounted.where(row, column)
        if self.is_uncounted(row, column, link_class):
            return f"busy: others were on {label}{self.who(label)}, and what they took of this path is not counted"
        if self.uncounted.held:
            return f"busy: others were on {label}{self.who(label)}, beside whom it may lose as little"
        return sent

    def is_uncounted(self, row: str, column: str, link_class: str) -> bool:
        """Whether nobody knows what others took of a cell's path."""
        return bool(self.uncounted.of(self.path_of(link_class), link_class, [row], [column])[0, 0] > 0)

    def used(self, row: str, column: str, link_class: str) -> Iterator[tuple[float, str, str]]:
        """(share of others, of which end, kind) of what a cell needs beside its path."""
        of_both = self.uncounted.is_latency or link_class == "LOCAL"
        makers = [{"rows": row, "columns": column}[axis] for axis in self.executors]
        ends = [row, column] if of_both or not self.by_kernel else makers
        for kind, of in self.shares.items():
            if kind == "cpu" or self.by_kernel or of_both:
                yield from ((of[label], label, kind) for label in ends if label in of)
        if not (self.by_kernel or of_both):  # what a copy reads and writes is in a memory, whoever makes it
            of = self.uncounted.memory
            yield from ((of[label], label, "memory") for label in (row, column) if label in of)

    def when(self, share: float, label: str, kind: str) -> str:
        """Of a share that was not seen while this was measured."""
        seen = self.shares.get(kind, {}).get(label, 0.0)
        return ", by another look of the run" if share > seen + LEAST else ""

    def who(self, label: str) -> str:
        """ " (pid 2983 hog, bob)"; "" where nobody is known."""
        return self.users.used(label)

    @cached_property
    def users(self) -> Who:
        """Who they were."""
        return Who(self.others)


def at_each(labels: Sequence[str], known: Mapping[str, float], missing: float = 0.0) -> np.ndarray:
    """What is known of each label."""
    return np.array([known.get(label, missing) for label in labels], dtype=float)


class AtWork(NamedTuple):
    """Of all looks of a run: devices on which others did something, {device: for how many seconds it was told}, and
    {device: how much they used its memory}.
    """

    active: set[str]
    told: Mapping[str, float]
    memory: Mapping[str, float]


def at_work(record: Mapping[str, Any]) -> AtWork:
    """What others did on devices."""
    active = {label for one in record["results"] for label, _ in devices_used(one)}
    return AtWork(active, told_seconds(record), most_of_memory(record))


def busy_of(record: Mapping[str, Any], result: Result, known: AtWork | None = None) -> Busy | None:
    """What others did while a result was measured; None where nothing is known of them.

    known: as `at_work` says, of whoever asks for many results
    Nothing explains the fault of a drill but the drill.
    """
    others = result.get("others")
    if not others or not others["seconds"] or is_drill(record):
        return None
    rates, shares = foreign(others, result["size_bytes"])
    held = held_of(others)
    if not held and not any(amount > 0 for of in (*rates.values(), *shares.values()) for amount in of.values()):
        return None
    both, staged = result["metric"] == "bidirectional", result["peer_access"] == "off"
    by_kernel, by_messages = result["engine"] in ("sm", "nccl"), "mpi" in (result["engine"], result["transport"])
    makers = ("rows", "columns")
    if not both and not by_messages and result["engine"] != "nccl":
        makers = ("rows",) if result["direction"] == "write" else ("columns",)
    active, told, memory = known or at_work(record)
    active = active | {label for label in held if told.get(label, 0.0) < SILENT}
    latency = result["metric"] == "latency"
    node = {device["label"]: device["node"] for device in record.get("devices", []) if device.get("node")}
    unread = {kind: with_nodes(labels, node) for kind, labels in unread_of(others).items()}
    # a look may miss what is done there, but not who is there
    memory = shares.get("memory", {}) | {label: share for label, share in memory.items() if label in held}
    active = with_nodes(active & held.keys(), node)
    held = {label: held.get(label, 1) for label in with_nodes(frozenset(held), node)}
    uncounted = Uncounted(held, active, unread, memory, makers, latency, by_kernel, both)
    turns = turns_with_nodes(turns_of_others(others), node)
    had = {one: late / wanted for one, (late, wanted, _) in turns.items() if wanted >= LEAST_SECONDS}
    shares = {**shares, "cpu": had}
    lost = {one: late / (ranks * others["seconds"]) for one, (late, _, ranks) in turns.items()}
    return Busy(others, rates, shares, makers, by_kernel, by_messages, staged, uncounted, 2 if both else 1, node, lost)


def with_nodes(labels: frozenset[str], node: Mapping[str, str]) -> frozenset[str]:
    """Endpoints, and the nodes of the ranks among them, for a matrix of nodes."""
    return labels | {node[label] for label in labels if label in node and node_of(label) == node[label]}


def turns_with_nodes(
    turns: Mapping[str, tuple[float, float]], node: Mapping[str, str]
) -> dict[str, tuple[float, float, int]]:
    """{rank, or node: seconds that it waited for others, that it wanted a processor, of how many ranks}."""
    found = {label: (late, wanted, 1) for label, (late, wanted) in turns.items()}
    for label, (late, wanted) in turns.items():
        if node_of(label) is not None and label in node:
            before = found.get(node[label], (0.0, 0.0, 0))
            found[node[label]] = (before[0] + late, before[1] + wanted, before[2] + 1)
    return found


def is_drill(record: Mapping[str, Any]) -> bool:
    """Whether a fault was simulated."""
    return any(note.startswith(DRILL) for note in record.get("notes", []))


def explained(worse: np.ndarray, share: np.ndarray, unit: str) -> np.ndarray:
    """True for cells that are no observation: others had part of their path, and they are no slower than that makes.

    worse: than expected, as a fraction
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = -np.log1p(worse) if unit == "us" else np.log1p(-worse)
        bound = np.log1p(-share) - SLACK - BEYOND * share
    return (share > LEAST) & (worse > 0) & ~(deviation < bound)


def uncounted_use(record: Mapping[str, Any], result: Result) -> str:
    """Who may have made a result slower by nobody knows how much, in a sentence; "" where nobody can have."""
    found = busy_of(record, result)
    if found is None:
        return ""
    rows, columns = result["rows"], result["columns"]
    classes = from_result(result).classes
    if not any(found.uncounted.of(found.path_of(one), one, rows, columns).any() for one in classes):
        return ""
    label = found.uncounted.where(rows[0], columns[0])
    taken = "what they took is not counted: measure without them (--wait-idle)"
    return f"others were on {label}{found.who(label)}, and {taken}"
