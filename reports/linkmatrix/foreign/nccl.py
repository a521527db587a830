"""Reads nccl-tests (all_reduce_perf and its siblings), and rccl-tests for AMD's GPUs.

Each size becomes a result with the columns "out-of-place" and "in-place". The value is the bus bandwidth. Algorithm
bandwidth and time are additional matrices (parts). A cell with wrong elements has the status 'error'. If the command
sets NCCL_ALGO, the name of the test case ends with the algorithm, so that different algorithms are never compared.

rccl-tests prints the same table. It also prints its version above the ranks, and the versions of RCCL, HIP and ROCm
below the ranks. Both programs have the engine `nccl`. The fields `program` and `software` of the record distinguish the
programs.

Options change the columns:

* -C replaces the time by the CPU time.
* -I adds four columns after each placement: the times of single iterations.
* -S adds a column with the time of day.

`nccl_json` reads the file that -J writes.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..record import units
from .endings import COPIES
from .nccl_sizes import Placement, Size, is_consistent, is_too_small, moves_nothing, size_table
from .table import Reading, Run

PROGRAM, RCCL = "nccl_tests", "rccl_tests"
PROGRAMS = (PROGRAM, RCCL)
HEAD = re.compile(
    r"^#\s+size\s+count\s+type(?:\s+redop)?(?:\s+root)?\s+(?P<time>(?:cpu)?time)\s+algbw\s+busbw\s+(?:#wrong|error)\b.*"
)
VALUE = r"\d+(?:\.\d+)?"
WRONG = r"(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|N/A)"
PER_ITERATION = ("i_min", "i_max", "i_p99", "i_cv%")  # columns of -I, after each placement
STAMP = r"\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"  # of -S
PLACEMENTS = {"out-of-place": "", "in-place": "2"}  # placement → end of the names of its groups in ROWS


def row_pattern(placements: str, stamp: str) -> re.Pattern[str]:
    """The regular expression of a row: size, count, type, operation, root, results, and time of day.

    placements: the pattern of the columns of results. stamp: the pattern of the column with the time of day.
    """
    return re.compile(
        rf"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+(?:sum|prod|min|max|avg|mulsum|none|all))?(?:\s+-?\d+)?"
        rf"{placements}{stamp}\s*$"
    )


def placement_pattern(end: str, more: str) -> str:
    """The regular expression of the columns of one placement (out-of-place or in-place).

    end: the suffix of the names of the groups in the expression. more: the pattern of additional columns.
    """
    names = (("time", VALUE), ("alg", VALUE), ("bus", r"\d+\.\d\d"), ("wrong", WRONG))
    return "".join(rf"\s+(?P<{name}{end}>{pattern})" for name, pattern in names) + more


MORE = rf"(?:\s+{VALUE}){{{len(PER_ITERATION)}}}"
#: (has the columns of -I, has the column of -S) → the pattern of a row
ROWS = {
    (more, stamp): row_pattern(
        f"{placement_pattern('', more * MORE)}(?:{placement_pattern('2', more * MORE)})?",
        stamp * STAMP,
    )
    for more in (False, True)
    for stamp in (False, True)
}
ROW = row_pattern(rf"(?:\s+{VALUE}\s+{VALUE}\s+\d+\.\d\d\s+{WRONG}(?:{MORE})?){{1,2}}", f"(?:{STAMP})?")  # any of ROWS
ROW_AT_END, MOST_ROW = re.compile(ROW.pattern.removeprefix("^")), 400  # characters of a row
COPIED = "copied"  # in Run.settings: a rank was listed twice
UNITS = {"B", "elements", "us", "GB/s", "%"}
UNIT = re.compile(r"\(([^()]*)\)")
#: NCCL's log, which NCCL_DEBUG mixes into the rows
LOG = re.compile(r"^\S+:\d+:\d+ \[\d*\] NCCL ")
END = re.compile(r"^#\s*(?:Out of bounds values|Avg bus bandwidth)\b")  # below a table
BOUNDS = re.compile(r"^# Out of bounds values : (?P<wrong>\d+) (?P<state>\w+)")
COMMAND = re.compile(r"(\w+_perf)\b")
ALGORITHM = re.compile(r"NCCL_ALGO=([\w^,:;]+)")
RANK = re.compile(
    r"^#\s+Rank\s+(?P<rank>\d+)\s.*\son\s+(?P<host>[A-Za-z0-9][\w.-]*)\s+device\s+(?P<device>\d+)"
    r"\s+\[[0-9a-fx:.]+\]\s+(?P<model>.+?)\s*$"
)
VERSION = re.compile(
    r"^# nccl-tests version (?P<version>[\w.]+)(?: \(\w+\))? nccl-headers=\d+ nccl-library=(?P<nccl>\d+)\s*$"
)
SIZES = re.compile(r"^#\s+nThread .*\bmaxBytes (?P<most>\d{1,18}) step: (?P<step>\d{1,18})\((?P<how>factor|bytes)\)")
STARTING = re.compile(r"^# Collective test starting: (\w+_perf)")
RCCL_VERSION = re.compile(r"^rccl-tests: Version ?(?P<version>\S*)\s*$")
LIBRARY_VERSION = re.compile(r"^(RCCL|HIP|ROCm) version +: +(\S+)\s*$")


def program_of(reading: Reading) -> str:
    """The program that printed the current run: rccl_tests if its version line was read, otherwise nccl_tests."""
    return reading.current.program if reading.current.program in PROGRAMS else PROGRAM


def rccl_version(reading: Reading, match: re.Match[str]) -> None:
    """Read `rccl-tests: Version develop:448c4c7`, which comes before the ranks."""
    facts = reading.facts(program_of(reading))
    facts.program = RCCL
    if match["version"]:
        facts.software["rccl-tests"] = match["version"]


def library_version(reading: Reading, match: re.Match[str]) -> None:
    """Read `RCCL version : 2.22.3-develop:f5b15f2`, or the version of HIP or ROCm."""
    reading.facts(RCCL).software[match[1]] = match[2]


def rank(reading: Reading, match: re.Match[str]) -> None:
    """Read `#  Rank  0 Group  0 Pid … on host device  0 [0x1b] NVIDIA H100`."""
    facts, number = reading.facts(program_of(reading)), int(match["rank"])
    if number in facts.ranks:
        report_copies(reading, facts, f"rank {number} is listed twice")
    facts.devices[number] = match["model"]
    facts.ranks[number] = match["host"], int(match["device"])


def report_copies(reading: Reading, facts: Run, why: str) -> None:
    """Report that several processes of the program mixed their lines. Each run has at most one such report.

    why: the evidence, as a part of the message.
    """
    if COPIED not in facts.settings:
        facts.settings[COPIED] = "yes"
        reading.add_problem(f"line {reading.at + 1}: {why}: {COPIES}")


def version(reading: Reading, match: re.Match[str]) -> None:
    """Read `# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102`, the start of a run."""
    reading.end_run()
    reading.facts(PROGRAM).software |= {"nccl-tests": match["version"], "NCCL": nccl_version(int(match["nccl"]))}


def nccl_version(code: int) -> str:
    """The version of NCCL from NCCL's version number: "2.31.2" for 23102. NCCL uses this encoding since 2.9."""
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def starting(reading: Reading, match: re.Match[str]) -> None:
    """Read `# Collective test starting: all_reduce_perf`. Some versions print a version line above this line."""
    if reading.facts(PROGRAM).software.keys() != {"nccl-tests", "NCCL"}:
        reading.end_run()
    reading.facts(PROGRAM).software["test"] = match[1]


