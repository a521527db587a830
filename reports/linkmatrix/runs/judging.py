"""Tests of a run, held against references: their verdicts and the reasons that no cell says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput
from ..judge.crashes import errors
from ..judge.evaluate import Evaluation, MatrixVerdict, evaluate
from ..judge.facts import Fact, facts
from ..judge.verdicts import Verdict, worst
from ..record.matrix import has_status
from ..record.reading import Result
from ..references.keys import with_variant
from ..references.tables import References
from .stored import Run
from .testcases import Test


@dataclass(frozen=True)
class Judged:
    """One test of a run with its verdict.

    reasons: why it is not PASS, in sentences, where no cell says it.
    reference: the table of references that it was held against, "" for none.
    facts: what its record says against a PASS, beside the cells.
    """

    test: Test
    verdict: Verdict
    evaluation: Evaluation | None = None
    reasons: tuple[str, ...] = ()
    reference: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def matrices(self) -> list[tuple[Result, MatrixVerdict]]:
        """Each measured test case of the record with its verdicts."""
        if self.evaluation is None or self.test.record is None:
            return []
        return list(zip(self.test.record["results"], self.evaluation.matrices, strict=True))

    @property
    def wrong_data(self) -> bool:
        """Did other data arrive than was sent? That is no matter of chance: no repetition takes it back."""
        return any(has_status(result, "corrupt") for result, _ in self.matrices)

    def of_matrix(self, matrix: MatrixVerdict) -> Verdict:
        """The verdict on one of the matrices; a single one answers for all that is wrong with its test."""
        if len(self.matrices) == 1:
            return self.verdict
        place = next((at for at, (_, one) in enumerate(self.matrices) if one is matrix), None)
        return worst([matrix.verdict, *(fact.verdict for fact in self.facts if fact.result in (None, place))])

    @property
    def beyond_cells(self) -> Verdict | None:
        """The verdict of the test where it is worse than that of each matrix, or there is none: for what no cell says,
        such as a program that did not end well, or a promise that was not kept. None where the matrices say it all."""
        said = [self.of_matrix(matrix) for _, matrix in self.matrices]
        return self.verdict if not said or self.verdict > max(said) else None


def overall(judged: list[Judged]) -> Verdict:
    """The verdict of a run: that of its worst test."""
    return worst(one.verdict for one in judged)


def judge(test: Test, references: References, reference_name: str | None) -> Judged:
    """Holds a test's record against the references; the machine's name given is stronger than the one of its partition.

    What ReFrame failed is FAIL whatever the numbers say, and what it did not run, or has no record, is INCOMPLETE. So
    is what it failed for a reference that is missing, and its cells tell whether it is more than that; and what it
    failed for figures that others explain, who used the machine.
    """
    found = {"": [], "pass": [], "fail": [Verdict.FAIL], "xpass": [Verdict.FAIL]}.get(test.result, [Verdict.INCOMPLETE])
    if test.unmeasured or test.unreferenced:  # ReFrame fails what it has no value of, or no reference for
        found = [] if test.unreferenced and reference_name else [Verdict.INCOMPLETE]
    reasons = [*([test.reason] if test.reason else []), *test.doubts]
    found += [Verdict.INCOMPLETE for _ in test.doubts]
    if test.result not in ("", "pass") and not test.reason:
        reasons.append(f"ReFrame ended it with '{test.result}'")
    if test.record is None and not test.measures and test.result == "pass" and not found:
        return Judged(test, Verdict.PASS, None, ())  # ReFrame's check is the verdict
    if test.record is None:
        return Judged(test, worst([*found, Verdict.INCOMPLETE]), None, tuple(reasons))
    if not found and not test.testcase and topology_alone(test.record):  # ReFrame's check is the verdict
        said = tuple(facts(test.record, tolerated(test)))
        verdict = worst([Verdict.PASS, *(one.verdict for one in said)])
        return Judged(test, verdict, None, tuple(one.sentence for one in said))
    name = with_variant(reference_name, test.variant) if reference_name else test.reference
    evaluation = evaluate(test.record, references, name or None)
    said = (*facts(test.record, tolerated(test), name), *(Fact(*one) for one in evaluation.soaked))
    if test.phase == "performance" and others_explain(evaluation):
        found = [Verdict.DISTURBED if one is Verdict.FAIL else one for one in found]
    found += [evaluation.verdict, *(fact.verdict for fact in said)]
    if test.unreferenced and (reference_name or any(matrix.unjudged for matrix in evaluation.matrices)):
        reasons = reasons[1:]  # the cells say it, and how many lack one
    if not test.record["results"]:
        reasons.append("the record holds no matrix: nothing was measured")
    if test.record["result"] != "PASS":
        why = f": {test.record['error']}" if test.record["error"] else ""
        reasons.append(f"the program ended with {test.record['result']}{why}")
    elif test.testcase and test.testcase not in [result["testcase"] for result in test.record["results"]]:
        found.append(Verdict.INCOMPLETE)
        reasons.append(f"the record holds no {test.testcase}")
    return Judged(test, worst(found), evaluation, tuple(reasons), name, said)


def tolerated(test: Test) -> tuple[str, ...]:
    """The counters that rose, where a check of ReFrame passed: it knows those that its site tolerates."""
    return tuple(one.name for one in errors(test.record)) if test.as_expected and test.record else ()


def others_explain(evaluation: Evaluation) -> bool:
    """Is what ReFrame found off its reference no more than what others took of the machine meanwhile?"""
    return evaluation.verdict is Verdict.DISTURBED


def topology_alone(record: Mapping[str, Any]) -> bool:
    """Was a record to hold no matrix, and did its program end well?"""
    return not record["results"] and "--topology" in record["command"] and record["result"] == "PASS"


def judge_all(run: Run, references: References, reference_name: str | None) -> list[Judged]:
    """Every test of the run, in its order. Raises BadInput where `reference_name` is given and no table has it."""
    if reference_name and reference_name not in references.names():
        known = ", ".join(references.names()) or "none"
        raise BadInput(f"--reference '{reference_name}' is in none of the references (known: {known})")
    return [judge(test, references, reference_name) for test in run.tests]
