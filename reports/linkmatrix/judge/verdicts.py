"""The six verdicts, from good to bad, with word, meaning, next step and exit code. `rules` decides those of cells."""

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
    """From good to bad: the worst of several verdicts is their maximum. Only FAIL is a statement about hardware."""

    PASS = 0
    WARN = 1
    NOT_JUDGED = 2
    DISTURBED = 3
    INCOMPLETE = 4
    FAIL = 5


WORDS = {verdict: verdict.name.replace("_", " ") for verdict in Verdict}
OF_WORD = {word: verdict for verdict, word in WORDS.items()}
MEANINGS = {
    Verdict.PASS: "measured, data verified, inside the reference",
    Verdict.WARN: (
        "inside the reference, but the median is uncertain, some samples are slow, or the cell is slower than its"
        " link class"
    ),
    Verdict.NOT_JUDGED: "measured and verified, but no reference describes the measurement",
    Verdict.DISTURBED: "another process used the node, and a cell is slow or intermittent",
    Verdict.INCOMPLETE: "the run began, and a cell, table, reference, test or rank is missing",
    Verdict.FAIL: (
        "outside the reference, wrong data, intermittent, more than the path can carry, path changed, or endpoint lost"
    ),
}
BASELINE = "linkmatrix baseline"
WAIT = "linkmatrix measure --wait-idle 600"
#: The one step that follows a verdict, in every output; docs/verdicts.md has the same table. {who}: a process.
NEXT_STEPS = {
    Verdict.PASS: "",
    Verdict.WARN: "Watch it: linkmatrix history shows whether it gets worse.",
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
    """A reason outside the cells that limits the verdict of a test: the best verdict it allows, and a sentence."""

    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class CellVerdict:
    """A cell with its verdict and the reason, one sentence; "" for PASS.

    value: in the matrix's unit, None where nothing was measured. deviation: value / reference - 1, None without one.
    """

    verdict: Verdict
    reason: str = ""
    value: float | None = None
    reference: Reference | None = None
    deviation: float | None = None

    @property
    def unjudged(self) -> bool:
        """Whether the cell was measured and lacks only a reference."""
        return self.value is not None and self.reference is None and self.verdict in UNREFERENCED


#: Verdicts of a cell that was measured and has no reference: no table is named, or the named table lacks the cell.
UNREFERENCED = (Verdict.NOT_JUDGED, Verdict.INCOMPLETE)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of the verdicts; INCOMPLETE without any."""
    return max(verdicts, default=Verdict.INCOMPLETE)


MOST = 8  # sentences in one message


def failed(*sentences: str) -> list[Reason]:
    """A FAIL reason per sentence."""
    return [Reason(Verdict.FAIL, one) for one in sentences]


def missing(*sentences: str) -> list[Reason]:
    """An INCOMPLETE reason per sentence."""
    return [Reason(Verdict.INCOMPLETE, one) for one in sentences]


def disturbed(*sentences: str) -> list[Reason]:
    """A DISTURBED reason per sentence."""
    return [Reason(Verdict.DISTURBED, one) for one in sentences]


def unlike(found: Any, sentence: str) -> list[Reason]:
    """The reason if a fact of the machine differs from the expected configuration: FAIL; INCOMPLETE if unknown."""
    return missing(sentence) if found in (None, "", "unknown") else failed(sentence)


def joined(sentences: Sequence[str]) -> str:
    """The first MOST sentences as one text, without control characters.

    Control characters in ReFrame's JUnit file would end the session.
    """
    return clean("; ".join(first(sentences, MOST)))
