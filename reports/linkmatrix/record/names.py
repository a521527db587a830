"""Names, types and single fields of records: collectives, simulated faults, options, counters.

The result of a collective has one row, `all`, and the columns out-of-place and in-place. Each size is a separate
result. The result of a simulation (N-body) also has one row. Each number of bodies is a separate result, and each
number of devices is a column.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import BadInput
from .units import SUFFIXES, counted

UNITS = ("GB/s", "us", "GFLOP/s")  # 1e9 bytes a second; microseconds; 1e9 operations a second
MESSAGE_RATE = "msg/s"  # unit of the additional matrix of message rates
HANDOVER = "handover"  # quantity of a visibility test: its data are verified, its time has no reference
FEW_CELLS = 3  # a class of at most 3 cells is compared with its best cell: its median may be a faulty cell
MOST_BYTES = 1 << 50  # maximum of a size in an option
Pair = tuple[str, str]  # source, destination
Record = dict[str, Any]
Result = dict[str, Any]  # one entry of a record's `results`


def lasting_names(testcase: str, labels: Sequence[str]) -> list[str]:
    """The names of endpoints in references and performance variables, in the order of `labels`.

    The names contain no host names, because jobs run on different nodes:

    * nodes: "node2" for "n17"
    * endpoints of several nodes: "rank19" for "n17:gpu3"
    * endpoints of one node: "gpu3" for "n17:gpu3", also if each endpoint has a separate process
    """
    if testcase.startswith("node_to_node_"):
        return [f"node{number}" for number in range(len(labels))]
    if len({label.partition(":")[0] for label in labels if ":" in label}) == 1:
        return [label.rpartition(":")[2] for label in labels]
    return [f"rank{number}" if ":" in label else label for number, label in enumerate(labels)]


def short(host: str) -> str:
    """The name of a host without its domain. An IP address stays unchanged."""
    return host if re.fullmatch(r"[0-9.]+", host) else host.partition(".")[0]


FAULT_PREFIX = "simulated fault: "  # of the note that every program writes


def simulated_fault(record: Mapping[str, Any]) -> str:
    """The simulated fault (`--simulate-fault`) of a record; "" for a real measurement."""
    notes = (str(note) for note in record.get("notes") or [])
    return next((note.removeprefix(FAULT_PREFIX) for note in notes if note.startswith(FAULT_PREFIX)), "")


class OptionValue(NamedTuple):
    """The value of an option in a command line; "" if the value is missing.

    first: the index of the word that contains the name of the option. end: the index of the word after the value.
    """

    value: str
    first: int
    end: int


def option_values(words: Sequence[str], name: str) -> Iterator[OptionValue]:
    """Yields the value of each `--name VALUE` and `--name=VALUE` in the words of a command line."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option == name:
            yield OptionValue(value, at, at + 1) if equals else OptionValue("".join(words[at + 1 : at + 2]), at, at + 2)


EVENT_PREFIX = "xid"  # of the event counters, which do not exist before the first event, and of their sum


class CounterRise(NamedTuple):
    """An error counter that rose during the run. label: the device or network adapter that has the counter."""

    label: str
    name: str
    before: float
    after: float

    @property
    def sentence(self) -> str:
        """The rise as a sentence."""
        return f"{self.label}: {self.name} rose from {self.before:.0f} to {self.after:.0f} during the run"


def counter_rises(record: Mapping[str, Any]) -> list[CounterRise]:
    """The error counters that rose during the run."""
    return [
        CounterRise(one["label"], item["name"], item["before"] or 0, item["after"])
        for one in record.get("health", [])
        for item in one["counters"]
        if has_risen(item)
    ]


def congestion_signs(record: Mapping[str, Any]) -> list[str]:
    """One sentence per network adapter whose congestion counters rose during the run."""
    devices = {device["label"] for device in record["devices"]}
    found = []
    for adapter in record.get("health", []):
        risen = [item for item in adapter["readings"] if has_risen(item)]
        if risen and adapter["label"] not in devices:
            rises = (f"{item['name']} {item['after'] - (item['before'] or 0):.0f} more" for item in risen)
            found.append(f"{adapter['label']}: {', '.join(rises)}")
    return found


