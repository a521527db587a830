"""Disturbances for records of earlier versions, which contain the activity of other processes but no disturbances.

The limits are those of the programs: a share of more than 10 % disturbs.

- context: the driver listed another process on a device.
- cpu: a thread or rank waited for more than 10 % of the time that it needed its cores. A rank waits for its peers too,
  so only the time counts in which other processes or the hypervisor had its cores.
- adapter: others moved more than 10 % of what the adapter carries; without a rate, of all that it counted, and more
  than 1 MB/s. Overhead of the run's own messages is left out.
- memory: another process was on a device that the run lost for lack of memory.

Waiting for the run's own CPU quota is no disturbance. These records do not contain the number of cores of a node, so
use of the cores disturbs only where an endpoint waited.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

SHARE = 0.10  # a larger share disturbs
LEAST_SECONDS = 0.02  # that a thread needed a core: less is one tick of a clock
LEAST_RATE = 1e6  # bytes a second of an adapter without a rate
HEADS, MESSAGE_HEADS, REQUESTS = 0.10, 256.0, 0.05  # of own bytes; bytes per message; of bytes in the other direction
BACK = {"net_out": "net_in", "net_in": "net_out"}
NO_CONTEXT = ("cpu", "net_out", "net_in", "tcp_sent", "tcp_again")  # uses that no device has
RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
RATE = re.compile(r"([\d.]+)\s*Gb")
ENDED = re.compile(r"does not answer|did not answer|process|rank|ended|exited|killed|hung|did not finish")
NO_MEMORY = "out of memory"
HOLDER = re.compile(r"process (\d+)(?: \([^)]*\))? holds")

Json = dict[str, Any]


def with_disturbances(record: Json) -> Json:
    """The checked record, with `disturbances` in each `others` and the `kind` of each lost endpoint.

    Returns the record itself if an earlier version did not write it.
    """
    record = with_kinds(record)
    nodes = Nodes(record)
    made = of_holder(record, record, nodes)
    results = [of_holder(record, result, nodes) for result in record["results"]]
    if any(new is not old for new, old in zip(results, record["results"], strict=True)):
        made = {**made, "results": results}
    soak = record.get("soak")
    if soak and (new := of_holder(record, soak, nodes)) is not soak:
        made = {**made, "soak": new}
    return made


class Nodes:
    """The node of each endpoint of a record."""

    def __init__(self, record: Json) -> None:
        self.known = {device["label"]: str(device["node"]) for device in record["devices"]}
        self.names = {*self.known.values()}
        self.only = next(iter(self.names)) if len(self.names) == 1 else str(record["host"]["name"])

    def __call__(self, label: str) -> str:
        """The node of its device, else the prefix of its label, else the only node, else the host."""
        if label in self.known or label in self.names:
            return self.known.get(label, label)
        return label.rpartition(":")[0] or self.only


def with_kinds(record: Json) -> Json:
    """The record, with the kind of each lost endpoint."""
    if all("kind" in one for one in record["lost"]):
        return record
    return {**record, "lost": [{**one, "kind": one.get("kind") or kind_of(record, one)} for one in record["lost"]]}


def kind_of(record: Json, lost: Json) -> str:
    """ "memory" if another process held it, "process" for a rank that ended or hung, else "device"."""
    if NO_MEMORY in lost["why"]:
        return "memory" if holders(record, lost) else "process"
    return "process" if ENDED.search(lost["why"]) else "device"


def holders(record: Json, lost: Json) -> list[int]:
    """The other processes on the device of a lost endpoint."""
    named = [int(pid) for pid in HOLDER.findall(lost["why"])]
    there = (others for one in (record, *record["results"]) if (others := one.get("others")))
    listed = [one["pid"] for others in there for one in on_devices(others) if one["where"] == lost["label"]]
    return list(dict.fromkeys([*named, *listed]))


def of_holder(record: Json, holder: Json, nodes: Nodes) -> Json:
    """A record, result or soak, with the disturbances of its `others`."""
    others = holder.get("others")
    if not others or "disturbances" in others:
        return holder
    found = [*contexts(others, nodes), *memory(record, nodes)]
    if others["seconds"]:
        found += [*of_endpoints(others, nodes), *of_adapters(record, others, holder)]
    return {**holder, "others": {**others, "disturbances": found}}


def entry(node: str, kind: str, where: str, share: float | None, pids: Iterable[int]) -> Json:
    """A disturbance, as the programs record it."""
    share = None if share is None else round(min(share, 1.0), 4)
    return {"node": node, "kind": kind, "where": where, "share": share, "pids": list(dict.fromkeys(pids))}


def on_devices(others: Json) -> Iterator[Json]:
    """The processes with a context on a device. Older records contain only the location of a process."""
    devices = {use["label"] for use in others["uses"] if use["of"] not in NO_CONTEXT}
    for one in others["processes"] if others["shared"] else ():
        if one["on"] == "device" if "on" in one else (one["where"] in devices or bool(one["bytes"])):
            yield one


def contexts(others: Json, nodes: Nodes) -> Iterator[Json]:
    """Devices on which another process had a context."""
    there: dict[str, list[int]] = {}
    for one in on_devices(others):
        there.setdefault(one["where"], []).append(one["pid"])
    yield from (entry(nodes(label), "context", label, None, pids) for label, pids in there.items())


def memory(record: Json, nodes: Nodes) -> Iterator[Json]:
    """Devices that the run lost because other processes hold their memory."""
    for one in record["lost"]:
        if one["kind"] == "memory":
            yield entry(nodes(one["label"]), "memory", one["label"], None, holders(record, one))


def of_endpoints(others: Json, nodes: Nodes) -> Iterator[Json]:
    """Threads and ranks that waited for cores that others had."""
    stolen = {one["node"]: one["stolen"] or 0.0 for one in others["nodes"]}
    waits = waits_of(others, nodes)
    there = processes_on_nodes(others)
    for use in others["uses"]:
        late, node = waits.get(use["label"], 0.0), nodes(use["label"])
        if use["of"] != "cpu" or late <= 0 or use["counted"] < LEAST_SECONDS:
            continue
        beside = [one for one in there.get(node, ()) if may_meet(one.get("cores"), use.get("cores"))]
        if use["label"].rpartition(":")[0]:  # a rank, which waits for its peers too
            had = use.get("others")
            had = sum(one["seconds"] or 0.0 for one in beside) if had is None else had
            late = min(late, had + stolen.get(node, 0.0))
        if late > SHARE * use["counted"]:
            yield entry(node, "cpu", use["label"], late / use["counted"], [one["pid"] for one in beside])


def waits_of(others: Json, nodes: Nodes) -> dict[str, float]:
    """{endpoint: seconds that it waited for its cores}, where the run's own CPU quota explains less than half."""
    waits = {
        use["label"]: max(0.0, use["counted"] - use["own"])
        for use in others["uses"]
        if use["of"] == "cpu" and None not in (use["counted"], use["own"])
    }
    throttled = {one["node"]: one.get("throttled") or 0.0 for one in others["nodes"]}
    total: dict[str, float] = {}
    for label, late in waits.items():
        total[nodes(label)] = total.get(nodes(label), 0.0) + late
    return {label: late for label, late in waits.items() if 2 * throttled.get(nodes(label), 0.0) < total[nodes(label)]}


