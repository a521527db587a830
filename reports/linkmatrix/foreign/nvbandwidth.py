"""Reads the text of nvbandwidth 0.1 to 0.10 and of its forks; nvbandwidth_json reads `--json`.

The name of the test case determines the direction of the data. The arrow in a header line is wrong (testcases_ce.cpp of
v0.2 and v0.8):

| test cases | printed | actual direction |
|---|---|---|
| read | "GPU(row) -> GPU(column)" | column to row |
| write | "GPU(row) <- GPU(column)" | row to column |
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import BadInput
from ..record.names import Pair
from . import launch
from .endings import COPIES
from .grid import MISSING_ROWS, Grid, floats, measured, numbers, prefixed, read_grid, row_number, transposed
from .table import BLANK, Part, Reading, Run, Table

PROGRAM, UNKNOWN = "nvbandwidth", "unknown_program"
PAIRS_SINCE = 0, 9  # the version with the option --pair
NAME = r"(?:multinode_)?[a-z0-9_]+"
RUNNING = re.compile(rf"^Running ({NAME})\.\s*$")
HEAD = re.compile(r"^(?:memcpy|memory latency|Device to Device Latency|multicast)\b.*\((GB/s|ns)\)\s*$")
NUMBER = r"\d+\.\d\d"
SUM = re.compile(rf"^SUM ({NAME}) ({NUMBER})\s*$")
VERSION = re.compile(r"^([a-z]{2,40}bandwidth) Version: v?([\d.]+)\s*$")  # nvbandwidth or a fork
OTHER_DEVICE = re.compile(r" (?!GPU|CPU)[A-Z]{2,8}\((?:row|column)\)")
DEVICE = re.compile(rf"^Device (\d+): (.+?)(?: {launch.BUS})?\s*$")
PROCESS = re.compile(rf"{launch.PROCESS}(?P<model>[^\s;][^;]{{0,127}}?)(?: {launch.BUS})?\s*$")
HOST_NAME = re.compile(launch.HOST)
MULTINODE = "multinode_"
LISTED = re.compile(rf"^(\d+): (.+?)(?: {launch.BUS})?(?:: \(.*\))?$")
SOFTWARE = re.compile(r"^(CUDA Runtime|CUDA Driver|Driver) Version(?: \(API\))?: ([\w.]+)(?: \(\d+\))?\s*$")
SAMPLE = re.compile(r"^\t\s*\S")  # --verbose, before the table
WRONG = re.compile(r"^\s*Invalid value when checking the pattern at\b")
PAIR = re.compile(r"\bDevice ?(\d{1,5})\s*->\s*Device ?(\d{1,5})\b")
WRONG_LINES = 12  # length of a report on wrong data
UNMEASURED = "pairs without a number were not measured: --pair excluded them, or they have no peer access"
SIDES = {"Read1": "one_direction", "Write1": "one_direction", "Read2": "other_direction", "Write2": "other_direction"}
TITLES = {"one_direction": "one direction", "other_direction": "other direction"}


def version(reading: Reading, match: re.Match[str]) -> None:
    """Read `nvbandwidth Version: v0.2`, the start of a run."""
    reading.end_run()
    reading.fork = "" if match[1] == PROGRAM else match[1]
    reading.facts(match[1]).software[match[1]] = match[2]


def software(reading: Reading, match: re.Match[str]) -> None:
    """Read `CUDA Runtime Version: 12060`, or the version of the driver."""
    reading.facts(program_of(reading)).software[{"Driver": "driver"}.get(match[1], match[1])] = match[2]


def device(reading: Reading, match: re.Match[str]) -> None:
    """Read `Device 0: NVIDIA H800`."""
    facts, above = reading.facts(program_of(reading)), reading.lines[max(0, reading.at - 1)].strip()
    facts.devices[int(match[1])] = match[2]
    if match[1] == "0" and HOST_NAME.fullmatch(above):
        facts.node = above  # the program prints the host's name above its devices, since 0.5


def process(reading: Reading, match: re.Match[str]) -> None:
    """Read `Process 6 (worker-1): device 2: NVIDIA GB200 (00000018:01:00)`. The multinode build prints these lines."""
    add_process(reading.facts(program_of(reading)), match)


def add_process(facts: Run, match: re.Match[str]) -> None:
    """Store a process of a run: the host, the number of the device on the host, and the model of the device."""
    facts.processes[int(match["rank"])] = match["host"], int(match["device"]), match["model"]


def test_case(reading: Reading, match: re.Match[str]) -> None:
    """Read `Running NAME.` and the tables below: one table, or one table per direction and a table of totals."""
    name = match[1]
    reading.at += 1
    tables: dict[str, tuple[int, str, Grid]] = {}
    while True:
        reading.skip(BLANK, SAMPLE)
        head = HEAD.match(reading.line())
        if head is None:
            break
        line = reading.at + 1
        side = next((word for word in (*SIDES, "Total") if f" {word} " in reading.line()), "Total")
        reading.at += 1
        if not reading.fork and OTHER_DEVICE.search(head[0]):
            reading.fork = UNKNOWN
        if side in tables:
            raise BadInput(f"line {line}: {name} has the table '{side}' twice")
        tables[side] = (line, head[1], rows_of(reading, line, name))
        check_sum(reading, tables[side][2])
    if "Total" in tables and len({len(grid.columns) for _, _, grid in tables.values()}) == 1:
        add_table(reading, name, table_of(name, tables, missing_status(reading)))
    elif tables:
        reading.add_problem(f"line {reading.at + 1}: {name} has tables of different sizes, or lacks the total")
    elif WRONG.match(reading.line()):
        add_wrong(reading, name)
    elif match[0] == reading.line():
        reading.add_problem(f"line {reading.at + 1}: '{match[0]}' is repeated: {COPIES}")
    elif reading.line().startswith("Waived"):
        reading.waived = (
            f"line {reading.at + 1}: {name} was waived: the program found nothing to measure on this machine"
        )
    else:
        reading.add_problem(f"line {reading.at + 1}: {name} ran and printed no table")


def add_table(reading: Reading, name: str, table: Table) -> None:
    """Add a table to the reading.

    If the text contains a list of processes, there are two cases:

    * A multinode test case gets the labels of all processes: host and GPU.
    * Any other test case ran on the host of the first process. The test case is added to a separate run of this host.
    """
    program = program_of(reading)
    run = reading.current if reading.current.program == program else Run("")
    devices, node, ranks = run.devices, run.node, {}
    if run.processes and name.startswith(MULTINODE):
        ranks = {rank: (host, device) for rank, (host, device, _) in run.processes.items()}
        devices, node = {rank: model for rank, (_, _, model) in run.processes.items()}, ""
    elif run.processes:
        node = next(iter(run.processes.values()))[0]
        devices = {device: model for host, device, model in run.processes.values() if host == node}
    if run.tables and run.ranks != ranks:
        reading.end_run()
    reading.add(program, with_node_labels(table, launch.rank_labels(ranks) if launch.ranks_extent(ranks).ranks else ()))
    added = reading.runs[-1]  # a repeated test case starts another run with the same processes
    added.processes, added.software, added.ranks = run.processes, run.software, ranks
    added.devices, added.node = devices, node


def with_node_labels(table: Table, labels: Sequence[str]) -> Table:
    """The table with labels[N] in place of each label "gpuN". Example: "worker-1:gpu2" in place of "gpu6"."""
    places = {f"gpu{rank}": label for rank, label in enumerate(labels)}

    def moved(cells: Mapping[Pair, Any]) -> dict[Pair, Any]:
        return {(places.get(row, row), places.get(column, column)): value for (row, column), value in cells.items()}

    return replace(
        table,
        rows=tuple(places.get(label, label) for label in table.rows),
        columns=tuple(places.get(label, label) for label in table.columns),
        cells=moved(table.cells),
        parts={key: replace(part, cells=moved(part.cells)) for key, part in table.parts.items()},
    )


def add_wrong(reading: Reading, name: str) -> None:
    """Read `Invalid value when checking the pattern at 0x70a640000000`.

    The program prints this line if wrong data arrived, and then ends.
    """
    line, program = reading.at + 1, program_of(reading)
    run = reading.run(program, line)
    found = next(filter(None, map(PAIR.search, reading.lines[reading.at : reading.at + WRONG_LINES])), None)
    pair = f"from gpu{found[1]} to gpu{found[2]}" if found else "on an unknown pair"
    columns = [str(number) for number in range(len(run.devices))]
    if columns:
        table = table_of(name, {"Total": (line, "GB/s", Grid(columns))})
        cells = {(f"gpu{found[1]}", f"gpu{found[2]}"): "error"} if found else {}
        reading.add(program, replace(table, cells=cells, verified=False))
    reading.runs[-1].wrong.append(f"line {line}: {name}: wrong data arrived, {pair}")
    reading.at += 1


def program_of(reading: Reading) -> str:
    """The name of the program, nvbandwidth or a fork, from the version line or the command line."""
    started = re.search(r"([a-z]{2,40}bandwidth)(?: -|$)", reading.command or "")
    return reading.fork or (started[1] if started else PROGRAM)


def missing_status(reading: Reading) -> str:
    """The status of cells that the program prints as N/A.

    With the option `--pair`, N/A is a pair that was not selected ("not-run"). Without the option, N/A is
    "no-peer-access". If the command line is unknown, the version decides.
    """
    command, release = reading.command or "", reading.current.software.get(program_of(reading), "")
    if "bandwidth" in command:
        return "not-run" if re.search(r" --?pairs?\b", command) else "no-peer-access"
    return missing_status_by_version(release)


def missing_status_by_version(release: str) -> str:
    """The status of cells that the program prints as N/A, if the command line is unknown.

    The option `--pair` exists since version 0.9. In older versions, N/A is always "no-peer-access".
    release: the version; "" if it is unknown.
    """
    known = re.fullmatch(r"(\d{1,4})\.(\d{1,4})[\d.]*", release)
    return "no-peer-access" if known and (int(known[1]), int(known[2])) < PAIRS_SINCE else "not-run"


def rows_of(reading: Reading, line: int, name: str) -> Grid:
    """Read the table below a title: the column numbers and the rows. Raises BadInput without column numbers."""
    if HEAD.match(reading.line()):
        reading.add_problem(f"line {line + 1}: the head of a table is repeated: {COPIES}")
    reading.skip(HEAD)
    columns = reading.line().split()
    if not columns or columns != [str(number) for number in range(len(columns))]:
        raise BadInput(f"line {line + 1}: '{reading.line()[:60]}' is not a line of columns 0, 1, 2 …")
    reading.at += 1
    rows = columns if is_square(name) else ["0"]
    return read_grid(reading, columns, row_number, NUMBER, rows)


def is_square(name: str) -> bool:
    """Whether the table of a test case has one row per device. Otherwise the table has a single row."""
    return name.removeprefix("multinode_").startswith("device_to_device")


def check_sum(reading: Reading, grid: Grid) -> None:
    """Compare the line `SUM NAME 442.52` with the sum of the numbers above. Raises BadInput if the sums differ.

    A text without this line is not an error.
    """
    reading.skip(BLANK)
    printed = SUM.match(reading.line())
    if printed is None:
        return
    fits = not sum_difference(replace(grid, faults=[]), float(printed[2]))
    if fits and all(fault.startswith(MISSING_ROWS) for fault in grid.faults):
        grid.faults.clear()  # the program omits rows without numbers
    if not reading.may_be_cut() and (why := sum_difference(grid, float(printed[2]))):
        raise BadInput(f"line {reading.at + 1}: the numbers above {why}")
    reading.at += 1


def sum_difference(grid: Grid, printed: float) -> str:
    """A clause about a printed sum that differs from the sum of the numbers; "" if the sums agree.

    Tables with faults are not compared: the function returns "".
    """
    found = floats(grid.words().values())
    if grid.faults or abs(sum(found) - printed) <= 0.005 * (len(found) + 2):
        return ""
    return f"have the sum {sum(found):.2f}, not {printed:.2f}: a row or a digit is missing"


def table_of(name: str, tables: dict[str, tuple[int, str, Grid]], no_path: str = "not-run") -> Table:
    """The table of a test case.

    tables: {"Total" or the name of a direction: (number of the header line, unit, rows)}.
    no_path: the status of cells that are N/A.
    """
    line, unit, grid = tables["Total"]
    scale = {"GB/s": 1.0, "ns": 0.001}[unit]
    count = len(grid.columns)
    plain = name.removeprefix(MULTINODE)
    has_directions = len(tables) > 1
    rows = [f"gpu{index}" for index in range(count)] if is_square(name) else single_row_label(plain)
    is_transposed = column_is_source(plain, has_directions)
    columns = [f"gpu{index}" for index in range(count)]

    def cells(part: Grid) -> dict[tuple[str, str], float | str]:
        named = {(rows[int(row)], f"gpu{column}"): word for (row, column), word in part.words().items()}
        read = numbers(named, scale, no_path=no_path)
        return transposed(read) if is_transposed else read

    faults = list(grid.faults)
    parts = {}
    for other, (_, _, part) in tables.items():
        if other in SIDES:
            parts[SIDES[other]] = Part(TITLES[SIDES[other]], "GB/s", measured(cells(part)))
            faults += part.faults
    found = cells(grid)
    if not faults and ("not-run" in found.values() or (is_square(name) and len(grid.rows) < count)):
        faults.append(UNMEASURED)
    axes = (tuple(columns), tuple(rows)) if is_transposed else (tuple(rows), tuple(columns))
    return Table(
        testcase=(plain if "memcpy" in plain and is_square(plain) else name) + direction_suffix(plain, has_directions),
        **quantity_fields(plain, has_directions, unit),
        size_bytes=None,
        rows=axes[0],
        columns=axes[1],
        cells=found,
        line=line,
        direction="read" if "_read_" in plain or plain.startswith("host_to") or "latency" in plain else "write",
        engine=engine_of(plain),
        memory="host" if "host" in plain else "device",
        peer_access=None if "host" in plain or "local" in plain else "on",
        samples=3,
        parts=parts,
        notes=("nvbandwidth prints the median of its samples, 3 by default",),
        faults=prefixed(name, faults),
    )


def engine_of(name: str) -> str | None:
    """The engine in a test case's name: "ce", "sm" or "tma"; None for an unknown name."""
    found = re.search(r"_(ce|sm|tma)(?:_|$)", name)
    return found[1] if found else "ce" if name == "device_local_copy" else None


