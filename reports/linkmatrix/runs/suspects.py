"""Which devices and nodes are suspect: blamed in a stored run, and not yet cleared by enough clean runs since.

The stored runs are read and judged again each time, so a corrected reference corrects this too. `linkmatrix run` keeps
what it found in each report, for as long as references and program stay the same: no suspect vanishes behind reports of
other nodes.

A run blames a device where references say FAIL and the device, its links, its NIC or its node explains it, where what
arrived there was wrong, or where its own counters failed the test; an adapter as `over_adapters` says. A run is clean
for a device where its cells that have references are there and none failed; a cell that is missing neither blames nor
clears. One without a value in all of its cells, or most, is blamed for that; where it has a row or a cell alone, as
beside host memory, if all cells of the others have one; nobody is where the job had to make room for another one. What
all share, a rail or a link class, is no device's. In a matrix of nodes a node is blamed like a device: one that sends
or receives slow with every other, never for a single pair, whose path is as likely.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..judge.crashes import device_errors
from ..judge.verdicts import Verdict
from ..locate import diagnosis, matchings
from ..locate.families import SHARED, Layout, part_of
from ..locate.hypotheses import Finding
from ..locate.places import layout_of
from ..record.checking import is_of_matchings
from ..record.matrix import Matrix, has_status
from ..references.tables import References
from . import judging, over_adapters, parts
from .judging import Judged
from .notes import Note
from .parts import Sighting
from .stored import Run, measurements
from .suspicion import Device, Found, Suspect, dated, left_by

MOST_CELLS = 10_000  # whose ends are named
BOTH_WAYS = (
    "device",
    "links",
    "network",
    "nic",
    "nics",
    "switch",
    "socket",
    "node",
)  # findings that are dead where none of their cells has a value
PARTS = ("nic", "nics", "switch", "socket", "node")  # findings about these blame the endpoints that are of them
OF_A_NODE = ("node", "node_egress", "node_ingress")  # findings that are about one node


def suspects(
    runs: Iterable[Run], references: References, name: str | None, clean_runs: int, notes: Sequence[Note] = ()
) -> list[Suspect]:
    """Those that the runs leave under suspicion, the longest first; `name`: table of references, None: each its own.

    notes: repairs and swaps that were written down.
    """
    return left_by((found_in(run, references, name) for run in runs), clean_runs, notes)


def found_in(run: Run, references: References, name: str | None) -> Found:
    """What a run says of its devices."""
    records = [test.record for test in run.tests if test.record]
    keys = ((key, record["asked_by"]) for record in records for key in measurements(record))
    measured = frozenset(hashlib.sha256(repr(key).encode()).hexdigest()[:32] for key in keys)
    blamed, clean, seen = of_run(judging.judge_all(run, references, name))
    when = started(run)
    if run.path.is_file():
        when, clean = dated(when, clean, run.path.stat().st_mtime)
    return Found(when, blamed, clean, seen, measured)


def started(run: Run) -> str:
    """When a run began, by ReFrame's clock; without a report by those of the nodes; "" where it has no record."""
    return run.started or min((test.record["started"] for test in run.tests if test.record), default="")


def of_run(judged: Iterable[Judged]) -> tuple[dict[Device, str], set[Device], dict[Device, Sighting]]:
    """(blamed devices with the reason, clean devices, where all devices and adapters are) of a run."""
    blamed: dict[Device, str] = {}
    clean: set[Device] = set()
    spoiled: set[Device] = set()
    seen: dict[Device, Sighting] = {}
    for one in judged:
        record = one.test.record
        if record is None:
            continue
        adapters = over_adapters.known_in(record)
        devices = adapters | endpoints(record)
        seen |= dict(devices.values())
        for label, reason in blamed_in(one, record, adapters):
            if label in devices:
                blamed.setdefault(devices[label][0], reason)
        for result, matrix in one.matrices:
            for good, bad in (matrix.clean_labels(), over_adapters.judged_over(record, result, matrix)):
                clean |= {devices[label][0] for label in good & devices.keys() if not one.test.doubts}
                spoiled |= {devices[label][0] for label in bad & devices.keys()}
    return blamed, clean - spoiled - blamed.keys(), seen


def endpoints(record: Mapping[str, Any]) -> dict[str, tuple[Device, Sighting]]:
    """{endpoint of the record's matrices: (device, sighting)}, and of its matrices of nodes {node: itself}."""
    found = {
        label: ((one.node, one.uuid or one.serial or one.label), one) for label, one in parts.of_devices(record).items()
    }
    nodes = {device["node"] for device in record["devices"]} - found.keys()
    named = {label for result in record["results"] for label in result["rows"]} & nodes
    return found | {node: ((node, node), Sighting(node, node, kind=parts.NODE)) for node in named}


