"""References: what a partition's cells should be. ReFrame reads the same files, through `$ref` and `$index`.

The layout is ReFrame 4.10's: the class of the check, how its entries are found, then, for each table of references
(a partition names its own in `extras['reference']`) and each test case, the performance variables. `config/references/
p2p.yaml`::

    intranode_p2p:
      $index: [reference_name, testcase]
      hgx-h200:
        device_to_device_memcpy_write_ce:
          gpu0->gpu1: [395.9, -0.02, 0.02, GB/s]

A reference is value, lower and upper tolerance as fractions of it (null: no limit on that side), and unit. The side on
which a fault lies, below for a bandwidth and above for a latency, has a limit, and no limit is further than ten times.
"""

import copy
import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .. import suite
from ..errors import BadInput
from ..files import read_whole
from ..record.matrix import UNITS, Pair, lasting_names
from . import keys

FOLDER = suite.REFERENCES
INDEX = ["reference_name", "testcase"]
MOST = 1e9  # of a value, by the schema of records
MOST_BYTES = 256 * 1024 * 1024  # of a file
DEEPEST = 50  # of brackets and indents; references have five
FURTHEST = (-0.9, 9.0)  # a tenth and ten times of the value: a limit beyond passes anything
DECIMAL = re.compile(r"(?P<whole>[-+]?(0|[1-9]\d*))|[-+]?(0|[1-9]\d*)?(\.\d*)(e[-+]\d+)?|[-+]?\.inf|\.nan", re.I)
OF_CLASS = re.compile(r"cell\[(?P<any>.+)\]|(?P<one>[^\[\]>]+)@(?P<size>\d+)")
WANTED = "[value, lower, upper, unit], such as [395.9, -0.02, 0.02, GB/s]"


@dataclass(frozen=True)
class Reference:
    """An expected value with its tolerances: fractions of it, lower below and upper above; None is no limit."""

    value: float
    lower: float | None
    upper: float | None
    unit: str

    @property
    def low_limit(self) -> float:
        """The least value that passes."""
        return -math.inf if self.lower is None else self.value * (1 + self.lower)

    @property
    def high_limit(self) -> float:
        """The greatest value that passes."""
        return math.inf if self.upper is None else self.value * (1 + self.upper)


Table = dict[str, Reference]  # performance variable → reference


Key = tuple[str, str]  # table of references, test case
NO_CHECK = ""  # of references that were made without one


class References:
    """All references of a folder, {(check, table of references, test case): {variable: reference}}.

    Without a check in the keys they are for any. `of` gives those that a result is held against.
    """

    def __init__(self, tables: Mapping[tuple[str, ...], Table]) -> None:
        self._tables: dict[Key, dict[str, Table]] = {}
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
        tables: dict[tuple[str, ...], Table] = {}
        # a hidden one is an editor's, or was never finished
        files = [file for file in sorted(path.glob("*.yaml")) if not file.name.startswith(".")]
        for file in files if path.is_dir() else [path]:
            for key, table in read_file(file):
                if tables.get(key, table) != table:
                    raise BadInput(f"{file}: {', '.join(key)} has references already: keep one of the two")
                tables[key] = table
        return cls(tables)

    @classmethod
    def read(cls, text: str, file: Path) -> "References":
        """Of the text that `file` has, or is to have. Raises BadInput naming file and key."""
        return cls(dict(read_text(text, file)))

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
        if None not in (self._size, keys.size_of(name)) and self._size != keys.size_of(name):
            return {}
        of_checks = self._tables.get((name, testcase), {})
        found = of_checks.get(self._check, of_checks.get(NO_CHECK))
        if found is not None:
            return found
        first = next(iter(of_checks.values()), {})
        return first if not self._must and all(one == first for one in of_checks.values()) else {}

    def cells(self, name: str, testcase: str, labels: Sequence[str] = ()) -> dict[Pair, Reference]:
        """Those of cells, "gpu0->gpu3", as {(source, destination): reference}.

        labels: the matrix's, which stand in place of their lasting names.
        """
        pairs = ((variable.split("->"), reference) for variable, reference in self.table(name, testcase).items())
        label = dict(zip(lasting_names(testcase, labels), labels, strict=True))
        return {
            (label.get(pair[0], pair[0]), label.get(pair[1], pair[1])): reference
            for pair, reference in pairs
            if len(pair) == 2
        }

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


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that comes twice: the later would silently hide the first."""


def strict_mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    """A mapping whose keys differ, and are texts: `no`, `0777` and `2026-11-21` are other things to YAML."""
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for (key, _), found in zip(node.value, keys, strict=True):
        if not isinstance(found, str) or key.tag != TEXT:
            problem = f"the key {key.value} is no text to YAML: write '{key.value}'"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise yaml.MarkedYAMLError(problem=f"the key '{repeated}' comes twice", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


def strict_number(_: StrictLoader, node: yaml.ScalarNode) -> float:
    """A number that is the one that a person reads: to YAML 1.1, 0777 is 511 and 3:20:10 is 12010."""
    number = decimal(node.value)
    if number is None:
        problem = f"'{node.value}' is another number to YAML than to a person: write it in decimal digits"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return number


@cache
def decimal(text: str) -> float | None:
    """The number that a text is, an int where it has no point; None for what is not written in decimal digits."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    return int(text) if match["whole"] else float(re.sub(r"\.(?=[in])", "", text.lower()))


