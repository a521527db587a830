"""The verdicts of the tests of a run, and of test cases with several attempts.

The verdict of a test is the verdict that its check stored. With other references, the test is judged again.

ReFrame may repeat a failed test case (`--max-retries`). The first rule that applies gives the verdict of the test case:

1. An attempt is FAIL and not excused: FAIL.
2. The files of an attempt are lost: INCOMPLETE.
3. The last attempt passed after a failed attempt: WARN.
4. Otherwise: the verdict of the last attempt.

A FAIL is excused if its only faults are cells outside their tolerances, and a later attempt is an undisturbed PASS or
WARN.

With `--reruns` and `--duration`, ReFrame repeats all tests. The verdict is then the verdict of the worst attempt.
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

    * evaluation: the verdicts of the cells; None without a record
    * reasons: sentences on why the test is not PASS. Reasons of cells and facts are not included.
    * reference: the table of references with which the cells were compared; "" if there is none
    * facts: facts of the record that prevent a PASS, other than values of cells
    """

    test: "Test"
    verdict: Verdict
    evaluation: Evaluation | None = None
    reasons: tuple[str, ...] = ()
    reference: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def began(self) -> bool:
        """Whether the job of the test began. True for a record without ReFrame."""
        return self.test.began

    @property
    def matrices(self) -> list[tuple[Result, MatrixVerdict]]:
        """Returns [(result of the record, verdicts of its cells)]."""
        if self.evaluation is None or self.test.record is None:
            return []
        return list(zip(self.test.record["results"], self.evaluation.matrices, strict=True))

    @property
    def has_wrong_data(self) -> bool:
        """Whether wrong data arrived in any cell."""
        return any(has_status(result, "corrupt") for result, _ in self.matrices)

    def matrix_verdict(self, matrix: MatrixVerdict) -> Verdict:
        """The verdict of one matrix of the test.

        If a test has only one matrix, the matrix has the verdict of the test.
        """
        if len(self.matrices) == 1:
            return self.verdict
        place = next((at for at, (_, one) in enumerate(self.matrices) if one is matrix), None)
        return worst([matrix.verdict, *(fact.verdict for fact in self.facts if fact.result in (None, place))])

    @property
    def reports_state_only(self) -> bool:
        """Whether the record is imported and contains no measurement.

        Such a record has connections or states of devices only.
        """
        return self.test.record is not None and is_import_without_matrix(self.test.record)

    @property
    def verdict_beyond_cells(self) -> Verdict | None:
        """The verdict of the test, if the verdict is worse than the verdicts of all matrices; otherwise None.

        The reason is then not in the cells. Examples: the program failed, or an expected GPU is missing. For a test
        without a matrix, the result is the verdict of the test.
        """
        verdicts = [self.matrix_verdict(matrix) for _, matrix in self.matrices]
        return self.verdict if not verdicts or self.verdict > max(verdicts) else None


def overall(judged: Iterable[Judged]) -> Verdict:
    """The verdict of a run: the worst verdict of its tests. Tests of nodes that are out of service do not count.

    The run is INCOMPLETE if the machine is too small for all tests.
    """
    tests = [one for one in judged if not one.test.out_of_service]
    if all(one.test.too_small for one in tests):
        return Verdict.INCOMPLETE
    return worst(one.verdict for one in tests)


def exit_code(judged: Sequence[Judged], verdict: Verdict | None = None, acceptance: bool = False) -> int:
    """The exit code of a run: the code of its verdict, or NOTHING_BEGAN if no job began.

    * verdict: the verdict of the run; None to calculate `overall`
    * acceptance: whether NOT JUDGED has the exit code of INCOMPLETE
    """
    verdict = overall(judged) if verdict is None else verdict
    if verdict is Verdict.INCOMPLETE and not any(one.began for one in judged):
        return NOTHING_BEGAN
    if verdict is Verdict.NOT_JUDGED and acceptance:
        return EXIT_CODES[Verdict.INCOMPLETE]
    return EXIT_CODES[verdict]


