"""References: what a partition's cells should be. ReFrame reads the same files, through `$ref` and `$index`.

The layout is ReFrame 4.10's: the class of the check, how its entries are found, then, for each table of references
(a partition names its own in `extras['reference']`) and each test case, the performance variables. `config/references/
p2p.yaml`::

    intranode_p2p:
      $index: [reference_name, testcase]
      hgx-h200:
        device_to_device_memcpy_write_ce:
          gpu0->gpu1: [395.9, -0.02, 0.02, GB/s]

A reference is value, lower and upper tolerance as fractions of it (null: no limit on that side), and unit.
"""

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from .errors import BadInput
from .matrix import UNITS, Pair, lasting_names

FOLDER = Path(__file__).resolve().parents[2] / "config" / "references"
INDEX = ["reference_name", "testcase"]
MOST = 1e9  # the schema's maximum
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


class References:
    """All references of a folder, {(table of references, test case): {variable: reference}}."""

    def __init__(self, tables: Mapping[tuple[str, str], Table]) -> None:
        self._tables = dict(tables)

    @classmethod
    def load(cls, path: str | Path | None = None) -> "References":
        """Of a file, or of all *.yaml in a folder; None is config/references. Raises BadInput naming file and key.

        A folder without files has no references: that is no error here, it is NO VERDICT where they are asked for.
        """
        path = FOLDER if path is None else Path(path)
        if not path.exists():
            raise BadInput(f"{path} does not exist: name a file or folder of references")
        tables: dict[tuple[str, str], Table] = {}
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            for key, table in read_file(file):
                if tables.get(key, table) != table:  # two checks may share one, by a YAML alias
                    raise BadInput(f"{file}: {key[0]}, {key[1]} has references already: keep one of the two")
                tables[key] = table
        return cls(tables)

    def names(self) -> list[str]:
        """The tables of references, sorted."""
        return sorted({name for name, _ in self._tables})

    def testcases(self, name: str) -> list[str]:
        """The test cases of one table of references, sorted."""
        return sorted(testcase for table, testcase in self._tables if table == name)

    def table(self, name: str, testcase: str) -> Table:
        """All references of a test case; empty where there are none."""
        return self._tables.get((name, testcase), {})

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
        """Those of each cell of a link class that has none of its own, "cell[NV18]", as {class: reference}."""
        table = self.table(name, testcase)
        return {variable[5:-1]: reference for variable, reference in table.items() if variable.startswith("cell[")}


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that comes twice: the later would silently hide the first."""


def strict_mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    """A mapping whose keys differ."""
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise yaml.MarkedYAMLError(problem=f"the key '{repeated}' comes twice", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, strict_mapping)


def read_file(file: Path) -> Iterator[tuple[tuple[str, str], Table]]:
    """((table of references, test case), its references) of one file. Raises BadInput naming file and key."""
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=StrictLoader)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror or error}") from None
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
                    str(variable): reference(value, f"{file}: {where}.{variable}")
                    for variable, value in mapping(table, file, where).items()
                }
                yield (str(name), str(testcase)), references


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
    if not is_number(expected) or expected <= 0:
        raise BadInput(f"{where}: the value {reprlib.repr(expected)} is no positive number: write {WANTED}")
    if unit not in UNITS:
        raise BadInput(f"{where}: the unit {reprlib.repr(unit)} is unknown: use {' or '.join(UNITS)}")
    if lower is not None and not (is_number(lower) and -1 <= lower <= 0):
        raise BadInput(f"{where}: the lower tolerance {reprlib.repr(lower)} is no fraction from -1 to 0, nor null")
    if upper is not None and not (is_number(upper) and upper >= 0):
        raise BadInput(f"{where}: the upper tolerance {reprlib.repr(upper)} is no fraction from 0, nor null")
    if lower is None and upper is None:
        raise BadInput(f"{where}: without any tolerance it can never fail: write {WANTED}")
    return Reference(float(expected), lower, upper, unit)


def is_number(value: Any) -> bool:
    """A number that a record could hold: not NaN, infinite, true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST


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
