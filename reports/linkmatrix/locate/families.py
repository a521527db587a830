"""The hypotheses of a layout. Each hypothesis consists of the cells that a component slows if the component is faulty.

Data between nodes passes an endpoint, its adapters, a PCIe switch, a socket, the node and its leaf switch. Each
component that several endpoints share is a hypothesis.

Data inside an NVLink domain that spans nodes passes NVLink switches. The components are the device, its tray (a node)
and the domain. Switch planes are no hypotheses, because each pair uses all planes equally.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .layout import Indices, Layout, Subject

#: Components that data between nodes passes, the smallest first. Their cells are between nodes, with an endpoint there.
PATH_COMPONENTS = ("nic", "network", "nics", "switch", "socket", "node", "leaf")
ONE_WAY = ("nic", "network", "nics", "node")  # components with a sending and a receiving side
#: {component: components}. If its groups of endpoints are equal to those of one of these, it is no hypothesis.
SAME_AS = {"switch": ("nic", "nics"), "socket": ("switch", "node"), "leaf": ("node",)}
SHARED = ("class", "rail", "rail_ends", "leaf", "uplink", "domain")  # components that several nodes share


@dataclass(frozen=True, eq=False)
class Family:
    """The hypotheses of one kind. Each hypothesis is a group of cells.

    labels: flat arrays with the number of each cell's group, -1 for none. If a cell can be in two groups, there are two
    arrays.
    groups: number of groups.
    pairs: 0, unless each group is a pair. Group a * pairs + b is then the pair (a, b).
    """

    kind: str
    labels: tuple[np.ndarray, ...]
    groups: int
    pairs: int = 0

    def subject(self, group: int) -> Subject:
        """The index of the component of a group. If the group is a pair, the two indices."""
        return divmod(group, self.pairs) if self.pairs else group


def families(layout: Layout) -> list[Family]:
    """All hypotheses of a layout. The hypotheses with the simplest repair come first."""
    rows, columns = shape = layout.classes.shape
    row, column = np.indices(shape, sparse=True)
    found: list[Family] = []

    def add(kind: str, *labels: np.ndarray, scope: np.ndarray | None = None, pairs: int = 0) -> None:
        labels = tuple(np.broadcast_to(label, shape) for label in labels)
        inside = [np.where(scope, label, -1) if scope is not None else label for label in labels]
        most = max((int(label.max(initial=-1)) for label in inside), default=-1)
        if most >= 0:
            flat = tuple(label.ravel() for label in inside)
            found.append(Family(kind, flat, pairs * pairs if pairs else most + 1, pairs))

    if layout.is_local:
        add("ingress", column)
        add("class", layout.classes)
        return found
    one_way = not layout.bidirectional
    if one_way and not layout.of_nodes:
        add("egress", row)
        add("ingress", column)
    if layout.square and not layout.of_nodes:
        add("device", row, np.where(row == column, -1, column))
        n = rows
        add("link", np.minimum(row, column) * n + np.maximum(row, column), pairs=n)
    if one_way or not layout.square:
        n = max(rows, columns)
        add("cell", row * n + column, pairs=n)
    if layout.has_nodes:
        add_between_nodes(layout, add)
    if layout.square and is_hypothesis(layout, "socket"):
        of_row, of_column = broadcast_components(layout, "socket")
        add("memory", of_row, np.where(of_row == of_column, -1, of_column))
        row_node, column_node = broadcast_components(layout, "node")
        across = (row_node == column_node) & (of_row != of_column) & (np.minimum(of_row, of_column) >= 0)
        add("between_sockets", row_node, scope=across)
    add("class", layout.classes)
    return found


def add_between_nodes(layout: Layout, add: Callable[..., None]) -> None:
    """Adds the hypotheses of a matrix of several nodes. add: function that adds the hypotheses of one kind."""
    row, column = np.indices(layout.classes.shape, sparse=True)
    row_node, column_node = broadcast_components(layout, "node")
    in_domain = layout.in_domain
    inside = (row_node == column_node) & ~in_domain
    net = (row_node != column_node) & ~in_domain
    passed = [part for part in PATH_COMPONENTS if is_hypothesis(layout, part)]
    if not layout.bidirectional:
        for part in ONE_WAY:
            if part in passed:
                of_row, of_column = broadcast_components(layout, part)
                add(f"{part}_egress", of_row, scope=net)
                add(f"{part}_ingress", of_column, scope=net)
        add("links_egress", row, scope=inside)
        add("links_ingress", column, scope=inside)
    for part in passed:
        of_row, of_column = broadcast_components(layout, part)
        add(part, of_row, np.where(of_row == of_column, -1, of_column), scope=net)
    add("links", row, np.where(row == column, -1, column), scope=inside)
    nodes = int(layout.row_node.max()) + 1
    low, high = np.minimum(row_node, column_node), np.maximum(row_node, column_node)
    add("node_pair", low * nodes + high, scope=net, pairs=nodes)
    add("inside", row_node, scope=row_node == column_node)
    if in_domain.any():
        add_inside_domains(layout, add, net)
    row_rail, column_rail = broadcast_components(layout, "rail")
    add("rail", row_rail, scope=net & (row_rail == column_rail))
    if len(np.unique(layout.row_rail)) > 1:
        add("rail_ends", row_rail, np.where(row_rail == column_rail, -1, column_rail), scope=net)
    if "leaf" in passed:
        of_row, of_column = broadcast_components(layout, "leaf")
        add("uplink", of_row, of_column, scope=of_row != of_column)


def add_inside_domains(layout: Layout, add: Callable[..., None], net: np.ndarray) -> None:
    """Adds the hypotheses about cells inside NVLink domains.

    add: function that adds the hypotheses of one kind.
    net: True for cells over the network.
    """
    row, column = np.indices(layout.classes.shape, sparse=True)
    row_node, column_node = broadcast_components(layout, "node")
    in_domain = layout.in_domain
    if net.any():  # otherwise the hypotheses are equal to those of the device
        if not layout.bidirectional:
            add("nvlinks_egress", row, scope=in_domain)
            add("nvlinks_ingress", column, scope=in_domain)
        add("nvlinks", row, np.where(row == column, -1, column), scope=in_domain)
    if len(np.unique(layout.row_node)) < len(layout.row_node):
        add("tray", row_node, np.where(row_node == column_node, -1, column_node), scope=in_domain)
    add("domain", broadcast_components(layout, "domain")[0], scope=in_domain)


def broadcast_components(layout: Layout, kind: str) -> Indices:
    """(component of the source of each cell, component of the destination of each cell), as numbers.

    kind: the kind of component, such as "node".
    Both arrays have the shape of the matrix.
    """
    of_rows, of_columns = layout.places(kind)
    shape = layout.classes.shape
    return np.broadcast_to(of_rows[:, None], shape), np.broadcast_to(of_columns[None, :], shape)


def is_hypothesis(layout: Layout, part: str) -> bool:
    """Whether the search tests a hypothesis for each component of this kind.

    The search leaves out a kind in two cases. The components are unknown. Or the cells of each component are also the
    cells of a single endpoint, or of a component of another kind.
    part: the kind of component, such as "switch".
    """
    of_rows = layout.places(part)[0]
    if part == "node":
        return True
    if part == "network":  # equal to the endpoints if each endpoint has its own adapters
        own = np.where(layout.row_nic >= 0, layout.row_nic, -2 - layout.places("nics")[0])
        shared = len(np.unique(own)) < len(own) or bool((own == -1).any())
        return shared and not layout.of_nodes and len(np.unique(layout.row_node)) < len(own)
    if (of_rows < 0).all():
        return False
    if part in ("nic", "nics"):
        return True
    sizes = np.unique(of_rows[of_rows >= 0], return_counts=True)[1]
    return (
        len(sizes) > 1
        and sizes.max() > 1
        and not any(same_groups(of_rows, layout.places(other)[0]) for other in SAME_AS[part])
    )


def same_groups(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of group numbers divide the endpoints into the same groups."""
    both = len(np.unique(np.stack([one, other]), axis=1)[0])
    return len(np.unique(one)) == both == len(np.unique(other))


def find_family(layout: Layout, kind: str, subject: Subject) -> tuple[Family, int]:
    """(family, number of the group) of the hypothesis about a component.

    kind, subject: see `Finding`.
    """
    family = next(family for family in families(layout) if family.kind == kind)
    if isinstance(subject, tuple):
        return family, subject[0] * family.pairs + subject[1]
    return family, subject


def member_cells(family: Family, group: int) -> np.ndarray:
    """True for the cells of a group; flat, with one item per cell."""
    inside = family.labels[0] == group
    for label in family.labels[1:]:
        inside = inside | (label == group)
    return inside
