"""The findings of a run: component, evidence, and test cases. Every output shows these findings.

A component that is slow in several test cases has one finding.
Findings are sorted by verdict (the worst first), then by topic (the order of `TOPICS`), then by deviation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judge import findings
from ..judge.cell_counts import KEPT
from ..judge.cell_sentences import confirmation, is_reproduced
from ..judge.disturbances import MEMORY, UNNAMED, disturbance_sentences, process_names, recorded_disturbances
from ..judge.inventory_diff import node_differences
from ..judge.rules import ORDER, name
from ..judge.verdicts import CellVerdict, Verdict
from ..locate.next_steps import KIND_TOPICS, SAMPLE_TOPICS, TOPICS, Stage, next_stage
from ..record import units
from ..record.checking import has_matchings
from ..record.matrix import has_status
from ..record.names import simulated_fault
from ..suite import BUSY, REFUSED_OPTIONS, SHARED_CORES
from . import words

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..locate.diagnosis import Diagnosis
    from ..locate.hypotheses import Finding
    from ..record.names import Pair, Result
    from ..runs.judging import Judged

    Diagnose = Callable[[Judged, Result, MatrixVerdict], Diagnosis]

COUNTS = re.compile(r"\b\d+ of \d+ cells? ")  # numbers in sentences about samples, by which equal sentences differ
#: {rule of `judge.rules`: topic}, for rules whose cells have a finding of their own, in addition to faulty components.
RULE_TOPICS = {"impossible": "impossible", "path changed": "changed", "intermittent": "intermittent"}
#: {phase in which ReFrame failed a test: topic}. Cells explain a failed performance phase: its topic is "noted".
PHASE_TOPICS = {
    "setup": "not run",
    "compile": "build",
    "compile_wait": "build",
    "run": "not run",
    "run_wait": "not run",
    "performance": "noted",
}


@dataclass(frozen=True)
class RunFinding:
    """A finding of a run.

    topic: a key of `TOPICS`.
    text: a sentence.
    component: the name of the component or process; "" for none.
    testcases: the test cases that show the finding, the worst first.
    evidence: lines with evidence for and against the finding.
    command: the command of the next experiment; "" for none.
    weight: the sort key of findings with the same topic: a deviation, or the evidence of `hypotheses.Finding`.
    simulated: whether the fault was simulated.
    stage: how well the fault is confirmed.
    is_sum: whether the values are sums of both directions, which hide the slow direction.
    """

    verdict: Verdict
    topic: str
    text: str
    component: str = ""
    testcases: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    command: str = ""
    weight: float = 0.0
    simulated: bool = False
    stage: Stage = Stage.AGAIN
    is_sum: bool = False

    @property
    def order(self) -> tuple[int, int, float]:
        """The sort key that puts the most urgent finding first."""
        return -self.verdict, list(TOPICS).index(self.topic), -self.weight


def run_findings(judged: list[Judged], diagnose: Diagnose, verdict: Verdict) -> list[RunFinding]:
    """All findings of a run, the most urgent first.

    verdict: the verdict of the run.
    diagnose: see `Analysis.diagnosis`.
    """
    cases, locations = sum(len(one.matrices) or 1 for one in judged), words.Locations.of(judged)
    by_component: dict[tuple[str, str, bool], RunFinding] = {}
    found = (with_location(one, test, locations) for test in judged for one in test_findings(test, diagnose))
    for one in sorted(found, key=lambda one: (*one.order[:2], one.is_sum, one.order)):
        text = COUNTS.sub("", one.text) if one.topic in SAMPLE_TOPICS else one.text
        topic = "device" if one.topic == "settings" else one.topic  # a component has a single advice
        key = (topic, one.component or text, one.simulated)
        known = by_component.get(key)
        by_component[key] = one if known is None else merge(known, one)
    differences = node_differences((one.test.partition, one.test.record) for one in judged if one.test.record)
    found_ones = [with_testcases(one) if cases > 1 else one for one in by_component.values()]
    found_ones += [RunFinding(Verdict.WARN, "odd", line) for line in dict.fromkeys(differences)]
    found_ones += sweep_findings(judged, verdict)
    return sorted(found_ones, key=lambda one: one.order)


def sweep_findings(judged: list[Judged], verdict: Verdict) -> Iterator[RunFinding]:
    """Yields the findings about slow nodes of a sweep. verdict: the verdict of the run."""
    tests = ((words.node_of(one), one.test.record, one.evaluation) for one in judged)
    measured = [(node, record, evaluation) for node, record, evaluation in tests if node and record and evaluation]
    several = len({node for node, _, _ in measured}) > 1
    for one in findings.slow_node_findings(measured) if several else ():
        yield from_finding(verdict, one)


def from_finding(verdict: Verdict, finding: findings.Finding) -> RunFinding:
    """Converts a finding of `judge.findings`, which needs no reference. verdict: the verdict of the test or run."""
    testcases = (finding.testcase,) if finding.testcase else ()
    verdict = min(verdict, Verdict.NOT_JUDGED)  # a finding without references is no FAIL
    content = (finding.kind, finding.evidence, finding.component, testcases, (finding.confidence,))
    return RunFinding(verdict, *content, weight=finding.weight)


def merge(known: RunFinding, finding: RunFinding) -> RunFinding:
    """Merges two findings about a component. known: the more urgent finding, whose text is kept."""
    testcases = tuple(dict.fromkeys([*known.testcases, *finding.testcases]))
    return replace(known, testcases=testcases, stage=max(known.stage, finding.stage))


def with_location(finding: RunFinding, test: Judged, locations: words.Locations) -> RunFinding:
    """Adds the partition and the node to a finding. Sets `simulated`.

    The partition is added only if the run has several partitions. The node is added only if the run has several nodes.
    """
    place, node = locations.name(test), locations.node(test)
    text = f"{place}: {finding.text}" if place else finding.text
    component = f"{finding.component} of {node}" if finding.component and node else finding.component
    return replace(finding, text=text, component=component, simulated=bool(simulated_fault(test.test.record or {})))


def with_testcases(finding: RunFinding) -> RunFinding:
    """Adds the first test case and the number of other test cases to the text of a finding."""
    if not finding.testcases:
        return finding
    more = len(finding.testcases) - 1
    others = f" (also in {units.counted(more, 'other test case')})" if more else ""
    return replace(finding, text=f"{finding.testcases[0]}: {finding.text}{others}")


def test_findings(judged: Judged, diagnose: Diagnose) -> Iterator[RunFinding]:
    """Yields the findings of a test: the check's reasons, the facts of the record, then the matrices."""
    topic = "not run" if judged.test.unmeasured else PHASE_TOPICS.get(judged.test.phase, "program")
    if judged.test.out_of_service:
        topic = "noted"
    elif judged.test.result in ("skip", "fail_deps") and not judged.test.unmeasured:  # no program ran
        topic = "skipped" if words.has_nothing_to_do(judged) else "noted"
    topic = "aborted" if judged.test.result == "abort" else topic
    topic = "binding" if any(SHARED_CORES in line for line in judged.reasons) else topic
    topic = "noted" if judged.verdict is Verdict.DISTURBED else topic  # the program ended because of another process
    for line in () if judged.reports_state_only else judged.reasons:
        line_topic = "options" if REFUSED_OPTIONS in line else "busy" if BUSY in line else topic
        yield RunFinding(judged.verdict, line_topic, line, testcases=(judged.test.name,))
    yield from fact_findings(judged, None, judged.test.name)
    record, evaluation = judged.test.record, judged.evaluation
    if record is not None and evaluation is not None:
        yield from (from_finding(judged.verdict, other) for other in findings.findings(record, evaluation))
    for result, matrix in judged.matrices:
        found = [*fact_findings(judged, result, result["testcase"]), *matrix_findings(judged, result, matrix, diagnose)]
        yield from found
        yield from disturbance_findings(judged, result, matrix)
        if all(finding.topic in (*SAMPLE_TOPICS, *RULE_TOPICS.values()) for finding in found):
            yield from worst_cell_finding(result, matrix)
        elif not judged.test.record["lost"] and not any(finding.topic == "gone" for finding in found):
            yield from missing_cell_finding(result, matrix)


