"""nccl-tests, and rccl-tests for AMD's GPUs: all_reduce_perf and its siblings. A size is a result of its own, out of
place and in place its columns.

The value is the bus bandwidth; algorithm bandwidth and time are its parts. What has wrong elements is an 'error'.
NCCL_ALGO, where the command sets it, is the end of the test case's name: another algorithm is another test case.

rccl-tests prints the same table under a head of its own: its version, and after the ranks those of RCCL, HIP and ROCm.
RCCL is called as NCCL is, so that the engine of both is `nccl`; the record's program and software tell them apart.

Options add columns: -C prints the CPU time in place of the time, -I four times of single iterations after each way, and
-S the time of day. `nccl_json` reads the file of -J.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..record import units
from .endings import COPIES
from .nccl_sizes import Size, Way, consistent, moves_nothing, size_table, too_small
from .table import Reading, Run

PROGRAM, RCCL = "nccl_tests", "rccl_tests"
PROGRAMS = (PROGRAM, RCCL)
HEAD = re.compile(
    r"^#\s+size\s+count\s+type(?:\s+redop)?(?:\s+root)?\s+(?P<time>(?:cpu)?time)\s+algbw\s+busbw\s+(?:#wrong|error)\b.*"
)
VALUE = r"\d+(?:\.\d+)?"
WRONG = r"(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|N/A)"
PER_ITERATION = ("i_min", "i_max", "i_p99", "i_cv%")  # columns of -I, after each way
STAMP = r"\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"  # of -S
WAYS = {"out-of-place": "", "in-place": "2"}  # way → end of its groups in a row


def row_pattern(ways: str, stamp: str) -> re.Pattern[str]:
    """The line of a size. ways, stamp: patterns of its columns after those that describe the operation."""
    return re.compile(
        rf"^\s*(?P<size>\d+)\s+\d+\s+\w+(?:\s+(?:sum|prod|min|max|avg|mulsum|none|all))?(?:\s+-?\d+)?"
        rf"{ways}{stamp}\s*$"
    )


def way_pattern(end: str, more: str) -> str:
    """The columns of a way, with groups whose names have this end."""
    names = (("time", VALUE), ("alg", VALUE), ("bus", r"\d+\.\d\d"), ("wrong", WRONG))
    return "".join(rf"\s+(?P<{name}{end}>{pattern})" for name, pattern in names) + more


MORE = rf"(?:\s+{VALUE}){{{len(PER_ITERATION)}}}"
#: (with the columns of -I, with that of -S) → the line of a size
ROWS = {
    (more, stamp): row_pattern(
        f"{way_pattern('', more * MORE)}(?:{way_pattern('2', more * MORE)})?",
        stamp * STAMP,
    )
    for more in (False, True)
    for stamp in (False, True)
}
ROW = row_pattern(rf"(?:\s+{VALUE}\s+{VALUE}\s+\d+\.\d\d\s+{WRONG}(?:{MORE})?){{1,2}}", f"(?:{STAMP})?")  # any of them
COPIED = "copied"  # of Run.settings: a rank was listed twice
UNITS = {"B", "elements", "us", "GB/s", "%"}
UNIT = re.compile(r"\(([^()]*)\)")
#: NCCL's log, which NCCL_DEBUG has on the same output, between the lines of sizes
LOG = re.compile(r"^\S+:\d+:\d+ \[\d*\] NCCL ")
END = re.compile(r"^#\s*(?:Out of bounds values|Avg bus bandwidth)\b")  # below a table
BOUNDS = re.compile(r"^# Out of bounds values : (?P<wrong>\d+) (?P<said>\w+)")
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
    if number in facts.ranks:
        note_copies(reading, facts, f"rank {number} is listed twice")
    facts.devices[number] = match["model"]
    facts.ranks[number] = match["host"], int(match["device"])
    reading.at += 1


def note_copies(reading: Reading, facts: Run, why: str) -> None:
    """Names the cause once where lines of several copies are mixed."""
    if COPIED not in facts.settings:
        facts.settings[COPIED] = "yes"
        reading.left(f"line {reading.at + 1}: {why}: {COPIES}")


def version(reading: Reading, match: re.Match[str]) -> None:
    """`# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102`: a run begins."""
    reading.end_run()
    reading.facts(PROGRAM).software |= {"nccl-tests": match["version"], "NCCL": nccl_version(int(match["nccl"]))}
    reading.at += 1


def nccl_version(code: int) -> str:
    """ "2.31.2" of 23102, as NCCL counts since 2.9."""
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def starting(reading: Reading, match: re.Match[str]) -> None:
    """`# Collective test starting: all_reduce_perf`, of newer versions, some of which print their version before."""
    if reading.facts(PROGRAM).software.keys() != {"nccl-tests", "NCCL"}:
        reading.end_run()
    reading.facts(PROGRAM).software["test"] = match[1]
    reading.at += 1


def sizes(reading: Reading, match: re.Match[str]) -> None:
    """`# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) …`: up to which size the program measures."""
    facts = reading.facts(program_of(reading))
    facts.settings |= {"most": match["most"], "step": match["step"], "how": match["how"]}
    reading.at += 1


def note_cut(reading: Reading, settings: Mapping[str, str], largest: int) -> None:
    """Names a table that ends before its largest size, without the lines that the program prints below a table."""
    rest = itertools.takewhile(lambda line: not HEAD.match(line), reading.lines[reading.at :])
    has_fault = bool(reading.runs and reading.runs[-1].tables and reading.runs[-1].tables[-1].faults)
    if "most" not in settings or has_fault or any(END.match(line) for line in rest):
        return
    step, most = int(settings["step"]), int(settings["most"])
    following = largest * step if settings["how"] == "factor" else largest + step
    if largest < following <= most:
        reading.left(
            f"line {reading.at}: the table ends at {units.size(largest)}, and the program measures up to"
            f" {units.size(most)}: the text lacks the end of the table"
        )


def nccl(reading: Reading, match: re.Match[str]) -> None:
    """The line of columns, that of their units, and a line for each size."""
    head, columns = reading.at + 1, match[0].split()
    reading.at += 1
    passed(reading, LOG)
    copied = HEAD.match(reading.line())
    passed(reading, LOG, HEAD)
    if not has_known_units(reading, head):
        passed(reading, ROW, LOG)
        reading.command = None
        return
    facts = reading._facts if reading._facts.program in PROGRAMS else reading.facts(PROGRAM)
    said = COMMAND.search(reading.command or "")
    name = facts.software.get("test") or (said[1] if said else "nccl_unknown_test")
    if copied:
        note_copies(reading, facts, "the head of a table comes twice")
    pattern = ROWS[PER_ITERATION[0] in columns, "timestamp" in columns]
    settings = dict(facts.settings)
    seen: list[int] = []
    found = (size_of(row, reading.at, match["time"] == "cputime") for row in rows(reading, pattern, seen))
    if add_sizes(reading, facts, f"line {head}", name, found, columns.count(match["time"])):
        note_cut(reading, settings, max(seen))
        # a later table is another command's
        reading.command = None
        reading.end_run()


def size_of(row: re.Match[str], line: int, cpu: bool) -> Size:
    """The numbers of a line."""
    ways = {
        way: Way(*(float(row[name + end]) for name in ("time", "alg", "bus")), row["wrong" + end])
        for way, end in WAYS.items()
        if row["time" + end]
    }
    return Size(int(row["size"]), ways, f"line {line}", line, cpu)


def add_sizes(reading: Reading, facts: Run, where: str, name: str, found: Iterable[Size], ways: int) -> int:
    """The believable ones of the sizes of a test become tables; how many sizes there were.

    facts: of the run. where: of the table in its text. ways: those of its head.
    """
    testcase, program = name.lower() + algorithm_of(reading.command or ""), facts.program
    small, sizes, alone = list[str](), 0, False
    seen: list[int] = []
    for one in found:
        sizes += 1
        if seen[:1] == [one.size] and len(set(seen)) > 1:
            seen.clear()  # the next cycle of -N
        if one.size in seen:
            note_copies(reading, facts, "a size comes twice")
            continue
        seen.append(one.size)
        alone = alone or (moves_nothing(one) and len(facts.ranks) < 2)
        if len(one.ways) < ways:
            reading.left(f"{one.where}: a row of {name} without one of the ways of its head: it is left out")
        elif not consistent(one, name):
            reading.left(f"{one.where}: a row of {name} that its own numbers contradict: it is left out")
        elif too_small(one):
            small.append(units.size(one.size))
        else:
            reading.add(program, size_table(testcase, one, alone))
    if alone:
        reading.left(f"{where}: {name} ran on one rank, which moves nothing by definition: start 2 ranks or more")
    if small:
        note_small(reading, small)
    return sizes


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


def rows(reading: Reading, pattern: re.Pattern[str], seen: list[int]) -> Iterator[re.Match[str]]:
    """The lines of sizes, up to one that is none: a comment or an empty one, or what is a fault of the last table.

    seen: receives the sizes.
    """
    begun = False
    while reading.at < len(reading.lines):
        line = reading.line()
        between = line.startswith("#") or not line.strip()
        if between and begun:
            return
        if HEAD.match(line):
            note_copies(reading, reading._facts, "the head of a table comes twice")
        if between or LOG.match(line):
            reading.at += 1
            continue
        row = pattern.match(line)
        if row is None or reading.may_be_cut():
            add_fault(reading, line)
            return
        begun = True
        seen.append(int(row["size"]))
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
    add_wrong(run, f"line {reading.at}: '{match[0]}'")


def add_wrong(run: Run, where: str) -> None:
    """Notes that the data of a run was wrong in some of its sizes."""
    run.wrong.append(f"{where}: the data of these sizes was wrong")
    run.tables = [replace(table, verified=False) for table in run.tables]


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
