"""What the bad cells of a matrix have in common, and which parts they are of, for the terminal and the page."""

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from ..judge.evaluate import MatrixVerdict
from ..judge.odd import odd_nodes
from ..judge.verdicts import Verdict
from ..locate import diagnosis
from ..record import units
from ..record.reading import Result
from ..runs.judging import Judged
from . import words

MOST_CELLS = 5  # bad cells whose endpoints are looked at: those that are listed
MOST_ENDPOINTS = 4  # endpoints that are described: more bad ones are no matter of single parts
MOST_HEADLINES = 6  # what a page or a screen begins with
KNOWN: "WeakKeyDictionary[MatrixVerdict, list[str]]" = WeakKeyDictionary()  # at the top and beside their matrix


def headlines(judged: list[Judged]) -> list[str]:
    """What was found, the worst test first, for whoever reads no further; nothing of a run that lacks nothing."""
    several = sum(len(one.matrices) or 1 for one in judged) > 1
    lines = [
        f"{name}: {line}" if several else line
        for one in sorted(judged, key=lambda one: -one.verdict)
        for name, line in found_in(one)
    ]
    lines += odd_nodes((one.test.partition, one.test.record) for one in judged if one.test.record)
    return units.first(list(dict.fromkeys(lines)), MOST_HEADLINES)


def found_in(one: Judged) -> Iterator[tuple[str, str]]:
    """(test case, what was found there) of a test."""
    for line in [*one.reasons, *words.fact_lines(one)]:
        yield one.test.name, line
    for result, matrix in one.matrices:
        told = [*words.fact_lines(one, result), *suspects(one, result, matrix)]
        for line in told or words.marked_cells(matrix, 1):
            yield result["testcase"], line


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


def suspects(one: Judged, result: Result, matrix: MatrixVerdict) -> list[str]:
    """A sentence for each suspect; none where nothing failed and nothing lacks a verdict.

    Without references they are seen from inside the matrix, and say so.
    """
    if one.of_matrix(matrix) not in (Verdict.FAIL, Verdict.NO_VERDICT):
        return []
    if matrix not in KNOWN:
        found = diagnosis.diagnose(one.test.record or {}, result, matrix)
        seen = "seen from inside, without references: " if found.from_inside else ""
        KNOWN[matrix] = [f"{seen}{sentence}" for sentence in found.sentences]
    return KNOWN[matrix]
