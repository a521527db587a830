"""Bottlenecks that nodes share: uplinks of leaf switches that are oversubscribed or faulty.

If the leaf switches are unknown, a slow uplink looks like many slow paths or many slow nodes. The nodes are therefore
divided into groups. Nodes whose pairs are fast are in one group. If fast pairs connect all nodes, the nodes with mostly
slow pairs are one group. The bottleneck is between groups of two or more nodes. No component is named.

If the leaf switches are known, all nodes send concurrently in a round. The cells between two switches share uplinks:

* If most switches lose about the same share, the uplinks are oversubscribed. Oversubscription is no fault. The expected
  value of the cells between switches is then lower by this share.
* A switch that loses more is named. Its loss is a median, because up to a third of its cells can be healthy. An uplink
  with missing lines is full only if nearly all nodes of its switch send to other switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..judge.sampled_matrix import MIN_RATIO
from ..record import units
from ..references import noise
from .families import SHARED
from .hypotheses import AGREE, Finding, slowness

if TYPE_CHECKING:
    from ..record.names import Result
    from .deviations import Deviations
    from .layout import Layout, Names

MIN_NODES = 2  # of a group
MAX_GROUPS, MAX_NODES = 3, 4  # numbers of named groups and of named nodes
MIN_EQUAL_NODES = 3  # equally slow nodes
EQUAL = 0.1  # largest difference of equally slow nodes, as a share of their loss


@dataclass(frozen=True)
class Bottleneck:
    """A bottleneck between groups of nodes.

    groups: indices of the nodes of each group, the smallest group first.
    between: True for measured cells between two groups; rows × columns.
    shift: the median deviation of the cells in `between`, as a fraction.
    again: number of these cells that were remeasured alone. fine: number of these cells that were healthy alone.
    """

    groups: tuple[tuple[int, ...], ...]
    between: np.ndarray
    shift: float
    again: int
    fine: int


def bottleneck(
    findings: Sequence[Finding], deviation: np.ndarray, limit: np.ndarray, layout: Layout, alone: np.ndarray | None
) -> Bottleneck | None:
    """The bottleneck between groups of nodes, or None. deviation, limit, alone: see `search`.

    Returns None if a single finding, or a finding about a component that nodes share, explains the slow cells.
    """
    if len(findings) < 2 or not layout.has_nodes or any(one.kind in SHARED for one in findings):
        return None
    most = allowed_deviation(findings, limit)
    with np.errstate(invalid="ignore"):
        slow = deviation < -most
    row, column = (
        np.broadcast_to(node, slow.shape) for node in (layout.row_node[:, None], layout.column_node[None, :])
    )
    net = np.isfinite(deviation) & (row != column)
    nodes = np.unique(layout.row_node)
    count = int(nodes.max()) + 1  # also if the last nodes have no measured cell
    is_slow = slow_pairs(row[net], column[net], slow[net], count)
    is_measured = slow_pairs(row[net], column[net], np.ones(int(net.sum()), dtype=bool), count)
    group = connected_groups(is_measured & ~is_slow, nodes)
    if (np.bincount(group[group >= 0]) >= MIN_NODES).sum() < 2:
        group = mostly_slow(is_slow, is_measured, nodes)
    large = np.flatnonzero(np.bincount(group[group >= 0]) >= MIN_NODES)
    if len(large) < 2 or not all(is_fast_inside(is_slow, np.flatnonzero(group == one)) for one in large):
        return None
    between = net & (group[row] != group[column]) & np.isin(group[row], large) & np.isin(group[column], large)
    if not (between & slow).any():
        return None
    tried = between & np.isfinite(np.full(slow.shape, np.nan) if alone is None else alone)
    fine = 0 if alone is None else int((alone[tried] >= -most[tried]).sum())
    members = sorted((tuple(np.flatnonzero(group == one).tolist()) for one in large), key=lambda of: (len(of), of))
    return Bottleneck(tuple(members), between, float(np.expm1(np.median(deviation[between]))), int(tried.sum()), fine)


def allowed_deviation(findings: Sequence[Finding], limit: np.ndarray) -> np.ndarray:
    """The allowed deviation of each cell, as a logarithm.

    This is the smaller of two values: the limit of the cell, and half of the findings' median loss. The limit alone
    hides slow cells. Example: of cells that are 5 % slow, half are inside a limit of 5 %.
    """
    shifts = [-np.log1p(one.shift) for one in findings if not one.missing]
    return np.minimum(np.log1p(np.nan_to_num(limit)), np.median(shifts) / 2 if shifts else np.inf)


def equal_nodes(findings: Sequence[Finding], deviation: np.ndarray, layout: Layout, names: Names) -> list[str]:
    """A sentence about equally slow nodes that may share an unknown leaf switch; [] if there are none.

    The cells among these nodes are as slow as their cells to other nodes.
    """
    whole = {one.subject: one.shift for one in findings if one.kind == "node" and not one.missing}
    if not layout.has_nodes or "leaf" in names.parts:
        return []
    if not layout.of_nodes and len(np.unique(layout.row_node)) == len(layout.row_node):
        whole |= {int(layout.row_node[one.subject]): one.shift for one in findings if one.kind == "device"}
    nodes = [node for node in whole if isinstance(node, int)]
    if len(nodes) < MIN_EQUAL_NODES:
        return []
    slow = np.log1p([whole[node] for node in nodes])
    usual = float(np.median(slow))
    row, column = layout.row_node[:, None], layout.column_node[None, :]
    among = np.isin(row, nodes) & np.isin(column, nodes) & (row != column) & np.isfinite(deviation)
    same = EQUAL * abs(usual)
    if not among.any() or np.abs(slow - usual).max() > same or abs(float(np.median(deviation[among])) - usual) > same:
        return []
    listed = ", ".join(units.first([names.nodes[node] for node in sorted(nodes)], MAX_NODES))
    return [
        f"[{listed}] are equally slow with all nodes, including each other: a shared leaf switch would explain this"
        " too; name the leaf switches with --groups FILE"
    ]


def slow_pairs(row: np.ndarray, column: np.ndarray, slow: np.ndarray, count: int) -> np.ndarray:
    """True for pairs of nodes with mostly slow cells; nodes × nodes. row, column: the nodes of each cell."""
    low, high = np.minimum(row, column), np.maximum(row, column)
    cells, bad = (np.bincount(low * count + high, weights, count * count) for weights in (None, slow.astype(float)))
    found = ((cells > 0) & (bad >= AGREE * cells)).reshape(count, count)
    return found | found.T


def connected_groups(joined: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The group of each node, as a number; -1 for nodes that are not in `nodes`.

    joined: True for pairs of nodes that belong to the same group; nodes × nodes.
    """
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
    """The group of each node: 0 if most of its pairs are slow, otherwise 1; -1 for nodes that are not in `nodes`.

    This function is used if `connected_groups` finds no groups. An uplink with missing lines is not full in every
    round, so that some of its pairs are fast. If the pairs among the slow nodes were not measured, all groups are -1.
    """
    count = is_measured.sum(axis=1)
    slow = 2 * (is_slow & is_measured).sum(axis=1) > count
    group = np.full(len(count), -1)
    if is_measured[np.ix_(slow, slow)].sum() < AGREE * slow.sum() * (slow.sum() - 1):
        return group
    group[nodes] = np.where(slow[nodes], 0, 1)
    return group


