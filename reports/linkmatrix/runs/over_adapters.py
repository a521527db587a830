"""Network adapters that a run blames or clears: those that its record identifies, by GUID or MAC address.

An adapter is blamed where it is what explains slow cells, or where its own counters failed the test; the device whose
data it carries is blamed with it where the cells do not tell the two apart. It is clean where cells between nodes that
went over it passed and none failed: what a node measures alone says nothing of it.
"""

from collections.abc import Mapping
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..locate.families import part_of
from ..locate.hypotheses import Finding
from ..locate.places import Names, layout_of
from ..record.reading import Result
from . import parts
from .parts import Sighting

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


def blamed(finding: Finding, names: Names, known: Mapping[str, object]) -> tuple[str, bool]:
    """(the adapter that a finding is about, as `known_in` calls it, or ""; whether it may as well be a device)."""
    if part_of(finding.kind) != "nic" or not isinstance(finding.subject, int):
        return "", False
    name = names.nics[finding.subject]
    others = {part_of(kind) for kind, _ in (*finding.alike, *finding.rivals)}
    return (name, bool(others - {"nic"})) if name in known else ("", False)


def judged_over(record: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> tuple[set[str], set[str]]:
    """(adapters over which cells between nodes passed, those over which one failed or is missing)."""
    good: set[str] = set()
    bad: set[str] = set()
    if matrix.whole is None or not record["adapters"] or len({one["node"] for one in record["devices"]}) < 2:
        return good, bad
    layout, names = layout_of(record, result, matrix.matrix)
    across = layout.row_node[:, None] != layout.column_node[None, :]
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed, failed = (codes >= 0) & (codes <= Verdict.WARN), (codes > Verdict.WARN) & ~unjudged
    for at, name in enumerate(names.nics):
        over = across & ((layout.row_nic == at)[:, None] | (layout.column_nic == at)[None, :])
        good |= {name} if (passed & over).any() else set()
        bad |= {name} if (failed & over).any() else set()
    return good, bad
