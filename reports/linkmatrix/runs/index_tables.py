"""The tables of the index: their numbers as names and sets, their file, and the addition of new reports.

A missing or damaged file, and a file of another version, is created again. The update adds new reports, and drops those
that changed or are gone. A file system may show a record later than its report, so a report that lacks a record is read
again each time, for the time LATE.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..files import PATIENCE, changing
from ..record import units
from ..references.tables import References
from . import folders, known_good
from .indexing import OF_REPORTS, TABLES, VERSION, Row, rows_of, stamp_of
from .known_good import Case
from .parts import Sighting
from .questions import Question


@dataclass(frozen=True)
class Part:
    """A device or adapter on a node at a time.

    kind: "device" or "adapter". name: gpu3, mlx5_0. model: the vendor's name. part: its identity in any slot (serial,
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

    def set_of(self, number: int) -> Any:
        """The content of a set."""
        if number not in self.sets:
            (content,) = self.connection.execute("SELECT content FROM sets WHERE id = ?", (number,)).fetchone()
            self.sets[number] = json.loads(content)
        return self.sets[number]

    def cases_of(self, number: int) -> dict[str, Case]:
        """{test case: its answers} of a set."""
        return known_good.cases_from(self.set_of(number))

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


def ready(path: Path) -> sqlite3.Connection:
    """The database at `path` with its tables: new ones if the file is missing, damaged or of another version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if connection := sound(path):
        return connection
    with changing(path):
        if connection := sound(path):  # another process created it during the wait
            return connection
        remove(path)
        connection = sqlite3.connect(path, timeout=PATIENCE)
        connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        return connection


def sound(path: Path) -> sqlite3.Connection | None:
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


BATCH = 50  # reports in one transaction, because each transaction waits for the disk
LATE = 3600.0  # seconds after its report, in which a record may still appear


class Added(NamedTuple):
    """A report to add. stamp: as `stamp_of`. trouble: why it cannot be read, None if it can. rows: by table."""

    name: str
    stamp: tuple[int, int]
    began: str
    trouble: str | None
    rows: Mapping[str, list[Row]]


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
            return self.id_of("sets", "digest", hashlib.sha256(content.encode()).digest(), content)
        if isinstance(said, str) and column not in ("device", "reason", "started"):
            return self.id_of("names", "name", said)
        return said

    def id_of(self, table: str, column: str, key: Any, *more: str) -> int:
        """The number of a name or set; adds a new one."""
        known = self.known[table]
        if key not in known:
            marks = ", ".join("?" * (1 + len(more)))
            columns = ", ".join([column, *(["content"] if more else [])])
            self.connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", (key, *more))
            (known[key],) = self.connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (key,)).fetchone()
        return known[key]


def update(connection: sqlite3.Connection, path: Path, references: References, by: str, again: bool) -> list[str]:
    """Adds reports that are new, and drops those that changed or are gone. Returns notes."""
    stamps = {report: stamp for report in folders.reports(path.parent) if (stamp := stamp_of(report))}
    wanted = {report.name: stamp for report, stamp in stamps.items()}
    stored = connection.execute("SELECT id, name, size, changed, judged_by FROM reports").fetchall()
    old = [
        number
        for number, name, *stamp, judged_by in stored
        if wanted.get(name) != tuple(stamp) or (again and judged_by != by)
    ]
    drop(connection, path, old)
    known = {name for (name,) in connection.execute("SELECT name FROM reports")}
    new = (rows_in(report, stamp, references) for report, stamp in stamps.items() if report.name not in known)
    while batch := list(islice(new, BATCH)):
        add(connection, path, batch, by)
    said = connection.execute("SELECT name, trouble, judged_by FROM reports ORDER BY began, id").fetchall()
    notes = [f"one report is not used: {trouble}" for _, trouble, _ in said if trouble]
    others = sum(judged_by != by for _, _, judged_by in said)
    if others:
        was = "was" if others == 1 else "were"
        why = "judged with other references or by another version: to judge again, remove"
        notes.append(f"{units.counted(others, 'report')} {was} {why} {path}")
    return notes


def drop(connection: sqlite3.Connection, path: Path, reports: Sequence[int]) -> None:
    """Removes reports by their numbers."""
    if not reports:
        return
    with changing(path), connection:
        for table in OF_REPORTS:
            connection.executemany(f"DELETE FROM {table} WHERE report = ?", [(number,) for number in reports])
        connection.executemany("DELETE FROM reports WHERE id = ?", [(number,) for number in reports])


def rows_in(report: Path, stamp: tuple[int, int], references: References) -> Added:
    """The rows of a report, or the error if it cannot be read."""
    written = stamp[1] / 1e9
    try:
        began, rows, is_whole = rows_of(report, references, written)
    except BadInput as error:
        return Added(report.name, stamp, "", str(error), {})
    is_late = not is_whole and time.time() < written + LATE
    return Added(report.name, (0, 0) if is_late else stamp, began, None, rows)


def add(connection: sqlite3.Connection, path: Path, found: Iterable[Added], by: str) -> None:
    """Adds reports in one transaction, except those that another process added first."""
    writer = Writer(connection)
    with changing(path), connection:
        for one in found:
            said = connection.execute(
                "INSERT OR IGNORE INTO reports (name, size, changed, began, judged_by, trouble)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (one.name, *one.stamp, one.began, by, one.trouble),
            )
            if said.rowcount and said.lastrowid is not None:
                writer.write(said.lastrowid, one.rows)


def fingerprint(folder: Path | None) -> str:
    """The SHA-256 of everything that decides a verdict: the code, and every file of references."""
    found = hashlib.sha256()
    code, tables = Path(__file__).parents[1].rglob("*.py"), folder.glob("*.yaml") if folder else []
    for file in [*sorted(code), *sorted(tables)]:
        found.update(file.read_bytes())
    return found.hexdigest()
