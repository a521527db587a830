"""Names, types and single fields of records: link classes, collectives, simulated faults, options, counters.

A collective has one row, `all`, and the columns out-of-place and in-place. Each size is one result. A simulation
(N-body) is stored in the same way: each number of bodies is one result, and a column is a number of devices.
Collectives are comparable only on the same number of nodes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import BadInput
from .units import SUFFIXES, counted

UNITS = ("GB/s", "us", "GFLOP/s")  # 1e9 bytes a second; microseconds; 1e9 operations a second
MESSAGE_RATE = "msg/s"  # unit of a further matrix
HANDOVER = "handover"  # quantity of a visibility test: its words are verified, its time has no reference
UNKNOWN = "unknown"  # link class
PCI_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")  # link classes of nvidia-smi inside a node, the nearest first
DIRECT = re.compile(r"(NV|ICN)(\d{1,4})")  # link class of direct links: type and number
NO_CLASS = ""  # the class of a pair without an adopted class
LINK_ORDER = (*PCI_CLASSES, "NET")  # link classes from good to bad, all of them worse than direct links
FEW_CELLS = 3  # a class of so few cells is compared with its best cell, because its median may be a faulty cell
MOST_BYTES = 1 << 50  # maximum of a size in an option
Pair = tuple[str, str]  # source, destination
Record = dict[str, Any]
Result = dict[str, Any]  # one entry of a record's `results`


def lasting_names(testcase: str, labels: Sequence[str]) -> list[str]:
    """The names of the endpoints `labels` in references and performance variables, in the same order.

    Jobs run on different nodes, so rank "n17:gpu3" becomes "rank19", and node "n17" becomes "node2". If all endpoints
    are on one node, the name is the part after the node's name: "gpu3". One process per GPU then has the names of a
    single process.
    """
    if testcase.startswith("node_to_node_"):
        return [f"node{number}" for number in range(len(labels))]
    if len({label.partition(":")[0] for label in labels if ":" in label}) == 1:
        return [label.rpartition(":")[2] for label in labels]
    return [f"rank{number}" if ":" in label else label for number, label in enumerate(labels)]


def short(host: str) -> str:
    """The name of a host without its domain. An address is not shortened."""
    return host if re.fullmatch(r"[0-9.]+", host) else host.partition(".")[0]


NOTE = "simulated fault: "  # prefix of the note that every program writes


def simulated_fault(record: Mapping[str, Any]) -> str:
    """The simulated fault (`--simulate-fault`) of a record; "" for a real measurement."""
    notes = (str(note) for note in record.get("notes") or [])
    return next((note.removeprefix(NOTE) for note in notes if note.startswith(NOTE)), "")


class Given(NamedTuple):
    """An option of a command line.

    value: "" where the command line ends. first, end: the positions of its first word, and after its last word.
    """

    value: str
    first: int
    end: int


def given(words: Sequence[str], name: str) -> Iterator[Given]:
    """Yields each `--name VALUE` and `--name=VALUE` of a command line."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option == name:
            yield Given(value, at, at + 1) if equals else Given("".join(words[at + 1 : at + 2]), at, at + 2)


OF_EVENTS = "xid"  # prefix of the event counters, which do not exist before the first event; also their sum


class Risen(NamedTuple):
    """An error or event that a device or network adapter counted during the run."""

    label: str
    name: str
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """The counter and its change as a sentence."""
        return f"{self.label}: {self.name} rose from {self.before:.0f} to {self.after:.0f} during the run"


def risen(record: Mapping[str, Any]) -> list[Risen]:
    """The error counters that rose during the run."""
    return [
        Risen(one["label"], item["name"], item["before"] or 0, item["after"])
        for one in record.get("health", [])
        for item in one["counters"]
        if rose(item)
    ]


def signs_of_congestion(record: Mapping[str, Any]) -> list[str]:
    """Sentences about counters of network adapters that rise in a busy network."""
    devices = {device["label"] for device in record["devices"]}
    adapters = [one for one in record.get("health", []) if one["label"] not in devices]
    risen = {one["label"]: [item for item in one["readings"] if rose(item)] for one in adapters}
    said = {
        label: [f"{item['name']} {item['after'] - (item['before'] or 0):.0f} more" for item in items]
        for label, items in risen.items()
    }
    return [f"{label}: {', '.join(texts)}" for label, texts in said.items() if texts]


