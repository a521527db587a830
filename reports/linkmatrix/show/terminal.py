"""A run in the terminal: each matrix with a glyph and a colour for every cell, and the next steps.

Nothing is shown by colour alone. Colours go from orange (worse than expected) to blue (better), which people who cannot
tell red from green see too; NO_COLOR and pipes get none, and a terminal that is not UTF-8 gets ASCII.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import grids
from ..record.reading import Result
from ..record.units import counted, figure
from ..runs import judging
from ..runs.judging import Judged
from ..runs.stored import Run
from . import adapters, again, by_size, connections, findings, headlines, notices, reruns, steps, words
from .by_size import Sweep, groups_by_size
from .collectives import Cell, Collective
from .scale import deviation_step
from .screen import VERDICT_STYLES, Screen, Text

WIDEST = max(map(len, words.WORDS.values()))
MOST_COMMANDS = 2  # that measure again
MOST_ENDPOINTS = 16  # rows and columns that are printed; the page and the record have all
SHORT = {"no-peer-access": "no-peer", "not-applicable": "-"}

#: Colour of a cell by the step of its deviation (`scale.DEVIATIONS`), the worst first.
SHADES = (
    "white on #a84300",
    "black on #f28e2b",
    "black on #ffd8a8",
    "",
    "black on #d6eaf8",
    "black on #8cc4e8",
    "white on #1f5fa8",
)


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
    for line in notices.lines(judged):
        screen.print(line, "bold")
    show_answer(screen, run, judged)
    last = None
    for one, *alike in words.told_together(sorted(judged, key=lambda one: -one.verdict)):
        heading = words.heading(one)
        if heading and heading != last:
            screen.print(heading, "bold")
            screen.print()
            last = heading
        show_test(screen, one, len(alike))
    if any(one.matrices for one in judged):
        show_legend(screen)
    show_overview(screen, judged)
    for of_sizes in (by_size.beside(one, others or {}) for one in by_size.tables(judged)):
        screen.print(of_sizes.title, "bold")
        for line in by_size.rows(of_sizes, screen.glyphs, screen.console.width):
            screen.print(screen.text(line))
        screen.print()
    show_adapters(screen, judged)
    if typical := words.typical_lines(judged):
        screen.print(f"typical values: {'; '.join(typical)}", "dim")
        screen.print()
    for note in run.notes:
        screen.print(f"note: {note}")
    if sum(len(one.matrices) for one in judged) > 1:  # the verdict on top may have scrolled out of view
        show_answer(screen, run, judged)
    else:
        screen.print(screen.badge(verdict) + screen.text(f"  {words.tally(judged)}"))
    return verdict


def show_answer(screen: Screen, run: Run, judged: list[Judged]) -> None:
    """The verdict, the findings with their evidence, the next steps, and the commands to run again."""
    verdict, found = judging.overall(judged), headlines.headlines(judged)
    said = " ".join(steps.answer(verdict, judged))
    # the assessment comes before the findings where nothing is slow
    lacking = words.only_references_missing(judged) and not any(one.topic in steps.BEFORE_ASSESSMENT for one in found)
    screen.print(screen.badge(verdict) + screen.text(f"  {words.tally(judged)}"))
    if lacking:
        screen.print(said)
    for at, one in enumerate(found[: headlines.MOST]):
        screen.print(one.text, indent=2)
        for line in one.sure if at < headlines.MOST_SURE else ():
            screen.print(line, "dim", indent=4)
    if len(found) > headlines.MOST:
        screen.print(f"and {len(found) - headlines.MOST} more, below", indent=2)
    if not lacking:
        screen.print(said)
    for line in steps.next_step(verdict, judged, found):
        screen.print(line, "bold")
    for number, line in enumerate(steps.steps(verdict, judged, found), 1):
        screen.print(f"{number}. {line}", indent=2, hang=3)
    commands = [] if verdict is Verdict.PASS else reruns.commands(run, judged, MOST_COMMANDS)
    for command in dict.fromkeys([*headlines.commands(found), *commands]):
        screen.print(screen.text(f"  again: {command}"))
    screen.print()


def verdict_of(one: Judged, shown: Collective | tuple[Result, MatrixVerdict]) -> Verdict:
    """Of a matrix of a test, or of one of its tables."""
    return shown.verdict if isinstance(shown, Collective) else one.of_matrix(shown[1])


def show_test(screen: Screen, one: Judged, others: int = 0) -> None:
    """One test of the run: its matrices, the worst first, then why it is not PASS where a cell does not say it.

    others: how many tests there are of which the same is said.
    """
    for note in one.test.record["notes"] if one.test.record else []:
        screen.print(f"note: {note}")
    for shown in sorted(groups_by_size(one), key=lambda shown: -verdict_of(one, shown)):
        if isinstance(shown, Collective):
            show_collective(screen, shown)
        else:
            show_matrix(screen, one, *shown)
    if one.is_of_state:
        for line in connections.lines(one.test.record or {}):
            screen.print(screen.text(line))
    if one.beyond_cells is not None:
        more = f" and {counted(others, 'other test case')}" if others else ""
        screen.print(screen.badge(one.verdict) + screen.text(f"  {one.test.name}{more}"))
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
    summaries = [
        *words.class_lines(one, result, matrix),
        *words.inside_lines(result, matrix),
        *words.part_lines(result, fit=False),
    ]
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
    """A line a size, in blocks of ways where the width does not hold all of them."""
    lines, columns = list(one.lines()), len(one.columns)
    margin = max(len(size) for size, _ in lines)
    heads = [
        [head for head, _, _ in one.columns] * len(one.ways),
        [f"({unit})" for _, unit, _ in one.columns] * len(one.ways),
    ]
    widths = [
        1 + max(len(text) for text in (*(row[at] for row in heads), *(cells[at].text for _, cells in lines)))
        for at in range(len(heads[0]))
    ]
    of_way = [sum(widths[start : start + columns]) + columns for start in range(0, len(widths), columns)]
    first = 0
    while first < len(of_way):
        end = first + 1
        while end < len(of_way) and margin + sum(of_way[first : end + 1]) <= screen.console.width:
            end += 1
        ways = "".join(
            f" {way:^{width - 1}}" for way, width in zip(one.ways[first:end], of_way[first:end], strict=True)
        )
        screen.print(screen.text(" " * margin + ways, "bold"))
        block = slice(first * columns, end * columns)
        for row in heads:
            line = "".join(f" {text:>{width - 1}} " for text, width in zip(row[block], widths[block], strict=True))
            screen.print(screen.text(" " * margin + line, "bold"))
        for size, cells in lines:
            screen.print(size_line(screen, f"{size:>{margin}}", cells[block], widths[block]))
        first = end


def size_line(screen: Screen, size: str, cells: Sequence[Cell], widths: Sequence[int]) -> Text:
    """The line of a size."""
    text = screen.text(size, "bold")
    for cell, width in zip(cells, widths, strict=True):
        glyph = " " if cell.verdict is None else screen.glyphs[cell.verdict]
        style = VERDICT_STYLES[cell.verdict] if cell.verdict in words.STRIKING else ""
        text += screen.text(" ") + screen.text(f"{cell.text:>{width - 1}}{glyph}", style)
    return text


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
    verdict = cell.verdict if cell is not None else Verdict.INCOMPLETE
    shown = SHORT.get(status, status) if status != "ok" or value is None else figure(value, decimals)
    off = matrix.worse(pair)
    style = SHADES[deviation_step(off)] if off is not None else ""
    if verdict in words.STRIKING:
        style = VERDICT_STYLES[verdict]
    return screen.text(f"{shown:>{width - 1}}{screen.glyphs[verdict]}", style)


def show_overview(screen: Screen, judged: list[Judged]) -> None:
    """A line for each test case, the worst first: where there are many, their matrices have long scrolled by."""
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
    for verdict, name, said in sorted(lines, key=lambda line: -line[0]):
        word = f"{screen.glyphs[verdict]} {words.WORDS[verdict]:<{WIDEST}}  "
        line = f"{word}{name:<{width}}  {said}"
        fits = len(line) <= screen.console.width
        screen.print(screen.text(line.rstrip() if fits else f"{word}{name}"))
        if said and not fits:
            screen.print(said, indent=len(word))
    screen.print()


def show_adapters(screen: Screen, judged: list[Judged]) -> None:
    """The network adapters of the nodes."""
    records = [one.test.record for one in judged if one.test.record]
    lines = [*adapters.lines(records, screen.console.width), *adapters.congestion(records)]
    for line in lines:
        screen.print(screen.text(line, "dim") if line.startswith("  ") else line)
    if lines:
        screen.print()


def show_legend(screen: Screen) -> None:
    """The meaning of the glyphs and colours."""
    glyphs = "  ".join(f"{screen.glyphs[verdict]} {words.WORDS[verdict]}" for verdict in words.ORDER)
    screen.print(glyphs, "dim")
    if screen.console.color_system is not None and not screen.console.no_color:
        screen.print(
            "orange: worse than the reference (or the median or best cell of the link class); blue: better",
            "dim",
        )
