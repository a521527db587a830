"""The components that explain the bad cells of a matrix, and the parts at their endpoints."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..judge.rules import ORDER
from ..judge.verdicts import Verdict
from ..locate import diagnosis
from ..locate.diagnosis import Diagnosis
from ..record.matrix import Pair
from ..record.reading import Result
from ..runs.judging import Judged

MOST_CELLS = 5  # bad cells whose endpoints are looked at: those that are listed
MOST_ENDPOINTS = 4  # endpoints that are described: more bad ones are no matter of single parts
INSIDE = "without references, compared with cells of its link class: "
KNOWN: "WeakKeyDictionary[MatrixVerdict, Diagnosis]" = WeakKeyDictionary()  # at the top and beside their matrix


def parts_and_places(one: Judged, matrix: MatrixVerdict) -> list[str]:
    """A line for each endpoint of the worst cells: what identifies its part, and where it sits.

    "gpu3: uuid GPU-…, serial 1654…; in node n7, module 4, pci 0000:1b:00.0". Only what the record has; host memory has
    no part, and an endpoint without one has no line.
    """
    record = one.test.record or {}
    devices = {device["label"]: device for device in record.get("devices", [])}
    serials = {node["name"]: node["serial"] for node in record.get("nodes", [])}
    marked, _ = matrix.marked(MOST_CELLS)
    labels = dict.fromkeys(label for pair, _ in marked for label in pair)
    found = [devices[label] for label in labels if devices.get(label, {}).get("part")]
    return [described(device, serials) for device in found[:MOST_ENDPOINTS]]


def described(device: Mapping[str, Any], serials: Mapping[str, str | None]) -> str:
    """The line of one device."""
    place = dict(device["place"])
    node = place.pop("node", "")
    serial = serials.get(node)
    where = [f"node {node}" + (f" (serial {serial})" if serial else "")] if node else []
    where += [text if name == "slot" else f"{name} {text}" for name, text in sorted(place.items(), reverse=True)]
    parts = ", ".join(f"{name} {text}" for name, text in sorted(device["part"].items()))
    return f"{device['label']}: {parts}" + (f"; in {', '.join(where)}" if where else "")


def cells_by(matrix: MatrixVerdict, rule: str) -> list[Pair]:
    """The cells of which a rule decided, of a matrix that is held."""
    if matrix.whole is None:
        return []
    of, found = matrix.matrix, np.argwhere(matrix.whole.rules == ORDER[rule]).tolist()
    return [(of.rows[row], of.columns[column]) for row, column in found]


def without_value(matrix: MatrixVerdict) -> list[Pair]:
    """The cells that were not measured, of a matrix that is held; those that were tried first, for others follow."""
    if matrix.whole is None:
        return []
    of, not_run = matrix.matrix, matrix.whole.block.is_status("not-run")
    found = np.argwhere(matrix.whole.rules == ORDER["not measured"]).tolist()
    return [
        (of.rows[row], of.columns[column]) for row, column in sorted(found, key=lambda place: not_run[tuple(place)])
    ]


def diagnosed(one: Judged, result: Result, matrix: MatrixVerdict) -> Diagnosis:
    """The diagnosis of a matrix; empty for PASS and WARN."""
    if one.of_matrix(matrix) <= Verdict.WARN:
        return Diagnosis((), (), (), False)
    if matrix not in KNOWN:
        KNOWN[matrix] = diagnosis.diagnose(one.test.record or {}, result, matrix)
    return KNOWN[matrix]


def suspects(one: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """A sentence for each finding and for what no finding explains; the cells name the processes that disturbed them.

    A finding without references is marked as such.
    """
    found, disturbed = diagnosed(one, result, matrix), matrix.disturbed_sentences()
    inside = INSIDE if found.from_inside else ""
    told = [f"{inside if at < len(found.findings) else ''}{sentence}" for at, sentence in enumerate(found.sentences)]
    return [sentence for sentence in told if sentence not in disturbed]
