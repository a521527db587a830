"""The lines that every output prints with its verdict: the simulated fault (always first) and the ignored processes."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import clean
from ..judge.disturbances import ignored
from ..record import units
from ..record.simulated import simulated_fault
from ..runs.judging import Judged

MOST_NAMED = 6  # faults or processes per line

Record = Mapping[str, Any]


def records_of(judged: Iterable[Judged]) -> list[Record]:
    """The records of the tests that have one."""
    return [one.test.record for one in judged if one.test.record is not None]


def simulated_line(records: Iterable[Record]) -> str:
    """ "SIMULATED: …", the first line of every output on these records; "" where no fault was simulated."""
    faults = filter(None, map(simulated_fault, records))
    named = clean(", ".join(units.first(list(dict.fromkeys(faults)), MOST_NAMED)))
    return f"SIMULATED: --simulate-fault {named} made this result. It says nothing about the hardware." if named else ""


def ignored_line(records: Iterable[Record]) -> str:
    """ "Ignored processes: …", printed with every verdict; "" where no process was ignored."""
    found = (one for record in records for one in ignored(record))
    named = clean(", ".join(units.first(list(dict.fromkeys(found)), MOST_NAMED)))
    return f"Ignored processes: {named}" if named else ""


def lines(judged: Iterable[Judged]) -> list[str]:
    """The notices on a run, the simulated fault first."""
    records = records_of(judged)
    return [line for line in (simulated_line(records), ignored_line(records)) if line]
