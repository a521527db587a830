"""Parses the placement of ranks from the output of src/binding, and finds misplaced ranks."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from linkmatrix.judge.verdicts import missing
from linkmatrix.record.units import first, number_ranges, range_text
from linkmatrix.suite import SHARED_CORES

LINE = re.compile(
    r"binding host=(\S+) rank=(\S+) local=(\S+) cores=(\S+) numa=(\S+) visible=(\S+) gpus=(\S+) nics=(\S+)"
)


@dataclass(frozen=True)
class Binding:
    """The placement of one rank.

    host: the name of the node.
    local: the number of the rank on its node.
    cores: the cores that the rank may use.
    numa: {NUMA node: its cores}.
    visible: the devices that the launcher lets the rank use; None if the launcher hides no device.
    gpus, nics: {name: NUMA node}. An unknown NUMA node is -1.
    """

    host: str
    rank: str
    local: str
    cores: frozenset[int]
    numa: dict[int, frozenset[int]] = field(default_factory=dict)
    visible: tuple[str, ...] | None = None
    gpus: dict[str, int] = field(default_factory=dict)
    nics: dict[str, int] = field(default_factory=dict)

    @property
    def nodes(self):
        """The NUMA nodes that contain the rank's cores."""
        return sorted(node for node, cores in self.numa.items() if cores & self.cores)

    @property
    def device(self):
        """The device that the rank uses; None without devices.

        Ranks use the visible devices in the order of their local numbers.
        """
        devices = tuple(self.gpus) if self.visible is None else self.visible
        return devices[int(self.local) % len(devices)] if devices and self.local.isdigit() else None


def numbers(text):
    """Parses a text such as "0-3,8" to a set of numbers."""
    found = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            found |= set(range(int(low), int(high or low) + 1))
    return frozenset(found)


def format_ranges(cores):
    """Formats a set of numbers as text, such as "0-3,8"."""
    return range_text(number_ranges(cores))


def parse_devices(text):
    """Parses a text such as "mlx5_0:1,mlx5_1:0" to {name: NUMA node}. The text "-" means no devices."""
    return {name: int(node) for name, _, node in (entry.rpartition(":") for entry in text.split(",")) if name}


def parse_bindings(text):
    """Parses the output of src/binding to a list of `Binding`, sorted by host and rank."""
    found = []
    for host, rank, local, cores, numa, visible, *devices in LINE.findall(text):
        numa_cores = {int(node): numbers(list_) for node, list_ in re.findall(r"(\d+):([\d,-]+)", numa)}
        allowed = None if visible == "-" else tuple(visible.split(","))
        found.append(Binding(host, rank, local, numbers(cores), numa_cores, allowed, *map(parse_devices, devices)))
    return sorted(found, key=lambda one: (one.host, int(one.rank) if one.rank.isdigit() else -1))


def rank_text(rank):
    """The description of a rank for messages: its number, host, cores, device and nearest NICs."""
    near = [nic for nic, node in rank.nics.items() if node in rank.nodes]
    cores = format_ranges(rank.cores) or "none"
    device = f", device {rank.device}" if rank.device is not None else ""
    return f"rank {rank.rank} on {rank.host} (cores {cores}{device}{', near ' + ' '.join(near) if near else ''})"


def placement_faults(found, ranks, nodes, shared_cores=False, spans_numa=False, devices=0):
    """INCOMPLETE reasons: missing or misplaced ranks. Misplaced ranks would measure other links.

    found: the `Binding` of each rank.
    ranks, nodes: the expected numbers.
    shared_cores: whether ranks may share cores.
    spans_numa: whether the cores of a rank may belong to several NUMA nodes.
    devices: the number of GPUs per node. If a node has more ranks than GPUs, ranks may share a GPU.
    """
    faults = []
    if len(found) != ranks or len({one.rank for one in found}) != ranks:
        faults.append(f"{ranks} ranks were started, but {len({one.rank for one in found})} reported their cores")
    hosts = sorted({one.host for one in found})
    if len(hosts) != nodes:
        faults.append(f"ranks should be on {nodes} nodes, but are on {len(hosts)}: {', '.join(hosts) or 'none'}")
    faults += [f"rank {one.rank} on {one.host} did not report its cores" for one in found if not one.cores]
    ranks_of = Counter(one.host for one in found)
    for one, other in combinations(found, 2):
        shared = one.cores & other.cores if one.host == other.host else ()
        if shared and not shared_cores:
            faults.append(f"{rank_text(one)} and rank {other.rank} {SHARED_CORES} {format_ranges(shared)}")
        same_device = one.host == other.host and one.device == other.device and one.device is not None
        if same_device and ranks_of[one.host] <= devices:
            faults.append(f"{rank_text(one)} and rank {other.rank} have the same device")
    if not spans_numa:
        faults += [
            f"{rank_text(one)} spans NUMA nodes {', '.join(map(str, one.nodes))}" for one in found if one.nodes[1:]
        ]
    if devices:
        faults += [f"{rank_text(one)} sees no device" for one in found if one.device is None]
    return missing(*faults)


def crowded_faults(record):
    """INCOMPLETE reasons: more ranks than cores are bound to one set of cores."""
    uses = [
        use
        for part in (record, *record["results"])
        for use in (part.get("others") or {}).get("uses", ())
        if use["of"] == "cpu" and use.get("cores")
    ]
    nodes = {}  # {node: {rank: its cores}}
    for use in uses:
        nodes.setdefault(use["label"].rpartition(":")[0], {})[use["label"]] = numbers(use["cores"])
    reasons = []
    for rank_cores in nodes.values():
        for cores in dict.fromkeys(rank_cores.values()):
            inside = [label for label, bound in rank_cores.items() if bound <= cores]
            if len(inside) > len(cores) > 0:
                names = f"core{'s' * (len(cores) > 1)} {format_ranges(cores)} ({', '.join(first(inside))})"
                reasons += missing(f"{len(inside)} ranks on {names}: bind each rank to its own core")
    return list(dict.fromkeys(reasons))
