"""Compares the newest value of each pair of each host with the same pair of the other hosts.

A node whose slot makes gpu0->gpu7 a little slower than gpu0->gpu1 is healthy if all nodes are like that. A single slow
pair is invisible in the median of a link class. So each pair is compared with the same pair of other hosts only. σ is
that of all pairs of a test case and class. The limit is the larger of the floor and k(m)·σ, as for references.

A position is a pair of labels in a record of one node. In a record of several nodes, a position is the numbers of the
devices inside their nodes. A value over the network counts for the node that sends and for the node that receives.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas

from ..record import units
from ..record.units import MOST_NAMED, figure
from ..references import noise
from . import words

LEAST_HOSTS = 3  # with two hosts it is unknown which one is off
MOST_HOSTS = 20  # that are listed
CASE = ["testcase", "size_bytes", "unit", "link_class"]
POSITION = ["from_place", "to_place"]


def placed(record: Mapping[str, Any], cells: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of runs/table.py with of_host, from_place and to_place; two rows for a cell between nodes."""
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


def newest(cells: pandas.DataFrame) -> pandas.DataFrame:
    """The newest value of each position of each host; of several cells at a position their median. cells: from
    `placed`.
    """
    where = [*CASE, "of_host", *POSITION]
    last = cells["started"] == cells.groupby(where, dropna=False)["started"].transform("max")
    of_position = cells[last].groupby(where, dropna=False, sort=False, as_index=False)
    return of_position.agg(started=("started", "first"), value=("value", "median"))


def standings(positions: pandas.DataFrame, unit: str) -> tuple[pandas.DataFrame, pandas.DataFrame, float]:
    """(hosts, positions, limit) of the newest values of a test case.

    positions: has the column floor, the least limit. The result has the columns off, by how much a position is worse
    than the median of the same position elsewhere (below 0), and outlier. hosts: started, value, off, worst, positions,
    outliers of each host, those with outliers first. limit: of `off`, as a fraction.
    """
    sign = -1.0 if unit == "us" else 1.0
    middle = positions.groupby(POSITION)["value"].transform("median")
    off = sign * (positions["value"] / middle - 1)
    sigma = 1.4826 * float((off - off.median()).abs().median())
    limit = max(float(positions["floor"].max()), noise.sigmas(len(off)) * sigma)
    enough = positions["of_host"].nunique() >= LEAST_HOSTS
    positions = positions.assign(off=off, outlier=enough & (off < -limit)).sort_values("off", kind="stable")
    hosts = positions.groupby("of_host").agg(
        started=("started", "max"),
        value=("value", "median"),
        off=("off", "median"),
        worst=("off", "min"),
        positions=("off", "size"),
        outliers=("outlier", "sum"),
    )
    order = hosts.assign(alike=hosts["outliers"] == 0).sort_values(["alike", "worst"], kind="stable").index
    return hosts.loc[order], positions, limit


def worst(newest_of: pandas.DataFrame, unit: str) -> float:
    """By which fraction the worst outlier is worse than its like; 0 without an outlier."""
    hosts, _, _ = standings(newest_of, unit)
    return (
        max(0.0, -float(hosts.loc[hosts["outliers"] > 0, "worst"].min(skipna=True))) if hosts["outliers"].any() else 0.0
    )


def percent(off: float) -> str:
    """ "+1.2 %"; a deviation that rounds to zero is "+0.0 %"."""
    return f"{round(100 * off, 1) + 0.0:+.1f} %"


def lines(newest_of: pandas.DataFrame, unit: str) -> Iterator[str]:
    """A line for each host: those with outliers first, marked, then the others."""
    hosts, positions, limit = standings(newest_of, unit)
    sign = -1.0 if unit == "us" else 1.0
    decimals, shown = words.DECIMALS[unit], words.UNITS[unit]
    count = len(positions.groupby(POSITION))
    yield (
        f"{units.counted(len(hosts), 'host')}, {units.counted(count, 'position')}, median"
        f" {figure(float(hosts['value'].median()), decimals)} {shown}: "
        + (
            f"{(hosts['outliers'] > 0).sum()} with outliers, more than {100 * limit:.1f} % worse than the same position"
            " elsewhere"
            if len(hosts) >= LEAST_HOSTS
            else f"too few to tell which one is off, {LEAST_HOSTS} are needed"
        )
    )
    for host in hosts[:MOST_HOSTS].itertuples():
        worst = positions[positions["of_host"] == host.Index][: min(max(host.outliers, 1), MOST_NAMED)]
        told = ", ".join(
            f"{source}->{destination} {percent(sign * off)}"
            for source, destination, off in worst[[*POSITION, "off"]].itertuples(index=False)
        )
        among = f"{host.outliers} of {host.positions} off: " if host.outliers else "worst "
        mark = "!" if host.outliers else " "
        yield (
            f"{mark} {host.Index:<22} {figure(host.value, decimals)} {shown} ({percent(sign * host.off)})"
            f"  {among}{told}  {host.started[:16]}"
        )
    if len(hosts) > MOST_HOSTS:
        more = (hosts["outliers"][MOST_HOSTS:] > 0).sum()
        yield f"and {len(hosts) - MOST_HOSTS} more, " + (
            f"{more} of them with outliers" if more else "all within limits"
        )
