"""Short forms of a check's reasons for assertions: sentences or verdicts."""

from linkmatrix.judge.verdicts import WORDS


def said(reasons):
    """The sentence of each reason."""
    return [one.sentence for one in reasons]


def verdicts(reasons):
    """The distinct verdict words of the reasons, the worst first."""
    return [WORDS[one] for one in sorted({one.verdict for one in reasons}, reverse=True)]