def judge(test: "Test", references: References, reference_name: str | None) -> Judged:
    """The verdict of a test. reference_name: another table of references; None for the table of the partition.

    The first rule that applies gives the verdict:

    1. The test needs more devices than the partition has, or its node is out of service: NOT JUDGED.
    2. The test ended before its check stored a verdict: INCOMPLETE.
    3. The record of the stored verdict is missing: the worse of INCOMPLETE and the stored verdict.
    4. A verdict is stored, and `reference_name` is None: the stored verdict.
    5. Otherwise, the test is judged again.

    If ReFrame's result does not agree with this verdict, the function returns the worse of INCOMPLETE and this verdict.
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


def agrees(test: "Test", test_verdict: TestVerdict, other_references: bool) -> bool:
    """Whether ReFrame's result agrees with the verdict of linkmatrix.

    * A pass always agrees.
    * A failure agrees if the verdict is DISTURBED or worse.
    * A failure of the performance stage also agrees if references are missing or were replaced.
    """
    if test.result in ("", "pass"):
        return True
    verdict = test.stored.found.verdict if test.stored is not None else test_verdict.verdict
    by_reference = test.phase == "performance"
    if by_reference and (verdict is Verdict.NOT_JUDGED or (other_references and test.stored is None)):
        return True
    return verdict >= Verdict.DISTURBED


def refuse_unknown(references: References, reference_name: str | None) -> None:
    """Raises BadInput if there is no table with the name `reference_name`. The names None and "" are accepted."""
    if reference_name and reference_name not in references.names():
        known = ", ".join(references.names()) or "none"
        raise BadInput(f"--reference '{reference_name}': no table of references has this name (known: {known})")


def judge_all(run: "Run", references: References, reference_name: str | None) -> list[Judged]:
    """Judges all tests of a run, in their order. Raises BadInput if there is no table `reference_name`."""
    refuse_unknown(references, reference_name)
    return [judge(test, references, reference_name) for test in run.tests]


MOST_CHARACTERS = 300  # maximum length of the printed reasons of an attempt


def decide_attempts(judged: Iterable[Judged]) -> tuple[list[Judged], list[str]]:
    """Returns (one judged test per test case, sentences about the test cases that failed before they passed)."""
    counted, passed_later = [], []
    for attempts in group_attempts(judged):
        one, last = decisive(attempts), attempts[-1]
        failed = next((each for each in attempts[:-1] if each.verdict >= Verdict.DISTURBED), None)
        if failed and last.verdict < Verdict.DISTURBED and not last.test.rerun:
            reasons = attempt_reasons(failed)
            passed_later.append(f"{failed.test.name}: {reasons}")
            if one is last:
                first = f"the test passed in a retry; the first attempt: {reasons}"
                one = replace(one, verdict=max(one.verdict, Verdict.WARN), reasons=(first, *one.reasons))
        counted.append(one)
    return counted, passed_later


def group_attempts(judged: Iterable[Judged]) -> list[list[Judged]]:
    """The attempts of each test case, in their order.

    A new group begins if the number of an attempt is not higher than the number of the previous attempt.
    """
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
    """The attempt that gives the verdict of the test case."""
    last = attempts[-1]
    stay = [one for at, one in enumerate(attempts[:-1], 1) if last.test.rerun or not is_excused(one, attempts[at:])]
    return max([last, *stay], key=lambda one: one.verdict)


def is_excused(judged: Judged, later: Sequence[Judged]) -> bool:
    """Whether the later attempts excuse this attempt. An excused attempt does not count."""
    if judged.verdict is Verdict.FAIL:
        return fails_references_only(judged) and any(map(is_clean, later))
    return not judged.test.is_verdict_lost


def is_clean(judged: Judged) -> bool:
    """Whether an attempt is PASS or WARN, and no other process disturbed the attempt."""
    disturbed = any(others.get("disturbances") for others in others_entries(judged.test.record or {}))
    return judged.verdict <= Verdict.WARN and not disturbed


def fails_references_only(judged: Judged) -> bool:
    """Whether a test is FAIL only because of cells outside their tolerances."""
    record, check = judged.test.record, judged.test.check
    if record is None or judged.has_wrong_data:
        return False
    others = [*judged.facts, *check.reasons, *record_reasons(record, check.testcase)]
    if any(reason.verdict is Verdict.FAIL for reason in others):
        return False
    cells = (cell for _, matrix in judged.matrices for cell in matrix.cells.values())
    return all(cell.deviation is not None for cell in cells if cell.verdict is Verdict.FAIL)


def attempt_reasons(judged: Judged) -> str:
    """Why an attempt is not PASS: its reasons and the worst cell of each matrix, as one text."""
    cells = (cell.reason for _, matrix in judged.matrices for _, cell in matrix.worst_cells(1)[0])
    return "; ".join([*judged.reasons, *cells])[:MOST_CHARACTERS]
