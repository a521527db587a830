"""Matrices and collectives for the template of the page: two maps as tables, the worst cells, and sentences.

Each cell of a map contains its value. The colour of a cell is a class of the style sheet. No information is in colours
alone. The tables can be copied, searched, printed and read aloud.

The expected value of a cell is its reference. A cell without a reference has the baseline of its link class.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from ..judge.verdicts import Verdict
from ..record import units
from ..record.units import counted, figure
from . import html, matrix_text, words
from .matrix_text import DEVIATIONS, LEVELS, MAX_ENDPOINTS, NOISE, Scale, deviation_step, level
from .words import Cell, marks

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Pair, Result
    from ..runs.judging import Judged
    from ..runs.series import EarlierValues
    from .analysis import Analysis
    from .collectives import Collective

    Picture = Callable[[MatrixVerdict, str], bytes]  # (matrix, ABSOLUTE or DEVIATION) → PNG, b"" for none
    History = Callable[[Pair], list[float]]  # cell → its values in earlier runs, the oldest first

MAX_LINES = 10  # listed cells of a matrix, without a table of the worst cells
MAX_WORST = 10  # cells in the table of the worst cells
MIN_DEVIATION = DEVIATIONS[2]  # of a listed cell without a reference
WIDTH, HEIGHT, MARGIN = 96, 22, 3  # of a sparkline, in CSS pixels
MIN_AXIS = 3  # rows and columns of a map with medians
ABSOLUTE, DEVIATION = "absolute", "deviation"
NOT_APPLICABLE: dict[str, str] = {"text": "–", "class": "na", "title": "", "glyph": "", "word": ""}
MEDIANS = "median"  # head of the row and of the column with medians
DASH = "–"


class Step(NamedTuple):
    """A colour of a legend. style: class of the style sheet."""

    style: str
    text: str


def fits(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix is small enough to be shown as tables. A larger matrix is shown as pictures."""
    return max(len(result["rows"]), len(result["columns"])) <= MAX_ENDPOINTS and matrix.whole is not None


def shown_matrix(
    analysis: Analysis,
    anchor: str,
    judged: Judged,
    result: Result,
    matrix: MatrixVerdict,
    picture: Picture,
    scale: Scale | None,
    earlier: EarlierValues,
) -> dict[str, Any]:
    """The values for the page's template about a matrix.

    scale: (low, high) of its colours; None if nothing was measured.
    earlier: the values of its cells in earlier runs.
    """
    summary = "; ".join(matrix_text.class_lines(judged, result, matrix))
    verdict, small = judged.matrix_verdict(matrix), fits(result, matrix)
    lines = [*matrix.overview(), *([] if small or not matrix.matrix.classes else matrix_text.axis_lines(matrix))]
    drawn = matrix.subset.matrix.rows
    if len(drawn) < len(matrix.matrix.rows):
        lines.append(
            f"drawn: {len(drawn)} of {len(matrix.matrix.rows)} endpoints, the worst and some healthy endpoints"
        )
    cells = worst_table(result, matrix, lambda pair: earlier.values(judged.test, result, pair))
    lines += [] if cells else matrix_text.marked_cells(matrix, MAX_LINES)
    lines += matrix_text.finding_lines(analysis, judged, result, matrix)
    lines += matrix_text.local_copy_lines(result, matrix) + matrix_text.part_lines(result)
    return {
        **marks(verdict),
        "anchor": anchor,
        "folded": verdict is Verdict.PASS,
        "title": matrix_text.title(result),
        "how": matrix_text.method_line(result),
        "summary": summary or "nothing was measured",
        "maps": [deviations(result, matrix), absolute(result, matrix, scale or (0.0, 1.0))] if small else [],
        "pictures": [] if small or matrix.problem else pictures(matrix, picture),
        "worst": cells,
        "has_trends": any(cell["trend"] for cell in cells),
        "unit": words.UNITS[result["unit"]],
        "lines": lines + [f"note: {note}" for note in [*result["notes"], *result.get("throttled", [])]],
    }


def pictures(matrix: MatrixVerdict, picture: Picture) -> list[tuple[str, str]]:
    """(caption, PNG in base64) of the maps of a matrix that is too large for tables."""
    than = "references" if matrix.compared else f"{matrix.baseline} of the link class"
    texts = {DEVIATION: f"Deviation of each cell from {than}", ABSOLUTE: "Measured value of each cell"}
    return [(text, html.picture(png)) for what, text in texts.items() if (png := picture(matrix, what))]


def shown_collective(anchor: str, collective: Collective) -> dict[str, Any]:
    """The values for the page's template about a collective."""
    return {
        **marks(collective.verdict),
        "anchor": anchor,
        "folded": collective.verdict is Verdict.PASS,
        "name": collective.name,
        "title": collective.title(),
        "how": collective.how(),
        "column_groups": collective.column_groups,
        "columns": collective.columns,
        "rows": [(size, [shown_figure(cell) for cell in cells]) for size, cells in collective.lines()],
        "lines": collective.remarks(MAX_LINES),
    }


