"""A table of cells, one row each. Needs pandas.

Columns: run (path of the record), started (UTC), host, partition, check, testcase, part ("" for the values themselves),
size_bytes, variant, unit, source, destination, link_class, status, value, low, high (in `unit`), samples, limit (GB/s),
reference (in `unit`), lower, upper (fractions of it), verdict and reason. Unknown values are missing (NaN or None).
Cells that do not apply have no row. A matrix that does not fit into memory has no rows; its record has summaries.
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
    """The columns that all cells of a matrix share."""
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
    """The cells of a matrix in memory, in the order of its rows."""
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
    """The cells of all records, without verdicts. parts: include further matrices, such as one direction of two."""
    found = []
    for test in tests:
        for result in (test.record or {"results": []})["results"]:
            for part in ("", *(result["parts"] if parts else ())):
                matrix = from_result(result, part or None)
                if matrix.fits_memory:
                    found.append(matrix_table(shared_columns(test, matrix, part), matrix))
    return pandas.concat(found, ignore_index=True) if found else pandas.DataFrame(columns=[*FACTS, *CELL])


def judged_table(one: Judged, verdict: MatrixVerdict) -> pandas.DataFrame:
    """The cells of a matrix in memory with references and verdicts, and the missing cells."""
    judged, matrix = verdict.whole, verdict.matrix
    assert judged is not None
    facts = shared_columns(one.test, matrix)
    frame = matrix_table(facts, matrix)
    at = np.nonzero(judged.codes >= 0)
    codes_of_class, classes = judged.expected.class_codes(matrix, judged.block)
    expected: list[Reference | None] = [judged.expected.class_references.get(name) for name in classes]
    of_cell = np.array([expected[code] for code in codes_of_class[at].tolist()], dtype=object)
    row_of = {(r, c): row for row, (r, c) in enumerate(zip(*(axis.tolist() for axis in at), strict=True))}
    for r, c, reference in reference_positions(matrix, judged.block, judged.expected.cell_references):
        if (r, c) in row_of:
            of_cell[row_of[r, c]] = reference
    for column, name in (("reference", "value"), ("lower", "lower"), ("upper", "upper")):
        frame[column] = [getattr(reference, name, None) for reference in of_cell]
    codes = judged.codes[at]
    frame["verdict"] = np.array([WORDS[one] for one in sorted(WORDS)], dtype=object)[codes]
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
