"""One at a time, a run of each system and partition or a writer of a file: a file that says who, since when.

It is made by a hard link, which is atomic on network file systems too. A holder on this host that is dead, or whose
process number another process has by now, has lost it; of another host nobody can tell, so its lock is believed.
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

MOST_BYTES = 64 * 1024  # of a lock that is one
ENDED = "ZXx"  # states of a process that will not run again, proc(5)


def holder() -> dict[str, Any]:
    """This process."""
    return {
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "host": socket.gethostname(),
        "since": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def born(pid: int) -> str:
    """When a process began, in ticks since the boot; "" if there is none.

    One that ended stays listed until its parent asks after it, which the first process of a container may never do.
    """
    try:
        # behind the name, which may hold blanks and brackets
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in ENDED else fields[19]
    except (OSError, IndexError):
        return ""


@contextlib.contextmanager
def held(path: Path, patience: float = 0.0) -> Iterator[str]:
    """Holds the lock; yields a note on a dead holder whose lock was taken over, or "". Raises Held.

    patience: seconds to wait for a holder that lives.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        describe(own, path)
        yield take(path, own, time.monotonic() + patience)
    finally:
        if same_file(path, own):  # and not another's, after somebody removed this one by hand
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # no command looks for it, and a read-only file system says no to all
            own.unlink(missing_ok=True)


def describe(own: Path, lock: Path) -> None:
    """Writes who this process is. Raises OSError that names the lock: of a full disk it does not say the name."""
    try:
        own.write_text(json.dumps(holder()), encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(lock)) from None


def take(path: Path, own: Path, until: float) -> str:
    """Makes `own` the lock, and returns what `held` yields. Raises Held after `until`, on the monotonic clock."""
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
    """Are the two names of one file?"""
    try:
        return one.samefile(other)
    except OSError:
        return False


def text_of(path: Path) -> str:
    """What the file of a lock says. Raises OSError, and ValueError for what is none: where others may write, a pipe
    that never gives a byte may stand in its place, or a link to another file.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError("no regular file")
        return file.read(MOST_BYTES).decode()


def take_over(path: Path, own: Path) -> str:
    """Removes the lock of a dead holder and says so. Raises Held if it lives, or may live."""
    try:
        text = text_of(path)
        said = json.loads(text)
        pid, host, since = int(said["pid"]), str(said["host"]), str(said["since"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise Held(f"{path} is no lock of linkmatrix: look at it, and remove it") from None
    if host != socket.gethostname() or (born(pid) and born(pid) == said.get("born")):
        raise Held(f"process {pid} on {host} is running since {since} (lock {path})")
    dead = path.with_name(f".{path.name}.dead.{os.getpid()}.{time.monotonic_ns()}")
    with contextlib.suppress(FileNotFoundError):
        # only one of several gets it; what it got may be a new lock, which goes back
        os.rename(path, dead)
        if dead.read_text(encoding="utf-8") != text:
            with contextlib.suppress(FileExistsError):
                os.link(dead, path)
        dead.unlink(missing_ok=True)
    return f"the lock of process {pid}, which died, was taken over (it ran since {since})"
