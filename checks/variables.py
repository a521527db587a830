"""The performance variables of a result. Their names equal the names of the references in config/references.

ReFrame gets the references of the judge, but only one limit: the lower limit of a bandwidth, or the upper limit of a
latency. ReFrame ignores the reference of a variable with a ':' in its name, so each ':' in a label becomes a '/'.
"""

from datetime import date
from typing import NamedTuple

from reframe.core.builtins import xfail

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record.link_classes import UNKNOWN
from linkmatrix.record.names import lasting_names
from linkmatrix.references.reading import Reference

MOST_ENDPOINTS = 16  # a larger matrix has no variables for pairs, because ReFrame's report would be too long
LATENCY = "us"


class Figure(NamedTuple):
    """A performance variable.

    limited: whether ReFrame compares the value with the limit of the reference.
    cells: the number of cells that are FAIL if the value is worse than the limit.
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
        """The reference in ReFrame's format: (value, lower tolerance, upper tolerance, unit).

        If the reference has a valid waiver, the tuple is wrapped in `xfail`. Without a reference, the tolerances are
        None, and ReFrame compares nothing.
        """
        if self.reference is None:
            return 0, None, None, self.unit
        lower = self.reference.lower if self.limited and self.unit != LATENCY else None
        upper = self.reference.upper if self.limited and self.unit == LATENCY else None
        expected = self.reference.value, lower, upper, self.unit
        waived = self.limited and self.reference.waiver and date.today().isoformat() <= self.reference.waived_until
        return xfail(self.reference.waiver, expected) if waived else expected


def cell_figure(cell, unit):
    """The performance variable of a judged cell.

    If the cell is not FAIL although its value is worse than the limit, the variable has no limit. ReFrame then does not
    fail the test.
    """
    figure = Figure(cell.value, unit, cell.reference, limited=cell.reference is not None)
    return figure if not figure.outside or cell.verdict is Verdict.FAIL else figure._replace(limited=False)


def matrix_figures(matrix):
    """The performance variables of a judged matrix, as {name: `Figure`}.

    * "min[NV18]", "median[NV18]" and "max[NV18]" summarise a link class. They have the reference of the link class, but
      no limit, because the judge compares cells.
    * "gpu0->gpu3" is an ordered pair. Only matrices of at most MOST_ENDPOINTS endpoints have these variables.
    * "min[rows]", "max[rows]", "min[columns]" and "max[columns]" are medians of rows and columns. Only matrices whose
      cells are in a separate file have these variables.

    matrix: a `linkmatrix.judge.evaluate.MatrixVerdict`.
    """
    values = matrix.matrix
    figures = {}
    for group, summary in values.classes.items():
        for name, value in (("min", summary.low), ("median", summary.median), ("max", summary.high)):
            known = matrix.expected.class_references.get(group)
            figures[f"{name}[{group or UNKNOWN}]".replace(":", "/")] = Figure(value, values.unit, known)
    if values.external is not None:
        for axis, medians in zip(("rows", "columns"), values.external.medians, strict=True):
            figures[f"min[{axis}]"] = Figure(min(medians), values.unit)
            figures[f"max[{axis}]"] = Figure(max(medians), values.unit)
    if len({*values.rows, *values.columns}) <= MOST_ENDPOINTS:
        names = dict(zip(values.rows, lasting_names(values.testcase, values.rows), strict=True))
        names |= dict(zip(values.columns, lasting_names(values.testcase, values.columns), strict=True))
        for (row, column), cell in matrix.cells.items():
            if cell.value is not None and row in names and column in names:
                figures[f"{names[row]}->{names[column]}".replace(":", "/")] = cell_figure(cell, values.unit)
    return figures


def size_figures(matrices):
    """The performance variables of results with one row, as {name: `Figure`}. A name is, for example, "in-place@4096".

    matrices: [(result, its `MatrixVerdict`)], one result per size.
    """
    return {
        f"{column}@{result['size_bytes']}".replace(":", "/"): cell_figure(cell, matrix.matrix.unit)
        for result, matrix in matrices
        for (_, column), cell in matrix.cells.items()
        if cell.value is not None
    }
