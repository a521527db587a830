"""The cells that a test case must have, compared with a result of a record. Plain Python, as `expect` is."""

import numpy as np

from linkmatrix.judge.handover import counted
from linkmatrix.judge.reasons import missing
from linkmatrix.record import grids, units
from linkmatrix.record.apart import Apart
from linkmatrix.record.collective import bodies_of

MOST_NAMED = 4  # labels per sentence
ALL_PAIRS, MATCHINGS = "all pairs", "matchings"  # the pairs of a matrix that are measured
#: Further matrices that a result must have, by a word in the name of its test case.
PARTS = {
    "_bidirectional_": ("one_direction",),
    "_stress": ("isolated", "loss"),
    "node_to_node_bandwidth_": ("message_rate",),
}
PARTS_OF_GPUS = {"_copy_latency_": ("enqueue",)}  # only GPUs have a queue


def endpoints(record, testcase):
    """The labels of the endpoints of a test case: the nodes of the devices, or the devices."""
    level = "node" if testcase.startswith("node_") else "label"
    return list(dict.fromkeys(device[level] for device in record["devices"]))


def parts_of(testcase, on_gpus=False):
    """The names of the further matrices that the result of a test case must have."""
    tables = {**PARTS, **(PARTS_OF_GPUS if on_gpus else {})}
    return [part for word, parts in tables.items() if word in testcase for part in parts]


def cell_faults(result, rows, columns, parts=(), pairs=ALL_PAIRS):
    """The cells and further matrices that a result lacks. The judge reads the cells that the result has.

    rows, columns: the labels that each axis must have; None for any. parts: names of further matrices, which must have
    a number for each measured cell. pairs: the pairs that were requested.
    """
    name = name_of(result)
    reasons = axis_faults(name, "rows", result, rows) + axis_faults(name, "columns", result, columns)
    if measured_pairs(result) != pairs:
        reasons += missing(f"{name}: {pairs} were requested, the record has {measured_pairs(result)}")
    if Apart.of(result) is None:
        measured = np.isfinite(grids.numbers(result["values"]))
        for part in parts:
            lacking = int((measured & ~np.isfinite(counted(result, part, measured.shape))).sum())
            reasons += missing(f"{name}: {lacking} cells have no '{part}'") if lacking else []
    return reasons


def name_of(result):
    """The test case of a result with its size in words."""
    bodies = bodies_of(result)
    return f"{result['testcase']} of {f'{bodies} bodies' if bodies else units.size(result['size_bytes'])}"


def axis_faults(name, axis, result, wanted):
    """The reason if an axis of a result has other labels than wanted, or another order."""
    found = list(result[axis])
    if wanted is None or found == list(wanted):
        return []
    present = set(found)
    absent = [label for label in wanted if label not in present]
    if absent:
        return missing(f"{name}: its {axis} lack {', '.join(units.first(absent, MOST_NAMED))}")
    shown = [", ".join(units.first(labels, MOST_NAMED)) for labels in (wanted, found)]
    return missing(f"{name}: its {axis} should be {shown[0]}, they are {shown[1]}")


def measured_pairs(result):
    """The pairs that the schedule of a result contains, in words."""
    if result.get("triangle"):
        return "one direction of each pair"
    return {"bisection": "pairs between two halves", "matchings": MATCHINGS}.get(result["schedule"]["mode"], ALL_PAIRS)
