"""A run in the terminal: each matrix with a glyph and a colour for every cell, and what to do next.

Nothing is said by colour alone. Colours go from orange (worse than expected) to blue (better), which people who cannot
tell red from green see too; NO_COLOR and pipes get none, and a terminal that is not UTF-8 gets ASCII.
"""

import textwrap
from collections.abc import Iterator, Mapping
from typing import TextIO

try:
    from rich.console import Console
    from rich.text import Text
except ModuleNotFoundError:  # a cluster that has no more than ReFrame: the same text without colours
    from .plain import Console, Text

from ..errors import clean, in_ascii
from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import grids
from ..record.reading import Result
from ..record.units import figure
from ..runs import judging
from ..runs.judging import Judged
from ..runs.stored import Run
from . import adapters, again, by_size, findings, words
from .by_size import Sweep, groups_by_size
from .collectives import Collective

MOST_ENDPOINTS = 16  # rows and columns that are printed; the page and the record have all
SHORT = {"no-peer-access": "no-peer", "not-applicable": "-"}

#: Colour of a cell that is worse than expected by at least this fraction, the worst first; negative is better. The
#: steps are those of tolerances in use: 2 % for a class, 5 % for a cell, 10 % beyond any noise.
SHADES = [
    (0.10, "white on #a84300"),
    (0.05, "black on #f28e2b"),
    (0.02, "black on #ffd8a8"),
    (-0.02, ""),
    (-0.05, "black on #d6eaf8"),
    (-0.10, "black on #8cc4e8"),
    (float("-inf"), "white on #1f5fa8"),
]
VERDICT_STYLES = {
    Verdict.PASS: "bold #3b8fd4",
    Verdict.WARN: "bold black on #ffd8a8",
    Verdict.NO_VERDICT: "bold reverse",
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
        """`text` without control characters, and in ASCII where the terminal knows no more."""
        text = "\n".join(clean(line) for line in text.split("\n"))
        if self.ascii:
            text = in_ascii(text)
        return Text(text, style)

    def print(self, text: str | Text = "", style: str = "", indent: int = 0) -> None:
        """Prints a paragraph, wrapped to the width; a Text is printed as it is."""
        if isinstance(text, Text):
            self.console.print(trimmed(text), soft_wrap=True)
            return
        margin, width = " " * indent, max(self.console.width, 2 * indent + 1)
        lines = textwrap.wrap(
            clean(text),
            width,
            initial_indent=margin,
            subsequent_indent=margin,
            break_on_hyphens=False,
            break_long_words=False,
        )
        self.console.print(self.text("\n".join(lines), style) if lines else "", soft_wrap=True)

    def badge(self, verdict: Verdict) -> Text:
        """The verdict in its colour: glyph and word."""
        return self.text(f" {self.glyphs[verdict]} {words.WORDS[verdict]} ", VERDICT_STYLES[verdict])


def show(
    run: Run,
    judged: list[Judged],
    file: TextIO | None = None,
    width: int | None = None,
    others: Mapping[str, by_size.Table] | None = None,
) -> Verdict:
    """Prints the run to `file` (standard output) and returns its verdict; others: published tables, by their titles."""
    screen = Screen(file, width)
    verdict = judging.overall(judged)
    found = findings.headlines(judged)
    step = words.next_step(verdict, judged, bool(found))
    screen.print(screen.badge(verdict) + screen.text(f"  {words.tally(judged)}"))
    for line in found:
        screen.print(line, indent=2)
    screen.print(step)
    screen.print()
    last = None
    for one in judged:
        heading = words.heading(one)
        if heading and heading != last:
            screen.print(heading, "bold")
            screen.print()
            last = heading
        show_test(screen, one)
    if any(one.matrices for one in judged):
        show_legend(screen)
    show_overview(screen, judged)
    for of_sizes in (by_size.beside(one, others or {}) for one in by_size.tables(judged)):
        screen.print(of_sizes.title, "bold")
        for line in by_size.rows(of_sizes, screen.glyphs, screen.console.width):
            screen.print(screen.text(line))
        screen.print()
    show_adapters(screen, judged)
    for note in run.notes:
        screen.print(f"note: {note}")
    screen.print(screen.badge(verdict) + screen.text(f"  {words.tally(judged)}"))
    screen.print(step)
    return verdict


def show_test(screen: Screen, one: Judged) -> None:
    """One test of the run: its matrices, then why it is not PASS where a cell does not say it."""
    for note in one.test.record["notes"] if one.test.record else []:
        screen.print(f"note: {note}")
    for shown in groups_by_size(one):
        if isinstance(shown, Collective):
            show_collective(screen, shown)
        else:
            show_matrix(screen, one, *shown)
    if one.beyond_cells is not None:
        screen.print(screen.badge(one.verdict) + screen.text(f"  {one.test.name}"))
    lines = [*(f"{words.WORDS[one.verdict]}: {reason}" for reason in one.reasons), *words.fact_lines(one)]
    for line in lines:
        screen.print(line, indent=2)
    if lines or not one.matrices:
        screen.print()


def show_matrix(screen: Screen, one: Judged, result: Result, matrix: MatrixVerdict) -> None:
    """One measured test case."""
    verdict = one.of_matrix(matrix)
    screen.print(screen.badge(verdict) + screen.text(f"  {result['testcase']}", "bold"))
    screen.print(words.title(result))
    for line in table(screen, result, matrix) if matrix.whole is not None else ():
        screen.print(line)
    summaries = [*words.class_lines(matrix), *words.inside_lines(result, matrix), *words.part_lines(result, fit=False)]
    for line in summaries:
        screen.print(line)
    screen.print(words.how(result), "dim")
    beyond = max(len(result["rows"]), len(result["columns"])) > MOST_ENDPOINTS and matrix.matrix.classes
    for line in [*matrix.overview(), *(words.axis_lines(matrix) if beyond else [])]:
        screen.print(line, indent=2)
    found = [*findings.suspects(one, result, matrix), *findings.parts_and_places(one, matrix)]
    for line in [*words.marked_cells(matrix), *words.fact_lines(one, result), *found, *again.remeasured_lines(result)]:
        screen.print(line, indent=2)
    for note in result["notes"]:
        screen.print(f"note: {note}", "dim")
    screen.print()


def show_collective(screen: Screen, one: Collective) -> None:
    """A collective in all of its sizes; of messages the figures are in the table of all tests."""
    screen.print(screen.badge(one.verdict) + screen.text(f"  {one.name}", "bold"))
    screen.print(one.title())
    if not isinstance(one, Sweep):
        show_sizes(screen, one)
    screen.print(one.how(), "dim")
    for line in one.said():
        screen.print(line, indent=2)
    screen.print()


def show_sizes(screen: Screen, one: Collective) -> None:
    """A line a size."""
    lines = list(one.lines())
    columns = one.columns
    heads = [[head for head, _, _ in columns] * len(one.ways), [f"({unit})" for _, unit, _ in columns] * len(one.ways)]
    margin = max(len(size) for size, _ in lines)
    widths = [
        1 + max(len(text) for text in (*(row[at] for row in heads), *(cells[at].text for _, cells in lines)))
        for at in range(len(heads[0]))
    ]
    of_way = [sum(widths[start : start + len(columns)]) + len(columns) for start in range(0, len(widths), len(columns))]
    ways = "".join(f" {way:^{width - 1}}" for way, width in zip(one.ways, of_way, strict=True))
    screen.print(screen.text(" " * margin + ways, "bold"))
    for row in heads:
        line = "".join(f" {text:>{width - 1}} " for text, width in zip(row, widths, strict=True))
        screen.print(screen.text(" " * margin + line, "bold"))
    for size, cells in lines:
        text = screen.text(f"{size:>{margin}}", "bold")
        for cell, width in zip(cells, widths, strict=True):
            glyph = " " if cell.verdict is None else screen.glyphs[cell.verdict]
            style = VERDICT_STYLES[Verdict.FAIL] if cell.verdict is Verdict.FAIL else ""
            text += screen.text(" ") + screen.text(f"{cell.text:>{width - 1}}{glyph}", style)
        screen.print(text)


def table(screen: Screen, result: Result, matrix: MatrixVerdict) -> Iterator[Text]:
    """The lines of a matrix, in blocks of columns where the width does not hold all of them."""
    rows, columns = result["rows"][:MOST_ENDPOINTS], result["columns"][:MOST_ENDPOINTS]
    margin = max(len(words.short_label(label)) for label in rows)
    decimals, width = layout(screen, result, margin, len(columns))
    fit = max(1, (screen.console.width - margin) // (width + 1))
    for start in range(0, len(columns), fit):
        block = range(start, min(start + fit, len(columns)))
        # the glyph stands right of the number, so the head does too
        heads = "".join(f" {words.short_label(columns[c]):>{width - 1}} " for c in block)
        yield screen.text(" " * margin + heads, "bold")
        for r, label in enumerate(rows):
            line = screen.text(f"{words.short_label(label):<{margin}}", "bold")
            for c in block:
                line += screen.text(" ") + cell_text(screen, result, matrix, r, c, decimals, width)
            yield line
    if len(result["rows"]) > len(rows) or len(result["columns"]) > len(columns):
        most = max(len(result["rows"]), len(result["columns"]))
        yield screen.text(f"(first {MOST_ENDPOINTS} of {most} rows and columns shown; the record has all)")


def trimmed(line: Text) -> Text:
    """`line` without blanks at its end."""
    line.rstrip()
    return line


def layout(screen: Screen, result: Result, margin: int, columns: int) -> tuple[int, int]:
    """(decimals, width of a cell with its glyph): as many decimals as still let all columns fit, at least one."""
    statuses = grids.used(result["status"]) - {"ok"}
    heads = [
        *(SHORT.get(status, status) for status in statuses),
        *map(words.short_label, result["columns"][:MOST_ENDPOINTS]),
    ]
    shown = [row[:MOST_ENDPOINTS] for _, row in zip(range(MOST_ENDPOINTS), result["values"], strict=False)]
    values = [value for row in shown for value in row if value is not None]
    decimals = words.DECIMALS[result["unit"]]
    while True:
        width = 1 + max(map(len, [*heads, *(figure(value, decimals) for value in values)]))
        if decimals == 1 or margin + columns * (width + 1) <= screen.console.width:
            return decimals, width
        decimals -= 1


def cell_text(
    screen: Screen, result: Result, matrix: MatrixVerdict, row: int, column: int, decimals: int, width: int
) -> Text:
    """A cell: its value, or the status word in its place, and the glyph of its verdict."""
    status, value = result["status"][row][column], result["values"][row][column]
    if status == "not-applicable":
        return screen.text(f"{'-':>{width - 1}} ", "dim")
    pair = (result["rows"][row], result["columns"][column])
    cell = matrix.cells.get(pair)
    verdict = cell.verdict if cell is not None else Verdict.NO_VERDICT
    shown = SHORT.get(status, status) if status != "ok" or value is None else figure(value, decimals)
    off = matrix.worse(pair)
    style = next(style for least, style in SHADES if off >= least) if off is not None else ""
    if verdict is Verdict.FAIL:
        style = VERDICT_STYLES[Verdict.FAIL]
    return screen.text(f"{shown:>{width - 1}}{screen.glyphs[verdict]}", style)


def show_overview(screen: Screen, judged: list[Judged]) -> None:
    """A line for each test case: where there are many, their matrices have long scrolled by."""
    lines = [(one.verdict, one.test.name, "") for one in judged if one.beyond_cells is not None]
    for one in judged:
        for shown in groups_by_size(one):
            if isinstance(shown, Collective):
                lines.append((shown.verdict, shown.name, shown.span()))
                continue
            result, matrix = shown
            classes = matrix.matrix.classes
            medians = [f"{name} {words.extremes(classes[name], result['unit'])[1]}" for name in classes]
            said = f"median {', '.join(medians)} {words.UNITS[result['unit']]}" if medians else "not measured"
            lines.append((one.of_matrix(matrix), result["testcase"], said))
    if len(lines) < 2:
        return
    width = max(len(name) for _, name, _ in lines)
    for verdict, name, said in lines:
        word = f"{screen.glyphs[verdict]} {words.WORDS[verdict]:<10}  "
        screen.print(screen.text(f"{word}{name:<{width}}  {said}"))
    screen.print()


def show_adapters(screen: Screen, judged: list[Judged]) -> None:
    """The network adapters of the nodes."""
    records = (one.test.record for one in judged if one.test.record)
    lines = list(adapters.lines(records, screen.console.width))
    for line in lines:
        screen.print(screen.text(line, "dim") if line.startswith("  ") else line)
    if lines:
        screen.print()


def show_legend(screen: Screen) -> None:
    """What glyphs and colours mean."""
    glyphs = "  ".join(f"{screen.glyphs[verdict]} {words.WORDS[verdict]}" for verdict in words.ORDER)
    screen.print(glyphs, "dim")
    if screen.console.color_system is not None and not screen.console.no_color:
        screen.print(
            "orange: worse than the reference (without one: than the median of its link class); blue: better", "dim"
        )
