"""The tables of the index, with names, sets, parts and sightings in place of their numbers."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from . import answers
from .answers import Case
from .parts import Sighting
from .questions import Question


@dataclass(frozen=True)
class Part:
    """A device or adapter on a node at a time.

    kind: "device" or "adapter". name: gpu3, mlx5_0. model: the vendor's name. part: identifies it in any slot (serial,
    uuid, guid, firmware, …). place: its location (node, slot, pci, port).
    """

    kind: str
    name: str
    model: str
    part: Mapping[str, str]
    place: Mapping[str, str]


class State(NamedTuple):
    """A node as a record describes it.

    started: seconds since 1970. boot: differs after each start of the node, "" if unknown. versions: {fact: value}, as
    in judge/inventory_diff.py.
    """

    started: int
    boot: str
    parts: tuple[Part, ...]
    versions: Mapping[str, str]


@dataclass
class Tables:
    """The open database. The names and sets behind its numbers are read once.

    notes: sentences about unreadable reports, outdated verdicts, and runs that ended without a report.
    """

    connection: sqlite3.Connection
    notes: list[str] = field(default_factory=list)
    sets: dict[int, Any] = field(default_factory=dict)  # that were read already
    places: dict[int, list[tuple[str, Sighting]]] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[int, str]:
        """{number: name}."""
        return dict(self.connection.execute("SELECT id, name FROM names"))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """{name: number}."""
        return {name: number for number, name in self.names.items()}

    def set_of(self, number: int) -> Any:
        """The content of a set."""
        if number not in self.sets:
            (content,) = self.connection.execute("SELECT content FROM sets WHERE id = ?", (number,)).fetchone()
            self.sets[number] = json.loads(content)
        return self.sets[number]

    def cases_of(self, number: int) -> dict[str, Case]:
        """{test case: its answers} of a set."""
        return answers.of_json(self.set_of(number))

    def parts_of(self, number: int) -> tuple[Part, ...]:
        """The parts of a set."""
        return tuple(Part(*one) for one in self.set_of(number))

    def seen_in(self, number: int) -> list[tuple[str, Sighting]]:
        """(device, its sighting) of a set; repeated calls return the same objects."""
        if number not in self.places:
            self.places[number] = [(name, Sighting(*place)) for name, *place in self.set_of(number)]
        return self.places[number]

    def clean_in(self, number: int) -> dict[str, set[Question]]:
        """{device: its questions that are PASS or WARN} of a set."""
        found: dict[str, set[Question]] = {}
        for of, names in self.set_of(number):
            for name in names:
                found.setdefault(name, set()).update(Question(*one) for one in of)
        return found
