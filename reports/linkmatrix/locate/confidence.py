"""The confidence of a finding: evidence for it, evidence against it, and explanations that are nearly as likely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..record import units
from .families import PASSED, members, named_family
from .layout import NVLINKS, Layout, Names, of_subject, part_of
from .sentences import subject_name, suspect

if TYPE_CHECKING:
    from .deviations import Deviations
    from .hypotheses import Finding

MOST_RIVALS = 3
MOST_SIGMA = 99  # larger numbers are printed as "over 99"


def lines(one: Finding, names: Names, seen: Deviations, layout: Layout) -> Iterator[str]:
    """Yields "evidence for: …", "evidence against: …" and "nearly as likely: …", each only with content."""
    family, group = named_family(layout, one.kind, one.subject)
    own = (members(family, group) & (layout.classes.ravel() >= 0)).reshape(layout.classes.shape)
    slow = f"{one.agreeing} of {units.counted(one.cells, 'cell')} {'without a value' if one.missing else 'slow'}"
    # noise does not remove values
    speaks = [slow] if one.missing else [slow, f"{sigmas_text(one)} σ beyond noise"]
    against = []
    if one.agreeing < one.cells:
        against.append(f"{units.counted(one.cells - one.agreeing, 'cell')} of it as fast as the rest")
    lacking = 0 if one.missing else int((own & ~np.isfinite(seen.deviation)).sum())
    if lacking:
        against.append(f"{units.counted(lacking, 'cell')} of it without a value")
    for words, cells in healthy_cells_nearby(one, layout):
        cells = cells & (layout.classes >= 0) & ~own
        count, fine = int(cells.sum()), int((cells & seen.fine).sum())
        if count and fine == count:
            speaks.append(f"{units.counted(count, 'cell')} {words} fine")
        elif count:
            against.append(f"{count - fine} of {units.counted(count, 'cell')} {words} not fine")
    yield f"evidence for: {', '.join(speaks)}"
    if against:
        yield f"evidence against: {', '.join(against)}"
    said = [f"{subject_name(kind, who, names)} ({suspect(kind, who, names)})" for kind, who in one.rivals]
    if said:
        yield f"nearly as likely: {'; '.join(units.first(said, MOST_RIVALS))}"


def sigmas_text(one: Finding) -> str:
    """The joint deviation of the cells of a finding, in σ. The evidence is half of its square."""
    sigma = math.sqrt(2 * one.evidence)
    return f"{sigma:.0f}" if sigma <= MOST_SIGMA else f"over {MOST_SIGMA}"


def healthy_cells_nearby(one: Finding, layout: Layout) -> Iterator[tuple[str, np.ndarray]]:
    """(name, mask) of healthy cells that would be slow if another component were at fault."""
    shape = layout.classes.shape
    node_of_row, node_of_column = layout.places("node")
    net = (node_of_row[:, None] != node_of_column[None, :]) & ~layout.in_domain
    rows, columns = of_subject(one.kind, one.subject, layout)
    touched = rows[:, None] | columns[None, :]
    kind, part = one.kind, part_of(one.kind)
    if kind.endswith(("egress", "ingress")) and layout.square:
        back = columns[None, :] if kind.endswith("egress") else rows[:, None]
        scope = np.ones(shape, dtype=bool) if kind in ("egress", "ingress") else ~net if part in NVLINKS else net
        yield "of the reverse direction", np.broadcast_to(back, shape) & scope
    if part in PASSED and kind in PASSED:
        yield "inside the node", touched & ~net
    if kind in ("tray", "domain"):
        yield "of the domain's other trays", ~touched & layout.in_domain
    if part in NVLINKS or kind in ("inside", "tray"):
        yield "over the network", touched & net
    if part in PASSED[: PASSED.index("node")] and kind in PASSED:
        mates = np.isin(node_of_row, node_of_row[rows]), np.isin(node_of_column, node_of_column[columns])
        yield "of its node's other endpoints", (mates[0][:, None] | mates[1][None, :]) & ~touched & net
    if kind in ("node_pair", "link", "cell"):
        yield "of the two endpoints with other peers", touched
