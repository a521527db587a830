"""Decides which nodes are known good, and why the others are not. An unmeasured node is never known good.

For each question, the newest answer of a run that measured the node alone counts. A node is known good if

- no newest answer is FAIL, and none of the last days is INCOMPLETE,
- one answer of the last days at least is PASS or WARN, about the driver and the components that the newest records
  contain,
- nothing on the node is flagged, by runs of several nodes either, and
- no cell of the node was DISTURBED three times in a row.

NOT JUDGED and DISTURBED are no answers: what was known before stays. A FAIL counts
until the same question is answered. A FAIL of the present components and driver counts until they answer it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..judge.verdicts import WORDS, Verdict
from ..record import units
from .answers import Answer
from .bound import SKEW, short
from .questions import CLEAN, Question
from .suspects import Suspect

DAY = 86400
#: Why a node without an answer is not known good, by its newest verdict.
NO_ANSWER = {Verdict.NOT_JUDGED: "was not judged", Verdict.DISTURBED: "was disturbed"}
REPLACED = "was not judged with its present components and driver"
AHEAD = "was measured by a clock that was ahead of today's: its age is unknown"


class Standing(NamedTuple):
    """How nodes stand. suspect: {node: why it is flagged}. unknown: {node: why it is neither good nor flagged}."""

    good: list[str]
    suspect: dict[str, str]
    unknown: dict[str, str]


def standing(
    answers: Iterable[Answer], suspects: Iterable[Suspect], disturbed: Mapping[str, str], now: float, days: int
) -> Standing:
    """How the nodes with answers and the flagged nodes stand.

    disturbed: {node: why it cannot be judged}. days: in which an answer must have been. An answer of a clock that was
    ahead does not count: whatever came after it would seem to be before it.
    """
    of_node: dict[str, list[Answer]] = {}
    for one in answers:
        of_node.setdefault(short(one.node), []).append(one)
    suspect = {short(one.node): one.reason for one in reversed(list(suspects))}
    good, unknown = [], {}
    for node, found in of_node.items():
        if node in suspect:
            continue
        why = disturbed.get(node) or not_good(found, now, days)
        if why:
            unknown[node] = why
        else:
            good.append(node)
    return Standing(sorted(good), dict(sorted(suspect.items())), dict(sorted(unknown.items())))


def not_good(answers: Iterable[Answer], now: float, days: int) -> str:
    """Why a node is not known good; "" if it is."""
    every = list(answers)
    found = [one for one in every if one.started <= now + SKEW]
    if not found:
        return AHEAD

    def age(one: Answer) -> int:
        return max(0, int(now - one.started)) // DAY

    def ago(one: Answer) -> str:
        return f"{units.counted(age(one), 'day')} ago"

    there = present(found)
    of_present = newest(one for one in found if one.components <= there)
    bad = [one for one in [*newest(found), *of_present] if one.verdict not in CLEAN]
    bad = [one for one in bad if one.verdict is Verdict.FAIL or age(one) < days]
    if bad:
        worst = max(bad, key=lambda one: (one.verdict, one.started, one.question))
        return f"was {WORDS[worst.verdict]} {ago(worst)} ({worst.question})"
    passed = [one for one in of_present if one.measured and one.verdict in CLEAN]
    if not passed:
        last = max(found, key=lambda one: (one.started, one.verdict))
        replaced = any(one.measured and one.verdict in CLEAN for one in newest(found))
        return REPLACED if replaced else f"{NO_ANSWER.get(last.verdict, 'was not measured')} {ago(last)}"
    last = max(passed, key=lambda one: one.started)
    if age(last) >= days:
        return f"was measured {ago(last)}, and only the last {units.counted(days, 'day')} count"
    return ""


def newest(answers: Iterable[Answer]) -> list[Answer]:
    """The newest answer to each question; of several at the same time the worst."""
    found: dict[Question, Answer] = {}
    for one in answers:
        if one.verdict not in NO_ANSWER:
            found[one.question] = max(one, found.get(one.question, one), key=lambda of: (of.started, of.verdict))
    return list(found.values())


def present(answers: Iterable[Answer]) -> frozenset[tuple[str, str]]:
    """The newest identity of each slot, and the newest driver; one test may measure some of the devices only."""
    found: dict[str, str] = {}
    for one in sorted(answers, key=lambda one: one.started):
        found.update(one.components)
    return frozenset(found.items())
