"""The scopes of flags. A scope is a test case, a link class and a path.

* Each flag of a component has a scope. Only an undisturbed PASS or WARN of the component in the same scope counts
  towards the removal of the flag.
* A scope without link class is the whole test case. A flag for error counters has this scope.
* A run flags an adapter if the adapter explains cells that FAIL, or if one of its error counters rose. If the cells do
  not distinguish the adapter from its device, the device is flagged too.
* An adapter is clean for a scope if all cells between nodes that use the adapter passed. A measurement of a single node
  does not test its adapters.
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

ANOTHER = "another process"  # instead of an unreadable name
CLEAN = (Verdict.PASS, Verdict.WARN)
#: Verdicts of a test case whose cells are never clean.
UNDECIDED = (Verdict.DISTURBED, Verdict.INCOMPLETE)


class Scope(NamedTuple):
    """A test case with a link class ("" for all classes) and a path.

    path: words that distinguish the results of one test case, such as "device memory, staged" or a size; often "".
    """

    testcase: str
    link_class: str = ""
    path: str = ""

    def __str__(self) -> str:
        words = " ".join(filter(None, (self.testcase, self.link_class)))
        return f"{words}, {self.path}" if self.path else words


class JudgedClasses(NamedTuple):
    """The link classes of the judged cells of each endpoint or adapter.

    * good: {endpoint or adapter: link classes with PASS or WARN cells}
    * bad: {endpoint or adapter: link classes with other cells}
    """

    good: dict[str, set[str]]
    bad: dict[str, set[str]]


def result_path(record: Mapping[str, Any], result: Result, variant: str) -> str:
    """The data path of a result, as scopes contain it, such as "device memory, staged".

    variant: see `Test.variant`. If the user set a size, the variant contains the size.
    """
    size = table_size(variant)
    words = distinguishing_words(record, result, variant) + ("" if size is None else f", {size} bytes")
    return words.removeprefix(", ")


def short_sample_scope(scope: Scope) -> Scope:
    """The scope of a flag for intermittent cells of `scope`.

    Only results with short samples can be clean for this scope.
    """
    return scope._replace(path=", ".join(filter(None, (scope.path, "short samples"))))


def result_scopes(record: Mapping[str, Any], result: Result, variant: str, classes: Iterable[str]) -> set[Scope]:
    """The scopes of a result, one per link class in `classes`. variant: see `result_path`."""
    path = result_path(record, result, variant)
    return {Scope(result["testcase"], name, path) for name in classes}


def endpoint_classes(matrix: MatrixVerdict) -> JudgedClasses:
    """The judged link classes of each endpoint of a matrix. Cells without a reference do not count."""
    if matrix.whole is None:
        every = set(matrix.matrix.classes)
        good, bad = matrix.passed_and_failed()
        return JudgedClasses({label: every for label in good}, {label: every for label in bad})
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed = (codes >= 0) & (codes <= max(CLEAN))
    return JudgedClasses(classes_in_mask(matrix, passed), classes_in_mask(matrix, (codes > max(CLEAN)) & ~unjudged))


def classes_in_mask(matrix: MatrixVerdict, cells: np.ndarray) -> dict[str, set[str]]:
    """Returns {endpoint: link classes of its cells} for the cells in a mask. The matrix must be in memory."""
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
    """The link classes of the cells in a mask. The matrix must be in memory."""
    assert matrix.whole is not None
    return {matrix.matrix.class_names[code] for code in np.unique(matrix.whole.block.classes[cells]).tolist()}


def disturbed_nodes(record: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns {node: names of the processes that disturbed it} during the measurement of a result."""
    others = result.get("others") or {}
    named = list(named_disturbances(others))
    node_of = {device["label"]: device["node"] for device in record["devices"]}
    for one in record.get("lost", ()):
        if one.get("kind") == MEMORY:  # other processes occupy the memory of the device
            names = [each["name"] for each in processes(record, result) if each["where"] == one["label"]]
            named.append((node_of.get(one["label"], record["host"]["name"]), names))
    found: dict[str, list[str]] = {}
    for node, names in named:
        known = [name or ANOTHER for name in names] or [ANOTHER]
        found[node] = list(dict.fromkeys([*found.get(node, ()), *known]))
    return found


