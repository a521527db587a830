"""Fits a proposal to a table: some pairs use the reference of their class, and some have their own row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..references.pair_classes import BETWEEN_NODES, NAMES, Group, PairClasses, cover_pairs
from ..references.reading import Table
from .proposal import Proposal


def adopted_class(pair: str, found: str, classes: PairClasses) -> str | None:
    """The class that a pair is compared with; None without one. found: the pair's class in the runs."""
    return classes.of(pair) or (None if found in classes.groups else found)


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
        differs = classes.of(pair) not in (None, group)
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
    endpoints = [pair for pair in endpoints if is_nameable(*pair) and classes.of("->".join(pair)) is None]
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
