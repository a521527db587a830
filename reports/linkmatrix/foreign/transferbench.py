"""Reads TransferBench for AMD's GPUs: presets `a2a`, all pairs concurrently, and `p2p`, one pair at a time.

transferbench_nics.py and transferbench_rings.py read the presets `nicp2p` and `nicrings` between network adapters.

Rows are sources, even if the destination copies the data. In the source code (PeerToPeer and AllToAll), `srcs` is the
memory of the row, and `dsts` is the memory of the column.

* GB/s are 1e9 bytes per second. The bytes of a copy inside a GPU are counted once.
* GFX (a kernel) is the engine `sm`, and DMA is `ce`. Records have no engine for CPU threads, which copy host memory.
"""

import re
from collections.abc import Mapping

from ..errors import BadInput
from ..record.names import Pair
from .grid import Grid, floats, measured, numbers, prefixed, read_grid
from .table import Part, Reading, Table

PROGRAM = "transferbench"
VERSION = re.compile(r"^\s*TransferBench v(\d[\w.]*)(?: \(.*\))?\s*$")
SECTION = re.compile(r"^\s*\[(?:AllToAll|P2P|P2P Network|NIC-Rings) Related\]\s*$")
SETTING = re.compile(r"^\s*(A2A_MODE|P2P_MODE|USE_DMA_EXEC|USE_REMOTE_READ)\s+=\s+(\S{1,20}) : ")
BYTES = re.compile(r"^\s*Bytes Per Direction (\d{1,18})\s*$")
SUMMARY = re.compile(
    r"^\s*Summary: \[(?P<bytes>\d{1,18}) bytes per Transfer\]"
    r"(?: \[(?P<engine>GFX|DMA):\d+\] \[(?P<reads>\d{1,3}) Read\(s\) (?P<writes>\d{1,3}) Write\(s\)\])?\s*$"
)
PAIRS = re.compile(
    r"^\s*(?P<ways>Uni|Bi)directional copy peak bandwidth GB/s"
    r" \[(?P<read>Local|Remote) read / (?:Local|Remote) write\] \(GPU-Executor: (?P<engine>GFX|DMA)\)\s*$"
)
COLUMNS = re.compile(r"^\s*SRC(?:\+EXE)?\\(?:EXE\+)?DST((?:\s+(?:CPU|GPU) \d\d+)+)((?:\s+STotal\s+Actual)?)\s*$")
DEVICE = re.compile(r"(CPU|GPU) (\d+)")
ROW = re.compile(r"^\s*(CPU|GPU) (\d{1,4})\s+(?:(->|<-|<->)\s+)?(\S.*?)\s*$")
AVERAGES = re.compile(r"^\s*Averages \(During\s+(?:Uni|Bi)Dir\):((?:\s+(?:N/A|\d+\.\d\d)){4})\s*$")
TOTALS = re.compile(r"^\s*RTotal((?:\s+\d+\.\d{3})+)\s*$")
ENGINES = {"GFX": "sm", "DMA": "ce", "0": "sm", "1": "ce"}
MODES = {"0": "1:1", "1": "1:0", "2": "0:1"}  # A2A_MODE → reads:writes
RULE = re.compile(r"^\s*=+\s*$")
DIRECTION_MARKS = ("->", "<-", "<->")
TITLES = {"->": "one direction", "<-": "other direction"}


def version(reading: Reading, match: re.Match[str]) -> None:
    """Read `TransferBench v1.60.00 (with NIC support)`, the start of a run."""
    reading.end_run()
    reading.facts(PROGRAM).software["TransferBench"] = match[1]


def section(reading: Reading, _: re.Match[str]) -> None:
    """Read `[P2P Related]`. The line starts the settings of a preset."""
    reading.facts(PROGRAM).settings.clear()


def setting(reading: Reading, match: re.Match[str]) -> None:
    """Read a setting, such as `USE_REMOTE_READ = 0 : Using SRC as executor`."""
    reading.facts(PROGRAM).settings[match[1]] = match[2]


