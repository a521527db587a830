"""A matrix, and a collective, as the template of the page shows it."""

import base64
from collections.abc import Callable
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.reading import Result
from ..record.units import figure
from ..runs.judging import Judged
from . import again, findings, words
from .collectives import Cell, Collective

MOST_ENDPOINTS = 16  # of a table; above, the heat map and the list of the worst cells remain
MOST_LINES = 10  # cells that are listed for one matrix
CLASSES = {
    Verdict.PASS: "pass",
    Verdict.WARN: "warn",
    Verdict.NO_VERDICT: "no-verdict",
    Verdict.FAIL: "fail",
}

Picture = Callable[[dict[str, Any], Result, MatrixVerdict, Verdict], bytes]


def marks(verdict: Verdict) -> dict[str, str]:
    """How a verdict looks: its word, its glyph and its style class."""
    return {"word": words.WORDS[verdict], "glyph": words.GLYPHS[verdict], "class": CLASSES[verdict]}


def shown_matrix(anchor: str, one: Judged, result: Result, matrix: MatrixVerdict, picture: Picture) -> dict[str, Any]:
    """All that the page shows of one matrix."""
    summary = "; ".join(words.class_lines(matrix))
    verdict = one.of_matrix(matrix)
    fits = max(len(result["rows"]), len(result["columns"])) <= MOST_ENDPOINTS and not matrix.problem
    lines = [*matrix.overview(), *([] if fits or not matrix.matrix.classes else words.axis_lines(matrix))]
    drawn = matrix.closely.matrix.rows
    if len(drawn) < len(matrix.matrix.rows):
        lines.append(f"drawn: {len(drawn)} of {len(matrix.matrix.rows)} endpoints, the worst and healthy ones")
    lines += words.marked_cells(matrix, MOST_LINES) + findings.suspects(one, result, matrix)
    lines += findings.parts_and_places(one, matrix)
    lines += again.remeasured_lines(result, MOST_LINES) + words.inside_lines(result, matrix)
    lines += words.part_lines(result)
    return {
        **marks(verdict),
        "anchor": anchor,
        "name": result["testcase"],
        "title": words.title(result),
        "how": words.how(result),
        "picture": base64.b64encode(picture(one.test.record or {}, result, matrix, verdict)).decode(),
        "summary": summary or "nothing was measured",
        "columns": result["columns"],
        "rows": [
            (label, [shown_cell(result, matrix, row, column) for column in range(len(result["columns"]))])
            for row, label in enumerate(result["rows"])
        ]
        if fits
        else [],
        "lines": lines + [f"note: {note}" for note in [*result["notes"], *result.get("throttled", [])]],
    }


def shown_cell(result: Result, matrix: MatrixVerdict, row: int, column: int) -> dict[str, str]:
    """A cell of the table: its text, and all that is known about it as its title."""
    status, value = result["status"][row][column], result["values"][row][column]
    if status == "not-applicable":
        return {"text": "–", "class": "na", "title": "", "glyph": "", "word": ""}
    decimals, unit = words.DECIMALS[result["unit"]], words.UNITS[result["unit"]]
    cell = matrix.cells.get((result["rows"][row], result["columns"][column]))
    verdict = cell.verdict if cell is not None else Verdict.NO_VERDICT
    said = [f"{result['rows'][row]}->{result['columns'][column]}: {words.WORDS[verdict]}"]
    said += [cell.reason] if cell is not None and cell.reason else []
    low, high, samples = (result[name][row][column] for name in ("low", "high", "samples"))
    if low is not None and high is not None:
        said.append(f"median between {figure(low, decimals)} and {figure(high, decimals)} {unit}")
    if samples:
        said.append(units.counted(samples, "sample"))
    shown = status if status != "ok" or value is None else figure(value, decimals)
    return {"text": shown, "title": "; ".join(said), **marks(verdict)}


def shown_collective(place: str, one: Collective) -> dict[str, Any]:
    """All that the page shows of a collective."""
    return {
        **marks(one.verdict),
        "anchor": place,
        "name": one.name,
        "title": one.title(),
        "how": one.how(),
        "ways": one.ways,
        "columns": one.columns,
        "rows": [(size, [shown_figure(cell) for cell in cells]) for size, cells in one.lines()],
        "lines": one.said(MOST_LINES),
    }


def shown_figure(cell: Cell) -> dict[str, str]:
    """A figure of its table."""
    if cell.verdict is None:
        return {"text": cell.text, "title": "", "class": "", "glyph": "", "word": ""}
    return {"text": cell.text, "title": cell.reason, **marks(cell.verdict)}
