"""The performance variables of a matrix: their names are those of the references in config/references."""

import statistics

from linkmatrix.record.matrix import lasting_names

MOST_ENDPOINTS = 16  # above, n * n variables would bury the rest of a report; the record has every cell
SUMMARIES = {"min": min, "median": statistics.median, "max": max}


def matrix_variables(table, classes):
    """{name: value} of a printed matrix, in its unit.

    "min[NV18]", "median[NV18]" and "max[NV18]" for each link class; and "gpu0->gpu3" for each ordered pair, where the
    matrix has at most 16 endpoints. Cells that are no numbers are left out: whether they may be is judged elsewhere.

    classes: {(source, destination): link class}; a pair that it lacks is of the class "unknown"
    """
    numbers = {pair: value for pair, value in table.cells.items() if isinstance(value, float)}
    groups = {}
    for pair, value in numbers.items():
        groups.setdefault(classes.get(pair) or "unknown", []).append(value)
    called = dict(zip(table.rows, lasting_names(table.testcase, table.rows), strict=True))
    called |= dict(zip(table.columns, lasting_names(table.testcase, table.columns), strict=True))
    variables = {f"{name}[{group}]": f(values) for group, values in groups.items() for name, f in SUMMARIES.items()}
    if len(set(table.rows) | set(table.columns)) <= MOST_ENDPOINTS:
        variables |= {f"{called[row]}->{called[column]}": value for (row, column), value in numbers.items()}
    return variables


def link_classes_of(result):
    """{(source, destination): link class} of the cells of a record's result."""
    return {
        (row, column): result["link_class"][r][c]
        for r, row in enumerate(result["rows"])
        for c, column in enumerate(result["columns"])
    }
