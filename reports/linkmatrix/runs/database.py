"""The file of the index: a database with the tables of `indexing.py`, made anew where it cannot be trusted."""

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
    """The database at `path`; None if it is missing, damaged or of another version.

    Raises sqlite3.OperationalError where it cannot be opened for other reasons, which damage nothing.
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
    """The database, and what a process that died left beside it."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        name.unlink(missing_ok=True)
