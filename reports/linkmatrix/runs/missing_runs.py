"""Missing runs: runs that ended without a report, and scheduled runs that did not start. Both are INCOMPLETE.

* At its start, `linkmatrix run` writes the file `runs/began-STAMP.json` in the prefix. The file is removed when the
  report is stored.
* If the file exists and its process has ended, the run was killed, or its machine failed. A process is identified by
  its process ID and start time.
* `linkmatrix schedule` passes the schedule to `linkmatrix run`. Each run stores its start together with the schedule.
  The next run reports the scheduled times between the stored start and its own start.
"""

import json
import re
import socket
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from .. import lock
from ..errors import BadInput, clean
from ..files import read_json, write_whole
from ..judge.verdicts import WORDS, Verdict
from ..record import units

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
TIMES = re.compile(rf"(?:({'|'.join(DAYS)}) )?([01]\d|2[0-3]):([0-5]\d)")
MOST_NAMED = 5


class Schedule(NamedTuple):
    """A daily or weekly time. day: the weekday, 0 for Monday; None for every day."""

    day: int | None
    hour: int
    minute: int

    @classmethod
    def read(cls, text: str) -> "Schedule":
        """Parses "02:30" or "Mon 02:30". Raises BadInput."""
        found = TIMES.fullmatch(text)
        if found is None:
            raise BadInput(f"--scheduled '{text}' is not a schedule: write 02:30, or Mon 02:30")
        return cls(DAYS.index(found[1]) if found[1] else None, int(found[2]), int(found[3]))

    @property
    def period(self) -> timedelta:
        """The time between two scheduled starts: a day or a week."""
        return timedelta(days=1 if self.day is None else 7)

    def due(self, now: datetime) -> datetime:
        """The last scheduled time at or before `now`, in local time."""
        last = now.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        if self.day is not None:
            last -= timedelta(days=(now.weekday() - self.day) % 7)
        return last if last <= now else last - self.period

    def missed(self, last: datetime, now: datetime) -> list[datetime]:
        """The scheduled times between the starts `last` and `now` at which no run started.

        A run that starts late counts for the last scheduled time before its start.
        """
        count = (self.due(now) - self.due(last)) // self.period - 1
        return [self.due(last) + self.period * (number + 1) for number in range(count)]


def note_start(prefix: Path, name: str, text: str, now: datetime) -> list[str]:
    """Stores the start of a scheduled run. Returns one sentence per missed time since the previous start.

    * name: system and mode of the run, for the file name
    * text: the schedule, see `Schedule.read`
    * now: the start
    """
    schedule, file = Schedule.read(text), prefix / "runs" / f"scheduled-{name}.json"
    missed: list[datetime] = []
    try:
        before = read_json(file) if file.exists() else {}
        if before.get("times") == text:
            missed = schedule.missed(datetime.fromisoformat(before["started"]), now)
    except (
        ArithmeticError,
        BadInput,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ):  # a damaged file contains no start
        pass
    write_whole(file, json.dumps({"times": text, "started": now.isoformat(timespec="seconds")}).encode())
    word, why = WORDS[Verdict.INCOMPLETE], "the scheduled run did not start, or left no report"
    return units.first([f"{word} {time:%Y-%m-%d %H:%M}: {why}" for time in missed], MOST_NAMED)


FOLDER, PATTERN = "runs", "began-*.json"
LONGEST = 1000.0  # maximum of `run --timeout`, in hours
UNREADABLE = 24.0  # assumed timeout of a run whose file is unreadable, in hours
REPORTING = 3600.0  # seconds after the timeout in which a run may store its report


class StartedRun(NamedTuple):
    """A run that has started.

    * started: UTC, in the format of records
    * system: value of the option --system; "" without this option
    * born: start time of the process, see `lock.born`
    * timeout: in hours
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
        """The missing run as a sentence.

        Example: "INCOMPLETE 2026-11-21 01:50: run --mode=quick of alpha ended without a report (began-….json)".
        """
        when = self.started[:16].replace("T", " ")
        of = f" of {self.system}" if self.system else ""
        run = f"run --mode={self.mode}{of} ended without a report ({self.file.name})"
        return clean(f"{WORDS[Verdict.INCOMPLETE]} {when}: {run}")


def ended_without_report(prefix: Path) -> list[StartedRun]:
    """The runs of a prefix whose process ended without a report, the oldest first."""
    found = (read_start(file) for file in (prefix / FOLDER).glob(PATTERN))
    return sorted(one for one in found if one and is_gone(one))


def missing_run_sentences(prefix: Path) -> list[str]:
    """Sentences about the newest runs that ended without a report."""
    newest = [one.sentence() for one in ended_without_report(prefix)][::-1]
    return units.first(newest)


def read_start(file: Path) -> StartedRun | None:
    """Reads a file `began-STAMP.json`. Returns None if the file is gone.

    If the file is unreadable, its fields are "unknown".
    """
    try:
        found = read_json(file)
        started, mode, system, host = (str(found[name] or "") for name in ("started", "mode", "system", "host"))
        born, timeout = str(found.get("born") or ""), float(found.get("timeout") or LONGEST)
        return StartedRun(started, mode, system, int(found["pid"]), host, file, born, timeout)
    except (ArithmeticError, BadInput, KeyError, TypeError, ValueError):
        pass
    try:
        changed = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
    except OSError:
        return None
    return StartedRun(f"{changed:%Y-%m-%dT%H:%M:%SZ}", "unknown", "", 0, "unknown", file, "", UNREADABLE)


def is_gone(run: StartedRun) -> bool:
    """Whether the process of a run has ended. A run on another host counts as ended after its timeout."""
    if run.host == socket.gethostname() and (not run.born or lock.born(run.pid) != run.born):
        return True
    try:
        began = datetime.fromisoformat(run.started.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return True
    return time.time() - began > run.timeout * 3600 + REPORTING
