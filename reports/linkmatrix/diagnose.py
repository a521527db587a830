"""`linkmatrix diagnose`: verdicts for cells, rows, columns and classes, and what is at fault, in sentences to act on.

With references each cell is held against its own, and σ is what its tolerance allows for noise. Without, it is held
against the upper part of its link class: that finds a slow part among good ones, and never a class that is slow as a
whole, so the verdict stays NO VERDICT.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import again, explain, grids, huge, judging, large, noise, record
from .adopt import floor_of
from .errors import clean
from .evaluate import EXIT_CODES, MatrixVerdict, Verdict, worst
from .explain import Judged, Result
from .locate import Finding, Layout, locate, polish

UNKNOWN = "unknown"
LEAST_EFFECT = 0.01  # of a row or a column, as a fraction: below, it is not worth a line
MOST_EFFECTS = 4
Subject = int | tuple[int, int]


@dataclass(frozen=True)
class Diagnosis:
    """What came of a matrix.

    sentences: one for each finding, and on what held devices back. effects: rows and columns that are off as a whole.
    from_inside: without references.
    """

    findings: tuple[Finding, ...]
    sentences: tuple[str, ...]
    effects: tuple[str, ...]
    from_inside: bool


@dataclass(frozen=True)
class Names:
    """What the indices of a layout are called."""

    rows: Sequence[str]
    columns: Sequence[str]
    nodes: Sequence[str]
    nics: Sequence[str]
    classes: Sequence[str]


#: kind → (who, what its cells are, what to suspect). {who} is filled in by `subject_name`.
WORDS = {
    "egress": ("{who} sends", " to every peer, receives fine", "suspect its egress"),
    "ingress": ("{who} receives", " from every peer, sends fine", "suspect its ingress"),
    "device": ("{who} sends and receives", " with every peer", "suspect the device itself: its clocks, links or seat"),
    "link": ("only {who} are off, both ways,", "", "suspect the link between them"),
    "cell": (
        "only {who} is off,",
        ", the way back is fine",
        "suspect one direction of the link; measure it alone again",
    ),
    "nic": ("all cells over {who} are", "", "suspect that NIC, its cable or its switch port"),
    "nic_egress": ("all cells sent over {who} are", "", "suspect the sending side of that NIC, its cable or its port"),
    "nic_ingress": ("all cells received over {who} are", "", "suspect the receiving side of that NIC or its port"),
    "links": ("inside its node {who} is, with every peer,", ", the network is fine", "suspect its links to the others"),
    "links_egress": ("inside its node {who} sends", ", the network is fine", "suspect its outgoing links"),
    "links_ingress": ("inside its node {who} receives", ", the network is fine", "suspect its incoming links"),
    "node": ("all cells of node {who} over the network are", "", "suspect the node: its NICs together, PCIe or uplink"),
    "node_egress": ("all cells that node {who} sends are", "", "suspect the node's way out: uplink or routing"),
    "node_ingress": ("all cells that node {who} receives are", "", "suspect the node's way in: uplink or routing"),
    "node_pair": ("all cells between {who} are", "", "suspect the path between the two nodes"),
    "inside": ("all cells inside node {who} are", "", "suspect its switches, its clocks or a power limit"),
    "rail": ("all pairs on rail {who} are", "", "suspect the switch of that rail"),
    "class": ("all {who} cells are", "", "suspect what they share: driver, BIOS, clocks or a throttle"),
}
EXPERIMENTS = [
    ({"node", "node_pair"}, "measure with a third node: what stays slow with it is at fault"),
    ({"node", "class"}, "measure with a third node: what stays slow with it is at fault"),
    ({"nic", "node"}, "exchange the cables of two NICs, or measure over another NIC of the node"),
    ({"nic", "device"}, "measure inside the node too: a device is slow there, a NIC is not"),
    ({"class", "inside"}, "measure another node: if it is the class, that one is slow too"),
    ({"node", "device"}, "measure with several ranks on each node, or inside the node too"),
    ({"device", "class"}, "measure with more devices"),
    ({"device", "link"}, "measure with a third device"),
]


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `diagnose`."""
    judging.add_options(command)
    command.add_argument("--testcase", action="append", metavar="NAME", help="only this one; may come several times")
    command.set_defaults(command=run_diagnose)


