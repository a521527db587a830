"""The diagnosis of a matrix: the faulty component, as findings and sentences.

With references, each cell is compared with its reference. The noise σ of a cell follows from its tolerance. Without
references, each cell is compared with the faster cells of its link class. This comparison finds a slow component among
healthy components, but not a class that is slow as a whole. The verdict therefore stays NOT JUDGED. Modules for slow or
missing cells are imported by the functions that need them, to save time.
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
from .deviations import Deviations, class_deviations, classes_of, effects, reference_deviations, remeasured_deviations

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import Matrix
    from .hypotheses import Finding
    from .layout import Layout, Names
    from .next_steps import Origin
    from .shared_bottleneck import Bottleneck, Uplinks

MAX_DISTURBED = 4  # sentences about other processes
FAILED = ("timeout", "error")
WITHOUT_VALUE = (*FAILED, "not-run")
MISSING_SIGMA, MISSING_LIMIT = 0.01, 0.02  # σ and limit of missing values, which have no noise
INSIDE = "compared with its link class: "  # before the sentence of a finding without references
NEXT = "next: "  # prefix of the command of the next experiment
NOT_SLOW = ("corrupt", "impossible", "intermittent")  # rules of cells that are FAIL but not slow


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a matrix.

    sentences: a sentence per finding, in the order of the findings, then further sentences.
    effects: sentences about whole rows and columns that deviate.
    without_references: whether the cells were compared with their link class, because there are no references.
    confidence: for each finding, lines with the evidence, other explanations, and the next experiment.
    components: for each finding, the name of its component.
    verdicts: for each finding, the worst verdict of its cells.
    """

    findings: tuple[Finding, ...]
    sentences: tuple[str, ...]
    effects: tuple[str, ...]
    without_references: bool
    confidence: tuple[tuple[str, ...], ...] = ()
    components: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def marked_sentences(self) -> list[str]:
        """The sentences. Without references, each sentence about a finding begins with the text of INSIDE."""
        inside = INSIDE if self.without_references else ""
        return [f"{inside if at < len(self.findings) else ''}{text}" for at, text in enumerate(self.sentences)]


def diagnose(
    content: Mapping[str, Any], result: Result, matrix: MatrixVerdict, part: bool = False, origin: Origin | None = None
) -> Diagnosis:
    """The diagnosis of a matrix.

    content: the checked record. result: the entry of the record's `results`. matrix: the verdicts on the matrix.
    part: whether the matrix is a submatrix.
    origin: the ReFrame test that left the record, needed for commands; None if the test is unknown.
    """
    if matrix.problem:
        return Diagnosis((), (matrix.problem,), (), not matrix.compared)
    if is_collective(result):  # see `collective_cause`
        return Diagnosis((), (), (), False)
    if result["quantity"] == HANDOVER:  # a visibility test has no references
        return Diagnosis((), tuple(order_sentences(result)), (), False)
    if has_matchings(result):
        return diagnose_sampled(content, result, matrix)
    if matrix.subset is not matrix:
        return diagnose_subset(content, result, matrix, origin)
    found = search_matrix(content, result, matrix)
    undisturbed = ~matrix.whole.disturbed if matrix.whole is not None else True
    lacking = matrix.matrix.whole.is_status(*WITHOUT_VALUE) & undisturbed
    if found.findings or found.bottleneck or found.sharing or found.drift or lacking.any():
        return explain_search(content, result, matrix, found, lacking, part, origin)
    lines = effects(found.seen.deviation, matrix.matrix.rows, matrix.matrix.columns, result["unit"])
    return Diagnosis((), tuple(further_sentences(found, result, matrix)), tuple(lines), not matrix.compared)


