"""Values over time: the median of each link class of each run, and where the level of a series changed.

The partition of a series minimizes the sum of costs plus a penalty for each change (Jackson et al. 2005). The cost of a
value is (x - level)² / σ², at most 3² (Fearnhead and Rigaill 2019), so that one outlier is no change. The level is the
median of the segment, and the penalty is 3 log n (BIC for a level and a place). A segment has at least three values. σ
comes from the differences of neighbours, which a change of level does not affect. The search is exact and takes O(n²)
segments. Of a long series, only the last MOST values are searched.
"""

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..judge.disturbances import disturbance_sentences
from ..judge.inventory_diff import node_facts
from ..record import units
from ..record.matrix import Matrix, from_result
from ..record.names import Pair, Result, simulated_fault
from ..references.keys import distinguishing_words
from . import folders, stored
from .stored import Run
from .testcases import Test

if TYPE_CHECKING:
    import pandas

MOST = 300
LEAST_SEGMENT = 3
BOUND = 3.0  # σ, from which the cost of a value is constant
LEAST_SIGMA = 0.0005  # as a fraction of the median: rounding is no noise
MOST_DISTURBANCES = 2  # sentences about other processes
#: Columns that identify a series, and the columns of each of its values. A row is the median of a link class of a run.
#: variant: what else distinguishes results of a test case, with the node of a test for one node. facts: as
#: `record_facts`. beside: what other processes did during the measurement, "" for nothing known.
SERIES = ["testcase", "size_bytes", "unit", "link_class", "variant"]
COLUMNS = [*SERIES, "partition", "started", "value", "host", "facts", "beside"]
Median = Mapping[str, Any]  # a row with these columns


class Change(NamedTuple):
    """The level changed between values `at` - 1 and `at`; before and after: medians on both sides."""

    at: int
    before: float
    after: float


def medians(test: Test, values_of: Callable[[Matrix], Mapping[str, float]] | None = None) -> Iterator[Median]:
    """Yield a row with COLUMNS for each result and link class of a test; none for a simulated fault.

    values_of: returns {link class: value} of a matrix; by default the medians of its link classes.
    """
    record = test.record
    if record is None or simulated_fault(record):
        return
    facts = record_facts(record)
    for result in record["results"]:
        matrix = from_result(result)
        values = values_of(matrix) if values_of else {name: of.median for name, of in matrix.classes.items()}
        variant = distinguishing_words(record, result, test.variant) + (f", {test.node}" if test.node else "")
        others = "; ".join(units.first(disturbance_sentences(result), MOST_DISTURBANCES))
        for link_class, value in values.items():
            key = (result["testcase"], result["size_bytes"], result["unit"], link_class, variant)
            at = test.partition, record["started"], float(value), record["host"]["name"]
            yield dict(zip(COLUMNS, (*key, *at, facts, others), strict=True))


def frame(rows: "Iterable[Median] | pandas.DataFrame") -> "pandas.DataFrame":
    """The rows of `medians` in the order of time, each measurement once."""
    import pandas

    found = pandas.DataFrame(rows, columns=COLUMNS)
    found["size_bytes"] = found["size_bytes"].astype("Int64")
    once = found.drop_duplicates([*SERIES, "partition", "started", "value", "host"])
    return once.sort_values("started", kind="stable")


