"""The diagnosis of a matrix: the component at fault, as findings and sentences.

With references, each cell is compared with its own reference, and σ follows from its tolerance. Without references, a
cell is compared with the upper part of its link class. This finds a slow component among healthy ones, but not a class
that is slow as a whole, so the verdict stays NOT JUDGED.

Functions import the modules that only a matrix with slow or missing cells needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judge.rules import ORDER
from ..judge.run_findings import order_sentences
from ..judge.verdicts import Verdict
from ..record import units
from ..record.checking import has_matchings
from ..record.names import HANDOVER, Result, is_collective
from . import deviations
from .deviations import Deviations, classes_of, effects, from_inside, from_references, remeasured_deviations

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from .experiments import Experiment
    from .hypotheses import Finding
    from .layout import Layout, Names
    from .next_steps import Origin
    from .shared_bottleneck import Bottleneck, Sharing

MOST_DISTURBED = 4  # maximum number of sentences about other processes
TRIED = ("timeout", "error")
LACKING = (*TRIED, "not-run")
GONE_SIGMA, GONE_LIMIT = 0.01, 0.02  # stand-ins for the σ and the limit of missing values, which have no noise
INSIDE = "compared with its link class: "  # before the sentence of a finding without references
NEXT = "next: "  # prefix of the command of the next experiment
OTHERWISE = ("corrupt", "impossible", "intermittent")  # rules by which a cell fails without being slow


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a matrix.

    sentences: one per finding, in the order of the findings, then further sentences. effects: rows and columns that
    deviate as a whole.
    from_inside: whether cells were compared with each other, because there are no references.
    confidence: per finding, the evidence for and against it, other explanations, and the next experiment.
    who, verdicts: per finding, the name of its component, and the worst verdict of its cells.
    """

    findings: tuple[Finding, ...]
    sentences: tuple[str, ...]
    effects: tuple[str, ...]
    from_inside: bool
    confidence: tuple[tuple[str, ...], ...] = ()
    who: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def marked_sentences(self) -> list[str]:
        """The sentences; without references, those of findings begin with INSIDE."""
        inside = INSIDE if self.from_inside else ""
        return [f"{inside if at < len(self.findings) else ''}{text}" for at, text in enumerate(self.sentences)]


def diagnose(
    content: Mapping[str, Any], result: Result, matrix: MatrixVerdict, part: bool = False, origin: Origin | None = None
) -> Diagnosis:
    """The diagnosis of a matrix of the checked record `content`.

    part: whether the matrix is a part of a larger matrix. origin: the test that left the record, for the commands; None
    for a record alone.
    """
    if matrix.problem:
        return Diagnosis((), (matrix.problem,), (), not matrix.compared)
    if is_collective(result):  # a collective shows no single component
        return Diagnosis((), (), (), False)
    if result["quantity"] == HANDOVER:  # a visibility test has no reference time
        return Diagnosis((), tuple(order_sentences(result)), (), False)
    if has_matchings(result):
        return of_matchings(content, result, matrix)
    if matrix.subset is not matrix:
        return diagnose_subset(content, result, matrix, origin)
    found = searched(content, result, matrix)
    undisturbed = ~matrix.whole.disturbed if matrix.whole is not None else True
    lacking = matrix.matrix.whole.is_status(*LACKING) & undisturbed
    if found.findings or found.shared or found.at_once or found.drift or lacking.any():
        return explained(content, result, matrix, found, lacking, part, origin)
    told_effects = effects(found.seen.deviation, matrix.matrix.rows, matrix.matrix.columns, result["unit"])
    return Diagnosis((), tuple(further_sentences(found, result, matrix)), tuple(told_effects), not matrix.compared)


