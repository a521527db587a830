"""`linkmatrix diagnose`: prints the faulty components, and the verdicts of link classes, rows and columns."""

import argparse
import itertools
from collections.abc import Iterator

import numpy as np

from ..errors import BadInput
from ..judge.cell_sentences import confirmation
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict, worst
from ..locate.collective_cause import Pairs, explain, is_pair_bandwidth
from ..locate.diagnosis import NEXT
from ..record import units
from ..record.names import Result, is_collective, is_simulation
from ..runs import judging
from ..runs.judging import Judged
from ..show import matrix_text, words
from ..show.analysis import Analysis
from ..show.screen import Screen
from . import arguments
from .arguments import Block

HEALTHY = (Verdict.PASS, Verdict.NOT_JUDGED)  # a result with such a verdict and without a finding does not stand out
MOST_CELLS = 3  # failed cells per matrix whose reasons are printed


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `diagnose`."""
    arguments.add_options(command)
    arguments.add_all(command)
    arguments.add_testcases(command)
    command.set_defaults(command=run_diagnose)


def run_diagnose(options: argparse.Namespace) -> int:
    """Prints the diagnosis of each result, worst first, then the next step and the verdict. Raises BadInput."""
    run, judged = arguments.judged_run(options)
    measured = {result["testcase"] for one in judged for result, _ in one.matrices}
    unknown = next((name for name in options.testcase or () if name not in measured), None)
    if unknown is not None:
        listed = ", ".join(sorted(measured)) or "nothing"
        raise BadInput(f"--testcase '{unknown}' was not measured in {run.path}, which measured {listed}")
    chosen = [
        (one, result, matrix)
        for one in judged
        for result, matrix in one.matrices
        if not options.testcase or result["testcase"] in options.testcase
    ]
    beyond = [one for one in judged if one.verdict_beyond_cells is not None]
    verdict = worst([*(one.verdict for one in beyond), *(one.matrix_verdict(matrix) for one, _, matrix in chosen)])
    analysis, screen = Analysis(run, judged, verdict), Screen()
    screen.lines(*analysis.notices)
    everything = options.all or bool(options.testcase)
    blocks = []
    shown_by: dict[object, list[str]] = {}  # component → names of its test cases, except the first test case
    for one in judged:
        if one in beyond or one.reports_state_only:
            texts = [found.text for found in Analysis(None, [one]).findings] if one.reports_state_only else []
            blocks.append(Block(test_title(one), one.verdict, texts))
        for result, matrix in ((result, matrix) for of, result, matrix in chosen if of is one):
            found, diagnosis = one.matrix_verdict(matrix), analysis.diagnosis(one, result, matrix, include_good=True)
            components = (
                found,
                analysis.locations.name(one),
                diagnosis.components,
                tuple(fault.kind for fault in diagnosis.findings),
            )
            if diagnosis.findings and not everything and components in shown_by:
                shown_by[components].append(result["testcase"])
                continue
            title = f"{words.WORDS[found]}  {result['testcase']} ({units.size(result['size_bytes'])})"
            is_healthy = found in HEALTHY and not diagnosis.sentences
            others = same_component_lines(shown_by.setdefault(components, []))
            text = itertools.chain(diagnosis_lines(analysis, one, result, matrix), others)
            blocks.append(Block(title, 0 if is_healthy else found, text))
    healthy = f"nothing stands out: no faulty component was found in {units.counted(len(blocks), 'result')}"
    arguments.print_worst(screen, blocks, healthy, everything, keep=NEXT)
    # the step of FAIL names this command
    steps = analysis.steps[:1] if verdict is Verdict.FAIL else []
    screen.lines(*([f"Next step: {steps[0]}"] if steps else analysis.only_step))
    screen.lines(words.WORDS[verdict])
    return judging.exit_code(judged, verdict)


def same_component_lines(testcases: list[str]) -> Iterator[str]:
    """The line that names further test cases with the same faulty component.

    testcases: the names of these test cases. The caller may still add names, until the first line is requested.
    """
    if testcases:
        others = units.counted(len(testcases), "other test case")
        yield f"the same component in {others}: {units.listed(testcases)} (linkmatrix diagnose --all)"


def test_title(judged: Judged) -> str:
    """The title of a test: its verdict, its name, and the reasons that concern no single matrix."""
    return f"{words.WORDS[judged.verdict]}  {': '.join(filter(None, [judged.test.name, '; '.join(judged.reasons)]))}"


def diagnosis_lines(analysis: Analysis, judged: Judged, result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """The lines about a matrix: counts of verdicts, faulty components, and the reasons of failed cells."""
    found = analysis.diagnosis(judged, result, matrix, include_good=True)
    yield from verdict_counts(result, matrix)
    # the first sentences are the findings, in the order of `confidence`
    for at, sentence in enumerate(found.sentences):
        yield sentence
        if at < len(found.confidence):
            yield from (f"  {line}" for line in found.confidence[at])
    yield from filter(None, [words.coverage(result)])
    if is_collective(result):
        yield from matrix_text.marked_cells(matrix)
        content = judged.test.record or {}
        if not is_simulation(result):  # its devices compute most of the time, so links do not explain its rate
            yield from explain(result, matrix, content, pair_matrices(analysis, judged, result))
        return
    if not found.sentences and matrix.counts[Verdict.FAIL]:
        bad = matrix.counts[Verdict.FAIL]
        failures = "the failures" if bad > 1 else "the failure"
        yield f"{units.counted(bad, 'cell')} failed, and no single component explains {failures}"
        failed = [cell for _, cell in matrix.worst_cells(MOST_CELLS)[0] if cell.verdict is Verdict.FAIL]
        yield from (cell.reason for cell in failed)
    yield from found.effects
    yield from filter(None, [confirmation(result) if found.sentences else ""])
    if found.without_references:
        yield "No references: a fault that slows all links of a class equally cannot be detected."


def pair_matrices(analysis: Analysis, judged: Judged, collective: Result) -> list[Pairs]:
    """The bandwidth matrices of the same run that measured pairs of devices or ranks on the nodes of a collective."""
    nodes = {device["node"] for device in (judged.test.record or {}).get("devices", [])}
    return [
        Pairs(result, matrix, analysis.diagnosis(other, result, matrix, include_good=True).sentences)
        for other, result, matrix in analysis.matrices
        if nodes & {device["node"] for device in (other.test.record or {}).get("devices", [])}
        and is_pair_bandwidth(result, collective)
    ]


def verdict_counts(result: Result, matrix: MatrixVerdict) -> Iterator[str]:
    """Yields the printed lines about the verdicts of a matrix.

    The lines contain the number of cells per link class and verdict, and the rows and columns in which all cells FAIL.
    """
    if matrix.problem:
        return
    if matrix.whole is None:
        yield from matrix.class_lines()
        return
    codes = matrix.whole.codes
    for name, of_class in sorted(matrix.cell_counts.class_counts.items()):
        found = {verdict: int(of_class[verdict]) for verdict in reversed(words.ORDER)}
        tally = ", ".join(f"{count} {words.WORDS[verdict]}" for verdict, count in found.items() if count)
        if "," in tally:
            worst_one = max(verdict for verdict, count in found.items() if count)
            yield f"{name}: {words.WORDS[worst_one]} ({tally})"
        elif tally:
            yield f"{name}: {tally}"
    for word, labels, grid in (("row", result["rows"], codes), ("column", result["columns"], codes.T)):
        failed, applies = (grid == Verdict.FAIL).sum(axis=1), (grid >= 0).sum(axis=1)
        whole = [labels[at] for at in np.flatnonzero((failed == applies) & (applies > 1))]
        if whole and len(whole) < int((applies > 0).sum()):
            yield f"{word}{'s' if len(whole) > 1 else ''} {units.listed(whole)}: FAIL in every cell"