def rose(item: Mapping[str, Any]) -> bool:
    """Whether a counter rose during the run. False for a counter that could not be read before the run."""
    if item["before"] is None and not item["name"].startswith(OF_EVENTS):
        return False
    return item["after"] is not None and bool(item["after"] > (item["before"] or 0))


ENGINES = ("nccl", "mpi")
ALL = "all"  # the only row
ASKED = "asked for "  # prefix of the note about unusual options: "asked for double, max"
COMPUTE = "compute"  # metric of a simulation
LIBRARIES = {"nccl": "NCCL", "mpi": "MPI"}  # by engine
USUAL = "NCCL between devices"  # the default of collectives


class Extent(NamedTuple):
    """The numbers of nodes and ranks of a collective; None: unknown."""

    nodes: int | None
    ranks: int | None

    def __str__(self) -> str:
        ranks = "an unknown number of ranks" if self.ranks is None else counted(self.ranks, "rank")
        if self.nodes is None:
            return f"{ranks} on an unknown number of nodes"
        return f"{ranks} on {'one node' if self.nodes == 1 else counted(self.nodes, 'node')}"


def is_collective(result: Mapping[str, Any]) -> bool:
    """Whether an entry of a record's `results` is a collective or a simulation."""
    return (result["engine"] in ENGINES or is_simulation(result)) and list(result["rows"]) == [ALL]


def is_simulation(result: Mapping[str, Any]) -> bool:
    """Whether an entry of a record's `results` is a simulation, on several numbers of devices."""
    return bool(result["metric"] == COMPUTE)


def devices_of(column: str) -> int:
    """The number of devices of a simulation's column: 4 for "4-devices"; 0 for another text."""
    number = column.partition("-")[0]
    return int(number) if number.isdigit() else 0


def bodies_of(result: Mapping[str, Any]) -> int | None:
    """The number of bodies of a simulation on the fewest devices; None if the record does not contain it."""
    part = result.get("parts", {}).get("bodies")
    found = [value for row in part["values"] for value in row if value is not None] if part else []
    return int(found[0]) if found else None


def extent_of(record: Mapping[str, Any]) -> Extent:
    """The numbers of nodes and ranks of the collectives of a record: one rank per device, or as imported."""
    imported = record.get("imported")
    if imported is not None:
        return Extent(imported.get("nodes"), imported.get("ranks"))
    devices = record["devices"]
    return Extent(len({device["node"] for device in devices}) or None, len(devices) or None)


def library_of(result: Mapping[str, Any]) -> str:
    """The library and the memory of a collective: "MPI between host memory"; "" for a simulation."""
    library = LIBRARIES.get(result["engine"], "")
    return library and f"{library} between {'host memory' if result['memory'] == 'host' else 'devices'}"


def variant_of(result: Mapping[str, Any]) -> str:
    """The options of a result beyond test case and size, as the program prints them: ", offset 4, 32 blocks"."""
    words = {"offset": "offset {}", "blocks": "{} blocks", "threads": "{} threads"}
    parts = [text.format(result[key]) for key, text in words.items() if result.get(key)]
    parts += ["pageable"] if result.get("host_pages") == "pageable" else []
    parts += [counted(result["pairs"], "pair")] if result.get("pairs") else []
    if result["engine"] in ENGINES:  # elements, reduction, protocol of collectives and of NCCL's sends
        parts += [note.removeprefix(ASKED) for note in result["notes"] if note.startswith(ASKED)]
    return "".join(f", {part}" for part in parts)


def parse_size(text: str, where: str) -> int:
    """The bytes of "512MiB", "16" or "160 MB". Raises BadInput, which begins with `where`."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([KMG]?i?B?)", text.strip())
    if match is None or match[2] not in SUFFIXES or not 0 < int(match[1]) * SUFFIXES[match[2]] <= MOST_BYTES:
        raise BadInput(
            f"{where} '{text}' is not a size: use a number of bytes, or a number with KiB, MiB, GiB, KB, MB or GB"
        )
    return int(match[1]) * SUFFIXES[match[2]]
