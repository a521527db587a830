"""Runs that ended without a report; they are INCOMPLETE.

`linkmatrix run` writes `runs/began-STAMP.json` of the prefix at its start, and removes it once its report is stored. If
the process of such a file is gone, the run was killed or its machine failed. A process is the same if its pid and its
start time are.
"""

import socket
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from .. import lock
from ..errors import BadInput, clean
from ..files import read_json
from ..judge.verdicts import WORDS, Verdict
from ..record import units

FOLDER, PATTERN = "runs", "began-*.json"
LONGEST = 1000.0  # hours that `run --timeout` may allow
UNREADABLE = 24.0  # hours after which a file that cannot be read is that of a run that ended
REPORTING = 3600.0  # seconds behind the timeout, in which a run stores its report


class Began(NamedTuple):
    """A run that began; started: UTC, as records have it. system: "" for the one that ReFrame found.

    born: the start time of its process, as `lock.born` has it. timeout: in hours.
    """

    started: str
    mode: str
    system: str
    pid: int
    host: str
    file: Path
    born: str
    timeout: float

    def sentence(self) -> str:
        """ "INCOMPLETE 2026-11-21 01:50: run --mode=quick of alpha ended without a report (began-….json)"."""
        when = self.started[:16].replace("T", " ")
        of = f" of {self.system}" if self.system else ""
        run = f"run --mode={self.mode}{of} ended without a report ({self.file.name})"
        return clean(f"{WORDS[Verdict.INCOMPLETE]} {when}: {run}")


def ended_without_report(prefix: Path) -> list[Began]:
    """The runs of a prefix whose process is gone and that left no report, by their time."""
    found = (read(file) for file in (prefix / FOLDER).glob(PATTERN))
    return sorted(one for one in found if one and is_gone(one))


def sentences(prefix: Path) -> list[str]:
    """A sentence for each of the newest of these runs."""
    newest = [one.sentence() for one in ended_without_report(prefix)][::-1]
    return units.first(newest)


def read(file: Path) -> Began | None:
    """A run that began; None where the file is gone. What cannot be read of it is "unknown"."""
    try:
        found = read_json(file)
        started, mode, system, host = (str(found[name] or "") for name in ("started", "mode", "system", "host"))
        born, timeout = str(found.get("born") or ""), float(found.get("timeout") or LONGEST)
        return Began(started, mode, system, int(found["pid"]), host, file, born, timeout)
    except (BadInput, KeyError, TypeError, ValueError):
        pass
    try:
        changed = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
    except OSError:
        return None
    return Began(f"{changed:%Y-%m-%dT%H:%M:%SZ}", "unknown", "", 0, "unknown", file, "", UNREADABLE)


def is_gone(run: Began) -> bool:
    """Whether the process of a run has ended, as far as this host can know."""
    if run.host == socket.gethostname() and (not run.born or lock.born(run.pid) != run.born):
        return True
    try:
        began = datetime.fromisoformat(run.started.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return True
    return time.time() - began > run.timeout * 3600 + REPORTING
