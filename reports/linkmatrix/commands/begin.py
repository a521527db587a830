"""The conditions of a run: ReFrame, writable folders, disk space, and the lock."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from .. import lock
from ..errors import BadInput, say
from ..runs import folders
from ..site import environment

LEAST_FREE = 256 * 1024 * 1024  # bytes of free disk space that a run needs
PACKAGE = "ReFrame-HPC"  # on PyPI
FULL = 1024 * 1024  # bytes; with less free space, reports, logs and builds may be cut


def reframe(name: str = "reframe") -> str:
    """The absolute path of ReFrame, for a run in the repository of this folder. Raises BadInput or NotStarted."""
    repository = folders.repository()
    if not (repository / "config" / "settings.py").is_file():
        raise BadInput(f"{repository} contains no config/settings.py: use a clone, or a folder of linkmatrix init")
    program = environment.program(name)
    if program is None:
        raise NotStarted(
            f"no program '{name}' is on PATH: pip install {PACKAGE}, or name another program with --reframe"
        )
    return program


class NotStarted(Exception):  # noqa: N818  a state, as errors.BadInput is
    """A sentence about why a run cannot begin, with the remedy."""


def make_room(folder: Path, variable: str) -> None:
    """Creates a folder, and checks that a run can write there. variable: names another folder. Raises NotStarted."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotStarted(f"{folder}: {error.strerror}: name another folder in ${variable}") from None
    if not os.access(folder, os.W_OK):
        raise NotStarted(f"{folder} cannot be written: name another folder in ${variable}")
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        raise NotStarted(
            f"{folder} has {free >> 20} MiB of free space, and a run needs {LEAST_FREE >> 20} MiB: nothing was started"
        )


def full_disk(folder: Path) -> str:
    """A sentence if the disk of a folder is full; "" if it has free space."""
    if shutil.disk_usage(folder).free >= FULL:
        return ""
    return f"the disk of {folder} is full: remove files, and measure again"


@contextlib.contextmanager
def alone(prefix: Path, system: str | None) -> Iterator[str]:
    """Holds the lock of a system's runs, and checks the disk space. Yields the name of the system for file names.

    Raises NotStarted, also if another run holds the lock.
    """
    make_room(prefix, "LINKMATRIX_PREFIX")
    builds = Path(os.environ.get("LINKMATRIX_BUILD") or folders.repository() / ".build")
    if os.access(builds, os.W_OK) or not builds.is_dir():  # a read-only folder may have all programs
        make_room(builds, "LINKMATRIX_BUILD")
    environment.set_home(prefix)
    name = (system or "any").replace(":", "-").replace("/", "-")
    with contextlib.ExitStack() as stack:
        try:
            note = stack.enter_context(lock.held(prefix / "locks" / f"{name}.lock"))
        except lock.Held as held:
            raise NotStarted(str(held)) from None
        if note:
            say(f"note: {note}")
        yield name
