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
    components: (slot, identity) of each device of the node then, and ("driver", its version).
    """

    node: str
    question: Question
    started: int
    verdict: Verdict
    measured: bool = True
    components: frozenset[tuple[str, str]] = frozenset()


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


def of_test(
    node: str,
    test: str,
    started: int,
    verdict: int,
    cases: Mapping[str, Case],
    components: Mapping[str, str] | None = None,
) -> Iterator[Answer]:
    """The answers of a test about a node.

    components: {slot: identity} and {"driver": its version} of the node then, None if unknown.

    If the verdict of the test is worse than that of each test case, it answers a question of its own, the test's name.
    A disturbed test case, and a test with one, answers neither PASS, WARN nor NOT JUDGED: the answer is DISTURBED.
    """
    there = frozenset((components or {}).items())
    for name, case in cases.items():
        answer = without_disturbed(case.verdict, case.disturbed)
        for link_class, path in case.asked or [("", "")]:
            yield Answer(node, Question(name, link_class, path), started, answer, True, there)
    beyond = verdict > max((case.verdict for case in cases.values()), default=-1)
    if beyond or verdict in questions.CLEAN:
        answer = without_disturbed(Verdict(verdict), any(case.disturbed for case in cases.values()))
        yield Answer(node, Question(test), started, answer, False, there)


def without_disturbed(verdict: Verdict, disturbed: bool) -> Verdict:
    """The answer of a verdict: a disturbed measurement does not prove that the node is healthy."""
    return Verdict.DISTURBED if disturbed and verdict <= Verdict.NOT_JUDGED else verdict
