"""The scopes of flags: a test case, a link class and a path.

Each flag of a component has a scope. Only an undisturbed PASS or WARN in the same scope, on the same component, counts
towards the removal of the flag. A scope without link class is the complete test case. It has the flags by error
counters that rose while the test case was measured.

A record identifies network adapters by GUID or MAC address. An adapter is flagged if it explains cells that FAIL, or if
one of its error counters rose. The device whose data the adapter carries is flagged too if the cells do not distinguish
the two. An adapter is clean for a scope if cells between nodes went over the adapter and all of them passed. A
measurement of one node alone does not test an adapter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..judge.disturbances import MEMORY
from ..judge.verdicts import Verdict
from ..locate.layout import Layout, Names, Subject, layout_of, part_of
from ..record.names import Result
from ..references.keys import distinguishing_words, table_size
from . import components
from .components import Sighting

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..locate.hypotheses import Finding

ANOTHER = "another process"  # in place of a name that could not be read
CLEAN = (Verdict.PASS, Verdict.WARN)
#: Verdicts of a test case of which no cell counts as clean.
UNDECIDED = (Verdict.DISTURBED, Verdict.INCOMPLETE)


class Scope(NamedTuple):
    """A test case with a link class and a path.

    path: what else distinguishes results of one test case, such as "device memory, staged", or the size that a user
    set; often "".
    """

    testcase: str
    link_class: str = ""
    path: str = ""

    def __str__(self) -> str:
        words = " ".join(filter(None, (self.testcase, self.link_class)))
        return f"{words}, {self.path}" if self.path else words


class JudgedClasses(NamedTuple):
    """The link classes of the cells of each endpoint: those that are PASS or WARN, and those that are not."""

    good: dict[str, set[str]]
    bad: dict[str, set[str]]


def result_path(record: Mapping[str, Any], result: Result, variant: str) -> str:
    """The path of a result, as `Scope` has it; variant: of the test, with its size if a user set the size."""
    size = table_size(variant)
    words = distinguishing_words(record, result, variant) + ("" if size is None else f", {size} bytes")
    return words.removeprefix(", ")


def short_sample_scope(scope: Scope) -> Scope:
    """The scope of intermittent cells, which only results with short samples can measure."""
    return scope._replace(path=", ".join(filter(None, (scope.path, "short samples"))))


def result_scopes(record: Mapping[str, Any], result: Result, variant: str, classes: Iterable[str]) -> set[Scope]:
    """The scopes of a result with these link classes."""
    path = result_path(record, result, variant)
    return {Scope(result["testcase"], name, path) for name in classes}


def endpoint_classes(matrix: MatrixVerdict) -> JudgedClasses:
    """The judged link classes of each endpoint of a matrix. Cells that lack only a reference do not count."""
    if matrix.whole is None:
        every = set(matrix.matrix.classes)
        good, bad = matrix.passed_and_failed()
        return JudgedClasses({label: every for label in good}, {label: every for label in bad})
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed = (codes >= 0) & (codes <= max(CLEAN))
    return JudgedClasses(classes_in_mask(matrix, passed), classes_in_mask(matrix, (codes > max(CLEAN)) & ~unjudged))


def classes_in_mask(matrix: MatrixVerdict, cells: np.ndarray) -> dict[str, set[str]]:
    """{endpoint: the link classes of its cells in a mask, rows × columns} of a matrix in memory."""
    found: dict[str, set[str]] = {}
    assert matrix.whole is not None
    codes = matrix.whole.block.classes
    for number, name in enumerate(matrix.matrix.class_names):
        inside = cells & (codes == number)
        for labels, axis in ((matrix.matrix.rows, 1), (matrix.matrix.columns, 0)):
            for at in np.flatnonzero(inside.any(axis=axis)).tolist():
                found.setdefault(labels[at], set()).add(name)
    return found


def class_names(matrix: MatrixVerdict, cells: np.ndarray) -> set[str]:
    """The link classes of the cells in a mask, rows × columns, of a matrix in memory."""
    assert matrix.whole is not None
    return {matrix.matrix.class_names[code] for code in np.unique(matrix.whole.block.classes[cells]).tolist()}


def disturbed_nodes(record: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, list[str]]:
    """{node: the names of the other processes that disturbed it} while a result was measured."""
    others = result.get("others") or {}
    named = list(named_disturbances(others))
    node_of = {device["label"]: device["node"] for device in record["devices"]}
    for one in record.get("lost", ()):
        if one.get("kind") == MEMORY:  # which other processes hold
            there = [each for each in processes(record, result) if each["where"] == one["label"]]
            named.append((node_of.get(one["label"], record["host"]["name"]), [each["name"] for each in there]))
    found: dict[str, list[str]] = {}
    for node, names in named:
        known = [name or ANOTHER for name in names] or [ANOTHER]
        found[node] = list(dict.fromkeys([*found.get(node, ()), *known]))
    return found


def named_disturbances(others: Mapping[str, Any]) -> Iterator[tuple[str, list[str | None]]]:
    """(node, names of the processes) of each disturbance."""
    names = {one["pid"]: one["name"] for one in others.get("processes", ())}
    for one in others.get("disturbances") or ():
        yield one["node"], [names.get(pid) for pid in one["pids"]]


def processes(*holders: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The other processes that a record or a result names."""
    for holder in holders:
        yield from (holder.get("others") or {}).get("processes", ())


