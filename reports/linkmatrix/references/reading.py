"""Reads files of references. Error messages contain the file and the key.

Misspelt keys are errors. Tolerances that have no effect are also errors.
"""

import math
import re
import reprlib
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..errors import BadInput
from ..files import read_whole
from ..record.names import UNITS
from .pair_classes import PairClasses

MAX_DEPTH = 50  # of mappings and lists; references have five levels
DECIMAL = re.compile(r"(?P<whole>[-+]?(0|[1-9]\d*))|[-+]?(0|[1-9]\d*)?(\.\d*)(e[-+]\d+)?|[-+]?\.inf|\.nan", re.I)


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that refuses repeated keys and ambiguous numbers."""


def strict_mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    """Reads a mapping. Raises YAMLError for a repeated key, and for a key that is not text, such as `no`."""
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for (key, _), found in zip(node.value, keys, strict=True):
        if not isinstance(found, str) or key.tag != TEXT:
            problem = f"YAML does not read the key {key.value} as text: write '{key.value}'"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise yaml.MarkedYAMLError(problem=f"the key '{repeated}' is repeated", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


def strict_number(_: StrictLoader, node: yaml.ScalarNode) -> float:
    """Reads a number. Raises YAMLError for 0777 and 3:20:10, which are 511 and 12010 in YAML 1.1."""
    number = decimal(node.value)
    if number is None:
        problem = f"YAML reads '{node.value}' as another number: write the number in decimal digits"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return number


@cache
def decimal(text: str) -> float | None:
    """The number in a text of decimal digits; None for any other text.

    The number is an int if the text has neither a point nor an exponent.
    """
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    return int(text) if match["whole"] else float(re.sub(r"\.(?=[in])", "", text.lower()))


TEXT = yaml.resolver.BaseResolver.DEFAULT_SCALAR_TAG
StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, strict_mapping)
for kind in ("int", "float"):
    StrictLoader.add_constructor(f"tag:yaml.org,2002:{kind}", strict_number)


def refuse_tags_and_deep_nesting(text: str) -> None:
    """Raises YAMLError for tags and for deep nesting.

    Deep nesting would overflow the stack of libyaml. If a text contradicts its tag, PyYAML would raise another type of
    exception.
    """
    depth = 0
    for event in yaml.parse(text, Loader=StrictLoader):
        if getattr(event, "tag", None) is not None:
            problem = f"the tag {event.tag} is refused: remove the tag"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"the nesting is deeper than {MAX_DEPTH}", problem_mark=event.start_mark)


CLASSES = "$classes"
TYPICAL = "typical.yaml"  # the file of typical values, which the module `typical` reads
INDEX = ["reference_name", "testcase"]
MAX_VALUE = 1e9  # the maximum in the schema of records
MAX_BYTES = 256 * 1024 * 1024  # maximum size of a file
TOLERANCE_RANGE = (-0.9, 9.0)  # limits from a tenth to ten times of the value
FORMAT = "[value, lower, upper, unit], such as [395.9, -0.02, 0.02, GB/s]"
XFAIL = "$xfail"  # as in ReFrame's files of references
WAIVER = re.compile(r"\S.* until (?P<day>\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Reference:
    """An expected value and its tolerances as fractions.

    * lower: lower tolerance, 0 or negative; None for no limit
    * upper: upper tolerance, 0 or positive; None for no limit
    * waiver: reason and last day of an expected failure, such as "ticket 4711 until 2026-12-31"; "" without a waiver
    """

    value: float
    lower: float | None
    upper: float | None
    unit: str
    waiver: str = ""

    @property
    def waived_until(self) -> str:
        """The last day of the waiver, such as "2026-12-31"."""
        return self.waiver[-len("2026-12-31") :]

    @property
    def low_limit(self) -> float:
        """The smallest value that passes."""
        return -math.inf if self.lower is None else self.value * (1 + self.lower)

    @property
    def high_limit(self) -> float:
        """The largest value that passes."""
        return math.inf if self.upper is None else self.value * (1 + self.upper)


Table = dict[str, Reference]  # performance variable → reference


class Content(NamedTuple):
    """The content of one or several files of references.

    * tables: {(check, name of the table, test case): references}
    * classes: {(check, name of the table): adopted classes of pairs}
    """

    tables: dict[tuple[str, str, str], Table]
    classes: dict[tuple[str, str], PairClasses]

    def add(self, other: "Content", file: Path) -> None:
        """Adds the content of another file. Raises BadInput if the two files have different values for a key."""
        for known, added, kind in ((self.tables, other.tables, "references"), (self.classes, other.classes, CLASSES)):
            for key, value in added.items():
                if known.setdefault(key, value) != value:
                    raise BadInput(f"{file}: {', '.join(key)} already has {kind}: keep one of the two")


def read_file(file: Path) -> Content:
    """Reads a file of references. Raises BadInput. The message contains the file and the key."""
    raw = read_whole(file, MAX_BYTES)
    try:
        text = raw.decode("utf-8")
    except ValueError as error:
        raise BadInput(f"{file} is not UTF-8 text: {error}") from None
    return read_text(text, file)


@lru_cache(maxsize=8)
def read_text(text: str, file: Path) -> Content:
    """Reads the text of a file of references. Raises BadInput. The message contains the file and the key.

    The result is cached, so callers must not change the result.
    """
    try:
        refuse_tags_and_deep_nesting(text)
        content = yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # PyYAML raises ValueError for a wrong date
        raise BadInput(f"{file} is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    found = Content({}, {})
    for check, entry in mapping(content or {}, file, "the file").items():
        entry = dict(mapping(entry, file, check))
        if entry.pop("$index", INDEX) != INDEX:  # earlier versions wrote $index for ReFrame
            raise BadInput(f"{file}: {check} has an invalid $index, an entry of earlier versions: remove $index")
        for name, testcases in entry.items():
            for testcase, table in mapping(testcases, file, f"{check}.{name}").items():
                where = f"{check}.{name}.{testcase}"
                if testcase == CLASSES:
                    found.classes[check, name] = adopted_classes(table, f"{file}: {where}")
                    continue
                found.tables[check, name, testcase] = {
                    variable: reference(value, f"{file}: {where}.{variable}")
                    for variable, value in mapping(table, file, where).items()
                }
    return found


def adopted_classes(content: Any, where: str) -> PairClasses:
    """Parses the content of `$classes`. Raises BadInput. where: the beginning of the error message."""
    try:
        return PairClasses.read(content)
    except ValueError as error:
        raise BadInput(f"{where}: {str(error)[:200]}") from None


def mapping(value: Any, file: Path, where: str) -> dict[Any, Any]:
    """Returns `value` if it is a mapping. Otherwise raises BadInput. where: the key of `value`, for the message."""
    if not isinstance(value, dict):
        raise BadInput(f"{file}: {where} must be a mapping, and is a {type(value).__name__}")
    return value


def reference(value: Any, where: str) -> Reference:
    """Parses a reference: [value, lower, upper, unit] or [$xfail, waiver, [value, …]].

    Raises BadInput. where: the beginning of the error message.
    """
    if isinstance(value, list) and value[:1] == [XFAIL]:
        return replace(reference(value[-1], where), waiver=waiver(value[1:-1], where))
    if not isinstance(value, list) or len(value) != 4:
        raise BadInput(f"{where}: {reprlib.repr(value)} is not a reference: write {FORMAT}")
    expected, lower, upper, unit = value
    if not is_number(expected) or not expected > 0:
        raise BadInput(f"{where}: the value {reprlib.repr(expected)} is not a positive number: write {FORMAT}")
    if expected > MAX_VALUE:
        problem = f"the value {reprlib.repr(expected)} is more than the maximum {MAX_VALUE:.0f}"
        raise BadInput(f"{where}: {problem}: write {FORMAT}")
    if unit not in UNITS:
        raise BadInput(f"{where}: the unit {reprlib.repr(unit)} is unknown: use {' or '.join(UNITS)}")
    least, most = TOLERANCE_RANGE
    for side, tolerance, (low, high) in (("lower", lower, (least, 0)), ("upper", upper, (0, most))):
        if tolerance is not None and not (is_number(tolerance) and low <= tolerance <= high):
            problem = f"the {side} tolerance {reprlib.repr(tolerance)} is neither a fraction from {low:g} to {high:g}"
            raise BadInput(f"{where}: {problem} nor null")
    needed, side, kind = (upper, "an upper", "latency") if unit == "us" else (lower, "a lower", "bandwidth")
    if needed is None:
        raise BadInput(
            f"{where}: a {kind} needs {side} tolerance, because no fault is FAIL without this tolerance: write {FORMAT}"
        )
    return Reference(float(expected), lower, upper, unit)


def waiver(words: list[Any], where: str) -> str:
    """The text of a waiver, such as "ticket 4711 until 2026-12-31". Raises BadInput if the last day is missing.

    words: the items of the list in the file. where: the beginning of the error message.
    """
    text = words[0] if len(words) == 1 and isinstance(words[0], str) else ""
    match = WAIVER.fullmatch(text)
    try:
        date.fromisoformat(match["day"] if match else "")
    except ValueError:
        form = f"[{XFAIL}, REASON until 2026-12-31, [395.9, -0.02, 0.02, GB/s]]"
        raise BadInput(f"{where}: {reprlib.repr(text)} is not a waiver with a last day: write {form}") from None
    return text


def is_number(value: Any) -> bool:
    """Whether a value is a number. True and False do not count as numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def format_number(number: float) -> str:
    """A number as text with six significant digits, without an exponent. In YAML 1.1, 1e+06 is a text."""
    return format(Decimal(f"{number:.6g}"), "f")
