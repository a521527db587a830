"""References: what a partition's cells should be.

A file has the class of the check, then, for each table of references (a partition names its own in
`extras['reference']`) and each test case, the performance variables. `config/references/p2p.yaml`::

    intranode_p2p:
      hgx-h200:
        $classes:
          NV18: gpu[0-7]->gpu[0-7]
        device_to_device_memcpy_write_ce:
          cell[NV18]: [395.9, -0.02, 0.02, GB/s]
          gpu0->gpu1: [391.2, -0.02, 0.02, GB/s]

A reference is value, lower and upper tolerance as fractions of it (null: no limit on that side), and unit. The side on
which a fault lies, below for a bandwidth and above for a latency, has a limit, and no limit is further than ten times.

A cell has the reference of its pair, else that of the class that its pair has in `$classes` (`pair_classes`). Without
`$classes`, `cell[NV18]` is of each cell that is found in this class.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import suite
from ..errors import BadInput
from ..record.matrix import Pair, lasting_names
from . import keys
from .pair_classes import NONE, MatrixClasses, PairClasses, kind_of
from .reading import Content, Reference, Table, read_file, read_text

FOLDER = suite.REFERENCES
TYPICAL = "typical.yaml"  # typical values: see `typical`
OF_CLASS = re.compile(r"cell\[(?P<any>.+)\]|(?P<one>[^\[\]>]+)@(?P<size>\d+)")

Key = tuple[str, str]  # table of references, test case
NO_CHECK = ""  # of references that were made without one


class References:
    """All references of a folder, {(check, table of references, test case): {variable: reference}}.

    classes: {(check, table of references): the adopted classes of its pairs}. Without a check in the keys they are for
    any. `of` gives those that a result is held against.
    """

    def __init__(
        self, tables: Mapping[tuple[str, ...], Table], classes: Mapping[tuple[str, ...], PairClasses] | None = None
    ) -> None:
        self._tables: dict[Key, dict[str, Table]] = {}
        self._classes = {(NO_CHECK, *key)[-2:]: found for key, found in (classes or {}).items()}
        for key, table in tables.items():
            check, name, testcase = (NO_CHECK, *key)[-3:]
            self._tables.setdefault((name, testcase), {})[check] = table
        self._check, self._must, self._size, self._strict = NO_CHECK, False, None, False

    @classmethod
    def load(cls, path: str | Path | None = None) -> "References":
        """Of a file, or of all *.yaml in a folder; None is config/references. Raises BadInput naming file and key.

        The shipped ones are of a few machines: a site's stand in its own folder, where ReFrame reads them too.
        A folder without files has no references: that is no error here, it is INCOMPLETE where they are asked for.
        """
        if path is None and not FOLDER.exists():
            raise BadInput("there is no config/references here, nor in a folder above: name one with --references DIR")
        path = FOLDER if path is None else Path(path)
        if not path.exists():
            raise BadInput(f"{path} does not exist: name a file or folder of references")
        found = Content({}, {})
        # a hidden one is an editor's, or was never finished
        files = [file for file in sorted(path.glob("*.yaml")) if file.name[0] != "." and file.name != TYPICAL]
        for file in files if path.is_dir() else [path]:
            found.add(read_file(file), file)
        return cls(*found)

    @classmethod
    def read(cls, text: str, file: Path) -> "References":
        """Of the text that `file` has, or is to have. Raises BadInput naming file and key."""
        return cls(*read_text(text, file))

    def of(self, record: Mapping[str, Any], result: Mapping[str, Any]) -> "References":
        """Those of the check that asked for a result, and of its size where they are by size.

        Where no check asked for it, those of the check that measures the same, or else the only ones that there are.
        """
        # what fewer ranks reach is no measure of all
        must = self._strict or bool(keys.asking_check(record) or result.get("pairs"))
        return self.of_check(keys.check_of(record, result), must, result["size_bytes"])

    def of_their_checks(self) -> "References":
        """Those of the check that measures the same and of no other, also where no check asked for a result."""
        found = copy.copy(self)
        found._strict = True
        return found

    def of_check(self, check: str, must: bool = True, size: int | None = None) -> "References":
        """Those of a check; must: of no other, even where it has none."""
        found = copy.copy(self)
        found._check, found._must, found._size = check, must, size
        return found

    def names(self) -> list[str]:
        """The tables of references, sorted."""
        return sorted({name for name, _ in self._tables})

    def testcases(self, name: str) -> list[str]:
        """The test cases of one table of references, sorted."""
        return sorted(testcase for table, testcase in self._tables if table == name)

    def table(self, name: str, testcase: str) -> Table:
        """All references of a test case; empty where there are none, where nobody knows which of several, and where
        they say that they are for another size.
        """
        check = self._check_of(name, testcase)
        return {} if check is None else self._tables[name, testcase][check]

    def _check_of(self, name: str, testcase: str) -> str | None:
        """The check whose references `table` gives; None for none."""
        if None not in (self._size, keys.size_of(name)) and self._size != keys.size_of(name):
            return None
        of_checks = self._tables.get((name, testcase), {})
        for check in (self._check, NO_CHECK):
            if check in of_checks:
                return check
        if self._must:
            return None
        found = [expanded(table, self._classes.get((check, name), NONE)) for check, table in of_checks.items()]
        alike = all(one == found[0] for one in found)
        return next(iter(of_checks), None) if alike else None

    def pair_classes(self, name: str, testcase: str = "") -> PairClasses:
        """The adopted classes of the pairs of a table. testcase: whose references may be those of another check."""
        check = self._check_of(name, testcase) if testcase else self._check
        return self._classes.get((check or NO_CHECK, name), NONE)

    def matrix_classes(
        self, name: str | None, testcase: str, rows: Sequence[str], columns: Sequence[str]
    ) -> MatrixClasses | None:
        """The classes by which the cells of a matrix with these labels are compared; None for those that are found."""
        classes = self.pair_classes(name, testcase) if name else NONE
        return MatrixClasses(classes, testcase, rows, columns) if classes else None

    def expanded(self, name: str, testcase: str) -> Table:
        """As `table`, with a reference of each pair of an adopted class in place of that of the class.

        A class of many endpoints stays as it is.
        """
        return expanded(self.table(name, testcase), self.pair_classes(name, testcase))

    def cells(
        self, name: str, testcase: str, rows: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> dict[Pair, Reference]:
        """Those of cells, "gpu0->gpu3", as {(source, destination): reference}.

        rows, columns: labels of a matrix, which stand in place of their lasting names. It has no pairs of an adopted
        class between other kinds of endpoints: where all sources are "numa", not those that "gpu" is the source of.
        """
        own = self.table(name, testcase)
        lasting = [lasting_names(testcase, axis) for axis in (rows, columns)]
        label = {
            name: of
            for names, labels in zip(reversed(lasting), (columns, rows), strict=True)
            for name, of in zip(names, labels, strict=True)
        }
        sources, destinations = ({kind_of(one) for one in names} for names in lasting)
        found = {}
        for variable, reference in self.expanded(name, testcase).items():
            source, arrow, destination = variable.partition("->")
            if not arrow or "->" in destination:
                continue
            there = (not rows or kind_of(source) in sources) and (not columns or kind_of(destination) in destinations)
            if there or variable in own:
                found[label.get(source, source), label.get(destination, destination)] = reference
        return found

    def classes(self, name: str, testcase: str) -> dict[str, Reference]:
        """Those of each cell of a link class that has none of its own, as {class: reference}.

        "cell[NV18]" is for any size, "NV18@4096" for cells of that size.
        """
        found = {}
        for variable, reference in self.table(name, testcase).items():
            match = OF_CLASS.fullmatch(variable)
            if match and (match["any"] or int(match["size"]) == self._size):
                found[match["any"] or match["one"]] = reference
        return found


def expanded(table: Table, classes: PairClasses) -> Table:
    """As `References.expanded`."""
    found: Table = {}
    for variable, reference in table.items():
        match = OF_CLASS.fullmatch(variable)
        pairs = classes.pairs.get(match["any"]) if match else None
        if pairs is None:
            found[variable] = reference
        else:
            found |= {of: reference for pair in pairs if (of := "->".join(pair)) not in table}
    return found
