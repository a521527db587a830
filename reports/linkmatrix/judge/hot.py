"""What cells reached in a soak (--soak) while devices were heated, as a matrix that is judged as any.

A cell counts by what it was no better than for a fifth of the time, and in two parts of it at least: a link that was at
half of its speed for a while has failed, and one that a single pass disturbed has not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..record import grids
from ..record.reading import Result
from ..record.units import counted
from .rules import ORDER, Judged
from .verdicts import Verdict

SHARE = 0.2  # of a cell's time
LEAST = 2  # parts of the time: one of them may be a single disturbed pass
HELD = (
    ORDER["off reference"],
    ORDER["disturbed"],
    ORDER["impossible"],
)  # rules of a cell that is worse in the soak than before


class Hot(NamedTuple):
    """The verdict that a test case's cells in a soak allow at best, why, and the test case's place in the results."""

    verdict: Verdict
    sentence: str
    place: int


def results(record: Mapping[str, Any]) -> Iterator[tuple[int, Result]]:
    """(place, a result with what its cells reached in the soak in place of what they did before it)."""
    soak = record.get("soak") or {"matrices": ()}
    found = {(one["testcase"], one["size_bytes"]): one for one in soak["matrices"]}
    for place, result in enumerate(record["results"]):
        matrix = found.get((result["testcase"], result["size_bytes"]))
        if matrix is None or "cells" in result:
            continue
        values = grids.numbers(result["values"])
        hot = np.array([[lasting(cell, result["unit"]) for cell in row] for row in matrix["bins"]])
        if hot.shape != values.shape:
            continue  # `soak.left_out` says that there is no value of it
        hot = grids.of_array(np.where(np.isfinite(hot), hot, values))
        changed = dict.fromkeys(("values", "low", "high"), hot)
        yield place, {**result, **changed, "others": soak.get("others") or result.get("others")}


def lasting(bins: Sequence[float | None], unit: str) -> float:
    """What a cell was no better than for SHARE of the parts of the time in which it was measured; NaN without any."""
    known = sorted((one for one in bins if one is not None), reverse=unit == "us")
    if not known:
        return math.nan
    return known[min(len(known), max(LEAST, math.ceil(SHARE * len(known)))) - 1]


def sentences(place: int, testcase: str, before: Judged | None, hot: Judged | None) -> Iterator[Hot]:
    """What is said of cells that were worse in the soak than before it, by their references."""
    if before is None or hot is None:
        return
    for verdict in (Verdict.FAIL, Verdict.DISTURBED):
        cells = np.argwhere(np.isin(hot.rules, HELD) & (hot.codes == verdict) & (before.codes < verdict))
        if not len(cells):
            continue
        worst = max(cells.tolist(), key=lambda at: float(np.nan_to_num(hot.worse[at[0], at[1]])))
        more = f", and so {counted(len(cells) - 1, 'more cell')}" if len(cells) > 1 else ""
        lasted = f"for {100 * SHARE:.0f} % of the soak or more"
        yield Hot(verdict, f"{testcase}: {lasted} {hot.cell(*worst).reason}{more}", place)