def is_fast_inside(is_slow: np.ndarray, members: np.ndarray) -> bool:
    """Whether most pairs inside a group are fast."""
    count = len(members)
    bad = int(is_slow[np.ix_(members, members)].sum()) // 2
    return bad <= (1 - AGREE) * count * (count - 1) / 2


def sentence(bottleneck: Bottleneck, names: Names, unit: str, leaves_known: bool) -> str:
    """The sentence about a bottleneck. leaves_known: whether the leaf switches of the nodes are known."""
    groups = [f"[{', '.join(units.first([names.nodes[node] for node in of], MAX_NODES))}]" for of in bottleneck.groups]
    text = (
        f"cells between these groups of nodes are {slowness(bottleneck.shift, unit)}, cells inside each group are fine:"
        f" {' and '.join(units.first(groups, MAX_GROUPS))}: a shared bottleneck; which nodes share the"
        " bottleneck is uncertain"
    )
    if bottleneck.again and 2 * bottleneck.fine >= bottleneck.again:
        text += f"; measured alone, {bottleneck.fine} of {bottleneck.again} are fine: congestion, which is no fault"
    elif bottleneck.again:
        text += f"; measured alone, {bottleneck.again - bottleneck.fine} of {bottleneck.again} are slow too: check the"
        text += " path; the load is not the cause"
    return text if leaves_known else f"{text}; name the leaf switches with --groups FILE"


