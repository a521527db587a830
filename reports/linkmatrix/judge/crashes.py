"""Programs of others that died on a device: what its driver counts of them is no error of the device.

A driver counts an Xid on a device for whatever goes wrong there, also where a program reads memory that is not its own.
Seen beside seven processes that died so on one of two H100: Xid 31 seven times, every cell as without them. Xids whose
remedy in NVIDIA's catalogue (https://docs.nvidia.com/deploy/xid-errors) is to restart the program, or none, are held
against nobody where others had a context on the device; where nobody is known to have been there they stay errors.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..record.reading import Risen, risen
from .who import sentence

OF_PROGRAMS = {"xid_13", "xid_31", "xid_43", "xid_45"}  # graphics exception, page fault, stopped, cleared up after one
ALL_EVENTS = "xid"  # the sum of all Xids
MOST_NAMED = 3


def device_errors(record: Mapping[str, Any]) -> list[str]:
    """The errors that devices and adapters counted during the run, a sentence each, but those of programs of others."""
    theirs = of_others(record)
    return [one.sentence for one in risen(record) if one not in theirs.get(one.label, ())]


def died(record: Mapping[str, Any]) -> list[str]:
    """What programs of others made devices count, a sentence for each device."""
    there = processes_of(record)
    return [
        f"{label}: programs of others died on it ({', '.join(sorted(there[label])[:MOST_NAMED])}): "
        f"{', '.join(f'{one.name} {one.after - one.before:.0f} times' for one in counted if one.name != ALL_EVENTS)}; "
        "by such the device is not at fault"
        for label, counted in of_others(record).items()
    ]


def of_others(record: Mapping[str, Any]) -> dict[str, list[Risen]]:
    """{device: its Xids, with their sum}, where all of them are of programs, and others were there."""
    xids: dict[str, list[Risen]] = {}
    for one in risen(record):
        if one.name.startswith(ALL_EVENTS):
            xids.setdefault(one.label, []).append(one)
    there = processes_of(record)
    only = {label: {one.name for one in counted} <= OF_PROGRAMS | {ALL_EVENTS} for label, counted in xids.items()}
    return {label: counted for label, counted in xids.items() if only[label] and len(counted) > 1 and label in there}


def processes_of(record: Mapping[str, Any]) -> dict[str, set[str]]:
    """{device: who had a context on it at any look of the run, "pid 2983 hog of bob"}."""
    found: dict[str, set[str]] = {}
    for others in looks(record):
        for process in others["processes"] if others["shared"] else ():
            found.setdefault(process["where"], set()).add(sentence(process))
    return found


def looks(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All that a record says of others."""
    for holder in (record, *record["results"]):
        if holder.get("others"):
            yield holder["others"]