def shown_figure(cell: Cell) -> dict[str, str]:
    """Text, tooltip and marks of a cell of a collective's table."""
    if cell.verdict is None:
        return {"text": cell.text, "title": "", "class": "", "glyph": "", "word": ""}
    return {"text": cell.text, "title": cell.reason, **marks(cell.verdict)}


def absolute(result: Result, matrix: MatrixVerdict, scale: Scale) -> dict[str, Any]:
    """The map of measured values. scale: (low, high) of its colours."""
    decimals = words.DECIMALS[result["unit"]]
    low, high = (figure(value, decimals) for value in scale)
    ends = {0: high, LEVELS - 1: low} if result["unit"] == "us" else {0: low, LEVELS - 1: high}
    return {
        "caption": f"Measured, {words.UNITS[result['unit']]}",
        "columns": result["columns"],
        "rows": [
            (label, [measured_cell(result, matrix, row, column, scale) for column in range(len(result["columns"]))])
            for row, label in enumerate(result["rows"])
        ],
        "legend": [Step(f"a{step}", ends.get(step, "")) for step in range(LEVELS)],
    }


def measured_cell(result: Result, matrix: MatrixVerdict, row: int, column: int, scale: Scale) -> dict[str, str]:
    """A cell of the map of measured values. Its tooltip contains reason, interval and samples."""
    block, status = matrix.matrix.whole, matrix.matrix.status_at(row, column)
    if status == "not-applicable":
        return NOT_APPLICABLE
    value, low, high, samples = (
        float(block.numbers(name)[row, column]) for name in ("values", "low", "high", "samples")
    )
    decimals, unit = words.DECIMALS[result["unit"]], words.UNITS[result["unit"]]
    cell = matrix.cells.get((result["rows"][row], result["columns"][column]))
    verdict = cell.verdict if cell is not None else Verdict.INCOMPLETE
    title = [f"{result['rows'][row]}->{result['columns'][column]}: {words.WORDS[verdict]}"]
    title += [cell.reason] if cell is not None and cell.reason else []
    if low == low and high == high:
        title.append(f"median between {figure(low, decimals)} and {figure(high, decimals)} {unit}")
    if samples > 0:
        title.append(units.counted(int(samples), "sample"))
    has_value = status == "ok" and value == value
    look = marks(verdict)
    colour = f"a{level(value, scale, result['unit'])}" if has_value else "gone"
    return look | {
        "text": figure(value, decimals) if has_value else status,
        "title": "; ".join(title),
        "class": f"{look['class']} {colour}",
    }


def deviations(result: Result, matrix: MatrixVerdict) -> dict[str, Any]:
    """The map of deviations from expected values in percent, with the medians of rows and columns."""
    rows, columns = matrix.matrix.rows, matrix.matrix.columns
    cells = [(label, [deviating_cell(result, matrix, (label, other)) for other in columns]) for label in rows]
    shown = [*columns]
    if min(len(rows), len(columns)) >= MIN_AXIS:
        of_rows, of_columns = matrix.axis_medians()
        cells = [(label, [*line, median_cell(result, off)]) for (label, line), off in zip(cells, of_rows, strict=True)]
        none = NOT_APPLICABLE | {"text": "", "class": "median"}
        cells.append((MEDIANS, [*(median_cell(result, off) for off in of_columns), none]))
        shown.append(MEDIANS)
    than = "their references" if matrix.compared else f"{matrix.baseline} of their link class"
    return {"caption": f"Deviation from {than}, %", "columns": shown, "rows": cells, "legend": deviation_legend()}


def deviation_legend() -> list[Step]:
    """The legend of all maps of deviations."""
    ends = [f"{100 * abs(step):.0f}" for step in DEVIATIONS]
    middle = len(DEVIATIONS) // 2
    texts = [f"≥ {ends[0]} % worse", *(f"{low}–{high} % worse" for high, low in pairwise(ends[:middle]))]
    texts += [f"within {ends[middle]} %", *(f"{low}–{high} % better" for low, high in pairwise(ends[middle:]))]
    texts.append(f"> {ends[-1]} % better")
    return [Step(f"d{step}", text) for step, text in enumerate(texts)]


def deviating_cell(result: Result, matrix: MatrixVerdict, pair: tuple[str, str]) -> dict[str, str]:
    """A cell of the map of deviations."""
    cell = matrix.cells.get(pair)
    if cell is None:
        return NOT_APPLICABLE
    off = matrix.worse(pair)
    look = marks(cell.verdict)
    if cell.verdict not in words.MARKED:
        look |= {"glyph": "", "word": ""}
    colour = "gone" if off is None else f"d{deviation_step(off)}"
    text = "no value" if off is None else percent(result, off)
    return look | {"text": text, "title": "", "class": f"{look['class']} {colour}"}


