"""Sampled matrices: cells of a few matchings of many endpoints. A matching is a set of disjoint pairs.

An endpoint is judged by its measured cells. Pairs that are in no matching are not judged.

Groups of endpoints, such as the endpoints of a leaf switch, are judged by the traffic between groups:

* A few endpoints of a group send concurrently to another group. The value of a pair is the bandwidth of one line.
* All endpoints of the group send concurrently. The sum of their bandwidths, divided by the bandwidth of one line, is
  the number of lines that the uplinks of the group carry.

A group is named only if it is slow with every group that was measured with it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..record.checking import has_matchings, matching_cells
from ..record.matrix import external_cells, from_result
from ..record.units import MOST_NAMED, counted, first
from ..references import noise

MIN_DEVIATION = 0.03  # of a slow group, as a fraction
MIN_SIGMAS = 5  # the same, in σ of the groups
MIN_RATIO = 1.05  # of oversubscription; a lower ratio is noise
MIN_PARTNERS = 2  # groups that were measured with a slow group


def measured_share(result: Mapping[str, Any]) -> float:
    """The number of pairs measured in one or both directions, as a fraction of all pairs of endpoints."""
    pairs = {
        (min(row, column), max(row, column))
        for rows, columns in matching_cells(result)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    }
    count = len(result["rows"])
    return len(pairs) / (count * (count - 1) / 2) if count > 1 else 0.0


def coverage(result: Mapping[str, Any]) -> str:
    """The measured share as text, such as "0.4 % of pairs measured: links not judged"."""
    share = 100 * measured_share(result)
    return f"{share:.2g} % of pairs measured: links not judged" if share < 100 else "all pairs measured"


def bottleneck_sentence(result: Mapping[str, Any]) -> str:
    """The sentence about the shared bottleneck that the program recorded; "" without a bottleneck."""
    found = result.get("matchings", {}).get("shared_bottleneck")
    if found is None:
        return ""
    loss, slower, count = found["loss"], found["slower"], found["compared"]
    ratio = 1 + loss if result["unit"] == "us" else 1 / (1 - loss)
    load = (
        "all endpoints send" if result["metric"] == "bidirectional" else "half of the endpoints send to the other half"
    )
    return (
        f"{slower} of {count} pairs are slower while {load} than alone, by {100 * loss:.1f} %: a shared bottleneck"
        f" ({ratio:.2f}:1 oversubscribed); which pairs share the bottleneck is uncertain; congestion is no fault, so no"
        " endpoint is judged"
    )


def unjudged_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences about the endpoints and groups of a sampled matrix that are not judged."""
    if not has_matchings(result):
        return
    missing = unmeasured_endpoints(result)
    if missing:
        yield f"{', '.join(first(missing))}: without a measured cell, so not judged"
    unconfirmed = result["matchings"]["open"]
    if unconfirmed:
        labels = ", ".join(first(unconfirmed))
        yield f"{labels}: slow in some cells, not confirmed within --max-time; measure again with a longer --max-time"
    if bottleneck := bottleneck_sentence(result):
        yield bottleneck
    groups = unmeasured_groups(result)
    if groups:
        yield f"{', '.join(first(groups))}: not measured to other groups, so their uplinks are not judged"


def unmeasured_endpoints(result: Mapping[str, Any]) -> list[str]:
    """The endpoints without a measured cell."""
    labels = result["rows"]
    if "cells" in result:
        medians = zip(labels, *external_cells(result).medians, strict=True)
        return [label for label, row, column in medians if not row > 0 and not column > 0]
    known = np.isfinite(from_result(result).whole.values)
    has_cell = known.any(axis=1) | known.any(axis=0)
    return [label for label, has in zip(labels, has_cell.tolist(), strict=True) if not has]


class GroupLoad(NamedTuple):
    """The traffic of a group in one direction. Each load is the highest value over all partner groups.

    direction: "sends", "receives" or "both".
    full_load: traffic while all endpoints send, as a share of the usual number of lines.
    light_load: traffic per pair while few endpoints send, as a share of the bandwidth of one line.
    lines: the number of lines that the uplinks of the group carry.
    partners: the number of groups that were measured with this group.
    """

    group: str
    direction: str
    full_load: float
    light_load: float
    lines: float
    partners: int


