"""A test case that was sold, and whether the limits of a contract can judge it: found before anything is measured."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import suite
from ..errors import BadInput
from ..references.keys import OF_EXTENT, variant_of
from ..references.reading import Table, read_text
from ..references.tables import CLASS_ROW

EACH, ALL = "each", "all"  # nodes that a record of a test case is of
OF_CELL = re.compile(r"[^>]+->[^>]+")  # a limit of one cell


@dataclass(frozen=True)
class Case:
    """A test case: how many cells each of its records must have judged; nodes: a record of EACH node, or one of ALL.

    size: of the data, in bytes. classes: {link class: how many of the cells}, {} where there is a limit of one alone.
    """

    testcase: str
    cells: int
    size: int
    nodes: str = EACH
    classes: Mapping[str, int] = field(default_factory=dict)


def is_count(value: Any) -> bool:
    """A whole number, 1 or more."""
    return type(value) is int and value >= 1


def refuse_without_limits(cases: Iterable[Case], table: str, limits: str, file: str) -> None:
    """Raises BadInput where a test case has no limit that can judge a cell, or several that may judge the wrong one.

    limits: the text of the file. They are in `table`, those of a variant of a check in a table with its name, sold@all.
    """
    tables = [(name, testcase, found) for (_, name, testcase), found in read_text(limits, Path(file)).tables.items()]
    names = sorted({name for name, _, _ in tables})
    known = [name for name in names if name.partition("@")[0] == table or name == table]
    if not known:
        raise BadInput(f"{file} has no table '{table}' (known: {', '.join(names) or 'none'})")
    for case in cases:
        of_case = [found for name, testcase, found in tables if name in known and testcase == case.testcase]
        if not any(of_case):
            said = f"{file}: {table}: there is no limit for {case.testcase}"
            raise BadInput(f"{said}: what has none cannot be judged")
        for found in of_case:
            refuse_limits(case, found, f"{file}: {table}: {case.testcase}")


def refuse_other_variants(cases: Iterable[Case], limits: str, file: str, nodes: int) -> None:
    """Raises BadInput where the limits of a test case are none of what its check measures, as far as that is known.

    nodes: of the contract. A check of several nodes may be of two, or of all, in a table with @all behind its name: of
    more than two a record of all nodes is the latter.
    """
    every = [(check, name, testcase) for (check, name, testcase), _ in read_text(limits, Path(file)).tables.items()]
    for case in cases:
        found = [(check, name, wanted(check, case, nodes)) for check, name, of in every if of == case.testcase]
        if found and not any(words <= words_of(name) for _, name, words in found):
            check, name, words = found[0]
            table = "@".join([name.partition("@")[0], *sorted(words)])
            what = ", ".join(f"@{word}" for word in sorted(words))
            said = f"{file}: {name}: {case.testcase}: {check} measures {what} with {nodes} nodes"
            raise BadInput(f"{said}: its limits stand in a table {table}")


def wanted(check: str, case: Case, nodes: int) -> set[str]:
    """The words that the table of a test of a check has, those that are sure."""
    of_all = case.nodes == ALL and nodes > 2 and check in OF_EXTENT
    return words_of(variant_of({"asked_by": f"{check} %extent=all" if of_all else check}))


def words_of(table: str) -> set[str]:
    """ "sold@all@device": all, device."""
    return set(table.split("@")[1:])


def refuse_limits(case: Case, table: Table, where: str) -> None:
    """Raises BadInput for limits of a test case that judge no cell, or of which it is not said which cells they are."""
    odd = [name for name in table if not CLASS_ROW.fullmatch(name) and not OF_CELL.fullmatch(name)]
    if odd:
        raise BadInput(f"{where}: '{odd[0]}' is the limit of no cell: write cell[NV18], or gpu0->gpu1")
    classes = {match["any"] or match["one"] for name in table if (match := CLASS_ROW.fullmatch(name))}
    if len(classes) > 1 and not case.classes:
        said = ", ".join(sorted(classes))
        raise BadInput(f"{where}: there are limits for {said}: say how many cells are of each, classes: {{{said}: …}}")
    if case.classes and sum(case.classes.values()) != case.cells:
        raise BadInput(f"{where}: its classes have {sum(case.classes.values())} cells, and it has {case.cells}")
    if case.size == 0 and any(one.unit != "us" for one in table.values()):
        raise BadInput(f"{where}: without data there is no bandwidth: say its size, such as {{size: 512MiB}}")


def refuse_unknown_checks(limits: str, file: str) -> None:
    """Raises BadInput for limits of a check that is not in checks/: nothing would be held against them."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((suite.FOLDER / "checks").glob("*.py")))
    known = {name for text in texts for name in re.findall(r"^class (\w+)\(", text, re.MULTILINE)}
    for check, _, _ in read_text(limits, Path(file)).tables:
        if check not in known:
            raise BadInput(f"{file}: no check is called '{check}': limits stand below the check that measures them")