def run_diagnose(options: argparse.Namespace) -> int:
    """Prints what is known of each matrix. Raises BadInput."""
    _, judged = judging.judged_run(options)
    verdicts = []
    for one in judged:
        if not one.matrices:
            verdicts.append(one.verdict)
            print(f"{explain.WORDS[one.verdict]}  {clean(one.test.name)}: {clean('; '.join(one.reasons))}")
        for result, matrix in one.matrices:
            if options.testcase and result["testcase"] not in options.testcase:
                continue
            verdicts.append(one.of_matrix(matrix))
            for line in lines(one, result, matrix):
                print(clean(line))
    verdict = worst(verdicts)
    print(explain.WORDS[verdict])
    return EXIT_CODES[verdict]


def lines(one: Judged, result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """All that is said of a matrix."""
    verdict = one.of_matrix(matrix)
    found = diagnose(one.test.record or {}, result, matrix)
    yield f"{explain.WORDS[verdict]}  {result['testcase']} ({explain.size(result['size_bytes'])})"
    yield from (f"  {line}" for line in counts(result, matrix))
    for sentence in found.sentences:
        yield f"  {sentence}"
    if not found.sentences:
        bad = matrix.counts[Verdict.FAIL]
        if bad:
            yield f"  {explain.counted(bad, 'cell')} failed, and nothing that they share explains them"
        elif verdict is Verdict.PASS:
            yield "  nothing is at fault"
    yield from (f"  {effect}" for effect in found.effects)
    confirmed = again.confirmation(result) if found.sentences else ""
    if confirmed:
        yield f"  {confirmed}"
    if found.from_inside:
        yield "  Without references: seen from inside, a class that is slow as a whole looks healthy."


def counts(result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """Verdicts by link class, and the rows and columns that are not as the rest."""
    if isinstance(matrix, huge.HugeVerdict):
        yield from matrix.class_tally()
        return
    codes, _ = large.verdict_grid(result, matrix)
    classes = grids.texts(result["link_class"])
    for name in np.unique(classes[codes >= 0]):
        of_class = codes[(classes == name) & (codes >= 0)]
        found = {verdict: int((of_class == verdict).sum()) for verdict in reversed(explain.ORDER)}
        tally = ", ".join(f"{count} {explain.WORDS[verdict]}" for verdict, count in found.items() if count)
        if tally:
            worst_one = max(verdict for verdict, count in found.items() if count)
            yield f"{name or UNKNOWN}: {explain.WORDS[worst_one]} ({tally})"
    for word, labels, grid in (("row", result["rows"], codes), ("column", result["columns"], codes.T)):
        failed, applies = (grid == Verdict.FAIL).sum(axis=1), (grid >= 0).sum(axis=1)
        whole = [labels[at] for at in np.flatnonzero((failed == applies) & (applies > 1))]
        if whole and len(whole) < int((applies > 0).sum()):
            yield f"{word}{'s' if len(whole) > 1 else ''} {listed(whole)}: FAIL in every cell"


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    more = len(names) - MOST_EFFECTS
    return ", ".join(names[:MOST_EFFECTS]) + (f" and {more} more" if more > 0 else "")


def diagnose(content: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Diagnosis:
    """What is at fault in a matrix of the checked record `content`."""
    if isinstance(matrix, huge.HugeVerdict):
        return among(content, result, matrix)
    layout, names = layout_of(content, result)
    inside = not matrix.held
    deviation, sigma, limit = (from_class if inside else from_references)(result, matrix, layout)
    if result["unit"] == "us":
        deviation = -deviation
    findings = [one for one in locate(deviation, sigma, limit, layout) if not (inside and one.kind == "class")]
    told = [sentence(one, names, content, result) for one in findings]
    throttled = result.get("throttled") or []
    if throttled and (findings or not inside):
        told.append(f"devices were held back while it was measured: {'; '.join(throttled[:3])}")
    return Diagnosis(tuple(findings), tuple(told), tuple(effects(deviation, names, result["unit"])), inside)


def among(content: Mapping[str, Any], result: Result, matrix: huge.HugeVerdict) -> Diagnosis:
    """What is at fault in a matrix whose cells are in a file: among its worst endpoints, and healthy ones."""
    if matrix.closely is None:
        return Diagnosis((), (matrix.problem,), (), not matrix.held)
    part, judged = matrix.closely
    found = diagnose(content, part, judged)
    if not matrix.slow_lines() and not found.sentences:
        return Diagnosis((), (), (), found.from_inside)
    where = f"Looked at closely: {len(part['rows'])} of {len(result['rows'])} endpoints, the worst and healthy ones."
    slow = matrix.slow_lines()
    return Diagnosis(found.findings, (*found.sentences, *slow, where), (), found.from_inside)


def layout_of(content: Mapping[str, Any], result: Result) -> tuple[Layout, Names]:
    """Where the endpoints are, as the record says."""
    devices = {device["label"]: device for device in content.get("devices", [])}
    nodes = list(dict.fromkeys(device["node"] for device in devices.values()))
    nics = list(
        dict.fromkeys(f"{device['nics'][0]} of {device['node']}" for device in devices.values() if device["nics"])
    )
    rows, columns = result["rows"], result["columns"]
    of_nodes = set(rows) <= set(nodes) - set(devices)  # a matrix of the nodes themselves
    of_node: dict[str, int] = {}
    rails = {}
    for label, device in devices.items():
        rails[label] = of_node[device["node"]] = of_node.get(device["node"], -1) + 1

    def indices(labels: Sequence[str], index: Any) -> np.ndarray:
        return np.array([index(devices[label]) if label in devices else -1 for label in labels], dtype=int)

    def places(labels: Sequence[str]) -> np.ndarray:
        if of_nodes:
            return np.array([nodes.index(label) for label in labels], dtype=int)
        return indices(labels, lambda device: nodes.index(device["node"]))

    def nic(device: Mapping[str, Any]) -> int:
        return nics.index(f"{device['nics'][0]} of {device['node']}") if device["nics"] else -1

    codes, words = grids.codes(result["link_class"])
    applies = ~grids.where(result["status"], "not-applicable")
    used = dict.fromkeys(codes[applies].tolist())
    number = np.full(len(words) + 1, -1)
    number[list(used)] = np.arange(len(used))
    classes = [words[code] or UNKNOWN for code in used]
    index = number[codes]
    layout = Layout(
        np.where(applies, index, -1),
        *(places(labels) for labels in (rows, columns)),
        *(indices(labels, nic) for labels in (rows, columns)),
        *(indices(labels, lambda device: rails[device["label"]]) for labels in (rows, columns)),
        square=rows == columns,
        both_ways=result["metric"] == "bidirectional",
        of_nodes=of_nodes,
    )
    return layout, Names(rows, columns, nodes, nics, classes)


def values_of(result: Result) -> np.ndarray:
    """Rows × columns, NaN where nothing was measured."""
    return np.where(grids.where(result["status"], "ok"), grids.numbers(result["values"]), np.nan)


def from_references(result: Result, matrix: MatrixVerdict, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(deviation, sigma, limit) of each cell, with its own reference; a cell without one does not count."""
    values = values_of(result)
    bandwidth = result["unit"] != "us"
    cells = max(int((layout.classes >= 0).sum()), 1)
    found = large.expected_grid(result, matrix)
    expected, low, high = found if found is not None else (np.full(values.shape, np.nan),) * 3
    with np.errstate(invalid="ignore"):
        limit = 1 - low / expected if bandwidth else high / expected - 1
    limit = np.where(np.isfinite(expected), np.minimum(np.nan_to_num(np.abs(limit), posinf=0.99), 0.99), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.log(values / expected)
    # as a lower tolerance of 2 % is log(0.98), and what `locate` adds is log(1 + limit)
    limit = 1 / (1 - limit) - 1 if bandwidth else limit
    return deviation, np.nan_to_num(limit, nan=1.0) / noise.sigmas(cells), limit


def from_class(result: Result, matrix: MatrixVerdict, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(deviation, sigma, limit) of each cell, with the upper part of its link class."""
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(values_of(result))
    sign = -1.0 if result["unit"] == "us" else 1.0
    floor = min(floor_of(result["testcase"], result["unit"]))
    deviation, sigma, limit = noise.against_class(sign * logs, layout.classes, floor)
    return sign * deviation, sigma, limit


def subject_name(kind: str, subject: Subject, names: Names) -> str:
    """ "gpu3", "gpu2->gpu5 and gpu5->gpu2", "nodes n17 and n18", "NV18"."""
    if isinstance(subject, tuple):
        a, b = subject
        if kind == "node_pair":
            return f"nodes {names.nodes[a]} and {names.nodes[b]}"
        if kind == "link":
            return f"{names.rows[a]}->{names.columns[b]} and {names.rows[b]}->{names.columns[a]}"
        return f"{names.rows[a]}->{names.columns[b]}"
    if kind in ("node", "inside", "node_egress", "node_ingress"):
        return names.nodes[subject]
    if kind.startswith("nic"):
        return names.nics[subject]
    if kind == "class":
        return names.classes[subject]
    if kind == "rail":
        return str(subject)
    return names.columns[subject] if kind.endswith("ingress") else names.rows[subject]


def sentence(one: Finding, names: Names, content: Mapping[str, Any], result: Result) -> str:
    """ "gpu3 sends 11.0 % slower to every peer, receives fine (7 of 7 cells): suspect its egress"."""
    who = subject_name(one.kind, one.subject, names)
    head, tail, suspect = WORDS[one.kind]
    percent = 100 * abs(one.shift if result["unit"] != "us" else 1 / (1 + one.shift) - 1)
    amount = f"{percent:.1f} % {'slow' if result['unit'] != 'us' else 'longer than they should be'}"
    text = f"{head.format(who=who)} {amount}{tail}"
    text += f" ({one.agreeing} of {explain.counted(one.cells, 'cell')}): {suspect}"
    if result["metric"] == "bidirectional" and one.kind == "device":
        text += "; sums of both directions cannot tell its egress from its ingress: measure one way"
    if one.alike:
        others = "; ".join(
            f"{WORDS[kind][2].removeprefix('suspect ')}: {subject_name(kind, subject, names)}"
            for kind, subject in one.alike[:3]
        )
        text += f". Or, with the same cells: {others}. To tell: {experiment(one)}"
    risen = [line for line in record.risen_counters(content) if line.split(":")[0] in who.replace("->", " ").split()]
    return text + (f". Evidence: {'; '.join(risen[:3])}" if risen else "")


def experiment(one: Finding) -> str:
    """What would settle an ambiguity."""
    kinds = {one.kind, *(kind for kind, _ in one.alike)}
    return next((text for wanted, text in EXPERIMENTS if wanted <= kinds), "measure with more endpoints")


def effects(deviation: np.ndarray, names: Names, unit: str) -> Iterator[str]:
    """Rows and columns that are off as a whole: medians, whatever single cells do."""
    if min(deviation.shape) < 2 or not np.isfinite(deviation).any():
        return
    _, rows, columns = polish(deviation)
    for word, labels, found in (("row", names.rows, rows), ("column", names.columns, columns)):
        order = [index for index in np.argsort(found) if found[index] <= math.log1p(-LEAST_EFFECT)]
        told = [f"{labels[index]} {100 * math.expm1(found[index]):.1f} %" for index in order[:MOST_EFFECTS]]
        if told:
            what = "speed" if unit == "us" else "bandwidth"
            more = f" and {len(order) - len(told)} more" if len(order) > len(told) else ""
            yield f"{word} effects by median polish ({what}): {', '.join(told)}{more}"