TEXT = yaml.resolver.BaseResolver.DEFAULT_SCALAR_TAG
StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, strict_mapping)
for kind in ("int", "float"):
    StrictLoader.add_constructor(f"tag:yaml.org,2002:{kind}", strict_number)


def read_file(file: Path) -> Iterator[tuple[tuple[str, str, str], Table]]:
    """((check, table of references, test case), its references) of one file. Raises BadInput naming file and key."""
    raw = read_whole(file, MOST_BYTES)
    try:
        text = raw.decode("utf-8")
    except ValueError as error:
        raise BadInput(f"{file} is no text in UTF-8: {error}") from None
    yield from read_text(text, file)


def read_text(text: str, file: Path) -> Iterator[tuple[tuple[str, str, str], Table]]:
    """As `read_file`, of the text of a file."""
    try:
        refuse_what_none_needs(text)
        content = yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # PyYAML lets Python's own through, as for a date
        raise BadInput(f"{file} is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    for check, entry in mapping(content or {}, file, "the file").items():
        entry = dict(mapping(entry, file, check))
        if entry and entry.pop("$index", None) != INDEX:
            raise BadInput(f"{file}: {check} must begin with '$index: [{', '.join(INDEX)}]', as ReFrame looks it up")
        for name, testcases in entry.items():
            for testcase, table in mapping(testcases, file, f"{check}.{name}").items():
                where = f"{check}.{name}.{testcase}"
                references = {
                    variable: reference(value, f"{file}: {where}.{variable}")
                    for variable, value in mapping(table, file, where).items()
                }
                yield (check, name, testcase), references


def refuse_what_none_needs(text: str) -> None:
    """Raises YAMLError for what is nested deeper than any references, for libyaml's builder overruns the stack there,
    and for tags, for PyYAML lets Python's own errors through where a text is not what its tag says.
    """
    depth = 0
    for event in yaml.parse(text, Loader=StrictLoader):
        if getattr(event, "tag", None) is not None:
            problem = f"it has the tag {event.tag}: leave it out"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"it is nested deeper than {DEEPEST}", problem_mark=event.start_mark)


def mapping(value: Any, file: Path, where: str) -> dict[Any, Any]:
    """`value`, if it is a mapping. Raises BadInput."""
    if not isinstance(value, dict):
        raise BadInput(f"{file}: {where} must be a mapping, it is {type(value).__name__}")
    return value


def reference(value: Any, where: str) -> Reference:
    """A reference out of [value, lower, upper, unit]. Raises BadInput beginning with `where`."""
    if not isinstance(value, list) or len(value) != 4:
        raise BadInput(f"{where}: {reprlib.repr(value)} is no reference: write {WANTED}")
    expected, lower, upper, unit = value
    if not is_number(expected) or not expected > 0:
        raise BadInput(f"{where}: the value {reprlib.repr(expected)} is no positive number: write {WANTED}")
    if expected > MOST:
        said = f"the value {reprlib.repr(expected)} is more than {MOST:.0f}, which no cell can be"
        raise BadInput(f"{where}: {said}: write {WANTED}")
    if unit not in UNITS:
        raise BadInput(f"{where}: the unit {reprlib.repr(unit)} is unknown: use {' or '.join(UNITS)}")
    for side, tolerance, (least, most) in (("lower", lower, (FURTHEST[0], 0)), ("upper", upper, (0, FURTHEST[1]))):
        if tolerance is not None and not (is_number(tolerance) and least <= tolerance <= most):
            said = f"the {side} tolerance {reprlib.repr(tolerance)} is no fraction from {least:g} to {most:g}, nor null"
            raise BadInput(f"{where}: {said}")
    needed, side, kind = (upper, "an upper", "latency") if unit == "us" else (lower, "a lower", "bandwidth")
    if needed is None:
        raise BadInput(f"{where}: a {kind} needs {side} tolerance, without which no fault fails: write {WANTED}")
    return Reference(float(expected), lower, upper, unit)


def is_number(value: Any) -> bool:
    """To Python, true and false are numbers too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def to_yaml(check: str, tables: Mapping[str, Mapping[str, Table]], provenance: list[str]) -> str:
    """A file of references for one check, {table of references: {test case: {variable: reference}}}.

    provenance: lines that say when, where and how the values were measured; they stand as comments on top.
    """
    lines = [*(f"# {line}".rstrip() for line in provenance), f"{check}:", f"  $index: [{', '.join(INDEX)}]"]
    for name, testcases in tables.items():
        lines.append(f"  {name}:")
        for testcase, table in testcases.items():
            lines.append(f"    {testcase}:")
            for variable, r in table.items():
                numbers = ", ".join(
                    "null" if number is None else plain(number) for number in (r.value, r.lower, r.upper)
                )
                lines.append(f"      {variable!r}: [{numbers}, {r.unit}]")
    return "\n".join(lines) + "\n"


def plain(number: float) -> str:
    """Without an exponent: YAML 1.1 takes 1e+06 for a text."""
    return format(Decimal(f"{number:.6g}"), "f")
