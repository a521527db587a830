"""A site's references for the program, which reads them before it measures.

The program measures cells again that are worse than their reference: what only chance made slow is no FAIL then, in a
link class of several medians either.
"""

import functools
import os
from collections.abc import Iterable

from ..errors import BadInput
from .tables import References

#: Options of the program behind which references of one size are not those of what it measures.
SIZE = "--size"
OTHERS = {"--references", SIZE, "--sweep", "--random-sizes", "--blocks", "--concurrency"}
#: Options of the program with which a check's references do not describe what the program measures.
UNDESCRIBED = OTHERS - {"--references"}
LEAST = 1e-9  # of a value, by src/measure/references.cpp


def refused(extra_opts: Iterable[str], check: str, size_variable: str) -> str:
    """A sentence about an option that the references do not describe; "" for none.

    check: a class of tests. size_variable: its variable for the size, "" if it has none.
    """
    found = sorted(UNDESCRIBED & {word.partition("=")[0] for word in extra_opts})
    if not found:
        return ""
    settable = found[0] == SIZE and size_variable
    remedy = f"set the size by -S {check}.{size_variable}=SIZE" if settable else "leave it out"
    return f"{found[0]} is refused in extra_opts, because the references describe another measurement: {remedy}"


@functools.cache
def references(path: str) -> References:
    """All references of a file or folder, read once for all tests."""
    return References.load(path)


def lines_of(check: str, table: str, testcase: str, file: str = "") -> tuple[str, ...]:
    """What the program's --references reads, of a test case in a table: (test case, name, value and unit) of cells and
    of link classes that have no adopted pairs. file: of the partition; empty: all of them.

    Nothing where there are none, and none that the program would refuse, with all that its process measures. Files that
    cannot be read are refused where cells are judged.
    """
    folder = os.environ["RFM_REFERENCE_PREFIX"]
    try:
        known = references(os.path.join(folder, file) if file else folder).for_check(check)
    except BadInput:
        return ()
    return tuple(
        "\t".join((testcase, name, repr(one.value), one.unit))
        for name, one in known.expanded(table, testcase).items()
        if ("->" in name or name.startswith("cell[")) and name.isprintable() and one.value >= LEAST
    )
