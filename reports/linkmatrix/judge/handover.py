"""The checked words of a visibility test: without them there is no PASS, and wrong words name an unordered path."""

from collections.abc import Iterator

import numpy as np

from ..record import grids
from ..record.names import HANDOVER, Result
from ..record.units import counted, first
from .verdicts import Verdict

WRONG, ROUNDS, UNSEEN = "wrong_words", "rounds", "unseen"  # parts of its result
MOST = 4  # directions in a sentence
REMEDY = (
    "a program that hands data over so, as NCCL does, computes with old data or hangs: look for an IOMMU or ACS that"
    " sends peer traffic through the root complex, and for a virtual machine whose peer access was never promised"
    " (iommu=pt, ACS off, or without peer access: NCCL_P2P_DISABLE=1)"
)


def is_of_words(result: Result) -> bool:
    """Is a result that of a visibility test?"""
    return result["quantity"] == HANDOVER


def sentences(result: Result) -> Iterator[tuple[Verdict, str]]:
    """The verdict that its words allow at best, beyond what the status of each cell says."""
    if not is_of_words(result):
        return
    ok = grids.where(result["status"], "ok")
    rounds, wrong, unseen = (counted_cells(result, part, ok.shape) for part in (ROUNDS, WRONG, UNSEEN))
    total = counted(int(ok.sum()), "cell")
    bad = ok & ((wrong > 0) | (unseen > 0))
    if bad.any():
        yield Verdict.FAIL, f"{int(bad.sum())} of {total} that are said to be fine had wrong words, or flags never seen"
    unchecked = ok & ~((rounds > 0) & np.isfinite(wrong) & np.isfinite(unseen))
    if unchecked.any():
        what = f"of {int(unchecked.sum())} of {total} no round was checked"
        yield Verdict.INCOMPLETE, f"{what}: the order of its writes is unknown"


def counted_cells(result: Result, part: str, shape: tuple[int, ...]) -> np.ndarray:
    """rows × columns: how many, NaN where it was not counted."""
    return grids.numbers(result["parts"][part]["values"]) if part in result["parts"] else np.full(shape, np.nan)


def order_sentences(result: Result) -> Iterator[str]:
    """The paths on which the writes of a visibility test are not ordered; nothing for other matrices."""
    if not is_of_words(result) or not {WRONG, ROUNDS, UNSEEN} <= result["parts"].keys():
        return
    wrong, unseen = ({way: count for way, count in counts(result, part) if count} for part in (WRONG, UNSEEN))
    rounds = dict(counts(result, ROUNDS))
    if wrong:
        worst = sorted(wrong, key=lambda way: -wrong[way])
        told = [f"{way} {counted(wrong[way], 'word')} in {counted(rounds[way], 'round')}" for way in worst]
        yield (
            f"ordering of writes {', '.join(first(worst, MOST))} is not kept: wrong data behind a set flag"
            f" ({', '.join(first(told, MOST))}); {REMEDY}"
        )
    if unseen:
        yield f"a flag that was set was never seen: {', '.join(first(list(unseen), MOST))}; {REMEDY}"


def counts(result: Result, part: str) -> Iterator[tuple[str, int]]:
    """("gpu1->gpu2", 12) of each cell with a count."""
    for row, values in zip(result["rows"], result["parts"][part]["values"], strict=True):
        for column, value in zip(result["columns"], values, strict=True):
            if value is not None:
                yield f"{row}->{column}", int(value)
