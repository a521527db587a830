"""Reads the output of ucx_perftest's client: the bandwidth or the latency of tagged messages.

Only the command contains the test and the size. "MB/s" is 2^20 bytes per second (perftest.c: 1024.0 * 1024.0).
Latencies are one-way. The record contains the median latency.
"""

import re

from .grid import cell_of
from .table import Reading, Table

PROGRAM = "ucx_perftest"
HEAD = re.compile(
    r"^\|\s+\|\s+\|\s+(overhead|latency) \(usec\)\s+\|\s+bandwidth \(MB/s\)\s+\|\s+message rate \(msg/s\)\s+\|\s*$"
)
FRAME = re.compile(r"^(?:[+|]|\[thread \d+\]|\s*$)")
FINAL = re.compile(r"^Final:((?:\s+\d+(?:\.\d+)?){8})\s*$")
TEST, SIZE = re.compile(r" -t (tag_bw|tag_lat)\b"), re.compile(r" -s (\d+)\b")
DEVICE, TLS = re.compile(r"\bUCX_NET_DEVICES=([\w.:-]+)"), re.compile(r"\bUCX_TLS=tcp\b")
MIB = 1 << 20
SLACK = 0.02  # relative: the numbers are printed with few digits


def table(reading: Reading, match: re.Match[str]) -> None:
    """Read a table from its header line to its last line, `Final:`."""
    reading.end_run()
    head, command = reading.at, reading.command or ""
    reading.at += 1
    reading.skip(FRAME)
    final, test, size = FINAL.match(reading.line()), TEST.search(command), SIZE.search(command)
    latency = match[1] == "latency"
    if final is None or reading.may_be_cut() or test is None or size is None or test[1].endswith("_lat") != latency:
        reading.add_problem(
            f"line {head + 1}: a table of ucx_perftest lacks its end, test or size: the table is ignored"
        )
        return
    numbers = [float(word) for word in final[1].split()]
    if not is_consistent(numbers, int(size[1])):
        reading.add_problem(
            f"line {reading.at + 1}: the numbers in a row of ucx_perftest contradict each other: the row is ignored"
        )
        return
    _, median, _, _, _, overall, _, _ = numbers
    nic = DEVICE.search(command)
    pair = (nic[1].partition(":")[0] if nic else "nic", "peer")
    reading.add(
        PROGRAM,
        Table(
            testcase=f"ucx_{test[1]}",
            quantity="median latency" if latency else "bandwidth",
            metric="latency" if latency else "bandwidth",
            size_bytes=int(size[1]),
            rows=pair[:1],
            columns=pair[1:],
            cells={pair: cell_of(median if latency else overall * MIB / 1e9)},
            line=reading.at + 1,
            engine="ucx",
            memory="host",
            transport="tcp" if TLS.search(command) else "auto",
        ),
    )
    reading.at += 1
    reading.command = None
    reading.end_run()


def is_consistent(numbers: list[float], size: int) -> bool:
    """Whether the time per message, the message rate and the bandwidth agree with each other.

    numbers: the numbers of the line `Final:`.
    """
    iterations, median, average, overall, _, bandwidth, _, rate = numbers
    if min(iterations, median, average, overall, rate) <= 0:
        return False
    of_time, of_rate = 1e6 / overall, bandwidth * MIB / max(size, 1)
    rounding = 0.005 * MIB / max(size, 1) + 1
    return abs(of_time - rate) <= SLACK * rate + 1 and abs(of_rate - rate) <= SLACK * rate + rounding
