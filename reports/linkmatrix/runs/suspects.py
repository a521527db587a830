"""The components and nodes that a run flags, and the scopes for which the components are clean.

The flags follow from the stored verdicts. A run without stored verdicts, or with another table of references, is judged
when the run is read. The index stores the flags of each report.

A flag belongs to a component and a scope (see `scopes`). A run flags a device for each of these:

- Cells FAIL, and the device, its links, its adapter or its node explains these cells.
- Wrong data arrived, or an error counter of the device rose.
- The device was lost, or computed wrong bits.

A run flags a node if the node sends or receives slowly with every other node. A single slow pair flags no node, because
the path between the two nodes may be at fault.

These results cause no flags:

- cells without a value, and DISTURBED cells
- findings about rails and link classes, because several components share them
- simulated faults
- imported records, because their programs did not look for other processes

A component is clean for a scope if its cells of the link class are PASS or WARN. In these cases, the component is never
clean:

- The test case is DISTURBED or INCOMPLETE.
- Another process disturbed the node of the component.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..judge import rules
from ..judge.disturbances import detects_no_processes
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..locate import diagnosis, matchings
from ..locate.families import SHARED
from ..locate.hypotheses import Finding
from ..locate.layout import Layout, layout_of, part_of
from ..record import grids
from ..record.checking import has_matchings
from ..record.matrix import Matrix
from ..record.names import Result, simulated_fault
from ..references.tables import References
from . import judging, scopes
from .components import Device, Sighting, endpoint_sightings
from .judging import Judged
from .notes import Note
from .scopes import Scope
from .stored import Run, measurements
from .suspicion import Clean, Flagged, RunFlags, Suspect, plausible_start, remaining_suspects

MOST_CELLS = 10_000  # failed cells that flag their endpoints
RANK = re.compile(r"[\w.-]+:rank\d+")  # label of a rank: its node, and its number in the job
COMPUTES_WRONG, SOAK = "computes wrong", Scope("soak")  # topic of a fact, and its scope
PARTS = ("nic", "nics", "switch", "socket", "node")  # a finding about such a component flags its endpoints
NODE_KINDS = ("node", "node_egress", "node_ingress", "tray")  # kinds of findings about one node


class CellsFlag(NamedTuple):
    """A flag that follows from cells. label: an endpoint or adapter. classes: the link classes of the cells."""

    label: str
    classes: set[str]
    reason: str
    intermittent: bool = False


def suspects(
    runs: Iterable[Run], references: References, name: str | None, clean_runs: int, notes: Sequence[Note] = ()
) -> list[Suspect]:
    """The components that are flagged after all runs, the oldest flag first.

    * name: a table of references; None for the table of each partition
    * clean_runs: the number of clean runs that remove a flag
    * notes: notes of users, such as repairs
    """
    return remaining_suspects((flags_in_run(run, references, name) for run in runs), clean_runs, notes)


def flags_in_run(run: Run, references: References, name: str | None) -> RunFlags:
    """Returns the flags and clean scopes of a run."""
    records = [test.record for test in run.tests if test.record]
    keys = ((key, record["asked_by"]) for record in records for key in measurements(record))
    measured = frozenset(hashlib.sha256(repr(key).encode()).hexdigest()[:32] for key in keys)
    judging.refuse_unknown(references, name)
    # one test at a time, because the matrices of 30 tests of 1,024 endpoints need 2.4 GB
    flagged, clean, seen = run_flags(judging.judge(test, references, name) for test in run.tests)
    when = start_time(run)
    if run.path.is_file():
        when, clean = plausible_start(when, clean, run.path.stat().st_mtime)
    return RunFlags(when, flagged, clean, seen, measured)


def start_time(run: Run) -> str:
    """The start of a run by ReFrame's clock. Without a report: by the clocks of the nodes. Without a record: ""."""
    return run.started or min((test.record["started"] for test in run.tests if test.record), default="")