def explain_search(
    content: Mapping[str, Any],
    result: Result,
    matrix: MatrixVerdict,
    search: SearchResult,
    lacking: np.ndarray,
    part: bool,
    origin: Origin | None,
) -> Diagnosis:
    """Converts the result of a search to a diagnosis: sentences, confidence and next experiments.

    lacking: True for undisturbed cells without a value.
    Other arguments: see `diagnose`.
    """
    from . import confidence, node_causes, shared_bottleneck
    from .experiments import next_experiment
    from .layout import layout_of
    from .lost_endpoints import LostEndpoints
    from .sentences import missing_sentence, sentence, subject_name

    layout, names = search.layout or layout_of(content, result, matrix.matrix)
    drift = node_causes.time_drift(search.seen.deviation, result) if search.findings and not part else 0.0
    findings = node_causes.with_node_causes(search.findings, matrix.matrix, content, result, drift)
    search = replace(search, findings=findings)
    seen = replace(search.seen, part=part or search.bottleneck is not None)  # cells of a bottleneck are excluded
    sentences = [sentence(one, names, content, result, seen, layout) for one in search.findings]
    lost = LostEndpoints.of_record(content, matrix.matrix, lacking)
    missing = lost.other_findings(missing_findings(matrix.matrix, layout, lost.lacking), layout)
    # the first sentences are those of the findings, in their order
    sentences += [
        lost.finding_sentence(one) or missing_sentence(one, names, content, matrix.matrix, layout) for one in missing
    ]
    sentences += shared_bottleneck.equal_nodes(search.findings, seen.deviation, layout, names)
    if search.sharing:
        sentences += shared_bottleneck.sharing_sentences(search.sharing, names.parts["leaf"])
    sentences += lost.sentences(missing)
    if search.bottleneck:
        sentences.append(shared_bottleneck.sentence(search.bottleneck, names, result["unit"], "leaf" in names.parts))
    sentences += [*([node_causes.drift_sentence(drift)] if drift else []), *filter(None, [search.drift])]
    sentences += further_sentences(search, result, matrix)
    every = (*search.findings, *missing)
    reasons: list[tuple[str, ...]] = []
    for one in every:
        experiment = next_experiment(one, names, layout, content, result, origin)
        command = [f"{NEXT}{experiment.command}  # {experiment.conclusion}"] if experiment else []
        reasons.append((*confidence.lines(one, names, seen, layout), *command))
    effect_lines = () if search.drift else tuple(effects(seen.deviation, names.rows, names.columns, result["unit"]))
    components = tuple(subject_name(one.kind, one.subject, names) for one in every)
    verdicts = tuple(lost.verdict(one, finding_verdict(one, matrix, layout)) for one in every)
    return Diagnosis(every, tuple(sentences), effect_lines, not matrix.compared, tuple(reasons), components, verdicts)


