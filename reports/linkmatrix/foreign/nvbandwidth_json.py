"""Reads the JSON of nvbandwidth (`--json`) and of its fork for PPU, which has the same layout."""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadInput
from .grid import MARKS, Grid, drop_shifted
from .nvbandwidth import (
    LISTED,
    MULTINODE,
    NAME,
    PROCESS,
    PROGRAM,
    add_process,
    add_table,
    is_square,
    missing_status_by_version,
    sum_difference,
    table_of,
)
from .table import Reading, Table

PROGRAMS = (PROGRAM, "sailbandwidth")


def read_json(content: Mapping[str, Any]) -> Reading:
    """Read the run in the content of a JSON file. Raises BadInput if the file is damaged."""
    program = next(name for name in PROGRAMS if name in content)
    top = content[program]
    cases = top.get("testcases") if isinstance(top, dict) else None
    if not isinstance(cases, list):
        raise BadInput(f"the JSON of {program} has no list 'testcases'")
    reading = Reading("")
    reading.fork = "" if program == PROGRAM else program
    facts = reading.facts(program)
    facts.software = {
        ours: re.sub(r" \(\d+\)$", "", str(top[theirs]))
        for theirs, ours in (
            ("version", program),
            ("CUDA Runtime Version", "CUDA Runtime"),
            ("CUDA Driver Version", "CUDA Driver"),
            ("Driver Version", "driver"),
        )
        if isinstance(top.get(theirs), str | int)
    }
    listed = top.get("GPU Device list", top.get("PPU Device list"))
    for entry in listed if isinstance(listed, list) else []:
        if match := PROCESS.match(str(entry)):
            add_process(facts, match)
        elif match := LISTED.match(str(entry)):
            facts.devices[int(match[1])] = match[2]
    for place, case in enumerate(cases):
        if why := failure(case):
            name = f"testcases[{place}]: {str(case.get('name'))[:80]}"
            if "Invalid value when checking the pattern" in why:
                reading.run(program, place + 1).wrong.append(f"{name}: wrong data arrived")
            else:
                reading.add_problem(f"{name} ended with {why}")
            continue
        table = entry_table(case, place, missing_status_by_version(str(top.get("version", "")).removeprefix("v")))
        if table is not None:
            add_table(reading, case["name"], table)
    if top.get("error"):
        reading.add_problem(f"{program} reports a failure: {' '.join(str(top['error']).split())[:120]}")
    return reading


def failure(case: Any) -> str:
    """The status and the error message of a failed test case, as one text; "" for other test cases.

    case: an entry of the list `testcases`.
    """
    if not isinstance(case, dict) or case.get("status") in ("Passed", "Waived", "Running", "Not Found"):
        return ""
    return f"'{str(case.get('status'))[:40]}': {' '.join(str(case.get('error', 'no reason')).split())[:120]}"


def entry_table(case: Any, place: int, no_path: str) -> Table | None:
    """The table of a test case; None if the test case did not run. Raises BadInput for a damaged entry.

    case: an entry of the list `testcases`. place: the index of the entry. no_path: the status of cells that are N/A.
    """
    where = f"testcases[{place}]"
    name = case.get("name") if isinstance(case, dict) else None
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise BadInput(f"{where} has no valid name")
    status, matrix = case.get("status"), case.get("bandwidth_matrix")
    if status in ("Waived", "Running", "Not Found") and matrix is None:
        return None
    unit = re.search(r"\((GB/s|ns)\)", str(case.get("bandwidth_description")))
    if unit is None or not isinstance(matrix, list) or not matrix:
        raise BadInput(f"{where}: {case['name']} has no matrix, or no known unit in its description")
    columns = len(matrix[0]) if isinstance(matrix[0], list) else 0
    both_ways = case["name"].removeprefix(MULTINODE).startswith("device_to_device_bidirectional")
    # the rows of one direction, of the other direction and of their total follow each other
    sides = ["Read1", "Read2", "Total"] if both_ways and columns > 0 and len(matrix) == 3 * columns else ["Total"]
    size = len(matrix) // len(sides)
    if not columns or size != (columns if is_square(case["name"]) else 1):
        raise BadInput(f"{where}: {case['name']} has a wrong shape, {len(matrix)} rows and {columns} columns")
    tables = {}
    for number, side in enumerate(sides):
        grid = Grid([str(column) for column in range(columns)])
        for row, words in enumerate(matrix[number * size : (number + 1) * size]):
            good = isinstance(words, list) and len(words) == columns
            if not good or not all(re.fullmatch(r"N/A|\d+(\.\d+)?(e[+-]?\d+)?", str(word)) for word in words):
                raise BadInput(f"{where}: row {row} of {case['name']} is not {columns} numbers")
            grid.rows[str(row)] = [str(word) for word in words]
        if is_square(case["name"]):
            drop_shifted(grid, MARKS)
        tables[side] = (place + 1, unit[1], grid)  # JSON has no lines
    total = tables["Total"][2]
    if not total.faults and all(word == "N/A" for word in total.words().values()):
        raise BadInput(f"{where}: {case['name']} has no number")
    if isinstance(case.get("sum"), int | float) and (why := sum_difference(total, case["sum"])):
        raise BadInput(f"{where}: the numbers of {case['name']} {why}")
    return table_of(case["name"], tables, no_path)
