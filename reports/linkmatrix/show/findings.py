"""The findings of a run that every output shows: component, evidence, and the test cases that show it.

The same component that is slow in several test cases is one finding. The worst verdict comes first, then the most
urgent topic (the order of `TOPICS`), then the largest deviation.
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
from ..locate.next_steps import TOPICS, Stage, next_stage
from ..record import units
from ..record.checking import has_matchings
from ..record.matrix import has_status
from ..record.names import simulated_fault
from ..suite import BUSY, REFUSED_OPTIONS
from . import words

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..locate.diagnosis import Diagnosis
    from ..locate.hypotheses import Finding
    from ..record.names import Pair, Result
    from ..runs.judging import Judged

    Diagnose = Callable[[Judged, Result, MatrixVerdict], Diagnosis]

#: Kind of a finding → its topic if the endpoints are devices, and if they are ranks.
OF_KIND = {
    "device": ("device", "rank"),
    "egress": ("device", "rank"),
    "ingress": ("device", "rank"),
    "links": ("device", "rank"),
    "nvlinks": ("device", "rank"),
    "link": ("link", "path"),
    "cell": ("link", "path"),
    "nic": ("adapter", "adapter"),
    "nics": ("adapter", "adapter"),
    "network": ("adapter", "adapter"),
    "node": ("node", "node"),
    "tray": ("node", "node"),
    "domain": ("fabric", "fabric"),
    "node_pair": ("fabric", "fabric"),
    "leaf": ("fabric", "fabric"),
    "uplink": ("fabric", "fabric"),
    "rail": ("fabric", "fabric"),
    "rail_ends": ("fabric", "fabric"),
    "switch": ("host", "host"),
    "socket": ("host", "host"),
    "memory": ("host", "host"),
    "between_sockets": ("host", "host"),
    "inside": ("host", "host"),
    "class": ("settings", "settings"),
}
COUNTS = re.compile(r"\b\d+ of \d+ cells? ")  # in sentences about samples, which differ in nothing else
#: Rules by which a cell fails whatever else is found, and the topic of each.
BY_THEMSELVES = {"impossible": "impossible", "path changed": "changed", "intermittent": "intermittent"}
#: The phase in which ReFrame failed a test → the topic. The cells of a test explain a failed performance phase better.
OF_PHASE = {
    "setup": "not run",
    "compile": "build",
    "compile_wait": "build",
    "run": "not run",
    "run_wait": "not run",
    "performance": "noted",
}


@dataclass(frozen=True)
class Headline:
    """A finding of a run.

    topic: a row of `TOPICS`.
    who, where: the name of the component or process, "" for none; the test cases that show it, the worst first.
    sure, command: the evidence for and against the finding; the command of the next measurement, "" for none.
    weight: the deviation from comparable components, as a fraction.
    simulated: whether the fault was simulated.
    stage: how well the fault is confirmed.
    of_sum: whether the values are sums of both directions, which hide the slow direction.
    """

    verdict: Verdict
    topic: str
    text: str
    who: str = ""
    where: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    command: str = ""
    weight: float = 0.0
    simulated: bool = False
    stage: Stage = Stage.AGAIN
    of_sum: bool = False

    @property
    def order(self) -> tuple[int, int, float]:
        """The key for sorting, most urgent first."""
        return -self.verdict, list(TOPICS).index(self.topic), -self.weight


def merged(judged: list[Judged], diagnose: Diagnose, verdict: Verdict) -> list[Headline]:
    """All findings of a run with its verdict, the most urgent first; [] if every test is PASS."""
    cases, places = sum(len(one.matrices) or 1 for one in judged), words.Places.of(judged)
    by_component: dict[tuple[str, str, bool], Headline] = {}
    found = (with_node(one, test, places) for test in judged for one in found_in(test, diagnose))
    for one in sorted(found, key=lambda one: (*one.order[:2], one.of_sum, one.order)):
        alike = COUNTS.sub("", one.text) if one.topic == "samples" else one.text
        topic = "device" if one.topic == "settings" else one.topic  # a component has one piece of advice
        key = (topic, one.who or alike, one.simulated)
        known = by_component.get(key)
        by_component[key] = one if known is None else merge(known, one)
    odd = node_differences((one.test.partition, one.test.record) for one in judged if one.test.record)
    told = [with_testcases(one) if cases > 1 else one for one in by_component.values()]
    told += [Headline(Verdict.WARN, "odd", line) for line in dict.fromkeys(odd)]
    told += of_nodes(judged, verdict)
    return sorted(told, key=lambda one: one.order)


def of_nodes(judged: list[Judged], verdict: Verdict) -> Iterator[Headline]:
    """The findings about nodes of a sweep that are slower than the other nodes."""
    alone = ((words.node_of(one), one.test.record, one.evaluation) for one in judged)
    measured = [(node, record, evaluation) for node, record, evaluation in alone if node and record and evaluation]
    several = len({node for node, _, _ in measured}) > 1
    for one in findings.slow_node_findings(measured) if several else ():
        yield of_finding(verdict, one)


def of_finding(verdict: Verdict, one: findings.Finding) -> Headline:
    """The headline of a finding of `judge.findings`, which needs no reference. verdict: of its test."""
    where = (one.testcase,) if one.testcase else ()
    verdict = min(verdict, Verdict.NOT_JUDGED)  # no fault of the machine
    return Headline(verdict, one.kind, one.evidence, one.component, where, (one.confidence,), weight=one.weight)


def merge(known: Headline, one: Headline) -> Headline:
    """The more urgent one of two findings on the same component, with the test cases of both."""
    return replace(known, where=tuple(dict.fromkeys([*known.where, *one.where])), stage=max(known.stage, one.stage))


def with_node(one: Headline, test: Judged, places: words.Places) -> Headline:
    """The finding with its node or partition, if the run has several: each node has a device of the same name."""
    place, node = places.name(test), places.node(test)
    text = f"{place}: {one.text}" if place else one.text
    return replace(one, text=text, who=f"{one.who} of {node}" if one.who and node else one.who)


def with_testcases(one: Headline) -> Headline:
    """The finding with its test case, and with the number of other test cases that show the same component."""
    if not one.where:
        return one
    others = f" (also in {units.counted(len(one.where) - 1, 'other test case')})" if len(one.where) > 1 else ""
    return replace(one, text=f"{one.where[0]}: {one.text}{others}")


def found_in(one: Judged, diagnose: Diagnose) -> Iterator[Headline]:
    """The findings of a test, marked where its fault was simulated."""
    simulated = bool(simulated_fault(one.test.record or {}))
    return (replace(found, simulated=simulated) for found in of_test(one, diagnose))


def of_test(one: Judged, diagnose: Diagnose) -> Iterator[Headline]:
    """The findings of a test: the reasons outside its record, the facts of its record, then its matrices."""
    topic = "not run" if one.test.unmeasured else OF_PHASE.get(one.test.phase, "program")
    if one.test.out_of_service:
        topic = "noted"
    elif one.test.result in ("skip", "fail_deps") and not one.test.unmeasured:  # no program ran
        topic = "skipped" if words.has_nothing_to_do(one) else "noted"
    topic = "aborted" if one.test.result == "abort" else topic
    topic = "noted" if one.verdict is Verdict.DISTURBED else topic  # the program ended because of another process
    for line in () if one.is_of_state else one.reasons:
        said = "options" if REFUSED_OPTIONS in line else "busy" if BUSY in line else topic
        yield Headline(one.verdict, said, line, where=(one.test.name,))
    yield from of_facts(one, None, one.test.name)
    if one.test.record is not None and one.evaluation is not None:
        yield from (of_finding(one.verdict, found) for found in findings.findings(one.test.record, one.evaluation))
    for result, matrix in one.matrices:
        where = result["testcase"]
        told = [*of_facts(one, result, where), *of_matrix(one, result, matrix, diagnose)]
        yield from told
        yield from of_disturbances(one, result, matrix)
        if all(headline.topic in ("samples", *BY_THEMSELVES.values()) for headline in told):
            yield from of_cells(result, matrix)
        elif not one.test.record["lost"] and not any(headline.topic == "gone" for headline in told):
            yield from of_missing(result, matrix)


def of_facts(one: Judged, result: Result | None, where: str) -> Iterator[Headline]:
    """The facts of a record about all its test cases, or about one."""
    for fact in words.facts_of(one, result):
        yield Headline(fact.verdict, fact.topic or "noted", fact.sentence, fact.who, (where,))


def of_matrix(one: Judged, result: Result, matrix: MatrixVerdict, diagnose: Diagnose) -> Iterator[Headline]:
    """The findings of a matrix: wrong data first, then faulty components, then the rest."""
    verdict, where = one.of_matrix(matrix), (result["testcase"],)
    wrong = cells_by(matrix, "corrupt") if has_status(result, "corrupt") else []
    if wrong:
        cells = ", ".join(units.first(list(map(name, wrong))))
        yield Headline(verdict, "wrong data", f"wrong data arrived: {cells}", cells, where)
    slow = matrix.whole.slow if matrix.whole is not None else None
    for rule, topic in BY_THEMSELVES.items():
        of_all = rule == "intermittent" and slow is not None and slow.has_common_cause
        for pair in cells_by(matrix, rule)[:1]:
            yield Headline(verdict, "settings" if of_all else topic, matrix.cells[pair].reason, name(pair), where)
    from ..locate.diagnosis import NEXT

    found, disturbed = diagnose(one, result, matrix), matrix.disturbed_sentences()
    for at, sentence in enumerate(found.marked_sentences):
        if at >= len(found.findings):
            if sentence not in disturbed:  # `of_disturbances` names these processes
                yield Headline(verdict, "noted", sentence, where=where)
            continue
        finding, lines = found.findings[at], list(found.confidence[at]) if found.confidence else []
        sure = [line for line in lines if not line.startswith(NEXT)]
        sure[1:1] = [confirmed] if (confirmed := confirmation(result)) else []  # after the evidence for the finding
        command = next((line.removeprefix(NEXT) for line in lines if line.startswith(NEXT)), "")
        topic, of_it = topic_of(finding, one, result), found.verdicts[at]
        told = Headline(of_it, topic, sentence, found.components[at], where, tuple(sure), command, finding.evidence)
        of_sum = result["metric"] == "bidirectional"
        yield replace(told, stage=next_stage(1, is_slow_alone(result, found.components[at])), of_sum=of_sum)
    if found.findings and all(
        finding.within_tolerance for finding in found.findings
    ):  # they do not explain the failure
        yield from of_cells(result, matrix)


def of_disturbances(one: Judged, result: Result, matrix: MatrixVerdict) -> Iterator[Headline]:
    """The processes that disturbed a test case that is NOT JUDGED or worse, with the worst DISTURBED cell."""
    verdict, where = one.of_matrix(matrix), (result["testcase"],)
    if verdict < Verdict.NOT_JUDGED:
        return
    marked, named = disturbed_cells(matrix), list(disturbances(one.test.record or {}, result))
    verdict = Verdict.DISTURBED if marked else min(verdict, Verdict.NOT_JUDGED)
    for _, (who, *_), sentence in named:
        sure = tuple(cell.reason.removesuffix(f": {sentence}") for cell in marked[:1])
        yield Headline(verdict, "disturbed", sentence, process_in_step(who), where, sure)
    if marked and not named:
        yield Headline(verdict, "disturbed", marked[0].reason, words.ANOTHER, where)


def is_slow_alone(result: Result, who: str) -> bool:
    """Whether a component was slow again when measured alone, neither disturbed nor throttled. who: its name."""
    if (
        has_matchings(result)
        or result.get("throttled")
        or result.get("control_change", 0) > 0
        or disturbance_sentences(result)
    ):
        return False
    stayed = [one for one in result["remeasured"] if is_reproduced(one)]
    named = {*who.replace("->", " ").split()}
    of_it = [one for one in stayed if named & {one["row"], one["column"]}]
    is_endpoint = bool(named & {*result["rows"], *result["columns"]})
    return bool(of_it if is_endpoint else stayed)


def topic_of(finding: Finding, one: Judged, result: Result) -> str:
    """The row of `TOPICS` that a finding belongs to."""
    if finding.unconfirmed:
        return "once"
    if finding.missing:
        return "gone"
    if finding.node_cause:
        return "settings"
    of_ranks = result["memory"] != "device" and (one.test.record or {}).get("backend") in ("mpi", "host")
    return OF_KIND[finding.kind.removesuffix("_egress").removesuffix("_ingress")][of_ranks]


def of_cells(result: Result, matrix: MatrixVerdict) -> Iterator[Headline]:
    """The finding of the worst cell. DISTURBED cells and cells of BY_THEMSELVES have their own findings."""
    where = (result["testcase"],)
    if not any(matrix.counts.values()):
        yield Headline(Verdict.INCOMPLETE, "no pair", "no pair of endpoints: nothing was measured", where=where)
    told = {pair for rule in BY_THEMSELVES for pair in cells_by(matrix, rule)}
    marked = [(pair, cell) for pair, cell in matrix.worst_cells(KEPT)[0] if cell.verdict is not Verdict.DISTURBED]
    for pair, cell in [item for item in marked if item[0] not in told][:1]:
        topic, text = ("cell", cell.reason) if cell.value is not None else ("missing", cell.reason + others_too(matrix))
        topic = "noted" if cell.verdict <= Verdict.NOT_JUDGED else topic  # the step of the verdict is enough
        yield Headline(cell.verdict, topic, text, name(pair), where, weight=abs(cell.deviation or 0))


def of_missing(result: Result, matrix: MatrixVerdict) -> Iterator[Headline]:
    """The finding of one cell without a value, for a matrix whose other findings are about slow cells."""
    for pair in cells_by(matrix, "not measured", last="not-run")[:1]:
        cell = matrix.cells[pair]
        text = cell.reason + others_too(matrix)
        yield Headline(cell.verdict, "missing", text, name(pair), (result["testcase"],))


def others_too(matrix: MatrixVerdict) -> str:
    """A clause with the number of other INCOMPLETE cells."""
    more = words.incomplete_cells(matrix) - 1
    verb = "is" if more == 1 else "are"
    return f"; {units.counted(more, 'other cell')} {verb} INCOMPLETE too" if more > 0 and not matrix.problem else ""


def cells_by(matrix: MatrixVerdict, rule: str, last: str = "") -> list[Pair]:
    """The cells whose verdict follows from a rule of `judge.rules`, those with the status `last` at the end.

    [] if the cells are in a file.
    """
    if matrix.whole is None:
        return []
    of, found = matrix.matrix, np.argwhere(matrix.whole.rules == ORDER[rule]).tolist()
    if last:
        is_last = matrix.whole.block.is_status(last)
        found.sort(key=lambda place: is_last[tuple(place)])
    return [(of.rows[row], of.columns[column]) for row, column in found]


def disturbances(record: Mapping[str, Any], result: Result) -> Iterator[tuple[Mapping[str, Any], list[str], str]]:
    """Each disturbance of a result, and of the memory before it, with names and a sentence.

    ({"node": "n1", …}, ["pid 6129 (hog of root)"], "pid 6129 (hog of root) had a context on gpu1")
    """
    for holder in (record, result):
        others = holder.get("others") or {}
        for raw, entry in zip(others.get("disturbances") or (), recorded_disturbances(others), strict=True):
            if holder is result or raw["kind"] == MEMORY:
                yield raw, process_names(others, raw), entry.sentence


def process_in_step(process: str) -> str:
    """The name of a process for a next step: "the other process" if it has no name."""
    return words.ANOTHER if process == UNNAMED else process


def disturbed_cells(matrix: MatrixVerdict) -> list[CellVerdict]:
    """The worst cells of a matrix that are DISTURBED."""
    return [cell for _, cell in matrix.worst_cells(KEPT)[0] if cell.verdict is Verdict.DISTURBED]


def disturbing_processes(judged: Iterable[Judged]) -> list[str]:
    """The names of the processes that disturbed a cell, each once."""
    found: dict[str, None] = {}
    for one in judged:
        for result, matrix in one.matrices:
            if matrix.counts[Verdict.DISTURBED]:
                every = disturbances(one.test.record or {}, result)
                found |= dict.fromkeys(process_in_step(who) for _, names, _ in every for who in names)
    return list(found)
