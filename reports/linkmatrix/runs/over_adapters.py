"""Network adapters that a run flags or finds clean. The record identifies these adapters by GUID or MAC address.

An adapter is flagged if it explains cells that FAIL, or if an error counter of the adapter rose. The device whose data
the adapter carries is flagged too if the cells do not distinguish the two. An adapter is clean for a question if cells
between nodes went over the adapter and all of them passed: a measurement of one node alone says nothing about it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..judge.evaluate import MatrixVerdict
from ..locate.hypotheses import Finding
from ..locate.layout import Layout, Names, Subject, layout_of, part_of
from ..record.names import Result
from . import parts, questions
from .parts import Sighting
from .questions import CLEAN, Answers

Known = dict[str, tuple[tuple[str, str], Sighting]]


def known_in(record: Mapping[str, Any]) -> Known:
    """{an adapter as findings call it, and as counters do: (node and identity, sighting)}; of several ports the first.

    Findings say "mlx5_2 of n17". Counters say "mlx5_2", with "n17:" before it where a record has several nodes, and
    ":2" behind it of the second port.
    """
    nodes = {node["name"] for node in record["nodes"]}  # one of them may have no adapter
    several = len(nodes | {one["place"].get("node") for one in record["adapters"]}) > 1
    found: Known = {}
    for (node, name), one in parts.of_adapters(record).items():
        said = ((node, one.uuid), one)
        found.setdefault(f"{name.partition(':')[0]} of {node}", said)
        found[f"{node}:{name}" if several else name] = found[f"{name.partition(':')[0]} of {node}"]
    return found


def flagged(finding: Finding, names: Names, known: Mapping[str, object]) -> tuple[str, bool]:
    """(the adapter that a finding is about, as `known_in` calls it, or ""; whether it may as well be a device)."""
    if part_of(finding.kind) != "nic" or not isinstance(finding.subject, int):
        return "", False
    name = names.nics[finding.subject]
    others = {part_of(kind) for kind, _ in (*finding.alike, *finding.rivals)}
    return (name, bool(others - {"nic"})) if name in known else ("", False)


def cells_over(layout: Layout, adapter: Subject) -> np.ndarray:
    """The cells between nodes that go over an adapter, by its index, as a mask of rows × columns."""
    across = layout.row_node[:, None] != layout.column_node[None, :]
    return across & ((layout.row_nic == adapter)[:, None] | (layout.column_nic == adapter)[None, :])


def answers(record: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> Answers:
    """The link classes of the cells over each adapter, with separate sets for PASS or WARN and for worse cells."""
    found = Answers({}, {})
    if matrix.whole is None or not record["adapters"] or len({one["node"] for one in record["devices"]}) < 2:
        return found
    layout, names = layout_of(record, result, matrix.matrix)
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed, others = (codes >= 0) & (codes <= max(CLEAN)), (codes > max(CLEAN)) & ~unjudged
    for at, name in enumerate(names.nics):
        over = cells_over(layout, at)
        for of_adapter, cells in zip(found, (passed, others), strict=True):
            if (cells & over).any():
                of_adapter[name] = questions.class_names(matrix, cells & over)
    return found
