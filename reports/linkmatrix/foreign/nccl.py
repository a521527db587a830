"""nccl-tests: all_reduce_perf and its siblings. A size is a result of its own, out of place and in place its columns.

The value is the bus bandwidth; algorithm bandwidth and time are its parts. What has wrong elements is an 'error'.
"""

import re

from .table import Part, Reading, Table

PROGRAM = "nccl_tests"
HEAD = re.compile(r"^#\s+size\s+count\s+type(?:\s+redop)?(?:\s+root)?\s+time\s+algbw\s+busbw\s+(?:#wrong|error)\b.*")
VALUE = r"\d+(?:\.\d+)?"
WRONG = r"(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|N/A)"
ROW = re.compile(
    rf"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+(?:sum|prod|min|max|avg|mulsum|none|all))?(?:\s+-?\d+)?"
    rf"\s+(?P<time>{VALUE})\s+(?P<alg>{VALUE})\s+(?P<bus>\d+\.\d\d)\s+(?P<wrong>{WRONG})"
    rf"(?:\s+(?P<time2>{VALUE})\s+(?P<alg2>{VALUE})\s+(?P<bus2>\d+\.\d\d)\s+(?P<wrong2>{WRONG}))?\s*$"
)
COMMAND = re.compile(r"(\w+_perf)\b")
ALGORITHM = re.compile(r"NCCL_ALGO=(\w+)")
RANK = re.compile(r"^#\s+Rank\s+(\d+)\s.*\son\s+\S+\s+device\s+\d+\s+\[[0-9a-fx:.]+\]\s+(.+?)\s*$")
STARTING = re.compile(r"^# Collective test starting: (\w+_perf)")


def rank(reading: Reading, match: re.Match[str]) -> None:
    """`#  Rank  0 Group  0 Pid … on host device  0 [0x1b] NVIDIA H100`."""
    reading.facts(PROGRAM).devices[int(match[1])] = match[2]
    reading.at += 1


def starting(reading: Reading, match: re.Match[str]) -> None:
    """`# Collective test starting: all_reduce_perf`, of newer versions."""
    reading.end_run()
    reading.facts(PROGRAM).software["test"] = match[1]
    reading.at += 1


def nccl(reading: Reading, match: re.Match[str]) -> None:
    """The line of columns, and a line for each size."""
    reading.at += 1
    facts = reading._facts if reading._facts.program == PROGRAM else reading.facts(PROGRAM)
    said = COMMAND.search(reading.command or "")
    name = facts.software.get("test") or (said[1] if said else "nccl_unknown_test")
    algorithm = ALGORITHM.search(reading.command or "")
    testcase = name.lower() + (f"_{algorithm[1].lower()}" if algorithm else "")
    sizes = 0
    while reading.at < len(reading.lines):
        line = reading.line()
        if line.startswith("#") or not line.strip():
            if sizes:
                break
            reading.at += 1
            continue
        row = ROW.match(line)
        if row is None or reading.may_be_cut():
            add_fault(reading, line)
            break
        sizes += 1
        reading.add(PROGRAM, size_table(testcase, row, reading.at + 1))
        reading.at += 1
    if sizes:
        # a later table is another command's
        reading.command = None
        reading.end_run()


def add_fault(reading: Reading, line: str) -> None:
    """A line of a size that is cut off or shifted."""
    if not re.match(r"^\s*\d+\s+\d+\s+\w", line) or not reading.runs or reading.runs[-1].program != PROGRAM:
        return
    last = reading.runs[-1].tables[-1]
    fault = f"line {reading.at + 1}: '{line.strip()[:60]}' is no whole line of a size: it is not believed"
    reading.runs[-1].tables[-1] = Table(**{**vars(last), "faults": (*last.faults, fault)})


def size_table(testcase: str, row: re.Match[str], line: int) -> Table:
    """One size."""
    ways = {"out-of-place": "", "in-place": "2"} if row["time2"] else {"out-of-place": ""}
    wrong = {way: row["wrong" + key] for way, key in ways.items()}
    cells: dict[tuple[str, str], float | str] = {}
    time, algorithm = {}, {}
    for way, key in ways.items():
        pair = ("all", way)
        bus = float(row["bus" + key])
        bad = wrong[way] != "N/A" and float(wrong[way]) > 1e-2  # old versions print the largest relative error
        cells[pair] = "error" if bad or bus <= 0 else bus
        time[pair], algorithm[pair] = float(row["time" + key]), float(row["alg" + key])
    checked = all(value != "N/A" for value in wrong.values())
    faults = tuple(
        f"line {line}: {way} of {row['size']} bytes has {wrong[way]} wrong elements or moved nothing"
        for way in ways
        if cells["all", way] == "error"
    )
    return Table(
        testcase=testcase,
        quantity="bus bandwidth",
        metric="bandwidth",
        unit="GB/s",
        size_bytes=int(row["size"]),
        rows=("all",),
        columns=tuple(ways),
        cells=cells,
        line=line,
        engine="nccl",
        transport="nccl",
        verified=(not faults) if checked else None,
        parts={
            "algorithm_bandwidth": Part("algorithm bandwidth", "GB/s", algorithm),
            "time": Part("time", "us", time),
        },
        faults=faults,
    )
