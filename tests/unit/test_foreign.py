"""Outputs of other programs: every matrix of a document is read, and every number of it is in its record."""

import re
from collections import Counter

import pytest
from foreign_texts import DOCUMENTS, records

from linkmatrix.foreign.scan import read_text

#: What only the columns of a matrix look like, in each of the documents: counted without any reader.
COLUMNS = {
    "000": r"^\s*(PPU0 +PPU1|(HOST0:)?DEV0\s+(HOST1:DEV0|DEV1)) ",
    "001": r"^\s*(D\\D|GPU|CPU) +0 ",
    "002": r"^\s*(D\\D +0|GPU0\tGPU1) *",
    "003": r"^ +0 +1 +2 ",
    "004": r"^\s*((D\\D|GPU|CPU) +0|GPU0 +GPU1|D\\D +0) ",
}


@pytest.mark.parametrize("number", sorted(COLUMNS))
def test_no_matrix_of_a_document_is_lost(number):
    text = DOCUMENTS[number]
    runs = read_text(text)
    tables = [table for run in runs for table in run.tables]
    # a size of a sweep is a table too: those of one cell, and of collectives, are not matrices
    matrices = sum(run.matrices for run in runs if run.program not in ("osu", "nccl_tests", "perftest"))
    assert matrices == len(re.findall(COLUMNS[number], text, re.MULTILINE)) > 0
    sizes = len([table for table in tables if table.testcase.startswith(("osu", "all_reduce", "ib_"))])
    assert sizes == {"002": 5 + 5 + 6 + 4 + 4}.get(number, 0)
    assert {number: [fault for run in runs for fault in run.faults]} == {
        # the document itself lacks that row
        number: ["utilisation: missing rows: gpu2"] if number == "000" else []
    }


def test_every_number_of_the_matrices_of_a_document_is_in_its_record():
    for number in ("003", "004"):
        text = DOCUMENTS[number]
        printed = Counter(
            float(word)
            for line in text.splitlines()
            if re.match(r"^\s*\d+( +(\d+\.\d\d|N/A))+ *$", line)
            for word in line.split()[1:]
            if word != "N/A"
        )
        held = Counter()
        for one in records(text):
            for matrix in one["results"]:
                twice = matrix.get("local_copy") and matrix["unit"] == "GB/s"
                for grid in [matrix["values"], *(part["values"] for part in matrix["parts"].values())]:
                    for r, row in enumerate(grid):
                        for c, value in enumerate(row):
                            if value is not None:
                                held[round(value * (2 if twice and r == c else 1), 6)] += 1
        assert held == printed