def named_disturbances(others: Mapping[str, Any]) -> Iterator[tuple[str, list[str | None]]]:
    """Yields (node, names of the disturbing processes) of each disturbance. An unreadable name is None."""
    names = {one["pid"]: one["name"] for one in others.get("processes", ())}
    for one in others.get("disturbances") or ():
        yield one["node"], [names.get(pid) for pid in one["pids"]]


def processes(*holders: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the entries about processes of other programs or users.

    holders: records or results.
    """
    for holder in holders:
        yield from (holder.get("others") or {}).get("processes", ())


def scopes_text(scopes: Sequence[Scope]) -> str:
    """Scopes as text: "device_to_device_memcpy_write_ce NV18 and 2 more"."""
    more = f" and {len(scopes) - 1} more" if len(scopes) > 1 else ""
    return f"{scopes[0]}{more}" if scopes else ""


Adapters = dict[str, tuple[tuple[str, str], Sighting]]


def named_adapters(record: Mapping[str, Any]) -> Adapters:
    """Returns {name of an adapter: ((node, identity), sighting)}. An adapter has several names.

    * The name in findings is "mlx5_2 of n17".
    * The name in counters is "mlx5_2". If the record has several nodes, this name is "n17:mlx5_2".
    * The name of the second port in counters is "mlx5_2:2".
    """
    nodes = {node["name"] for node in record["nodes"]}  # one of them may have no adapter
    several = len(nodes | {one["place"].get("node") for one in record["adapters"]}) > 1
    found: Adapters = {}
    for (node, name), one in components.adapter_sightings(record).items():
        found.setdefault(f"{name.partition(':')[0]} of {node}", ((node, one.uuid), one))
        found[f"{node}:{name}" if several else name] = found[f"{name.partition(':')[0]} of {node}"]
    return found


def flagged_adapter(finding: Finding, names: Names, known: Mapping[str, object]) -> tuple[str, bool]:
    """Returns (name of the adapter of a finding, whether a device may be at fault instead).

    Returns ("", False) if the finding is not about a known adapter.

    known: the names of the adapters that the record identifies.
    """
    if part_of(finding.kind) != "nic" or not isinstance(finding.subject, int):
        return "", False
    name = names.nics[finding.subject]
    others = {part_of(kind) for kind, _ in (*finding.equivalent, *finding.rivals)}
    return (name, bool(others - {"nic"})) if name in known else ("", False)


def adapter_cells(layout: Layout, adapter: Subject) -> np.ndarray:
    """The mask of the cells between nodes that use an adapter, rows × columns.

    adapter: index of the adapter in the layout.
    """
    across = layout.row_node[:, None] != layout.column_node[None, :]
    return across & ((layout.row_nic == adapter)[:, None] | (layout.column_nic == adapter)[None, :])


def adapter_classes(record: Mapping[str, Any], result: Result, matrix: MatrixVerdict) -> JudgedClasses:
    """The judged link classes of the cells of each adapter. Cells without a reference do not count."""
    found = JudgedClasses({}, {})
    if matrix.whole is None or not record["adapters"] or len({one["node"] for one in record["devices"]}) < 2:
        return found
    layout, names = layout_of(record, result, matrix.matrix)
    codes, unjudged = matrix.whole.codes, matrix.whole.unjudged
    passed, others = (codes >= 0) & (codes <= max(CLEAN)), (codes > max(CLEAN)) & ~unjudged
    for at, name in enumerate(names.nics):
        over = adapter_cells(layout, at)
        for classes, cells in zip(found, (passed, others), strict=True):
            if (cells & over).any():
                classes[name] = class_names(matrix, cells & over)
    return found
