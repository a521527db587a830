"""Reads the OSU micro-benchmarks latency, bw, bibw, multi_lat and mbw_mr.

Each size becomes a result: between rank0 and rank1, or with several pairs between all senders and all receivers. The
test case names the memory (`dd` device to device, `hh` host to host) and the number of pairs: osu_mbw_mr_dd_8_pairs.
The program's MB is 1e6 bytes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from .endings import COPIES
from .grid import cell_of
from .table import Part, Reading, Table

PROGRAM = "osu"
TITLE = re.compile(
    r"^# OSU MPI(?P<device>-\w+)?(?: (Bi-Directional|Multi|Multiple))? (Latency|Bandwidth)(?: / Message Rate)? Test"
    r"(?: v([\d.]+))?\s*$"
)
BUFFERS = re.compile(r"^# Send Buffer on \w+ \(([DHM])\) and Receive Buffer on \w+ \(([DHM])\)")
OPTIONS = re.compile(r"\bosu_(?P<test>\w+)\b(?:\s.*)?\s(?P<send>D|H|M[DH]?)\s+(?P<receive>D|H|M[DH]?)(?=\s|$)")
UNKNOWN, LINES_ABOVE, MOST_LINE = "unknown_buffers", 12, 2_000
PAIRS = re.compile(r"^# \[ pairs: (\d+) \]")
COLUMNS = re.compile(r"^# Size\s{2,}(.+?)\s*$")
ROW = re.compile(r"^(\d+)\s+(\d+\.\d+)((?:\s+(?:\d+\.\d+|Pass|Fail|\d+))*)\s*$")
TESTS = {
    (None, "Latency"): "latency",
    (None, "Bandwidth"): "bw",
    ("Bi-Directional", "Bandwidth"): "bibw",
    ("Multi", "Latency"): "multi_lat",
    ("Multiple", "Bandwidth"): "mbw_mr",
}
QUANTITIES = {
    "latency": "one-way latency",
    "bw": "bandwidth",
    "bibw": "sum of both directions",
    "multi_lat": "one-way latency, mean of all pairs",
    "mbw_mr": "sum of all pairs",
}
RATE = "Messages/s"  # the title of the column with the message rate, over all pairs
UNITS = {"latency": "us", "multi_lat": "us"}  # MB/s for other tests
UNIT = re.compile(r"\b([\w/]+)\)?$")  # at the end of a column's title: "Latency (us)", "MB/s"
METRICS = {"latency": "latency", "multi_lat": "latency", "bibw": "bidirectional"}


class Head(NamedTuple):
    """The facts in the comments above the rows of a test.

    buffers: the memory of sender and receiver, such as "dd" (device to device) or "hh" (host to host), or UNKNOWN.
    pairs: the number of pairs of ranks.
    columns: the titles of the columns.
    """

    buffers: str
    pairs: int
    columns: Sequence[str]


def sizes(reading: Reading, match: re.Match[str]) -> None:
    """Read the title of a test, its comments, and a row per size."""
    test, release = TESTS.get((match[2], match[3])), match[4]
    reading.at += 1
    if test is None:
        return
    reading.end_run()
    # without an accelerator, buffers are in host memory; with one, versions before 7.5 print the buffers
    head = head_of(reading, test, buffers_of_command(reading, test) or (UNKNOWN if match["device"] else "hh"))
    if head is None:
        return
    if release:
        reading.facts(PROGRAM).software["OSU micro-benchmarks"] = release
    while reading.line().startswith("#"):  # "# Datatype: MPI_CHAR.", since 7.0
        reading.at += 1
    found = [table_of(row, rate, test, head, reading.at + 1) for row, rate in rows(reading, head)]
    once = {table.size_bytes: table for table in reversed(found)}
    copied = len(found) - len(once) > 1
    for table in found:
        if not copied or table is once[table.size_bytes]:
            reading.add(PROGRAM, table)
    if copied:
        reading.add_problem(f"line {found[0].line}: sizes are repeated: {COPIES}")
    if found and reading.at < len(reading.lines) and ROW_LIKE.search(reading.line(), 0, MOST_LINE):
        reading.add_incomplete_row()
    else:
        reading.report_rows_below(ROW, TITLE)
    reading.command = None  # a later table belongs to another command


def buffers_of_command(reading: Reading, test: str) -> str:
    """The memory of sender and receiver: "dd" for `osu_bw -d cuda D D`; "" if the memory is unknown.

    The options are in the command line, or in a line above the title.
    """
    lines = [*reading.lines[max(0, reading.at - 1 - LINES_ABOVE) : reading.at - 1], reading.command or ""]
    found = [match for line in lines if len(line) < MOST_LINE and (match := OPTIONS.search(line))]
    ours = [match for match in found if match["test"] == test]
    return (ours[-1]["send"][-1] + ours[-1]["receive"][-1]).lower() if ours else ""


def head_of(reading: Reading, test: str, buffers: str) -> Head | None:
    """Read the comments of a test, up to the titles of the columns. Returns None for columns of an unexpected unit.

    buffers: the memory of sender and receiver, for tests whose comments do not name the memory.
    """
    pairs = 1
    while reading.line().startswith("#"):
        line = reading.line()
        found, count, head = BUFFERS.match(line), PAIRS.match(line), COLUMNS.match(line)
        buffers = (found[1] + found[2]).lower() if found else buffers
        pairs = int(count[1]) if count else pairs
        reading.at += 1
        if not head:
            continue
        columns = re.split(r"\s{2,}", head[1])
        unit = UNIT.search(columns[0])
        if unit and unit[1] == UNITS.get(test, "MB/s"):
            return Head(buffers, pairs, columns)
        reading.add_problem(
            f"line {reading.at}: osu_{test} needs the unit {UNITS.get(test, 'MB/s')}, but its column is"
            f" '{columns[0][:60]}': the table is ignored"
        )
        return None
    return Head(buffers, pairs, ())


def rows(reading: Reading, head: Head) -> Iterator[tuple[re.Match[str], str | None]]:
    """Yield (match of a row, its message rate or None) for each row, up to the first invalid row."""
    decimals = None
    while reading.at < len(reading.lines):
        row = ROW.match(reading.line())
        # the last number of a text may be cut
        if row is None or reading.may_be_cut() or len(reading.line().split()) != len(head.columns) + 1:
            return
        places = len(row[2].partition(".")[2])
        decimals = places if decimals is None else decimals
        rate = row[3].split()[0] if head.columns[1:2] == [RATE] else None
        if places != decimals or (rate and not is_consistent(int(row[1]), float(row[2]), rate)):
            return
        yield row, rate
        reading.at += 1


def table_of(row: re.Match[str], rate: str | None, test: str, head: Head, line: int) -> Table:
    """The table of a row. rate: the printed message rate, or None."""
    verified = {"Pass": True, "Fail": False}.get((row[3].split() or [""])[-1])
    table = size_table(test, head.buffers, head.pairs, int(row[1]), float(row[2]), line, verified)
    if not rate or table.verified is False:
        return table
    parts = {"message_rate": Part("message rate", "msg/s", dict.fromkeys(table.cells, float(rate)))}
    return replace(table, parts=parts)


def is_consistent(size: int, bandwidth: float, rate: str) -> bool:
    """Whether a bandwidth in MB/s and a message rate agree. The program rounds both to two decimals."""
    return bool(re.fullmatch(r"\d+\.\d\d", rate)) and abs(float(rate) * size / 1e6 - bandwidth) <= 0.005001 + size / 1e8


#: A row that is cut or changed, or a row that follows other text in its line, such as a warning.
ROW_LIKE = re.compile(r"^\s*\d+(\s|$)|\s\d+\s{4,40}\d+\.\d")


def size_table(
    test: str, buffers: str, pairs: int, size: int, value: float, line: int, verified: bool | None = None
) -> Table:
    """The table of one size. value: the printed value, in MB/s or µs."""
    metric = METRICS.get(test, "bandwidth")
    pair = ("rank0", "rank1") if pairs == 1 else ("senders", "receivers")
    wrong = f"line {line}: messages of {size} bytes from {pair[0]} to {pair[1]} have wrong data"
    return Table(
        testcase=f"osu_{test}_{buffers}" + (f"_{pairs}_pairs" if pairs > 1 else ""),
        quantity=QUANTITIES[test],
        metric=metric,
        size_bytes=size,
        rows=pair[:1],
        columns=pair[1:],
        cells={pair: "error" if verified is False else cell_of(value if metric == "latency" else value / 1000)},
        line=line,
        engine="mpi",
        memory={"hh": "host", UNKNOWN: None}.get(buffers, "device"),
        transport="mpi",
        verified=verified,
        faults=(wrong,) if verified is False else (),
    )