def group_loads(matchings: Mapping[str, Any], is_bidirectional: bool) -> tuple[list[GroupLoad], float, float]:
    """(load of each group and direction, usual number of lines, usual number of concurrent pairs).

    The bandwidth of one line is the bandwidth of a pair while few pairs exchange data. While all endpoints send, the
    number of lines of a group is the traffic of the group divided by this bandwidth. The usual number is the median.

    matchings: the key `matchings` of a result.
    is_bidirectional: whether a cell is the sum of both directions.
    """
    crossings = matchings["crossings"]
    few = [one for one in crossings if one["few"]]
    full = [one for one in crossings if not one["few"]]
    if not few or not full:
        return [], 0.0, 0.0
    line = float(np.median([one["best"] for one in few]))  # the maximum, because pairs may share a cable
    usual = float(np.median([one["rate"] * one["pairs"] / line for one in full]))
    is_narrow = float(np.median([one["rate"] for one in full])) * MIN_RATIO < line
    seen: dict[tuple[str, str], dict[bool, list[tuple[float, float, str]]]] = {}
    for one in crossings:
        lines = one["rate"] * one["pairs"] / line
        most = min(usual, one["pairs"]) if is_narrow else one["pairs"]  # no bottleneck: a line per pair
        score = one["best"] / line if one["few"] else lines / most
        sides = [("sends", one["from"], one["to"]), ("receives", one["to"], one["from"])]
        for direction, group, other in [("both", *side[1:]) for side in sides] if is_bidirectional else sides:
            seen.setdefault((group, direction), {True: [], False: []})[one["few"]].append((score, lines, other))
    found = []
    for (group, direction), loads in seen.items():
        if loads[False] and loads[True]:
            best, lines, _ = max(loads[False])
            partners = {other for *_, other in loads[False]}
            found.append(GroupLoad(group, direction, best, max(loads[True])[0], lines, len(partners)))
    return found, usual, float(np.median([one["pairs"] for one in full]))


def lower_than_median(scores: np.ndarray) -> np.ndarray:
    """True for scores that are below the median by more than MIN_DEVIATION and by more than MIN_SIGMAS · σ."""
    middle = float(np.median(scores))
    spread = noise.robust_sigma(scores)
    return scores < middle * (1 - max(MIN_DEVIATION, MIN_SIGMAS * spread))


def slow_groups(matchings: Mapping[str, Any], is_bidirectional: bool) -> list[tuple[str, str, str]]:
    """(group, direction, load) of each faulty group.

    direction: "sends", "receives" or "sends and receives".
    load: the load under which the group is slow.

    * "all": all endpoints send.
    * "few": few endpoints send.
    * "both": the group is slow in both cases.
    """
    ends, _, _ = group_loads(matchings, is_bidirectional)
    if not ends:
        return []
    full, few = (
        lower_than_median(np.array([end.full_load for end in ends])),
        lower_than_median(np.array([end.light_load for end in ends])),
    )
    found: dict[str, tuple[list[str], list[str]]] = {}
    for end, of_all, of_few in zip(ends, full.tolist(), few.tolist(), strict=True):
        if (of_all or of_few) and end.partners >= MIN_PARTNERS:
            ways, what = found.setdefault(end.group, ([], []))
            ways.append(end.direction)
            what += ["all"] * of_all + ["few"] * of_few
    return [
        (
            group,
            ways[0] if len(ways) == 1 and ways[0] != "both" else "sends and receives",
            "both" if len(set(what)) > 1 else what[0],
        )
        for group, (ways, what) in sorted(found.items())
    ]


def slow_group_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence per faulty group."""
    matchings, is_bidirectional = result["matchings"], result["metric"] == "bidirectional"
    if not matchings.get("groups"):
        return
    ends, usual, _ = group_loads(matchings, is_bidirectional)
    found = slow_groups(matchings, is_bidirectional)
    for group, direction, load in found[:MOST_NAMED]:
        loads = [end for end in ends if end.group == group]
        lines = min(end.lines for end in loads)
        slow = 100 * (1 - min(end.light_load for end in loads))
        if load == "all":
            yield (
                f"{group} {direction} the traffic of {lines:.1f} endpoints over its uplinks, other groups of"
                f" {usual:.1f}; with few active pairs, the uplinks are fine: check for missing uplinks and"
                " for other traffic"
            )
        else:
            yield (
                f"{group} {direction} {slow:.1f} % slow over its uplinks, also with few pairs:"
                " check cables, ports and error rates of the uplinks"
            )
    if len(found) > MOST_NAMED:
        yield f"and {counted(len(found) - MOST_NAMED, 'group')} more"


def oversubscription_sentence(result: Mapping[str, Any]) -> str:
    """The sentence about the oversubscription of all groups, which is not a fault; "" if there is none."""
    if not result["matchings"].get("groups"):
        return ""
    _, usual, pairs = group_loads(result["matchings"], result["metric"] == "bidirectional")
    if usual <= 0 or pairs / usual < MIN_RATIO:
        return ""
    return (
        f"groups are {pairs / usual:.2f}:1 oversubscribed, which is no fault: {pairs:.0f} endpoints of a group reach"
        f" other groups with the bandwidth of {usual:.1f} endpoints"
    )


def unmeasured_groups(result: Mapping[str, Any]) -> list[str]:
    """The groups whose traffic with other groups was not measured completely.

    A complete measurement has two cases: all endpoints of the group send, and few endpoints send.
    """
    matchings = result["matchings"]
    if not matchings.get("groups") or result["metric"] == "latency":
        return []
    known = [
        {end for one in matchings["crossings"] if one["few"] is few for end in (one["from"], one["to"])}
        for few in (False, True)
    ]
    return sorted(set(matchings["groups"]) - (known[0] & known[1]))
