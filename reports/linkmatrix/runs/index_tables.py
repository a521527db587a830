"""The database file of the index: its tables, and its numbered names and sets.

The index stores each distinct name and each distinct set once, with a number. All other tables contain only this
number. A set, such as the components of a node, is stored as JSON.

A file that is missing, damaged or of another version is created again.
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
VERSION = 13
#: * reports: all reports of the prefix. judged_by: fingerprint of code and references. trouble: the error of an
#:   unreadable report
#: * tests: a row per node of a test. run: hash of the program run, which several tests may share. cases:
#:   `known_good.Case` per test case. disturbed: DISTURBED cells. components: see `components.node_components`
#: * devices: a row per node of a report. seen: sightings of its devices. clean: clean scopes of its devices
#: * flagged: the reason of each flag of a device for a scope
#: * met: the nodes of a test between which a cell was measured, and their pairs by number; no pairs if all nodes met
#: * medians: see `series.COLUMNS`
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
                      disturbances INTEGER);
CREATE INDEX tests_of_reports ON tests (report);
CREATE INDEX tests_of_nodes ON tests (node, started);
CREATE INDEX devices_of_nodes ON devices (node);
CREATE INDEX devices_of_reports ON devices (report);
"""
REPORT_TABLES = ("tests", "devices", "flagged", "met", "medians")  # tables whose rows belong to a report

Row = dict[str, Any]


@dataclass(frozen=True)
class InstalledComponent:
    """A device or adapter, as a record describes it.

    * kind: "device" or "adapter"
    * name: its name on the node, such as gpu3 or mlx5_0
    * part: facts that move with the component (serial, uuid, guid, firmware, …)
    * place: facts about its location (node, slot, pci, port)
    """

    kind: str
    name: str
    model: str
    part: Mapping[str, str]
    place: Mapping[str, str]


class State(NamedTuple):
    """A node, as a record describes it.

    * started: start of the record, in seconds since 1970
    * boot: ID of the node's last boot; "" if unknown
    * versions: {fact: value}, as in judge/inventory_diff.py
    """

    started: int
    boot: str
    parts: tuple[InstalledComponent, ...]
    versions: Mapping[str, str]


@dataclass
class Tables:
    """The open database. Names and sets are cached.

    notes: sentences about unreadable reports, outdated verdicts, and runs that ended without a report.
    """

    connection: sqlite3.Connection
    notes: list[str] = field(default_factory=list)
    sets: dict[int, Any] = field(default_factory=dict)
    places: dict[int, list[tuple[str, Sighting]]] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[int, str]:
        """Returns {number: name} of all names."""
        return dict(self.connection.execute("SELECT id, name FROM names"))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Returns {name: number} of all names."""
        return {name: number for number, name in self.names.items()}

    def set_content(self, number: int) -> Any:
        """The content of the set with this number."""
        if number not in self.sets:
            (content,) = self.connection.execute("SELECT content FROM sets WHERE id = ?", (number,)).fetchone()
            self.sets[number] = json.loads(content)
        return self.sets[number]

    def cases_in(self, number: int) -> dict[str, Case]:
        """Returns {test case: its outcome} of the set with this number."""
        return known_good.parse_cases(self.set_content(number))

    def parts_in(self, number: int) -> tuple[InstalledComponent, ...]:
        """The devices and adapters in the set with this number."""
        return tuple(InstalledComponent(*one) for one in self.set_content(number))

    def sightings_in(self, number: int) -> list[tuple[str, Sighting]]:
        """Returns [(device, sighting)] of the set with this number. Repeated calls return the same objects."""
        if number not in self.places:
            self.places[number] = [(name, Sighting(*place)) for name, *place in self.set_content(number)]
        return self.places[number]

    def clean_scopes_in(self, number: int) -> dict[str, set[Scope]]:
        """Returns {device: its clean scopes} of the set with this number."""
        found: dict[str, set[Scope]] = {}
        for scopes, names in self.set_content(number):
            for name in names:
                found.setdefault(name, set()).update(Scope(*one) for one in scopes)
        return found


def open_database(path: Path) -> sqlite3.Connection:
    """Opens the database at `path`. A file that is missing, damaged or of another version is created again."""
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
    """Opens the database at `path`. Returns None if the file is missing, damaged or of another version.

    Raises sqlite3.OperationalError if an intact file cannot be opened.
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
    """Removes the database file, and the journal that a killed process left."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        name.unlink(missing_ok=True)


class Writer:
    """Writes rows, and stores each name and set once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.known: dict[str, dict[Any, int]] = {"names": {}, "sets": {}}

    def write(self, report: int, rows: Mapping[str, list[Row]]) -> None:
        """Writes the rows of a report. report: the number of the report. rows: {table: rows}."""
        for table, found in rows.items():
            for row in found:
                values = {"report": report, **{column: self.value(column, content) for column, content in row.items()}}
                marks = ", ".join("?" * len(values))
                self.connection.execute(
                    f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
                )

    def value(self, column: str, content: Any) -> Any:
        """The value to store in a column. Names and sets are stored as numbers. Other content is stored unchanged."""
        if isinstance(content, (dict, list)):
            text = json.dumps(content, sort_keys=True, separators=(",", ":"))
            return self.stored_number("sets", "digest", hashlib.sha256(text.encode()).digest(), text)
        if isinstance(content, str) and column not in ("device", "reason", "started"):
            return self.stored_number("names", "name", content)
        return content

    def stored_number(self, table: str, column: str, key: Any, *more: str) -> int:
        """Returns the number of a name or set in its table. A new name or set is first added to the table.

        column, key: the column that identifies the name or set, and the value in this column.
        more: for a set, the content of the set.
        """
        known = self.known[table]
        if key not in known:
            marks = ", ".join("?" * (1 + len(more)))
            columns = ", ".join([column, *(["content"] if more else [])])
            self.connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", (key, *more))
            (known[key],) = self.connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (key,)).fetchone()
        return known[key]
