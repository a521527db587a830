"""Oversubscription: the bandwidth between leaf switches while all nodes send. It is not a fault.

In a round all nodes send concurrently, and the cells between two leaf switches share the uplinks. If most switches
lose about the same share between switches, their uplinks are oversubscribed. The expected value of cells between
switches is then lower by this ratio, and only a switch that is slower than that is flagged. A partly broken uplink is
full only in rounds in which nearly all of its nodes send to other switches, so a third of its cells may be healthy.
Such an uplink is found by the medians of switches, not by single cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judge.few import LEAST_RATIO
from ..record.names import Result
from ..references import noise
from .families import Layout
from .hypotheses import LEAST, Finding
from .sentences import Seen

FEWEST = 3  # switches: with two, the slow switch is unknown
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


def sharing(deviation: np.ndarray, layout: Layout, result: Result, again: np.ndarray | None) -> Sharing | None:
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
    if len(leaves) < FEWEST or not within.any() or is_slow_alone(crossing, deviation, again):
        return None
    best = {}
    for one in leaves:
        others = [crossing & pair(rows, columns, one, other) for other in leaves if other != one]
        medians = [float(np.median(deviation[cells])) for cells in others if cells.any()]
        if medians:
            best[one] = max(medians)
    own = {one: deviation[within & (rows == one)] for one in leaves}
    inside = {one: float(np.median(found)) for one, found in own.items() if found.size}
    return Sharing(inside, best, crossing) if len(best) >= FEWEST else None


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


def sentences(one: Sharing, leaves: Sequence[str]) -> list[str]:
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
