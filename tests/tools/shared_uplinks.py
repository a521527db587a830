"""Values of a full matrix between nodes on leaf switches whose uplinks are shared by all that flows at once.

Nothing here knows what is searched: each round is a perfect matching both ways, and its flows get what is fair by
maxima and minima (progressive filling): all rates grow alike until a line or an uplink is full, whose flows then stay.
"""

from collections.abc import Mapping, Sequence

import numpy as np


def rates(flows: Sequence[Sequence[int]], capacity: np.ndarray) -> np.ndarray:
    """The fair rate of each flow. flows: of each the resources that it passes. capacity: of each resource."""
    left, rate = capacity.astype(float).copy(), np.zeros(len(flows))
    passes = np.zeros((len(flows), len(capacity)), dtype=bool)
    for flow, resources in enumerate(flows):
        passes[flow, list(resources)] = True
    growing = np.ones(len(flows), dtype=bool)
    while growing.any():
        count = passes[growing].sum(axis=0)
        step = np.min(left[count > 0] / count[count > 0])
        rate[growing] += step
        left -= step * count
        growing &= ~passes[:, (left < 1e-9 * capacity) & (count > 0)].any(axis=1)
    return rate


def rounds(count: int) -> list[list[tuple[int, int]]]:
    """Perfect matchings of an even number of endpoints that have each pair once."""
    ring = list(range(1, count))
    found = []
    for _ in range(count - 1):
        order = [0, *ring]
        found.append([(order[at], order[count - 1 - at]) for at in range(count // 2)])
        ring = ring[1:] + ring[:1]
    return found


def fair(leaf: int, uplinks: Sequence[float], slow: Mapping[int, float] | None = None) -> np.ndarray:
    """What each pair of nodes gets of a line, NaN on the diagonal; leaf, uplinks and slow as in `matrix`."""
    count = leaf * len(uplinks)
    of_node = np.array([(slow or {}).get(node, 1.0) for node in range(count)])
    capacity = np.concatenate([of_node, of_node, np.repeat(np.array(uplinks, dtype=float), 2)])
    shares = np.full((count, count), np.nan)
    for pairs in rounds(count):
        flows = both_ways(pairs)
        ways = []
        for source, sink in flows:
            way = [source, count + sink]
            if source // leaf != sink // leaf:
                way += [2 * count + 2 * (source // leaf), 2 * count + 2 * (sink // leaf) + 1]
            ways.append(way)
        for (source, sink), rate in zip(flows, rates(ways, capacity), strict=True):
            shares[source, sink] = rate
    return shares


def both_ways(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The flows of a round."""
    return [flow for one, other in pairs for flow in ((one, other), (other, one))]


def matrix(
    leaf: int, uplinks: Sequence[float], line: float, seed: int, slow: Mapping[int, float] | None = None
) -> np.ndarray:
    """GB/s of each pair of nodes, NaN on the diagonal, with noise of 0.2 %.

    leaf: nodes of each. uplinks: how many lines' worth each leaf carries, each way. slow: {node: its share of a line}.
    """
    chance, values = np.random.default_rng(seed), line * fair(leaf, uplinks, slow)
    for source, sink in (flow for pairs in rounds(len(values)) for flow in both_ways(pairs)):
        values[source, sink] *= 1 + 0.002 * chance.standard_normal()
    return values