def record_facts(record: Mapping[str, Any]) -> dict[str, str]:
    """{fact: value} of software, program, kernel, VBIOS and firmware of a record, of all its nodes."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, name, fact in node_facts(record):
        found[name].add(fact)
    of_nodes = {name: " and ".join(sorted(facts)) for name, facts in found.items()}
    program = {"program": f"{record['program']} {record['version']}"}
    return {**of_nodes, **record["software"], **program}


def change_points(values: Sequence[float], least: float = 0.005) -> list[Change]:
    """The changes of level of at least the fraction `least`, in order; none for fewer than six values."""
    skipped = max(0, len(values) - MOST)
    x = np.asarray(values[skipped:], dtype=float)
    n = len(x)
    if n < 2 * LEAST_SEGMENT or not np.isfinite(x).all():
        return []
    middle = float(np.median(x))
    steps = np.abs(np.diff(x))
    sigma = max(1.4826 * float(np.median(steps)) / math.sqrt(2), abs(middle) * LEAST_SIGMA, 1e-12)
    penalty = 3 * math.log(n)
    best = np.full(n + 1, np.inf)
    best[0], last = -penalty, np.zeros(n + 1, dtype=int)
    for end in range(LEAST_SEGMENT, n + 1):
        starts = end - LEAST_SEGMENT + 1
        levels = np.array(medians_before(x, end)[:starts])
        costs = np.minimum(((x[None, :end] - levels[:, None]) / sigma) ** 2, BOUND**2)  # starts × values
        totals = best[:starts] + np.triu(costs).sum(axis=1) + penalty
        last[end] = totals.argmin()
        best[end] = totals[last[end]]
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(int(last[cuts[-1]]))
    edges = cuts[::-1]
    found = [float(np.median(x[a:b])) for a, b in zip(edges, edges[1:], strict=False)]
    return [
        Change(skipped + edge, before, after)
        for edge, before, after in zip(edges[1:-1], found, found[1:], strict=False)
        if before and abs(after / before - 1) >= least
    ]


def medians_before(x: np.ndarray, end: int) -> list[float]:
    """The medians of x[0:end], x[1:end] … x[end - 1:end], by insertion into a sorted list."""
    inside: list[float] = []
    found = []
    for value in x[:end][::-1].tolist():
        insort(inside, value)
        half = len(inside) // 2
        found.append(inside[half] if len(inside) % 2 else (inside[half - 1] + inside[half]) / 2)
    return found[::-1]


MOST_RUNS = 12
MOST_TESTS = 600  # whose records are read: of a run of very many tests fewer runs before it

Key = tuple[str, str, str, int | None, str, str]  # partition, node, test case, size, unit, what else tells it apart


class EarlierValues:
    """The values of the same cells in the runs before `run`; none if the run has no report in a folder of reports.

    Reports are read when a cell is asked for, MOST_RUNS at most.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def values(self, test: Test, result: Result, pair: Pair) -> list[float]:
        """The earlier values of a cell in the result's unit, the oldest first; none for a test without a record."""
        if test.record is None:
            return []
        return [
            value
            for one in self.found.get(series_key(test, test.record, result), [])
            if (value := cell_value(one, pair))
        ]

    @cached_property
    def found(self) -> dict[Key, list[Result]]:
        """The results of the runs before, the oldest first."""
        runs = []
        for path in self.paths():
            try:
                runs.append(stored.find(path))
            except BadInput:  # a report that cannot be read is no reason not to show this run
                continue
        found: dict[Key, list[tuple[str, Result]]] = {}
        for run in stored.without_duplicates(runs, for_verdicts=False):
            for test in run.tests:
                if test.record is None or simulated_fault(test.record):
                    continue
                for result in test.record["results"]:
                    key = series_key(test, test.record, result)
                    found.setdefault(key, []).append((test.record["started"], result))
        return {key: [result for _, result in sorted(of, key=lambda one: one[0])] for key, of in found.items()}

    def paths(self) -> list[Path]:
        """The reports to read."""
        if not folders.REPORT.fullmatch(self.run.path.name):
            return []
        there = folders.reports_in(self.run.path.parent)
        before = there[: next((at for at, path in enumerate(there) if path.name == self.run.path.name), 0)]
        most = min(MOST_RUNS, MOST_TESTS // max(len(self.run.tests), 1))
        return before[len(before) - min(most, len(before)) :]


def series_key(test: Test, record: Mapping[str, Any], result: Result) -> Key:
    """The key of a series: cells with the same name in two runs are the same cell only if the keys are equal."""
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    node = nodes.pop() if len(nodes) == 1 else ""  # labels of several name their nodes
    apart = distinguishing_words(record, result, test.variant)
    return test.partition, node, result["testcase"], result["size_bytes"], result["unit"], apart


def cell_value(result: Result, pair: Pair) -> float | None:
    """The value of a cell, None if it was not measured or is not in memory."""
    matrix = from_result(result)
    if matrix.whole is None or pair[0] not in matrix.rows or pair[1] not in matrix.columns:
        return None
    return matrix.numbers.get(pair)
