"""What a drawing of a machine is made of: shapes of an SVG, whose colours are classes of the page's style sheet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import words
from .machine_marks import Mark
from .maps import CLASSES

LETTER, SMALL, BOLD = 7.4, 6.6, 8.2  # width of a letter in units of the drawing, on average, of each kind of text
MOST_LETTERS = 32  # of a name; a longer one keeps its ends


@dataclass(frozen=True)
class Shape:
    """An element of the SVG; style: its class. attributes: in its coordinates."""

    tag: str
    style: str
    attributes: tuple[tuple[str, Any], ...]
    text: str = ""
    title: str = ""


@dataclass
class Canvas:
    """Shapes that are drawn in turn, and where devices stand: {label: (middle, top)}."""

    column: int
    marked: Mapping[tuple[str, Any], Mark]
    shapes: list[Shape] = field(default_factory=list)
    devices: dict[str, tuple[int, int]] = field(default_factory=dict)

    def box(self, style: str, x: int, y: int, width: int, height: int, title: str = "") -> None:
        """A rectangle."""
        at = (("x", x), ("y", y), ("width", width), ("height", height), ("rx", 4))
        self.shapes.append(Shape("rect", style, at, title=title))

    def text(self, style: str, x: int, y: int, text: str) -> None:
        """A line of text; of style "middle", around x."""
        self.shapes.append(Shape("text", style, (("x", x), ("y", y)), text))

    def path(self, style: str, way: str, title: str = "") -> None:
        """A line that is not straight, or is."""
        self.shapes.append(Shape("path", style, (("d", way),), title=title))

    def style(self, kind: str, key: Any) -> str:
        """The classes of a part, with that of its verdict where it is at fault."""
        mark = self.marked.get((kind, key))
        return f"{kind} at-fault {CLASSES[mark.verdict]}" if mark else kind

    def glyph(self, kind: str, key: Any) -> str:
        """ "✗ " before the name of a part that is at fault."""
        return glyph_of(self.marked, kind, key)


def glyph_of(marked: Mapping[tuple[str, Any], Mark], kind: str, key: Any) -> str:
    """ "✗ " before the name of a part that is at fault."""
    mark = marked.get((kind, key))
    return f"{words.GLYPHS[mark.verdict]} " if mark else ""


def shortened(name: str) -> str:
    """A name as it stands in a drawing: whole, but for one that no box has room for."""
    half = (MOST_LETTERS - 1) // 2
    return name if len(name) <= MOST_LETTERS else f"{name[:half]}…{name[-half:]}"
