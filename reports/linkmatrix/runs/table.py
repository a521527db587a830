"""A table of cells as a pandas DataFrame. Each row is a cell.

Cells that do not apply have no row. A matrix that does not fit into memory has no rows. The columns are:

| columns | content |
|---|---|
| run | path of the record |
| started | UTC |
| host, partition, check, testcase, size_bytes, variant, unit | of the result |
| part | name of a part of the result; "" for the result |
| source, destination, link_class, status, samples | of the cell |
| value, low, high, reference | in `unit` |
| limit | GB/s |
| lower, upper | tolerances as fractions of the reference |
| verdict, reason | of the cell |

Unknown values are NaN or None.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas

from ..judge.evaluate import MatrixVerdict
from ..judge.expected import reference_positions
from ..judge.verdicts import WORDS, Verdict
from ..record.matrix import Matrix, from_result
from ..references.reading import Reference
from .judging import Judged
from .testcases import Test

FACTS = ["run", "started", "host", "partition", "check", "testcase", "part", "size_bytes", "variant", "unit"]
CELL = ["source", "destination", "link_class", "status", "value", "low", "high", "samples", "limit"]
JUDGED = ["reference", "lower", "upper", "verdict", "reason"]


def shared_columns(test: Test, matrix: Matrix, part: str = "") -> dict[str, Any]:
    """Returns {column: value} of the columns that have the same value in all rows of a matrix.

    part: name of a part of the result; "" for the result.
    """
    record = test.record or {}
    return {
        "run": str(test.path or ""),
        "started": record.get("started", ""),
        "host": record.get("host", {}).get("name", ""),
        "partition": test.partition,
        "check": test.name,
        "testcase": matrix.testcase,
        "part": part,
        "size_bytes": matrix.size_bytes,
        "variant": matrix.variant.removeprefix(", "),
        "unit": matrix.unit,
    }


def matrix_table(facts: Mapping[str, Any], matrix: Matrix) -> pandas.DataFrame:
    """One row per cell of a matrix in memory, in the order of the matrix. facts: the result of `shared_columns`."""
    block = matrix.whole
    at = np.nonzero(block.applies)
    codes, words = block.status
    numbers = {
        name: block.numbers(name)[at] if name in matrix.maps else np.full(len(at[0]), np.nan)
        for name in ("low", "high", "samples", "limit")
    }
    cells = {
        "source": np.array(matrix.rows, dtype=object)[at[0]],
        "destination": np.array(matrix.columns, dtype=object)[at[1]],
        "link_class": np.array(matrix.class_names, dtype=object)[block.classes[at]],
        "status": np.array(words, dtype=object)[codes[at]],
        "value": block.values[at],
        **numbers,
    }
    return pandas.DataFrame({**dict.fromkeys(FACTS), **cells}).assign(**facts)


def test_cells(tests: Iterable[Test], parts: bool = False) -> pandas.DataFrame:
    """One row per cell of all records of the tests, without verdicts.

    parts: whether to include the parts of results.
    """
    found = []
    for test in tests:
        for result in (test.record or {"results": []})["results"]:
            for part in ("", *(result["parts"] if parts else ())):
                matrix = from_result(result, part or None)
                if matrix.fits_memory:
                    found.append(matrix_table(shared_columns(test, matrix, part), matrix))
    return pandas.concat(found, ignore_index=True) if found else pandas.DataFrame(columns=[*FACTS, *CELL])


def judged_table(judged_test: Judged, verdict: MatrixVerdict) -> pandas.DataFrame:
    """One row per cell of a matrix in memory, with reference and verdict. Missing cells are the last rows."""
    judged, matrix = verdict.whole, verdict.matrix
    assert judged is not None
    facts = shared_columns(judged_test.test, matrix)
    frame = matrix_table(facts, matrix)
    at = np.nonzero(judged.codes >= 0)
    class_codes, classes = judged.expected.class_codes(matrix, judged.block)
    class_references: list[Reference | None] = [judged.expected.class_references.get(name) for name in classes]
    references = np.array([class_references[code] for code in class_codes[at].tolist()], dtype=object)
    table_row = {(r, c): row for row, (r, c) in enumerate(zip(*(axis.tolist() for axis in at), strict=True))}
    for r, c, reference in reference_positions(matrix, judged.block, judged.expected.cell_references):
        if (r, c) in table_row:
            references[table_row[r, c]] = reference
    for column, name in (("reference", "value"), ("lower", "lower"), ("upper", "upper")):
        frame[column] = [getattr(reference, name, None) for reference in references]
    codes = judged.codes[at]
    frame["verdict"] = np.array([WORDS[judged_test] for judged_test in sorted(WORDS)], dtype=object)[codes]
    frame["reason"] = ""
    worse = np.flatnonzero(codes != Verdict.PASS)
    frame.loc[worse, "reason"] = [judged.cell(int(at[0][row]), int(at[1][row])).reason for row in worse]
    lost = [
        {**facts, "source": pair[0], "destination": pair[1], "status": "not-run", "verdict": WORDS[cell.verdict]}
        | {"reason": cell.reason}
        | {name: getattr(cell.reference, of, None) for name, of in (("reference", "value"), ("lower", "lower"))}
        | {"upper": getattr(cell.reference, "upper", None)}
        for pair, cell in verdict.missing.items()
    ]
    return pandas.concat([frame, pandas.DataFrame(lost)], ignore_index=True) if lost else frame
