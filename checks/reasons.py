"""Reasons of a check for its verdict: what it found that no record contains. Plain Python: nothing here runs anything.

FAIL is a statement about the machine: a promised GPU is missing, a link class changed. All else that keeps a test from
its verdict is INCOMPLETE: a missing table, a job that timed out, a promise that cannot be read.
"""

from linkmatrix.errors import clean
from linkmatrix.judge.disturbances import beside
from linkmatrix.judge.verdicts import Reason, Verdict

MOST = 8  # sentences in one message


def failed(*sentences):
    """FAIL, once per sentence."""
    return [Reason(Verdict.FAIL, one) for one in sentences]


def missing(*sentences):
    """INCOMPLETE, once per sentence."""
    return [Reason(Verdict.INCOMPLETE, one) for one in sentences]


def disturbed(*sentences):
    """DISTURBED, once per sentence."""
    return [Reason(Verdict.DISTURBED, one) for one in sentences]


def unlike(found, sentence):
    """The reason where a fact of the machine is not as promised: FAIL, and INCOMPLETE where the fact is not known."""
    return missing(sentence) if found in (None, "", "unknown") else failed(sentence)


def too_slow(result, sentence):
    """The reason where a figure of a result misses a promise: DISTURBED where other processes used its nodes."""
    others = beside(result)
    return disturbed(f"{sentence}; {others[0]}") if others else failed(sentence)


def listed(sentences):
    """The first sentences as one text, without the characters by which a program steers a terminal.

    ReFrame's JUnit file takes no such characters: the session would end over them.
    """
    more = len(sentences) - MOST
    return clean("; ".join(sentences[:MOST]) + (f"; and {more} more" if more > 0 else ""))
