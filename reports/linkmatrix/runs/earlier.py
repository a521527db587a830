"""What the reports beside a run's own have of the same cells: the same test case of the same machine, in runs before.

Nothing is read before somebody asks for a cell, and no more reports than a person would wait for.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..record.matrix import from_result
from ..record.names import Pair, Result, simulated_fault
from ..references.keys import told_apart
from . import folders, stored
from .stored import Run
from .testcases import Test

MOST_RUNS = 12
MOST_TESTS = 600  # whose records are read: of a run of very many tests fewer runs before it

Key = tuple[str, str, str, int | None, str, str]  # partition, node, test case, size, unit, what else tells it apart


class Earlier:
    """The runs before `run`: none where it is no report in a folder of reports."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def values(self, test: Test, result: Result, pair: Pair) -> list[float]:
        """What a cell was before, in the result's unit, the oldest first; of a test without a record nothing."""
        if test.record is None:
            return []
        return [value for one in self.found.get(key_of(test, test.record, result), []) if (value := number(one, pair))]

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
        for run in stored.each_once(runs, for_verdicts=False):
            for test in run.tests:
                if test.record is None or simulated_fault(test.record):
                    continue
                for result in test.record["results"]:
                    key = key_of(test, test.record, result)
                    found.setdefault(key, []).append((test.record["started"], result))
        return {key: [result for _, result in sorted(of, key=lambda one: one[0])] for key, of in found.items()}

    def paths(self) -> list[Path]:
        """The reports that are read."""
        if not folders.REPORT.fullmatch(self.run.path.name):
            return []
        there = folders.reports_in(self.run.path.parent)
        before = there[: next((at for at, path in enumerate(there) if path.name == self.run.path.name), 0)]
        most = min(MOST_RUNS, MOST_TESTS // max(len(self.run.tests), 1))
        return before[len(before) - min(most, len(before)) :]


def key_of(test: Test, record: Mapping[str, Any], result: Result) -> Key:
    """What must be the same in two runs, so that cells of one name are the same."""
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    node = nodes.pop() if len(nodes) == 1 else ""  # labels of several name their nodes
    apart = told_apart(record, result, test.variant)
    return test.partition, node, result["testcase"], result["size_bytes"], result["unit"], apart


def number(result: Result, pair: Pair) -> float | None:
    """The value of a cell that was measured, of a matrix that is held."""
    matrix = from_result(result)
    if matrix.whole is None or pair[0] not in matrix.rows or pair[1] not in matrix.columns:
        return None
    return matrix.numbers.get(pair)
