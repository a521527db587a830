"""Lost endpoints. A lost endpoint is reported as lost, and its links are not flagged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judge.disturbances import MEMORY
from ..judge.verdicts import Verdict
from ..record import units
from ..record.units import MOST_NAMED
from .families import find_family, member_cells
from .sentences import evidence

if TYPE_CHECKING:
    from ..record.matrix import Matrix
    from .hypotheses import Finding
    from .layout import Layout

#: Suffixes of the kinds that contain only some cells of an endpoint.
PARTIAL_KINDS = ("cell", "link", "node_pair", "egress", "ingress")


@dataclass(frozen=True, eq=False)
class LostEndpoints:
    """The lost endpoints of a matrix.

    why: {label of a row or column: (lost endpoint, reason)}. If the label is a node, the endpoint is on this node.
    lacking: True for cells without a value.
    devices: the labels of rows and columns whose device was lost.
    """

    content: Mapping[str, Any]
    matrix: Matrix
    why: Mapping[str, tuple[str, str]]
    lacking: np.ndarray
    devices: frozenset[str] = frozenset()

    @classmethod
    def of_record(cls, content: Mapping[str, Any], matrix: Matrix, lacking: np.ndarray) -> LostEndpoints:
        """Reads the lost endpoints of `matrix` from its record `content`. lacking: True for cells without a value."""
        labels, why, devices = {*matrix.rows, *matrix.columns}, {}, set()
        node = {device["label"]: device["node"] for device in content.get("devices", [])}
        for one in content.get("lost", []):
            if one.get("kind") == MEMORY:  # another process holds the memory of the device
                continue
            name = one["label"] if one["label"] in labels else node.get(one["label"])
            if name in labels:
                why.setdefault(name, (one["label"], one["why"]))
                devices |= {name} if one.get("kind") == "device" else set()
        return cls(content, matrix, why, lacking, frozenset(devices))

    def cells(self, names: Iterable[str]) -> np.ndarray:
        """True for the cells in the rows and columns with these names."""
        row, column = (np.isin(labels, [*names]) for labels in (self.matrix.rows, self.matrix.columns))
        return (row[:, None] | column[None, :]) & self.matrix.whole.applies

    def other_findings(self, findings: Iterable[Finding], layout: Layout) -> list[Finding]:
        """The findings about missing values, without the findings that a lost endpoint explains."""
        if not self.why:
            return list(findings)
        others = self.lacking & ~self.cells(self.why)

        def is_explained(finding: Finding) -> bool:
            family, group = find_family(layout, finding.kind, finding.subject)
            return finding.kind.endswith(PARTIAL_KINDS) and not others.ravel()[member_cells(family, group)].any()

        return [one for one in findings if not is_explained(one)]

    def finding_sentence(self, finding: Finding) -> str:
        """The sentence of a finding about a lost endpoint; "" for any other finding."""
        name = self.endpoint(finding)
        return self.sentence(name) if name in self.why else ""

    def verdict(self, finding: Finding, cell_verdict: Verdict) -> Verdict:
        """The verdict of a finding: FAIL for a lost device, `cell_verdict` for any other finding."""
        return Verdict.FAIL if finding.missing and self.endpoint(finding) in self.devices else cell_verdict

    def endpoint(self, finding: Finding) -> str:
        """The label of the endpoint of a finding of the kind "device"; "" for any other finding."""
        return (
            self.matrix.rows[finding.subject] if finding.kind == "device" and isinstance(finding.subject, int) else ""
        )

    def sentence(self, name: str) -> str:
        """The sentence about a lost endpoint.

        Example: "gpu2 was lost: it does not answer any more (5 of 6 cells of gpu2 without a value)".
        """
        (label, why), own = self.why[name], self.cells([name])
        cells = units.counted(int(own.sum()), "cell")
        text = f"{label} was lost: {why} ({int((own & self.lacking).sum())} of {cells} of {name} without a value)"
        return text + evidence(label, self.content)

    def sentences(self, findings: Iterable[Finding]) -> Iterator[str]:
        """Yields a sentence for each lost endpoint that has cells without a value but no finding."""
        known = {self.endpoint(one) for one in findings}
        rest = [name for name in self.why if name not in known and (self.lacking & self.cells([name])).any()]
        yield from map(self.sentence, rest[:MOST_NAMED])
        if len(rest) > MOST_NAMED:
            yield f"and {len(rest) - MOST_NAMED} more were lost"
