"""Compares nodes: the cells of each node with the median of the same cells over all nodes.

Its references show whether a node is worse than they allow. This comparison shows whether a node is worse than the
other nodes, also without references. Only test cases inside one node are compared.
"""

from dataclasses import dataclass, replace
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record.names import Pair, Result
from ..record.units import figure
from ..runs.judging import Judged
from . import words

Key = tuple[str, str, int | None, str, str]  # back end, test case, size, variant, unit
Measured = tuple[str, Key, Judged, MatrixVerdict]  # of a node


@dataclass(frozen=True)
class Entry:
    """A test case of a node. worse: the largest deviation of a cell from the median of that cell over all nodes, as a
    fraction, negative if better; None if no other node has the cells. value: of that cell, in `unit`.
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
        """ "395.20 GB/s (-0.3 %)", the deviation as measured: negative for a slow bandwidth."""
        if self.value is None:
            return self.reason or "nothing measured"
        shown = f"{figure(self.value, words.DECIMALS[self.unit])} {words.UNITS[self.unit]}"
        if self.worse is None:
            return shown
        return f"{shown} ({100 * (self.worse if self.unit == 'us' else -self.worse):+.1f} %)"


def entries(judged: list[Judged]) -> list[Entry]:
    """All test cases of all nodes, the worst first; none for fewer than two nodes."""
    measured: list[Measured] = []
    found: list[Entry] = []
    for one in judged:
        node = words.node_of(one)
        if not node:
            continue
        for result, matrix in one.matrices:
            measured.append((node, key_of(one, result, matrix), one, matrix))
        if one.beyond_cells is not None:
            name = one.test.testcase or one.test.name.split(" ")[0]
            found.append(Entry(node, name, one.verdict, reason="; ".join(one.reasons) or "as promised"))
    if len({node for node, *_ in measured} | {entry.node for entry in found}) < 2:
        return []
    worst = worst_cells(measured)
    found += [entry_of(node, key, one, matrix, worst.get(at)) for at, (node, key, one, matrix) in enumerate(measured)]
    some = {entry.node for entry in found if entry.value is not None}
    # of two with one verdict, the node of which nothing at all is known comes before those that are somewhat slow
    return sorted(found, key=lambda one: (one.verdict, one.node not in some, one.worse or 0.0), reverse=True)


def key_of(one: Judged, result: Result, matrix: MatrixVerdict) -> Key:
    """The facts that two nodes share if their values are comparable."""
    backend = one.test.record["backend"] if one.test.record else ""
    return backend, result["testcase"], result["size_bytes"], matrix.matrix.variant, matrix.matrix.unit


def worst_cells(measured: list[Measured]) -> dict[int, dict[str, Any]]:
    """{index of a matrix: the source, destination, value and worse of its worst cell}, as in `Entry`.

    A cell is compared with the median of all nodes. If no other node has the cells of a matrix, the worst value counts.
    """
    import pandas  # a page of one node needs none, and it is the slowest to load

    from ..runs import table

    frames = [
        table.of_matrix({"at": at, "node": node, "key": str(key)}, matrix.matrix).assign(unit=key[-1])
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


def entry_of(node: str, key: Key, one: Judged, matrix: MatrixVerdict, worst: dict[str, Any] | None) -> Entry:
    """The entry of a node's test case by its worst cell, None without a value."""
    entry = Entry(node=node, name=key[1] + key[3], verdict=one.of_matrix(matrix), unit=matrix.matrix.unit)
    if worst is None:
        return replace(entry, reason="; ".join(one.reasons))
    worse = worst["worse"]
    pair = (worst["source"], worst["destination"])
    return replace(entry, pair=pair, value=worst["value"], worse=worse if worse == worse else None)


def by_node(found: list[Entry]) -> tuple[list[str], list[tuple[str, list[Entry | None]]]]:
    """(test cases, [(node, its entry of each test case)]), the worst node first."""
    names = sorted({entry.name for entry in found})
    nodes = list(dict.fromkeys(entry.node for entry in found))
    first = {(entry.node, entry.name): entry for entry in reversed(found)}
    return names, [(node, [first.get((node, name)) for name in names]) for node in nodes]
