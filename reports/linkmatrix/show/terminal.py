"""Prints a run in the terminal: matrices with a glyph and a colour per cell, then verdict, findings and next steps.

Cells that are worse than expected are orange. Better cells are blue. Colour-blind readers can distinguish both colours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from ..judge.verdicts import Verdict
from ..record import units
from ..record.names import ENGINES, is_simulation
from ..record.units import counted, figure
from . import matrix_text, words
from .analysis import MAX_WITH_EVIDENCE, Analysis
from .matrix_text import MAX_ENDPOINTS
from .screen import Screen
from .words import MAX_FINDINGS, Cell

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Result
    from ..runs.judging import Judged
    from .by_size import Table
    from .collectives import Collective

WIDEST = max(map(len, words.WORDS.values()))

#: Styles of cells, by the step of their deviation (`matrix_text.deviation_step`).
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
    analysis: Analysis,
    file: TextIO | None = None,
    width: int | None = None,
    others: Mapping[str, Table] | None = None,
) -> None:
    """Prints a run.

    file: default: standard output.
    others: {title: table of messages} of published systems.
    """
    screen, judged = Screen(file, width), analysis.judged
    for line in analysis.notices:
        screen.print(line, "bold")
    last = None
    for one, *alike in grouped(sorted(judged, key=lambda one: -one.verdict), analysis.locations):
        heading = words.heading(one)
        if heading and analysis.locations.partition(one):
            heading = f"{one.test.partition}: {heading}"
        if heading and heading != last:
            screen.print(heading, "bold")
            screen.print()
            last = heading
        show_test(screen, analysis, one, len(alike))
    if analysis.matrices:
        show_legend(screen)
    show_overview(screen, analysis)
    show_messages(screen, judged, others or {})
    show_adapters(screen, analysis)
    if typical := matrix_text.typical_lines(judged):
        screen.print(f"typical values: {'; '.join(typical)}", "dim")
        screen.print()
    for note in analysis.run.notes if analysis.run else ():
        screen.print(f"note: {note}")
    show_answer(screen, analysis)


def show_messages(screen: Screen, judged: Sequence[Judged], others: Mapping[str, Table]) -> None:
    """Prints the tables of messages between ranks. Published systems have additional columns."""
    if not any(result["engine"] == "mpi" for one in judged for result, _ in one.matrices):
        return
    from . import by_size
    from .collectives import Sweep

    if not any(isinstance(shown, Sweep) for one in judged for shown in grouped_by_size(one)):
        return

    for table in by_size.tables(judged):
        show_table(screen, by_size.with_published(table, others))


def show_adapters(screen: Screen, analysis: Analysis) -> None:
    """Prints the network adapters of all nodes, and signs of congestion."""
    if not any(record["adapters"] or record.get("health") for record in analysis.records):
        return
    from . import devices

    if lines := list(devices.adapter_lines(analysis.records, screen.width)):
        for line in lines:
            screen.print(screen.text(line, "dim") if line.startswith("  ") else line)
        screen.print()


def show_answer(screen: Screen, analysis: Analysis) -> None:
    """Prints verdict, findings with evidence, next steps, and commands that measure again."""
    found = analysis.findings
    screen.print(screen.badge(analysis.verdict) + screen.text(f"  {words.verdict_tally(analysis.judged)}"))
    if analysis.begins_with_assessment:
        screen.print(" ".join(analysis.assessment))
    for at, one in enumerate(found[:MAX_FINDINGS]):
        screen.print(one.text, indent=2)
        for line in one.evidence if at < MAX_WITH_EVIDENCE else ():
            screen.print(line, "dim", indent=4)
    if len(found) > MAX_FINDINGS:
        screen.print(f"and {len(found) - MAX_FINDINGS} more, above", indent=2)
    if not analysis.begins_with_assessment:
        screen.print(" ".join(analysis.assessment))
    steps = analysis.all_steps
    if len(steps) == 1:
        screen.print(f"Next step: {steps[0]}", "bold")
    elif steps:
        screen.print("Next steps:", "bold")
        for number, line in enumerate(steps, 1):
            screen.print(f"{number}. {line}", indent=2, hang=3)
    for command in analysis.commands:
        screen.print(screen.text(f"  again: {command}"))


def grouped(judged: Sequence[Judged], locations: words.Locations) -> list[list[Judged]]:
    """Groups the tests that have no record for the same reason. Each other test is a separate group."""
    groups: dict[object, list[Judged]] = {}
    for at, one in enumerate(judged):
        is_silent = one.test.record is None and one.reasons and not one.test.node
        groups.setdefault((one.verdict, one.reasons, locations.name(one)) if is_silent else at, []).append(one)
    return list(groups.values())


def grouped_by_size(judged: Judged) -> Sequence[Collective | tuple[Result, MatrixVerdict]]:
    """One item per matrix of a test. All sizes of a collective or of a sweep of messages are one item."""
    if not any(result["engine"] in ENGINES or is_simulation(result) for result, _ in judged.matrices):
        return judged.matrices
    from .collectives import groups_by_size

    return groups_by_size(judged)


def verdict_of(judged: Judged, shown: Collective | tuple[Result, MatrixVerdict]) -> Verdict:
    """The verdict of an item of `grouped_by_size`."""
    return judged.matrix_verdict(shown[1]) if isinstance(shown, tuple) else shown.verdict


def show_test(screen: Screen, analysis: Analysis, judged: Judged, others: int = 0) -> None:
    """Prints a test: its matrices, the worst first, then the reasons that belong to no cell.

    others: number of other tests with the same reasons.
    """
    for note in judged.test.record["notes"] if judged.test.record else []:
        screen.print_once(f"note: {note}")
    for shown in sorted(grouped_by_size(judged), key=lambda shown: -verdict_of(judged, shown)):
        if isinstance(shown, tuple):
            show_matrix(screen, analysis, judged, *shown)
        else:
            show_collective(screen, shown)
    if judged.reports_state_only:
        from . import devices

        for line in devices.state_lines(judged.test.record or {}):
            screen.print(screen.text(line))
    if judged.verdict_beyond_cells is not None:
        more = f" and {counted(others, 'other test case')}" if others else ""
        name = analysis.locations.added(judged.test.name, judged)
        screen.print(screen.badge(judged.verdict) + screen.text(f"  {name}{more}"))
    lines = [*(f"{words.WORDS[judged.verdict]}: {reason}" for reason in judged.reasons), *words.fact_lines(judged)]
    for line in lines:
        screen.print(line, indent=2)
    if lines or not judged.matrices:
        screen.print()


def show_matrix(screen: Screen, analysis: Analysis, judged: Judged, result: Result, matrix: MatrixVerdict) -> None:
    """Prints a matrix with its summaries and findings."""
    verdict = judged.matrix_verdict(matrix)
    screen.print(screen.badge(verdict) + screen.text(f"  {result['testcase']}", "bold"))
    screen.print(matrix_text.title(result))
    if matrix.whole is not None:
        show_cells(screen, result, matrix)
    summaries = [
        *matrix_text.class_lines(judged, result, matrix),
        *matrix_text.local_copy_lines(result, matrix),
        *matrix_text.part_lines(result, fit=False),
    ]
    for line in summaries:
        screen.print(line)
    screen.print(matrix_text.method_line(result), "dim")
    beyond = max(len(result["rows"]), len(result["columns"])) > MAX_ENDPOINTS and matrix.matrix.classes
    for line in [*matrix.overview(), *(matrix_text.axis_lines(matrix) if beyond else [])]:
        screen.print(line, indent=2)
    cells = [*matrix_text.marked_cells(matrix), *words.fact_lines(judged, result)]
    for line in [*cells, *matrix_text.finding_sentences(analysis, judged, result, matrix)]:
        screen.print(line, indent=2)
    for line in matrix_text.endpoint_lines(judged, matrix):
        screen.print_once(line, indent=2)
    for line in matrix_text.remeasured_lines(result):
        screen.print(line, indent=2)
    for note in result["notes"]:
        screen.print(f"note: {note}", "dim")
    screen.print()


def show_collective(screen: Screen, collective: Collective) -> None:
    """Prints all sizes of a collective or of a sweep of messages, as one block.

    For a sweep of messages, the block contains no values. `show_table` prints the values of the sweeps of all tests.
    """
    screen.print(screen.badge(collective.verdict) + screen.text(f"  {collective.name}", "bold"))
    screen.print(collective.title())
    if collective.has_table:
        show_sizes(screen, collective)
    screen.print(collective.how(), "dim")
    for line in collective.remarks():
        screen.print(line, indent=2)
    screen.print()


def show_sizes(screen: Screen, collective: Collective) -> None:
    """Prints a collective as a table, with a line per size."""
    heads = [
        collective.column_groups,
        [head for head, _, _ in collective.columns] * len(collective.column_groups),
        [f"({unit})" for _, unit, _ in collective.columns] * len(collective.column_groups),
    ]
    screen.table(heads, list(collective.lines()), group=len(collective.columns))


def show_table(screen: Screen, table: Table) -> None:
    """Prints a table of messages, with a line per size."""
    screen.print(table.title, "bold")
    heads = [list(row) for row in zip(*table.columns, strict=True) if any(row)]
    rows = [
        (units.size(size), [Cell(*of[size][:2]) if size in of else Cell("-") for of in table.columns.values()])
        for size in table.sizes
    ]
    screen.table(heads, rows, corner="size")
    screen.print()


def show_cells(screen: Screen, result: Result, matrix: MatrixVerdict) -> None:
    """Prints the first MAX_ENDPOINTS rows and columns of a matrix."""
    rows, columns = result["rows"][:MAX_ENDPOINTS], result["columns"][:MAX_ENDPOINTS]
    table = [
        (words.short_label(label), [shown_cell(result, matrix, row, column) for column in range(len(columns))])
        for row, label in enumerate(rows)
    ]
    screen.table([[words.short_label(label) for label in columns]], table)
    if len(result["rows"]) > len(rows) or len(result["columns"]) > len(columns):
        most = max(len(result["rows"]), len(result["columns"]))
        screen.print(f"(first {MAX_ENDPOINTS} of {most} rows and columns shown; the record has all)")


def shown_cell(result: Result, matrix: MatrixVerdict, row: int, column: int) -> Cell:
    """A cell of the table, in the colour of its deviation: its value, or its status if there is no value."""
    status, value = result["status"][row][column], result["values"][row][column]
    if status == "not-applicable":
        return Cell("-", style="dim")
    pair = (result["rows"][row], result["columns"][column])
    cell, off = matrix.cells.get(pair), matrix.worse(pair)
    is_value = status == "ok" and value is not None
    text = figure(value, words.DECIMALS[result["unit"]]) if is_value else words.SHORT.get(status, status)
    style = SHADES[matrix_text.deviation_step(off)] if off is not None else ""
    return Cell(text, cell.verdict if cell is not None else Verdict.INCOMPLETE, style)


def show_overview(screen: Screen, analysis: Analysis) -> None:
    """Prints a line per test case, the worst first. Prints nothing for a single test case."""
    judged, locations = analysis.judged, analysis.locations
    lines = [
        (one.verdict, locations.added(one.test.name, one), "") for one in judged if one.verdict_beyond_cells is not None
    ]
    for one in judged:
        counts = Counter(result["testcase"] for result, _ in one.matrices)
        for shown in grouped_by_size(one):
            if not isinstance(shown, tuple):
                lines.append((shown.verdict, locations.added(shown.name, one), shown.span()))
                continue
            result, matrix = shown
            classes = matrix.matrix.classes
            medians = [f"{name} {matrix_text.extremes(classes[name], result['unit'])[1]}" for name in classes]
            values = f"median {', '.join(medians)} {words.UNITS[result['unit']]}" if medians else "not measured"
            name = result["testcase"]
            name += f" {units.size(result['size_bytes'])}" if counts[name] > 1 else ""
            lines.append((one.matrix_verdict(matrix), locations.added(name, one), values))
    if len(lines) < 2:
        return
    width = max(len(name) for _, name, _ in lines)
    for verdict, name, values in sorted(lines, key=lambda line: -line[0]):
        word = f"{screen.glyphs[verdict]} {words.WORDS[verdict]:<{WIDEST}}  "
        line = f"{word}{name:<{width}}  {values}"
        fits = len(line) <= screen.width
        screen.print(screen.text(line.rstrip() if fits else f"{word}{name}"))
        if values and not fits:
            screen.print(values, indent=len(word))
    screen.print()


def show_legend(screen: Screen) -> None:
    """Prints the meaning of glyphs and colours."""
    glyphs = "  ".join(f"{screen.glyphs[verdict]} {words.WORDS[verdict]}" for verdict in words.ORDER)
    screen.print(glyphs, "dim")
    if screen.has_colours:
        screen.print(
            "orange: worse than the reference (or the median or best cell of the link class); blue: better",
            "dim",
        )
    screen.print()
