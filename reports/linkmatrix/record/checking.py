"""What the cells of a result must be, whatever they are kept in: numbers where statuses say so, inside of their
intervals, from samples, and nothing but the diagonal left out.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import BadInput
from . import grids
from .upgrade import LEAST_SAMPLES

NOT_MISSING = ("ok", "not-applicable", "no-peer-access")
#: Of a corrupt cell what arrived is wrong; a partial one is a total without the copies of an endpoint that was lost.
WITH_VALUE = ("ok", "corrupt", "partial")


def check_cells(result: Mapping[str, Any], block: Any, first: int = 0) -> None:
    """Raises BadInput for the first cell that is wrong, naming it and why. block: `matrix.Block` of the rows from
    `first` on.
    """
    values, low, high, samples = block.values, block.numbers("low"), block.numbers("high"), block.numbers("samples")
    with_value = block.is_status(*WITH_VALUE)
    known = ~np.isnan(values)
    converged, flags = grids.codes(block.matrix.maps["converged"], block.at)
    converged = np.array([flag is True for flag in flags], dtype=bool)[converged]
    with np.errstate(invalid="ignore"):
        faults = {
            "is '{status}' and its value is {value}": known != with_value,
            "is {value}, which nothing can measure": known & ~((values > 0) & np.isfinite(values)),
            "is {value}, outside of its interval {low} to {high}": known & ~((low <= values) & (values <= high)),
            "has a value and no samples": known & ~(samples > 0),
            f"has converged, and only {{samples:.0f}} of the {LEAST_SAMPLES} samples that an interval needs": known
            & converged
            & (samples < LEAST_SAMPLES),
            "is '{status}', which is for the diagonal, and only for it": ~block.applies
            != left_out(result, block, first),
        }
    for said, wrong in faults.items():
        if wrong.any():
            r, c = (int(at) for at in np.argwhere(wrong)[0])
            codes, words = block.status
            cell = {name: plain(grid[r, c]) for name, grid in (("value", values), ("low", low), ("high", high))}
            text = said.format(**cell, samples=samples[r, c], status=words[codes[r, c]])
            raise BadInput(f"{result['testcase']}: {result['rows'][first + r]}->{result['columns'][c]} {text}")


def plain(number: float) -> float | None:
    """None for NaN, as a record has it."""
    return None if np.isnan(number) else float(number)


def left_out(result: Mapping[str, Any], block: Any, first: int) -> np.ndarray:
    """True where nothing is measured: the diagonal, unless local copies were asked for, and what is below a triangle.

    Of a bisection nothing inside of a half is measured either: whatever says so.
    """
    if result["schedule"]["mode"] == "bisection":
        return ~block.applies
    shape = block.applies.shape
    found = np.zeros(shape, dtype=bool)
    if not result.get("local_copy"):
        place = {label: c for c, label in enumerate(result["columns"])}
        rows = enumerate(result["rows"][first : first + shape[0]])
        for r, c in ((r, place[label]) for r, label in rows if label in place):
            found[r, c] = True
    if result.get("triangle"):
        found |= np.tri(*shape, first - 1, dtype=bool)
    return found


def check_times(result: Mapping[str, Any]) -> None:
    """Raises BadInput for a cell that ended before it began, or lists other samples than it counts."""
    name, rows, columns = result["testcase"], result["rows"], result["columns"]
    if result["began"] is not None and result["ended"] is not None:
        began, ended = (grids.numbers(result[key]) for key in ("began", "ended"))
        for r, c in np.argwhere(began > ended)[:1]:
            said = f"began after {began[r, c]} s, and ended after {ended[r, c]} s"
            raise BadInput(f"{name}: {rows[r]}->{columns[c]} {said}")
    if result["sampled"] is not None:
        counts = grids.numbers(result["samples"])
        for r, row in enumerate(result["sampled"]):
            for c, sampled in enumerate(row):
                if sampled and len(sampled) != counts[r, c]:
                    said = f"has {counts[r, c]:.0f} samples, and {len(sampled)} are listed"
                    raise BadInput(f"{name}: {rows[r]}->{columns[c]} {said}")


def check_ending(result: Mapping[str, Any], statuses: Mapping[str, int]) -> None:
    """What a result says of itself is what its cells say, {status: how many}. Raises BadInput."""
    name = result["testcase"]
    missing = sum(count for status, count in statuses.items() if status not in NOT_MISSING)
    if result["complete"] != (not missing):
        raise BadInput(f"{name}: 'complete' is {result['complete']}, and {missing} cells are missing or corrupt")
    if result["verified"] and statuses.get("corrupt"):
        raise BadInput(f"{name}: 'verified' is true, and a cell is corrupt")


def only_diagonal(result: Mapping[str, Any]) -> bool:
    """Is the diagonal all that does not apply?"""
    return not (result.get("local_copy") or result.get("triangle") or result["schedule"]["mode"] == "bisection")
