"""Simulated full matrices between nodes on leaf switches with shared uplinks.

The simulation is independent of the search. Each round is a perfect matching in both directions. Its flows get their
max-min fair share (progressive filling): all rates grow equally until a line or an uplink is full, and the flows on it
then keep their rate.
"""

from collections.abc import Mapping, Sequence

import numpy as np


def rates(flows: Sequence[Sequence[int]], capacity: np.ndarray) -> np.ndarray:
    """The fair rate of each flow. flows: the resources of each flow. capacity: of each resource."""
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
    """Perfect matchings of an even number of endpoints that together contain each pair once."""
    ring = list(range(1, count))
    found = []
    for _ in range(count - 1):
        order = [0, *ring]
        found.append([(order[at], order[count - 1 - at]) for at in range(count // 2)])
        ring = ring[1:] + ring[:1]
    return found


def fair(leaf: int, uplinks: Sequence[float], slow: Mapping[int, float] | None = None) -> np.ndarray:
    """The share of a line that each pair of nodes gets, NaN on the diagonal. leaf, uplinks, slow: as in `matrix`."""
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
    """The flows of a round in both directions."""
    return [flow for one, other in pairs for flow in ((one, other), (other, one))]


def matrix(
    leaf: int, uplinks: Sequence[float], line: float, seed: int, slow: Mapping[int, float] | None = None
) -> np.ndarray:
    """GB/s of each pair of nodes, NaN on the diagonal, with noise of 0.2 %.

    leaf: nodes per leaf switch. uplinks: the capacity of a leaf's uplinks per direction, in lines. slow: {node: share
    of a line}.
    """
    chance, values = np.random.default_rng(seed), line * fair(leaf, uplinks, slow)
    for source, sink in (flow for pairs in rounds(len(values)) for flow in both_ways(pairs)):
        values[source, sink] *= 1 + 0.002 * chance.standard_normal()
    return values
