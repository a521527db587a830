"""Other processes that disturbed a measurement: the disturbed nodes, and sentences that name the processes.

The program that measures decides which processes disturb a test case. Its record lists them in `others.disturbances`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..record import units
from ..record.names import Result, column_devices, is_collective, is_simulation, simulated_fault
from .verdicts import Reason, disturbed, failed

if TYPE_CHECKING:
    from ..record.matrix import Block, Matrix

UNNAMED = "another process, unnamed"
MEMORY = "memory"  # kind of a disturbance, and of a lost endpoint

Others = Mapping[str, Any]  # `others` of a record, of a result or of a soak
Process = Mapping[str, Any]  # an item of its `processes`


class Disturbance(NamedTuple):
    """A disturbance of a measurement by another process.

    where: name of the endpoint, node or adapter that the process used.
    """

    node: str
    where: str
    sentence: str


@dataclass(frozen=True)
class Disturbances:
    """The disturbances of one result.

    entries: the disturbances, in the order of the record.
    nodes_of: function that returns the nodes of a row or column.
    no_memory: {row or column: sentence}, for devices whose memory other processes occupied. The program could not
    measure the cells of these devices.
    """

    entries: Sequence[Disturbance] = ()
    nodes_of: Callable[[str], Sequence[str]] = lambda label: ()
    no_memory: Mapping[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> Mapping[str, tuple[str, ...]]:
        """{disturbed node: sentences that name the processes}."""
        found: dict[str, tuple[str, ...]] = {}
        for one in self.entries:
            found[one.node] = (*found.get(one.node, ()), one.sentence)
        return found

    def cells(self, matrix: Matrix, block: Block) -> np.ndarray:
        """True for each cell that has an endpoint on a disturbed node; rows × columns of the block."""
        if not self.entries:
            return np.zeros(block.classes.shape, dtype=bool)
        nodes = self.nodes
        return cells_at(matrix, block, lambda label: any(node in nodes for node in self.nodes_of(label)))

    def without_memory(self, matrix: Matrix, block: Block) -> np.ndarray:
        """True for each cell that has an endpoint in `no_memory`; rows × columns of the block."""
        if not self.no_memory:
            return np.zeros(block.classes.shape, dtype=bool)
        return cells_at(matrix, block, lambda label: label in self.no_memory)

    def sentence(self, row: str, column: str) -> str:
        """The sentence about the disturbance of a cell; "" for an undisturbed cell.

        A sentence about an endpoint of the cell takes precedence over a sentence about a node.
        """
        nodes = {*self.nodes_of(row), *self.nodes_of(column)}
        on_nodes = [one for one in self.entries if one.node in nodes]
        at_ends = [one.sentence for one in on_nodes if one.where in (row, column)]
        return next(iter([*at_ends, *(one.sentence for one in on_nodes)]), "")

    def memory_sentence(self, row: str, column: str) -> str:
        """The sentence about the process that occupied the memory of a cell's endpoint; "" if the memory was free."""
        return next((self.no_memory[label] for label in (row, column) if label in self.no_memory), "")


def cells_at(matrix: Matrix, block: Block, chosen: Callable[[str], bool]) -> np.ndarray:
    """True for each cell whose row label or column label is chosen; rows × columns of the block.

    chosen: function that returns whether a label is chosen.
    """
    of_rows, of_columns = block.classes.shape[0], len(matrix.columns)
    rows = [chosen(label) for label in matrix.rows[block.first : block.first + of_rows]]
    columns = [chosen(label) for label in matrix.columns]
    return np.logical_or.outer(np.array(rows, dtype=bool), np.array(columns, dtype=bool)).reshape(of_rows, of_columns)


def disturbances(record: Mapping[str, Any], result: Result) -> Disturbances:
    """The disturbances of a result of a checked record.

    With --simulate-fault, the result has no disturbances: the simulated fault is the cause of slow cells.
    """
    others = result.get("others") or {}
    entries, held = [*recorded_disturbances(others)], dict(occupied_memory(record, others))
    if simulated_fault(record) or not (entries or held):
        return Disturbances()
    node = {device["label"]: str(device["node"]) for device in record.get("devices", [])}
    names = {*node.values(), *(one.node for one in entries)}
    only = [*names] if len({*node.values()} or names) == 1 else []
    members = participants(result, [*node])

    def nodes_of(label: str) -> Sequence[str]:
        if label in members:
            return sorted({node[one] for one in members[label]})
        name = node.get(label) or (label if label in names else label.rpartition(":")[0])
        return (name,) if name in names else only

    in_part = {column: held[label] for column, labels in members.items() for label in labels if label in held}
    of_nodes = {node[label]: why for label, why in held.items() if label in node}
    return Disturbances(entries, nodes_of, of_nodes | held | in_part)


def participants(result: Result, devices: Sequence[str]) -> dict[str, Sequence[str]]:
    """{row or column of a collective: its devices}; {} for other results.

    A column of a simulation with N devices uses the first N devices.
    """
    if not is_collective(result):
        return {}
    if not is_simulation(result):
        return dict.fromkeys((*result["rows"], *result["columns"]), devices)
    return {result["rows"][0]: ()} | {column: devices[: column_devices(column)] for column in result["columns"]}


