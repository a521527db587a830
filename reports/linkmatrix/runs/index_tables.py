"""The database file of the index: its tables, and its numbers as names and sets.

Content that is the same on most days, such as the components of a node, is stored once, as JSON under its digest (table
`sets`). A missing or damaged file, and a file of another version, is created again.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..files import PATIENCE, changing
from . import known_good
from .components import Sighting
from .known_good import Case
from .scopes import Scope

#: The version of the tables below. An index of another version is created again.
VERSION = 12
#: reports: those of the prefix, with by what they were judged, and why one cannot be read. tests: a row for each node
#: of a test; run: the run of the program that measured it, which several tests may share; cases: `known_good.Case` of
#: each test case; disturbed: its DISTURBED cells; components: of the node, as `components.node_components` has them.
#: devices: of a node in a report, where its devices were (seen), and the clean scopes of each (clean);
#: flagged: why a device is flagged for a scope. met: the nodes of a test between which a cell was measured, and
#: the pairs of them by their numbers there, none where all met. medians: as `series.COLUMNS`.
TABLES = """
CREATE TABLE reports (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, changed INTEGER, began TEXT,
                      judged_by TEXT, trouble TEXT);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE sets (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, content TEXT);
CREATE TABLE tests (report INTEGER, node INTEGER, partition INTEGER, test INTEGER, started INTEGER, seconds REAL,
                    verdict INTEGER, nodes INTEGER, run INTEGER, measured INTEGER, boot INTEGER, leaf INTEGER,
                    cases INTEGER, disturbed INTEGER, components INTEGER, parts INTEGER, versions INTEGER);
CREATE TABLE devices (report INTEGER, node INTEGER, seen INTEGER, clean INTEGER);
CREATE TABLE flagged (report INTEGER, node INTEGER, device TEXT, scope INTEGER, reason TEXT);
CREATE TABLE met (report INTEGER, partition INTEGER, started INTEGER, meeting INTEGER);
CREATE TABLE medians (report INTEGER, testcase INTEGER, size_bytes INTEGER, unit INTEGER, link_class INTEGER,
                      variant INTEGER, partition INTEGER, started TEXT, value REAL, host INTEGER, facts INTEGER,
                      beside INTEGER);
CREATE INDEX tests_of_reports ON tests (report);
CREATE INDEX tests_of_nodes ON tests (node, started);
CREATE INDEX devices_of_nodes ON devices (node);
CREATE INDEX devices_of_reports ON devices (report);
"""
REPORT_TABLES = ("tests", "devices", "flagged", "met", "medians")  # tables with rows of a report

Row = dict[str, Any]


@dataclass(frozen=True)
class InstalledComponent:
    """A device or adapter on a node at a time.

    kind: "device" or "adapter".
    name: gpu3, mlx5_0.
    model: the vendor's name.
    part: the identity of the component in any slot (serial, uuid, guid, firmware, …).
    place: the location of the component (node, slot, pci, port).
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
    parts: tuple[InstalledComponent, ...]
    versions: Mapping[str, str]


@dataclass
class Tables:
    """The open database. The names and sets behind its numbers are read once.

    notes: sentences about unreadable reports, outdated verdicts, and runs that ended without a report. sets, places:
    content that was read already.
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

    def set_content(self, number: int) -> Any:
        """The content of a set."""
        if number not in self.sets:
            (content,) = self.connection.execute("SELECT content FROM sets WHERE id = ?", (number,)).fetchone()
            self.sets[number] = json.loads(content)
        return self.sets[number]

    def cases_in(self, number: int) -> dict[str, Case]:
        """{test case: its answers} of a set."""
        return known_good.parse_cases(self.set_content(number))

    def parts_in(self, number: int) -> tuple[InstalledComponent, ...]:
        """The parts of a set."""
        return tuple(InstalledComponent(*one) for one in self.set_content(number))

    def sightings_in(self, number: int) -> list[tuple[str, Sighting]]:
        """(device, its sighting) of a set; repeated calls return the same objects."""
        if number not in self.places:
            self.places[number] = [(name, Sighting(*place)) for name, *place in self.set_content(number)]
        return self.places[number]

    def clean_scopes_in(self, number: int) -> dict[str, set[Scope]]:
        """{device: its scopes that are PASS or WARN} of a set."""
        found: dict[str, set[Scope]] = {}
        for of, names in self.set_content(number):
            for name in names:
                found.setdefault(name, set()).update(Scope(*one) for one in of)
        return found


def open_database(path: Path) -> sqlite3.Connection:
    """The database at `path` with its tables: new ones if the file is missing, damaged or of another version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if connection := open_valid(path):
        return connection
    with changing(path):
        if connection := open_valid(path):  # another process created it during the wait
            return connection
        remove(path)
        connection = sqlite3.connect(path, timeout=PATIENCE)
        connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        return connection


def open_valid(path: Path) -> sqlite3.Connection | None:
    """The database at `path`; None if it is missing, damaged or of another version.

    Raises sqlite3.OperationalError if the file cannot be opened for another reason, which damages nothing.
    """
    if not path.exists():
        return None
    connection = sqlite3.connect(path, timeout=PATIENCE)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()
        if version == (VERSION,) and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
            return connection
    except sqlite3.OperationalError:
        connection.close()
        raise
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None


def remove(path: Path) -> None:
    """Removes the database, and the journal of a process that died."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        name.unlink(missing_ok=True)


class Writer:
    """Writes rows, and stores each name and set once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.known: dict[str, dict[Any, int]] = {"names": {}, "sets": {}}

    def write(self, report: int, rows: Mapping[str, list[Row]]) -> None:
        """Writes the rows of a report."""
        for table, found in rows.items():
            for row in found:
                values = {"report": report, **{column: self.value(column, said) for column, said in row.items()}}
                marks = ", ".join("?" * len(values))
                self.connection.execute(
                    f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
                )

    def value(self, column: str, said: Any) -> Any:
        """The value to store in a column: the number of a set or name, or the value itself."""
        if isinstance(said, (dict, list)):
            content = json.dumps(said, sort_keys=True, separators=(",", ":"))
            return self.stored_number("sets", "digest", hashlib.sha256(content.encode()).digest(), content)
        if isinstance(said, str) and column not in ("device", "reason", "started"):
            return self.stored_number("names", "name", said)
        return said

    def stored_number(self, table: str, column: str, key: Any, *more: str) -> int:
        """The number of a name or set; adds a new one."""
        known = self.known[table]
        if key not in known:
            marks = ", ".join("?" * (1 + len(more)))
            columns = ", ".join([column, *(["content"] if more else [])])
            self.connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", (key, *more))
            (known[key],) = self.connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (key,)).fetchone()
        return known[key]
