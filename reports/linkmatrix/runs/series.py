"""Values over time: the median of each link class in each run, and the changes of level in such a series.

The changes divide a series into segments. The best segments have the smallest sum of costs and penalties (Jackson et
al. 2005):

* The cost of a value is (x - level)² / σ², at most 3² (Fearnhead and Rigaill 2019). Because of the maximum, a single
  outlier causes no change. The level is the median of the segment.
* The penalty per change is 3 log n (BIC for a level and a position). A segment has at least three values.
* σ is estimated from the differences of neighbours, so that changes of level hardly affect σ.

The search is exact, over O(n²) segments. Only the last MOST values of a series are searched.
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
BOUND = 3.0  # the cost of a value is constant for larger distances, in σ
LEAST_SIGMA = 0.0005  # as a fraction of the median, because rounding hides the noise
MOST_DISTURBANCES = 2  # sentences about other processes
#: Columns that identify a series, and all columns. A row is the median of a link class in a run.
#:
#: * variant: the words that distinguish results of a test case, and the node of a test for one node
#: * facts: see `record_facts`
#: * disturbances: sentences about disturbances by other processes; "" for none
SERIES = ["testcase", "size_bytes", "unit", "link_class", "variant"]
COLUMNS = [*SERIES, "partition", "started", "value", "host", "facts", "disturbances"]
Median = Mapping[str, Any]  # a row with these columns


class Change(NamedTuple):
    """A change of level between the values `at` - 1 and `at`.

    before, after: medians of the segments before and after the change.
    """

    at: int
    before: float
    after: float


def medians(test: Test, values_of: Callable[[Matrix], Mapping[str, float]] | None = None) -> Iterator[Median]:
    """Yields a row with COLUMNS for each result and link class of a test. A simulated fault has no rows.

    values_of: a function that returns {link class: value} of a matrix; None for the medians of its link classes.
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
            point = test.partition, record["started"], float(value), record["host"]["name"]
            yield dict(zip(COLUMNS, (*key, *point, facts, others), strict=True))


def frame(rows: "Iterable[Median] | pandas.DataFrame") -> "pandas.DataFrame":
    """The rows of `medians` as a table, in order of time and without duplicates."""
    import pandas

    found = pandas.DataFrame(rows, columns=COLUMNS)
    found["size_bytes"] = found["size_bytes"].astype("Int64")
    once = found.drop_duplicates([*SERIES, "partition", "started", "value", "host"])
    return once.sort_values("started", kind="stable")


def record_facts(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns {fact: value} of all nodes of a record: software, program, kernel, VBIOS and firmware."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, name, fact in node_facts(record):
        found[name].add(fact)
    on_nodes = {name: " and ".join(sorted(facts)) for name, facts in found.items()}
    program = {"program": f"{record['program']} {record['version']}"}
    return {**on_nodes, **record["software"], **program}


def change_points(values: Sequence[float], least: float = 0.005) -> list[Change]:
    """The changes of level, in order. Fewer than six values have no changes.

    least: the smallest change, as a fraction of the level.
    """
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
    """The medians of x[0:end], x[1:end] … x[end - 1:end], calculated by insertion into a sorted list."""
    inside: list[float] = []
    found = []
    for value in x[:end][::-1].tolist():
        insort(inside, value)
        half = len(inside) // 2
        found.append(inside[half] if len(inside) % 2 else (inside[half - 1] + inside[half]) / 2)
    return found[::-1]


MOST_RUNS = 12
MOST_TESTS = 600  # records to read: a run with very many tests is compared with fewer earlier runs

Key = tuple[str, str, str, int | None, str, str]  # partition, node, test case, size, unit, distinguishing words


class EarlierValues:
    """The values of the same cells in up to MOST_RUNS runs before `run`. A run without a report has no earlier values.

    The reports are read when the first cell is requested.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def values(self, test: Test, result: Result, pair: Pair) -> list[float]:
        """The values of a cell in the earlier runs, the oldest first, in the unit of the result."""
        if test.record is None:
            return []
        return [
            value
            for one in self.found.get(series_key(test, test.record, result), [])
            if (value := cell_value(one, pair))
        ]

    @cached_property
    def found(self) -> dict[Key, list[Result]]:
        """Returns {key of the series: results of the earlier runs}, the oldest result first."""
        runs = []
        for path in self.paths():
            try:
                runs.append(stored.find(path))
            except BadInput:  # an unreadable earlier report must not prevent showing this run
                continue
        found: dict[Key, list[tuple[str, Result]]] = {}
        for run in stored.without_duplicates(runs, for_verdicts=False):
            for test in run.tests:
                if test.record is None or simulated_fault(test.record):
                    continue
                for result in test.record["results"]:
                    key = series_key(test, test.record, result)
                    found.setdefault(key, []).append((test.record["started"], result))
        return {key: [result for _, result in sorted(every, key=lambda one: one[0])] for key, every in found.items()}

    def paths(self) -> list[Path]:
        """The reports of the earlier runs, the oldest first."""
        if not folders.REPORT.fullmatch(self.run.path.name):
            return []
        reports = folders.reports_in(self.run.path.parent)
        before = reports[: next((at for at, path in enumerate(reports) if path.name == self.run.path.name), 0)]
        most = min(MOST_RUNS, MOST_TESTS // max(len(self.run.tests), 1))
        return before[len(before) - min(most, len(before)) :]


def series_key(test: Test, record: Mapping[str, Any], result: Result) -> Key:
    """The key of a series. Two cells belong to the same series if their pairs and their keys are equal."""
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    node = nodes.pop() if len(nodes) == 1 else ""  # with several nodes, the labels contain the names of the nodes
    words = distinguishing_words(record, result, test.variant)
    return test.partition, node, result["testcase"], result["size_bytes"], result["unit"], words


def cell_value(result: Result, pair: Pair) -> float | None:
    """The value of a cell; None if the cell was not measured, or if the matrix does not fit into memory."""
    matrix = from_result(result)
    if matrix.whole is None or pair[0] not in matrix.rows or pair[1] not in matrix.columns:
        return None
    return matrix.numbers.get(pair)
