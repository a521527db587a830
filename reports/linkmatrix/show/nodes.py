"""Compares nodes with each other, without references: in one run, and by the newest values of all stored runs.

In one run, each cell is compared with the median of the same cell over all nodes. Only test cases inside a node are
compared.

In stored runs, the newest value of each position of a host is compared with the same position of the other hosts. A
position is a pair of labels, such as gpu0->gpu7. In records of several nodes, a position is a pair of device numbers
inside their nodes. A value over the network counts twice: for the sender and for the receiver.

Positions are compared instead of medians of link classes for two reasons:

* A position can be slower on all healthy nodes.
* A median does not show a single slow position.

The limit is the larger of the floor and k · σ, as for references. The factor k rises with the number of positions. σ is
estimated from all positions of a test case and link class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.names import Pair, Result
from ..record.units import MOST_NAMED, figure
from ..references import noise
from ..runs.judging import Judged
from . import words

if TYPE_CHECKING:
    import pandas

Key = tuple[str, str, int | None, str, str]  # back end, test case, size, variant, unit
Measured = tuple[str, Key, Judged, MatrixVerdict]  # (node, key, test, verdicts on the matrix)


@dataclass(frozen=True)
class Entry:
    """A test case of a node, with its worst cell.

    pair, value: the worst cell, and its value in `unit`.
    worse: the fraction by which the cell is worse than the median of the same cell over all nodes. A negative fraction
    means that the cell is better. None if no other node has the cell.
    reason: why nothing was measured; "" if the cell has a value.
    """

    node: str
    name: str
    verdict: Verdict
    unit: str = ""
    pair: Pair | None = None
    value: float | None = None
    worse: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """Value and deviation: "395.20 GB/s (-0.3 %)". A negative deviation of a bandwidth is slow."""
        if self.value is None:
            return self.reason or "nothing measured"
        shown = f"{figure(self.value, words.DECIMALS[self.unit])} {words.UNITS[self.unit]}"
        if self.worse is None:
            return shown
        return f"{shown} ({100 * (self.worse if self.unit == 'us' else -self.worse):+.1f} %)"


def entries(judged: list[Judged]) -> list[Entry]:
    """The test cases of all nodes, the worst first; [] for fewer than two nodes."""
    measured: list[Measured] = []
    found: list[Entry] = []
    for one in judged:
        node = words.node_of(one)
        if not node:
            continue
        for result, matrix in one.matrices:
            measured.append((node, key_of(one, result, matrix), one, matrix))
        if one.verdict_beyond_cells is not None:
            name = one.test.testcase or one.test.name.split(" ")[0]
            found.append(Entry(node, name, one.verdict, reason="; ".join(one.reasons) or "as expected"))
    if len({node for node, *_ in measured} | {entry.node for entry in found}) < 2:
        return []
    worst = worst_cells(measured)
    found += [entry_of(node, key, one, matrix, worst.get(at)) for at, (node, key, one, matrix) in enumerate(measured)]
    with_value = {entry.node for entry in found if entry.value is not None}
    # of equal verdicts, nodes without any value come first
    return sorted(found, key=lambda one: (one.verdict, one.node not in with_value, one.worse or 0.0), reverse=True)


def key_of(judged: Judged, result: Result, matrix: MatrixVerdict) -> Key:
    """The key of a matrix. Matrices with the same key can be compared."""
    backend = judged.test.record["backend"] if judged.test.record else ""
    return backend, result["testcase"], result["size_bytes"], matrix.matrix.variant, matrix.matrix.unit


def worst_cells(measured: list[Measured]) -> dict[int, dict[str, Any]]:
    """{index of a matrix: its worst cell}. A worst cell is {"source", "destination", "value", "worse"}, see `Entry`.

    If no other node has the same cells, the worst cell of a matrix is the cell with the worst value.
    """
    import pandas  # slow to load, and unused for one node

    from ..runs import table

    frames = [
        table.matrix_table({"at": at, "node": node, "key": str(key)}, matrix.matrix).assign(unit=key[-1])
        for at, (node, key, _, matrix) in enumerate(measured)
        if matrix.whole is not None
    ]
    if not frames:
        return {}
    cells = pandas.concat(frames, ignore_index=True)
    cells = cells[(cells["status"] == "ok") & cells["value"].notna()]
    place = ["key", "source", "destination"]
    newest = cells.drop_duplicates([*place, "node"], keep="last").groupby(place)["value"]
    of_all = newest.agg(["median", "count"]).reset_index()
    cells = cells.merge(of_all[(of_all["count"] > 1) & (of_all["median"] != 0)], on=place, how="left")
    sign = cells["unit"].map(lambda unit: 1 if unit == "us" else -1)
    cells["worse"] = sign * (cells["value"] / cells["median"] - 1)
    cells["alone"] = (sign * cells["value"]).where(cells["worse"].isna())
    first = cells.sort_values(["worse", "alone"], ascending=False, kind="stable").drop_duplicates("at")
    return first.set_index("at")[["source", "destination", "value", "worse"]].to_dict("index")


def entry_of(node: str, key: Key, judged: Judged, matrix: MatrixVerdict, worst: dict[str, Any] | None) -> Entry:
    """The entry of a matrix of a node. worst: an item of `worst_cells`; None without a value."""
    entry = Entry(node=node, name=key[1] + key[3], verdict=judged.matrix_verdict(matrix), unit=matrix.matrix.unit)
    if worst is None:
        return replace(entry, reason="; ".join(judged.reasons))
    worse = worst["worse"]
    pair = (worst["source"], worst["destination"])
    return replace(entry, pair=pair, value=worst["value"], worse=worse if worse == worse else None)


def by_node(entries: list[Entry]) -> tuple[list[str], list[tuple[str, list[Entry | None]]]]:
    """(test cases, [(node, its entries in the order of the test cases)]). The worst node comes first."""
    names = sorted({entry.name for entry in entries})
    nodes = list(dict.fromkeys(entry.node for entry in entries))
    first = {(entry.node, entry.name): entry for entry in reversed(entries)}
    return names, [(node, [first.get((node, name)) for name in names]) for node in nodes]


MIN_HOSTS = 3  # with two hosts, the slow host is unknown
MAX_HOSTS = 20  # listed hosts
CASE = ["testcase", "size_bytes", "unit", "link_class"]
POSITION = ["from_place", "to_place"]
NEEDED = [*CASE, "host", "started", "source", "destination", "value"]


def with_positions(record: Mapping[str, Any], cells: pandas.DataFrame) -> pandas.DataFrame:
    """The cells, with the additional columns of_host, from_place and to_place. A cell between nodes has two rows.

    cells: with at least the columns NEEDED of `runs.table`.
    """
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
    cells = cells.assign(of_host=here.fillna(there).fillna(cells["host"]), from_place=places[0], to_place=places[1])
    across = cells[between]
    receives = across.assign(of_host=there[between], from_place="other nodes")
    return pandas.concat([cells[~between], across.assign(to_place="other nodes"), receives])


def newest(cells: pandas.DataFrame) -> pandas.DataFrame:
    """The newest value of each position of each host. cells: from `with_positions`."""
    where = [*CASE, "of_host", *POSITION]
    last = cells["started"] == cells.groupby(where, dropna=False)["started"].transform("max")
    of_position = cells[last].groupby(where, dropna=False, sort=False, as_index=False)
    return of_position.agg(started=("started", "first"), value=("value", "median"))


def compared_hosts(positions: pandas.DataFrame, unit: str) -> tuple[pandas.DataFrame, pandas.DataFrame, float]:
    """(hosts, positions, limit) of the newest values of a test case.

    positions (argument): from `newest`, with the additional column `floor`, which contains the smallest limit.
    hosts: columns started, value, off, worst, positions and outliers. Hosts with outliers come first.
    positions (result): the argument with two more columns, `off` and `outlier`. `off` is the deviation from the median
    of the position over all hosts. A negative deviation is worse.
    limit: the largest deviation that is not an outlier, as a fraction.
    """
    sign = -1.0 if unit == "us" else 1.0
    middle = positions.groupby(POSITION)["value"].transform("median")
    off = sign * (positions["value"] / middle - 1)
    sigma = 1.4826 * float((off - off.median()).abs().median())
    limit = max(float(positions["floor"].max()), noise.sigma_limit(len(off)) * sigma)
    enough = positions["of_host"].nunique() >= MIN_HOSTS
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


def worst_outlier(newest_of: pandas.DataFrame, unit: str) -> float:
    """The fraction by which the worst outlier is worse than the same position of other hosts; 0 without an outlier."""
    hosts, _, _ = compared_hosts(newest_of, unit)
    return max(0.0, -float(hosts.loc[hosts["outliers"] > 0, "worst"].min())) if hosts["outliers"].any() else 0.0


def percent(off: float) -> str:
    """A deviation as text: "+1.2 %"."""
    return f"{round(100 * off, 1) + 0.0:+.1f} %"


def host_lines(newest_of: pandas.DataFrame, unit: str) -> Iterator[str]:
    """Yields a summary, then a line per host. Hosts with outliers come first and have a mark."""
    hosts, positions, limit = compared_hosts(newest_of, unit)
    sign = -1.0 if unit == "us" else 1.0
    decimals, shown = words.DECIMALS[unit], words.UNITS[unit]
    count = len(positions.groupby(POSITION))
    yield (
        f"{units.counted(len(hosts), 'host')}, {units.counted(count, 'position')}, median"
        f" {figure(float(hosts['value'].median()), decimals)} {shown}: "
        + (
            f"{(hosts['outliers'] > 0).sum()} with outliers, more than {100 * limit:.1f} % worse than the same position"
            " elsewhere"
            if len(hosts) >= MIN_HOSTS
            else f"too few to tell which one is off, {MIN_HOSTS} are needed"
        )
    )
    for host in hosts[:MAX_HOSTS].itertuples():
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
    if len(hosts) > MAX_HOSTS:
        more = (hosts["outliers"][MAX_HOSTS:] > 0).sum()
        yield f"and {len(hosts) - MAX_HOSTS} more, " + (
            f"{more} of them with outliers" if more else "all within limits"
        )