def sizes(reading: Reading, match: re.Match[str]) -> None:
    """Read `# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) …`. maxBytes is the largest size."""
    facts = reading.facts(program_of(reading))
    facts.settings |= {"most": match["most"], "step": match["step"], "how": match["how"]}


def report_cut_table(reading: Reading, settings: Mapping[str, str], largest: int) -> None:
    """Report a table whose last rows are missing.

    A table is cut if its last size is not the largest size, and the lines that follow a complete table are missing.
    settings: the settings from `sizes`. largest: the largest size in the table.
    """
    rest = itertools.takewhile(lambda line: not HEAD.match(line), reading.lines[reading.at :])
    has_fault = bool(reading.runs and reading.runs[-1].tables and reading.runs[-1].tables[-1].faults)
    if "most" not in settings or has_fault or any(END.match(line) for line in rest):
        return
    step, most = int(settings["step"]), int(settings["most"])
    following = largest * step if settings["how"] == "factor" else largest + step
    if largest < following <= most:
        reading.add_problem(
            f"line {reading.at}: the table ends at {units.size(largest)}, but the program measures up to"
            f" {units.size(most)}: the end of the table is missing"
        )


def table(reading: Reading, match: re.Match[str]) -> None:
    """Read the line of column names, the line of their units, and a row per size."""
    head, columns = reading.at + 1, match[0].split()
    reading.at += 1
    reading.skip(LOG)
    copied = HEAD.match(reading.line())
    reading.skip(LOG, HEAD)
    if not has_known_units(reading, head):
        reading.skip(ROW, LOG)
        reading.command = None
        return
    facts = reading.current if reading.current.program in PROGRAMS else reading.facts(PROGRAM)
    started = COMMAND.search(reading.command or "")
    name = facts.software.get("test") or (started[1] if started else "nccl_unknown_test")
    if copied:
        report_copies(reading, facts, "the head of a table is repeated")
    pattern = ROWS[PER_ITERATION[0] in columns, "timestamp" in columns]
    settings = dict(facts.settings)
    seen: list[int] = []
    found = (size_of(row, reading.at, match["time"] == "cputime") for row in rows(reading, pattern, seen))
    if add_sizes(reading, facts, f"line {head}", name, found, columns.count(match["time"])):
        report_cut_table(reading, settings, max(seen))
        # a later table belongs to another command
        reading.command = None
        reading.end_run()


