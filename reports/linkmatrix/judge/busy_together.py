"""Busy is not broken, of what all endpoints do together: a collective, or a simulation on the first of them.

Each of them waits for the slowest, so what others took of one is missing to all. Whatever moves the data, nobody counts
the run's own bytes: where others have a context on a device, what they took of its paths is not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..record.collective import devices_of, is_collective, is_simulation
from ..record.matrix import Block, Matrix
from ..record.reading import Result
from .busy import ALL, MOST, TURNS, AtWork, Busy, busy_of
from .others import LEAST, PROMISED, SAID

LEASTS = {"cpu": PROMISED, "sm": LEAST}  # shares of an endpoint below which nobody is seen to be there


@dataclass(frozen=True)
class BusyTogether(Busy):
    """What others did while endpoints did something together. parts: {column: the endpoints that take part}."""

    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, matrix: Matrix, block: Block, expected: np.ndarray) -> np.ndarray:
        """The share of others of what each cell needs, 0 where nothing tells."""
        shares = [self.of_all(self.parts[column]) for column in matrix.columns]
        return np.broadcast_to(np.array(shares), block.classes.shape).copy()

    def of_all(self, labels: Sequence[str]) -> float:
        """The share in which not all of them had what they need."""
        if unknown := self.unknown(labels):
            return max(self.uncounted.taken_of(label) for label in unknown)
        if self.by_messages and self.missing(self.lost, labels, PROMISED) >= TURNS:
            return ALL
        return min(MOST, max(self.missing(self.shares.get(kind, {}), labels, LEASTS[kind]) for kind in self.kinds))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of what others had a share."""
        return ("cpu", "sm") if self.by_kernel else ("cpu",)

    @staticmethod
    def missing(had: Mapping[str, float], labels: Sequence[str], least: float) -> float:
        """The share of the time in which others had at least one, were they there at random.

        least: a share below it, as an endpoint has where nobody else is, explains nothing, however many have one
        """
        shares = (had.get(label, 0.0) for label in labels)
        return float(1 - np.prod([1 - share for share in shares if share >= least]))

    def unknown(self, labels: Sequence[str]) -> list[str]:
        """Devices of others who did something there, or moved bytes that nobody counts."""
        silent = frozenset().union(*self.uncounted.unread.values())
        return [label for label in labels if label in self.uncounted.active | (self.uncounted.held.keys() & silent)]

    def sentence(self, row: str, column: str, link_class: str, line: float = np.nan) -> str:
        """ "busy: others had 63 % of the time that n1:rank0 wanted its cores (pid 2983 hog)", of the worst endpoint."""
        labels = self.parts[column]
        share, label, kind = max(
            (self.shares.get(kind, {}).get(one, 0.0), one, kind) for kind in self.kinds for one in labels
        )
        if share >= LEAST:
            return f"busy: others {SAID[kind].format(share=100 * share, label=label)}{self.who(label)}"
        at = (self.unknown(labels) or [label])[0]
        return f"busy: others were on {at}{self.who(at)}, and what they took of its paths is not counted"

    def is_uncounted(self, row: str, column: str, link_class: str) -> bool:
        """Whether nobody knows what others took."""
        return bool(self.unknown(self.parts[column]))


def of_result(record: Mapping[str, Any], result: Result, known: AtWork | None = None) -> Busy | None:
    """What others did while a result was measured, of pairs or of all together; None where nothing is known of them.

    known: as of `busy_of`
    A simulation's columns have the first endpoints of the machine, a collective's have all.
    """
    found = busy_of(record, result, known)
    if found is None or not is_collective(result):
        return found
    labels = [device["label"] for device in record["devices"]]
    parts = {one: labels[: devices_of(one)] if is_simulation(result) else labels for one in result["columns"]}
    return BusyTogether(**{one.name: getattr(found, one.name) for one in fields(Busy)}, parts=parts)
