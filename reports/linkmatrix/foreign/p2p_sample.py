"""p2pBandwidthLatencyTest of the CUDA samples, and of T-Head's PCCL tools for PPU, in one process and in several.

CUDA (p2pBandwidthLatencyTest.cu): cell (i, j) is a copy from i to j for writes, from j to i for reads (`--p2p_read`);
both ways at once it is the sum. The diagonal is a copy inside a device, whose bytes are counted twice: here once.

PPU: the row is the root device, which writes to the column or reads from it. Which kernel copied stands in the command
line only, and with several processes the head line says CE whatever copied: where a command line is there, it counts.
"""

import re

from .grid import numbers, read_grid, turned
from .table import Part, Reading, Table, Topology

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
LATENCY_BYTES = 16  # four integers, in both programs


def name_of(metric: str, direction: str, engine: str | None, kernel: str | None, peer: bool) -> str:
    """The test case that linkmatrix has for these axes; it has none for an engine or a kernel that is not known."""
    stem = {"bandwidth": "memcpy", "bidirectional": "bidirectional_memcpy", "latency": "copy_latency"}[metric]
    by = {"ce": "ce", "sm": OF_KERNEL[kernel], None: "unknown_engine"}[engine]
    return f"device_to_device_{stem}_{direction}_{by}{'' if peer else '_peer_off'}"


def cuda_start(reading: Reading, _: re.Match[str]) -> None:
    """The first line of the sample: a run begins."""
    reading.end_run()
    reading.facts(CUDA)
    reading.at += 1


def cuda_device(reading: Reading, match: re.Match[str]) -> None:
    """`Device: 0, NVIDIA A800-SXM4-80GB, pciBusID: 10, …`."""
    reading.facts(CUDA).devices[int(match[1])] = match[2]
    reading.at += 1


def cuda_labels(reading: Reading) -> list[str] | None:
    """The columns under a head line, after `D\\D`, `GPU` or `CPU`; None where there are none."""
    words = reading.line().split()
    if len(words) < 2 or words[0] not in ("D\\D", "GPU", "CPU"):
        return None
    return words[1:] if words[1:] == [str(number) for number in range(len(words) - 1)] else None


def cuda_cells(reading: Reading, number: str = NUMBER):
    """(labels, words, faults) of the table at the reading position; None where there is none."""
    columns = cuda_labels(reading)
    if columns is None:
        return None
    reading.at += 1
    grid = read_grid(
        reading, columns, lambda word, _: word if re.fullmatch(r"\d{1,5}", word) else None, number, columns
    )
    words = {(f"gpu{row}", f"gpu{column}"): word for (row, column), word in grid.words().items()}
    return tuple(f"gpu{column}" for column in columns), words, grid.faults


def cuda_table(reading: Reading, match: re.Match[str]) -> None:
    """A matrix of bandwidth, or of latency with the times on the CPU under those on the GPU."""
    line, latency = reading.at + 1, "ways" not in match.re.groupindex
    metric = "latency" if latency else {"Uni": "bandwidth", "Bi": "bidirectional"}[match["ways"]]
    direction, peer = (match["do"] or "Write").lower(), match["peer"] == "En"
    reading.at += 1
    found = cuda_cells(reading)
    if found is None:
        reading.left(f"line {line}: the matrix has no columns")
        return
    labels, words, faults = found
    cells = numbers(words)
    engine, notes = sample_engine(reading.command)
    if not latency:
        cells = {pair: halved(pair, value) for pair, value in cells.items()}
        notes.append("the diagonal is half of what was printed: the program counts a byte read and written as two")
    name = name_of(metric, direction, engine, None, peer)
    reading.add(
        CUDA,
        Table(
            testcase=name,
            quantity={"latency": "copy latency", "bandwidth": "bandwidth"}.get(metric, "sum of both directions"),
            metric=metric,
            unit="us" if latency else "GB/s",
            size_bytes=LATENCY_BYTES if latency else None,
            rows=labels,
            columns=labels,
            cells=turned(cells) if direction == "read" else cells,
            line=line,
            direction=direction,
            engine=engine,
            transport="direct" if peer else "staged",
            peer_access="on" if peer else "off",
            local_copy=True,
            notes=tuple(notes),
            faults=tuple(f"{name}: {fault}" for fault in faults),
        ),
    )
    if latency:
        cuda_enqueue(reading, name, direction)


def sample_engine(command: str | None) -> tuple[str, list[str]]:
    """(engine, notes): the command line contains it, or it is the default of the program."""
    if command is not None and "p2pBandwidthLatencyTest" in command:
        return "sm" if "--sm_copy" in command.split() else "ce", []
    return "ce", ["the program does not say whether copy engines copied or kernels (--sm_copy): taken for copy engines"]


def halved(pair: tuple[str, str], value: float | str) -> float | str:
    """A copy inside a device, with its bytes counted once."""
    return float(f"{value / 2:.9g}") if pair[0] == pair[1] and not isinstance(value, str) else value


def cuda_enqueue(reading: Reading, name: str, direction: str) -> None:
    """The second table of a latency, headed `CPU`: the time on the host."""
    at = reading.at
    while at < len(reading.lines) and not reading.lines[at].strip():
        at += 1
    if at == len(reading.lines) or reading.lines[at].split()[0] != "CPU":
        return
    reading.at = at
    found = cuda_cells(reading)
    if found is not None:
        cells = numbers(found[1])
        add_enqueue(reading, name, turned(cells) if direction == "read" else cells, found[2])