def size_of(row: re.Match[str], line: int, cpu: bool) -> Size:
    """The numbers of one row. cpu: whether the times in the row are CPU times."""
    placements = {
        placement: Placement(*(float(row[name + end]) for name in ("time", "alg", "bus")), row["wrong" + end])
        for placement, end in PLACEMENTS.items()
        if row["time" + end]
    }
    return Size(int(row["size"]), placements, f"line {line}", line, cpu)


def add_sizes(reading: Reading, facts: Run, where: str, name: str, found: Iterable[Size], placements: int) -> int:
    """Add a table for each valid size of a test. Returns the number of all sizes, valid or not.

    facts: the run.
    where: the position of the test in the text, such as "line 12".
    name: the program of the test, such as all_reduce_perf.
    placements: the number of placements in the header line.
    """
    testcase, program = name.lower() + algorithm_of(reading.command or ""), facts.program
    small, sizes, alone = list[str](), 0, False
    seen: list[int] = []
    for one in found:
        sizes += 1
        if seen[:1] == [one.size] and len(set(seen)) > 1:
            seen.clear()  # -N repeats all sizes
        if one.size in seen:
            report_copies(reading, facts, "a size is repeated")
            continue
        seen.append(one.size)
        alone = alone or (moves_nothing(one) and len(facts.ranks) < 2)
        if len(one.placements) < placements:
            reading.add_problem(f"{one.where}: a row of {name} lacks columns of its head: the row is ignored")
        elif not is_consistent(one, name):
            reading.add_problem(
                f"{one.where}: the numbers in a row of {name} contradict each other: the row is ignored"
            )
        elif is_too_small(one):
            small.append(units.size(one.size))
        else:
            reading.add(program, size_table(testcase, one, alone))
    if alone:
        reading.add_problem(f"{where}: {name} ran on one rank, which moves no data: start at least 2 ranks")
    if small:
        add_small_sizes_note(reading, small)
    return sizes


