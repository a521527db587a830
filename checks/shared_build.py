"""Build folders that several sessions and users share: one session builds at a time, and finished programs are read."""

import functools
import os
import shlex
from pathlib import Path

from linkmatrix.errors import BadInput

from . import cmake_builds

SOURCES = Path(__file__).resolve().parent.parent / "src"
LOCKED_SECONDS = 1800


@functools.cache
def content_of_sources():
    """A hash of all files below src/."""
    return cmake_builds.content_of(SOURCES)


def is_built(folder, programs, place=""):
    """Whether a build folder has the programs of these sources, in its subfolder `place`."""
    return cmake_builds.is_built(folder, content_of_sources(), programs, place)


def begun(folder, programs):
    """Removes the mark of a build folder, and returns (file, content) of the mark to write when it is built.

    A build that fails leaves a folder of no sources.
    """
    file = folder / cmake_builds.MARK
    file.unlink(missing_ok=True)
    return file, " ".join([content_of_sources(), *programs]).encode()


def writable(folder):
    """Whether this user may build in a folder, which need not exist yet."""
    lock = lock_of(folder)
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(there, os.W_OK) and os.access(lock if lock.exists() else there.parent, os.W_OK)


def refuse_read_only(folder):
    """Raises BadInput if this user may not build in a folder."""
    if not writable(folder):
        raise BadInput(
            f"{folder} has no programs for this environment, and you may not write there: name your own folder in"
            " $LINKMATRIX_BUILD, or let the owner run linkmatrix"
        )


def lock_of(folder):
    """The file that a session locks while it uses a build folder."""
    return folder.with_name(f"{folder.name}.lock")


def for_writing(folder):
    """Shell commands that wait until no other session uses the folder, and keep others out until the script ends.

    The script copies the programs out, because a later build overwrites them while jobs still run.
    """
    return [f"exec 9> {shlex.quote(str(lock_of(folder)))}", *wait(folder)]


def for_reading(folder):
    """Shell commands that wait until no other session builds in the folder. They write nothing there."""
    lock = shlex.quote(str(lock_of(folder)))
    return [f"if [ -r {lock} ]; then", f"exec 9< {lock}", *wait(folder, "--shared "), "fi"]


def wait(folder, options=""):
    """Shell commands that lock the file descriptor 9. options: of flock."""
    busy = f"build_linkmatrix: {folder} has been locked by another session for half an hour"
    return [f"flock {options}--timeout {LOCKED_SECONDS} 9 || {{ echo {shlex.quote(busy)} >&2; false; }}"]


def copied(folder, programs):
    """Shell commands that copy finished programs into prefix/bin."""
    files = " ".join(shlex.quote(str(folder / name)) for name in programs)
    return ["rm -rf prefix", "mkdir -p prefix/bin", f"cp {files} prefix/bin/"]


def is_unchanged(folder, programs):
    """Whether no program of a folder is newer than its mark: `make build` changes programs and leaves the mark."""
    try:
        mark = (folder / cmake_builds.MARK).stat().st_mtime
        return all((folder / name).stat().st_mtime <= mark for name in programs)
    except OSError:
        return False
