"""Whose turn it was: what others had of the processors that ranks may use, seen or not.

Only what ran on a rank's own cores took turns with it. Processes that nobody lists had them too: those that ended
before they were looked at, those of others where the kernel hides them (hidepid), and the smallest of many.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")

Others = Mapping[str, Any]  # a record's `others`
Process = Mapping[str, Any]  # one of its `processes`
Ranges = tuple[tuple[int, int], ...]


def node_of(label: str) -> str | None:
    """The node of a rank, "n3" of "n3:gpu0"; None of what is no rank."""
    return label.rpartition(":")[0] or None


@lru_cache
def ranges_of(cores: str) -> Ranges:
    """((0, 3), (8, 8)) of "0-3,8"; none of what is no list of cores."""
    found = [RANGE.fullmatch(one) for one in cores.split(",")]
    return tuple((int(one[1]), int(one[2] or one[1])) for one in found if one) if all(found) else ()


@lru_cache(maxsize=1 << 14)
def may_meet(some: str | None, others: str | None) -> bool:
    """Whether two lists of cores have one in common, or one of them is not known."""
    if not some or not others or not ranges_of(some) or not ranges_of(others):
        return True
    return any(a <= d and c <= b for a, b in ranges_of(some) for c, d in ranges_of(others))


def of_ranks(others: Others) -> Iterator[tuple[Mapping[str, Any], float]]:
    """(what is known of a rank's processors, seconds of listed processes of others that may run there)."""
    there: dict[str, list[Mapping[str, Any]]] = {}
    for one in (one for one in others["processes"] if one.get("on") != "device"):
        there.setdefault(one["where"], []).append(one)
    for use in others["uses"]:
        node = node_of(use["label"])
        if use["of"] == "cpu" and node is not None:
            yield use, sum(one["seconds"] or 0.0 for one in beside(there.get(node, ()), use.get("cores")))


def quota_of(others: Others, label: str) -> str:
    """What the run's own quota of processors kept an endpoint's node from, in a sentence, where that is half or more
    of what its threads waited: the kernel says how long it let none of them run. "" where it has none.
    """
    node = node_of(label) or next((one["node"] for one in others["nodes"] if one["node"] == label), None)
    for one in others["nodes"]:
        held = one.get("throttled") or 0.0
        if node not in (None, one["node"]) or not held:
            continue
        waits = [
            max(0.0, use["counted"] - use["own"])
            for use in others["uses"]
            if use["of"] == "cpu" and node_of(use["label"]) in (None, node) and None not in (use["counted"], use["own"])
        ]
        if 2 * held >= sum(waits):
            return f"the job's own CPU quota ({one.get('quota')}) held it back for {held:.1f} s: give it more cores"
    return ""


def beside(processes: Iterable[Process], cores: str | None) -> Iterator[Process]:
    """The processes that may run on some of these cores."""
    return (one for one in processes if may_meet(one.get("cores"), cores))


def had_by_others(use: Mapping[str, Any], listed: float) -> float:
    """Seconds that others had of a rank's processors; of those that are listed where nobody knows.

    listed: of those that may run there, who may have run elsewhere: what the processors worked says more.
    """
    others = use.get("others")
    return listed if others is None or math.isnan(others) else float(others)


def turns_of_others(others: Others) -> dict[str, tuple[float, float]]:
    """{endpoint: seconds that its threads waited for others, seconds that they wanted a processor}.

    Of a rank at most as long as others had its cores, or the host of its virtual machine: ranks wait for each other.
    """
    stolen = {one["node"]: one["stolen"] or 0.0 for one in others["nodes"]}
    had = {
        use["label"]: had_by_others(use, listed) + stolen.get(node_of(use["label"]), 0.0)
        for use, listed in of_ranks(others)
    }
    found = {}
    for use in others["uses"]:
        if use["of"] != "cpu" or use["counted"] is None or use["own"] is None:
            continue
        late = max(0.0, use["counted"] - use["own"])
        found[use["label"]] = (min(late, had.get(use["label"], late)), use["counted"])
    return found
