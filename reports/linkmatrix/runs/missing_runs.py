"""Runs that are missing: they ended without a report, or did not start at a scheduled time. They are INCOMPLETE.

`linkmatrix run` writes `runs/began-STAMP.json` of the prefix at its start, and removes it once its report is stored. If
the process of such a file is gone, the run was killed or its machine failed. A process is the same if its pid and its
start time are.

`linkmatrix schedule` gives `linkmatrix run` the times of its schedule. A run with a report stores them with its start,
and the next run of the schedule reports the missed times.
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
    """Daily or weekly times. day: number of the weekday, None for every day."""

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
        """The time between two starts."""
        return timedelta(days=1 if self.day is None else 7)

    def due(self, now: datetime) -> datetime:
        """The last scheduled time at or before `now`, in local time."""
        last = now.replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        if self.day is not None:
            last -= timedelta(days=(now.weekday() - self.day) % 7)
        return last if last <= now else last - self.period

    def missed(self, last: datetime, now: datetime) -> list[datetime]:
        """The scheduled times between two starts. A late start is that of the time before it."""
        count = (self.due(now) - self.due(last)) // self.period - 1
        return [self.due(last) + self.period * (number + 1) for number in range(count)]


def note_start(prefix: Path, name: str, text: str, now: datetime) -> list[str]:
    """Stores the start of a scheduled run, and returns a sentence for each start that was missed since the last one.

    name: of the run's system and mode, for the file name. text: the times, as `Schedule.read` takes them. now: the time
    of the start.
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
    ):  # a damaged file tells no start
        pass
    write_whole(file, json.dumps({"times": text, "started": now.isoformat(timespec="seconds")}).encode())
    word, why = WORDS[Verdict.INCOMPLETE], "the scheduled run did not start, or left no report"
    return units.first([f"{word} {time:%Y-%m-%d %H:%M}: {why}" for time in missed], MOST_NAMED)


FOLDER, PATTERN = "runs", "began-*.json"
LONGEST = 1000.0  # hours that `run --timeout` may allow
UNREADABLE = 24.0  # hours after which a file that cannot be read is that of a run that ended
REPORTING = 3600.0  # seconds behind the timeout, in which a run stores its report


class StartedRun(NamedTuple):
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


def ended_without_report(prefix: Path) -> list[StartedRun]:
    """The runs of a prefix whose process is gone and that left no report, by their time."""
    found = (read_start(file) for file in (prefix / FOLDER).glob(PATTERN))
    return sorted(one for one in found if one and is_gone(one))


def missing_run_sentences(prefix: Path) -> list[str]:
    """A sentence for each of the newest of these runs."""
    newest = [one.sentence() for one in ended_without_report(prefix)][::-1]
    return units.first(newest)


def read_start(file: Path) -> StartedRun | None:
    """A run that began; None where the file is gone. What cannot be read of it is "unknown"."""
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
    """Whether the process of a run has ended, as far as this host can know."""
    if run.host == socket.gethostname() and (not run.born or lock.born(run.pid) != run.born):
        return True
    try:
        began = datetime.fromisoformat(run.started.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return True
    return time.time() - began > run.timeout * 3600 + REPORTING
