"""Checks before a run: ReFrame is installed, folders are writable, the disk has space, and no other run is active."""

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
FULL = 1024 * 1024  # bytes of free disk space; with less, reports and logs may be truncated


def find_reframe(name: str = "reframe") -> str:
    """The absolute path of the command `name` of ReFrame.

    Raises BadInput if the repository has no config/settings.py. Raises NotStarted if the command is not on PATH.
    """
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
    """The run cannot begin. The message contains the reason and the remedy."""


def prepare_folder(folder: Path, variable: str) -> None:
    """Creates a folder. Raises NotStarted if the folder is not writable, or if its disk has too little space.

    variable: the environment variable with which the user can choose another folder, for the message.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotStarted(f"{folder}: {error.strerror}: name another folder in ${variable}") from None
    if not os.access(folder, os.W_OK):
        raise NotStarted(f"{folder} cannot be written: name another folder in ${variable}")
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        raise NotStarted(
            f"{folder} has {free >> 20} MiB of free space, and a run needs {LEAST_FREE >> 20} MiB: remove files"
        )


def full_disk_sentence(folder: Path) -> str:
    """An error message if the disk of a folder is full; "" if the disk has free space."""
    if shutil.disk_usage(folder).free >= FULL:
        return ""
    return f"the disk of {folder} is full: remove files, and measure again"


@contextlib.contextmanager
def run_lock(prefix: Path, system: str | None) -> Iterator[str]:
    """Prepares the folders of a run, and locks the system for the run. Yields the system's name, for names of files.

    Raises NotStarted if a folder is unusable, or if another run of this system is active.
    """
    for folder in (prefix, prefix / "locks"):  # another user may have created the second
        prepare_folder(folder, "LINKMATRIX_PREFIX")
    builds = Path(os.environ.get("LINKMATRIX_BUILD") or folders.repository() / ".build")
    if os.access(builds, os.W_OK) or not builds.is_dir():  # a read-only folder of built programs is allowed
        prepare_folder(builds, "LINKMATRIX_BUILD")
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
