"""Reasons of a check for its verdict: findings that no record contains. Plain Python that starts no programs.

FAIL is a statement about the machine, such as a missing GPU or another link class than expected. INCOMPLETE is all else
that prevents a verdict: a missing table, a job that timed out, an unreadable expected configuration.
"""

from linkmatrix.errors import clean
from linkmatrix.judge.disturbances import beside
from linkmatrix.judge.verdicts import Reason, Verdict

MOST = 8  # sentences in one message


def failed(*sentences):
    """A FAIL reason per sentence."""
    return [Reason(Verdict.FAIL, one) for one in sentences]


def missing(*sentences):
    """An INCOMPLETE reason per sentence."""
    return [Reason(Verdict.INCOMPLETE, one) for one in sentences]


def disturbed(*sentences):
    """A DISTURBED reason per sentence."""
    return [Reason(Verdict.DISTURBED, one) for one in sentences]


def unlike(found, sentence):
    """The reason if a fact of the machine differs from the expected configuration: FAIL; INCOMPLETE if unknown."""
    return missing(sentence) if found in (None, "", "unknown") else failed(sentence)


def too_slow(result, sentence):
    """The reason if a value misses its limit: FAIL; DISTURBED if other processes used the nodes of the result."""
    others = beside(result)
    return disturbed(f"{sentence}; {others[0]}") if others else failed(sentence)


def listed(sentences):
    """The first MOST sentences as one text, without control characters.

    Control characters in ReFrame's JUnit file would end the session.
    """
    more = len(sentences) - MOST
    return clean("; ".join(sentences[:MOST]) + (f"; and {more} more" if more > 0 else ""))
