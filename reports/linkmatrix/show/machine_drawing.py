"""The drawings of the machines of a run, as the page shows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..record.units import counted
from ..runs.judging import Judged
from . import words
from .machine_marks import Mark, marks_of, sentence
from .machine_parts import Machine, class_lines, classes_of, machine_of
from .machine_room import written_out
from .machine_shapes import MOST_NAMED_PAIRS, drawn
from .maps import CLASSES

MOST_ENDPOINTS = 16  # of a drawing
WIDE = 1500  # of a drawing that is scrolled on a screen: made small enough, nobody could read it
MOST_COUNTED = 256  # endpoints whose pairs are counted by link class
MOST_DRAWINGS = 4  # of a run of several machines


def drawings(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """What the page shows of each machine of a run: those with a part at fault first, and no more than a few."""
    machines: dict[tuple[Any, ...], list[Judged]] = {}
    for one in judged:
        record = one.test.record
        if record is not None:
            machines.setdefault((record["backend"], record["host"]["name"], *labels_of(record)), []).append(one)
    found = [shown for tests in machines.values() if (shown := drawing(tests))]
    found.sort(key=lambda one: not one["marked"])
    return found[:MOST_DRAWINGS]


def labels_of(record: Mapping[str, Any]) -> list[str]:
    """Of its devices."""
    return [device["label"] for device in record["devices"]]


def drawing(tests: Sequence[Judged]) -> dict[str, Any] | None:
    """A machine as the page shows it; None where its record says nothing of how it is connected."""
    records = [one.test.record for one in tests if one.test.record is not None]
    record = max(records, key=lambda one: len(one.get("adapters", [])))
    labels = labels_of(record)
    many = len(labels) > MOST_ENDPOINTS
    if len(labels) < 2 or not (many or any(classes_of(record).values())):
        return None
    marks = marks_of(tests)
    name = record["host"]["name"]
    common: dict[str, Any] = {
        "name": name,
        "marked": [
            {"text": sentence(mark), "glyph": words.GLYPHS[mark.verdict], "class": CLASSES[mark.verdict]}
            for mark in marks
        ],
        "classes": class_lines(record) if len(labels) <= MOST_COUNTED else [],
    }
    if many:
        left = f"{len(labels)} endpoints: above {MOST_ENDPOINTS} there is no drawing"
        where = "; the record has the link class of every pair" if record["topology"]["link_class"] else ""
        return common | {"left_out": f"{left}{where}.", "shapes": [], "alt": ""}
    machine = machine_of(record)
    shapes, width, height = drawn(machine, marks)
    notes = [
        f"{counted(node.left_out, 'adapter')} of {node.name} without a device near to them left out"
        for node in machine.nodes
        if node.left_out
    ]
    notes += written_out(machine)
    return common | {
        "left_out": "",
        "wide": width > WIDE,
        "shapes": shapes,
        "width": width,
        "height": height,
        "alt": alternative(machine, marks),
        "classes": common["classes"] + notes,
    }


def alternative(machine: Machine, marks: Iterable[Mark]) -> str:
    """The drawing in words."""
    told = []
    for node in machine.nodes:
        for socket in node.sockets:
            where = node.name + (f", NUMA node {socket.number}" if socket.number is not None else "")
            devices = [label for group in socket.groups for label in group.devices]
            adapters = [adapter.name for group in socket.groups for adapter in group.adapters]
            told.append(f"{where}: {', '.join([*devices, *adapters])}")
    told += [f"{one.link_class} between all of {', '.join(one.labels)}" for one in machine.meshes]
    told += [f"{one.link_class} between {' and '.join(one.labels)}" for one in machine.pairs[:MOST_NAMED_PAIRS]]
    told += [f"marked: {mark.who}, {mark.word}" for mark in marks if mark.parts]
    return "; ".join(told)
