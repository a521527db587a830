"""The marks in the drawing of a machine: components at fault, and devices that another process disturbed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..judge.disturbances import MEMORY
from ..judge.evaluate import MatrixVerdict
from ..judge.rules import name
from ..judge.verdicts import Verdict
from ..locate.families import part_of
from ..locate.hypotheses import Finding
from ..locate.places import socket, switches_of
from ..record.matrix import Pair
from ..record.units import counted
from ..runs.judging import Judged
from .findings import cells_by, diagnosed, without_value

MOST_CELLS = 3  # with wrong data: those that are named
OF_DEVICE = ("device", "egress", "ingress", "links", "network")
OF_PAIR = ("link", "cell")
OF_ADAPTERS = ("nic", "nics")
OF_NODE = ("node", "node_pair", "inside", "between_sockets")
#: What stands at a marked device, by the end of the kind of its finding.
WAYS = {"egress": "slow out", "ingress": "slow in"}


@dataclass(frozen=True)
class Mark:
    """A part that is at fault.

    parts: what is marked of the drawing, ("device", label), ("pair", (source, destination)), ("adapter", (node, name)),
    ("switch", label of a device behind it), ("socket", (node, number)), ("class", link class), ("node", name); nothing
    where the part is not in a drawing, such as a leaf switch. who: what it is called. word: "slow out". where: test
    cases.
    """

    verdict: Verdict
    parts: tuple[tuple[str, Any], ...]
    who: str
    word: str
    where: tuple[str, ...]


def marks_of(judged: Iterable[Judged]) -> list[Mark]:
    """What is marked, each part once and the worst first."""
    found: dict[tuple[Any, ...], Mark] = {}
    for mark in (mark for one in judged for mark in marked_in(one)):
        key = (mark.parts, mark.who, mark.word)
        known = found.get(key, mark)
        where = tuple(dict.fromkeys([*known.where, *mark.where]))
        found[key] = replace(known, verdict=max(known.verdict, mark.verdict), where=where)
    return sorted(found.values(), key=lambda mark: -mark.verdict)


def marked_in(one: Judged) -> Iterator[Mark]:
    """The marks of a test's matrices: of parts by their own cells, and of cells that no part explains."""
    record = one.test.record or {}
    for result, matrix in one.matrices:
        if matrix.counts[Verdict.DISTURBED]:
            yield from disturbed_in(record, result)
        found, where = diagnosed(one, result, matrix), (result["testcase"],)
        for finding, who, verdict in zip(found.findings, found.who, found.verdicts, strict=True):
            yield Mark(verdict, tuple(parts_of(finding, who, record, matrix)), who, word_of(finding), where)
        for pair, word in marked_cells(found.findings, matrix).items() if not matrix.problem else ():
            yield Mark(matrix.cells[pair].verdict, (("pair", pair),), name(pair), word, where)


def disturbed_in(record: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Mark]:
    """The marks of devices, adapters and nodes that another process used while a result was measured."""
    labels = {device["label"] for device in record.get("devices", [])}
    for holder in (record, result):
        for one in (holder.get("others") or {}).get("disturbances") or ():
            if holder is result or one["kind"] == MEMORY:
                where, node = one["where"], one["node"]
                kind = "device" if where in labels else "adapter" if one["kind"] == "adapter" else "node"
                part = {"device": where, "adapter": (node, where), "node": node}[kind]
                who = where if kind != "node" else node
                yield Mark(Verdict.DISTURBED, ((kind, part),), who, "other process", (result["testcase"],))


def marked_cells(found: Sequence[Finding], matrix: MatrixVerdict) -> dict[Pair, str]:
    """{cell: what stands there} of what no part explains: wrong data, more than a path can carry, no value."""
    cells = {pair: "wrong data" for pair in cells_by(matrix, "corrupt")[:MOST_CELLS]}
    cells |= {pair: "too fast" for pair in cells_by(matrix, "impossible")[:1]}
    if not any(finding.missing for finding in found):
        cells |= {pair: "no value" for pair in without_value(matrix)[:1]}
    if all(finding.allowed for finding in found):
        failed = [pair for pair, cell in matrix.marked(1)[0] if cell.verdict is Verdict.FAIL or cell.value is None]
        cells |= {pair: "off" if matrix.cells[pair].value is not None else "no value" for pair in failed} | cells
    return cells


def word_of(finding: Finding) -> str:
    """What stands at the part."""
    if finding.missing:
        return "no value"
    return WAYS.get(finding.kind.rpartition("_")[2], "slow")


def parts_of(finding: Finding, who: str, record: Mapping[str, Any], matrix: MatrixVerdict) -> Iterator[tuple[str, Any]]:
    """What of a drawing a finding is about."""
    kind, subject, of = part_of(finding.kind), finding.subject, matrix.closely.matrix
    devices = record.get("devices", [])
    if finding.kind in OF_PAIR and isinstance(subject, tuple):
        a, b = subject
        yield "pair", (of.rows[a], of.columns[b])
        if finding.kind == "link":
            yield "pair", (of.rows[b], of.columns[a])
    elif kind in OF_DEVICE:
        yield ("device" if any(who == device["label"] for device in devices) else "node"), who
    elif kind in OF_ADAPTERS:
        names, _, node = who.rpartition(" of ")
        yield from (("adapter", (node, name)) for name in names.split(", "))
    elif kind == "switch":
        behind = switches_of(record, devices)
        yield from (("switch", device["label"]) for device in devices if behind(device) == who)
    elif kind == "socket":
        found = {(device["node"], device["numa"]) for device in devices if socket(device) == who}
        yield from (("socket", one) for one in sorted(found))
    elif kind == "class":
        yield "class", who
    elif kind in OF_NODE:
        names = who.removeprefix("nodes ").split(" and ") if finding.kind == "node_pair" else [who]
        yield from (("node", name) for name in names)


def sentence(mark: Mark) -> str:
    """ "gpu3, slow out: device_to_device_memcpy_write_ce and 3 other test cases"."""
    more = f" and {counted(len(mark.where) - 1, 'other test case')}" if len(mark.where) > 1 else ""
    drawn = "" if mark.parts else ", which is no part of the drawing"
    return f"{mark.who}, {mark.word}{drawn}: {mark.where[0]}{more}"
