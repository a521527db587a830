"""References of cells: one per link class for its similar cells, and one for each other cell.

`fit_to_table` decides for each pair whether the pair uses the reference of its class or a row of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..locate.deviations import ROUNDED
from ..record.link_classes import BETWEEN_NODES
from ..record.matrix import Matrix
from ..record.names import lasting_names
from ..references import noise
from ..references.noise import FLOORS, LEAST_GROUP_DEVIATION, STEADY, Floor
from ..references.pair_classes import (
    MAX_LISTED_ENDPOINTS,
    NAMES,
    Group,
    PairClasses,
    cover_pairs,
    places_by_node,
)
from ..references.reading import Reference, Table
from .proposal import Pairs, Proposal, make_reference

Floors = Mapping[str, Floor]  # {link class: floor}
#: Floors of link classes whose cells must be alike: the diagnosis flags deviations from LEAST_GROUP_DEVIATION on.
STEADY_FLOORS = {FLOORS[one] for one in STEADY}
STANDARD_ERRORS = 2  # of a median: 95 % of equally fast cells differ by less
MAX_GROUPS_PER_CLASS = 64  # a class of many endpoints with more groups is not adopted


def cell_references(
    matrix: Matrix, spread: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors
) -> tuple[Table, Pairs]:
    """Returns (table, pairs) with the references of a matrix in memory.

    * table: one reference per class with two or more similar cells, and one reference for each other cell
    * pairs: {pair: (link class, reference of the pair)} for a small matrix; {} for a large matrix
    * spread: the medians and the noise of the runs
    * cells: the number of compared cells
    * count: the number of runs
    """
    names = lasting_names(matrix.testcase, matrix.rows), lasting_names(matrix.testcase, matrix.columns)
    small = len({*names[0], *names[1]}) <= MAX_LISTED_ENDPOINTS
    applies = np.isfinite(spread.centre)
    can_share = applies & nameable_mask(*names)
    shared = np.zeros(applies.shape, dtype=bool)
    shared_references = {}
    for group, sigma in spread.class_sigma.items():
        members = applies & (classes == group)
        middle = float(np.median(spread.centre[members]))
        reference = make_reference(middle, sigma, cells, count, floors[group], matrix.unit)
        near = similarity_limit(reference, floors[group])
        if small:
            near = min(near, noise_margin(reference, sigma, cells, count))
        within = np.abs(spread.centre / middle - 1) <= near
        alike = members & can_share & within & (spread.sigma <= noise.OWN_SIGMA_FACTOR * sigma)
        if alike.sum() > 1:
            shared_references[group] = reference
            shared |= alike
    own_references = {
        (r, c): make_reference(
            float(spread.centre[r, c]), float(spread.sigma[r, c]), cells, count, floors[str(classes[r, c])], matrix.unit
        )
        for r, c in np.argwhere(applies if small else applies & ~shared).tolist()
    }
    pair_names = {cell: f"{names[0][cell[0]]}->{names[1][cell[1]]}" for cell in own_references}
    table = {f"cell[{group}]": reference for group, reference in shared_references.items()}
    table |= {pair_names[cell]: reference for cell, reference in own_references.items() if not shared[cell]}
    pairs = {pair_names[cell]: (str(classes[cell]), reference) for cell, reference in own_references.items()}
    return table, pairs if small else {}


def nameable_mask(rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """True for the cells whose pair can be written in `$classes`; rows × columns."""
    words = (np.array([NAMES.fullmatch(name) is not None for name in axis], dtype=bool) for axis in (rows, columns))
    return np.logical_and.outer(*words) & (np.array(rows)[:, None] != np.array(columns))


def similarity_limit(reference: Reference, floor: Floor) -> float:
    """The similarity limit of a link class, as a fraction.

    If a cell differs from its class by more than this limit, the cell gets a reference of its own. The limit is at most
    half of the tolerance. Otherwise, the tolerance would hide faults of faster cells.
    """
    lower, upper = -(reference.lower or 0), reference.upper or 0
    near = min(lower, upper) / 2
    return min(near, LEAST_GROUP_DEVIATION / 2) if floor in STEADY_FLOORS and lower <= floor.lower + ROUNDED else near


def noise_margin(reference: Reference, sigma: float, cells: int, count: int) -> float:
    """The largest difference between a cell and its class that does not cause more false alarms, as a fraction.

    This is the larger of two values: the tolerance minus the noise, and the uncertainty of the medians.
    """
    error = sigma * math.sqrt(noise.MEDIAN_EFFICIENCY / count)
    return max(-(reference.lower or 0) - noise.tolerance(sigma, cells, count), STANDARD_ERRORS * error)


def class_references(
    matrix: Matrix,
    spread: noise.Spread,
    classes: np.ndarray,
    cells: int,
    count: int,
    floors: Floors,
    medians: Mapping[str, float],
) -> Table:
    """Returns {"cell[CLASS]": reference} of a matrix that is too large for memory.

    The noise of a reference includes the differences between the cells of the class.
    medians: {link class: median over all runs}.
    """
    table = {}
    for group, sigma in spread.class_sigma.items():
        middle = medians[group]
        off = np.abs(spread.centre[classes == group] / middle - 1)
        between_cells = 1.4826 * float(np.median(off[np.isfinite(off)]))
        total = float(np.hypot(sigma, between_cells))
        table[f"cell[{group}]"] = make_reference(middle, total, cells, count, floors[group], matrix.unit)
    return table


def large_matrix_classes(matrix: Matrix, classes: np.ndarray, applies: np.ndarray) -> dict[str, list[Group]]:
    """Returns {link class: groups of pairs} of a matrix of many endpoints. applies: True for measured cells.

    With several nodes, the groups contain only pairs inside each node, because the class of a pair between nodes is
    always NET. The result is empty if the classes differ from node to node. The result is also empty if a class needs
    more than MAX_GROUPS_PER_CLASS groups.
    """
    nodes, places = places_by_node(matrix.rows)
    several = len(set(nodes)) > 1
    names = places if several else lasting_names(matrix.testcase, matrix.rows)
    if matrix.rows != matrix.columns or not all(map(NAMES.fullmatch, names)):
        return {}
    same_node = np.equal.outer(nodes, nodes)
    number = {name: number for number, name in enumerate(dict.fromkeys(names))}
    index = np.array([number[name] for name in names])
    found, classes_per_pair = {}, np.zeros((len(number), len(number)), dtype=int)
    for group in sorted(set(classes[applies].tolist()) - {BETWEEN_NODES}):
        rows, columns = np.nonzero(applies & same_node & (classes == group))
        inside = np.zeros(classes_per_pair.shape, dtype=bool)
        inside[index[rows], index[columns]] = True
        classes_per_pair += inside
        found[group] = cover_pairs(list(number), list(number), inside, several)
    if (classes_per_pair > 1).any() or any(len(groups) > MAX_GROUPS_PER_CLASS for groups in found.values()):
        return {}
    return found


def adopted_class(pair: str, found: str, classes: PairClasses) -> str | None:
    """The link class whose reference applies to a pair; None if no reference of a class applies.

    found: the class that the runs found for the pair.
    """
    return classes.pair_class(pair) or (None if found in classes.groups else found)


def fit_to_table(proposal: Proposal, present: Table, classes: PairClasses) -> Proposal:
    """Fits the proposal to an existing table. present: the rows of the table. classes: the adopted classes.

    * A pair that has a row of its own in the table keeps its own row.
    * A pair whose adopted class differs from the class of the runs moves to the class of the runs, and gets its own
      row. `moved` of the result contains these pairs.
    * `groups` of the result contains only new groups.
    """
    if not proposal.pairs:
        new = {name: groups for name, groups in proposal.groups.items() if name not in classes.groups}
        return replace(proposal, groups=new)
    table, shares = dict(proposal.table), dict.fromkeys(proposal.spreads, 0)
    moved: dict[str, list[Group]] = {}
    for pair, (group, reference) in proposal.pairs.items():
        differs = classes.pair_class(pair) not in (None, group)
        if differs:
            moved.setdefault(group, []).append(Group.read(pair))
        if pair in table or pair in present or differs:
            table[pair] = reference
        else:
            shares[group] += 1
    kept = {group for group, count in shares.items() if count or f"cell[{group}]" in present}
    table = {name: one for name, one in table.items() if not name.startswith("cell[") or name[5:-1] in kept}
    adopted = [group for group in kept - {BETWEEN_NODES} if f"cell[{group}]" in table]
    new = proposal.groups or {group: new_groups(proposal, group, classes) for group in adopted}
    groups = {group: groups for group, groups in new.items() if groups}
    return replace(proposal, table=table, groups=groups, moved=moved)


def new_groups(proposal: Proposal, group: str, classes: PairClasses) -> Sequence[Group]:
    """Groups for the pairs that the runs found in the link class `group` and that have no adopted class yet."""
    endpoints = [pair.partition("->")[::2] for pair, (pair_class, _) in proposal.pairs.items() if pair_class == group]
    endpoints = [pair for pair in endpoints if is_nameable(*pair) and classes.pair_class("->".join(pair)) is None]
    rows, columns = (list(dict.fromkeys(axis)) for axis in zip(*endpoints, strict=True)) if endpoints else ([], [])
    inside = np.zeros((len(rows), len(columns)), dtype=bool)
    for source, destination in endpoints:
        inside[rows.index(source), columns.index(destination)] = True
    return cover_pairs(rows, columns, inside)


def is_nameable(source: str, destination: str) -> bool:
    """Whether `$classes` can contain a pair. Its endpoints must differ, and their names must fit the syntax."""
    return source != destination and all(NAMES.fullmatch(one) for one in (source, destination))


def with_pair_rows(present: Table, proposal: Proposal, classes: PairClasses) -> Table:
    """The rows of a table, and an additional row for each pair that uses the reference of its link class."""
    found = dict(present)
    for pair, (group, _) in proposal.pairs.items():
        reference = present.get(f"cell[{adopted_class(pair, group, classes)}]")
        if reference is not None:
            found.setdefault(pair, reference)
    return found
