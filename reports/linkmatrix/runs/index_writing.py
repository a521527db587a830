"""Brings the index up to date: adds the reports that are new, and drops those that changed or are gone.

A file system may show a record later than its report. A report that lacks a record is therefore read again each time,
for the time LATE.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import changing
from ..record import units
from ..references.tables import References
from . import folders
from .indexing import OF_REPORTS, Row, rows_of, stamp_of

LATE = 3600.0  # seconds after its report, in which a record may still appear


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
        if isinstance(said, str) and column not in ("device", "reason"):
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
    for report in stamps:
        if report.name not in known:
            add(connection, path, report, stamps[report], references, by)
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


def add(
    connection: sqlite3.Connection,
    path: Path,
    report: Path,
    stamp: tuple[int, int],
    references: References,
    by: str,
) -> None:
    """Adds one report, or the error if it cannot be read; does nothing if another process added it first."""
    began, trouble, written = "", None, stamp[1] / 1e9
    rows: dict[str, list[Row]] = {}
    try:
        began, rows, is_whole = rows_of(report, references, written)
        if not is_whole and time.time() < written + LATE:
            stamp = (0, 0)
    except BadInput as error:
        trouble = str(error)
    with changing(path), connection:
        said = connection.execute(
            "INSERT OR IGNORE INTO reports (name, size, changed, began, judged_by, trouble) VALUES (?, ?, ?, ?, ?, ?)",
            (report.name, *stamp, began, by, trouble),
        )
        if said.rowcount and said.lastrowid is not None:
            Writer(connection).write(said.lastrowid, rows)


def fingerprint(folder: Path | None) -> str:
    """The SHA-256 of everything that decides a verdict: the code, and every file of references."""
    found = hashlib.sha256()
    code, tables = Path(__file__).parents[1].rglob("*.py"), folder.glob("*.yaml") if folder else []
    for file in [*sorted(code), *sorted(tables)]:
        found.update(file.read_bytes())
    return found.hexdigest()
