"""Selects a site's references for the program, which reads them before it measures.

The program measures a cell again if its value is worse than the reference. A random outlier is then no FAIL, also in a
link class of several medians.
"""

import functools
import os
from collections.abc import Iterable

from ..errors import BadInput
from .tables import References

#: Options of the program that change what the program measures, or its references.
SIZE = "--size"
OTHERS = {"--references", SIZE, "--sweep", "--random-sizes", "--blocks", "--concurrency"}
#: Options of the program with which a check's references do not describe what the program measures.
UNDESCRIBED = OTHERS - {"--references"}
LEAST = 1e-9  # the smallest value that src/measure/references.cpp accepts


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
    """Lines for the program's --references: test case, name, value and unit, separated by tabs.

    The names are pairs, and link classes without adopted pairs. file: of the partition; "" for all files. Without a
    table, or with an unreadable file, the result is (). The judge reports an unreadable file. References that the
    program would refuse are left out, because the program would refuse all test cases of its process.
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
