"""Programs of others that died on a device: what its driver counts of them is no error of the device.

A driver counts an Xid on a device for whatever goes wrong there, also where a program reads memory that is not its own.
Seen beside seven processes that died so on one of two H100: Xid 31 seven times, every cell as without them. Xids whose
remedy in NVIDIA's catalogue (https://docs.nvidia.com/deploy/xid-errors) is to restart the program, or none, are held
against nobody where others had a context on the device and were gone at the end; where nobody is known to have left
they stay errors, and where the run itself could not use the device to its end: a driver does not say whose program an
Xid ended.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..record import grids
from ..record.counters import OF_EVENTS, Risen, risen
from ..record.units import first
from .disturbances import polls, process_name

OF_PROGRAMS = {"xid_13", "xid_31", "xid_43", "xid_45"}  # graphics exception, page fault, stopped, cleared up after one


def device_errors(record: Mapping[str, Any]) -> list[str]:
    """A sentence for each error counter that rose, except the Xids of other programs."""
    return [one.sentence for one in errors(record)]


def errors(record: Mapping[str, Any]) -> list[Risen]:
    """The error counters of devices and adapters that rose during the run, except the Xids of other programs."""
    theirs = of_others(record)
    return [one for one in risen(record) if one not in theirs.get(one.label, ())]


def died(record: Mapping[str, Any]) -> list[str]:
    """What programs of others made devices count, a sentence for each device."""
    there = gone_of(record)
    return [
        f"{label}: programs of others died on it ({', '.join(first(sorted(there[label])))}): "
        f"{', '.join(f'{one.name} {one.after - one.before:.0f} times' for one in counted if one.name != OF_EVENTS)}; "
        "by such the device is not at fault"
        for label, counted in of_others(record).items()
    ]


def of_others(record: Mapping[str, Any]) -> dict[str, list[Risen]]:
    """{device: its Xids, with their sum}, where all of them are of programs, and others were there."""
    xids: dict[str, list[Risen]] = {}
    for one in risen(record):
        if one.name.startswith(OF_EVENTS):
            xids.setdefault(one.label, []).append(one)
    there = gone_of(record).keys() - failed_for(record) if xids else set()
    return {label: counted for label, counted in xids.items() if label in there and are_of_programs(counted)}


def are_of_programs(counted: Sequence[Risen]) -> bool:
    """Whether each Xid of a device is known, and ends a program and nothing else."""
    known = {one.name: one.after - one.before for one in counted}
    return known.keys() <= OF_PROGRAMS | {OF_EVENTS} and known.pop(OF_EVENTS, 0.0) == sum(known.values())


def failed_for(record: Mapping[str, Any]) -> set[str]:
    """Devices that the run lost, or of which one of its cells ended in an error."""
    failed = {one["label"] for one in record["lost"]}
    for result in record["results"]:
        if "status" in result and "error" in grids.used(result["status"]):  # of the largest, the cells are in a file
            for row, cells in zip(result["rows"], result["status"], strict=True):
                ends = [column for column, status in zip(result["columns"], cells, strict=True) if status == "error"]
                failed.update([row] * bool(ends), ends)
    return failed


def gone_of(record: Mapping[str, Any]) -> dict[str, set[str]]:
    """{device: processes that had a context on it at some poll but not at the last, "pid 2983 (hog of bob)"}."""
    found: dict[str, dict[int, str]] = {}
    last: set[tuple[str, int]] = set()
    for others in polls(record):
        there = [one for one in others["processes"] if one.get("on") != "node"] if others["shared"] else []
        last = {(process["where"], process["pid"]) for process in there}
        for process in there:
            named = found.setdefault(process["where"], {})
            named[process["pid"]] = max(named.get(process["pid"], ""), process_name(process), key=len)
    gone = {label: {said for pid, said in named.items() if (label, pid) not in last} for label, named in found.items()}
    return {label: said for label, said in gone.items() if said}