def size(reading: Reading, match: re.Match[str]) -> None:
    """Read `Bytes Per Direction 268435456`. The size applies to the next one or two tables."""
    reading.facts(PROGRAM).settings["bytes"] = match[1]


def settings(reading: Reading) -> dict[str, str]:
    """The settings of the current run; {} before a run of TransferBench."""
    return reading.current.settings if reading.current.program == PROGRAM else {}


def labels(reading: Reading) -> list[str]:
    """The labels in the line of column names, such as gpu0. [] if the devices are not numbered 0, 1, 2 …"""
    match = COLUMNS.match(reading.line())
    found = DEVICE.findall(match[1]) if match else []
    names = [f"{kind.lower()}{int(number)}" for kind, number in found]
    cpus = [name for name in names if name.startswith("cpu")]
    wanted = [f"cpu{index}" for index in range(len(cpus))] + [f"gpu{index}" for index in range(len(names) - len(cpus))]
    return names if names == wanted else []


def row_words(line: str) -> list[str] | None:
    """The words of a row: [gpu0->, 55.36, 48.83] for `GPU 00  ->  55.36 48.83`; None for an empty line."""
    match = ROW.match(line)
    if match is None:
        return line.split() or None
    return [f"{match[1].lower()}{int(match[2])}{match[3] or ''}", *match[4].split()]


def row_label(word: str, _: int) -> str | None:
    """The first word of a line if the word is the label of a row; None otherwise."""
    return word if re.fullmatch(r"(cpu|gpu)\d+(->|<-|<->)?", word) else None


def all_to_all(reading: Reading, match: re.Match[str]) -> None:
    """Read `Summary: [67108864 bytes per Transfer]`, and the matrix below, with the sums of its rows and columns."""
    line = reading.at + 1
    reading.at += 1
    reading.skip(RULE)
    names = labels(reading)
    if not names or "STotal" not in reading.line():
        reading.add_problem(f"line {line}: the summary of TransferBench has no matrix below: the summary is ignored")
        return
    reading.at += 1
    grid = read_grid(reading, [*names, "STotal", "Actual"], row_label, r"\d+\.\d{3}", names, split=row_words)
    check_rows(grid, names)
    check_columns(reading, grid, names)
    preset = settings(reading)
    engine = ENGINES.get(match["engine"] or preset.get("USE_DMA_EXEC", ""))
    read = preset.get("USE_REMOTE_READ") == "1"
    mode = preset.get("A2A_MODE", "0")
    mode = f"{match['reads']}:{match['writes']}" if match["reads"] else MODES.get(mode, mode)
    counts = re.fullmatch(r"(\d{1,3}):(\d{1,3})", mode)
    name = f"transferbench_a2a_{'read' if read else 'write'}_{engine or 'unknown_engine'}"
    if mode != "1:1":
        name += f"_{counts[1]}_reads_{counts[2]}_writes" if counts else "_unknown_mode"
    notes = ["all pairs ran concurrently: a value is the bandwidth of one pair during this time"]
    if "USE_REMOTE_READ" not in preset:
        notes.append(
            "the text does not contain the executing endpoint: linkmatrix assumes the source, the program's default"
        )
    words = {pair: word for pair, word in grid.words().items() if pair[1] in names}
    cells = numbers(words, no_path="not-run")
    if "not-run" in cells.values():
        notes.append("pairs without a direct link were not measured (A2A_DIRECT)")
    reading.add(
        PROGRAM,
        Table(
            testcase=name,
            quantity="bandwidth, all pairs concurrently",
            metric="bandwidth",
            size_bytes=int(match["bytes"]),
            rows=tuple(names),
            columns=tuple(names),
            cells=cells,
            line=line,
            direction="read" if read else "write",
            engine=engine,
            peer_access="on",
            local_copy=any(row == column for row, column in cells),
            notes=tuple(notes),
            faults=prefixed(name, grid.faults),
        ),
    )


