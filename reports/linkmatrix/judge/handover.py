"""What a visibility test has checked: its words are its claim, so no PASS without them."""

from collections.abc import Iterator

import numpy as np

from ..record import grids, units
from ..record.matrix import HANDOVER
from ..record.reading import Result
from .verdicts import Verdict

WRONG, ROUNDS, UNSEEN = "wrong_words", "rounds", "unseen"  # parts of its result


def is_of_words(result: Result) -> bool:
    """Is a result that of a visibility test?"""
    return result["quantity"] == HANDOVER


def sentences(result: Result) -> Iterator[tuple[Verdict, str]]:
    """The verdict that its words allow at best, beyond what the status of each cell says."""
    if not is_of_words(result):
        return
    ok = grids.where(result["status"], "ok")
    rounds, wrong, unseen = (counted(result, part, ok.shape) for part in (ROUNDS, WRONG, UNSEEN))
    total = units.counted(int(ok.sum()), "cell")
    bad = ok & ((wrong > 0) | (unseen > 0))
    if bad.any():
        yield Verdict.FAIL, f"{int(bad.sum())} of {total} that are said to be fine had wrong words, or flags never seen"
    unchecked = ok & ~((rounds > 0) & np.isfinite(wrong) & np.isfinite(unseen))
    if unchecked.any():
        what = f"of {int(unchecked.sum())} of {total} no round was checked"
        yield Verdict.INCOMPLETE, f"{what}: the order of its writes is unknown"


def counted(result: Result, part: str, shape: tuple[int, ...]) -> np.ndarray:
    """rows × columns: how many, NaN where it was not counted."""
    return grids.numbers(result["parts"][part]["values"]) if part in result["parts"] else np.full(shape, np.nan)
