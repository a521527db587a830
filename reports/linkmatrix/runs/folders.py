"""The folder of all results, the ReFrame reports in it, and the order of the reports in time."""

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
START, END = "time_start_unix", "time_end_unix"  # of a session
TIMES = {key: re.compile(rb'"%s": ([0-9.]+)' % key.encode()) for key in (START, END)}
DRY_RUN = re.compile(rb'"cmdline": "[^"]* --dry')
#: ReFrame counts these tests if a signal ends it, as Ctrl-C does.
ABORTED, FAILED = re.compile(rb'"num_aborted": [1-9]'), re.compile(rb'"num_failures": [1-9]')
#: ReFrame writes it in place: of a disk that was full its beginning is left.
CUT = "free space on its disk if the disk is full, remove the file, and measure again"
SKEW = 900.0  # seconds by which the clocks of a cluster may differ
HEAD_BYTES = 1 << 16  # of a report, where ReFrame writes about its session
DAY = 86400.0  # seconds
CLOCK_JUMP = 180 * DAY  # without a report: more likely a clock that jumped than a site that measured nothing


def prefix() -> Path:
    """The folder of all results: $LINKMATRIX_PREFIX, else .linkmatrix next to the nearest config/settings.py.

    Raises BadInput if the variable names something other than a folder.
    """
    if said := os.environ.get("LINKMATRIX_PREFIX"):
        if os.path.exists(said) and not os.path.isdir(said):
            raise BadInput(
                f"results cannot be in {said}, which is not a folder: name another folder in $LINKMATRIX_PREFIX"
            )
        return Path(said)
    return repository() / ".linkmatrix"


def repository() -> Path:
    """The folder with the nearest config/settings.py: around the working directory, else around this package."""
    here = Path.cwd()
    for folder in [here, *here.parents, Path(__file__).resolve().parents[3]]:
        if (folder / "config" / "settings.py").is_file():
            return folder
    return here


def newest_report(folder: Path) -> Path:
    """The run-report-*.json in `folder` whose session ended last. Raises BadInput without one.

    Dry runs do not count. A run that a signal ended before a test failed does not count either, because the run before
    it has more results.
    """
    found = sorted(reports_in(folder), key=end_time)
    newest = next((path for path in reversed(found) if is_measurement(path)), None)
    if newest is None:
        there = (
            "there are only reports of dry runs and interrupted runs, which have no result,"
            if found
            else "there is no run-report-*.json"
        )
        raise BadInput(f"{there} in {folder}: measure first (linkmatrix measure), or name a record or report")
    return newest


def is_measurement(path: Path) -> bool:
    """Whether a report is neither of a dry run nor of an interrupted run."""
    beginning = head(path)
    interrupted = ABORTED.search(beginning) and not FAILED.search(beginning)
    return not DRY_RUN.search(beginning) and not interrupted


def reports(prefix: Path) -> list[Path]:
    """All ReFrame reports of a prefix, the newest last. Raises BadInput if the folder cannot be read."""
    return reports_in(prefix / "reports")


def reports_in(folder: Path) -> list[Path]:
    """All ReFrame reports of a folder, the newest last. Raises BadInput if the folder cannot be read."""
    return sorted((path for path in entries(folder) if REPORT.fullmatch(path.name)), key=start_key)


def entries(folder: Path) -> list[Path]:
    """The entries of a folder; none if the folder does not exist. Raises BadInput."""
    try:
        with os.scandir(folder) as found:
            return [Path(one.path) for one in found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror or error}") from None


def files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder and its subfolders. Raises BadInput if a folder cannot be read."""

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror or error}")

    for place, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in names)


def start_key(path: Path) -> tuple[float, list[int]]:
    """Sort key of reports: the start of the session by ReFrame's clock, then the session number.

    The time of the file is not used, because a copy changes it. A start in the future counts as unknown: otherwise a
    clock that was ahead would make a report the newest for ever.
    """
    began = session_time(path)
    return began if began <= time.time() + SKEW else 0.0, [int(number) for number in re.findall(r"\d+", path.name)]


def end_time(path: Path) -> float:
    """The end of a report's session in seconds since 1970; its start if the end is unknown or in the future."""
    end = session_time(path, END)
    return end if 0.0 < end <= time.time() + SKEW else start_key(path)[0]


def head(path: Path) -> bytes:
    """The first HEAD_BYTES of a report; empty if it cannot be read."""
    try:
        regular(path)
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except (OSError, BadInput):
        return b""


def session_time(path: Path, key: str = START) -> float:
    """The start of a report's session in seconds since 1970, or with the key END its end; 0 if unknown."""
    try:
        found = TIMES[key].search(head(path))
        seconds = float(found[1] if found else read_json(path)["session_info"][key])
        return seconds if math.isfinite(seconds) else 0.0
    except (OSError, BadInput, KeyError, TypeError, ValueError):
        return 0.0


def epoch(text: str) -> int:
    """The time of a record in seconds since 1970."""
    return int(datetime.fromisoformat(text.removesuffix("Z") + "+00:00").timestamp())


def expired_files(paths: Iterable[Path], days: int) -> tuple[list[Path], list[Path]]:
    """(files written more than `days` ago, files that seem so old because the clock may have jumped).

    The second list has the files before a gap without any file. The gap is half a year, or `days` if that is longer.
    """
    now = last = time.time()
    written = sorted(((path.stat().st_mtime, path) for path in paths), reverse=True)
    old = []
    for number, (when, path) in enumerate(written):
        if last - when > max(days * DAY, CLOCK_JUMP):
            return old, [one for _, one in written[number:]]
        old += [path] if now - when > days * DAY else []
        last = when
    return old, []
