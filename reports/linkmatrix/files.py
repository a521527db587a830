"""Reads and writes complete files, for all commands and checks.

A file is written completely or stays unchanged. This is also true after a crash, on a full disk, and for concurrent
readers. A crash may leave a temporary file, which no command reads.
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

MOST_BYTES = 512 * 1024 * 1024  # linkmatrix writes no larger report or record
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # half of a surrogate pair in JSON
PATIENCE = 60.0  # seconds to wait for another writer; writing takes less than a second


def regular(path: Path) -> os.stat_result:
    """The status of a regular file. Raises BadInput for a missing file and for other types of files.

    Other types are refused because, for example, reading a pipe might never end.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte in its name
        raise BadInput(f"'{path}' is not the name of a file: {error}") from None
    if stat.S_ISDIR(status.st_mode):
        raise BadInput(f"{path} cannot be read: it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{path} is not a regular file: save its content into a file, and name this file")
    return status


def read_whole(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises BadInput for other types of files, and for more than `most` bytes.

    The function never waits, even if a pipe has replaced the file.
    """
    too_large = regular(path).st_size > most
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            content = b"" if too_large else file.read()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    if content is None:
        raise BadInput(f"{path} cannot be read: its writer is still writing")
    if too_large or len(content) > most:
        raise BadInput(f"{path} is larger than {most} bytes: name a file that linkmatrix wrote")
    return content


def path_of(text: str) -> Path:
    """The path in an argument. Refuses an empty argument, which usually comes from an unset variable of a shell."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty: name a file or folder")
    return Path(text)


def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Creates the dictionary of a JSON object from (key, value) pairs. Raises ValueError if a key occurs twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"it has the key '{next(name for name in names if names.count(name) > 1)}' twice")
    return dict(pairs)


def read_json(path: Path, remedy: str = "") -> Any:
    """The content of a JSON file. Raises BadInput.

    A question mark replaces an unpaired UTF-16 surrogate, because UTF-8 cannot encode the surrogate.
    remedy: the end of the error message about invalid JSON.
    """
    content = read_whole(path, MOST_BYTES)
    try:
        found = json.loads(content, object_pairs_hook=refuse_repeats)
        if SURROGATE.search(content):
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
        return found
    except (ValueError, RecursionError) as error:
        raise BadInput(": ".join(filter(None, [f"{path} is not valid JSON", str(error), remedy]))) from None


def write_whole(path: Path, content: bytes, lasting: bool = True) -> None:
    """Replaces the content of a file atomically. Raises OSError.

    The permissions stay the same. If the path is a link, the target of the link gets the content. The function writes
    directly into a device or pipe, such as /dev/stdout.
    lasting: whether to wait until the disk has stored the content. A copy of an existing file needs no wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        place = link_target(path)
        mode = place.stat().st_mode if place.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            with open(open_without_wait(place), "wb") as stream:
                stream.write(content)
            return
        replace(place, content, mode, lasting)
    except OSError as error:  # the error of a full disk contains no file name
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def open_without_wait(place: Path) -> int:
    """Opens a device or pipe for writing, and returns the file descriptor. Raises OSError if a pipe has no reader."""
    try:
        opened = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "no process reads this pipe: name a file, or start the reader first") from None
    os.set_blocking(opened, True)
    return opened


def folder_for(path: Path, option: str = "--out") -> Path:
    """Creates the folder `path` if it is missing, and returns `path`. Raises OSError.

    Raises BadInput if the path is not a folder. option: the option with this path, for the error message.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(f"{option} {path} is not a folder, or is inside a file: name another folder") from None
    return path


def write_new(path: Path, content: bytes) -> None:
    """Writes a new file. Raises OSError. If the file exists, raises OSError and leaves the file unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        replace(path, content, None, lasting=True, put=os.link)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def link_target(path: Path) -> Path:
    """The path without symbolic links: all links are followed. Raises OSError.

    Refuses links of other users in a folder that all users can write, such as /tmp. Otherwise, another user could
    create a link with a predictable name that leads to a file of this user. Linux prevents this attack only with
    fs.protected_symlinks.
    """
    try:
        place = path.resolve()
        for link in links_in(path):
            folder = link.parent.stat()
            if folder.st_mode & stat.S_IWOTH and owner_of(link) not in (os.geteuid(), folder.st_uid):
                raise OSError(
                    errno.EACCES, "it is a link of another user in a folder that all users can write", str(link)
                )
        return place
    except RuntimeError:  # Python before 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


def owner_of(link: Path) -> int:
    """The user ID of the owner of a link."""
    return link.lstat().st_uid


def links_in(path: Path) -> Iterator[Path]:
    """Yields the symbolic links in a path and in the targets of links. The links must not form a circle."""
    for step in [path, *path.parents]:
        if step.is_symlink():
            yield step
            yield from links_in(step.parent / step.readlink())


def replace(
    place: Path, content: bytes, mode: int | None, lasting: bool, put: Callable[[Path, Path], None] | None = None
) -> None:
    """Writes a temporary file, and moves the temporary file to `place`. Raises OSError.

    mode: the permissions; None for the permissions of a new file.
    lasting: whether to wait until the disk has stored the content.
    put: the function that moves the temporary file; by default os.replace.
    """
    # a random name, because hosts that share a file system may have the same process numbers
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
    """A context that locks a file, so that the caller can read and rewrite the file. Other writers wait.

    Raises Held, OSError.
    """
    from . import lock  # slow to import, and readers need no lock

    place = link_target(path)
    with lock.held(place.with_name(f".{place.name}.lock"), PATIENCE):
        yield
