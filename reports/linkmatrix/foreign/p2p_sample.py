"""Reads p2pBandwidthLatencyTest of the CUDA samples, and of T-Head's PCCL tools for PPU.

CUDA (p2pBandwidthLatencyTest.cu): cell (i, j) is a copy from i to j for writes, and from j to i for reads
(`--p2p_read`). Bidirectional values are the sum of both directions. The diagonal is a copy inside a device. The program
counts the bytes of such a copy twice. linkmatrix counts these bytes once.

PPU: the row is the root device. The root device writes to the device of the column, or reads from this device. The
program runs in one or several processes. With several processes, the header line always shows CE. Only the command line
contains the kernel. The command line therefore has priority over the header line.
"""

import re
from typing import Any

from .grid import measured, numbers, prefixed, read_grid, row_number, transposed
from .table import BLANK, Part, Reading, Table, Topology

CUDA, PPU = "p2p_bandwidth_latency_test", "p2p_bandwidth_latency_test_ppu"
NUMBER = r"\d+\.\d\d"
CUDA_START = re.compile(r"^\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]")
CUDA_DEVICE = re.compile(r"^Device: (\d+), (.+?), pciBusID: [0-9a-f]+,")
CUDA_BANDWIDTH = re.compile(
    r"^(?P<ways>Uni|Bi)directional P2P=(?P<peer>En|Dis)abled Bandwidth (?:\(P2P (?P<do>Write|Read)s\) )?Matrix \(GB/s\)"
)
CUDA_LATENCY = re.compile(r"^P2P=(?P<peer>En|Dis)abled Latency (?:\(P2P (?P<do>Write|Read)s\) )?Matrix \(us\)")
CUDA_CONNECTIVITY = re.compile(r"^\s*P2P Connectivity Matrix\s*$")
PPU_MODE = re.compile(
    r"^\((?P<peer>En|Dis)abledP2P (?P<engine>CE|SM) (?P<do>WRITE|READ)(?: (?:Uni|Bi)directional)?\)\s*(?P<rest>.*)$"
)
PPU_HEAD = re.compile(
    r"^P2P (?:(?P<ways>Uni|Bi)directional Bandwidth )?Transport Bandwidth (?P<ratio>Utilization Ratio )?Matrix"
    r" \((?P<bytes>\d+)(?: \*2)? Bytes\) \((?:GB/s|%)\)\s*$"
)
PPU_LATENCY = re.compile(r"^(?P<clock>GPU|CPU) P2P Transmission Latency Matrix \(US\)\s*$")
PPU_CONNECTIVITY = re.compile(r"^P2P Connectivity & minPath Matrix\s*$")
PPU_TOTAL = re.compile(r"^Total:\s+(\d+\.\d+) s\s*$")
PPU_COLUMN = re.compile(r"^(?:HOST(\d+):)?DEV(\d+)$")
KERNELS = {"cacheCopy": "cached", "ncCopy": "noncached", "bulkCopy": "bulk"}
OF_KERNEL = {"cached": "sm_cached", "noncached": "sm", "bulk": "sm_bulk", None: "sm_unknown_kernel"}
LATENCY_BYTES = 16  # both programs copy four integers
QUANTITIES = {"latency": "copy latency", "bandwidth": "bandwidth", "bidirectional": "sum of both directions"}


def name_of(metric: str, direction: str, engine: str | None, kernel: str | None, peer: bool) -> str:
    """The name of the test case with these properties. If the engine is unknown, the name contains "unknown_engine"."""
    stem = {"bandwidth": "memcpy", "bidirectional": "bidirectional_memcpy", "latency": "copy_latency"}[metric]
    by = {"ce": "ce", "sm": OF_KERNEL[kernel], None: "unknown_engine"}[engine]
    return f"device_to_device_{stem}_{direction}_{by}{'' if peer else '_peer_off'}"


def add_table(
    reading: Reading,
    program: str,
    metric: str,
    direction: str,
    engine: str | None,
    kernel: str | None,
    peer: bool,
    faults: list[str],
    **fields: Any,
) -> str:
    """Add a table, and return the name of its test case.

    peer: whether peer access was on. fields: further fields of the `Table`.
    """
    name = name_of(metric, direction, engine, kernel, peer)
    table = Table(
        testcase=name,
        quantity=QUANTITIES[metric],
        metric=metric,
        direction=direction,
        engine=engine,
        kernel=kernel,
        peer_access="on" if peer else "off",
        faults=prefixed(name, faults),
        **fields,
    )
    reading.add(program, table)
    return name


def cuda_start(reading: Reading, _: re.Match[str]) -> None:
    """Read the first line of the sample. The line starts a new run."""
    reading.end_run()
    reading.facts(CUDA)


