"""Errors whose message is a sentence for the user, and functions that print text safely."""

import re
import sys
from typing import TextIO

#: Characters that control a terminal, end a line, change the direction of writing, are invisible, or are incomplete.
#: Joiners are allowed, because some scripts need them.
UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"
    r"\U000e0000-\U000e007f]+"
)

#: {sign in printed sentences: its replacement on a terminal with ASCII only}
ASCII = str.maketrans({"×": "x", "µ": "u", "…": "~", "–": "-", "✓": "+", "✗": "x", "σ": "sigma", "·": "*"})


class BadInput(ValueError):  # noqa: N818  the name of the same error in src/
    """A file, option or table cannot be used.

    The message is one sentence, with the name of the file, option or table, and the remedy.
    """


class LaterVersionError(BadInput):
    """A file has a format that only later versions of linkmatrix can read."""

    def __init__(self, form: str) -> None:
        super().__init__(f"its format, {form}, is newer than this version: update linkmatrix")


class Held(Exception):  # noqa: N818
    """Another process holds a lock. The message is one sentence with the process and its start time."""


def clean(text: str) -> str:
    """The text as one line. A blank replaces each of the UNPRINTABLE characters."""
    return UNPRINTABLE.sub(" ", text)


def say(*lines: object, to: TextIO | None = None, flush: bool = False) -> None:
    """Prints each of `lines` as one clean line. Completes the names of programs in commands; see `runnable`.

    All commands print with this function or with `show.screen`.
    to: the stream; by default standard output.
    """
    from .invocation import runnable

    stream = to or sys.stdout
    for line in lines:
        print(clean(runnable(str(line))), file=stream)
    if flush:
        stream.flush()


def to_ascii(text: str) -> str:
    """The text in ASCII. A question mark replaces each character without a similar ASCII character."""
    return text.translate(ASCII).encode("ascii", "replace").decode()
