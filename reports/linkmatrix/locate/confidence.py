"""The confidence of a finding: evidence for and against the finding, and other likely explanations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..record import units
from .families import PATH_COMPONENTS, find_family, member_cells
from .layout import NVLINKS, Layout, Names, part_of, subject_masks
from .sentences import component_to_check, subject_name

if TYPE_CHECKING:
    from .deviations import Deviations
    from .hypotheses import Finding

MAX_RIVALS = 3
MAX_SIGMA = 99  # a larger number is printed as "over 99"


def lines(finding: Finding, names: Names, seen: Deviations, layout: Layout) -> Iterator[str]:
    """Yields the lines "evidence for: …", "evidence against: …" and "nearly as likely: …" of a finding.

    The second and the third line are left out if they would be empty.
    """
    family, group = find_family(layout, finding.kind, finding.subject)
    own = (member_cells(family, group) & (layout.classes.ravel() >= 0)).reshape(layout.classes.shape)
    state = "without a value" if finding.missing else "slow"
    slow = f"{finding.agreeing} of {units.counted(finding.cells, 'cell')} {state}"
    supporting = [slow] if finding.missing else [slow, f"{sigmas_text(finding)} σ beyond noise"]
    against = []
    if finding.agreeing < finding.cells:
        against.append(f"{units.counted(finding.cells - finding.agreeing, 'cell')} as fast as the other cells")
    lacking = 0 if finding.missing else int((own & ~np.isfinite(seen.deviation)).sum())
    if lacking:
        against.append(f"{units.counted(lacking, 'cell')} without a value")
    for words, cells in healthy_cells_nearby(finding, layout):
        cells = cells & (layout.classes >= 0) & ~own
        count, fine = int(cells.sum()), int((cells & seen.fine).sum())
        if count and fine == count:
            supporting.append(f"{units.counted(count, 'cell')} {words} fine")
        elif count:
            against.append(f"{count - fine} of {units.counted(count, 'cell')} {words} not fine")
    yield f"evidence for: {', '.join(supporting)}"
    if against:
        yield f"evidence against: {', '.join(against)}"
    rivals = [f"{subject_name(kind, at, names)} ({component_to_check(kind, at, names)})" for kind, at in finding.rivals]
    if rivals:
        yield f"nearly as likely: {'; '.join(units.first(rivals, MAX_RIVALS))}"


def sigmas_text(finding: Finding) -> str:
    """The joint deviation of the cells of a finding in σ, such as "12" or "over 99".

    The evidence of a finding is half of the square of this number.
    """
    sigma = math.sqrt(2 * finding.evidence)
    return f"{sigma:.0f}" if sigma <= MAX_SIGMA else f"over {MAX_SIGMA}"


def healthy_cells_nearby(finding: Finding, layout: Layout) -> Iterator[tuple[str, np.ndarray]]:
    """Yields (description, mask) of groups of cells. If another component were faulty, these cells would be slow."""
    shape = layout.classes.shape
    node_of_row, node_of_column = layout.places("node")
    net = (node_of_row[:, None] != node_of_column[None, :]) & ~layout.in_domain
    rows, columns = subject_masks(finding.kind, finding.subject, layout)
    touched = rows[:, None] | columns[None, :]
    kind, part = finding.kind, part_of(finding.kind)
    if kind.endswith(("egress", "ingress")) and layout.square:
        back = columns[None, :] if kind.endswith("egress") else rows[:, None]
        scope = np.ones(shape, dtype=bool) if kind in ("egress", "ingress") else ~net if part in NVLINKS else net
        yield "of the reverse direction", np.broadcast_to(back, shape) & scope
    if part in PATH_COMPONENTS and kind in PATH_COMPONENTS:
        yield "inside the node", touched & ~net
    if kind in ("tray", "domain"):
        yield "of the domain's other trays", ~touched & layout.in_domain
    if part in NVLINKS or kind in ("inside", "tray"):
        yield "over the network", touched & net
    if part in PATH_COMPONENTS[: PATH_COMPONENTS.index("node")] and kind in PATH_COMPONENTS:
        mates = np.isin(node_of_row, node_of_row[rows]), np.isin(node_of_column, node_of_column[columns])
        yield "of its node's other endpoints", (mates[0][:, None] | mates[1][None, :]) & ~touched & net
    if kind in ("node_pair", "link", "cell"):
        yield "of the two endpoints with other peers", touched
