"""The lines that every output prints with its verdict.

They name the simulated fault (always first), the ignored processes, and the nodes that were left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import clean
from ..judge.disturbances import ignored
from ..record import units
from ..record.names import simulated_fault
from ..runs.judging import Judged

Record = Mapping[str, Any]


def records_of(judged: Iterable[Judged]) -> list[Record]:
    """The records of the tests that have one."""
    return [one.test.record for one in judged if one.test.record is not None]


def simulated_line(records: Iterable[Record]) -> str:
    """ "SIMULATED: …", the first line of every output on these records; "" where no fault was simulated."""
    faults = filter(None, map(simulated_fault, records))
    named = clean(", ".join(units.first(list(dict.fromkeys(faults)))))
    return f"SIMULATED: --simulate-fault {named} made this result. It says nothing about the hardware." if named else ""


def ignored_line(records: Iterable[Record]) -> str:
    """ "Ignored processes: …", printed with every verdict; "" where no process was ignored."""
    found = (one for record in records for one in ignored(record))
    named = clean(", ".join(units.first(list(dict.fromkeys(found)))))
    return f"Ignored processes: {named}" if named else ""


def left_out_line(judged: Iterable[Judged]) -> str:
    """ "Nodes that take no jobs, left out: n3: drained: bad DIMM"; "" where a test between nodes left none out."""
    found = dict.fromkeys(node for one in judged for node in one.test.nodes_left_out.split("; ") if node)
    named = clean("; ".join(units.first(list(found))))
    return f"Nodes that take no jobs, left out: {named}" if named else ""


def lines(judged: Iterable[Judged]) -> list[str]:
    """The notices on a run, the simulated fault first."""
    tests = list(judged)
    records = records_of(tests)
    return [line for line in (simulated_line(records), ignored_line(records), left_out_line(tests)) if line]