def recorded_disturbances(others: Others) -> Iterator[Disturbance]:
    """Yields the disturbances in an entry `others` of a record."""
    for one in others.get("disturbances") or ():
        process = " and ".join(units.first(process_names(others, one)))
        process += "," if process.endswith(UNNAMED) else ""
        share = "" if one["share"] is None else f"{100 * one['share']:.0f} % of "
        where = one["where"]
        if one["kind"] == "context":
            sentence = f"{process} had a context on {where}"
        elif one["kind"] == MEMORY:
            sentence = f"{process} held the memory of {where}"
        elif one["kind"] == "adapter":
            sentence = f"{process} used {share}the adapter {where}" + (
                f" of {one['node']}" if where != one["node"] else ""
            )
        elif where == one["node"]:
            sentence = f"{process} used {share}the cores of {where}"
        else:
            sentence = f"{process} took {share}the CPU time of {where}"
        yield Disturbance(one["node"], where, sentence)


def process_names(others: Others, one: Mapping[str, Any]) -> list[str]:
    """The names of the processes of a disturbance, see `process_name`; [UNNAMED] if the record names no process.

    one: an item of `others["disturbances"]`.
    """
    known: dict[int, Process] = {}
    for process in others.get("processes", ()):
        if process["pid"] not in known or process["where"] == one["where"]:
            known[process["pid"]] = process
    return [process_name(known.get(pid, {"pid": pid})) for pid in one["pids"]] or [UNNAMED]


def process_name(process: Process) -> str:
    """The name of a process: "pid 2983 (hog, user bob)".

    The name is UNNAMED for pid 0. A driver reports pid 0 for a process that the driver cannot identify.
    """
    name, user = process.get("name"), process.get("user")
    if not process["pid"] and not name:
        return UNNAMED
    words = f"{name or 'unnamed'}, user {user}" if user else name or "unnamed"
    return f"pid {process['pid']} ({words})"


def occupied_memory(record: Mapping[str, Any], others: Others) -> Iterator[tuple[str, str]]:
    """Yields (device, sentence) for each device that the run could not use because other processes held its memory."""
    for one in record.get("lost", ()):
        if one.get("kind") == MEMORY:
            yield one["label"], f"another process holds the memory of {one['label']}: {one['why']}"
    for holder in (record.get("others") or {}, others):
        for one, entry in zip(holder.get("disturbances") or (), recorded_disturbances(holder), strict=True):
            if one["kind"] == MEMORY:
                yield one["where"], entry.sentence


def detects_no_processes(record: Mapping[str, Any]) -> bool:
    """Whether a foreign program measured the record without detecting other processes."""
    return bool(record["backend"] == "imported" and next(others_entries(record), None) is None)


def others_entries(record: Mapping[str, Any]) -> Iterator[Others]:
    """Yields each entry `others` of a record. The run, each result and the soak can have such an entry."""
    for holder in (record, *record.get("results", ()), record.get("soak", {})):
        if holder.get("others"):
            yield holder["others"]


def ignored(record: Mapping[str, Any]) -> list[str]:
    """The processes that --ignore-processes excluded, such as "pid 12 (dcgm, user root)", without duplicates."""
    return list(
        dict.fromkeys(process_name(one) for others in others_entries(record) for one in others.get("ignored") or ())
    )


def disturbance_sentences(result: Mapping[str, Any]) -> list[str]:
    """The sentences about the processes that disturbed a result or soak, without duplicates."""
    return unique(recorded_disturbances(result.get("others") or {}))


def not_exclusive(record: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences about other processes on the nodes of a partition that is declared as exclusive."""
    soak = [record["soak"]] if record.get("soak", {}).get("others") else []
    for result in (*(record["results"] or [record]), *soak):
        others = result.get("others")
        if others is None:
            yield "the record has no data on other processes: it is unknown whether the node was exclusive"
            return
        when = f" during {result['testcase']}" if "testcase" in result else " during the soak" if result in soak else ""
        yield from (f"the node was not exclusive: {one}{when}" for one in unique(recorded_disturbances(others)))
        if others["shared"] and not any(one["kind"] == "context" for one in others.get("disturbances") or ()):
            why = "".join(f": {one}" for one in others["untold"][:1])
            yield f"it is unknown whether other processes used the devices{when}{why}"


def unique(entries: Iterable[Disturbance]) -> list[str]:
    """The sentences of disturbances, without duplicates."""
    return list(dict.fromkeys(one.sentence for one in entries))


def limit_missed(result: Result, sentence: str) -> list[Reason]:
    """The reason for a value that misses its limit: DISTURBED if another process disturbed the result, otherwise FAIL.

    sentence: the sentence about the value and its limit.
    """
    others = disturbance_sentences(result)
    return disturbed(f"{sentence}; {others[0]}") if others else failed(sentence)