def has_risen(item: Mapping[str, Any]) -> bool:
    """Whether a counter rose during the run. False for a counter that was unreadable before the run."""
    if item["before"] is None and not item["name"].startswith(EVENT_PREFIX):
        return False
    return item["after"] is not None and bool(item["after"] > (item["before"] or 0))


ENGINES = ("nccl", "mpi")
ALL = "all"  # the only row of a collective
OPTIONS_PREFIX = "asked for "  # of the note about unusual options: "asked for double, max"
COMPUTE = "compute"  # metric of a simulation
LIBRARIES = {"nccl": "NCCL", "mpi": "MPI"}  # by engine
DEFAULT_LIBRARY = "NCCL between devices"  # of collectives


class Extent(NamedTuple):
    """The number of nodes and the number of ranks of a collective. An unknown number is None."""

    nodes: int | None
    ranks: int | None

    def __str__(self) -> str:
        ranks = "an unknown number of ranks" if self.ranks is None else counted(self.ranks, "rank")
        if self.nodes is None:
            return f"{ranks} on an unknown number of nodes"
        return f"{ranks} on {'one node' if self.nodes == 1 else counted(self.nodes, 'node')}"


def is_collective(result: Mapping[str, Any]) -> bool:
    """Whether a result is a collective or a simulation. result: an entry of a record's `results`."""
    return (result["engine"] in ENGINES or is_simulation(result)) and list(result["rows"]) == [ALL]


def is_simulation(result: Mapping[str, Any]) -> bool:
    """Whether a result is a simulation (N-body). result: an entry of a record's `results`."""
    return bool(result["metric"] == COMPUTE)


def column_devices(column: str) -> int:
    """The number of devices in the name of a simulation's column: 4 for "4-devices"; 0 for any other name."""
    number = column.partition("-")[0]
    return int(number) if number.isdigit() else 0


def body_count(result: Mapping[str, Any]) -> int | None:
    """The number of bodies in the first column of a simulation; None if the record does not contain the number."""
    part = result.get("parts", {}).get("bodies")
    found = [value for row in part["values"] for value in row if value is not None] if part else []
    return int(found[0]) if found else None


def collective_extent(record: Mapping[str, Any]) -> Extent:
    """The numbers of nodes and ranks of a record's collectives. Collectives with different numbers are not comparable.

    Programs of linkmatrix start one rank per device. An imported record contains the two numbers.
    """
    imported = record.get("imported")
    if imported is not None:
        return Extent(imported.get("nodes"), imported.get("ranks"))
    devices = record["devices"]
    return Extent(len({device["node"] for device in devices}) or None, len(devices) or None)


def collective_library(result: Mapping[str, Any]) -> str:
    """The library and memory type of a collective, such as "MPI between host memory"; "" for a simulation."""
    library = LIBRARIES.get(result["engine"], "")
    return library and f"{library} between {'host memory' if result['memory'] == 'host' else 'devices'}"


def option_text(result: Mapping[str, Any]) -> str:
    """The options of a result as programs print them, such as ", offset 4, 32 blocks".

    Test case and size are not included.
    """
    words = {"offset": "offset {}", "blocks": "{} blocks", "threads": "{} threads"}
    parts = [text.format(result[key]) for key, text in words.items() if result.get(key)]
    parts += ["pageable"] if result.get("host_pages") == "pageable" else []
    parts += [counted(result["pairs"], "pair")] if result.get("pairs") else []
    if result["engine"] in ENGINES:  # elements, reduction, protocol of collectives and of NCCL's sends
        parts += [note.removeprefix(OPTIONS_PREFIX) for note in result["notes"] if note.startswith(OPTIONS_PREFIX)]
    return "".join(f", {part}" for part in parts)


def parse_size(text: str, where: str) -> int:
    """Converts "512MiB", "16" or "160 MB" to bytes. Raises BadInput. where: the beginning of its message."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([KMG]?i?B?)", text.strip())
    if match is None or match[2] not in SUFFIXES or not 0 < int(match[1]) * SUFFIXES[match[2]] <= MOST_BYTES:
        raise BadInput(
            f"{where} '{text}' is not a size: use a number of bytes, or a number with KiB, MiB, GiB, KB, MB or GB"
        )
    return int(match[1]) * SUFFIXES[match[2]]
