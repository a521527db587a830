"""The answers of a test about a node: per test case its verdict, its questions, and whether it was disturbed."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..judge.verdicts import Verdict
from . import questions
from .judging import Judged
from .questions import Question


class Case(NamedTuple):
    """A test case of a test. whole: every cell was measured undisturbed. asked: (link class, path) of each question."""

    verdict: Verdict
    whole: bool
    disturbed: bool
    asked: tuple[tuple[str, str], ...]


class Answer(NamedTuple):
    """The answer of a test to a question about a node that the test measured alone.

    started: seconds since 1970. measured: False if the question is about the test itself and not about a test case.
    """

    node: str
    question: Question
    started: int
    verdict: Verdict
    measured: bool = True


def cases_of(one: Judged) -> dict[str, Case]:
    """{test case: its answers}; the verdict is the worst of all sizes."""
    found: dict[str, Case] = {}
    record = one.test.record
    for result, matrix in one.matrices:
        assert record is not None
        name, verdict = result["testcase"], one.of_matrix(matrix)
        whole = bool(result["complete"]) and verdict is not Verdict.DISTURBED
        asked = questions.of_result(record, result, one.test.variant, matrix.matrix.classes)
        before = found.get(name, Case(Verdict.PASS, True, False, ()))
        found[name] = Case(
            max(before.verdict, verdict),
            before.whole and whole,
            before.disturbed or bool(questions.disturbed_nodes(record, result)),
            tuple(sorted({*before.asked, *((of.link_class, of.path) for of in asked)})),
        )
    return found


def of_json(content: Mapping[str, Any]) -> dict[str, Case]:
    """The same as `cases_of`, from the index."""
    return {
        name: Case(Verdict(verdict), bool(whole), bool(disturbed), tuple((link, path) for link, path in asked))
        for name, (verdict, whole, disturbed, asked) in content.items()
    }


def of_test(node: str, test: str, started: int, verdict: int, cases: Mapping[str, Case]) -> Iterator[Answer]:
    """The answers of a test about a node.

    If the verdict of the test is worse than that of each test case, it answers a question of its own, the test's name.
    A test case that another process disturbed answers nothing but FAIL.
    """
    for name, case in cases.items():
        answer = case.verdict if case.verdict is Verdict.FAIL or not case.disturbed else Verdict.DISTURBED
        for link_class, path in case.asked or [("", "")]:
            yield Answer(node, Question(name, link_class, path), started, answer)
    beyond = verdict > max((case.verdict for case in cases.values()), default=-1)
    if beyond or verdict in questions.CLEAN:
        yield Answer(node, Question(test), started, Verdict(verdict), measured=False)
