"""Slow cells that others may have made slow in bursts, though what they moved explains less on average.

What others had of a path is known as an average f over the whole measurement, while a cell has a moment of it. A cell
that lost the share L was measured while others had L of its path; they cannot have had that for more than f / L of the
time (Markov's inequality), which bounds the chance that a cell meets them so. And whenever they sent, they moved what
its cells lack: a finding whose cells lack more than they moved is none of theirs.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..judge.busy import Busy
from ..judge.evaluate import MatrixVerdict
from ..judge.uncounted import BESIDE
from ..record.reading import Result
from .families import Layout, members, named_family
from .hypotheses import AGREE, Finding
from .matchings import tail

CHANCE = 0.001  # that so many cells of a finding met others by chance, below which it is not by them


def marked(found: Sequence[Finding], result: Result, matrix: MatrixVerdict, layout: Layout) -> list[Finding]:
    """The findings, those that bursts of others may be the cause of as such."""
    whole, others = matrix.whole, matrix.others
    if whole is None or others is None or matrix.matrix.unit == "us":  # no bytes tell how long a word waited
        return list(found)
    share = counted_alone(others).of(matrix.matrix, whole.block, whole.should_be)
    seconds = seconds_of(result, layout.classes.shape)

    def in_bursts(one: Finding) -> bool:
        family, group = named_family(layout, one.kind, one.subject)
        own = members(family, group).reshape(layout.classes.shape) & np.isfinite(whole.observed)
        if one.shift >= 0 or (share[own] > BESIDE).sum() < max(1.0, AGREE * own.sum()):
            return False
        lost, had = -one.shift, float(np.median(share[own]))
        lacked, moved = lost * float(np.nansum(seconds[own])), had * others.others["seconds"]  # seconds of the path
        return lacked <= moved and tail(one.cells, one.agreeing, min(1.0, had / lost)) > CHANCE

    return [replace(one, bursts=True) if in_bursts(one) else one for one in found]


def seconds_of(result: Result, shape: tuple[int, ...]) -> np.ndarray:
    """For how long each cell was measured, NaN where it is not known."""
    began, ended = (np.array(result.get(name) or [], dtype=float) for name in ("began", "ended"))
    return ended - began if began.shape == ended.shape == shape else np.full(shape, np.nan)


def counted_alone(others: Busy) -> Busy:
    """What others did, as far as bytes were counted."""
    nothing = replace(others.uncounted, active=frozenset(), unread={}, memory={})
    return replace(others, shares={}, lost={}, uncounted=nothing)