def scopes_text(scopes: Sequence[Scope]) -> str:
    """ "device_to_device_memcpy_write_ce NV18 and 2 more"."""
    more = f" and {len(scopes) - 1} more" if len(scopes) > 1 else ""
    return f"{scopes[0]}{more}" if scopes else ""


Adapters = dict[str, tuple[tuple[str, str], Sighting]]


def named_adapters(record: Mapping[str, Any]) -> Adapters:
    """{name of an adapter in findings and counters: (node and identity, sighting)}; of several ports the first.

    Findings use "mlx5_2 of n17". Counters use "mlx5_2", with "n17:" before it if the record has several nodes, and ":2"
    after it for the second port.
    """
    nodes = {node["name"] for node in record["nodes"]}  # one of them may have no adapter
    several = len(nodes | {one["place"].get("node") for one in record["adapters"]}) > 1
    found: Adapters = {}
    for (node, name), one in components.adapter_sightings(record).items():
        said = ((node, one.uuid), one)
        found.setdefault(f"{name.partition(':')[0]} of {node}", said)
        found[f"{node}:{name}" if several else name] = found[f"{name.partition(':')[0]} of {node}"]
    return found


def flagged_adapter(finding: Finding, names: Names, known: Mapping[str, object]) -> tuple[str, bool]:
    """(name of the adapter that a finding is about, or ""; whether the finding may be about a device instead).

    known: the names of the adapters that the record identifies.
    """
    if part_of(finding.kind) != "nic" or not isinstance(finding.subject, int):
        return "", False
    name = names.nics[finding.subject]
    others = {part_of(kind) for kind, _ in (*finding.equivalent, *finding.rivals)}
    return (name, bool(others - {"nic"})) if name in known else ("", False)


def adapter_cells(layout: Layout, adapter: Subject) -> np.ndarray:
    """The cells between nodes that go over an adapter, by its index, as a mask of rows × columns."""
    across = layout.row_node[:, None] != layout.column_node[None, :]
    return across & ((layout.row_nic == adapter)[:, None] | (layout.column_nic == adapter)[None, :])


def adapter_classes(record: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> JudgedClasses:
    """The link classes of the cells over each adapter, with separate sets for PASS or WARN and for worse cells."""
    found = JudgedClasses({}, {})
    if matrix.whole is None or not record["adapters"] or len({one["node"] for one in record["devices"]}) < 2:
        return found
    layout, names = layout_of(record, result, matrix.matrix)
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed, others = (codes >= 0) & (codes <= max(CLEAN)), (codes > max(CLEAN)) & ~unjudged
    for at, name in enumerate(names.nics):
        over = adapter_cells(layout, at)
        for of_adapter, cells in zip(found, (passed, others), strict=True):
            if (cells & over).any():
                of_adapter[name] = class_names(matrix, cells & over)
    return found
