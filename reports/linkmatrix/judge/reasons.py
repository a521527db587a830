"""Reasons of a check for its verdict: findings that no record contains.

FAIL is a statement about the machine, such as a missing GPU or another link class than expected. INCOMPLETE is all else
that prevents a verdict: a missing table, a job that timed out, an unreadable expected configuration.
"""

from collections.abc import Sequence
from typing import Any

from ..errors import clean
from ..record.names import Result
from .disturbances import beside
from .verdicts import Reason, Verdict

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


def too_slow(result: Result, sentence: str) -> list[Reason]:
    """The reason if a value misses its limit: FAIL; DISTURBED if other processes used the nodes of the result."""
    others = beside(result)
    return disturbed(f"{sentence}; {others[0]}") if others else failed(sentence)


def listed(sentences: Sequence[str]) -> str:
    """The first MOST sentences as one text, without control characters.

    Control characters in ReFrame's JUnit file would end the session.
    """
    more = len(sentences) - MOST
    return clean("; ".join(sentences[:MOST]) + (f"; and {more} more" if more > 0 else ""))
