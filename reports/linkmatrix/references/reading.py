"""Reads files of references, and refuses a typo or a number that can never fail with its file and key."""

import math
import reprlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..errors import BadInput
from ..files import read_whole
from ..record.matrix import UNITS
from .pair_classes import PairClasses
from .strict_yaml import StrictLoader, refuse_what_none_needs

CLASSES = "$classes"
INDEX = ["reference_name", "testcase"]
MOST = 1e9  # of a value, by the schema of records
MOST_BYTES = 256 * 1024 * 1024  # of a file
FURTHEST = (-0.9, 9.0)  # a tenth and ten times of the value: a limit beyond passes anything
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


class Content(NamedTuple):
    """What is in a file of references, and in several.

    tables: {(check, table of references, test case): its references}. classes: {(check, table of references): the
    adopted classes of its pairs}.
    """

    tables: dict[tuple[str, str, str], Table]
    classes: dict[tuple[str, str], PairClasses]

    def add(self, other: "Content", file: Path) -> None:
        """Adds the content of a file. Raises BadInput where it has something else than is there."""
        for there, more, what in ((self.tables, other.tables, "references"), (self.classes, other.classes, CLASSES)):
            for key, value in more.items():
                if there.setdefault(key, value) != value:
                    raise BadInput(f"{file}: {', '.join(key)} has {what} already: keep one of the two")


def read_file(file: Path) -> Content:
    """What is in one file. Raises BadInput naming file and key."""
    raw = read_whole(file, MOST_BYTES)
    try:
        text = raw.decode("utf-8")
    except ValueError as error:
        raise BadInput(f"{file} is no text in UTF-8: {error}") from None
    return read_text(text, file)


def read_text(text: str, file: Path) -> Content:
    """As `read_file`, of the text of a file."""
    try:
        refuse_what_none_needs(text)
        content = yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # PyYAML lets Python's own through, as for a date
        raise BadInput(f"{file} is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    found = Content({}, {})
    for check, entry in mapping(content or {}, file, "the file").items():
        entry = dict(mapping(entry, file, check))
        if entry.pop("$index", INDEX) != INDEX:  # which earlier versions wrote for ReFrame
            raise BadInput(f"{file}: {check} has another $index than [{', '.join(INDEX)}]: leave it out")
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
    """The adopted classes of pairs. Raises BadInput beginning with `where`."""
    try:
        return PairClasses.read(content)
    except ValueError as error:
        raise BadInput(f"{where}: {str(error)[:200]}") from None


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


def plain(number: float) -> str:
    """Without an exponent: YAML 1.1 takes 1e+06 for a text."""
    return format(Decimal(f"{number:.6g}"), "f")
