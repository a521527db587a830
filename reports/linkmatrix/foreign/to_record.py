"""Converts a run of another program into a record with the block `imported`. Unknown values are null."""

import hashlib
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from .. import __version__
from ..record import units
from ..record.link_classes import PCI_CLASSES
from ..record.names import Extent, Pair
from ..record.reading import SCHEMA
from . import launch, nccl
from .table import Run, Table, Topology, is_square

Record = dict[str, Any]
HOST = re.compile(r"host|cpu\d+")  # cpu0: host memory of a NUMA node
MOST_RANKS = 144  # two racks of 72 GPUs; the topology grows with the square of this number
UNKNOWN = dict.fromkeys(("machine", "serial", "product", "kernel", "boot"))  # fields of a node
LATER = (
    "the time of the measurement is unknown: 'started' is the time of the import",
    "the program prints one number per cell: 'low' and 'high' repeat this number",
)


def to_record(run: Run, file: str, content: bytes, now: str, measured: str | None, size: int | None) -> Record:
    """The record of a run.

    content: the bytes of `file`, in which the run was found.
    now: the time of the import, UTC, in the format of records.
    measured: the time of the measurement, in the same format; None if unknown.
    size: bytes per copy, for bandwidth tables whose program does not print the size.
    """
    labels = device_labels(run)
    topology = run.topology or (run.known if run.known and run.known.labels == labels else None)
    if topology and not topology.link_class and run.known and run.known.labels == labels:
        topology = run.known.joined(topology)
    faults = run.faults
    has_wrong_data = bool(run.wrong) or any(table.verified is False for table in run.tables)
    return {
        "schema": SCHEMA,
        "program": "linkmatrix_import",
        "version": __version__,
        "started": measured or now,
        "seconds": run.seconds,
        "phases": [],
        "command": ["linkmatrix", "import", file],
        "backend": "imported",
        "host": {"name": "unknown", "cpu": "unknown", "cores": None, "numa": None},
        "nodes": [],
        "adapters": [],
        "devices": [device(run, topology, index, name) for index, name in enumerate(labels)],
        "topology": topology_block(labels, topology),
        "software": {name: value for name, value in run.software.items() if name not in ("test", "NIC")},
        "imported": {
            "program": run.program,
            "command": run.command[:4096] if run.command else None,
            "file": file,
            "sha256": hashlib.sha256(content).hexdigest(),
            "lines": [run.first, max(run.first, run.last)],
            "column": None,
            **(collective_extent(run)._asdict() if run.program in nccl.PROGRAMS else {}),
            **({"findings": run.findings} if run.reported else {}),
        },
        "asked_by": None,
        "expected": list(dict.fromkeys(table.testcase for table in run.tables)),
        "lost": [],
        "results": [result(table, topology, size) for table in run.tables],
        "result": "FAIL" if has_wrong_data else "ERROR" if faults or not all(map(is_complete, run.tables)) else "PASS",
        "error": "; ".join(units.first(faults))[:4000] or None,
        "notes": [*([] if measured else [LATER[0]]), *([LATER[1]] if run.tables else []), *run.notes],
    }


def measured_record(
    run: Run, text: str, nodes: list[str], testcase: str, asked_by: str | None, size: int | None = None
) -> Record:
    """The record of a test case that was measured a moment ago. nodes: the measured nodes. The first node is the host.

    text: the program's output. size: as in `to_record`.
    """
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = to_record(run, "rfm_job.out", text.encode(), now, now, size)
    record["host"]["name"] = nodes[0] if nodes else "unknown"
    record["nodes"] = [{"name": node, **UNKNOWN} for node in dict.fromkeys(nodes)]
    return record | {"asked_by": asked_by, "expected": [testcase]}


def collective_extent(run: Run) -> Extent:
    """The number of nodes and the number of ranks of a collective, from the list of ranks and the command.

    A number is None if the list and the command contradict each other, or if neither contains the number.
    """
    listed, started = launch.ranks_extent(run.ranks), launch.command_extent(run.command)
    counts = [{count for count in both if count is not None} for both in zip(listed, started, strict=True)]
    return Extent(*(distinct.pop() if len(distinct) == 1 else None for distinct in counts))


def device_labels(run: Run) -> tuple[str, ...]:
    """The labels of the run's devices, from the first of these sources that exists:

    1. the list of ranks
    2. the topology
    3. the states of devices
    4. a table between devices
    5. the axes of other tables
    """
    if 0 < (launch.ranks_extent(run.ranks).ranks or 0) <= MOST_RANKS:
        return launch.rank_labels(run.ranks)
    if run.topology:
        return run.topology.labels
    if run.states:
        return tuple(run.states)
    for table in run.tables:
        if is_square(table):
            return table.rows
    named = [label for table in run.tables for label in (*table.rows, *table.columns) if re.match(r"gpu\d+$", label)]
    return tuple(dict.fromkeys(named))