def cuda_device(reading: Reading, match: re.Match[str]) -> None:
    """Read `Device: 0, NVIDIA A800-SXM4-80GB, pciBusID: 10, …`."""
    reading.facts(CUDA).devices[int(match[1])] = match[2]


def cuda_labels(reading: Reading) -> list[str] | None:
    r"""The column labels in a header line, which starts with `D\D`, `GPU` or `CPU`; None for any other line."""
    words = reading.line().split()
    if len(words) < 2 or words[0] not in ("D\\D", "GPU", "CPU"):
        return None
    return words[1:] if words[1:] == [str(number) for number in range(len(words) - 1)] else None


def cuda_cells(reading: Reading, number: str = NUMBER):
    """Returns (labels, words, faults) of the table at the reading position; None if no table is there.

    words: {(row, column): word in the cell}.
    """
    columns = cuda_labels(reading)
    if columns is None:
        return None
    reading.at += 1
    grid = read_grid(reading, columns, row_number, number, columns)
    words = {(f"gpu{row}", f"gpu{column}"): word for (row, column), word in grid.words().items()}
    return tuple(f"gpu{column}" for column in columns), words, grid.faults


def cuda_table(reading: Reading, match: re.Match[str]) -> None:
    """Read a matrix of bandwidths, or a matrix of GPU latencies and the CPU latencies below."""
    line, latency = reading.at + 1, "ways" not in match.re.groupindex
    metric = "latency" if latency else {"Uni": "bandwidth", "Bi": "bidirectional"}[match["ways"]]
    direction, peer = (match["do"] or "Write").lower(), match["peer"] == "En"
    reading.at += 1
    found = cuda_cells(reading)
    if found is None:
        reading.add_problem(f"line {line}: the matrix has no columns")
        return
    labels, words, faults = found
    cells = numbers(words)
    engine, notes = sample_engine(reading.command)
    if not latency:
        cells = {pair: bytes_counted_once(pair, value) for pair, value in cells.items()}
        notes.append("the diagonal is half the printed value: the program counts each byte as read and as written")
    name = add_table(
        reading,
        CUDA,
        metric=metric,
        direction=direction,
        engine=engine,
        kernel=None,
        peer=peer,
        faults=faults,
        size_bytes=LATENCY_BYTES if latency else None,
        rows=labels,
        columns=labels,
        cells=transposed(cells) if direction == "read" else cells,
        line=line,
        transport="direct" if peer else "staged",
        local_copy=True,
        notes=tuple(notes),
    )
    if latency:
        cuda_enqueue(reading, name, direction)


def sample_engine(command: str | None) -> tuple[str, list[str]]:
    """Returns (engine, notes) from the command line.

    Without a command line, the engine is the default of the program, and a note reports this assumption.
    """
    if command is not None and "p2pBandwidthLatencyTest" in command:
        return "sm" if "--sm_copy" in command.split() else "ce", []
    return "ce", ["the text does not contain the engine: linkmatrix assumes copy engines (with --sm_copy: kernels)"]


def bytes_counted_once(pair: tuple[str, str], value: float | str) -> float | str:
    """The value of a cell. The value of a copy inside a device is halved, because the program counts bytes twice."""
    return float(f"{value / 2:.9g}") if pair[0] == pair[1] and not isinstance(value, str) else value


def cuda_enqueue(reading: Reading, name: str, direction: str) -> None:
    """Read the table with the header `CPU` below a latency table: the time that the host needs for each copy."""
    reading.skip(BLANK)
    if reading.line().split()[:1] != ["CPU"]:
        return
    found = cuda_cells(reading)
    if found is not None:
        cells = numbers(found[1])
        add_enqueue(reading, name, transposed(cells) if direction == "read" else cells, found[2])


def add_enqueue(reading: Reading, name: str, cells: dict, faults: list[str]) -> None:
    """Add the times of the host to the last latency table, as its part "enqueue"."""
    part = Part("enqueue latency", "us", measured(cells))
    reading.add_part("enqueue", part, prefixed(f"{name}, time on the CPU", faults))


def cuda_connectivity(reading: Reading, _: re.Match[str]) -> None:
    """Read the matrix of peer access. 1: the device of the row can access the memory of the device of the column."""
    line = reading.at + 1
    reading.at += 1
    found = cuda_cells(reading, number="[01]")
    if found is None:
        return
    labels, words, faults = found
    access = {pair: word == "1" for pair, word in words.items() if pair[0] != pair[1]}
    reading.add_topology(CUDA, Topology(labels, line, peer_access=access, faults=prefixed("connectivity", faults)))


def ppu_labels(words: list[str]) -> list[str] | None:
    """The labels of the columns in PPU output, if the words are a line of column names; None otherwise."""
    found = [PPU_COLUMN.match(word) for word in words]
    if not found or not all(found):
        return None
    labels = [(f"host{match[1]}." if match[1] else "") + f"gpu{match[2]}" for match in found if match]
    return labels if len(set(labels)) == len(labels) else None


