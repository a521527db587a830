"""Placement of ranks, as src/binding prints it, and reasons for wrong placements. Starts no programs."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from linkmatrix.judge.verdicts import missing
from linkmatrix.record.units import first

LINE = re.compile(
    r"binding host=(\S+) rank=(\S+) local=(\S+) cores=(\S+) numa=(\S+) visible=(\S+) gpus=(\S+) nics=(\S+)"
)


@dataclass(frozen=True)
class Binding:
    """The placement of one rank.

    numa: {NUMA node: its cores}. visible: the devices in the launcher's words; None if it hides none.
    gpus, nics: {name: NUMA node}; -1 for an unknown node.
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
        """The rank's device: the visible device with the rank's number on the node; None without devices."""
        seen = tuple(self.gpus) if self.visible is None else self.visible
        return seen[int(self.local) % len(seen)] if seen and self.local.isdigit() else None


def numbers(text):
    """The numbers in a list such as "0-3,8"."""
    found = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            found |= set(range(int(low), int(high or low) + 1))
    return frozenset(found)


def ranges(cores):
    """A list such as "0-3,8" from numbers."""
    starts = [core for core in sorted(cores) if core - 1 not in cores]
    ends = [core for core in sorted(cores) if core + 1 not in cores]
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in zip(starts, ends, strict=True))


def places(text):
    """{name: NUMA node} from a text such as "mlx5_0:1"; {} from "-"."""
    return {name: int(node) for name, _, node in (entry.rpartition(":") for entry in text.split(",")) if name}


def bindings(text):
    """The ranks in the output of src/binding, sorted by host and rank."""
    found = []
    for host, rank, local, cores, numa, visible, gpus, nics in LINE.findall(text):
        of_node = {int(node): numbers(list_) for node, list_ in re.findall(r"(\d+):([\d,-]+)", numa)}
        seen = None if visible == "-" else tuple(visible.split(","))
        found.append(Binding(host, rank, local, numbers(cores), of_node, seen, places(gpus), places(nics)))
    return sorted(found, key=lambda one: (one.host, int(one.rank) if one.rank.isdigit() else -1))


def spoken(rank):
    """A rank in words, with its nearest NICs."""
    near = [nic for nic, node in rank.nics.items() if node in rank.nodes]
    cores = ranges(rank.cores) or "none"
    device = f", device {rank.device}" if rank.device is not None else ""
    return f"rank {rank.rank} on {rank.host} (cores {cores}{device}{', near ' + ' '.join(near) if near else ''})"


def faults_of(found, ranks, nodes, shared_cores=False, spans_numa=False, devices=0):
    """INCOMPLETE reasons for misplaced ranks, because these measure other links; [] for none.

    ranks, nodes: the expected numbers. shared_cores, spans_numa: whether these are allowed. devices: GPUs of a node.
    Ranks may share a GPU if the node has more ranks than GPUs: two ranks of a node with one GPU measure host memory.
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
            faults.append(f"{spoken(one)} and rank {other.rank} share cores {ranges(shared)}")
        same_device = one.host == other.host and one.device == other.device and one.device is not None
        if same_device and ranks_of[one.host] <= devices:
            faults.append(f"{spoken(one)} and rank {other.rank} have the same device")
    if not spans_numa:
        faults += [f"{spoken(one)} spans NUMA nodes {', '.join(map(str, one.nodes))}" for one in found if one.nodes[1:]]
    if devices:
        faults += [f"{spoken(one)} sees no device" for one in found if one.device is None]
    return missing(*faults)


def crowded_faults(record):
    """INCOMPLETE reasons if the launcher bound ranks to fewer cores than ranks, according to the record."""
    uses = [
        use
        for holder in (record, *record["results"])
        for use in (holder.get("others") or {}).get("uses", ())
        if use["of"] == "cpu" and use.get("cores")
    ]
    of_node = {}  # {node: {rank: its cores}}
    for use in uses:
        of_node.setdefault(use["label"].rpartition(":")[0], {})[use["label"]] = numbers(use["cores"])
    reasons = []
    for cores_of in of_node.values():
        for cores in dict.fromkeys(cores_of.values()):
            inside = [label for label, bound in cores_of.items() if bound <= cores]
            if len(inside) > len(cores) > 0:
                where = f"core{'s' * (len(cores) > 1)} {ranges(cores)}"
                named = ", ".join(first(inside))
                reasons += missing(f"{len(inside)} ranks on {where} ({named}): bind each rank to its own core")
    return list(dict.fromkeys(reasons))
