"""Collectives: all ranks together, a result for each size, out of place and in place its columns.

A simulation (N-body) is one too: a result for each number of bodies, and its columns are numbers of devices.

Both ways are figures of their own: what a link class is to a matrix of pairs, that is the way to a collective. What it
ran on is no endpoint of it, and two results are of one kind only where it was on as many nodes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .units import counted

ENGINES = ("nccl", "mpi")
ALL = "all"  # the only row
ASKED = "asked for "  # begins the note of a result that was not asked for as usual: "asked for double, max"
COMPUTE = "compute"  # metric of a simulation
LIBRARIES = {"nccl": "NCCL", "mpi": "MPI"}  # by engine
USUAL = "NCCL between devices"  # what collectives are by where nobody says more


class Extent(NamedTuple):
    """What a collective ran on; None: nobody knows."""

    nodes: int | None
    ranks: int | None

    def __str__(self) -> str:
        ranks = "ranks that nobody counted" if self.ranks is None else counted(self.ranks, "rank")
        if self.nodes is None:
            return f"{ranks} on nodes that nobody counted"
        return f"{ranks} on {'one node' if self.nodes == 1 else counted(self.nodes, 'node')}"


def is_collective(result: Mapping[str, Any]) -> bool:
    """Is an entry of a record's `results` of all ranks together?"""
    return (result["engine"] in ENGINES or is_simulation(result)) and list(result["rows"]) == [ALL]


def is_simulation(result: Mapping[str, Any]) -> bool:
    """Is an entry of a record's `results` of computation, on several numbers of devices?"""
    return bool(result["metric"] == COMPUTE)


def devices_of(column: str) -> int:
    """4 of "4-devices", a column of a simulation; 0 for another text."""
    number = column.partition("-")[0]
    return int(number) if number.isdigit() else 0


def bodies_of(result: Mapping[str, Any]) -> int | None:
    """Bodies of a simulation, on the fewest devices; None where the record has none."""
    part = result.get("parts", {}).get("bodies")
    found = [value for row in part["values"] for value in row if value is not None] if part else []
    return int(found[0]) if found else None


def extent_of(record: Mapping[str, Any]) -> Extent:
    """What the collectives of a record ran on: all of its devices, a rank each, or what the imported text says."""
    imported = record.get("imported")
    if imported is not None:
        return Extent(imported.get("nodes"), imported.get("ranks"))
    devices = record["devices"]
    return Extent(len({device["node"] for device in devices}) or None, len(devices) or None)


def library_of(result: Mapping[str, Any]) -> str:
    """What moves the data of a collective, and between which memory: "MPI between host memory"; "" of a simulation."""
    library = LIBRARIES.get(result["engine"], "")
    return library and f"{library} between {'host memory' if result['memory'] == 'host' else 'devices'}"


def variant_of(result: Mapping[str, Any]) -> str:
    """What was asked for beyond test case and size, as the program prints it: ", offset 4, 32 blocks"."""
    words = {"offset": "offset {}", "blocks": "{} blocks", "threads": "{} threads"}
    parts = [text.format(result[key]) for key, text in words.items() if result.get(key)]
    parts += ["pageable"] if result.get("host_pages") == "pageable" else []
    parts += [counted(result["pairs"], "pair")] if result.get("pairs") else []
    if result["engine"] in ENGINES:  # of collectives and of NCCL's sends: elements, reduction, protocol and the like
        parts += [note.removeprefix(ASKED) for note in result["notes"] if note.startswith(ASKED)]
    return "".join(f", {part}" for part in parts)
