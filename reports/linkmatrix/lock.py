"""Locks: one run per system and partition, and one writer per file. The file of a lock describes the locking process.

A lock is a hard link, because the creation of a link is atomic on network file systems too. The lock of a dead process
on this host is removed, even if a new process has the same process ID. A process on another host cannot be checked, so
its lock stays.
"""

import contextlib
import json
import os
import random
import socket
import stat
import time
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import Held

MOST_BYTES = 64 * 1024  # maximum size of the file of a lock
ENDED = "ZXx"  # states of an ended process in /proc/PID/stat


def holder() -> dict[str, Any]:
    """The description of this process, for the file of a lock."""
    return {
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "host": socket.gethostname(),
        "since": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def born(pid: int) -> str:
    """The start time of a process as text, in clock ticks since boot; "" for an ended process.

    An ended process stays in /proc until its parent reaps the process. Some containers never reap processes.
    """
    try:
        # the name of the process may contain blanks and brackets, so fields are counted from the last bracket
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in ENDED else fields[19]
    except (OSError, IndexError):
        return ""


@contextlib.contextmanager
def held(path: Path, patience: float = 0.0) -> Iterator[str]:
    """A context that holds a lock. Raises Held if another process holds the lock.

    Yields a note if the context removed the lock of a dead process; "" otherwise.
    patience: seconds to wait for another process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        write_holder(own, path)
        yield acquire(path, own, time.monotonic() + patience)
    finally:
        is_own = False  # a user may have removed this lock, and another process may have created its own
        with contextlib.suppress(OSError):
            is_own = path.samefile(own)
        if is_own:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a read-only file system; no command reads this file
            own.unlink(missing_ok=True)


def write_holder(own: Path, lock: Path) -> None:
    """Writes the description of this process into `own`, the file that becomes the lock.

    Raises OSError with the file name `lock`, for example if the disk is full.
    """
    try:
        own.write_text(json.dumps(holder()), encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(lock)) from None


def acquire(path: Path, own: Path, until: float) -> str:
    """Creates the lock at `path` as a hard link to `own`. Returns the note that `held` yields. Raises Held.

    until: the end of the wait, as time.monotonic().
    """
    note, tries = "", 0
    while True:
        try:
            os.link(own, path)
            return note
        except FileExistsError:
            tries += 1
        try:
            note = remove_dead_lock(path)
            if tries < 3:
                continue
            raise Held(f"several processes take the lock {path} in turn: try again later")
        except Held:
            if time.monotonic() >= until:
                raise
            time.sleep(0.02 + 0.05 * random.random())


def lock_text(path: Path) -> str:
    """The content of the file of a lock. Raises OSError. Raises ValueError if the file is not a regular file.

    Another user with write access may have replaced the file with a link, or with a pipe that never ends.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError("no regular file")
        return file.read(MOST_BYTES).decode()


def remove_dead_lock(path: Path) -> str:
    """Removes a lock if its process is dead, and returns a note. Raises Held if the process may be alive."""
    try:
        text = lock_text(path)
        content = json.loads(text)
        pid, host, since = int(content["pid"]), str(content["host"]), str(content["since"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise Held(f"{path} is not a lock of linkmatrix: check its content, then remove the file") from None
    if host != socket.gethostname() or (born(pid) and born(pid) == content.get("born")):
        raise Held(f"process {pid} on {host} has been running since {since} (lock {path})")
    dead = path.with_name(f".{path.name}.dead.{os.getpid()}.{time.monotonic_ns()}")
    with contextlib.suppress(FileNotFoundError):
        # renaming is atomic, so only one process removes the lock; a newer lock is restored
        os.rename(path, dead)
        if dead.read_text(encoding="utf-8") != text:
            with contextlib.suppress(FileExistsError):
                os.link(dead, path)
        dead.unlink(missing_ok=True)
    return f"removed the lock of process {pid}, which started at {since} and is dead"
