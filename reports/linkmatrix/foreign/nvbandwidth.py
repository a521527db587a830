"""nvbandwidth 0.1 to 0.8: its text, and its JSON (`--json`).

The arrow in a head line does not say which way the data goes: in testcases_ce.cpp of v0.2 and v0.8 the matrices of
read test cases, "GPU(row) -> GPU(column)", hold the copy from column to row, and those of write test cases,
"GPU(row) <- GPU(column)", the copy from row to column. So the test case says it, the arrow is not read.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import BadInput
from ..record.names import Pair
from . import launch
from .endings import COPIES
from .grid import LACKS, Grid, numbers, read_grid, turned
from .table import Part, Reading, Run, Table

PROGRAM, UNKNOWN = "nvbandwidth", "unknown_program"
PAIRS_SINCE = 0, 9  # the version with the option --pair
NAME = r"(?:multinode_)?[a-z0-9_]+"
RUNNING = re.compile(rf"^Running ({NAME})\.\s*$")
HEAD = re.compile(r"^(?:memcpy|memory latency|Device to Device Latency|multicast)\b.*\((GB/s|ns)\)\s*$")
NUMBER = r"\d+\.\d\d"
SUM = re.compile(rf"^SUM ({NAME}) ({NUMBER})\s*$")
VERSION = re.compile(r"^([a-z]{2,40}bandwidth) Version: v?([\d.]+)\s*$")  # of nvbandwidth and of its forks
OTHER_DEVICE = re.compile(r" (?!GPU|CPU)[A-Z]{2,8}\((?:row|column)\)")
DEVICE = re.compile(r"^Device (\d+): (.+?)(?: \([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\))?\s*$")
BUS = r"\([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\)"
PROCESS = re.compile(
    rf"^Process +(?P<rank>\d{{1,5}}) \((?P<host>[A-Za-z0-9][\w.-]{{0,127}})\): device (?P<device>\d{{1,3}}):"
    rf" (?P<model>[^\s;][^;]{{0,127}}?)(?: {BUS})?\s*$"
)
HOST_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,127}")
MULTINODE = "multinode_"
LISTED = re.compile(r"^(\d+): (.+?)(?: \([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\))?(?:: \(.*\))?$")
SOFTWARE = re.compile(r"^(CUDA Runtime|CUDA Driver|Driver) Version(?: \(API\))?: ([\w.]+)(?: \(\d+\))?\s*$")
SAMPLE = re.compile(r"^\t\s*\S")  # --verbose, before the table
WRONG = re.compile(r"^\s*Invalid value when checking the pattern at\b")
PAIR = re.compile(r"\bDevice ?(\d{1,5})\s*->\s*Device ?(\d{1,5})\b")
WRONG_LINES = 12  # of a report on wrong data
LEFT_OUT = "pairs without a number were not measured: --pair left them out, or they have no peer access"
SIDES = {"Read1": "one_direction", "Write1": "one_direction", "Read2": "other_direction", "Write2": "other_direction"}
TITLES = {"one_direction": "one direction", "other_direction": "other direction"}


def version(reading: Reading, match: re.Match[str]) -> None:
    """`nvbandwidth Version: v0.2`: a run begins."""
    reading.end_run()
    reading.fork = "" if match[1] == PROGRAM else match[1]
    reading.facts(match[1]).software[match[1]] = match[2]
    reading.at += 1


def software(reading: Reading, match: re.Match[str]) -> None:
    """The versions that it prints before its tables."""
    reading.facts(program_of(reading)).software[{"Driver": "driver"}.get(match[1], match[1])] = match[2]
    reading.at += 1


def device(reading: Reading, match: re.Match[str]) -> None:
    """`Device 0: NVIDIA H800`."""
    facts, above = reading.facts(program_of(reading)), reading.lines[max(0, reading.at - 1)].strip()
    facts.devices[int(match[1])] = match[2]
    if match[1] == "0" and HOST_NAME.fullmatch(above):
        facts.node = above  # the host prints its name above its devices, since 0.5
    reading.at += 1


def process(reading: Reading, match: re.Match[str]) -> None:
    """`Process 6 (worker-1): device 2: NVIDIA GB200 (00000018:01:00)`, of a build for several nodes."""
    add_process(reading.facts(program_of(reading)), match)
    reading.at += 1


def add_process(facts: Run, match: re.Match[str]) -> None:
    """The endpoint of a process: its host, the number of its device there, and the model."""
    facts.processes[int(match["rank"])] = match["host"], int(match["device"]), match["model"]


def test_case(reading: Reading, match: re.Match[str]) -> None:
    """`Running NAME.`, and the tables that follow: one, or two directions and their total."""
    name = match[1]
    reading.at += 1
    tables: dict[str, tuple[int, str, Grid]] = {}
    while True:
        while reading.at < len(reading.lines) and (not reading.line().strip() or SAMPLE.match(reading.line())):
            reading.at += 1
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
        add_on_nodes(reading, name, table_of(name, tables, without_number(reading)))
    elif tables:
        reading.left(f"line {reading.at + 1}: {name} has tables that do not belong together, or none for the total")
    elif WRONG.match(reading.line()):
        add_wrong(reading, name)
    elif match[0] == reading.line():
        reading.left(f"line {reading.at + 1}: '{match[0]}' comes twice: {COPIES}")
    elif reading.line().startswith("Waived"):
        reading.waived = f"line {reading.at + 1}: {name} was waived: the program has nothing to measure on this machine"
    else:
        reading.left(f"line {reading.at + 1}: {name} ran and printed no table")


def add_on_nodes(reading: Reading, name: str, table: Table) -> None:
    """Adds a table whose endpoints have their nodes, as the list of processes before it contains them.

    A test case that is not of several nodes ran on the devices of the first process's node, and is a run of its own.
    """
    program = program_of(reading)
    run = reading._facts if reading._facts.program == program else Run("")
    devices, node, ranks = run.devices, run.node, {}
    if run.processes and name.startswith(MULTINODE):
        ranks = {rank: (host, device) for rank, (host, device, _) in run.processes.items()}
        devices, node = {rank: model for rank, (_, _, model) in run.processes.items()}, ""
    elif run.processes:
        node = next(iter(run.processes.values()))[0]
        devices = {device: model for host, device, model in run.processes.values() if host == node}
    if run.tables and run.ranks != ranks:
        reading.end_run()
    reading.add(program, on_nodes(table, launch.labels_of_ranks(ranks) if launch.extent_of_ranks(ranks).ranks else ()))
    added = reading.runs[-1]  # another run, where a test case comes again: of the same processes
    added.processes, added.software, added.ranks = run.processes, run.software, ranks
    added.devices, added.node = devices, node


def on_nodes(table: Table, labels: Sequence[str]) -> Table:
    """The table with the labels of processes, "worker-1:gpu2", in place of their numbers."""
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
    """`Invalid value when checking the pattern at 0x70a640000000`: the program compared what arrived, and ends."""
    line, program = reading.at + 1, program_of(reading)
    run = reading.run(program, line)
    found = next(filter(None, map(PAIR.search, reading.lines[reading.at : reading.at + WRONG_LINES])), None)
    pair = f"from gpu{found[1]} to gpu{found[2]}" if found else "the program does not print of which pair"
    columns = [str(number) for number in range(len(run.devices))]
    if columns:
        table = table_of(name, {"Total": (line, "GB/s", Grid(columns))})
        cells = {(f"gpu{found[1]}", f"gpu{found[2]}"): "error"} if found else {}
        reading.add(program, replace(table, cells=cells, verified=False))
    reading.runs[-1].wrong.append(f"line {line}: {name}: wrong data arrived, {pair}")
    reading.at += 1


def program_of(reading: Reading) -> str:
    """The program whose output this is: nvbandwidth, or the fork that a version or a command line names."""
    started = re.search(r"([a-z]{2,40}bandwidth)(?: -|$)", reading.command or "")
    return reading.fork or (started[1] if started else PROGRAM)


def without_number(reading: Reading) -> str:
    """What N/A means in a cell, by the command line or the version: `--pair` leaves pairs out since 0.9."""
    command, release = reading.command or "", reading._facts.software.get(program_of(reading), "")
    if "bandwidth" in command:
        return "not-run" if re.search(r" --?pairs?\b", command) else "no-peer-access"
    return no_number(release)


def no_number(release: str) -> str:
    """What N/A means in a cell of a version, "" for an unknown one."""
    known = re.fullmatch(r"(\d{1,4})\.(\d{1,4})[\d.]*", release)
    return "no-peer-access" if known and (int(known[1]), int(known[2])) < PAIRS_SINCE else "not-run"


def rows_of(reading: Reading, line: int, name: str) -> Grid:
    """The rows under a head line. Raises BadInput where there are no columns."""
    if HEAD.match(reading.line()):
        reading.left(f"line {line + 1}: the head of a table comes twice: {COPIES}")
    while HEAD.match(reading.line()):
        reading.at += 1
    columns = reading.line().split()
    if not columns or columns != [str(number) for number in range(len(columns))]:
        raise BadInput(f"line {line + 1}: '{reading.line()[:60]}' are not the columns 0, 1, 2 … of nvbandwidth")
    reading.at += 1
    rows = columns if is_square(name) else ["0"]
    return read_grid(reading, columns, lambda word, _: word if re.fullmatch(r"\d{1,5}", word) else None, NUMBER, rows)


def is_square(name: str) -> bool:
    """Are the rows of a test case all devices? The others have one row."""
    return name.removeprefix("multinode_").startswith("device_to_device")


def check_sum(reading: Reading, grid: Grid) -> None:
    """The line `SUM NAME 442.52` fits the numbers, if there is one. Raises BadInput."""
    while reading.at < len(reading.lines) and not reading.line().strip():
        reading.at += 1
    said = SUM.match(reading.line())
    if said is None:
        return
    fits = not other_sum(replace(grid, faults=[]), float(said[2]))
    if fits and all(fault.startswith(LACKS) for fault in grid.faults):
        grid.faults.clear()  # rows without a number are not printed
    if not reading.may_be_cut() and (why := other_sum(grid, float(said[2]))):
        raise BadInput(f"line {reading.at + 1}: the numbers above {why}")
    reading.at += 1


def other_sum(grid: Grid, said: float) -> str:
    """What is wrong with a sum of all numbers, both rounded to two decimals; "" where it fits or cannot be told."""
    found = [float(word) for word in grid.words().values() if word != "N/A"]
    if grid.faults or abs(sum(found) - said) <= 0.005 * (len(found) + 2):
        return ""
    return f"have the sum {sum(found):.2f}, not {said:.2f}: a row or a digit was lost"


def table_of(name: str, tables: dict[str, tuple[int, str, Grid]], no_path: str = "not-run") -> Table:
    """A test case out of its tables, {"Total" or a direction: (line, unit, rows)}. no_path: what N/A means."""
    line, unit, grid = tables["Total"]
    scale = {"GB/s": 1.0, "ns": 0.001}[unit]
    count = len(grid.columns)
    plain = name.removeprefix(MULTINODE)
    three = len(tables) > 1
    rows = [f"gpu{index}" for index in range(count)] if is_square(name) else one_row(plain)
    turn = column_is_source(plain, three)
    columns = [f"gpu{index}" for index in range(count)]

    def cells(part: Grid) -> dict[tuple[str, str], float | str]:
        named = {(rows[int(row)], f"gpu{column}"): word for (row, column), word in part.words().items()}
        read = numbers(named, scale, no_path=no_path)
        return turned(read) if turn else read

    faults = list(grid.faults)
    parts = {}
    for other, (_, _, part) in tables.items():
        if other in SIDES:
            measured = {pair: value for pair, value in cells(part).items() if not isinstance(value, str)}
            parts[SIDES[other]] = Part(TITLES[SIDES[other]], "GB/s", measured)
            faults += part.faults
    found = cells(grid)
    if not faults and ("not-run" in found.values() or (is_square(name) and len(grid.rows) < count)):
        faults.append(LEFT_OUT)
    axes = (tuple(columns), tuple(rows)) if turn else (tuple(rows), tuple(columns))
    return Table(
        testcase=(plain if "memcpy" in plain and is_square(plain) else name) + suffix(plain, three),
        **kind(plain, three, unit),
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
        notes=("nvbandwidth prints the median of its samples, 3 if not told otherwise",),
        faults=tuple(f"{name}: {fault}" for fault in faults),
    )


def engine_of(name: str) -> str | None:
    """What copies, by the end of a test case's name; None for an unknown one."""
    found = re.search(r"_(ce|sm|tma)(?:_|$)", name)
    return found[1] if found else "ce" if name == "device_local_copy" else None


