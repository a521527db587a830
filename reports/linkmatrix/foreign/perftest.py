"""perftest: ib_write_bw, ib_read_bw, ib_send_bw and their latencies. A size is a result of its own.

[Gb/sec] is 1e9 bits, [MB/sec] and [MiB/sec] are 2^20 bytes (perftest_parameters.h: 0x100000).
"""

import re

from .table import Part, Reading, Table

PROGRAM = "perftest"
TITLE = re.compile(r"^\s+(RDMA_Write|RDMA_Read|Send|Atomic_\w+)( Post List)?( Bidirectional)? (BW|Latency) Test\s*$")
DEVICE = re.compile(r"^ Dual-port\s+:\s*\w+\s+Device\s+:\s*([\w-]+)\s*$")
BANDWIDTH = re.compile(r"^ #bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]\s+MsgRate\[Mpps\]")
LATENCY = re.compile(r"^ #bytes\s+#iterations\s+t_min\[usec\]\s+t_max\[usec\]\s+t_typical\[usec\]\s+t_avg\[usec\]")
WORDS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send"}
TO_GB = {"Gb/sec": 1 / 8, "MB/sec": 0x100000 / 1e9, "MiB/sec": 0x100000 / 1e9}
NUMBER = re.compile(r"\d+\.\d+")
CUDA = re.compile(r"--use_cuda(?:=|\s)")


def title(reading: Reading, match: re.Match[str]) -> None:
    """`RDMA_Write BW Test`: a run begins."""
    reading.end_run()
    name = f"ib_{WORDS.get(match[1], match[1].lower())}_{'bw' if match[4] == 'BW' else 'lat'}"
    facts = reading.facts(PROGRAM)
    facts.software["test"] = name + ("_both_ways" if match[3] else "")
    facts.software["NIC"] = "nic"
    reading.at += 1


def device(reading: Reading, match: re.Match[str]) -> None:
    """The line that names the NIC."""
    if reading._facts.program == PROGRAM:
        reading._facts.software["NIC"] = match[1]
    reading.at += 1


def rows(reading: Reading, match: re.Match[str]) -> None:
    """The line of columns, and a line for each size."""
    latency = match.re is LATENCY
    if reading._facts.program != PROGRAM or (not latency and match[2] not in TO_GB):
        reading.at += 1
        return
    reading.at += 1
    software = reading._facts.software
    test, nic = software.get("test", ""), software.get("NIC", "nic")
    memory = "device" if CUDA.search(reading.command or "") else "host"
    while reading.at < len(reading.lines):
        words = reading.line().split()
        if len(words) < 5 or not words[0].isdigit() or not words[1].isdigit():
            break
        used = words[2:6] if latency else words[2:4]
        if reading.may_be_cut() or len(words) < (6 if latency else 5) or not all(map(NUMBER.fullmatch, used)):
            break
        scale = 1.0 if latency else TO_GB[match[2]]
        value = float(f"{float(used[2] if latency else used[1]) * scale:.9g}")
        pair = (nic, "peer")
        parts = {} if latency else {"peak": Part("peak", "GB/s", {pair: float(f"{float(used[0]) * scale:.9g}")})}
        both = test.endswith("_both_ways")
        reading.add(
            PROGRAM,
            Table(
                testcase=test,
                quantity="typical latency" if latency else "sum of both directions" if both else "bandwidth",
                metric="latency" if latency else "bidirectional" if both else "bandwidth",
                unit="us" if latency else "GB/s",
                size_bytes=int(words[0]),
                rows=(nic,),
                columns=("peer",),
                cells={pair: value if 0 < value <= 1e9 else "error"},
                line=reading.at + 1,
                direction="read" if "_read_" in test else "write",
                engine="rdma",
                memory=memory,
                transport="rdma",
                parts=parts,
            ),
        )
        reading.at += 1
    reading.command = None
    reading.end_run()
