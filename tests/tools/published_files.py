"""Writes config/references/published/*.yaml out of tests/data/documents: `python tests/tools/published_files.py`."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from linkmatrix.foreign import nccl, osu
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.table import Run, Table, Topology
from linkmatrix.foreign.to_record import extent
from linkmatrix.references.published import FOLDER, file_of

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = REPOSITORY / "tests" / "data" / "documents"
HEADING = re.compile(r"#+ (\d+) GPU to \1 GPU (latency|bandwidth)")
#: (one pair, what is measured) → OSU's test
OSU_TESTS = {
    (True, "latency"): "latency",
    (True, "bandwidth"): "bw",
    (False, "latency"): "multi_lat",
    (False, "bandwidth"): "mbw_mr",
}


@dataclass(frozen=True)
class System:
    """A published system. runs: which of the document's runs are of it. size: bytes that tables do not say, and why."""

    document: str
    what: str
    runs: Callable[[Run], bool] = lambda run: True
    size: int | None = None
    size_source: str = ""


def abci(letter: str, devices: int) -> Callable[[Run], bool]:
    """The runs of one of ABCI's two node types: columns of pages, and matrices of that many devices."""
    return lambda run: (
        run.software["column"].startswith(f"ComputeNode({letter})")
        if "column" in run.software
        else len(run.tables[0].rows) == devices
    )


#: Name → what it is. A colleague adds a system by adding a row, and its document to tests/data/documents.
SYSTEMS = {
    "ppu": System("000_ppu.txt", "8 T-Head PPU of one node, and 2 nodes with 2 each"),
    "abci:anode": System("001_abci.txt", "ABCI compute node (A), 8 NVIDIA A100", abci("A", 8)),
    "abci:vnode": System("001_abci.txt", "ABCI compute node (V), 4 NVIDIA V100", abci("V", 4)),
    "a100-roce": System("002_a100_roce.txt", "8 NVIDIA A100 of one node; two of them over 8 × 100 Gb/s RoCE"),
    "h800": System(
        "003_h800.txt",
        "8 NVIDIA H800",
        # the last tables of the page are examples of another machine
        lambda run: bool(run.devices),
        64 << 20,
        "the default of nvbandwidth 0.2, as its --help in the document says",
    ),
    "a800": System(
        "004_a800.txt", "8 NVIDIA A800-SXM4-80GB", size=160_000_000, size_source="40000000 integers, says the document"
    ),
}


def render(name: str, documents: Path = DOCUMENTS) -> str:
    """A system's file, out of its document."""
    system = SYSTEMS[name]
    content = (documents / system.document).read_bytes()
    text = content.decode()
    runs = [run for run in [*read_text(text), *of_pages(text)] if not run.tables or system.runs(run)]
    lines = [
        f"# {system.what}. Written by `python tests/tools/published_files.py`: do not edit. Rows are sources.",
        f"# {text.splitlines()[0]}",
        f"system: '{name}'",
        f"document: {{file: tests/data/documents/{system.document}, sha256: {hashlib.sha256(content).hexdigest()}}}",
    ]
    if system.size:
        lines.append(f"size_source: {system.size_source}")
    seen: set[tuple[int, tuple[str, ...]]] = set()
    lines.append("topologies:")
    for topology in (run.topology for run in runs if run.topology):
        if (topology.line, topology.labels) not in seen:
            seen.add((topology.line, topology.labels))
            lines += topology_lines(topology)
    lines.append("tables:")
    for run in runs:
        for tables in sweeps(run.tables):
            lines += table_lines(run, tables, system.size)
    lines += series_lines(text)
    return "\n".join(lines) + "\n"


def of_pages(text: str) -> list[Run]:
    """Tables of OSU's figures, sizes down: a run for each column, whose name ends with "Mem" of host memory."""
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


