"""The JSON of nvbandwidth (`--json`) and of its fork for PPU, which has the same layout."""

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
    add_on_nodes,
    add_process,
    is_square,
    no_number,
    other_sum,
    table_of,
)
from .table import Reading, Table

PROGRAMS = (PROGRAM, "sailbandwidth")


def read_json(content: Mapping[str, Any]) -> Reading:
    """The run in the content of a JSON. Raises BadInput for damage."""
    program = next(name for name in PROGRAMS if name in content)
    top = content[program]
    cases = top.get("testcases") if isinstance(top, dict) else None
    if not isinstance(cases, list):
        raise BadInput(f"it is no JSON of {program}: it has no list of testcases")
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
        where = f"testcases[{place}]"
        if why := failed(case):
            name = f"{where}: {str(case.get('name'))[:80]}"
            if "Invalid value when checking the pattern" in why:
                reading.run(program, place + 1).wrong.append(f"{name}: wrong data arrived")
            else:
                reading.left(f"{name} ended with {why}")
            continue
        table = case_of(case, where, no_number(str(top.get("version", "")).removeprefix("v")))
        if table is not None:
            add_on_nodes(reading, case["name"], table)
    if top.get("error"):
        reading.left(f"{program} says that it failed: {' '.join(str(top['error']).split())[:120]}")
    return reading


def failed(case: Any) -> str:
    """How an entry of `testcases` failed, "" where it did not."""
    if not isinstance(case, dict) or case.get("status") in ("Passed", "Waived", "Running", "Not Found"):
        return ""
    return f"'{str(case.get('status'))[:40]}': {' '.join(str(case.get('error', 'no reason')).split())[:120]}"


def case_of(case: Any, where: str, no_path: str) -> Table | None:
    """An entry of `testcases`; None for one that is waived, or only announced. Raises BadInput for a damaged one."""
    name = case.get("name") if isinstance(case, dict) else None
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise BadInput(f"{where} has no name of a test case")
    status, matrix = case.get("status"), case.get("bandwidth_matrix")
    if status in ("Waived", "Running", "Not Found") and matrix is None:
        return None
    unit = re.search(r"\((GB/s|ns)\)", str(case.get("bandwidth_description")))
    if unit is None or not isinstance(matrix, list) or not matrix:
        raise BadInput(f"{where}: {case['name']} has no matrix, or its description no unit that is known")
    columns = len(matrix[0]) if isinstance(matrix[0], list) else 0
    both_ways = case["name"].removeprefix(MULTINODE).startswith("device_to_device_bidirectional")
    # one direction, the other, and their total stand below each other
    sides = ["Read1", "Read2", "Total"] if both_ways and columns > 0 and len(matrix) == 3 * columns else ["Total"]
    size = len(matrix) // len(sides)
    if not columns or size != (columns if is_square(case["name"]) else 1):
        raise BadInput(f"{where}: {case['name']} has {len(matrix)} rows of {columns} columns")
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
        tables[side] = (place_of(where), unit[1], grid)
    total = tables["Total"][2]
    if not total.faults and all(word == "N/A" for word in total.words().values()):
        raise BadInput(f"{where}: {case['name']} has no number")
    if isinstance(case.get("sum"), int | float) and (why := other_sum(total, case["sum"])):
        raise BadInput(f"{where}: the numbers of {case['name']} {why}")
    return table_of(case["name"], tables, no_path)


def place_of(where: str) -> int:
    """A JSON has no lines: the number of the test case, counted from 1."""
    return int(re.sub(r"\D", "", where) or 0) + 1
