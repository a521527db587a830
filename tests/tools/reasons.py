"""Reasons of a check, as tests assert them: their sentences, or their verdicts."""

from linkmatrix.judge.verdicts import WORDS


def said(reasons):
    """The sentence of each reason."""
    return [one.sentence for one in reasons]


def verdicts(reasons):
    """The verdict words of the reasons, each once, the worst first."""
    return [WORDS[one] for one in sorted({one.verdict for one in reasons}, reverse=True)]
