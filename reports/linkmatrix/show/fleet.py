"""The same position over all nodes: the newest value of each pair of each host against that pair on the other hosts.

A node whose switch or slot makes gpu0->gpu7 a little slower than gpu0->gpu1 is healthy if all nodes are like that, and
a node where one pair alone is off hides in the median of a link class. So pairs are compared with their like only. σ is
that of all pairs of a test case and class, the limit the larger of the floor and k(m)·σ, as for references.

In a record of one node a position is a pair of labels; of several nodes, the place of the device in its node, and what
goes over the network counts for the node that sends and the node that receives.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas

from ..record import units
from ..record.units import figure
from ..references import noise
from . import words

LEAST_HOSTS = 3  # of two that differ nobody knows which is off
MOST_HOSTS = 20  # that are listed
MOST_NAMED = 3  # positions of a host

Position = tuple[str, str]


class Newest(NamedTuple):
    """The newest value of a position on a host."""

    started: str
    value: float
    floor: float = 0.0  # by how much a position may be worse than elsewhere, as a fraction, at least


@dataclass(frozen=True)
class Standing:
    """A host among its like: its positions' deviations, as fractions, worse is negative, and which of them are off."""

    host: str
    started: str
    value: float
    deviations: Mapping[Position, float]
    outliers: tuple[Position, ...]


def placed(record: Mapping[str, Any], cells: "pandas.DataFrame") -> "pandas.DataFrame":
    """Cells of runs/table.py with of_host, from_place and to_place; between nodes, a row for each of the two."""
    import pandas

    count: dict[str, int] = {}
    local: dict[str, str] = {}
    for device in record["devices"]:
        local[device["label"]] = f"device {count.setdefault(device['node'], 0)}"
        count[device["node"]] += 1
    if len(count) < 2:
        return cells.assign(of_host=cells["host"], from_place=cells["source"], to_place=cells["destination"])
    node = {device["label"]: device["node"] for device in record["devices"]}
    here, there = (cells[end].map(node) for end in ("source", "destination"))
    places = [cells[end].map(local).fillna(cells[end]) for end in ("source", "destination")]
    between = here.notna() & there.notna() & (here != there)
    inside = cells.assign(of_host=here.fillna(there).fillna(cells["host"]), from_place=places[0], to_place=places[1])
    sends = cells.assign(of_host=here, from_place=places[0], to_place="other nodes")
    receives = cells.assign(of_host=there, from_place="other nodes", to_place=places[1])
    return pandas.concat([inside[~between], sends[between], receives[between]])


def standings(values: Mapping[str, Mapping[Position, Newest]], unit: str) -> tuple[list[Standing], float]:
    """(hosts, the worst first; the limit as a fraction) of {host: {position: newest value}}."""
    sign = -1.0 if unit == "us" else 1.0
    middle = {
        position: float(np.median([found[position].value for found in values.values() if position in found]))
        for position in {position for found in values.values() for position in found}
    }
    deviations = {
        host: {position: sign * (one.value / middle[position] - 1) for position, one in found.items()}
        for host, found in values.items()
    }
    everything = np.array([deviation for found in deviations.values() for deviation in found.values()])
    sigma = 1.4826 * float(np.median(np.abs(everything - np.median(everything))))
    floor = max(one.floor for found in values.values() for one in found.values())
    limit = max(floor, noise.sigmas(len(everything)) * sigma)
    told = len(values) >= LEAST_HOSTS
    found = [
        Standing(
            host,
            max(one.started for one in values[host].values()),
            float(np.median([one.value for one in values[host].values()])),
            of_host,
            tuple(sorted((place for place, off in of_host.items() if told and off < -limit), key=of_host.__getitem__)),
        )
        for host, of_host in deviations.items()
    ]
    return sorted(found, key=lambda one: (not one.outliers, min(one.deviations.values()))), limit


def percent(off: float) -> str:
    """ "+1.2 %"; what is as good as nothing is not below it."""
    return f"{round(100 * off, 1) + 0.0:+.1f} %"


def lines(values: Mapping[str, Mapping[Position, Newest]], unit: str) -> Iterator[str]:
    """A line for each host: those with outliers first, marked, then the others."""
    found, limit = standings(values, unit)
    sign = -1.0 if unit == "us" else 1.0
    decimals, shown = words.DECIMALS[unit], words.UNITS[unit]
    positions = len({position for one in found for position in one.deviations})
    off = sum(bool(one.outliers) for one in found)
    middle = float(np.median([one.value for one in found]))
    yield (
        f"{units.counted(len(found), 'host')}, {units.counted(positions, 'position')}, median"
        f" {figure(middle, decimals)} {shown}: "
        + (
            f"{off} with outliers, more than {100 * limit:.1f} % worse than the same position elsewhere"
            if len(found) >= LEAST_HOSTS
            else f"too few to tell which one is off, {LEAST_HOSTS} are needed"
        )
    )
    for one in found[:MOST_HOSTS]:
        middle_off = sign * float(np.median(list(one.deviations.values())))
        position, worst = min(one.deviations.items(), key=lambda item: item[1])
        named = one.outliers[:MOST_NAMED] or (position,)
        told = ", ".join(f"{'->'.join(pair)} {percent(sign * one.deviations[pair])}" for pair in named)
        count = f"{len(one.outliers)} of {len(one.deviations)} off: " if one.outliers else "worst "
        mark = "!" if one.outliers else " "
        yield (
            f"{mark} {one.host:<22} {figure(one.value, decimals)} {shown} ({percent(middle_off)})"
            f"  {count}{told}  {one.started[:16]}"
        )
    if len(found) > MOST_HOSTS:
        more = sum(bool(one.outliers) for one in found[MOST_HOSTS:])
        yield f"and {len(found) - MOST_HOSTS} more, " + (
            f"{more} of them with outliers" if more else "all within limits"
        )