def run_flags(judged: Iterable[Judged]) -> tuple[Flagged, Clean, dict[Device, Sighting]]:
    """Returns (flags, clean scopes, {device or adapter: its sighting}) of the tests of a run."""
    flagged: Flagged = {}
    clean: Clean = {}
    bad: Clean = {}
    seen: dict[Device, Sighting] = {}
    for one in judged:
        record = one.test.record
        if record is None or simulated_fault(record):
            continue
        adapters = scopes.named_adapters(record)
        devices = adapters | endpoint_sightings(record)
        seen |= dict(devices.values())
        known_as = {label: f"{at.node}:{at.label}" for label, (_, at) in devices.items() if RANK.search(str(label))}
        for label, scope, reason in test_flags(one, record, adapters):
            if label in devices:
                flagged.setdefault(devices[label][0], {}).setdefault(scope, with_node_ranks(reason, known_as))
        for label in healthy_in_soak(one, record) & devices.keys():
            clean.setdefault(devices[label][0], set()).add(SOAK)
        for result, matrix in one.matrices:
            good, spoiled = judged_scopes(one, record, result, matrix)
            for label_scopes, found in ((good, clean), (spoiled, bad)):
                for label in label_scopes.keys() & devices.keys():
                    found.setdefault(devices[label][0], set()).update(label_scopes[label])
    left = {device: found - bad.get(device, set()) - flagged.get(device, {}).keys() for device, found in clean.items()}
    return flagged, {device: found for device, found in left.items() if found}, seen


def with_node_ranks(text: str, known_as: Mapping[str, str]) -> str:
    """Replaces the labels of ranks in a text by labels with the rank number inside the node.

    The rank number in the job differs from job to job. known_as: {label of a rank: label with the number inside its
    node}.
    """
    return RANK.sub(lambda found: known_as.get(found[0], found[0]), text) if known_as else text


def judged_scopes(
    judged: Judged, record: Mapping[str, Any], result: Result, matrix: MatrixVerdict
) -> tuple[dict[str, set[Scope]], dict[str, set[Scope]]]:
    """Returns ({endpoint or adapter: its clean scopes}, {endpoint or adapter: its scopes that are not clean})."""
    testcase, path = result["testcase"], scopes.result_path(record, result, judged.test.variant)
    found: tuple[dict[str, set[Scope]], dict[str, set[Scope]]] = ({}, {})
    for each in (scopes.endpoint_classes(matrix), scopes.adapter_classes(record, result, matrix)):
        for label_scopes, classes in zip(found, each, strict=True):
            for label, names in classes.items():
                label_scopes.setdefault(label, set()).update(Scope(testcase, name, path) for name in names)
    good, bad = found
    if grids.short_sample_array(result) is not None:
        for each in (*good.values(), *bad.values()):
            each |= set(map(scopes.short_sample_scope, each))
    verdict = judged.matrix_verdict(matrix)
    if judged.test.doubts or verdict in scopes.UNDECIDED:
        return {}, bad
    disturbed = scopes.disturbed_nodes(record, result)
    devices = scopes.named_adapters(record) | endpoint_sightings(record) if disturbed else {}
    good = {label: of for label, of in good.items() if label not in devices or devices[label][0][0] not in disturbed}
    if verdict in scopes.CLEAN:
        good = {label: of | {Scope(testcase)} for label, of in good.items()}
    return good, bad


def healthy_in_soak(judged: Judged, record: Mapping[str, Any]) -> set[str]:
    """The labels of the devices that a soak heated; an empty set if the test is not clean."""
    soak = record.get("soak")
    if soak is None or judged.test.doubts or judged.verdict not in scopes.CLEAN or scopes.disturbed_nodes(record, soak):
        return set()
    return {heated["label"] for heated in soak["heated"]}


def test_flags(
    judged: Judged, record: Mapping[str, Any], adapters: scopes.Adapters
) -> Iterator[tuple[str, Scope, str]]:
    """Yields (label, scope, reason) for each device or adapter that a test flags."""
    if detects_no_processes(record):
        return
    for fact in judged.facts:
        if fact.verdict is Verdict.FAIL:
            label = fact.component or fact.sentence.partition(": ")[0]
            found = [SOAK] if fact.topic == COMPUTES_WRONG else testcase_scopes(judged, record, fact.result)
            yield from ((label, scope, fact.sentence) for scope in found)
    for lost in record.get("lost", ()):
        if lost.get("kind") == "device":
            reason = f"{lost['label']} was lost: {lost['why']}"
            yield from ((lost["label"], scope, reason) for scope in testcase_scopes(judged, record, None))
    for result, matrix in judged.matrices:
        path = scopes.result_path(record, result, judged.test.variant)
        for flag in matrix_flags(judged, record, adapters, result, matrix):
            for name in sorted(flag.classes):
                scope = Scope(result["testcase"], name, path)
                scope = scopes.short_sample_scope(scope) if flag.intermittent else scope
                yield flag.label, scope, f"{result['testcase']}: {flag.reason}"


def testcase_scopes(judged: Judged, record: Mapping[str, Any], place: int | None) -> list[Scope]:
    """The scopes of whole test cases: one per test case of the record.

    place: the index of the only result to use; None to use all results.
    """
    results = record["results"] if place is None else [record["results"][place]]
    names = dict.fromkeys(result["testcase"] for result in results)
    return [Scope(name) for name in names] or [Scope(judged.test.testcase or judged.test.name)]


