"""Synthetic matrices with faults of known components; each endpoint has its own NIC, and the noise is normal.

tests/benchmarks/locating.py has shared and unknown adapters, sockets and other noise.
"""

from dataclasses import dataclass

import numpy as np

from linkmatrix.locate import hypotheses
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import Layout
from linkmatrix.references import noise

PER_NODE = 8
RANKS = 0.50  # tolerances.ALONE of ranks in host memory
RATES = (395.0, 45.0)  # GB/s inside a node and between nodes
KINDS = {
    1: ("egress", "ingress", "device", "link", "class"),
    2: ("egress", "ingress", "device", "link", "nic", "rail", "node", "node_pair", "inside", "class"),
}


@dataclass(frozen=True)
class Fault:
    """A faulty component, named as in locate.Finding."""

    kind: str
    subject: int | tuple[int, int]


def layout_of(devices: int, per_node: int = PER_NODE) -> Layout:
    """Nodes of eight devices, each with its own NIC. Devices with the same number share a rail."""
    index = np.arange(devices)
    node = index // per_node
    classes = (node[:, None] != node[None, :]).astype(int)
    np.fill_diagonal(classes, -1)
    rail = index % per_node
    return Layout(classes, node, node, index, index, rail, rail)


def cells_of(fault: Fault, layout: Layout) -> np.ndarray:
    """Mask, rows × columns, of the cells that a fault makes slow, independent of locate.families."""
    n = len(layout.row_node)
    row, column = np.indices((n, n))
    node_r, node_c = layout.row_node[row], layout.column_node[column]
    net, s = node_r != node_c, fault.subject
    if isinstance(s, tuple):
        a, b = s
        ends = {"link": (row, column), "node_pair": (node_r, node_c)}[fault.kind]
        return ((ends[0] == a) & (ends[1] == b)) | ((ends[0] == b) & (ends[1] == a))
    return {
        "egress": row == s,
        "ingress": column == s,
        "device": (row == s) | (column == s),
        "nic": net & ((row == s) | (column == s)),
        "rail": net & (row % PER_NODE == s) & (column % PER_NODE == s),
        "node": net & ((node_r == s) | (node_c == s)),
        "inside": ~net & (node_r == s),
        "class": layout.classes == s,
    }[fault.kind] & (row != column)


def matrix_with(
    faults: list[Fault], depth: float, layout: Layout, sigma: float, chance: np.random.Generator
) -> np.ndarray:
    """GB/s of each cell. A cell of several faults is slow once: the slowest part decides."""
    level = np.array(RATES)[np.maximum(layout.classes, 0)]
    slow = np.zeros(level.shape, dtype=bool)
    for fault in faults:
        slow |= cells_of(fault, layout)
    values = level * np.where(slow, 1 - depth, 1.0) * (1 + sigma * chance.standard_normal(level.shape))
    np.fill_diagonal(values, np.nan)
    return values


def draw(number: int, layout: Layout, chance: np.random.Generator) -> list[Fault]:
    """Random faults that can be distinguished: none has more than a third of its cells in common with the others."""
    n = len(layout.row_node)
    nodes = int(layout.row_node.max()) + 1
    while True:
        faults = []
        for kind in chance.choice(KINDS[min(nodes, 2)], number):
            if kind == "link":
                first, second = sorted(chance.choice(n, 2, replace=False).tolist())
                faults.append(Fault("link", (first, second)))
            elif kind == "node_pair":
                first, second = sorted(chance.choice(nodes, 2, replace=False).tolist())
                faults.append(Fault("node_pair", (first, second)))
            else:
                most = {"rail": PER_NODE, "node": nodes, "inside": nodes, "class": min(nodes, 2)}.get(str(kind), n)
                faults.append(Fault(str(kind), int(chance.integers(most))))
        one_way = [fault.subject for fault in faults if fault.kind in ("egress", "ingress")]
        if len(set(one_way)) < len(one_way):
            continue  # the two together are the device
        masks = [cells_of(fault, layout) for fault in faults]
        if all(mask.any() for mask in masks) and all(
            (mask & np.logical_or.reduce([other for other in masks if other is not mask] or [~mask & mask])).sum() * 3
            <= mask.sum()
            for mask in masks
        ):
            return faults


def located(faults: list[Fault], found: list[Finding]) -> bool:
    """Whether the findings are exactly the faults. Findings with the same cells count as equal."""
    names = [{(one.kind, one.subject), *one.equivalent} for one in found]
    return len(found) == len(faults) and all(
        any((fault.kind, fault.subject) in name for name in names) for fault in faults
    )


def search(values: np.ndarray, layout: Layout, sigma: float, floor: float = 0.02) -> list[Finding]:
    """The findings of `linkmatrix diagnose` with references adopted from 6 runs with this noise."""
    expected = np.array(RATES)[np.maximum(layout.classes, 0)]
    cells = int((layout.classes >= 0).sum())
    limit = max(floor, noise.tolerance(sigma, cells, 6))
    return hypotheses.search(
        np.log(values / expected), np.full(values.shape, sigma), np.full(values.shape, limit), layout
    )[0]


def search_inside(values: np.ndarray, layout: Layout, floor: float) -> list[Finding]:
    """The findings of `linkmatrix diagnose` without references. floor: of the test case."""
    found, _ = hypotheses.search(*noise.class_deviations(np.log(values), layout.classes, floor), layout)
    return [one for one in found if one.kind != "class"]