def single_row_label(name: str) -> list[str]:
    """The label of the row of a table with a single row: ["host"], ["local"] or ["all"]."""
    if "host" in name:
        return ["host"]
    return ["local"] if "local" in name else ["all"]


def column_is_source(name: str, has_directions: bool) -> bool:
    """Whether data moves from the device of the column to the device of the row.

    The source code of nvbandwidth defines the direction (testcases_*.cpp and testcase.cpp).
    has_directions: whether the output has a table per direction, as in versions since 0.6. In the first of these
    tables, data moves from the column to the row.
    """
    if name.startswith("device_to_device"):
        return has_directions or "_read_" in name or "latency" in name
    return name.startswith(("device_to_host", "all_to_host", "all_to_one_read", "one_to_all_write"))


def direction_suffix(name: str, total: bool) -> str:
    """The suffix "_one_direction" for a bidirectional test case that prints one direction only; "" otherwise."""
    return "_one_direction" if "bidirectional" in name and not is_sum(name, total) else ""


def is_sum(name: str, total: bool) -> bool:
    """Whether the value of a bidirectional test case is the sum of both directions.

    Copies between devices by a kernel always print the sum.
    total: whether the output has the table "Total", which contains sums.
    """
    return total or (name.startswith("device_to_device") and name.endswith("_sm"))


def quantity_fields(name: str, total: bool, unit: str) -> dict[str, str]:
    """The fields `metric` and `quantity` of a table. unit: the printed unit. total: as in `is_sum`."""
    if unit == "ns":
        return {"metric": "latency", "quantity": "load latency"}
    if "bidirectional" in name:
        quantity = "sum of both directions" if is_sum(name, total) else "one direction, the other loaded"
        return {"metric": "bidirectional", "quantity": quantity}
    total_of_all = name.startswith(("all_to_one", "one_to_all"))
    return {"metric": "bandwidth", "quantity": "total bandwidth" if total_of_all else "bandwidth"}