MIN_LEAVES = 3  # with two switches, the slow switch is unknown
MIN_ALIKE = 0.75  # share of switches that are as slow as the median switch, for oversubscription
SPREAD = 0.10  # largest difference of these switches, as a logarithm
MIN_SIGMAS = 5  # deviation of a named switch, in σ of the switches


@dataclass(frozen=True)
class Uplinks:
    """The deviations of cells inside and between leaf switches while all nodes send; logarithms, negative if slow.

    inside: {switch: median of the cells between its own nodes}.
    best: {switch: median of the cells to another switch}, for the other switch with the highest median.
    crossing: True for cells between two switches; rows × columns.
    """

    inside: dict[int, float]
    best: dict[int, float]
    crossing: np.ndarray

    @property
    def losses(self) -> dict[int, float]:
        """{switch: logarithm of (speed to other switches / speed inside the switch)}; negative if slower."""
        usual = float(np.median(list(self.inside.values())))
        return {leaf: best - self.inside.get(leaf, usual) for leaf, best in self.best.items()}

    @property
    def usual(self) -> float:
        """The loss of the median switch, as a logarithm; 0 or negative."""
        return min(0.0, float(np.median(list(self.losses.values()))))

    @property
    def is_oversubscribed(self) -> bool:
        """Whether most switches lose about the same share of their speed to other switches."""
        alike = [abs(loss - self.usual) <= SPREAD for loss in self.losses.values()]
        return self.usual < -np.log(MIN_RATIO) and float(np.mean(alike)) >= MIN_ALIKE

    @property
    def narrow_switches(self) -> list[int]:
        """The switches with two or more nodes that lose clearly more speed than the median switch."""
        every = np.array(list(self.losses.values()))
        sigma = noise.robust_sigma(every)
        least = self.usual - max(noise.LEAST_GROUP_DEVIATION, MIN_SIGMAS * sigma)
        return [leaf for leaf, loss in self.losses.items() if loss < least and leaf in self.inside]

    def cells(self, leaf: int, layout: Layout) -> np.ndarray:
        """True for the cells between a switch and other switches; rows × columns."""
        rows, columns = layout.parts["leaf"]
        return self.crossing & ((rows[:, None] == leaf) | (columns[None, :] == leaf))

    def ratio(self, leaf: int) -> float:
        """The speed inside a switch divided by its speed to other switches."""
        return float(np.exp(-self.losses[leaf]))

    def without_oversubscription(self, deviation: np.ndarray) -> np.ndarray:
        """The deviations without the usual loss between leaf switches."""
        return deviation - np.where(self.crossing, self.usual, 0.0)


def uplink_sharing(deviation: np.ndarray, layout: Layout, result: Result, alone: np.ndarray | None) -> Uplinks | None:
    """The speeds between leaf switches; None if the switches are unknown or fewer than MIN_LEAVES.

    Also None if the cells between switches are equally slow alone. They then share no bottleneck.
    alone: deviations of the cells that were remeasured alone, NaN for other cells.
    """
    leaf = layout.parts.get("leaf")
    if leaf is None or not layout.has_nodes or result["schedule"] is None or result["schedule"]["pairs_at_once"] < 2:
        return None
    rows, columns = (np.broadcast_to(of, deviation.shape) for of in (leaf[0][:, None], leaf[1][None, :]))
    net = np.isfinite(deviation) & (layout.row_node[:, None] != layout.column_node[None, :])
    known = net & (rows >= 0) & (columns >= 0)
    crossing, within = known & (rows != columns), known & (rows == columns)
    leaves = np.unique(rows[known]).tolist()
    if len(leaves) < MIN_LEAVES or not within.any() or is_slow_alone(crossing, deviation, alone):
        return None
    best = {}
    for one in leaves:
        others = [crossing & cells_between(rows, columns, one, other) for other in leaves if other != one]
        medians = [float(np.median(deviation[cells])) for cells in others if cells.any()]
        if medians:
            best[one] = max(medians)
    members = {one: deviation[within & (rows == one)] for one in leaves}
    inside = {one: float(np.median(found)) for one, found in members.items() if found.size}
    return Uplinks(inside, best, crossing) if len(best) >= MIN_LEAVES else None


