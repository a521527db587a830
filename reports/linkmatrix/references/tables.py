"""Tables of references: the expected values of a partition's cells.

A file contains nested mappings: check, table of references, test case, performance variable. A partition names its
table in `extras['reference']`. An example from `config/references/p2p.yaml`::

    intranode_p2p:
      hgx-h200:
        $classes:
          NV18: gpu[0-7]->gpu[0-7]
        device_to_device_memcpy_write_ce:
          cell[NV18]: [395.9, -0.02, 0.02, GB/s]
          gpu0->gpu1: [391.2, -0.02, 0.02, GB/s]

A reference is [value, lower tolerance, upper tolerance, unit]. Tolerances are fractions of the value. null is no limit.
A bandwidth needs a lower tolerance, and a latency an upper tolerance. A limit is at most ten times the value.

[$xfail, REASON until 2026-12-31, [395.9, -0.02, 0.02, GB/s]] waives a reference, as in ReFrame.

The reference of a cell is the first of these that exists:

1. the reference of its pair, `gpu0->gpu1`
2. the reference of its pair's class in `$classes` (see `pair_classes`)
3. the reference of the class that the run found, `cell[NV18]`, if `$classes` does not contain this class
"""

import copy
import functools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import suite
from ..errors import BadInput
from ..record.names import Pair, lasting_names
from . import keys
from .pair_classes import NO_CLASSES, MatrixClasses, PairClasses, endpoint_type
from .reading import TYPICAL, Content, Reference, Table, read_file, read_text

FOLDER = suite.REFERENCES
CLASS_ROW = re.compile(r"cell\[(?P<any>.+)\]|(?P<one>[^\[\]>]+)@(?P<size>\d+)")

Key = tuple[str, str]  # table of references, test case
NO_CHECK = ""  # key of references that belong to any check


def reference_files(folder: Path) -> list[Path]:
    """The sorted files of references in a folder. Hidden files and typical.yaml are left out."""
    # a hidden file is a temporary file of an editor, or of an interrupted write
    return [file for file in sorted(folder.glob("[!.]*.yaml")) if file.name != TYPICAL]


