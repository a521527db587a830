"""Which nodes are known to be good, and why the others are not: none is good because nobody looked.

A node is known good where the newest run that measured it alone passed all its tests there, that run is not too old,
and no device of it is suspect. What a run of several nodes finds fault with makes suspects of those that it can name.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..judge.verdicts import Verdict
from ..record import units
from .bound import SKEW, short
from .suspects import Suspect

DAY = 86400
#: Why a verdict is not good, in words.
NOT_GOOD = {
    Verdict.NOT_JUDGED: "was not judged",
    Verdict.DISTURBED: "was disturbed",
    Verdict.INCOMPLETE: "was not measured whole",
    Verdict.FAIL: "failed",
}


class Run(NamedTuple):
    """What a run said of a node that it measured alone: the worst verdict; started: in seconds since 1970."""

    node: str
    started: int
    verdict: Verdict


class Standing(NamedTuple):
    """How nodes stand. suspect: {node: why}. unknown: {node: why it is neither known good nor suspect}."""

    good: list[str]
    suspect: dict[str, str]
    unknown: dict[str, str]


def of_rows(rows: Iterable[tuple[str, int, int]]) -> list[Run]:
    """Of (node, when, verdict) of each test of one run that was of a node alone: the worst on each node."""
    found: dict[str, Run] = {}
    for node, started, verdict in rows:
        before = found.get(node, Run(node, started, Verdict.PASS))
        found[node] = Run(node, max(started, before.started), max(Verdict(verdict), before.verdict))
    return list(found.values())


def standing(runs: Iterable[Run], suspects: Iterable[Suspect], now: float, days: int) -> Standing:
    """How the nodes of the runs and those that are suspect stand; days: in which a run must have been.

    A run of a clock that was ahead counts as older than all others: what came after it would seem to be before it.
    """

    def order(run: Run) -> tuple[bool, int, Verdict]:
        return run.started <= now + SKEW, run.started, run.verdict

    newest: dict[str, Run] = {}
    for run in runs:
        node = short(run.node)
        newest[node] = max(run, newest.get(node, run), key=order)
    suspect = {short(one.node): one.reason for one in reversed(list(suspects))}
    good, unknown = [], {}
    for node, run in newest.items():
        old = max(0, int(now - run.started)) // DAY
        if node in suspect:
            continue
        if run.started > now + SKEW:
            unknown[node] = "was measured by a clock that was ahead of today's: nobody knows when"
        elif run.verdict in NOT_GOOD:
            unknown[node] = f"{NOT_GOOD[run.verdict]} {units.counted(old, 'day')} ago"
        elif old >= days:
            unknown[node] = f"was measured {units.counted(old, 'day')} ago, and {days} count"
        else:
            good.append(node)
    return Standing(sorted(good), dict(sorted(suspect.items())), dict(sorted(unknown.items())))