def diagnose_sampled(content: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Diagnosis:
    """The diagnosis of a sampled matrix, in which only a few cells of each endpoint were measured."""
    from . import matchings

    found, rest = matchings.fault_sentences(result, matrix)
    rest += [one for one in matrix.disturbed_sentences() if one not in rest][:MAX_DISTURBED]
    has_node_rows = not {device["label"] for device in content.get("devices", [])} & set(matrix.matrix.rows)
    sentences = (*(text for _, text in found), *rest)
    findings = tuple(matchings.as_finding(one, has_node_rows) for one, _ in found)
    components = tuple(matrix.matrix.rows[one.endpoint] for one, _ in found)
    verdicts = tuple(endpoint_verdict(one, matrix) for one in findings)
    return Diagnosis(findings, sentences, (), not matrix.compared, components=components, verdicts=verdicts)


@dataclass(frozen=True)
class SearchResult:
    """The result of `search_matrix`.

    unexplained: number of slow cells that no finding explains.
    seen: the deviations of the cells.
    bottleneck: the bottleneck between groups of nodes, or None.
    sharing: the speeds between leaf switches while all nodes send; None if the leaf switches are unknown.
    drift: the sentence about a drift in the order of measuring; "" without a drift.
    layout: the layout and the names of its components; None if no cell is slow.
    """

    findings: list[Finding]
    unexplained: int
    seen: Deviations
    bottleneck: Bottleneck | None
    sharing: Uplinks | None
    drift: str = ""
    layout: tuple[Layout, Names] | None = None


def search_matrix(content: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> SearchResult:
    """Searches a matrix in memory for faulty components."""
    unreferenced, whole = not matrix.compared, matrix.whole
    assert whole is not None
    classes, names = classes_of(matrix.matrix)
    seen = (
        class_deviations(content, result, whole.observed, classes, names)
        if unreferenced
        else reference_deviations(matrix, classes)
    )
    seen = replace(seen, impossible=whole.rules == ORDER["impossible"])
    has_leaves = any(device.get("place", {}).get("leaf") for device in content.get("devices", ()))
    if not (seen.has_slow_cell or content.get("imported") or has_leaves):
        return SearchResult([], 0, seen, None, None)
    from .hypotheses import search
    from .layout import layout_of

    layout, layout_names = layout_of(content, result, matrix.matrix)
    in_order = None
    if content.get("imported"):
        from .node_causes import order_drift

        in_order = order_drift(content, result, seen.deviation)
    seen = replace(seen, deviation=in_order.rest) if in_order else seen
    before, after = (remeasured_deviations(seen.deviation, result, matrix.matrix, when) for when in ("before", "after"))
    seen = replace(seen, before=before)
    alone = after
    sharing = None
    if "leaf" in layout.parts:
        from . import shared_bottleneck

        sharing = shared_bottleneck.uplink_sharing(seen.deviation, layout, result, alone)
    if sharing and sharing.is_oversubscribed:
        seen = replace(seen, deviation=sharing.without_oversubscription(seen.deviation))
        alone = None  # alone, cells do not share uplinks: the values are not comparable
    seen = seen if unreferenced else deviations.with_joint_limits(content, result, seen, names)
    narrow, open_cells = [], seen.deviation
    if sharing:
        with np.errstate(invalid="ignore", divide="ignore"):
            reached = np.log(whole.observed) * (-1.0 if result["unit"] == "us" else 1.0)
        narrow, cells = shared_bottleneck.narrow_uplinks(sharing, seen, layout, reached, after)
        open_cells = np.where(cells, np.nan, open_cells)
    findings, unexplained = search(open_cells, seen.sigma, seen.limit, layout, alone, seen.joint_limit, seen.before)
    findings = [*narrow, *(one for one in findings if not unreferenced or one.kind != "class")]
    shared, findings, unexplained = split_bottleneck(findings, unexplained, seen, layout, alone, unreferenced)
    if sharing:
        findings = shared_bottleneck.without_uplink_links(findings, layout)
    text = in_order.sentence if in_order else ""
    return SearchResult(findings, unexplained, seen, shared, sharing, text, (layout, layout_names))


def further_sentences(search: SearchResult, result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """Yields sentences about unexplained slow cells, other processes and throttled devices."""
    if search.unexplained:
        yield f"and {units.counted(search.unexplained, 'more slow cell')} that no finding explains"
    yield from matrix.disturbed_sentences()[:MAX_DISTURBED]
    throttled = result.get("throttled") or []
    if throttled and (search.findings or matrix.compared):
        yield f"devices were throttled during the measurement: {'; '.join(units.first(throttled, 3))}"


def missing_findings(matrix: Matrix, layout: Layout, lacking: np.ndarray) -> list[Finding]:
    """The findings about components whose cells have no value; [] if no cell failed, or if no cell has a value.

    A single cell is no finding. lacking: True for undisturbed cells without a value.
    """
    from .families import SHARED, find_family, member_cells
    from .hypotheses import search

    block = matrix.whole
    failed = block.is_status(*FAILED) & lacking
    if not failed.any() or lacking.sum() == block.applies.sum():
        return []
    shape = lacking.shape
    deviation = np.where(block.applies, np.where(lacking, -1.0, 0.0), np.nan)
    found, _ = search(deviation, np.full(shape, MISSING_SIGMA), np.full(shape, MISSING_LIMIT), layout)
    kept = []
    for one in found:
        family, group = find_family(layout, one.kind, one.subject)
        can_be_lost = (
            one.kind not in (*SHARED, "inside") and one.cells > 1
        )  # components that nodes share cannot be lost
        if can_be_lost and (member_cells(family, group).reshape(shape) & failed).any():
            kept.append(replace(one, missing=True))
    return kept


def split_bottleneck(
    findings: list[Finding],
    unexplained: int,
    seen: Deviations,
    layout: Layout,
    alone: np.ndarray | None,
    unreferenced: bool,
) -> tuple[Bottleneck | None, list[Finding], int]:
    """(bottleneck between groups of nodes or None, findings outside the bottleneck, number of unexplained slow cells).

    findings, unexplained: the result of `search`. alone: see `search`.
    unreferenced: whether there are no references.
    """
    if len(findings) < 2:
        return None, findings, unexplained
    from .hypotheses import search
    from .shared_bottleneck import bottleneck

    shared = bottleneck(findings, seen.deviation, seen.limit, layout, alone)
    if shared is None:
        return None, findings, unexplained
    rest = np.where(shared.between, np.nan, seen.deviation)
    others, unexplained = search(rest, seen.sigma, seen.limit, layout, alone, seen.joint_limit, seen.before)
    return shared, [one for one in others if not unreferenced or one.kind != "class"], unexplained


def sentences_for_values(content: Mapping[str, Any], result: Result, matrix: Matrix, values: np.ndarray) -> list[str]:
    """The sentences about the findings in these values of a matrix. No references are used."""
    from .hypotheses import search
    from .layout import layout_of
    from .sentences import sentence

    layout, names = layout_of(content, result, matrix)
    seen = class_deviations(content, result, values, layout.classes, names.classes)
    found, _ = search(seen.deviation, seen.sigma, seen.limit, layout)
    return [sentence(one, names, content, result, seen, layout) for one in found if one.kind != "class"]


def diagnose_subset(
    content: Mapping[str, Any], result: Result, matrix: MatrixVerdict, origin: Origin | None
) -> Diagnosis:
    """The diagnosis of cells in a separate file. Only a submatrix of suspect and some healthy endpoints is examined."""
    found = diagnose(content, result, matrix.subset, True, origin)
    if not matrix.slow_lines() and not found.sentences:
        return Diagnosis((), (), (), found.without_references)
    examined, count = len(matrix.subset.matrix.rows), len(matrix.matrix.rows)
    where = f"Examined: {examined} of {count} endpoints, the worst and some healthy endpoints."
    return replace(found, sentences=(*found.sentences, *matrix.slow_lines(), where), effects=())


def finding_verdict(finding: Finding, matrix: MatrixVerdict, layout: Layout) -> Verdict:
    """The worst verdict of the cells of a finding about a matrix in memory."""
    from .families import find_family, member_cells

    family, group = find_family(layout, finding.kind, finding.subject)
    return worst_cell_verdict(finding, member_cells(family, group).reshape(layout.classes.shape), matrix)


def endpoint_verdict(finding: Finding, matrix: MatrixVerdict) -> Verdict:
    """The worst verdict of the cells of a finding about a sampled matrix."""
    cells = np.zeros((len(matrix.matrix.rows), len(matrix.matrix.columns)), dtype=bool)
    if not finding.kind.endswith("ingress"):
        cells[finding.subject, :] = True
    if not finding.kind.endswith("egress"):
        cells[:, finding.subject] = True
    return worst_cell_verdict(finding, cells, matrix)


def worst_cell_verdict(finding: Finding, cells: np.ndarray, matrix: MatrixVerdict) -> Verdict:
    """The worst verdict of the cells of a finding: of its slow cells, or of its cells without a value."""
    if finding.within_tolerance:
        return Verdict.WARN
    whole = matrix.whole
    if whole is None:
        return matrix.verdict
    has_value = np.isfinite(whole.observed) & ~np.isin(whole.rules, [ORDER[rule] for rule in NOT_SLOW])
    shown = cells & (whole.block.applies & ~np.isfinite(whole.block.measured) if finding.missing else has_value)
    least = Verdict.WARN if matrix.compared else Verdict.NOT_JUDGED
    return Verdict(int(whole.codes[shown].max(initial=least)))
