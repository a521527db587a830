"""Which rank holds the others back: the one without which a collective of all others is faster."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..record.collective import is_collective

PROGRAM = "collective_perf --testcase all_reduce_perf_without"
WITHOUT = "without-"  # before the label of a rank: the column of all others

#: By how much it must be faster without a rank, beyond the intervals of both, by the memory: each column is measured
#: once, and from one to the next they differ by more than their intervals, most where ranks share a host's cores. And
#: how far apart those may be that are alike, as a share of that gap.
GAPS, ALIKE = {"device": 0.03, "host": 0.10}, 0.5
FEWEST = 3  # columns: of two nobody knows which of them is as it should be


class Member(NamedTuple):
    """A rank, and what all others reach without it, with the interval of its median."""

    label: str
    value: float
    low: float
    high: float


def leaves_out(result: Mapping[str, Any]) -> bool:
    """Is a result of a collective without each rank in turn?"""
    return is_collective(result) and all(column.startswith(WITHOUT) for column in result["columns"])


def members(result: Mapping[str, Any]) -> list[Member]:
    """All ranks, the one without which it is fastest first; none where a single one has no value, or is noise."""
    rows = [result[name][0] for name in ("values", "low", "high")]
    labels = [column.removeprefix(WITHOUT) for column in result["columns"]]
    if len(labels) < FEWEST or any(value is None for row in rows for value in row):
        return []
    if not all(result["converged"][0]):  # its interval may be that of a state that it was in for a while
        return []
    return sorted(map(Member, labels, *rows), key=lambda one: -one.value)


def spread(found: list[Member]) -> float:
    """How far apart the values are, as a fraction of the least."""
    return found[0].value / found[-1].value - 1


def holding_back(result: Mapping[str, Any]) -> tuple[list[Member], float]:
    """(the rank without which alone all others are faster, or the two without either of which they are; by how much).

    A slow rank is cured by leaving itself out; a slow link by leaving out one of its ends. Nothing where all are alike,
    or where the step is not clear.
    """
    found, least = members(result), GAPS[result["memory"] or "host"]
    for count in (1, 2):
        cured, others = found[:count], found[count:]
        if not others or len(others) + count < FEWEST or (count == 1 and len(others) < 2):
            continue
        gap = cured[-1].value / others[0].value - 1
        clear = min(one.low for one in cured) > (1 + least) * max(one.high for one in others)
        if clear and max(spread(cured), spread(others)) <= ALIKE * gap:
            return cured, gap
    return [], 0.0


def links_of(label: str, topology: Mapping[str, Any]) -> list[str]:
    """The link classes from a rank to all others, sorted; empty where it is not in the topology."""
    labels = list(topology.get("labels") or [])
    classes = topology.get("link_class") or []
    if label not in labels or not classes:
        return []
    at = labels.index(label)
    return sorted(classes[at][other] for other in range(len(labels)) if other != at)


def links_differ(result: Mapping[str, Any], cured: list[Member], topology: Mapping[str, Any]) -> bool:
    """Are the links of the ranks without which it is faster others than those that all ranks have?"""
    all_links = [links_of(column.removeprefix(WITHOUT), topology) for column in result["columns"]]
    return any(links_of(one.label, topology) != links for one in cured for links in all_links)


def sentences(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """What the ranks that were left out say of each other. topology: the record's."""
    if not leaves_out(result):
        return
    cured, gap = holding_back(result)
    if cured and links_differ(result, cured, topology):
        names = " or ".join(sorted(one.label for one in cured))
        yield (
            f"the others are {100 * gap:.1f} % faster without {names}, and so they may be without any fault: the links"
            " of the ranks are not alike"
        )
    elif len(cured) == 1:
        label = cured[0].label
        yield (
            f"the others are {100 * gap:.1f} % faster without {label} than without any other rank: {label} or what"
            " joins it to them holds them back, if their links are alike"
        )
    elif cured:
        first, second = sorted(one.label for one in cured)
        yield (
            f"the others are {100 * gap:.1f} % faster without {first} or {second} than without any other rank: the way"
            f" between these two holds them back, if all links are alike; or both are slow"
        )
