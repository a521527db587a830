"""The attempt that counts where ReFrame ran a test case several times.

A FAIL stays, unless it consists of cells outside their references only and a later attempt is an undisturbed PASS or
WARN: then the test is WARN. An attempt whose files are lost stays INCOMPLETE. Of all other attempts the last counts.
`--reruns` and `--duration` repeat what passed too: there the worst attempt counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..judge.disturbances import polls
from ..judge.test_verdict import reasons_of
from ..judge.verdicts import Verdict
from .judging import Judged

MOST_CHARACTERS = 300  # of the reasons of an earlier attempt


def after_retries(judged: Iterable[Judged]) -> tuple[list[Judged], list[str]]:
    """(the attempt of each test case that counts, the test cases that failed before they passed, with the reasons)."""
    counted, passed_later = [], []
    for attempts in attempts_of(judged):
        one, last = decisive(attempts), attempts[-1]
        failed = next((each for each in attempts[:-1] if each.verdict >= Verdict.DISTURBED), None)
        if failed and last.verdict < Verdict.DISTURBED and not last.test.rerun:
            why = reasons_in(failed)
            passed_later.append(f"{failed.test.name}: {why}")
            if one is last:
                before = f"it passed when it was repeated; the first attempt: {why}"
                one = replace(one, verdict=max(one.verdict, Verdict.WARN), reasons=(before, *one.reasons))
        counted.append(one)
    return counted, passed_later


def attempts_of(judged: Iterable[Judged]) -> list[list[Judged]]:
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
        return is_of_references(one) and any(map(is_clean, later))
    return not one.test.is_verdict_lost


def is_clean(one: Judged) -> bool:
    """Whether an attempt is PASS or WARN, and no other process disturbed it."""
    disturbed = any(others.get("disturbances") for others in polls(one.test.record or {}))
    return one.verdict <= Verdict.WARN and not disturbed


def is_of_references(one: Judged) -> bool:
    """Whether a FAIL consists of cells outside their references only."""
    record, check = one.test.record, one.test.check
    if record is None or one.wrong_data:
        return False
    beyond = [*one.facts, *check.reasons, *reasons_of(record, check.testcase)]
    cells = (cell for _, matrix in one.matrices for cell in matrix.cells.values() if cell.verdict is Verdict.FAIL)
    return not any(each.verdict is Verdict.FAIL for each in beyond) and all(
        cell.deviation is not None for cell in cells
    )


def reasons_in(one: Judged) -> str:
    """Why an attempt is not PASS, with the worst cell of each matrix."""
    cells = (cell.reason for _, matrix in one.matrices for _, cell in matrix.marked(1)[0])
    return "; ".join([*one.reasons, *cells])[:MOST_CHARACTERS]
