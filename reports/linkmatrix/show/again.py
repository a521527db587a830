"""What a run measured a second time: cells that stood out, alone, and healthy ones beside them as controls.

A cell that stays slow while its controls stay as they were is slow itself; where the controls fell as well, everything
was slower by then. A record that was made before there were controls has none.
"""

import statistics
from collections.abc import Mapping
from typing import Any

from ..judge.disturbances import beside
from ..record import units
from ..record.checking import is_of_matchings
from ..record.reading import Result
from ..record.units import figure
from . import words

TRANSIENT = 0.02  # by how much a cell is better when it is measured again, if what was wrong has passed
#: By how much controls must be worse the second time, at least, to say that everything was: as the program does.
OUTLIER = {"GB/s": 0.02, "us": 0.05, "GFLOP/s": 0.02}


def remeasured_lines(result: Result, most: int = 5) -> list[str]:
    """The cells that were outliers and were measured again, alone: transient if they are not any more."""
    unit, decimals = words.UNITS[result["unit"]], words.DECIMALS[result["unit"]]
    alone = "" if is_of_matchings(result) else " alone"
    lines = []
    for one in result["remeasured"]:
        before, after = (figure(one[key], decimals) for key in ("before", "after"))
        word = "transient" if transient(result, one) else "it stayed"
        lines.append(
            f"{one['row']}->{one['column']} was {before} {unit}, and {after} when measured again{alone}: {word}"
        )
    lines.sort(key=lambda line: line.endswith("it stayed"))
    lines = lines[:most] + ([f"and {len(lines) - most} more were measured again"] if len(lines) > most else [])
    return lines + ([f"beside them {controls(result)}"] if result.get("controls") else [])


def transient(result: Result, one: Mapping[str, Any]) -> bool:
    """Was a cell that was measured again not as bad the second time?"""
    return -changed(result, one) > TRANSIENT


def stayed_alone(result: Result, who: str) -> bool:
    """Whether a component was measured again, alone and undisturbed, and stayed slow. who: its name."""
    if is_of_matchings(result) or machine(result) > 0 or beside(result):
        return False
    stayed = [one for one in result["remeasured"] if not transient(result, one)]
    words_of_it = {*who.replace("->", " ").split()}
    of_it = [one for one in stayed if words_of_it & {one["row"], one["column"]}]
    is_endpoint = bool(words_of_it & {*result["rows"], *result["columns"]})
    return bool(of_it if is_endpoint else stayed)


def changed(result: Result, one: Mapping[str, Any]) -> float:
    """By which fraction a cell was worse when it was measured again; below 0: better."""
    return (1 if result["unit"] == "us" else -1) * (one["after"] / one["before"] - 1)


def machine(result: Result) -> float:
    """By which fraction the control cells were worse the second time; 0 where that is no more than they vary."""
    cells = result.get("controls") or []
    if not cells:
        return 0.0
    noise = statistics.median(noise_of(result, one) for one in cells)
    usual = statistics.median(changed(result, one) for one in cells)
    return usual if abs(usual) > max(OUTLIER[result["unit"]], noise) else 0.0


def noise_of(result: Result, one: Mapping[str, Any]) -> float:
    """What a cell varies by itself, as a fraction: from the interval of its median."""
    try:
        row, column = result["rows"].index(one["row"]), result["columns"].index(one["column"])
        low, high = (result[name][row][column] for name in ("low", "high"))
    except (ValueError, KeyError):
        return 0.0
    return 1.5 * (high - low) / one["before"] if low and high else 0.0


def controls(result: Result) -> str:
    """ "4 control cells: gpu0->gpu2 +0.1 %, …: as before"; what healthy cells did in a second measurement."""
    cells, sign = result["controls"], 1 if result["unit"] == "us" else -1
    told = [f"{one['row']}->{one['column']} {sign * 100 * changed(result, one):+.1f} %" for one in cells]
    so = "as before"
    if machine(result):
        so = "all better alone" if machine(result) < 0 else "all got worse, so that proves nothing: measure again"
    return f"{units.counted(len(cells), 'control cell')}: {', '.join(told)}: {so}"


def confirmation(result: Result) -> str:
    """What a second measurement inside the same run came to, in a sentence; "" where there was none."""
    again = result["remeasured"]
    if not again:
        return ""
    stayed = sum(not transient(result, one) for one in again)
    alone = "" if is_of_matchings(result) else " alone"
    said = f"{stayed} of {units.counted(len(again), 'outlying cell')} stayed so when measured again{alone}"
    return f"{said}; {controls(result)}" if result.get("controls") else f"{said}, without control cells"