def cells_between(rows: np.ndarray, columns: np.ndarray, one: int, other: int) -> np.ndarray:
    """True for the cells between two switches, in both directions."""
    return ((rows == one) & (columns == other)) | ((rows == other) & (columns == one))


def is_slow_alone(crossing: np.ndarray, deviation: np.ndarray, alone: np.ndarray | None) -> bool:
    """Whether the cells between switches (`crossing`) are equally slow when measured alone."""
    if alone is None:
        return False
    tried = crossing & np.isfinite(alone) & (deviation < -np.log(MIN_RATIO))
    return bool(tried.any()) and float(np.median(alone[tried] - deviation[tried])) < np.log(MIN_RATIO)


def without_uplink_links(findings: Sequence[Finding], layout: Layout) -> list[Finding]:
    """The findings, without findings about links that a faulty uplink explains."""
    leaf = layout.parts["leaf"]
    uplinks = {one.subject: one.shift for one in findings if one.kind == "uplink"}

    def is_explained(finding: Finding) -> bool:
        if finding.kind != "link" or not isinstance(finding.subject, tuple):
            return False
        ends = {int(leaf[0][end]) for end in finding.subject}
        return len(ends) > 1 and any(end in uplinks and finding.shift > uplinks[end] - SPREAD for end in ends)

    return [one for one in findings if not is_explained(one)]


def narrow_uplinks(
    sharing: Uplinks, seen: Deviations, layout: Layout, reached: np.ndarray, alone: np.ndarray | None
) -> tuple[list[Finding], np.ndarray]:
    """(findings about narrow uplinks, True for the cells that these findings explain).

    An uplink explains a cell that is at most SPREAD slower than the uplink. An uplink also explains a cell that is at
    most SPREAD slower than the median of the uplink's cells, unless the cell is slow alone.
    reached: logarithms of the values of cells, larger is better.
    alone: see `uplink_sharing`.
    """
    slow_alone = np.zeros(sharing.crossing.shape, dtype=bool)
    if alone is not None:
        slow_alone = np.isfinite(alone) & (alone < -np.log1p(np.nan_to_num(seen.limit)))
    findings, explained = [], np.zeros(sharing.crossing.shape, dtype=bool)
    for leaf in sharing.narrow_switches:
        cells = sharing.cells(leaf, layout)
        x, shift = seen.deviation[cells], sharing.losses[leaf] - sharing.usual
        evidence = float(x.sum() ** 2 / (2 * (seen.sigma[cells] ** 2).sum()))
        within = not (x < -np.log1p(np.nan_to_num(seen.limit[cells]))).any()
        agreeing = int((x <= shift / 2).sum())
        findings.append(
            Finding("uplink", leaf, float(np.expm1(shift)), x.size, agreeing, evidence, within_tolerance=within)
        )
        like_median = (reached > float(np.median(reached[cells])) - SPREAD) & ~slow_alone
        explained |= cells & ((seen.deviation > shift - SPREAD) | like_median)
    return findings, explained


def sharing_sentences(sharing: Uplinks, leaves: Sequence[str]) -> list[str]:
    """Sentences about oversubscription and narrow uplinks. leaves: names of the switches."""
    sentences = []
    if sharing.is_oversubscribed:
        ratio = float(np.exp(-sharing.usual))
        sentences.append(
            f"leaf switches are {ratio:.2f}:1 oversubscribed, which is no fault; while all nodes send, the nodes"
            f" reach other leaf switches with 1/{ratio:.2f} of the speed inside a leaf switch"
        )
    sentences += [
        f"uplink of {leaves[leaf]}: while all nodes send, its nodes reach other leaf switches with"
        f" 1/{sharing.ratio(leaf):.2f} of their speed inside {leaves[leaf]}"
        for leaf in sharing.narrow_switches
    ]
    return sentences
