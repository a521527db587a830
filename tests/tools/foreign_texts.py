"""Outputs of other programs and their records, for the tests of `linkmatrix import`."""

import json
from pathlib import Path

from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.to_record import to_record
from linkmatrix.record import reading
from linkmatrix.references import published

DATA = Path(__file__).parents[1] / "data"
DOCUMENTS = {path.stem[:3]: path.read_text(encoding="utf-8") for path in published.FOLDER.glob("*.txt")}
FOREIGN = {path.name: path.read_text(encoding="utf-8") for path in (DATA / "foreign").iterdir() if path.is_file()}
NOW = "2026-11-21T00:00:00Z"


def only(text):
    """The only run of a text."""
    (run,) = read_text(text)
    return run


def records(text):
    content = text.encode()
    found = [json.loads(json.dumps(to_record(run, "x.txt", content, NOW, None, None))) for run in read_text(text)]
    for one in found:
        reading.check(one)
    return found


def result(text, testcase, run=0):
    found = [one for one in records(text) for one in one["results"] if one["testcase"] == testcase]
    return found[run]


def cell(matrix, row, column):
    return matrix["values"][matrix["rows"].index(row)][matrix["columns"].index(column)]


SMALL = """Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
          0         1         2
0       N/A    176.01    176.02
1    176.10       N/A    176.12
2    176.20    176.21       N/A

SUM device_to_device_memcpy_write_ce 1056.66
"""