def blamed_in(one: Judged, record: Mapping[str, Any], adapters: over_adapters.Known) -> Iterator[tuple[str, str]]:
    """(label, reason) of each device that a test blames, and of each of the adapters."""
    if one.test.result and not one.test.as_expected:
        for sentence in device_errors(record):
            yield sentence.partition(": ")[0], sentence
    for result, matrix in one.matrices:
        failed = matrix.counts[Verdict.FAIL] > 0
        # where the job had to make room, the cell that was measured then has no value either, and is nobody's fault
        tried = not one.test.unmeasured and any(has_status(result, word) for word in diagnosis.TRIED)
        if not failed and not tried:
            continue
        where = f"{result['testcase']}: "
        if is_of_matchings(result):
            told = matchings.blamed(result, matrix) if failed else []
            told += dead(matrix.matrix) if tried and matrix.whole is not None else []
            yield from ((label, where + sentence) for label, sentence in told)
            continue
        found, matrix = diagnosis.diagnose(record, result, matrix), matrix.closely
        if matrix.whole is None:
            continue
        rows, columns = matrix.matrix.rows, matrix.matrix.columns
        layout, names = layout_of(record, result, matrix.matrix)
        # the sentences of a diagnosis begin with one for each finding
        yield from ((label, where + sentence) for label, sentence in (dead(matrix.matrix) if tried else ()))
        for finding, sentence in zip(found.findings, found.sentences, strict=False):
            passes = finding.once or finding.allowed or not failed
            if not (tried and finding.kind in BOTH_WAYS) if finding.missing else passes:
                continue  # not dead, as it still sends or receives; slow once, or by others; or nothing of it failed
            adapter, or_device = over_adapters.blamed(finding, names, adapters)
            labels = ends(finding, layout, matrix.matrix) if or_device or not adapter else []
            yield from ((label, where + sentence) for label in [*([adapter] if adapter else []), *labels])
        wrong = set(zip(*np.nonzero(matrix.whole.block.is_status("corrupt")), strict=True))
        codes = matrix.whole.codes
        told = layout.of_nodes or any(not finding.missing and not finding.allowed for finding in found.findings)
        unexplained = set() if told else set(zip(*np.nonzero(codes == Verdict.FAIL), strict=True))
        for r, c in sorted(wrong | unexplained)[:MOST_CELLS]:
            pair = (rows[r], columns[c])
            yield from ((label, where + matrix.cells[pair].reason) for label in pair)


def dead(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """(endpoint, sentence) of those without a value in any of their cells, where all cells between others have one."""
    block = matrix.whole
    applies, lacking = block.applies, block.is_status(*diagnosis.LACKING)
    cells: dict[str, np.ndarray] = {}  # of an endpoint: those that apply, lack a value, and were tried
    kinds = (applies, lacking & applies, block.is_status(*diagnosis.TRIED))
    for labels, axis in ((matrix.rows, 1), (matrix.columns, 0)):
        for label, counts in zip(labels, np.stack([kind.sum(axis=axis) for kind in kinds], axis=1), strict=True):
            cells[label] = cells.get(label, 0) + counts
    found = {label: count for label, (count, gone, tried) in cells.items() if count and gone == count and tried}
    others = [np.array([label not in found for label in labels]) for labels in (matrix.rows, matrix.columns)]
    rest = applies & others[0][:, None] & others[1][None, :]
    if not found or not rest.any() or (rest & ~block.is_status("ok", "no-peer-access")).any():
        return
    for label, count in found.items():
        none = f"none of the {count} cells of {label} has a value" if count > 1 else f"the cell of {label} has no value"
        yield label, f"{none}, and those of all others have one: suspect it"


def ends(finding: Finding, layout: Layout, matrix: Matrix) -> list[str]:
    """The endpoints that a finding is about; none where all share what is at fault, or it may be the path of nodes."""
    kind, subject = finding.kind, finding.subject
    rows, columns = matrix.rows, matrix.columns
    if kind in SHARED:
        return []
    if layout.of_nodes and (kind not in OF_A_NODE or finding.alike):
        return []
    if kind in ("link", "cell"):
        assert isinstance(subject, tuple)
        return [rows[subject[0]], columns[subject[1]]]
    if part_of(kind) in PARTS:
        of_rows, of_columns = layout.places(kind)
        wanted = subject if isinstance(subject, tuple) else (subject,)
        named = [rows[at] for at in np.flatnonzero(np.isin(of_rows, wanted))]
        named += [columns[at] for at in np.flatnonzero(np.isin(of_columns, wanted))]
        return list(dict.fromkeys(named))
    assert isinstance(subject, int)
    return [(columns if kind.endswith("ingress") else rows)[subject]]
