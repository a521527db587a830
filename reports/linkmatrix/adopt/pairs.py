"""How a proposal fits a table: which pairs take the reference of their class, and which have rows of their own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..references.pair_classes import NAMES, Group, PairClasses, groups_of
from ..references.reading import Table
from .proposal import Proposal


def adopted_class(pair: str, found: str, classes: PairClasses) -> str | None:
    """The class by which a pair that was found in `found` is compared."""
    return classes.of(pair) or (None if found in classes.groups else found)


def fitted(proposal: Proposal, present: Table, classes: PairClasses) -> Proposal:
    """The proposal for a table with the rows `present` and these adopted classes; groups: only those that are new.

    A pair that has a row of its own keeps it. A pair that was adopted in another class gets one.
    """
    if not proposal.pairs:
        new = {name: groups for name, groups in proposal.groups.items() if name not in classes.groups}
        return replace(proposal, groups=new)
    table, users = dict(proposal.table), dict.fromkeys(proposal.spreads, 0)
    for pair, (group, own) in proposal.pairs.items():
        if pair in table or pair in present or classes.of(pair) not in (None, group):
            table[pair] = own
        else:
            users[group] += 1
    kept = {group for group, count in users.items() if count or f"cell[{group}]" in present}
    table = {name: one for name, one in table.items() if not name.startswith("cell[") or name[5:-1] in kept}
    new = {group: new_pairs(proposal, group, classes) for group in kept if f"cell[{group}]" in table}
    return replace(proposal, table=table, groups={group: groups for group, groups in new.items() if groups})


def new_pairs(proposal: Proposal, group: str, classes: PairClasses) -> Sequence[Group]:
    """The pairs that were found in a class and have no adopted one."""
    ends = [pair.partition("->")[::2] for pair, (of, _) in proposal.pairs.items() if of == group]
    ends = [pair for pair in ends if can_be_named(*pair) and classes.of("->".join(pair)) is None]
    rows, columns = (list(dict.fromkeys(axis)) for axis in zip(*ends, strict=True)) if ends else ([], [])
    inside = np.zeros((len(rows), len(columns)), dtype=bool)
    for source, destination in ends:
        inside[rows.index(source), columns.index(destination)] = True
    return groups_of(rows, columns, inside)


def can_be_named(source: str, destination: str) -> bool:
    """Whether `$classes` can name a pair."""
    return source != destination and all(NAMES.fullmatch(one) for one in (source, destination))


def with_cells(present: Table, proposal: Proposal, classes: PairClasses) -> Table:
    """The rows of a table, and of each pair of the proposal the reference that it has in the table now."""
    found = dict(present)
    for pair, (group, _) in proposal.pairs.items():
        of_class = present.get(f"cell[{adopted_class(pair, group, classes)}]")
        if of_class is not None:
            found.setdefault(pair, of_class)
    return found
