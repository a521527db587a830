"""What goes wrong because of what came in, and how it is said; and how any text is, whoever wrote what is in it."""

import re
import sys
from typing import TextIO

#: What steers a terminal, ends a line, turns the direction of writing, is half a character, or is not seen at all, so
#: that two names look the same; joiners stay, which some scripts need.
UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]+"
)


#: What the signs in our own sentences are where a terminal has no more than ASCII.
ASCII = str.maketrans({"×": "x", "µ": "u", "…": "~", "–": "-", "✓": "+", "✗": "x", "σ": "sigma", "·": "*"})


class BadInput(ValueError):  # noqa: N818  a user's mistake is named as one, as in src/
    """A file, option or table cannot be used: one sentence that names it and says the remedy."""


class LaterVersionError(BadInput):
    """A file of a form that came after this version: it is whole, and the way out is another version."""

    def __init__(self, form: str) -> None:
        super().__init__(f"its format, {form}, is newer than this version: update linkmatrix")


class Held(Exception):  # noqa: N818  a state, as BadInput is
    """Another run holds a lock. The sentence names this run and the time since when it holds the lock."""


def clean(text: str) -> str:
    """`text` on one line, without what could steer a terminal, turn the direction of writing or not be encoded."""
    return UNPRINTABLE.sub(" ", text)


def say(*lines: object, to: TextIO | None = None, flush: bool = False) -> None:
    """Prints each on a line of its own, on standard output unless told: a name in it neither steers the terminal nor
    begins a line. Commands print by this or by `show.screen`, and by nothing else.
    """
    from .invocation import runnable

    stream = to or sys.stdout
    for line in lines:
        print(clean(runnable(str(line))), file=stream)
    if flush:
        stream.flush()


def in_ascii(text: str) -> str:
    """`text` in ASCII: what has no like there is a question mark."""
    return text.translate(ASCII).encode("ascii", "replace").decode()
