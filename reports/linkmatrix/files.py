"""The one way in which files are read and written: whole or not at all, by one writer where what is there counts.

A full disk, a crash or a reader at the wrong moment never sees half a file. What a crash leaves has a name that no
command looks for.
"""

import argparse
import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .errors import BadInput

MOST_BYTES = 512 * 1024 * 1024  # a report or record above this is not one of ours
HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # or a whole one in two parts
PATIENCE = 60.0  # seconds to wait for another writer, which needs less than one


def regular(path: Path) -> os.stat_result:
    """What the system says of a regular file: nothing else has an end that can be relied on, and a pipe may never give
    a byte. Raises BadInput, one sentence that names it, for anything else."""
    try:
        said = path.stat()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte in its name
        raise BadInput(f"'{path}' is not the name of a file: {error}") from None
    if stat.S_ISDIR(said.st_mode):
        raise BadInput(f"{path} cannot be read: it is a folder")
    if not stat.S_ISREG(said.st_mode):
        raise BadInput(f"{path} is not a regular file: save its content into a file, and name this file")
    return said


def read_whole(path: Path, most: int) -> bytes:
    """The bytes of a regular file. Raises BadInput for what is none, cannot be read or is larger than `most` bytes.

    It is never waited for: a pipe may have come into its place meanwhile, and some files of /proc have no end.
    """
    too_large = regular(path).st_size > most
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = b"" if too_large else file.read()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    if content is None:
        raise BadInput(f"{path} cannot be read: it has no end yet")
    if too_large or len(content) > most:
        raise BadInput(f"{path} is larger than {most} bytes: that is no file of ours")
    return content


def path_of(text: str) -> Path:
    """A path of the command line; an empty one is a variable that was not set, and not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("'' names no file: give the name of one, or of a folder")
    return Path(text)


def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that comes twice would silently hide the first."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"it has the key '{next(name for name in names if names.count(name) > 1)}' twice")
    return dict(pairs)


def read_json(path: Path, remedy: str = "") -> Any:
    """The JSON at `path`. Raises BadInput: one sentence that names the file; remedy: what to do where it is no JSON.

    Half a character, which Python writes of bytes that are no text and no file can hold, is a question mark.
    """
    content = read_whole(path, MOST_BYTES)
    try:
        found = json.loads(content, object_pairs_hook=refuse_repeats)
        if HALF.search(content):
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
        return found
    except (ValueError, RecursionError) as error:
        raise BadInput(": ".join(filter(None, [f"{path} is not valid JSON", str(error), remedy]))) from None


def write_whole(path: Path, content: bytes, lasting: bool = True) -> None:
    """Replaces `path`, also under the eyes of readers; its mode stays, and a link leads where it led. Raises OSError.

    What is no file, such as /dev/stdout, is written into. lasting: whether it waits until the disk has it, for which a
    copy of what is there has no need.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        place = led_to(path)
        mode = place.stat().st_mode if place.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(opened_at_once(place), "wb") as stream:
                stream.write(content)
            return
        replace(place, content, mode, lasting)
    except OSError as error:  # of a full disk it does not say the name
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def opened_at_once(place: Path) -> int:
    """Opens what is no file, such as /dev/stdout or a pipe, to write into it. Raises OSError.

    A pipe that nobody reads would be waited for, and the system says of it that there is no such device.
    """
    try:
        opened = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "no process reads this pipe: name a file, or start the reader first") from None
    os.set_blocking(opened, True)
    return opened


def folder_for(path: Path, option: str = "--out") -> Path:
    """Makes the folder that an option names, where it is not there. Raises BadInput where it cannot be one, OSError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(f"{option} {path} is not a folder, or is inside a file: name another folder") from None
    return path


def write_new(path: Path, content: bytes) -> None:
    """Writes a file that nothing is in the place of: what came there meanwhile stays. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        replace(path, content, None, lasting=True, put=os.link)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def led_to(path: Path) -> Path:
    """Where a path leads, by links of this user and of who has the folder. Raises OSError for others, and for a circle.

    In a folder that all may write, such as /tmp, anybody's link under a name that can be foreseen may lead to a file of
    this user: the kernel refuses to follow it where fs.protected_symlinks is set, but not to say where it leads.
    """
    try:
        place = path.resolve()
        for link in links_of(path):
            folder = link.parent.stat()
            if folder.st_mode & stat.S_IWOTH and owner_of(link) not in (os.geteuid(), folder.st_uid):
                raise OSError(errno.EACCES, "it is a link of another user in a folder that all may write", str(link))
        return place
    except RuntimeError:  # Python before 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


def owner_of(link: Path) -> int:
    """Whose a link itself is."""
    return link.lstat().st_uid


def links_of(path: Path) -> Iterator[Path]:
    """The links that a path goes by; there is no circle."""
    for step in [path, *path.parents]:
        if step.is_symlink():
            yield step
            yield from links_of(step.parent / step.readlink())


def replace(
    place: Path, content: bytes, mode: int | None, lasting: bool, put: Callable[[Path, Path], None] | None = None
) -> None:
    """Writes beside the file, then puts it in its place: over what is there, unless `put` does not. Raises OSError."""
    # random, because hosts that share a file system may have the same process numbers
    part = place.with_name(f".{place.name}.{os.urandom(16).hex()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        if mode is not None:
            part.chmod(stat.S_IMODE(mode))
        (put or os.replace)(part, place)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def changing(path: Path) -> Iterator[None]:
    """Locks a file while it is read and written again; other processes wait. Raises Held, OSError."""
    from . import lock  # readers need none

    place = led_to(path)
    with lock.held(place.with_name(f".{place.name}.lock"), PATIENCE):
        yield
