"""The remeasurements of a run: outlying cells alone, and healthy cells as controls.

If a cell is slow again and its controls are unchanged, the cell is slow. If the controls got worse too, the machine was
slower during the remeasurement. Records of earlier versions have no controls.
"""

import statistics
from collections.abc import Mapping
from typing import Any

from ..judge.cell_sentences import quantity
from ..judge.disturbances import beside
from ..record import grids, units
from ..record.checking import is_of_matchings
from ..record.names import Result

#: The fraction by which a cell must be worse than its like, or controls than before, at least: as in the programs.
OUTLIER = {"GB/s": 0.02, "us": 0.05, "GFLOP/s": 0.02}


def remeasured_lines(result: Result, most: int = 5) -> list[str]:
    """A line for each remeasured cell and one for the controls; the cells that were not reproduced come first."""
    alone = "" if is_of_matchings(result) else " alone"
    lines = []
    for one in result["remeasured"]:
        before, after = (quantity(one[key], result["unit"]) for key in ("before", "after"))
        word = "not reproduced"
        if is_reproduced(result, one):
            word = "reproduced"
        elif alone and is_slow(result, one, used_value(result, one)):
            word = "slow in 2 of 4 measurements, so the second worst counts"
        lines.append(f"{one['row']}->{one['column']} was {before}, and {after} when measured again{alone}: {word}")
    lines.sort(key=lambda line: line.endswith(": reproduced"))
    lines = lines[:most] + ([f"and {len(lines) - most} more were measured again"] if len(lines) > most else [])
    return lines + ([controls(result)] if result.get("controls") else [])


def is_reproduced(result: Result, one: Mapping[str, Any]) -> bool:
    """Whether a remeasured cell is worse than its like again, in the median of its measurements alone."""
    return is_slow(result, one, one["after"])


def is_slow(result: Result, one: Mapping[str, Any], value: float) -> bool:
    """Whether a value of a remeasured cell is worse than its like."""
    usual, limit = usual_value(result, one), max(OUTLIER[result["unit"]], noise_of(result, one))
    return usual is None or worse(result, usual, value) > limit


def used_value(result: Result, one: Mapping[str, Any]) -> float:
    """The value of a remeasured cell: the second worst of its measurements.

    If the record has no value of the cell, it is the median of the measurements alone, which is no worse.
    """
    rows, columns = result["rows"], result["columns"]
    if "values" in result and one["row"] in rows and one["column"] in columns:
        value = result["values"][rows.index(one["row"])][columns.index(one["column"])]
        return float(one["after"] if value is None else value)
    return float(one["after"])


def usual_value(result: Result, one: Mapping[str, Any]) -> float | None:
    """The median of the cells of the same link class that were not remeasured; None without any.

    If the cells are in a separate file, it is the median of the controls.
    """
    if "values" not in result:
        found = [each["before"] for each in result.get("controls") or []]
        return statistics.median(found) if found else None
    rows, columns = result["rows"], result["columns"]
    if one["row"] not in rows or one["column"] not in columns:
        return None
    classes, values = result["link_class"], grids.numbers(result["values"])
    own = classes[rows.index(one["row"])][columns.index(one["column"])]
    again = {(each["row"], each["column"]) for each in result["remeasured"]}
    found = [
        float(values[r, c])
        for r, row in enumerate(rows)
        for c, column in enumerate(columns)
        if classes[r][c] == own and (row, column) not in again and values[r, c] > 0
    ]
    return statistics.median(found) if found else None


def stayed_alone(result: Result, who: str) -> bool:
    """Whether a component was slow again when measured alone, neither disturbed nor throttled. who: its name."""
    if is_of_matchings(result) or result.get("throttled") or machine(result) > 0 or beside(result):
        return False
    stayed = [one for one in result["remeasured"] if is_reproduced(result, one)]
    named = {*who.replace("->", " ").split()}
    of_it = [one for one in stayed if named & {one["row"], one["column"]}]
    is_endpoint = bool(named & {*result["rows"], *result["columns"]})
    return bool(of_it if is_endpoint else stayed)


def worse(result: Result, before: float, after: float) -> float:
    """The fraction by which the second value is worse than the first; negative: better."""
    return (1 if result["unit"] == "us" else -1) * (after / before - 1)


def machine(result: Result) -> float:
    """The fraction by which the control cells were worse when remeasured; 0 if the change is within their noise."""
    cells = result.get("controls") or []
    if not cells:
        return 0.0
    noise = statistics.median(noise_of(result, one) for one in cells)
    usual = statistics.median(worse(result, one["before"], one["after"]) for one in cells)
    return usual if abs(usual) > max(OUTLIER[result["unit"]], noise) else 0.0


def noise_of(result: Result, one: Mapping[str, Any]) -> float:
    """The noise of a cell as a fraction, from the interval of its median."""
    try:
        row, column = result["rows"].index(one["row"]), result["columns"].index(one["column"])
        low, high = (result[name][row][column] for name in ("low", "high"))
    except (ValueError, KeyError):
        return 0.0
    return 1.5 * (high - low) / one["before"] if low and high else 0.0


def controls(result: Result) -> str:
    """ "4 control cells: gpu0->gpu2 +0.1 %, …: unchanged": the changes of healthy cells in the remeasurement."""
    cells = result["controls"]
    told = [f"{one['row']}->{one['column']} {100 * (one['after'] / one['before'] - 1):+.1f} %" for one in cells]
    verdict = "unchanged"
    if change := machine(result):
        verdict = "all better alone" if change < 0 else "all worse, so the result is inconclusive: measure again"
    return f"{units.counted(len(cells), 'control cell')}: {', '.join(told)}: {verdict}"


def confirmation(result: Result) -> str:
    """The result of the remeasurements in a sentence; "" without remeasurements."""
    again = result["remeasured"]
    if not again:
        return ""
    stayed = sum(is_reproduced(result, one) for one in again)
    alone = "" if is_of_matchings(result) else " alone"
    said = f"reproduced: {stayed} of {units.counted(len(again), 'outlying cell')}, measured again{alone}"
    return f"{said}; {controls(result)}" if result.get("controls") else f"{said}, without control cells"
