"""Paragraphs, badges and lines on a terminal, in its width, its encoding and its colours.

Nothing is shown by colour alone. NO_COLOR and pipes get none, and a terminal that is not UTF-8 gets ASCII.
"""

import re
import textwrap
from typing import TextIO

try:
    from rich.console import Console
    from rich.text import Text
except ModuleNotFoundError:  # a cluster that has no more than ReFrame: the same text without colours
    from .plain import Console, Text

from ..errors import clean, in_ascii
from ..invocation import runnable
from ..judge.verdicts import Verdict
from . import words

#: A command in a sentence, which stays on one line so that it can be copied.
WHOLE = re.compile(r"\S*linkmatrix [a-z]+(?: --?[a-z][a-z-]*(?:[ =][\w:.,/-]+)?)*")
NO_BREAK = "\xa0"
HANG = 2  # columns that further lines of a sentence begin behind its first
VERDICT_STYLES = {
    Verdict.PASS: "bold #3b8fd4",
    Verdict.WARN: "bold black on #ffd8a8",
    Verdict.NOT_JUDGED: "bold underline",
    Verdict.DISTURBED: "bold black on #d9b8e8",
    Verdict.INCOMPLETE: "bold reverse",
    Verdict.FAIL: "bold white on #a84300",
}


class PipeConsole(Console):
    """Leaves a closed pipe to the caller: rich would end the program with exit code 1, which is FAIL here."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Screen:
    """Prints to a text stream, in its width and its encoding."""

    def __init__(self, file: TextIO | None = None, width: int | None = None):
        self.console = PipeConsole(file=file, width=width, highlight=False, markup=False, emoji=False)
        self.ascii = not self.console.encoding.lower().startswith("utf")
        self.glyphs = words.ASCII_GLYPHS if self.ascii else words.GLYPHS

    def text(self, text: str, style: str = "") -> Text:
        """`text` on one line without control characters, and in ASCII where the terminal knows no more."""
        text = clean(runnable(text))
        return Text(in_ascii(text) if self.ascii else text, style)

    def print(self, text: str | Text = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Prints a paragraph, wrapped to the width; a Text is printed as it is. hang: indent of further lines."""
        if isinstance(text, Text):
            self.console.print(trimmed(text), soft_wrap=True)
            return
        for line in self.wrapped(text, indent, hang) or [""]:
            self.console.print(self.text(line, style), soft_wrap=True)

    def wrapped(self, text: str, indent: int = 0, hang: int = 0) -> list[str]:
        """The lines of a paragraph."""
        margin = " " * indent
        whole = WHOLE.sub(lambda found: found[0].replace(" ", NO_BREAK), clean(runnable(text)))
        lines = textwrap.wrap(
            whole,
            max(self.console.width, 2 * indent + 1),
            initial_indent=margin,
            subsequent_indent=margin + " " * hang,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return [line.replace(NO_BREAK, " ") for line in lines]

    def lines(self, *lines: str) -> None:
        """Prints each, wrapped to the width; what is more than its first line begins under it."""
        for line in lines:
            text = line.lstrip(" ")
            self.print(text, indent=len(line) - len(text), hang=HANG)

    def badge(self, verdict: Verdict) -> Text:
        """The verdict in its colour: glyph and word."""
        return self.text(f" {self.glyphs[verdict]} {words.WORDS[verdict]} ", VERDICT_STYLES[verdict])


def trimmed(line: Text) -> Text:
    """`line` without blanks at its end."""
    line.rstrip()
    return line