def one_row(name: str) -> list[str]:
    """What the only row of a table is."""
    if "host" in name:
        return ["host"]
    return ["local"] if "local" in name else ["all"]


def column_is_source(name: str, three: bool) -> bool:
    """Does the data go from the column to the row? As in the program's testcases_*.cpp and testcase.cpp.

    three: with a table for each direction, since 0.6; the first, Write1 too, is then from column to row
    """
    if name.startswith("device_to_device"):
        return three or "_read_" in name or "latency" in name
    return name.startswith(("device_to_host", "all_to_host", "all_to_one_read", "one_to_all_write"))


def suffix(name: str, total: bool) -> str:
    """What is added to a test case's name: `bidirectional` is the sum here, and one direction in most of theirs."""
    return "_one_direction" if "bidirectional" in name and not summed(name, total) else ""


def summed(name: str, total: bool) -> bool:
    """Is the value the sum of both directions? That of copies by kernels always was, between devices."""
    return total or (name.startswith("device_to_device") and name.endswith("_sm"))


def kind(name: str, total: bool, unit: str) -> dict[str, str]:
    """Metric, quantity and unit of a test case."""
    if unit == "ns":
        return {"metric": "latency", "quantity": "load latency", "unit": "us"}
    if "bidirectional" in name:
        said = "sum of both directions" if summed(name, total) else "one direction, the other loaded"
        return {"metric": "bidirectional", "quantity": said, "unit": "GB/s"}
    total_of_all = name.startswith(("all_to_one", "one_to_all"))
    return {"metric": "bandwidth", "quantity": "total bandwidth" if total_of_all else "bandwidth", "unit": "GB/s"}
