"""A matrix, and a collective, as the template of the page shows it."""

import base64
from collections.abc import Callable
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record.reading import Result
from ..runs.earlier import Earlier
from ..runs.judging import Judged
from . import again, findings, maps, words, worst_cells
from .collectives import Cell, Collective
from .maps import marks
from .scale import Scale

MOST_ENDPOINTS = 16  # of a table; above, the heat map and the list of the worst cells remain
MOST_LINES = 10  # cells that are listed for one matrix
ABSOLUTE, DEVIATION = "absolute", "deviation"
#: (record, result, verdicts, verdict of the test case, ABSOLUTE or DEVIATION) → a PNG
Picture = Callable[[dict[str, Any], Result, MatrixVerdict, Verdict, str], bytes]


def fits(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix is shown by tables, and not by pictures."""
    return max(len(result["rows"]), len(result["columns"])) <= MOST_ENDPOINTS and matrix.whole is not None


def shown_matrix(
    anchor: str,
    one: Judged,
    result: Result,
    matrix: MatrixVerdict,
    picture: Picture,
    scale: Scale | None,
    earlier: Earlier,
) -> dict[str, Any]:
    """All that the page shows of one matrix.

    scale: (low, high) of its colours; None where nothing was measured. earlier: what its cells were in runs before.
    """
    summary = "; ".join(words.class_lines(one, result, matrix))
    verdict, small = one.of_matrix(matrix), fits(result, matrix)
    lines = [*matrix.overview(), *([] if small or not matrix.matrix.classes else words.axis_lines(matrix))]
    drawn = matrix.closely.matrix.rows
    if len(drawn) < len(matrix.matrix.rows):
        lines.append(f"drawn: {len(drawn)} of {len(matrix.matrix.rows)} endpoints, the worst and healthy ones")
    cells = worst_cells.table(result, matrix, lambda pair: earlier.values(one.test, result, pair))
    lines += [] if cells else words.marked_cells(matrix, MOST_LINES)
    lines += findings.suspects(one, result, matrix)
    lines += findings.parts_and_places(one, matrix)
    lines += again.remeasured_lines(result, MOST_LINES) + words.inside_lines(result, matrix)
    lines += words.part_lines(result)
    return {
        **marks(verdict),
        "anchor": anchor,
        "title": words.title(result),
        "how": words.how(result),
        "summary": summary or "nothing was measured",
        "maps": [maps.deviations(result, matrix), maps.absolute(result, matrix, scale or (0.0, 1.0))] if small else [],
        "pictures": [] if small or matrix.problem else pictures(one, result, matrix, verdict, picture),
        "worst": cells,
        "has_trends": any(cell["trend"] for cell in cells),
        "unit": words.UNITS[result["unit"]],
        "lines": lines + [f"note: {note}" for note in [*result["notes"], *result.get("throttled", [])]],
    }


def pictures(
    one: Judged, result: Result, matrix: MatrixVerdict, verdict: Verdict, picture: Picture
) -> list[tuple[str, str]]:
    """(what it shows, PNG in base64) of the two maps of a matrix that is too large for tables."""
    than = "references" if matrix.held else f"{matrix.baseline} of the link class"
    said = {DEVIATION: f"Deviation of each cell from {than}", ABSOLUTE: "What was measured of each cell"}
    drawn = ((text, picture(one.test.record or {}, result, matrix, verdict, what)) for what, text in said.items())
    return [(text, base64.b64encode(png).decode()) for text, png in drawn if png]


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