def explained(
    content: Mapping[str, Any],
    result: Result,
    matrix: MatrixVerdict,
    found: Searched,
    lacking: np.ndarray,
    part: bool,
    origin: Origin | None,
) -> Diagnosis:
    """The sentences, the confidence and the next experiments of what a search found.

    lacking: True for undisturbed cells without a value. The other arguments are those of `diagnose`.
    """
    from . import confidence, node_causes, shared_bottleneck
    from .experiments import next_experiment
    from .layout import layout_of
    from .lost_endpoints import Lost
    from .sentences import missing_sentence, sentence, subject_name

    layout, names = found.layout or layout_of(content, result, matrix.matrix)
    drift = node_causes.time_drift(found.seen.deviation, result) if found.findings and not part else 0.0
    found = replace(found, findings=node_causes.with_node_causes(found.findings, matrix.matrix, content, result, drift))
    seen = replace(found.seen, part=part or found.shared is not None)  # next to a bottleneck, findings lack cells
    told = [sentence(one, names, content, result, seen, layout) for one in found.findings]
    lost = Lost.of(content, matrix.matrix, lacking)
    gone = lost.leaves(findings_without_value(matrix.matrix, layout, lost.lacking), layout)
    # the first sentences are those of the findings, in their order
    told += [lost.of_finding(one) or missing_sentence(one, names, content, matrix.matrix, layout) for one in gone]
    told += shared_bottleneck.alike_nodes(found.findings, seen.deviation, layout, names)
    if found.at_once:
        told += shared_bottleneck.sharing_sentences(found.at_once, names.parts["leaf"])
    told += lost.sentences(gone)
    if found.shared:
        told.append(shared_bottleneck.sentence(found.shared, names, result["unit"], "leaf" in names.parts))
    told += [node_causes.drift_sentence(drift)] if drift else []
    told += [found.drift] if found.drift else []
    told += further_sentences(found, result, matrix)
    every = (*found.findings, *gone)
    experiments = (next_experiment(one, names, layout, content, result, origin) for one in every)
    sure = tuple(
        (*confidence.lines(one, names, seen, layout), *next_line(experiment))
        for one, experiment in zip(every, experiments, strict=True)
    )
    told_effects = () if found.drift else tuple(effects(seen.deviation, names.rows, names.columns, result["unit"]))
    who = tuple(subject_name(one.kind, one.subject, names) for one in every)
    verdicts = tuple(lost.verdict(one, verdict_of(one, matrix, layout)) for one in every)
    return Diagnosis(every, tuple(told), told_effects, not matrix.compared, sure, who, verdicts)