def check_rows(grid: Grid, names: list[str]) -> None:
    """Remove rows whose numbers do not add up to the printed sum STotal, because a digit is missing."""
    for row, words in list(grid.rows.items()):
        found, totals = floats(words[: len(names)]), floats(words[len(names) :])
        if len(totals) < 2 or abs(sum(found) - totals[0]) > 0.0005 * (len(found) + 2):
            grid.faults.append(f"row {row} has a sum other than its STotal: the row is ignored")
            del grid.rows[row]


def check_columns(reading: Reading, grid: Grid, names: list[str]) -> None:
    """Compare the sums of the columns with the line RTotal, if the line exists. Raises BadInput if the sums differ."""
    totals = TOTALS.match(reading.line())
    if totals is None or grid.faults or reading.may_be_cut():
        return
    printed = [float(word) for word in totals[1].split()][: len(names)]
    found = [sum(floats(words[place] for words in grid.rows.values())) for place in range(len(names))]
    rounding = 0.0005 * (len(names) + 2)
    if len(printed) < len(names) or any(abs(a - b) > rounding for a, b in zip(printed, found, strict=True)):
        raise BadInput(
            f"line {reading.at + 1}: RTotal is not the sum of the columns above: a row or a digit is missing"
        )


def peer_to_peer(reading: Reading, match: re.Match[str]) -> None:
    """Read a matrix between CPUs and GPUs, measured one pair at a time.

    A bidirectional matrix has three rows per source: one row per direction, and the sum.
    """
    line, both = reading.at + 1, match["ways"] == "Bi"
    reading.at += 1
    names, preset = labels(reading), settings(reading)
    done = preset.get("done", "").split()
    if not names or "bytes" not in preset or match["ways"] in done:
        reading.add_problem(
            f"line {line}: a matrix of TransferBench lacks its columns or 'Bytes Per Direction': the matrix is ignored"
        )
        return
    bytes_moved = int(preset["bytes"])
    reading.at += 1
    marks = DIRECTION_MARKS if both else DIRECTION_MARKS[:1]
    wanted = [f"{name}{mark}" for name in names for mark in marks]
    grid = read_grid(reading, names, row_label, r"\d+\.\d\d", wanted, split=row_words)
    if both:
        check_directions(grid, names)
    check_averages(reading, grid, names)
    later = map(PAIRS.match, reading.lines[reading.at :])
    if not both and preset.get("P2P_MODE") == "0" and not any(found and found["ways"] == "Bi" for found in later):
        grid.faults.append("P2P_MODE is 0, but the bidirectional matrix is missing")
    words = {mark: direction_words(grid, names, mark) for mark in marks}
    read = match["read"] == "Remote"
    kinds = [kind for kind in ("cpu", "gpu") if any(name.startswith(kind) for name in names)]
    faults = list(grid.faults)
    for source, sink in sorted(((a, b) for a in kinds for b in kinds), reverse=True):
        rows, columns = (tuple(name for name in names if name.startswith(kind)) for kind in (source, sink))
        table = table_fields(words, rows, columns, both, read, ENGINES[match["engine"]])
        own_faults = prefixed(table["testcase"], faults)
        reading.add(PROGRAM, Table(size_bytes=bytes_moved, line=line, faults=own_faults, **table))
        faults = []  # reported once, in the first table
    reading.current.settings["done"] = " ".join([*done, match["ways"]])


def direction_words(grid: Grid, names: list[str], mark: str) -> dict[Pair, str]:
    """Returns {(row, column): word} of the rows of one direction.

    mark: the end of the labels of these rows, such as "->".
    """
    return {
        (row.removesuffix(mark), column): word
        for (row, column), word in grid.words().items()
        if row.removesuffix(mark) in names
    }


