"""Slow cells of a sampled matrix that no faulty endpoint explains: what they have in common, and how to measure more.

An endpoint is at fault if more of its cells are slow than chance explains. If many endpoints are slow, other endpoints
are often slow because of their partners, so chance explains as much. If half of the pairs are slow, the median of
concurrent pairs is slow itself. The sentences then name the endpoints that were slow with every peer, or the number of
slow pairs.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np

from ..record import units
from ..references import noise

MANY = 0.2  # with a larger share of slow cells, the median of concurrent cells may be slow itself
TOO_MANY = 0.5  # with a larger share, no endpoint is named
FASTEST = 0.90, 0.97  # quantiles of all cells, which give speed and noise of healthy cells
ABOUT = 0.2  # largest share of cells near the limit, relative to the fast cells; noise alone has 0.5
PARTNERS = 2  # least number of partners of an end that is slow with each of them
HOW = {  # (sends slowly, receives slowly) → sentence
    (True, True): "{was} slow with every peer",
    (True, False): "sent slowly to every peer",
    (False, True): "received slowly from every peer",
}
AGAIN = "measure again with a longer --max-time, or the full matrix of {it} and of some other endpoints"


class Ends(NamedTuple):
    """The two ends of each cell, as numbers below `count`: the sending side of an endpoint, then the receiving sides.

    In bidirectional cells, an end is an endpoint.
    """

    senders: np.ndarray
    receivers: np.ndarray
    count: int

    def having(self, cells: np.ndarray) -> np.ndarray:
        """The number of these cells per end."""
        return sum(np.bincount(side[cells], minlength=self.count) for side in (self.senders, self.receivers))

    def cells(self, ends: np.ndarray) -> np.ndarray:
        """True for the cells of these ends."""
        return ends[self.senders] | ends[self.receivers]


def held_against_fastest(logs: np.ndarray, least: float) -> np.ndarray:
    """True for cells that are slower than the fastest cells by more than noise and by more than `least`, a logarithm.

    The noise follows from the 90 % and 97 % quantiles, which are 1.282 and 1.881 σ above the median of a normal
    distribution. If many cells are near the limit, slow and fast cells are not two groups, and no cell is slow.
    """
    high, higher = np.quantile(logs, FASTEST)
    sigma = float(higher - high) / (1.8808 - 1.2816)
    limit = high - 1.2816 * sigma - max(least, noise.sigmas(len(logs)) * sigma)
    slow = logs < limit
    about = np.abs(logs - limit) < float(np.median(logs[~slow]) - limit) / 2
    return slow & bool(about.sum() <= ABOUT * (~slow).sum())


def slow_with_everyone(ends: Ends, slow: np.ndarray) -> np.ndarray:
    """True for ends whose cells are all slow, at least two of which no other such end with more cells explains."""
    count = ends.having(np.ones(len(slow), dtype=bool))
    every = (ends.having(slow) == count) & (count >= PARTNERS)
    found = np.zeros(ends.count, dtype=bool)
    for most in sorted({*count[every].tolist()}, reverse=True):
        rest = ends.having(slow & ~ends.cells(found))
        found |= every & (count == most) & (rest >= PARTNERS)
    return found


def sentences(
    rows: np.ndarray,
    columns: np.ndarray,
    slow: np.ndarray,
    labels: Sequence[str],
    both_ways: bool,
    still: Set[str],
    stayed: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Sentences about slow cells that no faulty endpoint has.

    rows, columns: of the cells, as indices of labels. slow: True for slow cells. still: endpoints that the program did
    not confirm. stayed: pairs that were slow again.
    """
    total = f"{int(slow.sum())} of {units.counted(len(slow), 'cell')}"
    if slow.sum() >= TOO_MANY * len(slow):
        yield (
            f"{total} are slower than the fastest: a sampled matrix cannot attribute so many; measure the"
            " full matrix, at least of some endpoints"
        )
        return
    ends = Ends(rows, columns if both_ways else len(labels) + columns, len(labels) * (1 if both_ways else 2))
    found = slow_with_everyone(ends, slow)
    ways = (found, found) if both_ways else (found[: len(labels)], found[len(labels) :])
    for how, text in HOW.items():
        named = [labels[at] for at in np.flatnonzero((ways[0] == how[0]) & (ways[1] == how[1]))]
        yield from with_everyone([one for one in named if one in still], text, "it was not confirmed in the time given")
        others = [one for one in named if one not in still]
        yield from with_everyone(others, text, f"chance may explain it where {total} are slow")
    slow = slow & ~ends.cells(found)
    count = ends.having(slow)
    alone = slow & (count[ends.senders] == 1) & (count[ends.receivers] == 1)
    yield from of_paths(
        [(labels[row], labels[column]) for row, column in zip(rows[alone], columns[alone], strict=True)], stayed
    )
    worst = sorted(np.flatnonzero(count > 1).tolist(), key=lambda end: -count[end])
    if worst:
        names = units.first(list(dict.fromkeys(labels[end % len(labels)] for end in worst)))
        cells = units.counted(int((slow & ~alone).sum()), "cell")
        them = AGAIN.format(it="them" if len(names) > 1 else "it")
        yield f"{cells} slow, of {', '.join(names)}, slow with some peers and fine with other peers: {them}"


def with_everyone(names: Sequence[str], text: str, why: str) -> Iterator[str]:
    """ "n5 was slow with every peer: uncertain, because it was not confirmed in the time given; measure again …"."""
    if names:
        was, it, them = ("was", "it", "it") if len(names) == 1 else ("were", "they", "them")
        who = ", ".join(units.first(list(names)))
        yield f"{who} {text.format(was=was, it=it)}: uncertain, because {why}; {AGAIN.format(it=them)}"


def of_paths(pairs: Sequence[tuple[str, str]], stayed: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Sentences about slow pairs whose endpoints are both fine with other peers. stayed: pairs that were slow again."""
    again = [f"{row}->{column}" for row, column in pairs if (row, column) in stayed]
    if again:
        names = ", ".join(units.first(again))
        yield f"{names}: slow each time, while both endpoints are fine with other peers: check the path between them"
    if len(pairs) > len(again):
        once = units.counted(len(pairs) - len(again), "cell")
        yield f"{once} slow in one measurement, at endpoints that are fine with other peers"
