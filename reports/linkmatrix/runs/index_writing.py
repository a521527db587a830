"""Brings the index up to date: adds the reports that are new, and drops those that changed or are gone."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import changing
from ..record import units
from ..references.tables import References
from . import folders
from .indexing import OF_REPORTS, Row, record_stamp, rows_of, stamp_of


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
    """Adds reports that are new, or have a record that they lacked, and drops those that are gone. Returns notes."""
    stamps = {report: stamp for report in folders.reports(path.parent) if (stamp := stamp_of(report))}
    wanted = {report.name: stamp for report, stamp in stamps.items()}
    come = with_records(connection, stamps)

    def is_old(name: str, stamp: tuple[int, int], judged_by: str) -> bool:
        return wanted.get(name) != stamp or name in come or (again and judged_by != by)

    drop(connection, path, is_old)
    known = {name for (name,) in connection.execute("SELECT name FROM reports")}
    for report in stamps:
        if report.name not in known:
            add(connection, path, report, stamps[report], references, by)
    said = connection.execute("SELECT name, trouble, judged_by FROM reports ORDER BY began, id").fetchall()
    notes = [f"one report is not used: {trouble}" for _, trouble, _ in said if trouble]
    old = sum(judged_by != by for _, _, judged_by in said)
    if old:
        was = "was" if old == 1 else "were"
        why = "judged with other references or by another version: to judge again, remove"
        notes.append(f"{units.counted(old, 'report')} {was} {why} {path}")
    return notes


def with_records(connection: sqlite3.Connection, reports: Iterable[Path]) -> set[str]:
    """The names of the reports with a record that was unreadable when they were indexed and has changed since."""
    of_name = {report.name: report for report in reports}
    rows = connection.execute(
        "SELECT name, content, lacking.size, lacking.changed FROM lacking"
        " JOIN reports ON report = reports.id JOIN sets ON folders = sets.id"
    )
    return {
        name
        for name, folders, *stamp in rows
        if name in of_name and record_stamp(json.loads(folders), of_name[name]) not in ((0, 0), tuple(stamp))
    }


def drop(connection: sqlite3.Connection, path: Path, is_old: Callable[[str, tuple[int, int], str], bool]) -> None:
    """Removes the reports that are old, by their name, stamp and what judged them."""
    reports = connection.execute("SELECT id, name, size, changed, judged_by FROM reports").fetchall()
    old = [(number,) for number, name, size, changed, by in reports if is_old(name, (size, changed), by)]
    if not old:
        return
    with changing(path), connection:
        for table in OF_REPORTS:
            connection.executemany(f"DELETE FROM {table} WHERE report = ?", old)
        connection.executemany("DELETE FROM reports WHERE id = ?", old)


def add(
    connection: sqlite3.Connection,
    path: Path,
    report: Path,
    stamp: tuple[int, int],
    references: References,
    by: str,
) -> None:
    """Adds one report, or the error if it cannot be read; does nothing if another process added it first."""
    began, trouble = "", None
    rows: dict[str, list[Row]] = {}
    try:
        began, rows = rows_of(report, references, stamp[1] / 1e9)
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
