"""Paragraphs, badges and lines on a terminal, in its width, its encoding and its colours.

Nothing is shown by colour alone. NO_COLOR and pipes get none, and a terminal that is not UTF-8 gets ASCII.
"""

import contextlib
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

from ..errors import clean, in_ascii
from ..invocation import runnable
from ..judge.verdicts import Verdict
from . import words
from .words import Cell

try:
    from rich.console import Console
    from rich.text import Text

    HAS_RICH = True
except ModuleNotFoundError:  # a cluster that has no more than ReFrame: the same text without colours
    HAS_RICH = False

    class Text:
        """A text of rich without its style."""

        def __init__(self, plain: str = "", style: str = "") -> None:
            self.plain = plain

        def __add__(self, other: "Text") -> "Text":
            return Text(self.plain + other.plain)

        def __str__(self) -> str:
            return self.plain

        def rstrip(self) -> None:
            """Removes the blanks at the end in place, as rich does."""
            self.plain = self.plain.rstrip()

    class Console:
        """A console of rich without colours."""

        color_system = None
        no_color = True

        def __init__(self, file: TextIO | None = None, width: int | None = None, **_: Any) -> None:
            self.file = file or sys.stdout
            self.encoding = getattr(self.file, "encoding", None) or "utf-8"
            self.width = width or shutil.get_terminal_size().columns

        def print(self, text: Text | str = "", **_: Any) -> None:
            """Prints a line, or several."""
            print(text, file=self.file)


#: A command in a sentence, which stays on one line so that it can be copied.
WHOLE = re.compile(r"\S*linkmatrix [a-z]+(?: --?[a-z][a-z-]*(?:[ =][\w:.,/-]+)?)*")
NO_BREAK = "\xa0"
HANG = 2  # columns that further lines of a sentence begin behind its first
FEWEST = 3  # items with a progress bar
Item = TypeVar("Item")
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

    def table(
        self,
        heads: Sequence[Sequence[str]],
        rows: Sequence[tuple[str, Sequence[Cell]]],
        corner: str = "",
        group: int = 1,
    ) -> None:
        """Prints a table in blocks of columns that fit the width, with a glyph behind each cell with a verdict.

        heads: rows of texts; a row with a text per `group` columns spans these columns. rows: (label, cells). corner:
        the head of the labels. group: columns that stay together.
        """
        count = len(rows[0][1])
        margin = max(map(len, [corner, *(label for label, _ in rows)]))
        texts = [*(row for row in heads if len(row) == count), *([cell.text for cell in cells] for _, cells in rows)]
        widths = [2 + max(map(len, column)) for column in zip(*texts, strict=True)]
        start = 0
        while start < count:
            end = start + group
            while end < count and margin + sum(widths[start : end + group]) <= self.console.width:
                end += group
            for at, row in enumerate(heads):
                if len(row) == count:
                    shown = [f"{row[column]:>{widths[column] - 1}} " for column in range(start, end)]
                else:
                    firsts = range(start, end, group)
                    shown = [f" {row[one // group]:^{sum(widths[one : one + group]) - 1}}" for one in firsts]
                self.print(self.text(f"{'' if at else corner:<{margin}}" + "".join(shown), "bold"))
            for label, cells in rows:
                line = self.text(f"{label:<{margin}}", "bold")
                for cell, width in zip(cells[start:end], widths[start:end], strict=True):
                    line += self.cell(cell, width)
                self.print(line)
            start = end

    def cell(self, cell: Cell, width: int) -> Text:
        """A cell of a table with its glyph."""
        glyph = " " if cell.verdict is None else self.glyphs[cell.verdict]
        style = VERDICT_STYLES[cell.verdict] if cell.verdict in words.STRIKING else cell.style
        return self.text(" ") + self.text(f"{cell.text:>{width - 2}}{glyph}", style)

    def badge(self, verdict: Verdict) -> Text:
        """The verdict in its colour: glyph and word."""
        return self.text(f" {self.glyphs[verdict]} {words.WORDS[verdict]} ", VERDICT_STYLES[verdict])


def trimmed(line: Text) -> Text:
    """`line` without blanks at its end."""
    line.rstrip()
    return line


@contextlib.contextmanager
def watched(items: Sequence[Item], what: str, file: TextIO | None = None) -> Iterator[Iterable[Item]]:
    """The items, with a progress bar on `file` (standard error) if that is a terminal."""
    file = file or sys.stderr
    if not HAS_RICH or len(items) < FEWEST or not file.isatty():
        yield items
        return
    from rich.progress import Progress

    with Progress(console=Console(file=file, highlight=False), transient=True) as line:
        yield line.track(items, description=f"reading {what}")