def table_fields(
    words: Mapping[str, Mapping[Pair, str]],
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    both: bool,
    read: bool,
    by: str,
) -> dict:
    """The fields of a `Table`. All rows have one type of memory (host or device). All columns have one type too.

    words: {mark of a direction: {pair: word}}.
    both: whether the copies are bidirectional.
    read: whether the destination copies the data.
    by: the engine of copies by GPUs, such as "sm".
    """
    names = {"cpu": "host", "gpu": "device"}
    source, sink = names[rows[0][:3]], names[columns[0][:3]]

    def cells(mark: str) -> dict[Pair, float | str]:
        inside = {pair: word for pair, word in words[mark].items() if pair[0] in rows and pair[1] in columns}
        return numbers(inside)

    # the endpoints that copy: a GPU with its engine, a CPU with its threads
    ends = {source, sink} if both else {sink if read else source}
    engine = by if ends == {"device"} else None
    how = by if ends == {"device"} else "cpu" if ends == {"host"} else f"cpu_and_{by}"
    found = cells("<->" if both else "->")
    parts = {
        name: Part(TITLES[mark], "GB/s", measured(cells(mark)))
        for mark, name in (("->", "one_direction"), ("<-", "other_direction"))
        if both
    }
    return {
        "testcase": f"{source}_to_{sink}_{'bidirectional_' if both else ''}memcpy_{'read' if read else 'write'}_{how}",
        "quantity": "sum of both directions" if both else "bandwidth",
        "metric": "bidirectional" if both else "bandwidth",
        "rows": rows,
        "columns": columns,
        "cells": found,
        "direction": "read" if read else "write",
        "engine": engine,
        "memory": "device" if source == sink == "device" else "host",
        "peer_access": "on" if source == sink == "device" else None,
        "local_copy": any(row == column for row, column in found),
        "parts": parts,
        "notes": ("threads of the CPU copied from or to host memory",) if engine is None else (),
    }


def check_directions(grid: Grid, names: list[str]) -> None:
    """Remove sources with a wrong sum. A source has three rows: one row per direction, and their sum.

    A source that lacks a row is removed too.
    """
    for name in names:
        lines = [grid.rows.get(f"{name}{mark}") for mark in DIRECTION_MARKS]
        if None not in lines and all(map(is_sum, *lines)):
            continue
        if any(lines):
            grid.faults.append(f"row {name} lacks a direction or has a wrong sum: the row is ignored")
        for mark in DIRECTION_MARKS:
            grid.rows.pop(f"{name}{mark}", None)


def is_sum(one: str, other: str, total: str) -> bool:
    """Whether `total` is the sum of the two other printed numbers, within rounding. Also true for three equal marks."""
    found = floats((one, other, total))
    return one == other == total if len(found) < 3 else abs(found[0] + found[1] - found[2]) < 0.0151


def check_averages(reading: Reading, grid: Grid, names: list[str]) -> None:
    """Compare the printed averages with the averages of a matrix. Raises BadInput if the averages differ."""
    at = reading.at
    while at < len(reading.lines) and re.match(r"^\s*(CPU->CPU.*)?$", reading.lines[at]):
        at += 1
    averages = AVERAGES.match(reading.lines[at]) if at < len(reading.lines) else None
    if averages is None:
        grid.faults.append("the averages below the matrix are missing: the text may be cut")
    if averages is None or grid.faults or (reading.cut and at == len(reading.lines) - 1):
        return
    sums: dict[tuple[str, str], list[float]] = {}
    for mark in DIRECTION_MARKS[:2]:
        for (row, column), word in direction_words(grid, names, mark).items():
            if row != column:
                sums.setdefault((row[:3], column[:3]), []).extend(floats([word]))
    kinds = [(a, b) for a in ("cpu", "gpu") for b in ("cpu", "gpu")]
    for kind, word in zip(kinds, averages[1].split(), strict=True):
        found = sums.get(kind)
        if (word == "N/A") != (not found) or (found and abs(sum(found) / len(found) - float(word)) > 0.0101):
            raise BadInput(
                f"line {at + 1}: the average {kind[0]} to {kind[1]} differs from the numbers above: a row or a digit"
                " is missing"
            )
