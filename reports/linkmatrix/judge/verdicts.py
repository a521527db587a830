"""What a verdict is: from good to bad, and which exit code it has. Where a cell gets its own is `rules`."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from ..references.tables import Reference


class Verdict(IntEnum):
    """From good to bad: the worst of several is their maximum."""

    PASS = 0
    WARN = 1
    NO_VERDICT = 2
    FAIL = 3


EXIT_CODES = {Verdict.PASS: 0, Verdict.WARN: 0, Verdict.NO_VERDICT: 3, Verdict.FAIL: 1}


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
        """Was it measured, and nothing but the reference is missing?"""
        return self.verdict is Verdict.NO_VERDICT and self.value is not None and self.reference is None


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """FAIL > NO VERDICT > WARN > PASS; of none at all, NO VERDICT."""
    return max(verdicts, default=Verdict.NO_VERDICT)
