"""The two maps of a matrix as tables: what each cell deviates from what is expected, and what was measured.

The colour of a cell is a class of the style sheet, and its figure stands in it: nothing is shown by colour alone, and
the tables can be copied, searched, printed and read aloud. Expected is a cell's reference, or the baseline of its
link class.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.reading import Result
from ..record.units import figure
from . import words
from .scale import DEVIATIONS, LEVELS, Scale, deviation_step, level

CLASSES = {
    Verdict.PASS: "pass",
    Verdict.WARN: "warn",
    Verdict.NOT_JUDGED: "not-judged",
    Verdict.DISTURBED: "disturbed",
    Verdict.INCOMPLETE: "incomplete",
    Verdict.FAIL: "fail",
}
MARKED = (Verdict.WARN, Verdict.DISTURBED, Verdict.FAIL)  # verdicts whose glyph stands in the map of deviations
NOT_APPLICABLE: dict[str, str] = {"text": "–", "class": "na", "title": "", "glyph": "", "word": ""}
MEDIANS = "median"  # head of the row and the column that have the medians of the others
CELL = ("values", "low", "high", "samples")
LEAST_OF_AXIS = 3  # rows and columns, from which on their medians are shown


class Step(NamedTuple):
    """A colour of a legend: its class, and what has it."""

    style: str
    text: str


def marks(verdict: Verdict) -> dict[str, str]:
    """How a verdict looks: its word, its glyph and its style class."""
    return {"word": words.WORDS[verdict], "glyph": words.GLYPHS[verdict], "class": CLASSES[verdict]}


def absolute(result: Result, matrix: MatrixVerdict, scale: Scale) -> dict[str, Any]:
    """The map of what was measured, in the result's unit. scale: (low, high) of its colours."""
    decimals = words.DECIMALS[result["unit"]]
    low, high = (figure(value, decimals) for value in scale)
    ends = {0: low, LEVELS - 1: high}
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
    """A cell of the table: its text, and all that is known about it as its title."""
    block, status = matrix.matrix.whole, matrix.matrix.status_at(row, column)
    if status == "not-applicable":
        return NOT_APPLICABLE
    value, low, high, samples = (float(block.numbers(name)[row, column]) for name in CELL)
    decimals, unit = words.DECIMALS[result["unit"]], words.UNITS[result["unit"]]
    cell = matrix.cells.get((result["rows"][row], result["columns"][column]))
    verdict = cell.verdict if cell is not None else Verdict.INCOMPLETE
    said = [f"{result['rows'][row]}->{result['columns'][column]}: {words.WORDS[verdict]}"]
    said += [cell.reason] if cell is not None and cell.reason else []
    if low == low and high == high:
        said.append(f"median between {figure(low, decimals)} and {figure(high, decimals)} {unit}")
    if samples > 0:
        said.append(units.counted(int(samples), "sample"))
    there = status == "ok" and value == value
    look = marks(verdict)
    colour = f"a{level(value, scale)}" if there else "gone"
    return look | {
        "text": figure(value, decimals) if there else status,
        "title": "; ".join(said),
        "class": f"{look['class']} {colour}",
    }


def deviations(result: Result, matrix: MatrixVerdict) -> dict[str, Any]:
    """The map of what cells deviate, in percent of what is expected, with the medians of rows and columns."""
    rows, columns = matrix.matrix.rows, matrix.matrix.columns
    cells = [(label, [deviating_cell(result, matrix, (label, other)) for other in columns]) for label in rows]
    shown = [*columns]
    if min(len(rows), len(columns)) >= LEAST_OF_AXIS:
        of_rows, of_columns = matrix.axis_medians()
        cells = [(label, [*line, median_cell(result, off)]) for (label, line), off in zip(cells, of_rows, strict=True)]
        none = NOT_APPLICABLE | {"text": "", "class": "median"}
        cells.append((MEDIANS, [*(median_cell(result, off) for off in of_columns), none]))
        shown.append(MEDIANS)
    than = "their references" if matrix.held else f"{matrix.baseline} of their link class"
    return {"caption": f"Deviation from {than}, %", "columns": shown, "rows": cells, "legend": of_deviations()}


def of_deviations() -> list[Step]:
    """The legend of a map of deviations, the same for all."""
    ends = [f"{100 * abs(step):.0f}" for step in DEVIATIONS]
    middle = len(DEVIATIONS) // 2
    told = [f"≥ {ends[0]} % worse", *(f"{low}–{high} % worse" for high, low in pairwise(ends[:middle]))]
    told += [f"within {ends[middle]} %", *(f"{low}–{high} % better" for low, high in pairwise(ends[middle:]))]
    told.append(f"> {ends[-1]} % better")
    return [Step(f"d{step}", text) for step, text in enumerate(told)]


def deviating_cell(result: Result, matrix: MatrixVerdict, pair: tuple[str, str]) -> dict[str, str]:
    """A cell of it; of what has no value, or is not held against anything, the status."""
    cell = matrix.cells.get(pair)
    if cell is None:
        return NOT_APPLICABLE
    off = matrix.worse(pair)
    look = marks(cell.verdict)
    if cell.verdict not in MARKED:
        look |= {"glyph": "", "word": ""}
    colour = "gone" if off is None else f"d{deviation_step(off)}"
    text = "no value" if off is None else percent(result, off)
    return look | {"text": text, "title": "", "class": f"{look['class']} {colour}"}


def median_cell(result: Result, off: float) -> dict[str, str]:
    """The median of a row or a column; NaN where it has no value."""
    if off != off:
        return NOT_APPLICABLE
    return NOT_APPLICABLE | {"text": percent(result, off), "class": f"median d{deviation_step(off)}"}


def percent(result: Result, worse: float) -> str:
    """ "-11.0": by how much the figure is over or under what is expected; worse is less of a bandwidth."""
    said = f"{100 * (worse if result['unit'] == 'us' else -worse):+.1f}"
    return "0.0" if said in ("+0.0", "-0.0") else said
