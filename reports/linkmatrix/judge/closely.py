"""Which endpoints of a matrix that is not held are worth a close look."""

import numpy as np

from .tally import Tally

SUSPECTS, LOOKED_AT = 48, 384  # endpoints that may be at fault; with their neighbours and healthy ones


def endpoints(found: Tally, node: np.ndarray) -> np.ndarray:
    """Indices of the endpoints to look at: what may be at fault, the others of its node, and healthy ones, evenly."""
    size = len(node)
    bad = [slow >= size / 2 for slow in (found.slow_rows, found.slow_columns)]
    # a healthy row has a slow cell for each slow column
    rest = [
        np.where(own, slow, np.maximum(0, slow - other.sum()))
        for slow, own, other in zip((found.slow_rows, found.slow_columns), bad, bad[::-1], strict=True)
    ]
    score = np.maximum(*rest)
    order = np.argsort(-score, kind="stable")
    suspects = order[: min(SUSPECTS, int((score > 0).sum()))]
    mates = np.flatnonzero(np.isin(node, node[suspects]))[: LOOKED_AT // 2]
    chosen = np.union1d(suspects, mates)
    healthy = np.setdiff1d(np.arange(size), chosen)
    nodes = np.unique(node[healthy])
    per_node = max(1, len(healthy) // max(len(nodes), 1))
    wanted = max(1, (LOOKED_AT - len(chosen)) // per_node)
    some = nodes[np.unique(np.linspace(0, len(nodes) - 1, wanted).astype(int))] if len(nodes) else nodes
    return np.union1d(chosen, healthy[np.isin(node[healthy], some)])