def matrix_flags(
    judged: Judged, record: Mapping[str, Any], adapters: scopes.Adapters, result: Result, matrix: MatrixVerdict
) -> Iterator[CellsFlag]:
    """Yields the flags of a matrix. A matrix without a FAIL has no flags."""
    if not matrix.counts[Verdict.FAIL]:
        return
    if has_matchings(result):
        every = set(matrix.matrix.classes)
        yield from (CellsFlag(label, every, sentence) for label, sentence in matchings.confirmed_faults(result, matrix))
        return
    diagnosed, matrix = diagnosis.diagnose(record, result, matrix), matrix.subset
    if matrix.whole is None:
        return
    yield from finding_flags(record, result, matrix, diagnosed, adapters)
    yield from cell_flags(record, result, matrix, diagnosed)


def finding_flags(
    record: Mapping[str, Any],
    result: Result,
    matrix: MatrixVerdict,
    diagnosed: diagnosis.Diagnosis,
    adapters: scopes.Adapters,
) -> Iterator[CellsFlag]:
    """Yields the flags of the findings that explain FAIL cells. The matrix must be in memory."""
    assert matrix.whole is not None
    fails = matrix.whole.codes == Verdict.FAIL
    classes = scopes.classes_in_mask(matrix, fails)
    layout, names = layout_of(record, result, matrix.matrix)
    # the sentences of a diagnosis begin with one for each finding
    for finding, sentence in zip(diagnosed.findings, diagnosed.sentences, strict=False):
        # no value, slow once, each of its cells passes, or the fault is the node's
        if finding.missing or finding.unconfirmed or finding.within_tolerance or finding.node_cause:
            continue
        adapter, or_device = scopes.flagged_adapter(finding, names, adapters)
        if adapter:
            over = scopes.adapter_cells(layout, finding.subject)
            yield CellsFlag(adapter, scopes.class_names(matrix, fails & over), sentence)
        for label in finding_endpoints(finding, layout, matrix.matrix) if or_device or not adapter else []:
            yield CellsFlag(label, classes.get(label, set()), sentence)


def cell_flags(
    record: Mapping[str, Any], result: Result, matrix: MatrixVerdict, diagnosed: diagnosis.Diagnosis
) -> Iterator[CellsFlag]:
    """Yields the flags of single cells. Each of these cells flags both of its endpoints.

    * Cells with wrong data always cause flags.
    * Other FAIL cells cause flags only if no finding explains the slow cells.
    """
    assert matrix.whole is not None
    rows, columns = matrix.matrix.rows, matrix.matrix.columns
    layout, _ = layout_of(record, result, matrix.matrix)
    codes, block = matrix.whole.codes, matrix.whole.block
    wrong = set(zip(*np.nonzero(block.is_status("corrupt")), strict=True))
    explained = layout.of_nodes or any(not one.missing and not one.within_tolerance for one in diagnosed.findings)
    fails = (codes == Verdict.FAIL) & ~common_cause_mask(matrix.whole)
    unexplained = set() if explained else set(zip(*np.nonzero(fails), strict=True))
    for r, c in sorted(wrong | unexplained)[:MOST_CELLS]:
        reason = matrix.cells[rows[r], columns[c]].reason
        classes = {matrix.matrix.class_names[block.classes[r, c]]}
        is_intermittent = bool(matrix.whole.rules[r, c] == rules.ORDER["intermittent"])
        yield from (CellsFlag(label, classes, reason, is_intermittent) for label in (rows[r], columns[c]))


def common_cause_mask(judged: rules.Judged) -> np.ndarray:
    """Whether each cell is intermittent with a common cause, as a mask. Without a common cause, no cell is True.

    The intermittent cells have a common cause if a fault of one device or pair cannot explain so many cells.
    """
    has_common_cause = judged.slow is not None and judged.slow.has_common_cause
    return (judged.rules == rules.ORDER["intermittent"]) & has_common_cause


def finding_endpoints(finding: Finding, layout: Layout, matrix: Matrix) -> list[str]:
    """The endpoints that a finding flags.

    The result is empty if the endpoints share the faulty component, or if the path between two nodes may be at fault.
    """
    kind, subject = finding.kind, finding.subject
    rows, columns = matrix.rows, matrix.columns
    if kind in SHARED:
        return []
    if layout.of_nodes and (kind not in NODE_KINDS or finding.equivalent):
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
