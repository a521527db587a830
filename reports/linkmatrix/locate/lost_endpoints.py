"""Lost endpoints: an endpoint that was lost is reported as lost, and its links are not flagged.

The cells of a lost endpoint that have a value show only how far the run had come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judge.disturbances import MEMORY
from ..judge.verdicts import Verdict
from ..record import units
from ..record.units import MOST_NAMED
from .families import members, named_family
from .sentences import evidence

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from .hypotheses import Finding
    from .layout import Layout

OF_A_PART = ("cell", "link", "node_pair", "egress", "ingress")  # suffixes of kinds with only some cells of an endpoint


@dataclass(frozen=True, eq=False)
class Lost:
    """The lost endpoints of a matrix.

    why: {row or column: (lost endpoint, reason)}; the key is the endpoint or its node. lacking: True for cells without
    a value. devices: endpoints whose device was lost.
    """

    content: Mapping[str, Any]
    matrix: Matrix
    why: Mapping[str, tuple[str, str]]
    lacking: np.ndarray
    devices: frozenset[str] = frozenset()

    @classmethod
    def of(cls, content: Mapping[str, Any], matrix: Matrix, lacking: np.ndarray) -> Lost:
        """The lost endpoints of a matrix in memory."""
        labels, why, devices = {*matrix.rows, *matrix.columns}, {}, set()
        node = {device["label"]: device["node"] for device in content.get("devices", [])}
        for one in content.get("lost", []):
            if one.get("kind") == MEMORY:  # another process holds its memory: the device is not at fault
                continue
            name = one["label"] if one["label"] in labels else node.get(one["label"])
            if name in labels:
                why.setdefault(name, (one["label"], one["why"]))
                devices |= {name} if one.get("kind") == "device" else set()
        return cls(content, matrix, why, lacking, frozenset(devices))

    def cells(self, names: Iterable[str]) -> np.ndarray:
        """True for the cells of these endpoints."""
        row, column = (np.isin(labels, [*names]) for labels in (self.matrix.rows, self.matrix.columns))
        return (row[:, None] | column[None, :]) & self.matrix.whole.applies

    def leaves(self, found: Iterable[Finding], layout: Layout) -> list[Finding]:
        """The findings about cells without a value, without those that a lost endpoint explains."""
        if not self.why:
            return list(found)
        others = self.lacking & ~self.cells(self.why)

        def is_of_lost(one: Finding) -> bool:
            family, group = named_family(layout, one.kind, one.subject)
            return one.kind.endswith(OF_A_PART) and not others.ravel()[members(family, group)].any()

        return [one for one in found if not is_of_lost(one)]

    def of_finding(self, one: Finding) -> str:
        """The sentence of a finding that is a lost endpoint; "" for any other finding."""
        name = self.endpoint(one)
        return self.sentence(name) if name in self.why else ""

    def verdict(self, one: Finding, of_cells: Verdict) -> Verdict:
        """The verdict of a finding: FAIL for a lost device, otherwise the verdict of its cells."""
        return Verdict.FAIL if one.missing and self.endpoint(one) in self.devices else of_cells

    def endpoint(self, one: Finding) -> str:
        """The endpoint of a finding about all cells of one endpoint; "" for any other finding."""
        return self.matrix.rows[one.subject] if one.kind == "device" and isinstance(one.subject, int) else ""

    def sentence(self, name: str) -> str:
        """ "gpu2 was lost: it does not answer any more (5 of 6 cells of gpu2 without a value)"."""
        (label, why), own = self.why[name], self.cells([name])
        cells = units.counted(int(own.sum()), "cell")
        text = f"{label} was lost: {why} ({int((own & self.lacking).sum())} of {cells} of {name} without a value)"
        return text + evidence(label, self.content)

    def sentences(self, told: Iterable[Finding]) -> Iterator[str]:
        """The sentences of lost endpoints that lack a value and have no finding. told: the findings."""
        said = {self.endpoint(one) for one in told}
        rest = [name for name in self.why if name not in said and (self.lacking & self.cells([name])).any()]
        yield from map(self.sentence, rest[:MOST_NAMED])
        if len(rest) > MOST_NAMED:
            yield f"and {len(rest) - MOST_NAMED} more were lost"