def ppu_cells(reading: Reading, number: str = NUMBER):
    """Returns (labels, words, faults) of the table at the reading position; None if no table is there.

    words: {(row, column): word in the cell}.
    """
    labels = ppu_labels(reading.line().split())
    if labels is None:
        return None
    reading.at += 1
    several = labels[0].startswith("host")
    nameless: list[str] = []

    def row_label(word: str, row: int) -> str | None:
        if not PPU_COLUMN.match(word):
            return None
        # with several processes, each row of a latency is DEV0: rows are in the order of processes
        if several and ":" not in word:
            nameless.append(word)
            return labels[row] if row < len(labels) else f"row {row}"
        return (ppu_labels([word]) or [word])[0]

    grid = read_grid(reading, labels, row_label, number, labels, number == NUMBER, nameless)
    return tuple(labels), grid.words(), grid.faults


def ppu_mode(reading: Reading, match: re.Match[str]) -> None:
    """Read `(EnabledP2P CE WRITE Unidirectional)` and the table, which begins on this line or on the next line."""
    line, rest = reading.at + 1, match["rest"].strip()
    reading.at += 1
    if not rest and reading.at < len(reading.lines):
        rest = reading.line().strip()
        if PPU_HEAD.match(rest) or PPU_LATENCY.match(rest):
            reading.at += 1
    head, latency = PPU_HEAD.match(rest), PPU_LATENCY.match(rest)
    if not head and not latency:
        return
    found = ppu_cells(reading)
    if found is None:
        reading.add_problem(f"line {line}: the matrix has no columns")
        return
    labels, words, faults = found
    direction, peer = match["do"].lower(), match["peer"] == "En"
    engine, kernel, notes = engine_of(reading.command, match["engine"].lower(), labels[0].startswith("host"))
    cells = numbers(words, zero_applies=False)
    cells = transposed(cells) if direction == "read" else cells
    if latency and latency["clock"] == "CPU":
        add_enqueue(reading, "latency", cells, faults)
        return
    if head and head["ratio"]:
        reading.add_part("utilisation", Part("utilisation", "%", measured(cells)), prefixed("utilisation", faults))
        return
    both = bool(head) and (head["ways"] == "Bi" or "Bidirectional" in match[0])
    metric = "latency" if latency else "bidirectional" if both else "bandwidth"
    add_table(
        reading,
        PPU,
        metric=metric,
        direction=direction,
        engine=engine,
        kernel=kernel,
        peer=peer,
        faults=faults,
        size_bytes=LATENCY_BYTES if latency else int(head["bytes"]),
        rows=labels,
        columns=labels,
        cells=cells,
        line=line,
        transport="ipc" if labels[0].startswith("host") else "direct" if peer else "staged",
        notes=notes,
    )


def engine_of(command: str | None, printed: str, several: bool) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Returns (engine, kernel, notes).

    The command line determines the engine and the kernel. Missing options have the program's defaults.
    Without a command line, the engine of one process is the printed engine. The engine of several processes is unknown.
    printed: the engine in the header line. several: whether several processes ran.
    """
    if command is None or "p2pBandwidthLatencyTest" not in command:
        if several:
            return None, None, ("the engine is unknown: with several processes, only the command line contains it",)
        notes = ("the kernel is unknown: only the command line contains it",) if printed == "sm" else ()
        return printed, None, notes
    asked = dict(re.findall(r"--(\w+)=(\S+)", command))
    engine = "ce" if asked.get("p2p_type", "SM") == "CE" else "sm"
    kernel = KERNELS.get(asked.get("kernel", "bulkCopy")) if engine == "sm" else None
    differ = (f"the table contains {printed.upper()}, the command line {engine.upper()}: the command line is used",)
    return engine, kernel, differ if engine != printed else ()


def ppu_connectivity(reading: Reading, _: re.Match[str]) -> None:
    """Read the matrix of hops: the number of hops of the shortest path. 0 means that the pair has no path."""
    line = reading.at + 1
    reading.at += 1
    found = ppu_cells(reading, number=r"\d{1,3}")
    if found is None:
        return
    labels, words, faults = found
    hops = {pair: int(word) for pair, word in words.items() if word.isdigit()}
    reading.add_topology(PPU, Topology(labels, line, hops=hops, faults=prefixed("minPath", faults)))


def ppu_total(reading: Reading, match: re.Match[str]) -> None:
    """Read `Total:  31.10 s`, the end of a run."""
    if reading.runs and reading.runs[-1].program == PPU:
        reading.runs[-1].seconds = float(match[1])
        reading.runs[-1].last = reading.at + 1
    reading.end_run()
    reading.command = None