def has_known_units(reading: Reading, head: int) -> bool:
    """Whether the line of units below a header line contains only the expected units. Reports other units.

    head: the number of the header line.
    """
    printed = UNIT.findall(reading.line()) if reading.line().startswith("#") else []
    if printed and UNITS.issuperset(printed):
        return True
    found = ", ".join(dict.fromkeys(printed)) or "none"
    reading.add_problem(
        f"line {head}: the units of this table are {found}, not B, elements, us and GB/s: the table is ignored"
    )
    reading.at += bool(printed)
    return False


def rows(reading: Reading, pattern: re.Pattern[str], seen: list[int]) -> Iterator[re.Match[str]]:
    """Yield the rows of a table. A comment, an empty line or a damaged row ends the table.

    seen: a list to which the size of each row is added.
    """
    begun = False
    while reading.at < len(reading.lines):
        line = reading.line()
        between = line.startswith("#") or not line.strip()
        if between and begun:
            return
        if HEAD.match(line):
            report_copies(reading, reading.current, "the head of a table is repeated")
        if between or LOG.match(line):
            reading.at += 1
            continue
        row = pattern.match(line)
        if row is None or reading.may_be_cut():
            add_row_fault(reading, line)
            return
        begun = True
        seen.append(int(row["size"]))
        reading.at += 1
        yield row


def add_small_sizes_note(reading: Reading, small: Sequence[str]) -> None:
    """Add a note to the first table of the last run: the sizes that are ignored because their bandwidth is 0.00.

    small: the ignored sizes.
    """
    if reading.runs and reading.runs[-1].program in PROGRAMS and reading.runs[-1].tables:
        note = f"sizes whose bandwidth is printed as 0.00 are ignored: {', '.join(small)}"
        first = reading.runs[-1].tables[0]
        reading.runs[-1].tables[0] = replace(first, notes=(*first.notes, note))


def row_without_head(reading: Reading, match: re.Match[str]) -> None:
    """Report a row that has no header line above it."""
    reading.add_problem(
        f"line {reading.at + 1}: '{match[0].strip()[:60]}' is a row without the head of its table: the row is ignored"
    )


def wrong_elements(reading: Reading, match: re.Match[str]) -> None:
    """Read `# Out of bounds values : 0 OK`, the total number of wrong elements of all sizes."""
    reading.at += 1
    run = reading.runs[-1] if reading.runs else None
    if (match["wrong"], match["state"]) == ("0", "OK") or run is None or run.program not in PROGRAMS:
        return
    add_wrong(run, f"line {reading.at}: '{match[0]}'")


def add_wrong(run: Run, where: str) -> None:
    """Record wrong data in a run. The tables do not show which sizes are wrong, so no table is verified."""
    run.wrong.append(f"{where}: these sizes have wrong data")
    run.tables = [replace(table, verified=False) for table in run.tables]


def algorithm_of(command: str) -> str:
    """The suffix of the test case's name: "_tree" for NCCL_ALGO=Tree, "_not_tree" for NCCL_ALGO=^Tree, else ""."""
    setting = ALGORITHM.search(command)
    words = re.findall(r"\w+", setting[1].lower().replace("^", "not_")) if setting else []
    return "".join(f"_{word}" for word in words)


def add_row_fault(reading: Reading, line: str) -> None:
    """Add a fault to the last table if the line looks like a cut or shifted row, or ends with a row."""
    looks_alike = re.match(r"^\s*\d+\s+\d+\s+\w", line) or ROW_AT_END.search(line[-MOST_ROW:])
    if looks_alike and reading.runs and reading.runs[-1].program in PROGRAMS:
        reading.add_incomplete_row()
