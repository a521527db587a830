"""Tests of a run with their verdicts, and the attempt that counts where ReFrame ran a test case several times.

The verdict of a test is the one that its check stored, or that of the judge with other references.

A FAIL stays, unless it consists of cells outside their references only and a later attempt is an undisturbed PASS or
WARN: then the test is WARN. An attempt whose files are lost stays INCOMPLETE. Of all other attempts the last counts.
`--reruns` and `--duration` repeat what passed too: there the worst attempt counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import BadInput
from ..judge.disturbances import others_entries
from ..judge.evaluate import Evaluation, MatrixVerdict, evaluate
from ..judge.run_findings import Fact
from ..judge.test_verdict import TestVerdict, is_import_without_matrix, judge_test, record_reasons
from ..judge.verdicts import EXIT_CODES, Verdict, worst
from ..record.matrix import has_status
from ..record.names import Result
from ..references.keys import with_variant
from ..references.tables import References

if TYPE_CHECKING:
    from .stored import Run
    from .testcases import Test

NOTHING_BEGAN = 4  # exit code
NO_VERDICT = "the test ended before its check could judge it"


@dataclass(frozen=True)
class Judged:
    """One test of a run with its verdict.

    reasons: why it is not PASS, in sentences, where no cell and no fact shows it.
    reference: the reference table that the cells were compared with, "" for none.
    facts: what its record contains against a PASS, in addition to the cells.
    """

    test: "Test"
    verdict: Verdict
    evaluation: Evaluation | None = None
    reasons: tuple[str, ...] = ()
    reference: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def began(self) -> bool:
        """Whether the job of the test began. Of a record without ReFrame it did."""
        return self.test.began

    @property
    def matrices(self) -> list[tuple[Result, MatrixVerdict]]:
        """Each measured test case of the record with its verdicts."""
        if self.evaluation is None or self.test.record is None:
            return []
        return list(zip(self.test.record["results"], self.evaluation.matrices, strict=True))

    @property
    def has_wrong_data(self) -> bool:
        """Whether other data arrived than was sent. No repetition changes that."""
        return any(has_status(result, "corrupt") for result, _ in self.matrices)

    def matrix_verdict(self, matrix: MatrixVerdict) -> Verdict:
        """The verdict on one of the matrices; a single one has the verdict of its test."""
        if len(self.matrices) == 1:
            return self.verdict
        place = next((at for at, (_, one) in enumerate(self.matrices) if one is matrix), None)
        return worst([matrix.verdict, *(fact.verdict for fact in self.facts if fact.result in (None, place))])

    @property
    def reports_state_only(self) -> bool:
        """Whether another program reported connections or states of devices, and measured nothing."""
        return self.test.record is not None and is_import_without_matrix(self.test.record)

    @property
    def verdict_beyond_cells(self) -> Verdict | None:
        """The verdict of the test if it is worse than that of each matrix, or if there is no matrix; else None.

        Such a verdict has a reason outside the cells: the program did not end well, or an expected GPU is missing.
        """
        of_matrices = [self.matrix_verdict(matrix) for _, matrix in self.matrices]
        return self.verdict if not of_matrices or self.verdict > max(of_matrices) else None


def overall(judged: Iterable[Judged]) -> Verdict:
    """The verdict of a run: that of its worst test, without nodes that are out of service.

    INCOMPLETE without a test for which the machine is large enough.
    """
    tests = [one for one in judged if not one.test.out_of_service]
    if all(one.test.too_small for one in tests):
        return Verdict.INCOMPLETE
    return worst(one.verdict for one in tests)


def exit_code(judged: Sequence[Judged], verdict: Verdict | None = None, acceptance: bool = False) -> int:
    """The exit code of a run: that of its verdict, 4 where no test began.

    verdict: of the run, where it is worse than that of its tests. acceptance: NOT JUDGED is then 3.
    """
    verdict = overall(judged) if verdict is None else verdict
    if verdict is Verdict.INCOMPLETE and not any(one.began for one in judged):
        return NOTHING_BEGAN
    if verdict is Verdict.NOT_JUDGED and acceptance:
        return EXIT_CODES[Verdict.INCOMPLETE]
    return EXIT_CODES[verdict]


def judge(test: "Test", references: References, reference_name: str | None) -> Judged:
    """The verdict on a test.

    Its check stored one, unless the test ended before. With `reference_name`, the name of another reference table, and
    for single records, the judge decides now. A stored verdict without its record stays, and is INCOMPLETE at best. A
    test that needs more devices than its partition has is NOT JUDGED, and so is that of a node out of service.
    """
    if test.too_small or test.out_of_service:
        return Judged(test, Verdict.NOT_JUDGED, reasons=(test.reason,))
    if test.current and test.stored is None:
        return Judged(test, Verdict.INCOMPLETE, reasons=(test.reason or NO_VERDICT,))
    if test.stored is not None and (test.lacks_record or not reference_name):
        evaluation = evaluate(test.record, test.stored.references, test.stored.found.table) if test.record else None
        found = replace(test.stored.found, evaluation=evaluation)
    else:
        name = with_variant(reference_name, test.variant) if reference_name else test.reference
        found = judge_test(test.record, test.check, references, name)
    reasons = [one.sentence for one in found.reasons]
    verdict = max([found.verdict, *(Verdict.INCOMPLETE for _ in test.doubts)])
    if test.lacks_record:
        verdict = max(verdict, Verdict.INCOMPLETE)
        reasons.insert(0, test.reason)
    elif not agrees(test, found, bool(reference_name)):
        verdict = max(verdict, Verdict.INCOMPLETE)
        reasons.insert(0, test.reason or f"ReFrame ended it with '{test.result}'")
    elif test.record is None and test.stored is None and test.reason:
        reasons = [test.reason]
    reasons = list(dict.fromkeys([*reasons, *test.doubts]))
    return Judged(test, verdict, found.evaluation, tuple(reasons), found.table, found.facts)


def agrees(test: "Test", found: TestVerdict, other_references: bool) -> bool:
    """Whether the result of ReFrame agrees with the verdict.

    A stage of ReFrame fails for a verdict of DISTURBED or worse. Its performance stage fails for NOT JUDGED too, where
    each value must have a reference.
    """
    if test.result in ("", "pass"):
        return True
    verdict = test.stored.found.verdict if test.stored is not None else found.verdict
    by_reference = test.phase == "performance"
    if by_reference and (verdict is Verdict.NOT_JUDGED or (other_references and test.stored is None)):
        return True
    return verdict >= Verdict.DISTURBED


def refuse_unknown(references: References, reference_name: str | None) -> None:
    """Raises BadInput if `reference_name` is given and no table has this name."""
    if reference_name and reference_name not in references.names():
        known = ", ".join(references.names()) or "none"
        raise BadInput(f"--reference '{reference_name}' is in none of the references (known: {known})")


def judge_all(run: "Run", references: References, reference_name: str | None) -> list[Judged]:
    """Every test of the run, in its order. Raises BadInput where `reference_name` is given and no table has it."""
    refuse_unknown(references, reference_name)
    return [judge(test, references, reference_name) for test in run.tests]


MOST_CHARACTERS = 300  # of the reasons of an earlier attempt


def decide_attempts(judged: Iterable[Judged]) -> tuple[list[Judged], list[str]]:
    """(the attempt of each test case that counts, the test cases that failed before they passed, with the reasons)."""
    counted, passed_later = [], []
    for attempts in group_attempts(judged):
        one, last = decisive(attempts), attempts[-1]
        failed = next((each for each in attempts[:-1] if each.verdict >= Verdict.DISTURBED), None)
        if failed and last.verdict < Verdict.DISTURBED and not last.test.rerun:
            why = attempt_reasons(failed)
            passed_later.append(f"{failed.test.name}: {why}")
            if one is last:
                before = f"it passed in a retry; the first attempt: {why}"
                one = replace(one, verdict=max(one.verdict, Verdict.WARN), reasons=(before, *one.reasons))
        counted.append(one)
    return counted, passed_later


def group_attempts(judged: Iterable[Judged]) -> list[list[Judged]]:
    """The attempts of each test case in their order. A first attempt of the same name is that of another run."""
    groups: list[list[Judged]] = []
    newest: dict[tuple[str, str, str], list[Judged]] = {}
    for one in judged:
        key = (one.test.name, one.test.partition, one.test.environ)
        if key in newest and one.test.attempt > newest[key][-1].test.attempt:
            newest[key].append(one)
        else:
            newest[key] = [one]
            groups.append(newest[key])
    return groups


def decisive(attempts: Sequence[Judged]) -> Judged:
    """The attempt whose verdict is that of the test case."""
    last = attempts[-1]
    stay = [one for at, one in enumerate(attempts[:-1], 1) if last.test.rerun or not is_excused(one, attempts[at:])]
    return max([last, *stay], key=lambda one: one.verdict)


def is_excused(one: Judged, later: Sequence[Judged]) -> bool:
    """Whether later attempts decide in the place of this one."""
    if one.verdict is Verdict.FAIL:
        return fails_references_only(one) and any(map(is_clean, later))
    return not one.test.is_verdict_lost


def is_clean(one: Judged) -> bool:
    """Whether an attempt is PASS or WARN, and no other process disturbed it."""
    disturbed = any(others.get("disturbances") for others in others_entries(one.test.record or {}))
    return one.verdict <= Verdict.WARN and not disturbed


def fails_references_only(one: Judged) -> bool:
    """Whether a FAIL consists of cells outside their references only."""
    record, check = one.test.record, one.test.check
    if record is None or one.has_wrong_data:
        return False
    beyond = [*one.facts, *check.reasons, *record_reasons(record, check.testcase)]
    cells = (cell for _, matrix in one.matrices for cell in matrix.cells.values() if cell.verdict is Verdict.FAIL)
    return not any(each.verdict is Verdict.FAIL for each in beyond) and all(
        cell.deviation is not None for cell in cells
    )


def attempt_reasons(one: Judged) -> str:
    """Why an attempt is not PASS, with the worst cell of each matrix."""
    cells = (cell.reason for _, matrix in one.matrices for _, cell in matrix.worst_cells(1)[0])
    return "; ".join([*one.reasons, *cells])[:MOST_CHARACTERS]