def device(run: Run, topology: Topology | None, index: int, label: str) -> dict[str, Any]:
    """An entry of `devices` in a record. The entry contains the NICs that are nearest to the device."""
    of_device = {nic: word for (name, nic), word in (topology.nic_class if topology else {}).items() if name == label}
    nearest = min((PCI_CLASSES.index(word) for word in of_device.values() if word in PCI_CLASSES), default=None)
    near = PCI_CLASSES[nearest] if nearest is not None else ""
    state = run.states.get(label, {}) | ({"nic_class": near} if near else {})
    host = run.ranks[index][0] if index in run.ranks else label.rpartition(".")[0] or run.node
    node = host or "unknown"
    return {
        "index": index,
        "label": label,
        "name": run.models.get(label) or run.devices.get(index, "unknown"),
        "uuid": None,
        "pci": None,
        "node": node,
        "numa": topology.numa.get(label) if topology else None,
        "nics": [nic for nic, word in of_device.items() if word == near],
        **({"state": state} if state else {}),
        "part": {},
        "place": {"node": node},
    }


def topology_block(labels: tuple[str, ...], topology: Topology | None) -> dict[str, Any]:
    """The entry `topology` of a record. Unknown values are null or ""."""

    def pairs(known: Any, diagonal: Any, unknown: Any = None) -> list[list[Any]]:
        return [[diagonal if a == b else (known or {}).get((a, b), unknown) for b in labels] for a in labels]

    return {
        "labels": list(labels),
        "link_class": pairs(topology and topology.link_class, "X", ""),
        "links": pairs(topology and topology.links, None),
        "peer_access": pairs(topology and topology.peer_access, None),
        "min_path": pairs(topology and topology.hops, None),
    }


def is_complete(table: Table) -> bool:
    """Whether every cell that applies has a number or the status 'no-peer-access'."""
    return all(
        isinstance(value := table.cells.get((row, column), "not-run"), (int, float)) or value == "no-peer-access"
        for row in table.rows
        for column in table.columns
        if row != column or table.local_copy
    )


def result(table: Table, topology: Topology | None, size: int | None) -> dict[str, Any]:
    """An entry of `results` in a record. size: bytes per copy, for a bandwidth table without a size."""

    def each(cell: Callable[[Pair], Any]) -> list[list[Any]]:
        return [[cell((row, column)) for column in table.columns] for row in table.rows]

    def status(pair: Pair) -> str:
        if pair[0] == pair[1] and not table.local_copy:
            return "not-applicable"
        value = table.cells.get(pair, "not-run")
        return value if isinstance(value, str) else "ok"

    def number(pair: Pair) -> Any:
        value = table.cells.get(pair)
        return value if status(pair) == "ok" else None

    def link_class(pair: Pair) -> str:
        if pair[0] == pair[1]:
            return "LOCAL" if table.local_copy else "X"
        if pair[0] == "local":
            return "LOCAL"
        if any(HOST.fullmatch(label) for label in pair):
            return "HOST"
        return topology.link_class.get(pair, "") if topology else ""

    def shown(part: Any) -> dict[str, Any]:
        return {"title": part.title, "unit": part.unit, "values": each(part.cells.get)}

    given = size if table.size_bytes is None and table.unit == "GB/s" else table.size_bytes
    bound = {"local_copy": True} if table.local_copy else {}
    return {
        "testcase": table.testcase,
        "metric": table.metric,
        "quantity": table.quantity,
        "direction": table.direction,
        "engine": table.engine,
        "kernel": table.kernel,
        "memory": table.memory,
        "transport": table.transport,
        "peer_access": table.peer_access,
        "unit": table.unit,
        "size_bytes": given,
        **bound,
        "rows": list(table.rows),
        "columns": list(table.columns),
        "values": each(number),
        "status": each(status),
        "low": each(number),
        "high": each(number),
        "samples": each(lambda pair: table.samples if status(pair) == "ok" else 0),
        "converged": each(lambda pair: None),
        **dict.fromkeys(("round", "began", "ended", "sampled")),
        "link_class": each(link_class),
        "limit": each(lambda pair: None),
        "parts": {name: shown(part) for name, part in table.parts.items()},
        "verified": table.verified,
        "timing": None,
        "clock_uncertainty_us": None,
        "schedule": {"mode": "serial", "rounds": 0, "pairs_at_once": 0, "interference": None, "witnessed": None},
        "remeasured": [],
        "seconds": 0.0,
        "complete": is_complete(table),
        "notes": [*table.notes, *table.faults][:50],
    }