def of_matchings(content: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Diagnosis:
    """The diagnosis of a sampled matrix, in which a few cells of each endpoint were measured."""
    from . import matchings

    found, rest = matchings.fault_sentences(result, matrix)
    rest += [one for one in matrix.disturbed_sentences() if one not in rest][:MOST_DISTURBED]
    of_nodes = not {device["label"] for device in content.get("devices", [])} & set(matrix.matrix.rows)
    told = (*(text for _, text in found), *rest)
    findings = tuple(matchings.finding(one, of_nodes) for one, _ in found)
    who = tuple(matrix.matrix.rows[one.endpoint] for one, _ in found)
    verdicts = tuple(verdict_of_endpoint(one, matrix) for one in findings)
    return Diagnosis(findings, told, (), not matrix.compared, who=who, verdicts=verdicts)


@dataclass(frozen=True)
class Searched:
    """The result of a search.

    left: number of slow cells that no finding explains.
    seen: the deviations.
    shared: the bottleneck between groups of nodes.
    at_once: the speeds between leaf switches while all nodes send.
    drift: the sentence about a drift, "" for none.
    layout: the layout and the names of its components; None if no cell is slow.
    """

    findings: list[Finding]
    left: int
    seen: Deviations
    shared: Bottleneck | None
    at_once: Sharing | None
    drift: str = ""
    layout: tuple[Layout, Names] | None = None


def searched(content: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Searched:
    """Searches the component at fault in a matrix in memory, by references or without."""
    inside, whole = not matrix.compared, matrix.whole
    assert whole is not None
    classes, names = classes_of(matrix.matrix)
    seen = from_inside(content, result, whole.observed, classes, names) if inside else from_references(matrix, classes)
    seen = replace(seen, impossible=whole.rules == ORDER["impossible"])
    if not (seen.has_slow_cell or content.get("imported") or knows_leaf_switches(content)):
        return Searched([], 0, seen, None, None)
    from .hypotheses import search
    from .layout import layout_of

    layout, layout_names = layout_of(content, result, matrix.matrix)
    in_order = None
    if content.get("imported"):
        from .node_causes import order_drift

        in_order = order_drift(content, result, seen.deviation)
    seen = replace(seen, deviation=in_order.rest) if in_order else seen
    before, by_itself = (
        remeasured_deviations(seen.deviation, result, matrix.matrix, when) for when in ("before", "after")
    )
    seen = replace(seen, before=before)
    again = by_itself
    at_once = None
    if "leaf" in layout.parts:
        from . import shared_bottleneck

        at_once = shared_bottleneck.uplink_sharing(seen.deviation, layout, result, again)
    if at_once and at_once.is_oversubscribed:
        seen = replace(seen, deviation=at_once.without(seen.deviation))
        again = None  # measured alone, cells share no uplink
    seen = seen if inside else deviations.with_joint_limits(content, result, seen, names)
    narrow, open_cells = [], seen.deviation
    if at_once:
        with np.errstate(invalid="ignore", divide="ignore"):
            reached = np.log(whole.observed) * (-1.0 if result["unit"] == "us" else 1.0)
        narrow, cells = shared_bottleneck.narrow_uplinks(at_once, seen, layout, reached, by_itself)
        open_cells = np.where(cells, np.nan, open_cells)
    findings, left = search(open_cells, seen.sigma, seen.limit, layout, again, seen.joint_limit, seen.before)
    findings = [*narrow, *(one for one in findings if not inside or one.kind != "class")]
    shared, findings, left = without_shared(findings, left, seen, layout, again, inside)
    if at_once:
        findings = shared_bottleneck.without_uplink_links(findings, layout)
    told_drift = in_order.sentence if in_order else ""
    return Searched(findings, left, seen, shared, at_once, told_drift, (layout, layout_names))


def knows_leaf_switches(content: Mapping[str, Any]) -> bool:
    """Whether a record contains the leaf switch of a device: its uplinks are then examined too."""
    return any(device.get("place", {}).get("leaf") for device in content.get("devices", ()))


def further_sentences(found: Searched, result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """Sentences outside the findings: unexplained slow cells, other processes, and throttled devices."""
    if found.left:
        yield f"and {units.counted(found.left, 'more slow cell')} that no finding explains"
    yield from matrix.disturbed_sentences()[:MOST_DISTURBED]
    throttled = result.get("throttled") or []
    if throttled and (found.findings or matrix.compared):
        yield f"devices were throttled during the measurement: {'; '.join(units.first(throttled, 3))}"


def next_line(experiment: Experiment | None) -> Iterator[str]:
    """ "next: p2p_matrix …  # measure the same again, alone"."""
    if experiment:
        yield f"{NEXT}{experiment.command}  # {experiment.tells}"


def findings_without_value(matrix: Matrix, layout: Layout, lacking: np.ndarray) -> list[Finding]:
    """The findings about cells without a value; [] if no cell was tried, or if the matrix has no value at all.

    A single cell is no finding, because it has its own line. lacking: True for undisturbed cells without a value.
    """
    from .families import SHARED, members, named_family
    from .hypotheses import search

    block = matrix.whole
    tried = block.is_status(*TRIED) & lacking
    if not tried.any() or lacking.sum() == block.applies.sum():
        return []
    shape = lacking.shape
    gone = np.where(block.applies, np.where(lacking, -1.0, 0.0), np.nan)
    found, _ = search(gone, np.full(shape, GONE_SIGMA), np.full(shape, GONE_LIMIT), layout)
    kept = []
    for one in found:
        family, group = named_family(layout, one.kind, one.subject)
        can_be_lost = one.kind not in (*SHARED, "inside") and one.cells > 1  # shared components cannot
        if can_be_lost and (members(family, group).reshape(shape) & tried).any():
            kept.append(replace(one, missing=True))
    return kept


def without_shared(
    found: list[Finding], left: int, seen: Deviations, layout: Layout, again: np.ndarray | None, inside: bool
) -> tuple[Bottleneck | None, list[Finding], int]:
    """(bottleneck between groups of nodes, findings next to it, number of unexplained slow cells).

    found, left: the result of `search` without a bottleneck. again: see `search`. inside: whether there are no
    references.
    """
    if len(found) < 2:
        return None, found, left
    from .hypotheses import search
    from .shared_bottleneck import bottleneck

    shared = bottleneck(found, seen.deviation, seen.limit, layout, again)
    if shared is None:
        return None, found, left
    rest = np.where(shared.between, np.nan, seen.deviation)
    others, left = search(rest, seen.sigma, seen.limit, layout, again, seen.joint_limit, seen.before)
    return shared, [one for one in others if not inside or one.kind != "class"], left


def of_values(content: Mapping[str, Any], result: Result, matrix: Matrix, values: np.ndarray) -> list[str]:
    """Sentences about the slow components if a matrix of the record `content` had these values, without references."""
    from .hypotheses import search
    from .layout import layout_of
    from .sentences import sentence

    layout, names = layout_of(content, result, matrix)
    seen = from_inside(content, result, values, layout.classes, names.classes)
    found, _ = search(seen.deviation, seen.sigma, seen.limit, layout)
    return [sentence(one, names, content, result, seen, layout) for one in found if one.kind != "class"]


def diagnose_subset(
    content: Mapping[str, Any], result: Result, matrix: MatrixVerdict, origin: Origin | None
) -> Diagnosis:
    """The diagnosis of a matrix that does not fit into memory, from its worst endpoints and some healthy endpoints."""
    found = diagnose(content, result, matrix.subset, True, origin)
    if not matrix.slow_lines() and not found.sentences:
        return Diagnosis((), (), (), found.from_inside)
    looked_at, count = len(matrix.subset.matrix.rows), len(matrix.matrix.rows)
    where = f"Examined: {looked_at} of {count} endpoints, the worst and some healthy endpoints."
    slow = matrix.slow_lines()
    told = (*found.sentences, *slow, where)
    return Diagnosis(found.findings, told, (), found.from_inside, found.confidence, found.who, found.verdicts)


def verdict_of(finding: Finding, matrix: MatrixVerdict, layout: Layout) -> Verdict:
    """The verdict of a finding in a matrix in memory."""
    from .families import members, named_family

    family, group = named_family(layout, finding.kind, finding.subject)
    return worst_of(finding, members(family, group).reshape(layout.classes.shape), matrix)


def verdict_of_endpoint(finding: Finding, matrix: MatrixVerdict) -> Verdict:
    """The verdict of a finding of a sampled matrix: of the cells that the endpoint sends, receives, or both."""
    cells = np.zeros((len(matrix.matrix.rows), len(matrix.matrix.columns)), dtype=bool)
    if not finding.kind.endswith("ingress"):
        cells[finding.subject, :] = True
    if not finding.kind.endswith("egress"):
        cells[:, finding.subject] = True
    return worst_of(finding, cells, matrix)


def worst_of(finding: Finding, cells: np.ndarray, matrix: MatrixVerdict) -> Verdict:
    """The worst verdict of those cells that show the finding: slow cells, or cells without a value."""
    if finding.allowed:
        return Verdict.WARN
    whole = matrix.whole
    if whole is None:
        return matrix.verdict
    has_value = np.isfinite(whole.observed) & ~np.isin(whole.rules, [ORDER[rule] for rule in OTHERWISE])
    own = cells & (whole.block.applies & ~np.isfinite(whole.block.measured) if finding.missing else has_value)
    least = Verdict.WARN if matrix.compared else Verdict.NOT_JUDGED
    return Verdict(int(whole.codes[own].max(initial=least)))
