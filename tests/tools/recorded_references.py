"""References of what a record measured: the same machine in a good hour."""

from linkmatrix.record.names import lasting_names
from linkmatrix.references.tables import Reference, References


def references_of(record, name, tolerances):
    """Every measured cell as its reference, in the partition `name`; tolerances: {unit: (lower, upper)}."""
    found = {}
    for result in record["results"]:
        testcase, unit = result["testcase"], result["unit"]
        rows, columns = (lasting_names(testcase, result[side]) for side in ("rows", "columns"))
        found[name, testcase] = {
            f"{row}->{column}": Reference(value, *tolerances[unit], unit)
            for row, values in zip(rows, result["values"], strict=True)
            for column, value in zip(columns, values, strict=True)
            if value is not None
        }
    return References(found)
