"""Prints paragraphs, badges and tables in the width, encoding and colours of a terminal.

No information is in colours alone. Pipes and terminals with NO_COLOR get no colours. Output that is not UTF-8 is ASCII.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from ..errors import clean, to_ascii
from ..invocation import runnable
from ..judge.verdicts import Verdict
from . import words

if TYPE_CHECKING:
    from .words import Cell

DEFAULT_WIDTH = 80  # columns, without COLUMNS and without a terminal
#: A command in a sentence. It stays on one line, so that users can copy it.
WHOLE = re.compile(r"(?:\S+ -m )?\S*linkmatrix [a-z]+(?: --?[a-z][a-z-]*(?:[ =][\w:.,/-]+)?)*")
NO_BREAK = "\xa0"
HANG = 2  # indent of the further lines of a sentence
MIN_ITEMS = 3  # for a progress bar
Item = TypeVar("Item")
VERDICT_STYLES = {
    Verdict.PASS: "bold #3b8fd4",
    Verdict.WARN: "bold black on #ffe08a",
    Verdict.NOT_JUDGED: "bold underline",
    Verdict.DISTURBED: "bold black on #d9b8e8",
    Verdict.INCOMPLETE: "bold reverse",
    Verdict.FAIL: "bold white on #a84300",
}


class Text:
    """A line of several parts, each with a style."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.parts = ((text, style),)

    def __add__(self, other: Text) -> Text:
        both = Text()
        both.parts = (*self.parts, *other.parts)
        return both

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)


def colour_console(file: TextIO, width: int | None) -> Any:
    """The rich console of a terminal; None for a pipe, or if rich is not installed."""
    if not (os.environ.get("FORCE_COLOR") or file.isatty()):
        return None
    try:
        from rich.console import Console
    except ModuleNotFoundError:  # a cluster may have only ReFrame's dependencies
        return None

    class PipeConsole(Console):
        """A console that raises BrokenPipeError for a closed pipe. rich itself exits with code 1, which means FAIL."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipeConsole(file=file, width=width, highlight=False, markup=False, emoji=False)


def terminal_width() -> int:
    """The width from COLUMNS. Without COLUMNS: from the terminal, or DEFAULT_WIDTH."""
    if (columns := os.environ.get("COLUMNS", "")).isdecimal() and int(columns):
        return int(columns)
    for number in (0, 1, 2):  # standard output may be a pipe to a pager
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(number).columns:
                return columns
    return DEFAULT_WIDTH


class Screen:
    """A text stream (default: standard output) with its width, encoding and colours."""

    def __init__(self, file: TextIO | None = None, width: int | None = None):
        self.file = file or sys.stdout
        self.console = colour_console(self.file, width)
        self.width = width or (self.console.width if self.console else terminal_width())
        self.ascii = not (getattr(self.file, "encoding", None) or "utf-8").lower().startswith("utf")
        self.glyphs = words.ASCII_GLYPHS if self.ascii else words.GLYPHS
        self.printed: set[str] = set()  # by print_once

    @property
    def has_colours(self) -> bool:
        """Whether the output has colours."""
        return self.console is not None and self.console.color_system is not None and not self.console.no_color

    def text(self, text: str, style: str = "") -> Text:
        """One line of text without control characters. ASCII if the output is not UTF-8."""
        text = clean(runnable(text))
        return Text(to_ascii(text) if self.ascii else text, style)

    def print(self, text: str | Text = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Prints a paragraph, wrapped to the width. A Text is not wrapped. hang: indent of all lines but the first."""
        if isinstance(text, Text):
            self.put(text)
            return
        for line in self.wrapped(text, indent, hang) or [""]:
            self.put(self.text(line, style))

    def print_once(self, text: str, indent: int = 0) -> None:
        """Prints a paragraph, unless this method has already printed the same paragraph."""
        if text not in self.printed:
            self.printed.add(text)
            self.print(text, indent=indent)

    def put(self, line: Text) -> None:
        """Prints a line without trailing blanks."""
        if self.console is None:
            print(str(line).rstrip(), file=self.file)
            return
        from rich.text import Text as Styled

        styled = Styled.assemble(*line.parts)
        styled.rstrip()
        self.console.print(styled, soft_wrap=True)

    def wrapped(self, text: str, indent: int = 0, hang: int = 0) -> list[str]:
        """The lines of a paragraph, wrapped to the width."""
        margin = " " * indent
        whole = WHOLE.sub(lambda found: found[0].replace(" ", NO_BREAK), clean(runnable(text)))
        lines = textwrap.wrap(
            whole,
            max(self.width, 2 * indent + 1),
            initial_indent=margin,
            subsequent_indent=margin + " " * hang,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return [line.replace(NO_BREAK, " ") for line in lines]

    def lines(self, *lines: str) -> None:
        """Prints paragraphs. The lines after the first line of a paragraph are indented by HANG."""
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
        """Prints a table, in blocks of columns that fit the width. Cells with a verdict have a glyph.

        heads: the rows of headings. A row has a text per column, or per group of columns.
        rows: (label, cells).
        corner: the heading of the labels.
        group: number of columns that stay in the same block.
        """
        count = len(rows[0][1])
        margin = max(map(len, [corner, *(label for label, _ in rows)]))
        texts = [*(row for row in heads if len(row) == count), *([cell.text for cell in cells] for _, cells in rows)]
        widths = [2 + max(map(len, column)) for column in zip(*texts, strict=True)]
        start = 0
        while start < count:
            end = start + group
            while end < count and margin + sum(widths[start : end + group]) <= self.width:
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
        """A cell of a table, aligned right, with its glyph."""
        glyph = " " if cell.verdict is None else self.glyphs[cell.verdict]
        style = VERDICT_STYLES[cell.verdict] if cell.verdict in words.STRIKING else cell.style
        return self.text(" ") + self.text(f"{cell.text:>{width - 2}}{glyph}", style)

    def badge(self, verdict: Verdict) -> Text:
        """Glyph and word of a verdict, in its colour."""
        return self.text(f" {self.glyphs[verdict]} {words.WORDS[verdict]} ", VERDICT_STYLES[verdict])


@contextlib.contextmanager
def watched(items: Sequence[Item], what: str, file: TextIO | None = None) -> Iterator[Iterable[Item]]:
    """A context that yields the items. Shows a progress bar if `file` (default: standard error) is a terminal."""
    file = file or sys.stderr
    if len(items) < MIN_ITEMS or not file.isatty():
        yield items
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        yield items
        return
    with Progress(console=Console(file=file, highlight=False), transient=True) as line:
        yield line.track(items, description=f"reading {what}")
