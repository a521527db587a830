"""The six verdicts, best first: word, meaning, next step and exit code. `rules` decides the verdicts of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import clean
from ..record.units import first

if TYPE_CHECKING:
    from ..references.reading import Reference


class Verdict(IntEnum):
    """The verdicts, best first: `max` returns the worst. Only FAIL is a statement about hardware."""

    PASS = 0
    WARN = 1
    NOT_JUDGED = 2
    DISTURBED = 3
    INCOMPLETE = 4
    FAIL = 5


WORDS = {verdict: verdict.name.replace("_", " ") for verdict in Verdict}
BY_WORD = {word: verdict for verdict, word in WORDS.items()}
MEANINGS = {
    Verdict.PASS: "measured, data verified, within the tolerance of the reference",
    Verdict.WARN: (
        "within the tolerance, but the median is uncertain, some samples are slow, or the cell is slower than its"
        " link class"
    ),
    Verdict.NOT_JUDGED: "measured and verified, but there is no valid reference to compare with",
    Verdict.DISTURBED: "another process used the node, and a cell is slow or intermittent",
    Verdict.INCOMPLETE: "the run began, and a cell, a reference, a table of references, a test or a rank is missing",
    Verdict.FAIL: (
        "value outside its tolerance, wrong data, intermittent link, impossible value, changed path, or lost endpoint"
    ),
}
BASELINE = "linkmatrix baseline"
WAIT = "linkmatrix measure --wait-idle 600"
#: The one step that follows a verdict, in every output; docs/verdicts.md has the same table. {who}: a process.
NEXT_STEPS = {
    Verdict.PASS: "",
    Verdict.WARN: "Run linkmatrix history to see whether the values get worse.",
    Verdict.NOT_JUDGED: f"Adopt references of this machine from six runs: {BASELINE}",
    Verdict.DISTURBED: f"Measure again without {{who}}, or wait for its end: {WAIT}",
    Verdict.INCOMPLETE: "Fix the run, then measure again.",
    Verdict.FAIL: "Locate the faulty component, then repair it: linkmatrix diagnose.",
}
EXIT_CODES = {
    Verdict.PASS: 0,
    Verdict.WARN: 0,
    Verdict.NOT_JUDGED: 0,  # 3 in acceptance
    Verdict.DISTURBED: 3,
    Verdict.INCOMPLETE: 3,
    Verdict.FAIL: 1,
}


class Reason(NamedTuple):
    """A sentence about a whole test, and the best verdict that the test can have for this reason."""

    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class CellVerdict:
    """The verdict of a cell.

    reason: a sentence; "" for PASS.
    value: the measured value, in the matrix's unit; None if the cell was not measured.
    reference: the reference of the cell; None without a reference.
    deviation: value / reference - 1; None without a reference.
    """

    verdict: Verdict
    reason: str = ""
    value: float | None = None
    reference: Reference | None = None
    deviation: float | None = None

    @property
    def unjudged(self) -> bool:
        """Whether the cell was measured, but has no reference."""
        return self.value is not None and self.reference is None and self.verdict in UNREFERENCED


#: Verdicts of a measured cell without a reference. NOT_JUDGED: the partition names no table. INCOMPLETE: the table
#: lacks the cell.
UNREFERENCED = (Verdict.NOT_JUDGED, Verdict.INCOMPLETE)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of the verdicts; INCOMPLETE if there are none."""
    return max(verdicts, default=Verdict.INCOMPLETE)


MAX_SENTENCES = 8  # in one message


def failed(*sentences: str) -> list[Reason]:
    """A reason with the verdict FAIL per sentence."""
    return [Reason(Verdict.FAIL, sentence) for sentence in sentences]


def missing(*sentences: str) -> list[Reason]:
    """A reason with the verdict INCOMPLETE per sentence."""
    return [Reason(Verdict.INCOMPLETE, sentence) for sentence in sentences]


def disturbed(*sentences: str) -> list[Reason]:
    """A reason with the verdict DISTURBED per sentence."""
    return [Reason(Verdict.DISTURBED, sentence) for sentence in sentences]


def mismatch(found: Any, sentence: str) -> list[Reason]:
    """A reason about a fact of the machine that differs from the expected configuration.

    The verdict is FAIL. If the fact is unknown (`found` is None, "" or "unknown"), the verdict is INCOMPLETE.
    """
    return missing(sentence) if found in (None, "", "unknown") else failed(sentence)


def joined(sentences: Sequence[str]) -> str:
    """The first MAX_SENTENCES sentences in one line, without control characters.

    A control character in ReFrame's JUnit file would end ReFrame's session.
    """
    return clean("; ".join(first(sentences, MAX_SENTENCES)))
