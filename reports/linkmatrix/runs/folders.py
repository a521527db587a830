"""The folder of all results (the prefix), the ReFrame reports in this folder, and their order in time."""

import math
import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from ..errors import BadInput
from ..files import read_json, regular

REPORT = re.compile(r"run-report-.*\.json")
START, END = "time_start_unix", "time_end_unix"  # keys of a session's start and end
TIMES = {key: re.compile(rb'"%s": ([0-9.]+)' % key.encode()) for key in (START, END)}
DRY_RUN = re.compile(rb'"cmdline": "[^"]* --dry')
#: A session with aborted tests was ended by a signal, such as Ctrl-C.
ABORTED, FAILED = re.compile(rb'"num_aborted": [1-9]'), re.compile(rb'"num_failures": [1-9]')
#: The remedy for a report that a full disk cut off: ReFrame overwrites the file in place.
CUT = "if the disk is full, free space; then remove the file and measure again"
SKEW = 900.0  # seconds by which the clocks of a cluster may differ
HEAD_BYTES = 1 << 16  # the beginning of a report, with the facts of the session
DAY = 86400.0  # seconds
CLOCK_JUMP = 180 * DAY  # a longer time without a report is more likely a jump of the clock


def prefix() -> Path:
    """The folder of all results: $LINKMATRIX_PREFIX, or .linkmatrix next to the nearest config/settings.py.

    Raises BadInput if the variable does not name a folder.
    """
    if name := os.environ.get("LINKMATRIX_PREFIX"):
        if os.path.exists(name) and not os.path.isdir(name):
            raise BadInput(
                f"results cannot be in {name}, which is not a folder: name another folder in $LINKMATRIX_PREFIX"
            )
        return Path(name)
    return repository() / ".linkmatrix"


def repository() -> Path:
    """The folder that contains config/settings.py.

    The search begins at the working directory and its parents, and continues at the source tree of this package.
    Without any config/settings.py, the result is the working directory.
    """
    here = Path.cwd()
    for folder in [here, *here.parents, Path(__file__).resolve().parents[3]]:
        if (folder / "config" / "settings.py").is_file():
            return folder
    return here


def newest_report(folder: Path) -> Path:
    """The run-report-*.json in `folder` whose session ended last. Raises BadInput if there is no report.

    Dry runs do not count. An interrupted run counts only if a test failed before the interruption.
    """
    found = sorted(reports_in(folder), key=end_time)
    newest = next((path for path in reversed(found) if is_measurement(path)), None)
    if newest is None:
        problem = (
            "there are only reports of dry runs and interrupted runs, which have no result,"
            if found
            else "there is no run-report-*.json"
        )
        raise BadInput(f"{problem} in {folder}: measure first (linkmatrix measure), or name a record or report")
    return newest


def is_measurement(path: Path) -> bool:
    """Whether a report counts as a measurement. A dry run does not count.

    A run that a signal interrupted counts only if a test failed. Passed tests of an interrupted run do not count.
    """
    beginning = head(path)
    interrupted = ABORTED.search(beginning) and not FAILED.search(beginning)
    return not DRY_RUN.search(beginning) and not interrupted


def reports(prefix: Path) -> list[Path]:
    """All ReFrame reports of a prefix, the newest last. Raises BadInput if the folder is unreadable."""
    return reports_in(prefix / "reports")


def reports_in(folder: Path) -> list[Path]:
    """All ReFrame reports in a folder, the newest last. Raises BadInput if the folder is unreadable."""
    return sorted((path for path in entries(folder) if REPORT.fullmatch(path.name)), key=start_key)


def entries(folder: Path) -> list[Path]:
    """The entries of a folder; none if the folder does not exist. Raises BadInput if the folder is unreadable."""
    try:
        with os.scandir(folder) as found:
            return [Path(one.path) for one in found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror or error}") from None


def files_below(folder: Path) -> Iterator[Path]:
    """Yields all files of a folder and its subfolders. Raises BadInput if a folder is unreadable."""

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror or error}")

    for place, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in names)


def start_key(path: Path) -> tuple[float, list[int]]:
    """The sort key of reports: the start of the session by ReFrame's clock, then the session number.

    A start in the future counts as unknown. Otherwise, the report would stay the newest. The modification time of the
    file is not used, because copying a file changes its modification time.
    """
    began = session_time(path)
    return began if began <= time.time() + SKEW else 0.0, [int(number) for number in re.findall(r"\d+", path.name)]


def end_time(path: Path) -> float:
    """The end of a report's session in seconds since 1970.

    If the end is unknown or in the future, the result is the start of the session.
    """
    end = session_time(path, END)
    return end if 0.0 < end <= time.time() + SKEW else start_key(path)[0]


def head(path: Path) -> bytes:
    """The beginning of a report as bytes, HEAD_BYTES long; empty if the report is unreadable."""
    try:
        regular(path)
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except (OSError, BadInput):
        return b""


def session_time(path: Path, key: str = START) -> float:
    """The start (key START) or end (key END) of a report's session, in seconds since 1970; 0 if unknown."""
    try:
        found = TIMES[key].search(head(path))
        seconds = float(found[1] if found else read_json(path)["session_info"][key])
        return seconds if math.isfinite(seconds) else 0.0
    except (OSError, BadInput, KeyError, TypeError, ValueError):
        return 0.0


def epoch(text: str) -> int:
    """Converts a time of a record, "2026-11-20T10:00:00Z", to seconds since 1970."""
    return int(datetime.fromisoformat(text.removesuffix("Z") + "+00:00").timestamp())


def expired_files(paths: Iterable[Path], days: int) -> tuple[list[Path], list[Path]]:
    """Returns (files older than `days`, files that may seem old only because the clock jumped).

    The clock may have jumped if no file was written during a gap of more than half a year and more than `days`. The
    second list contains all files that were written before this gap.
    """
    now = last = time.time()
    written = sorted(((path.stat().st_mtime, path) for path in paths), reverse=True)
    old = []
    for number, (when, path) in enumerate(written):
        if last - when > max(days * DAY, CLOCK_JUMP):
            return old, [doubtful for _, doubtful in written[number:]]
        if now - when > days * DAY:
            old.append(path)
        last = when
    return old, []
