"""Compares the results of a record with the cells that a test case must have."""

import numpy as np

from linkmatrix.judge.run_findings import part_counts
from linkmatrix.judge.verdicts import missing
from linkmatrix.record import grids, units
from linkmatrix.record.external_cells import ExternalCells
from linkmatrix.record.names import body_count

ALL_PAIRS, MATCHINGS = "all pairs", "matchings"  # values of `measured_pairs`


def endpoints(record, testcase):
    """The labels of the endpoints of a test case in a record. The endpoints are nodes, or the devices of nodes."""
    level = "node" if testcase.startswith("node_") else "label"
    return list(dict.fromkeys(device[level] for device in record["devices"]))


def cell_faults(result, rows, columns, parts=(), pairs=ALL_PAIRS):
    """Reasons against PASS: a result lacks rows, columns, pairs or parts. Missing values are not among these reasons.

    rows, columns: the required labels; None for any labels.
    parts: names of additional matrices of the result. A part must contain a number for each measured cell.
    pairs: the requested pairs, ALL_PAIRS or MATCHINGS.
    """
    name = result_name(result)
    reasons = axis_faults(name, "rows", result, rows) + axis_faults(name, "columns", result, columns)
    if measured_pairs(result) != pairs:
        reasons += missing(f"{name}: {pairs} should be measured, but the record has {measured_pairs(result)}")
    if ExternalCells.of(result) is None:
        measured = np.isfinite(grids.numbers(result["values"]))
        for part in parts:
            lacking = int((measured & ~np.isfinite(part_counts(result, part, measured.shape))).sum())
            reasons += missing(f"{name}: {lacking} cells have no '{part}'") if lacking else []
    return reasons


def result_name(result):
    """Test case and size of a result, for messages, such as "device_to_device_memcpy_write_ce of 64 MiB"."""
    bodies = body_count(result)
    return f"{result['testcase']} of {f'{bodies} bodies' if bodies else units.size(result['size_bytes'])}"


def axis_faults(name, axis, result, wanted):
    """The reason against PASS, if the labels of an axis or their order differ from `wanted`.

    axis: "rows" or "columns".
    """
    found = list(result[axis])
    if wanted is None or found == list(wanted):
        return []
    present = set(found)
    absent = [label for label in wanted if label not in present]
    if absent:
        return missing(f"{name}: its {axis} lack {', '.join(units.first(absent))}")
    shown = [", ".join(units.first(labels)) for labels in (wanted, found)]
    return missing(f"{name}: its {axis} are {shown[1]}, expected are {shown[0]}")


def measured_pairs(result):
    """A text that describes the measured pairs of a result, such as ALL_PAIRS."""
    if result.get("triangle"):
        return "one direction of each pair"
    return {"bisection": "pairs between two halves", "matchings": MATCHINGS}.get(result["schedule"]["mode"], ALL_PAIRS)
