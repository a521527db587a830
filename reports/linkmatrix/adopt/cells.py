"""References of cells: one of each link class whose cells are alike, and one of each cell that differs from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..locate.deviations import ROUNDED
from ..locate.hypotheses import LEAST
from ..record.matrix import Matrix, lasting_names
from ..references import noise
from ..references.pair_classes import MOST_PAIRS, NAMES, Group, groups_of, places_on_nodes
from ..references.reading import Reference, Table
from ..references.tolerances import FLOORS, STEADY, Floor
from .proposal import made

Floors = Mapping[str, Floor]  # of each link class
#: Floors of cells of which several together are named from LEAST on: a reference that is not their own is nearer.
OF_STEADY = {FLOORS[one] for one in STEADY}
BETWEEN_NODES = "NET"
ERRORS = 2  # standard errors of a median by which alike cells differ: 95 % of them differ by less
MOST_GROUPS = 64  # of a class of many endpoints: a topology that needs more has no adopted classes


@dataclass(frozen=True)
class CellReferences:
    """References of the cells of a matrix that is held.

    small: whether its pairs are known one by one. of_class: of classes with two cells or more that are alike. own: what
    the reference of each cell alone would be, {(row, column)}; of a matrix that is not small, only of the cells that
    differ from their class. shared: the cells that have that of their class, rows × columns.
    """

    names: tuple[list[str], list[str]]
    small: bool
    of_class: Mapping[str, Reference]
    own: Mapping[tuple[int, int], Reference]
    shared: np.ndarray

    def name(self, r: int, c: int) -> str:
        """The performance variable of a cell."""
        return f"{self.names[0][r]}->{self.names[1][c]}"

    @property
    def table(self) -> Table:
        """The references by their names in a file."""
        of_class = {f"cell[{group}]": one for group, one in self.of_class.items()}
        return of_class | {self.name(*cell): one for cell, one in self.own.items() if not self.shared[cell]}


def cell_references(
    matrix: Matrix, found: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors
) -> CellReferences:
    """Made of what was found in `count` runs with so many cells."""
    names = lasting_names(matrix.testcase, matrix.rows), lasting_names(matrix.testcase, matrix.columns)
    small = len({*names[0], *names[1]}) <= MOST_PAIRS
    applies = np.isfinite(found.centre)
    can_share = applies & named(*names)
    shared = np.zeros(applies.shape, dtype=bool)
    of_class = {}
    for group, sigma in found.of_class.items():
        of_group = applies & (classes == group)
        middle = float(np.median(found.centre[of_group]))
        reference = made(middle, sigma, cells, count, floors[group], matrix.unit)
        near = nearness(reference, floors[group])
        if small:
            near = min(near, room(reference, sigma, cells, count))
        within = np.abs(found.centre / middle - 1) <= near
        alike = of_group & can_share & within & (found.sigma <= noise.OWN_SPREAD * sigma)
        if alike.sum() > 1:
            of_class[group] = reference
            shared |= alike
    own = {
        (r, c): made(
            float(found.centre[r, c]), float(found.sigma[r, c]), cells, count, floors[str(classes[r, c])], matrix.unit
        )
        for r, c in np.argwhere(applies if small else applies & ~shared).tolist()
    }
    return CellReferences(names, small, of_class, own, shared)


def named(rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """The cells whose pair `$classes` can name: those of two endpoints whose names are words, rows × columns."""
    words = (np.array([NAMES.fullmatch(name) is not None for name in axis], dtype=bool) for axis in (rows, columns))
    return np.logical_and.outer(*words) & (np.array(rows)[:, None] != np.array(columns))


def nearness(reference: Reference, floor: Floor) -> float:
    """By how much a cell may differ from its class, as a fraction, and have its reference.

    A cell that is better than its class may lose no more than others before it is seen.
    """
    lower, upper = -(reference.lower or 0), reference.upper or 0
    near = min(lower, upper) / 2
    return min(near, LEAST / 2) if floor in OF_STEADY and lower <= floor.lower + ROUNDED else near


def room(reference: Reference, sigma: float, cells: int, count: int) -> float:
    """By how much a cell may differ from its class, as a fraction, without more false alarms than by its own median.

    That is what noise leaves of the tolerance, or what the medians of `count` runs differ by.
    """
    error = sigma * math.sqrt(noise.MEDIAN_EFFICIENCY / count)
    return max(-(reference.lower or 0) - noise.tolerance(sigma, cells, count), ERRORS * error)


def class_references(
    matrix: Matrix, found: noise.Spread, classes: np.ndarray, cells: int, count: int, floors: Floors, table: Table
) -> Table:
    """`cell[CLASS]` of a matrix that is not held: the limits cover the differences within the class too."""
    made_of = {}
    for group, sigma in found.of_class.items():
        middle = table[f"median[{group}]"].value
        off = np.abs(found.centre[classes == group] / middle - 1)
        among = 1.4826 * float(np.median(off[np.isfinite(off)]))
        made_of[f"cell[{group}]"] = made(
            middle, float(np.hypot(sigma, among)), cells, count, floors[group], matrix.unit
        )
    return made_of


def classes_of_many(matrix: Matrix, classes: np.ndarray, applies: np.ndarray) -> dict[str, list[Group]]:
    """The pairs of each class of a matrix of many endpoints; {} where the nodes differ, or no few groups contain them.

    Of several nodes those inside of each: a pair of two nodes is NET and falls to no other class.
    """
    nodes, places = places_on_nodes(matrix.rows)
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
        found[group] = groups_of(list(at), list(at), inside, several)
    alike = not (taken > 1).any() and all(len(groups) <= MOST_GROUPS for groups in found.values())
    return found if alike else {}
