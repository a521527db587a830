"""Build folders that sessions and users share. One session builds. Other sessions wait and use the built programs."""

import functools
import os
import shlex
from pathlib import Path

from linkmatrix.errors import BadInput

from . import cmake_builds

SOURCES = Path(__file__).resolve().parent.parent / "src"
LOCKED_SECONDS = 1800  # maximum time to wait for another session


@functools.cache
def present_source_hash():
    """The hash of the present files below src/."""
    return cmake_builds.source_hash(SOURCES)


def is_built(folder, programs, place=""):
    """Whether a build folder contains the programs, built from the present sources.

    place: the subfolder of the programs.
    """
    return cmake_builds.is_built(folder, present_source_hash(), programs, place)


def remove_mark(folder, programs):
    """Removes the file that marks a build folder as built. A failed build therefore leaves no mark.

    Returns (file, content), with which the caller marks the folder after the build. The content is the hash of the
    sources, and the names of the programs.
    """
    file = folder / cmake_builds.MARK
    file.unlink(missing_ok=True)
    return file, " ".join([present_source_hash(), *programs]).encode()


def writable(folder):
    """Whether this user has write access to a build folder and its lock. The folder may be missing."""
    lock = lock_file(folder)
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(existing, os.W_OK) and os.access(lock if lock.exists() else existing.parent, os.W_OK)


def refuse_read_only(folder):
    """Raises BadInput if this user has no write access to a build folder."""
    if not writable(folder):
        raise BadInput(
            f"{folder} has no programs for this environment, and you have no write permission: name your own"
            " folder in $LINKMATRIX_BUILD, or let the owner run linkmatrix"
        )


def lock_file(folder):
    """The file that a session locks while the session uses a build folder."""
    return folder.with_name(f"{folder.name}.lock")


def exclusive_lock_commands(folder):
    """Shell commands that wait for other sessions, and then lock a build folder until the script ends.

    The script copies the programs to its stage. A later build in the folder therefore does not affect running jobs.
    """
    return [f"exec 9> {shlex.quote(str(lock_file(folder)))}", *flock_commands(folder)]


def shared_lock_commands(folder):
    """Shell commands that wait until no other session builds in a folder. The commands need no write access."""
    lock = shlex.quote(str(lock_file(folder)))
    return [f"if [ -r {lock} ]; then", f"exec 9< {lock}", *flock_commands(folder, "--shared "), "fi"]


def flock_commands(folder, options=""):
    """The shell commands that wait for the lock of file descriptor 9.

    options: options of flock.
    """
    busy = f"build_linkmatrix: {folder} has been locked by another session for half an hour"
    return [f"flock {options}--timeout {LOCKED_SECONDS} 9 || {{ echo {shlex.quote(busy)} >&2; false; }}"]


def copy_commands(folder, programs):
    """The shell commands that copy finished programs into prefix/bin."""
    files = " ".join(shlex.quote(str(folder / name)) for name in programs)
    return ["rm -rf prefix", "mkdir -p prefix/bin", f"cp {files} prefix/bin/"]


def is_unchanged(folder, programs):
    """Whether no program is newer than the file that marks the folder as built.

    `make build` changes the programs, but does not update this file.
    """
    try:
        mark = (folder / cmake_builds.MARK).stat().st_mtime
        return all((folder / name).stat().st_mtime <= mark for name in programs)
    except OSError:
        return False
