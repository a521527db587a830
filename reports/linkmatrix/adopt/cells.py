"""References of cells: one reference per link class for similar cells, and one reference per differing cell.

`fit_to_table` fits a proposal to a table: some pairs use the reference of their class, and some have their own row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..locate.deviations import ROUNDED
from ..record.matrix import Matrix
from ..record.names import lasting_names
from ..references import noise
from ..references.noise import FLOORS, LEAST_GROUP_DEVIATION, STEADY, Floor
from ..references.pair_classes import (
    BETWEEN_NODES,
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
ERRORS = 2  # standard errors of a median: 95 % of equally fast cells differ by less
MAX_GROUPS_PER_CLASS = 64  # a class of many endpoints that needs more groups is not adopted


def cell_references(
    matrix: Matrix, found: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors
) -> tuple[Table, Pairs]:
    """(table, pairs) of a matrix in memory. A class of two or more similar cells has one reference.

    found: medians and noise of `count` runs. cells: the number of compared cells. table: also has the references of the
    cells that differ from their class. pairs: {pair: (its class, its own reference)} of a small matrix, in which each
    pair may get its own row; {} of a large matrix.
    """
    names = lasting_names(matrix.testcase, matrix.rows), lasting_names(matrix.testcase, matrix.columns)
    small = len({*names[0], *names[1]}) <= MAX_LISTED_ENDPOINTS
    applies = np.isfinite(found.centre)
    can_share = applies & nameable(*names)
    shared = np.zeros(applies.shape, dtype=bool)
    of_class = {}
    for group, sigma in found.class_sigma.items():
        of_group = applies & (classes == group)
        middle = float(np.median(found.centre[of_group]))
        reference = make_reference(middle, sigma, cells, count, floors[group], matrix.unit)
        near = similarity_limit(reference, floors[group])
        if small:
            near = min(near, noise_margin(reference, sigma, cells, count))
        within = np.abs(found.centre / middle - 1) <= near
        alike = of_group & can_share & within & (found.sigma <= noise.OWN_SIGMA_FACTOR * sigma)
        if alike.sum() > 1:
            of_class[group] = reference
            shared |= alike
    own_references = {
        (r, c): make_reference(
            float(found.centre[r, c]), float(found.sigma[r, c]), cells, count, floors[str(classes[r, c])], matrix.unit
        )
        for r, c in np.argwhere(applies if small else applies & ~shared).tolist()
    }
    pair_of = {cell: f"{names[0][cell[0]]}->{names[1][cell[1]]}" for cell in own_references}
    table = {f"cell[{group}]": reference for group, reference in of_class.items()}
    table |= {pair_of[cell]: reference for cell, reference in own_references.items() if not shared[cell]}
    pairs = {pair_of[cell]: (str(classes[cell]), reference) for cell, reference in own_references.items()}
    return table, pairs if small else {}


def nameable(rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """Mask of the cells whose pair `$classes` can contain, rows × columns."""
    words = (np.array([NAMES.fullmatch(name) is not None for name in axis], dtype=bool) for axis in (rows, columns))
    return np.logical_and.outer(*words) & (np.array(rows)[:, None] != np.array(columns))


def similarity_limit(reference: Reference, floor: Floor) -> float:
    """The largest difference from the class, as a fraction, with which a cell has the reference of its class.

    The limit is half of the tolerance, so a fault in a faster cell is detected too.
    """
    lower, upper = -(reference.lower or 0), reference.upper or 0
    near = min(lower, upper) / 2
    return min(near, LEAST_GROUP_DEVIATION / 2) if floor in STEADY_FLOORS and lower <= floor.lower + ROUNDED else near


def noise_margin(reference: Reference, sigma: float, cells: int, count: int) -> float:
    """The largest difference from the class, as a fraction, that does not increase the false alarms of a cell.

    The result is the larger of two values: the tolerance minus the noise, and the uncertainty of the medians.
    """
    error = sigma * math.sqrt(noise.MEDIAN_EFFICIENCY / count)
    return max(-(reference.lower or 0) - noise.tolerance(sigma, cells, count), ERRORS * error)


def class_references(
    matrix: Matrix,
    found: noise.Spread,
    classes: np.ndarray,
    cells: int,
    count: int,
    floors: Floors,
    medians: Mapping[str, float],
) -> Table:
    """`cell[CLASS]` of a matrix that is too large for memory. The limits include the differences within the class.

    medians: {link class: median of all runs}.
    """
    made_of = {}
    for group, sigma in found.class_sigma.items():
        middle = medians[group]
        off = np.abs(found.centre[classes == group] / middle - 1)
        among = 1.4826 * float(np.median(off[np.isfinite(off)]))
        made_of[f"cell[{group}]"] = make_reference(
            middle, float(np.hypot(sigma, among)), cells, count, floors[group], matrix.unit
        )
    return made_of


def large_matrix_classes(matrix: Matrix, classes: np.ndarray, applies: np.ndarray) -> dict[str, list[Group]]:
    """{class: groups of pairs} of a matrix of many endpoints.

    Empty if the nodes differ, or if a class needs more than MAX_GROUPS_PER_CLASS groups. Of several nodes, only pairs
    inside each node are included, because a pair between nodes is always NET.
    """
    nodes, places = places_by_node(matrix.rows)
    several = len(set(nodes)) > 1
    names = places if several else lasting_names(matrix.testcase, matrix.rows)
    if matrix.rows != matrix.columns or not all(map(NAMES.fullmatch, names)):
        return {}
    same_node = np.equal.outer(nodes, nodes)
    at = {name: number for number, name in enumerate(dict.fromkeys(names))}
    index = np.array([at[name] for name in names])
    found, taken = {}, np.zeros((len(at), len(at)), dtype=int)
    for group in sorted(set(classes[applies].tolist()) - {BETWEEN_NODES}):
        rows, columns = np.nonzero(applies & same_node & (classes == group))
        inside = np.zeros(taken.shape, dtype=bool)
        inside[index[rows], index[columns]] = True
        taken += inside
        found[group] = cover_pairs(list(at), list(at), inside, several)
    alike = not (taken > 1).any() and all(len(groups) <= MAX_GROUPS_PER_CLASS for groups in found.values())
    return found if alike else {}


def adopted_class(pair: str, found: str, classes: PairClasses) -> str | None:
    """The class that a pair is compared with; None without one. found: the pair's class in the runs."""
    return classes.pair_class(pair) or (None if found in classes.groups else found)


