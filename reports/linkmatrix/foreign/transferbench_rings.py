"""Reads TransferBench's preset `nicrings`: each network adapter sends to the same adapter of the next rank.

All transfers run concurrently. A row is the sending rank. A column is a ring: an adapter and its nearest memory. All
ranks of a ring use the same adapter and memory. In the source code (NicRings), the rank of the row is the source, and
the next rank is the destination.
"""

import re

from .grid import Grid, numbers, prefixed, read_grid
from .table import BLANK, Reading, Table
from .transferbench import PROGRAM

HEAD = re.compile(r"^\s*NIC Rings benchmark\s*$")
FILLER = re.compile(r"^\s*=*\s*$")
RINGS = re.compile(
    r"^\s*(?P<rings>\d{1,6}) parallel RDMA-(?P<do>read|write) rings\(s\) using [\w -]+ memory"
    r" across (?P<ranks>\d{1,6}) ranks\s*$"
)
BYTES = re.compile(r"^\s*\d+ queue pairs per NIC\.\s+(\d{1,18}) bytes per Transfer\.\s+All numbers are GB/s\s*$")
RULE = re.compile(r"^[\s┼-]*$")
RANK = re.compile(r"(\d{1,6}) ([A-Za-z0-9][\w.-]*)")
MEMORY, ADAPTER = re.compile(r"(GPU|CPU) \d{1,4}"), re.compile(r"[A-Za-z0-9][\w.-]*")


def fields(line: str) -> list[str]:
    """The texts between the vertical lines of a table row."""
    return [" ".join(field.split()) for field in line.split("│")]


def row_words(line: str) -> list[str] | None:
    """The words of a row: [rank0, 31.32, 31.32] for `0  node1 │ 31.32 │ 31.32`; None for a horizontal line."""
    if RULE.match(line):
        return None
    first, *rest = fields(line)
    match = RANK.fullmatch(first)
    return [f"rank{int(match[1])}", *rest] if match else []


def rings(reading: Reading, _: re.Match[str]) -> None:
    """Read a table of rings: title, settings, three header lines (memory, adapter number, adapter name), rows."""
    line, begin = reading.at + 1, reading.at + 1
    reading.at += 1
    reading.skip(FILLER)
    settings = RINGS.match(reading.line())
    reading.at += 1
    size = BYTES.match(reading.line())
    reading.at += 1
    reading.skip(BLANK)
    heads = [fields(text) for text in reading.lines[reading.at : reading.at + 3]]
    columns = column_labels(heads)
    if settings is None or size is None or not columns or len(columns) != int(settings["rings"]):
        reading.at = begin
        reading.add_problem(f"line {line}: TransferBench's table of rings has an unknown head: the table is ignored")
        return
    reading.at += 3
    rows = [f"rank{rank}" for rank in range(min(int(settings["ranks"]), len(reading.lines)))]
    first = reading.at
    grid = read_grid(
        reading,
        [*columns, "TOTAL"],
        lambda word, _: word if word.startswith("rank") else None,
        r"\d+\.\d\d",
        rows,
        split=row_words,
    )
    check_totals(grid)
    found = (RANK.fullmatch(fields(text)[0]) for text in reading.lines[first : reading.at])
    named = ", ".join(f"rank{match[1]} {match[2]}" for match in found if match)
    name = f"transferbench_nicrings_{settings['do']}"
    gpus = all(field.startswith("GPU") for field in heads[0][1:-1])
    reading.add(
        PROGRAM,
        Table(
            testcase=name if gpus else f"{name}_host",
            quantity="bandwidth, all rings concurrently",
            metric="bandwidth",
            size_bytes=int(size[1]),
            rows=tuple(rows),
            columns=tuple(columns),
            cells=numbers({pair: word for pair, word in grid.words().items() if pair[1] in columns}),
            line=line,
            direction=settings["do"],
            engine="rdma",
            memory="device" if gpus else "host",
            transport="rdma",
            notes=(
                "each rank sends to the next rank, the last to the first; both ranks use the adapter of the column",
                named[:4000],
            ),
            faults=prefixed(name, grid.faults),
        ),
    )


def check_totals(grid: Grid) -> None:
    """Remove rows whose numbers do not add up to the printed sum TOTAL, because a digit is missing."""
    for row, words in list(grid.rows.items()):
        marked = [word for word in words if not re.fullmatch(r"[\d.]+", word)]
        if marked or abs(sum(map(float, words[:-1])) - float(words[-1])) > 0.005 * (len(words) + 1):
            grid.faults.append(f"row {row} has a sum other than its TOTAL: the row is ignored")
            del grid.rows[row]


def column_labels(heads: list[list[str]]) -> list[str]:
    """The label of each ring, such as gpu0:bnxt_re0. [] if the three header lines contradict each other."""
    if len(heads) < 3 or len({len(fields) for fields in heads}) != 1 or len(heads[0]) < 3:
        return []
    memories, numbered, named = heads
    ends = [(head[0], head[-1]) for head in heads]
    middle = list(zip(memories[1:-1], numbered[1:-1], named[1:-1], strict=True))
    known = all(
        MEMORY.fullmatch(memory) and re.fullmatch(r"NIC \d+", number) and ADAPTER.fullmatch(name)
        for memory, number, name in middle
    )
    if ends != [("", ""), ("", "TOTAL"), ("Rank Name", "(GB/s)")] or not known:
        return []
    labels = [f"{memory[:3].lower()}{int(memory[4:])}:{name}" for memory, _, name in middle]
    return labels if len(set(labels)) == len(labels) else []
