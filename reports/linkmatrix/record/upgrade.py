"""Records of earlier versions, in the form of today's: every reader knows that one only.

What an earlier version did not say is null, or empty. The schema of each version stays as it was: record-1.schema.json.
"""

from typing import Any

from ..errors import BadInput

SCHEMA = "linkmatrix.record/2"
FIRST = "linkmatrix.record/1"
#: The schema of each version, beside this file; those of earlier ones never change.
SCHEMA_FILES = {FIRST: "record-1.schema.json", SCHEMA: "record.schema.json"}
LEAST_SAMPLES = 6  # from which on the smallest and the largest are an interval of the median with 95 %

Record = dict[str, Any]


def upgraded(record: Record) -> Record:
    """The record as linkmatrix.record/2; itself if it is one. It has passed the schema of its version.

    `earlier_disturbances` adds what later versions of linkmatrix.record/2 contain.
    """
    return from_first(record) if record["schema"] == FIRST else record


def from_first(record: Record) -> Record:
    """linkmatrix.record/1, of version 0.1.0. It knew no lost endpoints, and did not say what was to be measured."""
    return {
        **record,
        "schema": SCHEMA,
        "nodes": [],
        "adapters": [],
        "devices": [with_place(device) for device in record["devices"]],
        "asked_by": None,
        "expected": [],
        "lost": [],
        "results": [result_of_first(result) for result in record["results"]],
    }


def with_place(device: Record) -> Record:
    """A device that says what identifies it, and where it is."""
    part = {"uuid": device["uuid"]} if device["uuid"] else {}
    place = {name: device[name] for name in ("node", "pci") if device[name]}
    return {**device, "part": part, "place": place}


def result_of_first(result: Record) -> Record:
    """A result. Each cell had samples, and nobody wrote down when they were taken."""
    new = {**result, "timing": None, "clock_uncertainty_us": None}
    new["schedule"] = {**result["schedule"], "witnessed": None}
    if "values" in result:
        new |= dict.fromkeys(("round", "began", "ended", "sampled"))
        new["converged"] = converged_of_first(result)
    return new


def converged_of_first(result: Record) -> Any:
    """Which cells converged; the first version said it of a single sample too, which has no interval.

    Raises BadInput for grids of different shapes.
    """
    words = getattr(result["samples"], "words", None)  # all that occur, in the compact form
    if words is not None and min(filter(None, words), default=LEAST_SAMPLES) >= LEAST_SAMPLES:
        return result["converged"]
    grids = result["converged"], result["samples"]
    if [len(row) for row in grids[0]] != [len(row) for row in grids[1]]:
        raise BadInput(f"{result['testcase']}: converged and samples have different shapes")
    return [
        flags
        if min(filter(None, samples), default=LEAST_SAMPLES) >= LEAST_SAMPLES
        else [flag and (count or 0) >= LEAST_SAMPLES for flag, count in zip(flags, samples, strict=True)]
        for flags, samples in zip(*grids, strict=True)
    ]