def fact_findings(judged: Judged, result: Result | None, testcase: str) -> Iterator[RunFinding]:
    """Yields the facts about `result` as findings. If `result` is None: the facts about the whole record."""
    for fact in words.facts_of(judged, result):
        yield RunFinding(fact.verdict, fact.topic or "noted", fact.sentence, fact.component, (testcase,))


def matrix_findings(judged: Judged, result: Result, matrix: MatrixVerdict, diagnose: Diagnose) -> Iterator[RunFinding]:
    """Yields the findings of a matrix: wrong data first, then faulty components, then others."""
    verdict, testcases = judged.matrix_verdict(matrix), (result["testcase"],)
    wrong = cells_with_rule(matrix, "corrupt") if has_status(result, "corrupt") else []
    if wrong:
        cells = ", ".join(units.first(list(map(name, wrong))))
        yield RunFinding(verdict, "wrong data", f"wrong data arrived: {cells}", cells, testcases)
    slow = matrix.whole.slow if matrix.whole is not None else None
    for rule, topic in RULE_TOPICS.items():
        is_common = rule == "intermittent" and slow is not None and slow.has_common_cause
        topic = "settings" if is_common else topic
        for pair in cells_with_rule(matrix, rule)[:1]:
            yield RunFinding(verdict, topic, matrix.cells[pair].reason, name(pair), testcases)
    from ..locate.diagnosis import NEXT

    found, disturbed = diagnose(judged, result, matrix), matrix.disturbed_sentences()
    for at, sentence in enumerate(found.marked_sentences):
        if at >= len(found.findings):
            if sentence not in disturbed:  # `disturbance_findings` has these
                yield RunFinding(verdict, "noted", sentence, testcases=testcases)
            continue
        finding, lines = found.findings[at], list(found.confidence[at]) if found.confidence else []
        evidence = [line for line in lines if not line.startswith(NEXT)]
        evidence[1:1] = [confirmed] if (confirmed := confirmation(result)) else []  # after "evidence for"
        command = next((line.removeprefix(NEXT) for line in lines if line.startswith(NEXT)), "")
        topic, component = finding_topic(finding, judged, result), found.components[at]
        yield RunFinding(
            found.verdicts[at],
            topic,
            sentence,
            component,
            testcases,
            tuple(evidence),
            command,
            finding.evidence,
            stage=next_stage(1, is_reproduced_alone(result, component)),
            is_sum=result["metric"] == "bidirectional",
        )
    # findings within tolerance do not explain why the matrix is not PASS
    if found.findings and all(finding.within_tolerance for finding in found.findings):
        yield from worst_cell_finding(result, matrix)


