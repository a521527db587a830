"""The file of the index: a database with the tables of `indexing.py`, made anew where it cannot be trusted."""

import contextlib
import hashlib
import sqlite3
from pathlib import Path

from ..files import PATIENCE, changing
from .indexing import TABLES, VERSION


def ready(path: Path) -> sqlite3.Connection:
    """The database at `path` with its tables: empty ones where it is not there, damaged or of another version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if connection := sound(path):
        return connection
    with changing(path):
        if connection := sound(path):  # another process made it meanwhile
            return connection
        remove(path)
        connection = sqlite3.connect(path, timeout=PATIENCE)
        connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        return connection


def sound(path: Path) -> sqlite3.Connection | None:
    """The database at `path`; None where it is not there, damaged anywhere, of another version or with other tables.

    Raises sqlite3.OperationalError where it cannot be opened for other reasons, which damage nothing.
    """
    if not path.exists():
        return None
    connection = sqlite3.connect(path, timeout=PATIENCE)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()
        of_pages = version == (VERSION,) and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        if of_pages and tables(connection) == wanted() and has_whole_sets(connection):
            return connection
    except sqlite3.OperationalError:
        connection.close()
        raise
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None


def tables(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """(name, how it was made) of each table and index of a database."""
    return set(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def wanted() -> set[tuple[str, str]]:
    """As `tables`, of one that was made just now."""
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.executescript(TABLES)
        return tables(made)


def has_whole_sets(connection: sqlite3.Connection) -> bool:
    """Is each set what its digest is of? The check of SQLite is of pages alone."""
    found = connection.execute("SELECT digest, CAST(content AS BLOB) FROM sets")
    return all(content is not None and hashlib.sha256(content).digest() == digest for digest, content in found)


def remove(path: Path) -> None:
    """The database, and what a process that died left beside it."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        name.unlink(missing_ok=True)
