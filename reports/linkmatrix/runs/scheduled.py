"""Scheduled runs that did not start. The next run of the same schedule reports them, and is INCOMPLETE.

`linkmatrix schedule` gives `linkmatrix run` the times of its schedule. A run with a report stores them with its start.
"""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
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
    except (BadInput, AttributeError, KeyError, TypeError, ValueError):  # a damaged file tells no start
        pass
    write_whole(file, json.dumps({"times": text, "started": now.isoformat(timespec="seconds")}).encode())
    word, why = WORDS[Verdict.INCOMPLETE], "the scheduled run did not start, or left no report"
    return units.first([f"{word} {time:%Y-%m-%d %H:%M}: {why}" for time in missed], MOST_NAMED)