def fit_to_table(proposal: Proposal, present: Table, classes: PairClasses) -> Proposal:
    """The proposal for a table with the rows `present` and the adopted classes `classes`.

    `groups` of the result contains new groups only. A pair with its own row keeps the row. A pair that was adopted in
    another class gets its own row, and moves to the found class.
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
    """The groups of the pairs that the runs found in a class, and that have no adopted class."""
    endpoints = [pair.partition("->")[::2] for pair, (pair_class, _) in proposal.pairs.items() if pair_class == group]
    endpoints = [pair for pair in endpoints if is_nameable(*pair) and classes.pair_class("->".join(pair)) is None]
    rows, columns = (list(dict.fromkeys(axis)) for axis in zip(*endpoints, strict=True)) if endpoints else ([], [])
    inside = np.zeros((len(rows), len(columns)), dtype=bool)
    for source, destination in endpoints:
        inside[rows.index(source), columns.index(destination)] = True
    return cover_pairs(rows, columns, inside)


def is_nameable(source: str, destination: str) -> bool:
    """Whether `$classes` can contain a pair."""
    return source != destination and all(NAMES.fullmatch(one) for one in (source, destination))


def with_pair_rows(present: Table, proposal: Proposal, classes: PairClasses) -> Table:
    """The rows of a table, with a row added for each pair that uses the reference of its class."""
    found = dict(present)
    for pair, (group, _) in proposal.pairs.items():
        of_class = present.get(f"cell[{adopted_class(pair, group, classes)}]")
        if of_class is not None:
            found.setdefault(pair, of_class)
    return found