def median_cell(result: Result, off: float) -> dict[str, str]:
    """The cell that shows the median of a row or column. off: the median deviation as a fraction; NaN if unknown."""
    if off != off:
        return NOT_APPLICABLE
    return NOT_APPLICABLE | {"text": percent(result, off), "class": f"median d{deviation_step(off)}"}


def percent(result: Result, worse: float) -> str:
    """A deviation from the expected value in percent: "-11.0". worse: the fraction by which the value is worse."""
    text = f"{100 * (worse if result['unit'] == 'us' else -worse):+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def worst_table(result: Result, matrix: MatrixVerdict, history: History) -> list[dict[str, Any]]:
    """The rows of the table of the worst cells; [] if the matrix could not be judged.

    If the cells are in a separate file, the table contains only cells of a sample of suspect and healthy endpoints.
    """
    if matrix.problem:
        return []
    return [worst_row(result, matrix.subset, at, history) for at in worst_positions(matrix.subset)]


def worst_positions(matrix: MatrixVerdict) -> list[tuple[int, int]]:
    """(row, column) of the cells in the table of the worst cells, the worst first."""
    judged = matrix.whole
    assert judged is not None
    worse = judged.severity()
    marked = (judged.codes > Verdict.PASS) & ~judged.unjudged
    listed = np.flatnonzero(marked | (np.isfinite(worse) & (worse >= MIN_DEVIATION) & (judged.codes >= 0)))
    # judged cells come before measured cells without a reference
    bad = np.where(marked, 1000.0 * judged.codes, 0.0) + np.clip(worse, -100, 100)
    order = listed[np.argsort(-bad.ravel()[listed], kind="stable")][:MAX_WORST]
    return [(int(row), int(column)) for row, column in zip(*np.unravel_index(order, worse.shape), strict=True)]


def worst_row(result: Result, matrix: MatrixVerdict, at: tuple[int, int], history: History) -> dict[str, Any]:
    """A row of the table of the worst cells, as texts. at: (row, column)."""
    judged, unit = matrix.whole, matrix.matrix.unit
    assert judged is not None
    pair, cell = matrix.cell_at(*at)
    value, low, high, samples = (float(judged.numbers(name)[at]) for name in ("values", "low", "high", "samples"))
    group = matrix.matrix.class_names[judged.block.classes[at]]
    reference, allowed = float(judged.value[at]), float((judged.high if unit == "us" else judged.low)[at])
    known = matrix.matrix.classes.get(group)
    expected, baseline = known.baseline(unit) if known else (np.nan, "median")
    if np.isfinite(reference):
        expected, baseline = reference, "reference"
    off = float(judged.worse[at])
    text = {
        "value": shown_value(value, unit) if cell.value is not None else matrix.matrix.status_at(*at),
        "expected": shown_value(expected, unit),
        "of": baseline,
        "off": percent(result, off) if np.isfinite(off) else DASH,
        "interval": f"{shown_value(low, unit)} to {shown_value(high, unit)}" if np.isfinite(low) else DASH,
        "allowed": shown_value(allowed, unit),
        "samples": f"{samples:.0f}" if samples > 0 else DASH,
    }
    earlier = history(pair)
    drawn = trend([*earlier, value], expected, unit) if earlier and cell.value is not None else ""
    return {**marks(cell.verdict), "source": pair[0], "destination": pair[1], "group": group, **text, "trend": drawn}


def shown_value(value: float, unit: str) -> str:
    """A value as text; a dash for NaN."""
    return figure(value, words.DECIMALS[unit]) if np.isfinite(value) else DASH


def trend(values: list[float], expected: float, unit: str) -> Markup:
    """A sparkline as SVG, with a mark on the newest value. Its vertical range is at least ±NOISE (a fraction)."""
    middle = expected if np.isfinite(expected) else float(np.median(values))
    low, high = min([*values, middle * (1 - NOISE)]), max([*values, middle * (1 + NOISE)])
    step = (WIDTH - 2 * MARGIN) / (len(values) - 1)
    points = [
        (MARGIN + step * at, HEIGHT - MARGIN - (value - low) / (high - low) * (HEIGHT - 2 * MARGIN))
        for at, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    (x, y), decimals = points[-1], words.DECIMALS[unit]
    label = f"{counted(len(values) - 1, 'run')} before: {', '.join(figure(value, decimals) for value in values[:-1])}"
    return Markup(
        '<svg class="trend" width="{}" height="{}" role="img" aria-label="{}"><polyline points="{}"></polyline>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="2.5"></circle></svg>'
    ).format(WIDTH, HEIGHT, label, line, x, y)