def disturbance_findings(judged: Judged, result: Result, matrix: MatrixVerdict) -> Iterator[RunFinding]:
    """Yields a finding per process that disturbed a test case. Yields nothing for a test case with PASS or WARN."""
    verdict, testcases = judged.matrix_verdict(matrix), (result["testcase"],)
    if verdict < Verdict.NOT_JUDGED:
        return
    marked, named = disturbed_cells(matrix), list(disturbances(judged.test.record or {}, result))
    verdict = Verdict.DISTURBED if marked else min(verdict, Verdict.NOT_JUDGED)
    for _, (process, *_), sentence in named:
        evidence = tuple(cell.reason.removesuffix(f": {sentence}") for cell in marked[:1])
        yield RunFinding(verdict, "disturbed", sentence, process_in_step(process), testcases, evidence)
    if marked and not named:
        yield RunFinding(verdict, "disturbed", marked[0].reason, words.ANOTHER, testcases)


def is_reproduced_alone(result: Result, component: str) -> bool:
    """Whether a component was slow again when remeasured alone, without disturbance or throttling."""
    if (
        has_matchings(result)
        or result.get("throttled")
        or result.get("control_change", 0) > 0
        or disturbance_sentences(result)
    ):
        return False
    reproduced = [one for one in result["remeasured"] if is_reproduced(one)]
    named = {*component.replace("->", " ").split()}
    of_component = [one for one in reproduced if named & {one["row"], one["column"]}]
    is_endpoint = bool(named & {*result["rows"], *result["columns"]})
    return bool(of_component if is_endpoint else reproduced)


def finding_topic(finding: Finding, judged: Judged, result: Result) -> str:
    """The topic of a finding."""
    if finding.unconfirmed:
        return "once"
    if finding.missing:
        return "gone"
    if finding.node_cause:
        return "settings"
    is_between_ranks = result["memory"] != "device" and (judged.test.record or {}).get("backend") in ("mpi", "host")
    return KIND_TOPICS[finding.kind.removesuffix("_egress").removesuffix("_ingress")][is_between_ranks]


