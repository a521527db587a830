"""The summary of a run, in at most MOST_LINES lines of a terminal. `linkmatrix show` prints the matrices."""

from collections.abc import Sequence
from typing import TextIO

from ..judge.verdicts import Verdict
from ..runs import judging
from ..runs.judging import Judged
from . import headlines, kinds, notices, steps, words
from .screen import Screen

MOST_LINES = 25
MOST_LINES_EACH = 3  # of a finding
FEWEST_KINDS = 3  # printed even if there is no room
FEWEST_FINDINGS = 1  # printed even if there is no room


def show(
    judged: list[Judged], rest: Sequence[str] = (), file: TextIO | None = None, width: int | None = None, more: int = 0
) -> None:
    """Prints machine, kinds, findings, verdict, meaning and next step.

    rest: lines after them, not wrapped. more: how many lines the caller adds.
    """
    screen = Screen(file, width)
    verdict, found = judging.overall(judged), headlines.headlines(judged)
    top = [*notices.lines(judged), *filter(None, [machine(judged)])]
    bottom = [steps.meaning(verdict, judged), *next_step(verdict, judged, found)]
    used = 1 + len(rest) + more + sum(len(screen.wrapped(line)) for line in [*top, *bottom])
    room = MOST_LINES - used - 2 - (MOST_LINES_EACH + 1 if found else 0)  # 2: the heads, and how many kinds more
    most = max(FEWEST_KINDS, min(kinds.MOST_KINDS, room))
    table = kinds.lines(kinds.kinds(judged), screen.glyphs, screen.console.width, most)
    for line in top:
        screen.print(line, "bold")
    for line in table:
        screen.print(screen.text(line))
    for line in of_findings(screen, found, MOST_LINES - used - len(table)):
        screen.print(screen.text(line))
    screen.print(screen.badge(verdict) + screen.text(f"  {words.tally(judged)}"))
    for line in bottom:
        screen.print(line)
    for line in rest:
        screen.print(screen.text(line))


def machine(judged: Sequence[Judged]) -> str:
    """The machine, its software and the time, of all records of a run; "" without a record."""
    records = notices.records_of(judged)
    if not records:
        return ""
    first = min(records, key=lambda record: str(record["started"]))
    others = [text for text in dict.fromkeys(map(words.measured, records)) if text != words.measured(first)]
    return "; ".join([words.provenance(first), *(f"also {text}" for text in others)])


def of_findings(screen: Screen, found: Sequence[headlines.Headline], room: int) -> list[str]:
    """The sentences of the most urgent findings, in at most `room` lines."""
    lines: list[str] = []
    shown = 0
    for one in found[: headlines.MOST]:
        more = screen.wrapped(one.text, indent=2, hang=2)
        more = more if len(more) <= MOST_LINES_EACH else [*more[: MOST_LINES_EACH - 1], "    …"]
        if shown >= FEWEST_FINDINGS and len(lines) + len(more) >= room:
            break
        lines, shown = [*lines, *more], shown + 1
    rest = len(found) - shown
    return [*lines, *([f"  and {rest} more: linkmatrix show"] if rest else [])]


def next_step(verdict: Verdict, judged: list[Judged], found: Sequence[headlines.Headline]) -> list[str]:
    """ "Next step: …", one step with its command; nothing after PASS. An output without the list of steps needs it."""
    if verdict is Verdict.INCOMPLETE and (known := steps.steps(verdict, judged, found)):
        return [f"Next step: {known[0]}"]
    return steps.next_step(verdict, judged, found)
