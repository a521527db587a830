"""What terminal.py needs of the package rich, for where it is not installed: the same text without colours."""

import shutil
import sys
from typing import Any, TextIO


class Text:
    """A text; its style is dropped."""

    def __init__(self, plain: str = "", style: str = "") -> None:
        self.plain = plain

    def __add__(self, other: "Text") -> "Text":
        return Text(self.plain + other.plain)

    def __str__(self) -> str:
        return self.plain

    def rstrip(self) -> None:
        """Takes the blanks at the end away, in place, as rich does."""
        self.plain = self.plain.rstrip()


class Console:
    """Prints to a text stream; the options of rich that are not here have no meaning without colours."""

    color_system = None
    no_color = True

    def __init__(self, file: TextIO | None = None, width: int | None = None, **_: Any) -> None:
        self.file = file or sys.stdout
        self.encoding = getattr(self.file, "encoding", None) or "utf-8"
        self.width = width or shutil.get_terminal_size().columns

    def print(self, text: Text | str = "", **_: Any) -> None:
        """A line, or several."""
        print(text, file=self.file)
