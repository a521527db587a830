"""What groups of endpoints, such as those of a leaf switch, reach each other with: uplinks at fault, oversubscription.

All endpoints of a group send to as many of another one at once, which says how many lines' worth its uplinks carry; and
a few of them, which says what a line carries where the uplinks are not the limit. A group is named where it is low with
every other that it met: so both ends of a crossing are not blamed for one of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..record.units import MOST_NAMED, counted

LEAST = 0.03  # by how much a group must be lower than the others, as a fraction
SIGMAS = 5  # of what groups differ
LEAST_RATIO = 1.05  # of what endpoints send to what uplinks carry: less is noise
FEWEST = 2  # other groups that one met


class End(NamedTuple):
    """A group and a way. full: its best share of what the others reach each other with; few: the same of few pairs.

    lines: what it carries, in lines of an endpoint. met: how many others.
    """

    group: str
    way: str
    full: float
    few: float
    lines: float
    met: int


def ends_of(matchings: Mapping[str, Any], both_ways: bool) -> tuple[list[End], float, float]:
    """(each group, sending and receiving; how many lines the median group carries; of how many endpoints)."""
    crossings = matchings["crossings"]
    few = [one for one in crossings if one["few"]]
    full = [one for one in crossings if not one["few"]]
    if not few or not full:
        return [], 0.0, 0.0
    line = float(np.median([one["best"] for one in few]))  # of flows that share a cable the others are slower
    usual = float(np.median([one["rate"] * one["pairs"] / line for one in full]))
    is_narrow = float(np.median([one["rate"] for one in full])) * LEAST_RATIO < line
    seen: dict[tuple[str, str], dict[bool, list[tuple[float, float, str]]]] = {}
    for one in crossings:
        lines = one["rate"] * one["pairs"] / line
        most = min(usual, one["pairs"]) if is_narrow else one["pairs"]  # where nothing limits, each pair has its line
        score = one["best"] / line if one["few"] else lines / most
        sides = [("sends", one["from"], one["to"]), ("receives", one["to"], one["from"])]
        for way, group, other in [("both", *side[1:]) for side in sides] if both_ways else sides:
            seen.setdefault((group, way), {True: [], False: []})[one["few"]].append((score, lines, other))
    found = []
    for (group, way), of_it in seen.items():
        if of_it[False] and of_it[True]:
            best, lines, _ = max(of_it[False])
            found.append(End(group, way, best, max(of_it[True])[0], lines, len({other for *_, other in of_it[False]})))
    return found, usual, float(np.median([one["pairs"] for one in full]))


def low(scores: np.ndarray) -> np.ndarray:
    """True where a score is lower than the others by more than they differ."""
    middle = float(np.median(scores))
    spread = 1.4826 * float(np.median(np.abs(scores - middle)))
    return scores < middle * (1 - max(LEAST, SIGMAS * spread))


def named(matchings: Mapping[str, Any], both_ways: bool) -> list[tuple[str, str, str]]:
    """(group, "sends", "receives", "sends and receives"; what is low: "all", "few" or "both") of those at fault."""
    ends, _, _ = ends_of(matchings, both_ways)
    if not ends:
        return []
    full, few = low(np.array([end.full for end in ends])), low(np.array([end.few for end in ends]))
    found: dict[str, tuple[list[str], list[str]]] = {}
    for end, of_all, of_few in zip(ends, full.tolist(), few.tolist(), strict=True):
        if (of_all or of_few) and end.met >= FEWEST:
            ways, what = found.setdefault(end.group, ([], []))
            ways.append(end.way)
            what += ["all"] * of_all + ["few"] * of_few
    return [
        (
            group,
            ways[0] if len(ways) == 1 and ways[0] != "both" else "sends and receives",
            "both" if len(set(what)) > 1 else what[0],
        )
        for group, (ways, what) in sorted(found.items())
    ]


def faults(result: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each group at fault; nothing where no groups were told."""
    matchings, both_ways = result["matchings"], result["metric"] == "bidirectional"
    if not matchings.get("groups"):
        return
    ends, usual, _ = ends_of(matchings, both_ways)
    found = named(matchings, both_ways)
    for group, ways, what in found[:MOST_NAMED]:
        of_it = [end for end in ends if end.group == group]
        lines = min(end.lines for end in of_it)
        slow = 100 * (1 - min(end.few for end in of_it))
        if what == "all":
            yield (
                f"{group} {ways} {lines:.1f} lines' worth across its uplinks, the others {usual:.1f}, and few pairs at"
                " once are fine: suspect uplinks that are missing, or busy with what others send"
            )
        else:
            yield (
                f"{group} {ways} across its uplinks {slow:.1f} % slow, few pairs at once too:"
                " suspect the path: its cables, ports or error rates"
            )
    if len(found) > MOST_NAMED:
        yield f"and {counted(len(found) - MOST_NAMED, 'group')} more"


def ratio(result: Mapping[str, Any]) -> str:
    """That all groups alike are oversubscribed, which is no fault; "" where they are not."""
    if not result["matchings"].get("groups"):
        return ""
    _, usual, pairs = ends_of(result["matchings"], result["metric"] == "bidirectional")
    if usual <= 0 or pairs / usual < LEAST_RATIO:
        return ""
    return (
        f"{pairs:.0f} endpoints of a group reach other groups with {usual:.1f} lines' worth:"
        f" {pairs / usual:.2f}:1 oversubscribed, which is no fault"
    )


def unknown(result: Mapping[str, Any]) -> list[str]:
    """The groups whose uplinks nobody knows: of which all endpoints, or few, were never seen to reach another one."""
    matchings = result["matchings"]
    if not matchings.get("groups") or result["metric"] == "latency":
        return []
    known = [
        {end for one in matchings["crossings"] if one["few"] is few for end in (one["from"], one["to"])}
        for few in (False, True)
    ]
    return sorted(set(matchings["groups"]) - (known[0] & known[1]))
