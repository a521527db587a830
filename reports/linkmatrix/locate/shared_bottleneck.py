"""Groups of nodes that are slow with each other and fine among themselves: what they share lies between them.

Where the record does not say which nodes share a leaf switch, an uplink that is slow looks like many slow paths, or
many slow nodes. But nodes that are fine with each other are none. The nodes fall into groups by the pairs that are
measured and not slow, or by whether most of their pairs are slow: two groups of several nodes each have something
between them, of which nobody is to blame by name. A node that is slow with everybody is a group of its own, and says
nothing of what lies between others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..judge.sampled_matrix import LEAST_RATIO
from ..record import units
from ..references import noise
from .families import SHARED
from .hypotheses import AGREE, LEAST, Finding, slowness

if TYPE_CHECKING:
    from ..record.names import Result
    from .deviations import Seen
    from .layout import Layout, Names

LEAST_NODES = 2  # nodes of a group
MOST_GROUPS, MOST_NODES = 3, 4  # that are named
FEWEST_ALIKE = 3  # nodes that are as slow as each other
LIKE = 0.1  # of how slow they are


@dataclass(frozen=True)
class Bottleneck:
    """groups: nodes, by index, the smallest group first. between: rows × columns, measured cells between two groups.

    shift: of these, as a fraction. again, fine: how many were measured again, alone, and were as they should be then.
    """

    groups: tuple[tuple[int, ...], ...]
    between: np.ndarray
    shift: float
    again: int
    fine: int


def bottleneck(
    found: Sequence[Finding], deviation: np.ndarray, limit: np.ndarray, layout: Layout, alone: np.ndarray | None
) -> Bottleneck | None:
    """What lies between groups of nodes; None where there are none, or one finding, or a shared part, explains it.

    deviation, limit, alone: as of `search`
    """
    if len(found) < 2 or not layout.has_nodes or any(one.kind in SHARED for one in found):
        return None
    most = allowed(found, limit)
    with np.errstate(invalid="ignore"):
        slow = deviation < -most
    row, column = (
        np.broadcast_to(node, slow.shape) for node in (layout.row_node[:, None], layout.column_node[None, :])
    )
    net = np.isfinite(deviation) & (row != column)
    nodes = np.unique(layout.row_node)
    count = int(nodes.max()) + 1  # the last one may have no cell that was measured
    is_slow = slow_pairs(row[net], column[net], slow[net], count)
    is_measured = slow_pairs(row[net], column[net], np.ones(int(net.sum()), dtype=bool), count)
    group = components(is_measured & ~is_slow, nodes)
    if (np.bincount(group[group >= 0]) >= LEAST_NODES).sum() < 2:
        group = mostly_slow(is_slow, is_measured, nodes)
    large = np.flatnonzero(np.bincount(group[group >= 0]) >= LEAST_NODES)
    if len(large) < 2 or not all(holds(is_slow, np.flatnonzero(group == one)) for one in large):
        return None
    between = net & (group[row] != group[column]) & np.isin(group[row], large) & np.isin(group[column], large)
    if not (between & slow).any():
        return None
    tried = between & np.isfinite(np.full(slow.shape, np.nan) if alone is None else alone)
    fine = 0 if alone is None else int((alone[tried] >= -most[tried]).sum())
    members = sorted((tuple(np.flatnonzero(group == one).tolist()) for one in large), key=lambda of: (len(of), of))
    return Bottleneck(tuple(members), between, float(np.expm1(np.median(deviation[between]))), int(tried.sum()), fine)


def allowed(found: Sequence[Finding], limit: np.ndarray) -> np.ndarray:
    """By how much a cell may be off, in logarithms, so as not to be one of those that the findings are about.

    By its limit, and by half of what they are off together: the limit is of a single cell, and of many that are off by
    just as much, as at 5 % where there are no references, every other one is within it.
    """
    shifts = [-np.log1p(one.shift) for one in found if not one.missing]
    return np.minimum(np.log1p(np.nan_to_num(limit)), np.median(shifts) / 2 if shifts else np.inf)


def alike_nodes(found: Sequence[Finding], deviation: np.ndarray, layout: Layout, names: Names) -> list[str]:
    """That nodes at fault may be one part that they share, which nobody knows: [] where their leaf switches are known.

    They are as slow as each other, and no slower among themselves: what they share would be that, too.
    """
    whole = {one.subject: one.shift for one in found if one.kind == "node" and not one.missing}
    if not layout.has_nodes or "leaf" in names.parts:
        return []
    if not layout.of_nodes and len(np.unique(layout.row_node)) == len(layout.row_node):
        whole |= {int(layout.row_node[one.subject]): one.shift for one in found if one.kind == "device"}
    nodes = [node for node in whole if isinstance(node, int)]
    if len(nodes) < FEWEST_ALIKE:
        return []
    slow = np.log1p([whole[node] for node in nodes])
    usual = float(np.median(slow))
    row, column = layout.row_node[:, None], layout.column_node[None, :]
    among = np.isin(row, nodes) & np.isin(column, nodes) & (row != column) & np.isfinite(deviation)
    same = LIKE * abs(usual)
    if not among.any() or np.abs(slow - usual).max() > same or abs(float(np.median(deviation[among])) - usual) > same:
        return []
    said = ", ".join(units.first([names.nodes[node] for node in sorted(nodes)], MOST_NODES))
    return [
        f"[{said}] are as slow as each other, and no slower among themselves: a leaf switch that they share explains it"
        " as well; --groups FILE says which nodes share one"
    ]


def slow_pairs(row: np.ndarray, column: np.ndarray, slow: np.ndarray, count: int) -> np.ndarray:
    """`count` nodes × nodes: True where most cells between two are slow, whoever sends; of none nobody knows."""
    low, high = np.minimum(row, column), np.maximum(row, column)
    cells, bad = (np.bincount(low * count + high, weights, count * count) for weights in (None, slow.astype(float)))
    found = ((cells > 0) & (bad >= AGREE * cells)).reshape(count, count)
    return found | found.T


def components(joined: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The group of each node, -1 of those that are not among `nodes`: joined nodes have the same."""
    group, number = np.full(len(joined), -1), 0
    for start in nodes.tolist():
        if group[start] >= 0:
            continue
        ahead = [start]
        group[start] = number
        while ahead:
            node = ahead.pop()
            for other in nodes[joined[node, nodes] & (group[nodes] < 0)].tolist():
                group[other] = number
                ahead.append(other)
        number += 1
    return group


