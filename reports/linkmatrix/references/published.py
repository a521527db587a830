"""Published systems: outputs of programs that other sites published, for comparison with a run.

config/references/published contains the unchanged outputs and command lines. The first line of each document contains
its source. No verdict depends on these figures. The references in config/references/abci.yaml are for runs on the same
system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .. import suite
from ..errors import BadInput
from ..record.names import Extent, Pair

if TYPE_CHECKING:
    from ..foreign.table import Run

FOLDER = suite.REFERENCES / "published"
HEADING = re.compile(r"#+ (\d+) GPU to \1 GPU (latency|bandwidth)")
EFFICIENCY = re.compile(r"^devices((?: \d+)+)\naverage efficiency((?: \d+(?:\.\d+)?)+)$", re.MULTILINE)
#: (one pair, measured quantity) → OSU's test
OSU_TESTS = {
    (True, "latency"): "latency",
    (True, "bandwidth"): "bw",
    (False, "latency"): "multi_lat",
    (False, "bandwidth"): "mbw_mr",
}


class Printed(NamedTuple):
    """A published matrix of one size of a test case.

    * part: the title of a further matrix of the test case; "" for the first matrix
    * size_bytes: None if unknown
    * extent: the numbers of nodes and ranks of a collective; None for other test cases
    """

    testcase: str
    part: str
    unit: str
    size_bytes: int | None
    cells: Mapping[Pair, float]
    extent: Extent | None


class Series(NamedTuple):
    """The published efficiency of a simulation.

    * bodies_above: the efficiency is the mean over all larger numbers of bodies
    * devices: {number of devices: mean efficiency}
    """

    testcase: str
    bodies_above: int
    devices: Mapping[int, float]


class Published(NamedTuple):
    """The figures of a published system. classes: {pair of endpoints: link class}."""

    classes: Mapping[Pair, str]
    tables: list[Printed]
    series: list[Series]


@dataclass(frozen=True)
class System:
    """A published system.

    * document: the name of the file in FOLDER
    * runs: function that returns whether a run in the document belongs to the system
    * size: the bytes per copy, for tables that do not contain the size
    """

    document: str
    runs: Callable[[Run], bool] = lambda run: True
    size: int | None = None


def abci_nodes(letter: str, devices: int) -> Callable[[Run], bool]:
    """Returns a function that returns whether a run is on one of the two node types of ABCI.

    * letter: the node type in the heading of a column, "A" or "V"
    * devices: the number of devices per node, for tables without such a heading
    """
    return lambda run: (
        run.software["column"].startswith(f"ComputeNode({letter})")
        if "column" in run.software
        else len(run.tables[0].rows) == devices
    )


#: Add a row here and a document to FOLDER to add a system.
SYSTEMS = {
    "ppu": System("000_ppu.txt"),
    "abci:anode": System("001_abci.txt", abci_nodes("A", 8)),
    "abci:vnode": System("001_abci.txt", abci_nodes("V", 4)),
    "a100-roce": System("002_a100_roce.txt"),
    # the last tables of the page are examples of another machine; the size is the default of nvbandwidth 0.2
    "h800": System("003_h800.txt", lambda run: bool(run.devices), 64 << 20),
    "a800": System("004_a800.txt", size=160_000_000),  # "40000000 integers"
}
NAMES = tuple(SYSTEMS)


def load(name: str) -> Published:
    """The figures of a system in SYSTEMS. Raises BadInput for an unknown name or an unreadable document."""
    from ..foreign import nccl, scan, to_record

    if name not in SYSTEMS:
        raise BadInput(f"there is no published system '{name}' (known: {', '.join(NAMES)})")
    system = SYSTEMS[name]
    try:
        text = (FOLDER / system.document).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"the document of the system '{name}' cannot be read, install linkmatrix again: {error}"
        ) from None
    runs = [run for run in [*scan.read_text(text), *page_runs(text)] if not run.tables or system.runs(run)]
    classes = {pair: word for run in runs if run.topology for pair, word in run.topology.link_class.items() if word}
    tables = [
        printed
        for run in runs
        for printed in printed_tables(
            run, system, to_record.collective_extent(run) if run.program in nccl.PROGRAMS else None
        )
    ]
    return Published(classes, tables, list(read_series(text)))


def printed_tables(run: Run, system: System, extent: Extent | None) -> Iterator[Printed]:
    """Yields each table of a run, and the additional matrices of the table. Cells without a number are left out."""
    for table in run.tables:
        grids = [("", table.unit, table.cells), *((name, part.unit, part.cells) for name, part in table.parts.items())]
        for name, unit, cells in grids:
            size = system.size if table.size_bytes is None and unit == "GB/s" else table.size_bytes
            numbers = {
                (row, column): value
                for row in table.rows
                for column in table.columns
                if isinstance(value := cells.get((row, column)), (int, float))
            }
            yield Printed(table.testcase, name, unit, size, numbers, extent)


def page_runs(text: str) -> list[Run]:
    """Reads the OSU tables of a document. Each column becomes a run. Each line of a table has one size.

    The heading of a column for host memory ends with "Mem".
    """
    from ..foreign import osu
    from ..foreign.table import Run

    found: list[Run] = []
    runs: list[Run] = []
    test, pairs = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        words = [word.strip() for word in line.strip("|").split("|")]
        if heading := HEADING.match(line):
            test, pairs = OSU_TESTS[heading[1] == "1", heading[2]], int(heading[1])
        elif words[0] == "Size (B)":
            runs = [Run(osu.PROGRAM, software={"column": column}) for column in words[1:]]
            found += runs
        elif line.startswith("|") and words[0].isdigit():
            for run, word in zip(runs, words[1:], strict=True):
                buffers = "hh" if run.software["column"].endswith(" Mem") else "dd"
                run.tables.append(osu.size_table(test, buffers, pairs, int(words[0]), float(word), number))
    return found


def read_series(text: str) -> Iterator[Series]:
    """Yields the efficiency series of a document.

    A series has two lines: `devices 1 2 3 …`, then `average efficiency` with a number per device count.
    """
    for match in EFFICIENCY.finditer(text):
        devices, values = match[1].split(), match[2].split()
        if len(devices) == len(values):  # the document: "average efficiency of nbodies>50000"
            numbers = {int(count): float(value) for count, value in zip(devices, values, strict=True)}
            yield Series("nbody_float_strong", 50000, numbers)