def add_enqueue(reading: Reading, name: str, cells: dict, faults: list[str]) -> None:
    """Host times as a part of the latency above them."""
    measured = {pair: value for pair, value in cells.items() if not isinstance(value, str)}
    told = tuple(f"{name}, time on the CPU: {fault}" for fault in faults)
    reading.add_part("enqueue", Part("enqueue latency", "us", measured), told)


def cuda_connectivity(reading: Reading, _: re.Match[str]) -> None:
    """1 where a device has access to the other's memory."""
    line = reading.at + 1
    reading.at += 1
    found = cuda_cells(reading, number="[01]")
    if found is None:
        return
    labels, words, faults = found
    access = {pair: word == "1" for pair, word in words.items() if pair[0] != pair[1]}
    told = tuple(f"connectivity: {fault}" for fault in faults)
    reading.add_topology(CUDA, Topology(labels, line, peer_access=access, faults=told))


def ppu_labels(words: list[str]) -> list[str] | None:
    """The labels of a line of columns; None where it is none."""
    found = [PPU_COLUMN.match(word) for word in words]
    if not found or not all(found):
        return None
    labels = [(f"host{match[1]}." if match[1] else "") + f"gpu{match[2]}" for match in found if match]
    return labels if len(set(labels)) == len(labels) else None


def ppu_cells(reading: Reading, number: str = NUMBER):
    """(labels, words, faults) of the table at the reading position; None where there is none."""
    labels = ppu_labels(reading.line().split())
    if labels is None:
        return None
    reading.at += 1
    several = labels[0].startswith("host")
    nameless: list[str] = []

    def row_label(word: str, row: int) -> str | None:
        if not PPU_COLUMN.match(word):
            return None
        # with several processes the rows of a latency are DEV0, DEV0, …: the device of each process, in order
        if several and ":" not in word:
            nameless.append(word)
            return labels[row] if row < len(labels) else f"row {row}"
        return (ppu_labels([word]) or [word])[0]

    grid = read_grid(reading, labels, row_label, number, labels, number == NUMBER, nameless)
    return tuple(labels), grid.words(), grid.faults


def ppu_mode(reading: Reading, match: re.Match[str]) -> None:
    """`(EnabledP2P CE WRITE Unidirectional)`, and the table whose head is on this line or the next."""
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
        reading.left(f"line {line}: the matrix has no columns")
        return
    labels, words, faults = found
    direction, peer = match["do"].lower(), match["peer"] == "En"
    engine, kernel, notes = engine_of(reading.command, match["engine"].lower(), labels[0].startswith("host"))
    cells = numbers(words, zero_applies=False)
    cells = turned(cells) if direction == "read" else cells
    if latency and latency["clock"] == "CPU":
        add_enqueue(reading, "latency", cells, faults)
        return
    if head and head["ratio"]:
        told = tuple(f"utilisation: {fault}" for fault in faults)
        share = {pair: value for pair, value in cells.items() if not isinstance(value, str)}
        reading.add_part("utilisation", Part("utilisation", "%", share), told)
        return
    both = bool(head) and (head["ways"] == "Bi" or "Bidirectional" in match[0])
    metric = "latency" if latency else "bidirectional" if both else "bandwidth"
    name = name_of(metric, direction, engine, kernel, peer)
    reading.add(
        PPU,
        Table(
            testcase=name,
            quantity={"latency": "copy latency", "bandwidth": "bandwidth"}.get(metric, "sum of both directions"),
            metric=metric,
            unit="us" if latency else "GB/s",
            size_bytes=LATENCY_BYTES if latency else int(head["bytes"]),
            rows=labels,
            columns=labels,
            cells=cells,
            line=line,
            direction=direction,
            engine=engine,
            kernel=kernel,
            transport="ipc" if labels[0].startswith("host") else "direct" if peer else "staged",
            peer_access="on" if peer else "off",
            notes=notes,
            faults=tuple(f"{name}: {fault}" for fault in faults),
        ),
    )


def engine_of(command: str | None, said: str, several: bool) -> tuple[str | None, str | None, tuple[str, ...]]:
    """(engine, kernel, notes) out of the command line, with the program's own defaults, or of the head line."""
    if command is None or "p2pBandwidthLatencyTest" not in command:
        if several:
            return None, None, ("the head line says CE whatever copied, and there is no command line",)
        notes = ("which kernel copied is not known: the text has no command line",) if said == "sm" else ()
        return said, None, notes
    asked = dict(re.findall(r"--(\w+)=(\S+)", command))
    engine = "ce" if asked.get("p2p_type", "SM") == "CE" else "sm"
    kernel = KERNELS.get(asked.get("kernel", "bulkCopy")) if engine == "sm" else None
    differ = (f"the table says {said.upper()}, the command line {engine.upper()}: the command line counts",)
    return engine, kernel, differ if engine != said else ()


def ppu_connectivity(reading: Reading, _: re.Match[str]) -> None:
    """The hops of the shortest path; 0: none."""
    line = reading.at + 1
    reading.at += 1
    found = ppu_cells(reading, number=r"\d{1,3}")
    if found is None:
        return
    labels, words, faults = found
    hops = {pair: int(word) for pair, word in words.items() if word.isdigit()}
    told = tuple(f"minPath: {fault}" for fault in faults)
    reading.add_topology(PPU, Topology(labels, line, hops=hops, faults=told))


def ppu_total(reading: Reading, match: re.Match[str]) -> None:
    """`Total:  31.10 s`: a run ends."""
    if reading.runs and reading.runs[-1].program == PPU:
        reading.runs[-1].seconds = float(match[1])
        reading.runs[-1].last = reading.at + 1
    reading.end_run()
    reading.command = None
    reading.at += 1
