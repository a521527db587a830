"""The performance variables of a result. Their names are those of the references in config/references.

ReFrame gets the same references as the judge, with one limit: the lower limit of a bandwidth, the upper limit of a
latency. A ':' in a label becomes '/' in the name, because ReFrame loses the reference of a variable with a ':'.
"""

from datetime import date
from typing import NamedTuple

from reframe.core.builtins import xfail

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.names import UNKNOWN, lasting_names
from linkmatrix.references.reading import Reference

MOST_ENDPOINTS = 16  # more variables would bury the rest of a report; the record has every cell
LATENCY = "us"


class Figure(NamedTuple):
    """A performance variable.

    limited: whether ReFrame compares the value with a limit. cells: number of FAIL cells that the variable represents
    if its value is outside the limit.
    """

    value: float
    unit: str
    reference: Reference | None = None
    limited: bool = False
    cells: int = 1

    @property
    def outside(self):
        """Whether the value is worse than its limit, so that ReFrame fails the test."""
        if not self.limited or self.reference is None:
            return False
        is_latency = self.unit == LATENCY
        return self.value > self.reference.high_limit if is_latency else self.value < self.reference.low_limit

    @property
    def tolerances(self):
        """The reference in ReFrame's form: value, lower tolerance, upper tolerance, unit; `xfail` if it is waived.

        Without a reference: ReFrame's form for "not compared".
        """
        if self.reference is None:
            return 0, None, None, self.unit
        lower = self.reference.lower if self.limited and self.unit != LATENCY else None
        upper = self.reference.upper if self.limited and self.unit == LATENCY else None
        expected = self.reference.value, lower, upper, self.unit
        waived = self.limited and self.reference.waiver and date.today().isoformat() <= self.reference.waived_until
        return xfail(self.reference.waiver, expected) if waived else expected


def figure_of(cell, unit):
    """The performance variable of a judged cell. It has no limit if ReFrame would fail a cell that is not FAIL."""
    figure = Figure(cell.value, unit, cell.reference, limited=cell.reference is not None)
    return figure if not figure.outside or cell.verdict is Verdict.FAIL else figure._replace(limited=False)


def matrix_figures(matrix):
    """{name: figure} of a judged matrix (`linkmatrix.judge.evaluate.MatrixVerdict`).

    "min[NV18]", "median[NV18]" and "max[NV18]" summarise a link class and have its reference. They have no limit,
    because the judge compares cells. "gpu0->gpu3" is an ordered pair with a value, in matrices of at most 16 endpoints.
    "min[rows]", "max[rows]", "min[columns]" and "max[columns]" are of the medians of a matrix whose cells are in a
    file.
    """
    of = matrix.matrix
    figures = {}
    for group, summary in of.classes.items():
        for name, value in (("min", summary.low), ("median", summary.median), ("max", summary.high)):
            known = matrix.expected.class_references.get(group)
            figures[f"{name}[{group or UNKNOWN}]".replace(":", "/")] = Figure(value, of.unit, known)
    if of.external is not None:
        for axis, medians in zip(("rows", "columns"), of.external.medians, strict=True):
            figures[f"min[{axis}]"] = Figure(min(medians), of.unit)
            figures[f"max[{axis}]"] = Figure(max(medians), of.unit)
    if len({*of.rows, *of.columns}) <= MOST_ENDPOINTS:
        called = dict(zip(of.rows, lasting_names(of.testcase, of.rows), strict=True))
        called |= dict(zip(of.columns, lasting_names(of.testcase, of.columns), strict=True))
        for (row, column), cell in matrix.cells.items():
            if cell.value is not None and row in called and column in called:
                figures[f"{called[row]}->{called[column]}".replace(":", "/")] = figure_of(cell, of.unit)
    return figures


def size_figures(matrices):
    """{"in-place@4096": figure} of the columns of results with one row, one result per size.

    matrices: [(result, its `MatrixVerdict`)]
    """
    return {
        f"{column}@{result['size_bytes']}".replace(":", "/"): figure_of(cell, matrix.matrix.unit)
        for result, matrix in matrices
        for (_, column), cell in matrix.cells.items()
        if cell.value is not None
    }
