"""The verdict of a test: the worst verdict of the check, the record's facts, the cells and the program's result.

No other module decides the verdict of a test. Checks call `judge_test`. Commands call `judge_test` again for other
references, and for records that no check judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..record import units
from ..references.keys import table_size
from .disturbances import detects_no_processes
from .evaluate import Evaluation, evaluate
from .run_findings import Fact, ending, facts
from .verdicts import Reason, Verdict, worst

if TYPE_CHECKING:
    from ..references.tables import References

BY_SIGNAL = "ended by signal"  # prefix of the error of a program that a signal ended
TOPOLOGY = "--topology"  # with this option, a program measures no matrix

NO_MEASUREMENT = "the imported text contains no measurement: there is nothing to compare with references"


@dataclass(frozen=True)
class CheckFacts:
    """The findings and settings of a check that its record does not contain.

    testcase: the test case that the record must contain. If "", the record must contain each test case in its key
    `expected`.
    reasons: findings of the check.
    tolerated_counters: names of error counters that may rise.
    measures: whether the test must leave a record.
    """

    testcase: str = ""
    reasons: tuple[Reason, ...] = ()
    tolerated_counters: tuple[str, ...] = ()
    measures: bool = True


@dataclass(frozen=True)
class TestVerdict:
    """The verdict of a test, and its causes.

    reasons: findings of the check, and a sentence about how the program ended.
    facts: findings of the record.
    evaluation: the verdicts on the cells; None if no cells were judged.
    table: name of the table of references; "" for none.
    """

    __test__ = False  # no test of pytest

    verdict: Verdict
    reasons: tuple[Reason, ...]
    facts: tuple[Fact, ...]
    evaluation: Evaluation | None
    table: str


def judge_test(
    record: Mapping[str, Any] | None, check_facts: CheckFacts, references: References, table: str
) -> TestVerdict:
    """Judges a test.

    record: a checked record; None if the test left no record.
    check_facts: findings and settings of the check.
    table: name of the table of references; "" for none.
    """
    if record is None:
        reasons = check_facts.reasons
        if check_facts.measures and not any(one.verdict >= Verdict.INCOMPLETE for one in reasons):
            reasons = (*reasons, Reason(Verdict.INCOMPLETE, "the test left no record"))
        return TestVerdict(worst_verdict(reasons), reasons, (), None, table)
    is_topology_only = not record["results"] and TOPOLOGY in record["command"] and record["result"] == "PASS"
    if is_topology_only and not check_facts.testcase:
        known = tuple(facts(record, check_facts.tolerated_counters))
        return TestVerdict(worst_verdict(check_facts.reasons, known), check_facts.reasons, known, None, table)
    evaluation = evaluate(record, references, table or None)
    reasons = (*check_facts.reasons, *record_reasons(record, check_facts.testcase))
    known = (*facts(record, check_facts.tolerated_counters, table), *(Fact(*one) for one in evaluation.soaked))
    known += tuple(unreferenced(record, evaluation, table) if table else ())
    cells = [matrix.verdict for matrix in evaluation.matrices]
    verdict = max([worst_verdict(reasons, known), evaluation.floor, *cells])
    if verdict is Verdict.FAIL and detects_no_processes(record):
        program = (record.get("imported") or record)["program"]
        reasons = (*reasons, Reason(verdict, f"{program} does not detect other processes, so no component is flagged"))
    return TestVerdict(verdict, reasons, known, evaluation, table)


def unreferenced(record: Mapping[str, Any], evaluation: Evaluation, table: str) -> Iterator[Fact]:
    """Yields a fact per test case whose cells have no reference in the named table."""
    for place, (result, matrix) in enumerate(zip(record["results"], evaluation.matrices, strict=True)):
        has_size = table_size(table) in (None, result["size_bytes"])  # another size is a fact of the record
        if matrix.unjudged and matrix.expected.name and has_size:
            lacking = f"{matrix.unjudged} of {units.counted(sum(matrix.counts.values()), 'cell')}"
            sentence = f"{lacking} of {result['testcase']} have no reference in the table '{table}'"
            yield Fact(Verdict.INCOMPLETE, sentence, place, "references")


def worst_verdict(reasons: tuple[Reason, ...], known: tuple[Fact, ...] = ()) -> Verdict:
    """The worst verdict of reasons and facts; PASS if there are none."""
    return worst([Verdict.PASS, *(one.verdict for one in (*reasons, *known))])


def is_import_without_matrix(record: Mapping[str, Any]) -> bool:
    """Whether the record of a foreign program contains only connections or states of devices, and no matrix."""
    return bool(record.get("imported")) and not record["results"] and record["result"] == "PASS"


def ending_sentence(result: str, error: str) -> str:
    """The sentence about the end of a program whose result is not PASS.

    result: the record's result. If a signal ended the program, the result is TIMEOUT.
    error: the record's error, such as "ended by signal Terminated"; "" for none.
    """
    if error.startswith(BY_SIGNAL):
        return f"the program was {error}"
    return f"the program ended with {result}" + (f": {error}" if error else "")


def record_reasons(record: Mapping[str, Any], testcase: str) -> Iterator[Reason]:
    """Yields the reasons why a test cannot be PASS: the program's result, or a missing matrix or test case.

    testcase: see `CheckFacts`.
    """
    ended = ending(record)
    missing = Verdict.DISTURBED if ended is Verdict.DISTURBED else Verdict.INCOMPLETE
    if is_import_without_matrix(record):
        yield Reason(Verdict.NOT_JUDGED, NO_MEASUREMENT)
    elif not record["results"]:
        yield Reason(missing, "the record contains no matrix: nothing was measured")
    if record["result"] != "PASS":
        yield Reason(ended, ending_sentence(record["result"], record["error"] or ""))
    measured = {result["testcase"] for result in record["results"]}
    missing_ones = [one for one in ([testcase] if testcase else record["expected"]) if one not in measured]
    if measured and missing_ones:
        yield Reason(Verdict.INCOMPLETE, f"the record lacks {', '.join(units.first(missing_ones))}")