def sweeps(tables: list[Table]) -> Iterator[list[Table]]:
    """Tables that differ in their size only, together."""
    group: list[Table] = []
    for table in tables:
        if group and (table.testcase, table.rows, table.columns) != (
            group[-1].testcase,
            group[-1].rows,
            group[-1].columns,
        ):
            yield group
            group = []
        group.append(table)
    if group:
        yield group


def topology_lines(topology: Topology) -> Iterator[str]:
    """An entry of `topologies`: the words or numbers between devices."""
    yield f"- line: {topology.line}"
    yield f"  labels: [{', '.join(topology.labels)}]"
    for key in ("link_class", "hops", "peer_access"):
        known = getattr(topology, key)
        if known:
            yield f"  {key}:"
            for row in topology.labels:
                cells = [plain(known.get((row, column))) for column in topology.labels]
                yield f"  - [{', '.join(cells)}]"


def table_lines(run: Run, tables: list[Table], size: int | None) -> Iterator[str]:
    """Entries of `tables`: the values, then each part, of one size or of several."""
    first = tables[0]
    grids = [("", first.quantity, first.unit, [table.cells for table in tables])]
    grids += [
        (name, part.title, part.unit, [table.parts[name].cells for table in tables])
        for name, part in first.parts.items()
    ]
    for name, title, unit, cells in grids:
        yield f"- testcase: {first.testcase}"
        if name:
            yield f"  part: {name}"
        yield f"  quantity: '{title}'"
        yield f"  unit: '{unit}'"
        yield f"  lines: [{first.line}, {tables[-1].line}]"
        if first.local_copy and unit == "GB/s":
            yield "  diagonal: half of what was printed, a byte read and written counted once"
        if run.command:
            yield f"  command: {yaml.safe_dump(run.command, width=10**6).splitlines()[0]}"
        yield f"  rows: [{', '.join(first.rows)}]"
        yield f"  columns: [{', '.join(first.columns)}]"
        if run.program in nccl.PROGRAMS:
            ran_on = extent(run)
            yield f"  nodes: {plain(ran_on.nodes)}"
            yield f"  ranks: {plain(ran_on.ranks)}"
        if len(tables) > 1:
            yield "  sizes:"
            for table, values in zip(tables, cells, strict=True):
                numbers = ", ".join(plain(values.get((row, column))) for row in table.rows for column in table.columns)
                yield f"    {table.size_bytes}: [{numbers}]"
            continue
        given = size if first.size_bytes is None and unit == "GB/s" else first.size_bytes
        yield f"  size_bytes: {plain(given)}"
        yield "  values:"
        for row in first.rows:
            yield f"  - [{', '.join(plain(cells[0].get((row, column))) for column in first.columns)}]"


def series_lines(text: str) -> Iterator[str]:
    """Figures by number of devices: `devices 1 2 3 …` with a line of numbers under it."""
    lines = text.splitlines()
    for at, line in enumerate(lines[:-1]):
        words = line.split()
        found = re.fullmatch(r"average efficiency((?: \d+(?:\.\d+)?)+)", lines[at + 1].strip())
        if words[:1] == ["devices"] and found and len(words) - 1 == len(found[1].split()):
            yield "series:"
            yield "- name: nbody_average_efficiency"
            yield "  testcase: nbody_float_strong"
            yield "  bodies_above: 50000  # says the document: 'average efficiency of nbodies>50000'"
            yield f"  lines: [{at + 2}, {at + 2}]"
            yield f"  devices: {{{', '.join(f'{x}: {y}' for x, y in zip(words[1:], found[1].split(), strict=True))}}}"


def plain(value: Any) -> str:
    """A value in YAML; a cell without a number is null."""
    if value is None or (isinstance(value, str) and value in ("not-run", "no-peer-access", "error")):
        return "null"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def main() -> int:
    """Writes all files again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in SYSTEMS:
        file_of(name).write_text(render(name), encoding="utf-8")
        print(file_of(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