def worst_cell_finding(result: Result, matrix: MatrixVerdict) -> Iterator[RunFinding]:
    """Yields the finding of the worst cell. Ignores DISTURBED cells and cells that a rule of RULE_TOPICS judged."""
    testcases = (result["testcase"],)
    if not any(matrix.counts.values()):
        yield RunFinding(
            Verdict.INCOMPLETE, "no pair", "no pair of endpoints: nothing was measured", testcases=testcases
        )
    known = {pair for rule in RULE_TOPICS for pair in cells_with_rule(matrix, rule)}
    marked = [(pair, cell) for pair, cell in matrix.worst_cells(KEPT)[0] if cell.verdict is not Verdict.DISTURBED]
    for pair, cell in [item for item in marked if item[0] not in known][:1]:
        topic, text = (
            ("cell", cell.reason)
            if cell.value is not None
            else ("missing", cell.reason + other_incomplete_clause(matrix))
        )
        topic = "noted" if cell.verdict <= Verdict.NOT_JUDGED else topic  # the step of the verdict suffices
        yield RunFinding(cell.verdict, topic, text, name(pair), testcases, weight=abs(cell.deviation or 0))


def missing_cell_finding(result: Result, matrix: MatrixVerdict) -> Iterator[RunFinding]:
    """Yields a finding about a cell without a value, and the number of further INCOMPLETE cells."""
    for pair in cells_with_rule(matrix, "not measured", last="not-run")[:1]:
        cell = matrix.cells[pair]
        text = cell.reason + other_incomplete_clause(matrix)
        yield RunFinding(cell.verdict, "missing", text, name(pair), (result["testcase"],))


def other_incomplete_clause(matrix: MatrixVerdict) -> str:
    """A clause about the number of further INCOMPLETE cells."""
    more = words.incomplete_cells(matrix) - 1
    verb = "is" if more == 1 else "are"
    return f"; {units.counted(more, 'other cell')} {verb} INCOMPLETE too" if more > 0 and not matrix.problem else ""


def cells_with_rule(matrix: MatrixVerdict, rule: str, last: str = "") -> list[Pair]:
    """The cells that the rule `rule` of `judge.rules` decided; [] if the cells are in a separate file.

    last: cells with this status come last.
    """
    if matrix.whole is None:
        return []
    of, found = matrix.matrix, np.argwhere(matrix.whole.rules == ORDER[rule]).tolist()
    if last:
        is_last = matrix.whole.block.is_status(last)
        found.sort(key=lambda place: is_last[tuple(place)])
    return [(of.rows[row], of.columns[column]) for row, column in found]


def disturbances(record: Mapping[str, Any], result: Result) -> Iterator[tuple[Mapping[str, Any], list[str], str]]:
    """Yields (disturbance, names of its processes, sentence) for each disturbance of a result.

    Processes that occupied memory before the run are included.
    Example: ({"node": "n1", …}, ["pid 6129 (hog, user root)"], "pid 6129 (hog, user root) had a context on gpu1").
    """
    for holder in (record, result):
        others = holder.get("others") or {}
        for raw, entry in zip(others.get("disturbances") or (), recorded_disturbances(others), strict=True):
            if holder is result or raw["kind"] == MEMORY:
                yield raw, process_names(others, raw), entry.sentence


def process_in_step(process: str) -> str:
    """The name of a process for a next step; "the other process" for a process without a name."""
    return words.ANOTHER if process == UNNAMED else process


def disturbed_cells(matrix: MatrixVerdict) -> list[CellVerdict]:
    """The DISTURBED cells among the worst cells of a matrix."""
    return [cell for _, cell in matrix.worst_cells(KEPT)[0] if cell.verdict is Verdict.DISTURBED]


def disturbing_processes(judged: Iterable[Judged]) -> list[str]:
    """The names of the processes that disturbed cells, without duplicates."""
    found: dict[str, None] = {}
    for one in judged:
        for result, matrix in one.matrices:
            if matrix.counts[Verdict.DISTURBED]:
                every = disturbances(one.test.record or {}, result)
                found |= dict.fromkeys(process_in_step(process) for _, names, _ in every for process in names)
    return list(found)
