"""The remeasurements of a run: outlying cells alone, and healthy cells as controls.

The program decides whether a cell was slow again and whether the controls changed, and records both. If a cell is slow
again and its controls are unchanged, the cell is slow. If the controls got worse too, the machine was slower.
"""

from collections.abc import Mapping
from typing import Any

from ..judge.cell_sentences import quantity
from ..judge.disturbances import beside
from ..record import units
from ..record.checking import is_of_matchings
from ..record.names import Result

WORDS = {
    "reproduced": "reproduced",
    "intermittent": "slow in 2 of 4 measurements, so the second worst counts",
    "not-reproduced": "not reproduced",
}


def remeasured_lines(result: Result, most: int = 5) -> list[str]:
    """A line for each remeasured cell and one for the controls; the cells that were not reproduced come first."""
    alone = "" if is_of_matchings(result) else " alone"
    lines = []
    for one in result["remeasured"]:
        before, after = (quantity(one[key], result["unit"]) for key in ("before", "after"))
        word = WORDS[one["outcome"]] if alone or one["outcome"] != "intermittent" else "slow in some measurements"
        lines.append(f"{one['row']}->{one['column']} was {before}, and {after} when measured again{alone}: {word}")
    lines.sort(key=lambda line: line.endswith(": reproduced"))
    lines = lines[:most] + ([f"and {len(lines) - most} more were measured again"] if len(lines) > most else [])
    return lines + ([controls(result)] if result.get("controls") else [])


def is_reproduced(one: Mapping[str, Any]) -> bool:
    """Whether a remeasured cell was slow again, in the median of its repeated measurements."""
    return bool(one["outcome"] == "reproduced")


def stayed_alone(result: Result, who: str) -> bool:
    """Whether a component was slow again when measured alone, neither disturbed nor throttled. who: its name."""
    if is_of_matchings(result) or result.get("throttled") or result.get("control_change", 0) > 0 or beside(result):
        return False
    stayed = [one for one in result["remeasured"] if is_reproduced(one)]
    named = {*who.replace("->", " ").split()}
    of_it = [one for one in stayed if named & {one["row"], one["column"]}]
    is_endpoint = bool(named & {*result["rows"], *result["columns"]})
    return bool(of_it if is_endpoint else stayed)


def controls(result: Result) -> str:
    """ "4 control cells: gpu0->gpu2 +0.1 %, …: unchanged": the changes of healthy cells in the remeasurement."""
    cells = result["controls"]
    told = [f"{one['row']}->{one['column']} {100 * (one['after'] / one['before'] - 1):+.1f} %" for one in cells]
    verdict = "unchanged"
    if change := result.get("control_change", 0):
        verdict = "all better alone" if change < 0 else "all worse, so the result is inconclusive: measure again"
    return f"{units.counted(len(cells), 'control cell')}: {', '.join(told)}: {verdict}"


def confirmation(result: Result) -> str:
    """The result of the remeasurements in a sentence; "" without remeasurements."""
    again = result["remeasured"]
    if not again:
        return ""
    stayed = sum(is_reproduced(one) for one in again)
    alone = "" if is_of_matchings(result) else " alone"
    said = f"reproduced: {stayed} of {units.counted(len(again), 'outlying cell')}, measured again{alone}"
    return f"{said}; {controls(result)}" if result.get("controls") else f"{said}, without control cells"
