"""Locks: one run per system and partition, and one writer per file. The file of a lock contains its holder.

A lock is a hard link, which is atomic on network file systems too. A lock of a dead process on this host is taken over,
also if another process has its number. A process on another host cannot be checked, so its lock stays.
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

MOST_BYTES = 64 * 1024  # of the file of a lock
ENDED = "ZXx"  # states of an ended process, proc(5)


def holder() -> dict[str, Any]:
    """The content of a lock of this process."""
    return {
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "host": socket.gethostname(),
        "since": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def born(pid: int) -> str:
    """The start of a process, in clock ticks since the boot; "" for an ended process.

    An ended process stays listed until its parent reaps it. The first process of a container may never do so.
    """
    try:
        # the fields after the name, which may contain blanks and brackets
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in ENDED else fields[19]
    except (OSError, IndexError):
        return ""


@contextlib.contextmanager
def held(path: Path, patience: float = 0.0) -> Iterator[str]:
    """Holds the lock. Yields a note if the lock of a dead process was taken over, otherwise "". Raises Held.

    patience: seconds to wait for a live holder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        describe(own, path)
        yield take(path, own, time.monotonic() + patience)
    finally:
        if same_file(path, own):  # a user may have removed this lock, and another process may have created its own
            path.unlink(missing_ok=True)
        with contextlib.suppress(
            OSError
        ):  # no command reads this file, and a read-only file system refuses every change
            own.unlink(missing_ok=True)


def describe(own: Path, lock: Path) -> None:
    """Writes the holder of the lock into `own`.

    Raises OSError with the name `lock`, because the error of a full disk contains no file name.
    """
    try:
        own.write_text(json.dumps(holder()), encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(lock)) from None


def take(path: Path, own: Path, until: float) -> str:
    """Makes `own` the lock, and returns the note for `held`. Raises Held after `until`, on the monotonic clock."""
    note, tries = "", 0
    while True:
        try:
            os.link(own, path)
            return note
        except FileExistsError:
            tries += 1
        try:
            note = take_over(path, own)
            if tries < 3:
                continue
            raise Held(f"{path} changes its owner too often: try again later")
        except Held:
            if time.monotonic() >= until:
                raise
            time.sleep(0.02 + 0.05 * random.random())


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths are links to the same file."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def text_of(path: Path) -> str:
    """The content of the file of a lock. Raises OSError, and ValueError for a file that is no lock.

    Where other users may write, the file may be a pipe without a writer, or a link to another file.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError("no regular file")
        return file.read(MOST_BYTES).decode()


def take_over(path: Path, own: Path) -> str:
    """Removes the lock of a dead process, and returns a note. Raises Held if the process lives or may live."""
    try:
        text = text_of(path)
        said = json.loads(text)
        pid, host, since = int(said["pid"]), str(said["host"]), str(said["since"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise Held(f"{path} is not a lock of linkmatrix: check its content, then remove it") from None
    if host != socket.gethostname() or (born(pid) and born(pid) == said.get("born")):
        raise Held(f"process {pid} on {host} has been running since {since} (lock {path})")
    dead = path.with_name(f".{path.name}.dead.{os.getpid()}.{time.monotonic_ns()}")
    with contextlib.suppress(FileNotFoundError):
        # only one process renames the file; a lock that was created since then is restored
        os.rename(path, dead)
        if dead.read_text(encoding="utf-8") != text:
            with contextlib.suppress(FileExistsError):
                os.link(dead, path)
        dead.unlink(missing_ok=True)
    return f"took over the lock of process {pid}, which had run since {since} and is dead"
