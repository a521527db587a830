"""Reads perftest: ib_write_bw, ib_read_bw, ib_send_bw and their latencies. Each size becomes a result.

[Gb/sec] is 1e9 bits, [MB/sec] and [MiB/sec] are 2^20 bytes (perftest_parameters.h: 0x100000).
"""

import re

from .grid import cell_of
from .table import Part, Reading, Table

PROGRAM = "perftest"
TITLE = re.compile(r"^\s+(RDMA_Write|RDMA_Read|Send|Atomic_\w+)( Post List)?( Bidirectional)? (BW|Latency) Test\s*$")
DEVICE = re.compile(r"^ Dual-port\s+:\s*\w+\s+Device\s+:\s*([\w-]+)\s*$")
BANDWIDTH = re.compile(r"^ #bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]\s+MsgRate\[Mpps\]")
LATENCY = re.compile(r"^ #bytes\s+#iterations\s+t_min\[usec\]\s+t_max\[usec\]\s+t_typical\[usec\]\s+t_avg\[usec\]")
WORDS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send"}
TO_GB = {"Gb/sec": 1 / 8, "MB/sec": 0x100000 / 1e9, "MiB/sec": 0x100000 / 1e9}
NUMBER = re.compile(r"\d+\.\d+")
DURATION = re.compile(r"^ #bytes\s+#iterations\s+t_avg\[usec\]\s+tps average")  # a latency test with -D
ROW = re.compile(r"^ \d+ +\d+ +\d+\.\d+\s")
COLUMN = re.compile(r"(?:BW |MsgRate (?=P)|tps |[\d.]+% )?\S+")  # "BW peak[Gb/sec]" is one column
ROUNDING = 0.01  # of printed bandwidths, in their unit
CUDA = re.compile(r"--use_cuda(?:=|\s)")
COMMAND = re.compile(r"\bib_(?:write|read|send|atomic)_(?:bw|lat)\b")  # lines above the command belong to another test
#: perftest prints these lines if it uses GPU memory (cuda_memory.c), whatever the command line was.
CUDA_LINE = re.compile(r"^(initializing CUDA|creating CUDA Ctx|cuMemAlloc\(\) of|allocated .*GPU buffer)")


def title(reading: Reading, match: re.Match[str]) -> None:
    """Read `RDMA_Write BW Test`. The line starts a new run."""
    reading.end_run()
    name = f"ib_{WORDS.get(match[1], match[1].lower())}_{'bw' if match[4] == 'BW' else 'lat'}"
    facts = reading.facts(PROGRAM)
    facts.software["test"] = name + ("_both_ways" if match[3] else "")
    facts.software["NIC"] = "nic"


def device(reading: Reading, match: re.Match[str]) -> None:
    """Read `Dual-port : OFF Device : mlx5_0`."""
    if reading.current.program == PROGRAM:
        reading.current.software["NIC"] = match[1]


def rows(reading: Reading, match: re.Match[str]) -> None:
    """Read the line of column names, and a row per size."""
    latency, average = match.re in (LATENCY, DURATION), match.re is DURATION
    if reading.current.program != PROGRAM or (not latency and match[2] not in TO_GB):
        reading.at += 1
        return
    reading.at += 1
    software = reading.current.software
    test, nic = software.get("test", ""), software.get("NIC", "nic")
    columns = len(COLUMN.findall(match.string))
    memory = "device" if uses_gpu(reading) else "host"
    while reading.at < len(reading.lines):
        words = reading.line().split()
        if len(words) < 2 or not words[0].isdecimal():
            break
        if reading.may_be_cut() or not is_consistent(words, columns, latency, average):
            reading.add_problem(
                f"line {reading.at + 1}: the numbers in a row of {test} contradict each other: the row is ignored"
            )
            reading.at += 1
            continue
        scale = 1.0 if latency else TO_GB[match[2]]
        value, peak = (float(words[2 if average else 4 if latency else 3]), 0.0 if latency else float(words[2]))
        size, line = int(words[0]), reading.at + 1
        table = table_of(test, nic, size, value * scale, peak * scale, line, memory, latency, average)
        reading.add(PROGRAM, table)
        reading.at += 1
    reading.report_rows_below(ROW, TITLE)
    reading.command = None
    reading.end_run()


def uses_gpu(reading: Reading) -> bool:
    """Whether the test at the reading position uses GPU memory."""
    begin = reading.runs[-1].last if reading.runs else 0
    for line in reversed(reading.lines[begin : reading.at]):
        if CUDA_LINE.match(line):
            return True
        if COMMAND.search(line):
            return CUDA.search(line) is not None
    return CUDA.search(reading.command or "") is not None


def table_of(
    test: str, nic: str, size: int, value: float, peak: float, line: int, memory: str, latency: bool, average: bool
) -> Table:
    """The table of one size.

    value, peak: in us or GB/s. The peak is 0 if it was not measured.
    average: whether `value` is the average latency. Otherwise `value` is the typical latency.
    """
    both, pair = test.endswith("_both_ways"), (nic, "peer")
    bandwidth = "sum of both directions" if both else "bandwidth"
    return Table(
        testcase=test,
        quantity=("average latency" if average else "typical latency") if latency else bandwidth,
        metric="latency" if latency else "bidirectional" if both else "bandwidth",
        size_bytes=size,
        rows=(nic,),
        columns=("peer",),
        cells={pair: cell_of(value)},
        line=line,
        direction="read" if "_read_" in test else "write",
        engine="rdma",
        memory=memory,
        transport="rdma",
        parts={"peak": Part("peak", "GB/s", {pair: float(f"{peak:.9g}")})} if peak else {},
    )


def is_consistent(words: list[str], columns: int, latency: bool, average: bool) -> bool:
    """Whether a row has one word per column, and the numbers of the row agree.

    * Bandwidths agree if the average is at most the peak.
    * Latencies agree if they lie between the minimum and the maximum.

    If a word is missing or repeated, the other words are in wrong columns, and the numbers disagree.
    """
    used = words[2:6] if latency else words[2:4]
    if len(words) != columns or not words[1].isdecimal() or not all(map(NUMBER.fullmatch, used)):
        return False
    if average:  # latency times rate is 1, or 0.5 for a test whose latency is half of a round trip
        return any(abs(float(words[2]) * float(words[3]) / 1e6 - share) <= 0.05 for share in (0.5, 1.0))
    if latency:
        least, most, typical, mean = map(float, used)
        return least <= typical <= most and least <= mean <= most
    peak, mean = map(float, used)
    return not peak or mean <= peak + ROUNDING  # -D prints 0 as the peak