def mostly_slow(is_slow: np.ndarray, is_measured: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """As `components`: the nodes most of whose pairs are slow are one group, and the rest are the other one.

    An uplink that lacks lines is full in most rounds and not in all: what is fine in the others joins its nodes to all.
    Where pairs among the slow ones were not measured, nobody knows that they are fine with each other: no groups.
    """
    count = is_measured.sum(axis=1)
    slow = 2 * (is_slow & is_measured).sum(axis=1) > count
    group = np.full(len(count), -1)
    if is_measured[np.ix_(slow, slow)].sum() < AGREE * slow.sum() * (slow.sum() - 1):
        return group
    group[nodes] = np.where(slow[nodes], 0, 1)
    return group


def holds(is_slow: np.ndarray, members: np.ndarray) -> bool:
    """Are most pairs of a group fine, and not only as many as it takes to join them?"""
    count = len(members)
    bad = int(is_slow[np.ix_(members, members)].sum()) // 2
    return bad <= (1 - AGREE) * count * (count - 1) / 2


def sentence(one: Bottleneck, names: Names, unit: str, leaves_known: bool) -> str:
    """What is slow between whom, that it is shared, and that nobody is named for it."""
    said = [f"[{', '.join(units.first([names.nodes[node] for node in of], MOST_NODES))}]" for of in one.groups]
    text = (
        f"cells between groups of nodes are {slowness(one.shift, unit)}, and inside each group they are fine:"
        f" {' and '.join(units.first(said, MOST_GROUPS))}: a shared bottleneck between them, members uncertain"
    )
    if one.again and 2 * one.fine >= one.again:
        text += f"; alone, {one.fine} of {one.again} of them are as they should be: congestion, which is no fault"
    elif one.again:
        text += f"; alone too, {one.again - one.fine} of {one.again} of them are: suspect the path, not its load"
    return text if leaves_known else f"{text}; --groups FILE says which nodes share a leaf switch"


LEAST_LEAVES = 3  # switches: with two, the slow switch is unknown
ALIKE = 0.75  # share of the switches that are as slow as the usual one, at least
SPREAD = 0.10  # by how much, as a logarithm, they may differ
SIGMAS = 5  # of what switches differ, that one is slower which is named, and by LEAST of many cells at least


@dataclass(frozen=True)
class Sharing:
    """inside: {switch: the median deviation of its own cells}. best: {switch: that to whom it reaches best}.

    crossing: rows × columns, cells between two switches. Deviations are of logarithms, slow is below 0.
    """

    inside: dict[int, float]
    best: dict[int, float]
    crossing: np.ndarray

    @property
    def lack(self) -> dict[int, float]:
        """{switch: how much less its nodes reach of others than inside, as a logarithm}."""
        usual = float(np.median(list(self.inside.values())))
        return {leaf: of - self.inside.get(leaf, usual) for leaf, of in self.best.items()}

    @property
    def usual(self) -> float:
        """The lack of the median switch."""
        return min(0.0, float(np.median(list(self.lack.values()))))

    @property
    def is_oversubscribed(self) -> bool:
        """Are most switches slower to the others by about the same?"""
        alike = [abs(of - self.usual) <= SPREAD for of in self.lack.values()]
        return self.usual < -np.log(LEAST_RATIO) and float(np.mean(alike)) >= ALIKE

    @property
    def narrow(self) -> list[int]:
        """The switches that reach the others with less than the usual one does; not one of a single node."""
        every = np.array(list(self.lack.values()))
        differ = noise.robust_sigma(every)
        least = self.usual - max(LEAST, SIGMAS * differ)
        return [leaf for leaf, of in self.lack.items() if of < least and leaf in self.inside]

    def cells(self, leaf: int, layout: Layout) -> np.ndarray:
        """The cells between a switch and the others, rows × columns."""
        rows, columns = layout.parts["leaf"]
        return self.crossing & ((rows[:, None] == leaf) | (columns[None, :] == leaf))

    def ratio(self, leaf: int) -> float:
        """How many times as much the nodes of a switch reach inside."""
        return float(np.exp(-self.lack[leaf]))

    def without(self, deviation: np.ndarray) -> np.ndarray:
        """The deviations as they were if nothing were oversubscribed."""
        return deviation - np.where(self.crossing, self.usual, 0.0)


def uplink_sharing(deviation: np.ndarray, layout: Layout, result: Result, again: np.ndarray | None) -> Sharing | None:
    """What the nodes of each switch reach of the others; None where nobody knows, or they are as slow alone.

    again: deviations of the cells that were measured again, alone, NaN of the others
    """
    leaf = layout.parts.get("leaf")
    if leaf is None or not layout.has_nodes or result["schedule"] is None or result["schedule"]["pairs_at_once"] < 2:
        return None
    rows, columns = (np.broadcast_to(of, deviation.shape) for of in (leaf[0][:, None], leaf[1][None, :]))
    net = np.isfinite(deviation) & (layout.row_node[:, None] != layout.column_node[None, :])
    known = net & (rows >= 0) & (columns >= 0)
    crossing, within = known & (rows != columns), known & (rows == columns)
    leaves = np.unique(rows[known]).tolist()
    if len(leaves) < LEAST_LEAVES or not within.any() or is_slow_alone(crossing, deviation, again):
        return None
    best = {}
    for one in leaves:
        others = [crossing & pair(rows, columns, one, other) for other in leaves if other != one]
        medians = [float(np.median(deviation[cells])) for cells in others if cells.any()]
        if medians:
            best[one] = max(medians)
    own = {one: deviation[within & (rows == one)] for one in leaves}
    inside = {one: float(np.median(found)) for one, found in own.items() if found.size}
    return Sharing(inside, best, crossing) if len(best) >= LEAST_LEAVES else None


def pair(rows: np.ndarray, columns: np.ndarray, one: int, other: int) -> np.ndarray:
    """True for the cells between two switches, whoever sends."""
    return ((rows == one) & (columns == other)) | ((rows == other) & (columns == one))


def is_slow_alone(crossing: np.ndarray, deviation: np.ndarray, again: np.ndarray | None) -> bool:
    """Were cells between switches no faster when nothing else was sent? Then they share nothing that limits them."""
    if again is None:
        return False
    tried = crossing & np.isfinite(again) & (deviation < -np.log(LEAST_RATIO))
    return bool(tried.any()) and float(np.median(again[tried] - deviation[tried])) < np.log(LEAST_RATIO)


def beside_uplinks(found: Sequence[Finding], layout: Layout) -> list[Finding]:
    """The findings without links between switches that are no slower than an uplink at fault that they pass."""
    leaf = layout.parts["leaf"]
    uplinks = {one.subject: one.shift for one in found if one.kind == "uplink"}

    def is_explained(one: Finding) -> bool:
        if one.kind != "link" or not isinstance(one.subject, tuple):
            return False
        ends = {int(leaf[0][end]) for end in one.subject}
        return len(ends) > 1 and any(end in uplinks and one.shift > uplinks[end] - SPREAD for end in ends)

    return [one for one in found if not is_explained(one)]


def narrow_uplinks(
    one: Sharing, seen: Seen, reached: np.ndarray, again: np.ndarray | None
) -> tuple[list[Finding], np.ndarray]:
    """(uplinks that are narrow, the cells that they explain), by what nodes reach all at once.

    reached: logarithms of what cells reach, more is better. again: as in `sharing`. What is slower than an uplink by
    more than uplinks differ has a fault of its own, as in `beside_uplinks`; but a cell that shared a round with cells
    that other uplinks held back had what these left over, and of fewer lines nothing is left: it lost more than they.
    It still reaches what most cells of the uplink do, and is slow by itself only where it is so alone.
    """
    slow_alone = np.zeros(one.crossing.shape, dtype=bool)
    if again is not None:
        slow_alone = np.isfinite(again) & (again < -np.log1p(np.nan_to_num(seen.limit)))
    told, every = [], np.zeros(one.crossing.shape, dtype=bool)
    for leaf in one.narrow:
        cells = one.cells(leaf, seen.layout)
        x, shift = seen.deviation[cells], one.lack[leaf] - one.usual
        evidence = float(x.sum() ** 2 / (2 * (seen.sigma[cells] ** 2).sum()))
        allowed = not (x < -np.log1p(np.nan_to_num(seen.limit[cells]))).any()
        agreeing = int((x <= shift / 2).sum())
        told.append(Finding("uplink", leaf, float(np.expm1(shift)), x.size, agreeing, evidence, allowed=allowed))
        as_most = (reached > float(np.median(reached[cells])) - SPREAD) & ~slow_alone
        every |= cells & ((seen.deviation > shift - SPREAD) | as_most)
    return told, every


def sharing_sentences(one: Sharing, leaves: Sequence[str]) -> list[str]:
    """That the network is oversubscribed, with its ratio; and the ratio of each switch that has less than the others.

    leaves: what the switches are called
    """
    said = []
    if one.is_oversubscribed:
        ratio = float(np.exp(-one.usual))
        said.append(
            f"nodes of a leaf switch reach those of others with 1/{ratio:.2f} of what they reach inside it, while all"
            f" send at once: {ratio:.2f}:1 oversubscribed, which is no fault"
        )
    said += [
        f"uplink of {leaves[leaf]}: its nodes' cells to other leaf switches share 1/{one.ratio(leaf):.2f} of what they"
        " reach inside it, while all send at once"
        for leaf in one.narrow
    ]
    return said