class References:
    """All references of a folder. `for_result` selects the references for a result.

    * tables: {(check, name of the table, test case): {performance variable: reference}}
    * classes: {(check, name of the table): adopted classes of pairs}

    A key without a check applies to all checks.
    """

    def __init__(
        self, tables: Mapping[tuple[str, ...], Table], classes: Mapping[tuple[str, ...], PairClasses] | None = None
    ) -> None:
        self._tables: dict[Key, dict[str, Table]] = {}
        self._classes = {(NO_CHECK, *key)[-2:]: found for key, found in (classes or {}).items()}
        for key, table in tables.items():
            check, name, testcase = (NO_CHECK, *key)[-3:]
            self._tables.setdefault((name, testcase), {})[check] = table
        self._check, self._only, self._size = NO_CHECK, False, None

    @classmethod
    def load(cls, path: str | Path | None = None) -> "References":
        """Reads a file of references, or all files of a folder. Raises BadInput, with the file and the key.

        path: a file or folder; by default, config/references. A folder without files has no references.
        """
        if path is None and not FOLDER.exists():
            raise BadInput("config/references is missing here and in the folders above: name one with --references DIR")
        path = FOLDER if path is None else Path(path)
        if not path.exists():
            raise BadInput(f"{path} does not exist: name a file or folder of references")
        found = Content({}, {})
        for file in reference_files(path) if path.is_dir() else [path]:
            found.add(read_file(file), file)
        return cls(*found)

    @classmethod
    def read(cls, text: str, file: Path) -> "References":
        """Parses the text of a file of references. Raises BadInput, with the file and the key.

        file: path of the file for error messages. The file can be missing.
        """
        return cls(*read_text(text, file))

    def for_result(self, record: Mapping[str, Any], result: Mapping[str, Any]) -> "References":
        """The references for the check and the size of a result.

        If a check requested the result, only the references of this check apply. Otherwise, the first of these applies:

        1. the references of the check that measures the same
        2. the references of other checks, if they do not differ from each other
        """
        # concurrent pairs of ranks are never compared with the references of a check without pairs
        only = bool(keys.requesting_check(record) or result.get("pairs"))
        return self.for_check(keys.measuring_check(record, result), only, result["size_bytes"])

    def for_check(self, check: str, only: bool = True, size: int | None = None) -> "References":
        """The references for a check and a size in bytes.

        only: whether the references of other checks are ignored.
        """
        found = copy.copy(self)
        found._check, found._only, found._size = check, only, size
        return found

    def names(self) -> list[str]:
        """The names of all tables of references, sorted."""
        return sorted({name for name, _ in self._tables})

    def testcases(self, name: str) -> list[str]:
        """The test cases of one table of references, sorted."""
        return sorted(testcase for table, testcase in self._tables if table == name)

    def table(self, name: str, testcase: str) -> Table:
        """Returns {performance variable: reference} of a test case in the table `name`.

        The result is empty in these cases:

        * The table has no references for the test case.
        * The references of several checks could apply, and they differ.
        * The table is for another size.
        """
        check = self._check_of(name, testcase)
        return {} if check is None else self._tables[name, testcase][check]

    def covers(self, name: str, testcase: str) -> bool:
        """Whether the cells of a test case must have references.

        * False if the table has no references for this test case and check.
        * True if the table does not exist, because a test with a misspelt table must not pass.
        * True if the table is for another size.
        """
        if not self.has_table(name):
            return True
        if None not in (self._size, keys.table_size(name)) and self._size != keys.table_size(name):
            return True
        by_check = self._tables.get((name, testcase), {})
        return bool(by_check) and (not self._only or bool(by_check.keys() & {self._check, NO_CHECK}))

    def has_table(self, name: str) -> bool:
        """Whether the table `name` exists, or a table whose name differs only in the variant words."""
        names = self.names()
        return name in names or keys.without_variant(name) in map(keys.without_variant, names)

    def _check_of(self, name: str, testcase: str) -> str | None:
        """The check whose references apply to a test case; None if no references apply."""
        if None not in (self._size, keys.table_size(name)) and self._size != keys.table_size(name):
            return None
        by_check = self._tables.get((name, testcase), {})
        for check in (self._check, NO_CHECK):
            if check in by_check:
                return check
        if self._only:
            return None
        found = [expanded(table, self._classes.get((check, name), NO_CLASSES)) for check, table in by_check.items()]
        alike = all(one == found[0] for one in found)
        return next(iter(by_check), None) if alike else None

    def pair_classes(self, name: str, testcase: str = "") -> PairClasses:
        """The adopted classes of the pairs of a table.

        testcase: selects the classes of the check whose references apply to this test case.
        """
        check = self._check_of(name, testcase) if testcase else self._check
        return self._classes.get((check or NO_CHECK, name), NO_CLASSES)

    def matrix_classes(
        self, name: str | None, testcase: str, rows: Sequence[str], columns: Sequence[str]
    ) -> MatrixClasses | None:
        """The link classes with which the references of a matrix's cells are chosen.

        Returns None if the table has no adopted classes. The classes that the run found are then used.
        name: the name of the table; None without a table. rows, columns: the labels of the matrix.
        """
        classes = self.pair_classes(name, testcase) if name else NO_CLASSES
        return MatrixClasses(classes, testcase, rows, columns) if classes else None

    def expanded(self, name: str, testcase: str) -> Table:
        """The result of `table`, in which an entry per pair replaces the entry of each adopted class.

        A class of many endpoints keeps its entry.
        """
        return expanded(self.table(name, testcase), self.pair_classes(name, testcase))

    def cells(
        self, name: str, testcase: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> dict[Pair, Reference]:
        """Returns {(source, destination): reference} for the pairs of a table.

        A pair of an adopted class is left out if the matrix has no endpoints of the same type as the pair.
        rows, columns: labels of a matrix. The labels replace the endpoint names of the table.
        """
        table = self.table(name, testcase)
        lasting = [lasting_names(testcase, axis) for axis in (rows, columns)]
        label = {
            lasting_name: label
            for names, labels in zip(reversed(lasting), (columns, rows), strict=True)
            for lasting_name, label in zip(names, labels, strict=True)
        }
        sources, destinations = ({endpoint_type(one) for one in names} for names in lasting)
        found = {}
        for variable, reference in self.expanded(name, testcase).items():
            source, arrow, destination = variable.partition("->")
            if not arrow or "->" in destination:
                continue
            in_rows = not rows or endpoint_type(source) in sources
            in_columns = not columns or endpoint_type(destination) in destinations
            if (in_rows and in_columns) or variable in table:
                found[label.get(source, source), label.get(destination, destination)] = reference
        return found

    def classes(self, name: str, testcase: str) -> dict[str, Reference]:
        """Returns {link class: reference}. These references apply to pairs that have no reference of their own.

        The entry "cell[NV18]" applies to any size. The entry "NV18@4096" applies only to 4096 bytes.
        """
        found = {}
        for variable, reference in self.table(name, testcase).items():
            match = CLASS_ROW.fullmatch(variable)
            if match and (match["any"] or int(match["size"]) == self._size):
                found[match["any"] or match["one"]] = reference
        return found


def expanded(table: Table, classes: PairClasses) -> Table:
    """The table, in which an entry per pair replaces the entry of each adopted class. See `References.expanded`."""
    found: Table = {}
    for variable, reference in table.items():
        match = CLASS_ROW.fullmatch(variable)
        pairs = classes.pairs.get(match["any"]) if match else None
        if pairs is None:
            found[variable] = reference
        else:
            found |= {name: reference for pair in pairs if (name := "->".join(pair)) not in table}
    return found


SIZE = "--size"
#: Options of the program for measurements that a check's references do not describe.
UNDESCRIBED = {SIZE, "--sweep", "--random-sizes", "--blocks", "--concurrency"}
#: Options of the program that change the measurement or its references.
OTHERS = {"--references", *UNDESCRIBED}
LEAST = 1e-9  # the smallest value that src/measure/references.cpp accepts


def refused_option(extra_opts: Iterable[str], check: str, size_variable: str) -> str:
    """The error message for an option in extra_opts to which the references do not apply; "" without such an option.

    * check: the class name of the test
    * size_variable: the variable of the test that sets the size; "" if the test has no variable for the size
    """
    found = sorted(UNDESCRIBED & {word.partition("=")[0] for word in extra_opts})
    if not found:
        return ""
    settable = found[0] == SIZE and size_variable
    remedy = f"set the size with -S {check}.{size_variable}=SIZE" if settable else "omit the option"
    why = "because the references are for measurements without this option"
    return f"{found[0]} is refused in extra_opts, {why}: {remedy}"


@functools.cache
def loaded(path: str) -> References:
    """Reads all references of a file or folder. The result is cached for all tests."""
    return References.load(path)


def program_references(check: str, table: str, testcase: str, file: str = "") -> tuple[str, ...]:
    """The lines of the file that a program reads with --references.

    A line contains test case, name, value and unit, separated by tabs. The name is a pair, or a link class without
    adopted pairs. References that the program would refuse are left out, because the program would measure nothing.

    The result is () without a table. The result is also () for an unreadable file, because the verdict reports this
    error later.
    file: the file that the partition names; "" for all files.
    """
    folder = os.environ["RFM_REFERENCE_PREFIX"]
    try:
        known = loaded(os.path.join(folder, file) if file else folder).for_check(check)
    except BadInput:
        return ()
    return tuple(
        "\t".join((testcase, name, repr(one.value), one.unit))
        for name, one in known.expanded(table, testcase).items()
        if ("->" in name or name.startswith("cell[")) and name.isprintable() and one.value >= LEAST
    )
