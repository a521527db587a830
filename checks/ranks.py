"""The placement of ranks in the output of src/binding, and reasons for misplaced ranks."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from linkmatrix.judge.verdicts import missing
from linkmatrix.record.units import first
from linkmatrix.suite import SHARED_CORES

LINE = re.compile(
    r"binding host=(\S+) rank=(\S+) local=(\S+) cores=(\S+) numa=(\S+) visible=(\S+) gpus=(\S+) nics=(\S+)"
)


@dataclass(frozen=True)
class Binding:
    """The placement of one rank.

    local: the number of the rank on its node.
    numa: {NUMA node: its cores}.
    visible: the devices that the launcher lets the rank use; None if the launcher hides no device.
    gpus, nics: {name: NUMA node}, -1 for an unknown NUMA node.
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
        """The NUMA nodes of the rank's cores."""
        return sorted(node for node, cores in self.numa.items() if cores & self.cores)

    @property
    def device(self):
        """The device that the rank uses: visible devices are assigned by local number. None without devices."""
        devices = tuple(self.gpus) if self.visible is None else self.visible
        return devices[int(self.local) % len(devices)] if devices and self.local.isdigit() else None


def numbers(text):
    """The set of numbers in a text such as "0-3,8"."""
    found = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            found |= set(range(int(low), int(high or low) + 1))
    return frozenset(found)


def format_ranges(cores):
    """The text of a set of numbers, such as "0-3,8"."""
    starts = [core for core in sorted(cores) if core - 1 not in cores]
    ends = [core for core in sorted(cores) if core + 1 not in cores]
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in zip(starts, ends, strict=True))


def parse_devices(text):
    """{name: NUMA node} of a text such as "mlx5_0:1,mlx5_1:0"; {} of "-"."""
    return {name: int(node) for name, _, node in (entry.rpartition(":") for entry in text.split(",")) if name}


def parse_bindings(text):
    """The `Binding` of each rank in the output of src/binding, sorted by host and rank."""
    found = []
    for host, rank, local, cores, numa, visible, *devices in LINE.findall(text):
        numa_cores = {int(node): numbers(list_) for node, list_ in re.findall(r"(\d+):([\d,-]+)", numa)}
        allowed = None if visible == "-" else tuple(visible.split(","))
        found.append(Binding(host, rank, local, numbers(cores), numa_cores, allowed, *map(parse_devices, devices)))
    return sorted(found, key=lambda one: (one.host, int(one.rank) if one.rank.isdigit() else -1))


def rank_text(rank):
    """A rank with its host, cores, device and nearest NICs, as text."""
    near = [nic for nic, node in rank.nics.items() if node in rank.nodes]
    cores = format_ranges(rank.cores) or "none"
    device = f", device {rank.device}" if rank.device is not None else ""
    return f"rank {rank.rank} on {rank.host} (cores {cores}{device}{', near ' + ' '.join(near) if near else ''})"


def placement_faults(found, ranks, nodes, shared_cores=False, spans_numa=False, devices=0):
    """INCOMPLETE reasons for misplaced ranks, because misplaced ranks measure other links.

    found: the `Binding` of each rank. ranks, nodes: the expected numbers.
    shared_cores, spans_numa: whether ranks may share cores, or span NUMA nodes.
    devices: the number of GPUs per node. Ranks may share a GPU if a node has more ranks than GPUs.
    """
    faults = []
    if len(found) != ranks or len({one.rank for one in found}) != ranks:
        faults.append(f"{ranks} ranks were started, {len({one.rank for one in found})} reported their cores")
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
    """INCOMPLETE reasons if the record shows more ranks than cores in a set of cores."""
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
