"""nccl-tests, and rccl-tests for AMD's GPUs: all_reduce_perf and its siblings. A size is a result of its own, out of
place and in place its columns.

The value is the bus bandwidth; algorithm bandwidth and time are its parts. What has wrong elements is an 'error'.
NCCL_ALGO, where the command sets it, is the end of the test case's name: another algorithm is another test case.

rccl-tests prints the same table under a head of its own: its version, and after the ranks those of RCCL, HIP and ROCm.
RCCL is called as NCCL is, so that the engine of both is `nccl`; the record's program and software tell them apart.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..record import units
from .endings import COPIES
from .table import Part, Reading, Table

PROGRAM, RCCL = "nccl_tests", "rccl_tests"
PROGRAMS = (PROGRAM, RCCL)
HEAD = re.compile(r"^#\s+size\s+count\s+type(?:\s+redop)?(?:\s+root)?\s+time\s+algbw\s+busbw\s+(?:#wrong|error)\b.*")
VALUE = r"\d+(?:\.\d+)?"
WRONG = r"(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|N/A)"
ROW = re.compile(
    rf"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+(?:sum|prod|min|max|avg|mulsum|none|all))?(?:\s+-?\d+)?"
    rf"\s+(?P<time>{VALUE})\s+(?P<alg>{VALUE})\s+(?P<bus>\d+\.\d\d)\s+(?P<wrong>{WRONG})"
    rf"(?:\s+(?P<time2>{VALUE})\s+(?P<alg2>{VALUE})\s+(?P<bus2>\d+\.\d\d)\s+(?P<wrong2>{WRONG}))?\s*$"
)
COPIED = "copied"  # of Run.settings: a rank was listed twice
MOVED = 0.05  # GB/s of algorithm bandwidth, of which two ranks have a bus bandwidth that is not printed as 0.00
LEAST = 0.01  # GB/s: half of it, the least share that a bus bandwidth is of the other one, is printed as 0.00 or 0.01
MOST_OF_ALGBW = 2  # busbw is algbw × 2(n − 1)/n for all-reduce, and less for all others
SLACK, ROUNDING = 0.02, 0.011  # of times and bandwidths that are printed with few digits; GB/s
UNITS = {"B", "elements", "us", "GB/s"}
UNIT = re.compile(r"\(([^()]*)\)")
#: NCCL's log, which NCCL_DEBUG has on the same output, between the lines of sizes
LOG = re.compile(r"^\S+:\d+:\d+ \[\d*\] NCCL ")
BOUNDS = re.compile(r"^# Out of bounds values : (?P<wrong>\d+) (?P<said>\w+)")
COMMAND = re.compile(r"(\w+_perf)\b")
ALGORITHM = re.compile(r"NCCL_ALGO=([\w^,:;]+)")
RANK = re.compile(
    r"^#\s+Rank\s+(?P<rank>\d+)\s.*\son\s+(?P<host>[A-Za-z0-9][\w.-]*)\s+device\s+(?P<device>\d+)"
    r"\s+\[[0-9a-fx:.]+\]\s+(?P<model>.+?)\s*$"
)
STARTING = re.compile(r"^# Collective test starting: (\w+_perf)")
RCCL_VERSION = re.compile(r"^rccl-tests: Version ?(?P<said>\S*)\s*$")
BESIDE = re.compile(r"^(RCCL|HIP|ROCm) version +: +(\S+)\s*$")


def program_of(reading: Reading) -> str:
    """Whose lines these are: those of nccl-tests, unless one has said otherwise."""
    return reading._facts.program if reading._facts.program in PROGRAMS else PROGRAM


def rccl_version(reading: Reading, match: re.Match[str]) -> None:
    """`rccl-tests: Version develop:448c4c7`, which stands before the ranks."""
    facts = reading.facts(program_of(reading))
    facts.program = RCCL
    if match["said"]:
        facts.software["rccl-tests"] = match["said"]
    reading.at += 1


def beside(reading: Reading, match: re.Match[str]) -> None:
    """`RCCL version : 2.22.3-develop:f5b15f2`, and those of HIP and ROCm."""
    reading.facts(RCCL).software[match[1]] = match[2]
    reading.at += 1


def rank(reading: Reading, match: re.Match[str]) -> None:
    """`#  Rank  0 Group  0 Pid … on host device  0 [0x1b] NVIDIA H100`."""
    facts, number = reading.facts(program_of(reading)), int(match["rank"])
    if number in facts.ranks and COPIED not in facts.settings:
        facts.settings[COPIED] = "yes"
        reading.left(f"line {reading.at + 1}: rank {number} is listed twice: {COPIES}")
    facts.devices[number] = match["model"]
    facts.ranks[number] = match["host"], int(match["device"])
    reading.at += 1


def starting(reading: Reading, match: re.Match[str]) -> None:
    """`# Collective test starting: all_reduce_perf`, of newer versions."""
    reading.end_run()
    reading.facts(PROGRAM).software["test"] = match[1]
    reading.at += 1


def nccl(reading: Reading, match: re.Match[str]) -> None:
    """The line of columns, that of their units, and a line for each size."""
    head, ways = reading.at + 1, match[0].split().count("time")
    reading.at += 1
    passed(reading, LOG)
    if not has_known_units(reading, head):
        passed(reading, ROW, LOG)
        reading.command = None
        return
    facts = reading._facts if reading._facts.program in PROGRAMS else reading.facts(PROGRAM)
    said = COMMAND.search(reading.command or "")
    name = facts.software.get("test") or (said[1] if said else "nccl_unknown_test")
    testcase = name.lower() + algorithm_of(reading.command or "")
    sizes, small, alone = 0, list[str](), False
    for row in rows(reading):
        sizes += 1
        alone = alone or (moves_nothing(row) and len(facts.ranks) < 2)
        if ways > 1 and not row["time2"]:
            reading.left(f"line {reading.at}: a row of {name} without one of the ways of its head: it is left out")
        elif not consistent(row, name):
            reading.left(f"line {reading.at}: a row of {name} that its own numbers contradict: it is left out")
        elif too_small(row):
            small.append(units.size(int(row["size"])))
        else:
            reading.add(facts.program, size_table(testcase, row, reading.at, alone))
    if alone:
        reading.left(f"line {head}: {name} ran on one rank, which moves nothing by definition: start 2 ranks or more")
    if small:
        note_small(reading, small)
    if sizes:
        # a later table is another command's
        reading.command = None
        reading.end_run()


def passed(reading: Reading, *patterns: re.Pattern[str]) -> None:
    """Leaves lines behind, as long as they are one of these."""
    while any(line.match(reading.line()) for line in patterns):
        reading.at += 1


def has_known_units(reading: Reading, head: int) -> bool:
    """Whether the line below a head, which is line `head`, says the units that a table is read in; if not, why."""
    said = UNIT.findall(reading.line()) if reading.line().startswith("#") else []
    if said and UNITS.issuperset(said):
        return True
    found = ", ".join(dict.fromkeys(said)) or "none"
    reading.left(
        f"line {head}: the units of this table of sizes should be B, elements, us and GB/s, they are {found}: it is"
        " left out"
    )
    reading.at += bool(said)
    return False


def rows(reading: Reading) -> Iterator[re.Match[str]]:
    """The lines of sizes, up to one that is none: a comment or an empty one, or what is a fault of the last table."""
    begun = False
    while reading.at < len(reading.lines):
        line = reading.line()
        between = line.startswith("#") or not line.strip()
        if between and begun:
            return
        if between or LOG.match(line):
            reading.at += 1
            continue
        row = ROW.match(line)
        if row is None or reading.may_be_cut():
            add_fault(reading, line)
            return
        begun = True
        reading.at += 1
        yield row


def note_small(reading: Reading, small: Sequence[str]) -> None:
    """Says in the first table of a run which sizes have no figure."""
    if reading.runs and reading.runs[-1].program in PROGRAMS and reading.runs[-1].tables:
        said = f"bandwidths that are printed as 0.00 are left out, those of {', '.join(small)}"
        first = reading.runs[-1].tables[0]
        reading.runs[-1].tables[0] = replace(first, notes=(*first.notes, said))


def stray(reading: Reading, match: re.Match[str]) -> None:
    """A line of a size that is in no table: whatever cut it off its head, it is not lost without a word."""
    reading.left(f"line {reading.at + 1}: '{match[0].strip()[:60]}' is a line of a size without its table: left out")
    reading.at += 1


def bounds(reading: Reading, match: re.Match[str]) -> None:
    """`# Out of bounds values : 0 OK`, over all sizes: wrong elements that no line of a size has."""
    reading.at += 1
    run = reading.runs[-1] if reading.runs else None
    if (match["wrong"], match["said"]) == ("0", "OK") or run is None or run.program not in PROGRAMS:
        return
    fault = f"line {reading.at}: '{match[0]}': the data of these sizes was wrong"
    run.wrong.append(fault)
    run.tables = [replace(table, verified=False) for table in run.tables]


def consistent(row: re.Match[str], name: str) -> bool:
    """Are size, time and both bandwidths of one and the same measurement?"""
    for key in ("", "2") if row["time2"] else ("",):
        time, algorithm, bus = (float(row[column + key]) for column in ("time", "alg", "bus"))
        if bus > MOST_OF_ALGBW * algorithm * (1 + SLACK) + 2 * ROUNDING:
            return False
        # a hypercube's algorithm bandwidth is of a share of the size
        moved = int(row["size"]) / time / 1e3 if time > 0 and "hypercube" not in name else algorithm
        if abs(algorithm - moved) > SLACK * moved + ROUNDING:
            return False
    return True


def algorithm_of(command: str) -> str:
    """ "_tree" of NCCL_ALGO=Tree, "_ring_tree" of Ring,Tree, "_not_tree" of ^Tree; "" where NCCL chose."""
    said = ALGORITHM.search(command)
    words = re.findall(r"\w+", said[1].lower().replace("^", "not_")) if said else []
    return "".join(f"_{word}" for word in words)


def add_fault(reading: Reading, line: str) -> None:
    """A line of a size that is cut off or shifted."""
    if not re.match(r"^\s*\d+\s+\d+\s+\w", line) or not reading.runs or reading.runs[-1].program not in PROGRAMS:
        return
    last = reading.runs[-1].tables[-1]
    fault = f"line {reading.at + 1}: '{line.strip()[:60]}' is no whole line of a size: it is not believed"
    reading.runs[-1].tables[-1] = replace(last, faults=(*last.faults, fault))


def too_small(row: re.Match[str]) -> bool:
    """Is a bandwidth printed as 0.00 because there were so few bytes, and not because nothing moved?"""
    ways = [key for key in ("", "2") if row["time" + key]]
    zero = [key for key in ways if float(row["bus" + key]) == 0]
    return bool(zero) and all(
        float(row["time" + key]) > 0 and int(row["size"]) / float(row["time" + key]) / 1e3 < LEAST for key in zero
    )


def is_wrong(words: str) -> bool:
    """Whether so many elements are wrong, or the largest relative error is so large, which old versions print."""
    return words != "N/A" and float(words) > 1e-2


def moves_nothing(row: re.Match[str]) -> bool:
    """Whether the bus bandwidth is 0 beside an algorithm bandwidth: the factor between the two is 0 for one rank."""
    ways = [key for key in ("", "2") if row["time" + key]]
    return all(float(row["bus" + key]) == 0 and float(row["alg" + key]) >= MOVED for key in ways)


def size_table(testcase: str, row: re.Match[str], line: int, alone: bool) -> Table:
    """One size. alone: of one rank, which has no bus bandwidth."""
    ways = {"out-of-place": "", "in-place": "2"} if row["time2"] else {"out-of-place": ""}
    wrong = {way: row["wrong" + key] for way, key in ways.items()}
    cells: dict[tuple[str, str], float | str] = {}
    time, algorithm = {}, {}
    for way, key in ways.items():
        pair = ("all", way)
        bus = float(row["bus" + key])
        nothing = "not-run" if alone else "error"
        cells[pair] = "error" if is_wrong(wrong[way]) else nothing if bus <= 0 else bus
        time[pair], algorithm[pair] = float(row["time" + key]), float(row["alg" + key])
    bad_ways = [way for way in ways if is_wrong(wrong[way])]
    checked = all(value != "N/A" for value in wrong.values())
    faults = tuple(
        f"line {line}: {way} of {row['size']} bytes "
        + (f"has {wrong[way]} wrong elements" if way in bad_ways else "moved nothing")
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
        verified=(not bad_ways) if checked or bad_ways else None,
        parts={
            "algorithm_bandwidth": Part("algorithm bandwidth", "GB/s", algorithm),
            "time": Part("time", "us", time),
        },
        faults=faults,
    )
