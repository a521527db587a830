"""Reads TransferBench's preset `nicp2p`: RDMA between all network adapters of all ranks, in a table with a frame.

Rows are sources, as in the other presets. The program does not print the size of a transfer.
"""

import re

from .grid import numbers, prefixed, read_grid
from .table import Reading, Table
from .transferbench import PROGRAM

HEAD = re.compile(r"^\s*Unidirectional copy peak bandwidth GB/s \(NIC RDMA Using Nearest Device\)\s*$")
FRAME = re.compile(r"^\s*│\s*SRC(?:\+EXE)?\\DST")
FILLER = re.compile(r"^\s*(?:Completed \d+/\d+ pairs .*|┌[-─┬]*┐)?\s*$")
SEPARATOR = re.compile(r"^\s*├[-─┼]*┤\s*$")
CORNERS = {"SRC+EXE\\DST": "write", "SRC\\DST+EXE": "read"}
RANK = re.compile(r"Rank (\d{1,6})")
DEVICE = re.compile(r"(?P<nic>[A-Za-z0-9][\w.-]*)\s+(?P<memory>GPU|CPU) \d+")
UNKNOWN = "unknown"


def fields(line: str) -> list[str]:
    """The texts between the vertical lines of a table row.

    [] if the text does not start and end with a vertical line.
    """
    text = line.strip()
    whole = len(text) > 1 and text[0] == text[-1] == "│"
    return [" ".join(field.split()) for field in text[1:-1].split("│")] if whole else []


def next_row(reading: Reading) -> list[str]:
    """Read the next line of a table with a frame. Returns the texts between its vertical lines."""
    reading.skip(SEPARATOR)
    reading.at += 1
    return fields(reading.lines[reading.at - 1]) if reading.at <= len(reading.lines) else []


def table(reading: Reading, _: re.Match[str]) -> None:
    """Read a table: its header line, three lines with the rank, adapter and memory of each column, and the rows."""
    line = reading.at + 1
    reading.at += 1
    reading.skip(FILLER)
    begin = reading.at
    ranks, nics, memories = next_row(reading), next_row(reading), next_row(reading)
    columns = column_labels(ranks, nics, memories)
    if not columns:
        reading.at = begin
        reading.add_problem(f"line {line}: TransferBench's table of adapters has unknown columns: the table is ignored")
        return
    rank = UNKNOWN
    sources: set[str] = set()

    def row_words(text: str) -> list[str] | None:
        """The words of a row: [rank0:bnxt_re0, 31.36, 31.31] for `│ Rank 00 │ bnxt_re0 GPU 00 │ 31.36 31.31 │`."""
        nonlocal rank
        if SEPARATOR.match(text):
            rank = UNKNOWN  # the next row names its rank
            return None
        found = fields(text)
        if len(found) != len(ranks):
            return [UNKNOWN] if "│" in text else []
        named, device = RANK.fullmatch(found[0]), DEVICE.fullmatch(found[1])
        rank = f"rank{int(named[1])}" if named else rank if not found[0] else UNKNOWN
        if device is None:
            return [UNKNOWN]
        sources.add(device["memory"])
        return [f"{rank}:{device['nic']}", *" ".join(found[2:]).split()]

    grid = read_grid(reading, columns, lambda word, _: word, r"\d+\.\d\d", columns, split=row_words)
    direction = CORNERS[ranks[0]]
    ends = sources | {word for word in " ".join(memories[2:]).split() if not word.isdigit()}
    name = f"transferbench_nicp2p_{direction}" + ("" if ends == {"GPU"} else "_host")
    cells = numbers(grid.words())
    reading.add(
        PROGRAM,
        Table(
            testcase=name,
            quantity="bandwidth",
            metric="bandwidth",
            size_bytes=None,
            rows=tuple(columns),
            columns=tuple(columns),
            cells=cells,
            line=line,
            direction=direction,
            engine="rdma",
            memory="device" if ends == {"GPU"} else "host",
            transport="rdma",
            local_copy=any(row == column for row, column in cells),
            notes=(
                "disjoint pairs of adapters may have been measured concurrently (NIC_PARALLEL_LEVEL, PARALLEL_NODE)",
            ),
            faults=prefixed(name, grid.faults),
        ),
    )


def column_labels(ranks: list[str], nics: list[str], memories: list[str]) -> list[str]:
    """The label of each column, such as rank0:bnxt_re0. [] if the three header lines contradict each other."""
    named = [RANK.fullmatch(word) for word in ranks[2:]]
    counted = [int(match[1]) for match in named if match] == list(range(len(ranks) - 2))
    same = len(ranks) == len(nics) == len(memories) > 2
    titles = (nics[:2], memories[:2]) == (["", "NIC Device"], ["", "Mem Device"])
    if not counted or not same or not titles or ranks[0] not in CORNERS or ranks[1]:
        return []
    found: list[str] = []
    for rank, (names, memory) in enumerate(zip(nics[2:], memories[2:], strict=True)):
        if not re.fullmatch(r"((GPU|CPU) \d+ ?)+", memory) or len(memory.split()) != 2 * len(names.split()):
            return []
        found += [f"rank{rank}:{name}" for name in names.split()]
    return found if len(set(found)) == len(found) else []