def processes_on_nodes(others: Json) -> dict[str, list[Json]]:
    """{node: the other processes on its cores}."""
    there: dict[str, list[Json]] = {}
    for one in others["processes"]:
        if one.get("on", "node") == "node":
            there.setdefault(one["where"], []).append(one)
    return there


@lru_cache(maxsize=1 << 14)
def may_meet(some: str | None, others: str | None) -> bool:
    """Whether two lists of cores have one in common, or one of them is unknown."""
    first, second = ranges_of(some or ""), ranges_of(others or "")
    return not first or not second or any(a <= d and c <= b for a, b in first for c, d in second)


@lru_cache
def ranges_of(cores: str) -> tuple[tuple[int, int], ...]:
    """((0, 3), (8, 8)) of "0-3,8"; none of what is no list of cores."""
    found = [RANGE.fullmatch(one) for one in cores.split(",")]
    return tuple((int(one[1]), int(one[2] or one[1])) for one in found if one) if all(found) else ()


def of_adapters(record: Json, others: Json, holder: Json) -> Iterator[Json]:
    """Nodes whose adapters moved bytes that the run did not send or receive."""
    own = {(use["label"], use["of"]): use["own"] or 0.0 for use in others["uses"]}
    heads = MESSAGE_HEADS / size if (size := holder.get("size_bytes")) else 0.0
    for use in others["uses"]:
        if use["of"] not in BACK or None in (use["counted"], use["own"]):
            continue
        back = own.get((use["label"], BACK[use["of"]]), 0.0)
        foreign = use["counted"] - (1 + HEADS + heads) * use["own"] - (REQUESTS + heads) * back
        by = use.get("by") or use["label"]
        carries = rate_of(record, use["label"], by) * others["seconds"]
        if foreign > max(SHARE * (carries or use["counted"]), 0.0 if carries else LEAST_RATE * others["seconds"]):
            yield entry(use["label"], "adapter", by, foreign / (carries or use["counted"]), [])


def rate_of(record: Json, node: str, by: str) -> float:
    """Bytes a second that the adapters named in `by` carry; 0 where one of the rates is unknown."""
    names = [name.strip() for name in by.split(",")]
    rates = {
        name: float(found[1]) * 1e9 / 8
        for adapter in record["adapters"]
        if adapter["place"].get("node", node) == node and (found := RATE.search(adapter["rate"] or ""))
        for name in (adapter["name"], *(one["name"] for one in adapter.get("interfaces", ())))
    }
    return sum(rates[name] for name in names) if set(names) <= set(rates) else 0.0
