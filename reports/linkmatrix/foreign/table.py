"""Data types that the readers of other programs produce: tables and topologies, grouped into runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..record.names import Pair

MOST_NOTES = 50  # per run: a text full of broken rows needs no more
BLANK = re.compile(r"\s*$")  # an empty line


@dataclass(frozen=True)
class Part:
    """An additional matrix of a table, with the same rows and columns. unit: GB/s, us or %."""

    title: str
    unit: str
    cells: Mapping[Pair, float]


@dataclass(frozen=True)
class Table:
    """One matrix. Its fields are the fields of an entry of `results` in a record (record.schema.json).

    Rows are sources.
    metric: "bandwidth", "bidirectional" or "latency".
    cells: {(row, column): number in `unit`, or a status}. A cell that the text does not contain is missing.
    size_bytes: None if the program does not print the size.
    faults: sentences about ignored rows.
    line: the number of the header line, counted from 1.
    """

    testcase: str
    quantity: str
    metric: str
    size_bytes: int | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[Pair, float | str]
    line: int
    direction: str = "write"
    engine: str | None = "ce"
    kernel: str | None = None
    memory: str | None = "device"
    transport: str = "direct"
    peer_access: str | None = None
    local_copy: bool = False
    samples: int = 1
    verified: bool | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The unit of the cells: us for latencies, else GB/s."""
        return "us" if self.metric == "latency" else "GB/s"

    @property
    def key(self) -> tuple[str, int | None]:
        """Returns (test case, size). A run contains each key at most once."""
        return self.testcase, self.size_bytes


@dataclass(frozen=True)
class Topology:
    """The connections between devices. Each mapping contains the pairs that the text contains.

    link_class: {pair: name of the class in nvidia-smi}.
    links: {pair: number of bonded links}.
    peer_access: {pair: whether the row's device can access the column's memory}.
    hops: {pair: number of hops; 0 without a path}.
    numa: {device: NUMA node}.
    nic_class: {(device, NIC): link class}.
    """

    labels: tuple[str, ...]
    line: int
    link_class: Mapping[Pair, str] = field(default_factory=dict)
    links: Mapping[Pair, int] = field(default_factory=dict)
    peer_access: Mapping[Pair, bool] = field(default_factory=dict)
    hops: Mapping[Pair, int] = field(default_factory=dict)
    numa: Mapping[str, int] = field(default_factory=dict)
    nic_class: Mapping[Pair, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def joined(self, other: Topology) -> Topology:
        """The topology with the facts of both topologies. If two facts differ, `other` has priority."""
        both = {
            name: {**getattr(self, name), **getattr(other, name)}
            for name in ("link_class", "links", "peer_access", "hops", "numa", "nic_class")
        }
        return replace(self, **both, faults=self.faults + other.faults)


@dataclass
class Run:
    """One run of one program.

    first, last: the numbers of the first and the last line of the run. The first line is the header of the first table.
    devices: {index: model}.
    ranks: {rank of a collective: (host, number of the device on the host)}.
    states: {label of a device: its state}.
    models: {label of a device: its model}.
    known: a topology found earlier in the same text.
    problems: sentences about missing data.
    wrong: sentences about wrong data.
    notes: other remarks for the user.
    node: the host; "" if the text does not name the host.
    processes: {rank: (host, device, model)}.
    settings: values above a table. Only the program's reader uses the settings.
    reported: whether the program reports verdicts.
    findings: findings in the format of `imported.findings` in a record.
    """

    program: str
    tables: list[Table] = field(default_factory=list)
    topology: Topology | None = None
    known: Topology | None = None
    software: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    devices: dict[int, str] = field(default_factory=dict)
    ranks: dict[int, tuple[str, int]] = field(default_factory=dict)
    states: dict[str, dict[str, str]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    findings: list[dict[str, str]] = field(default_factory=list)
    reported: bool = False
    processes: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    node: str = ""
    command: str | None = None
    seconds: float = 0.0
    first: int = 0
    last: int = 0
    problems: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_result(self) -> bool:
        """Whether the run has content: a table, a topology, device states, wrong data, or the program's findings."""
        return bool(self.tables or self.topology or self.states or self.reported or self.wrong)

    @property
    def matrices(self) -> int:
        """The number of matrices: tables, parts of tables, and the topology."""
        found = sum(1 + len(table.parts) for table in self.tables)
        return found + (self.topology is not None)

    @property
    def faults(self) -> list[str]:
        """The sentences about missing, ignored or wrong data, at most MOST_NOTES."""
        found = self.wrong + self.problems + [fault for table in self.tables for fault in table.faults]
        return (found + list(self.topology.faults if self.topology else ()))[:MOST_NOTES]


class Reading:
    """The state of a reader: the text, the reading position, and the completed and current runs.

    current: the run that receives the next facts and tables. `runs` contains the current run after its first table.
    cut: whether the text lacks a line break at its end. The last line may then be incomplete.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.cut = bool(text) and text[-1] not in "\r\n"
        self.at = 0
        self.runs: list[Run] = []
        self.command: str | None = None
        self.waived = ""  # a sentence on a test case that the program skipped on purpose
        self.fork = ""  # the name of a fork of nvbandwidth that prints the same layout
        self.known: Topology | None = None
        self.current: Run = Run("")
        self._open = False
        self.early_problems: list[str] = []

    def line(self) -> str:
        """The line at the reading position; "" after the end."""
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def skip(self, *patterns: re.Pattern[str]) -> None:
        """Move the reading position behind all lines that match one of the patterns. Stops at the first other line."""
        while self.at < len(self.lines) and any(pattern.match(self.lines[self.at]) for pattern in patterns):
            self.at += 1

    def may_be_cut(self) -> bool:
        """Whether the line at the reading position may be incomplete, because the text ends without a line break."""
        return self.cut and self.at == len(self.lines) - 1

    def end_run(self) -> None:
        """Finish the current run. The next facts and tables start another run."""
        self.current, self._open = Run(""), False

    def add_problem(self, sentence: str) -> None:
        """Record a sentence about text that resembles a table and is unreadable.

        The problem belongs to the current run. Before the first table of a run, the problem belongs to the next run.
        """
        (self.current.problems if self._open else self.early_problems).append(sentence)

    def facts(self, program: str) -> Run:
        """The run that receives the facts above a table. Starts a new run if the current run already has tables."""
        if self._open or self.current.program not in ("", program):
            self.end_run()
        self.current.program = program
        return self.current

    def run(self, program: str, line: int) -> Run:
        """The run that receives the tables of `program`. Starts a new run if the current run is of another program.

        line: the number of the first line of a new run.
        """
        if not self._open or self.current.program != program:
            if self._open or self.current.program not in ("", program):
                self.current = Run("")
            self.current.program, self.current.first, self.current.command = program, line, self.command
            self.current.problems, self.early_problems = [*self.early_problems, *self.current.problems], []
            self.runs.append(self.current)
            self._open = True
        return self.current

    def add(self, program: str, table: Table) -> None:
        """Add a table to the current run.

        A new run starts if the test case is repeated, the devices differ, or the command line differs.
        """
        if self._open and self.current.program == program and self.current.tables:
            run, others = self.current, self.current.tables
            new_devices = is_square(table) and any(is_square(other) and other.rows != table.rows for other in others)
            if new_devices or table.key in [other.key for other in others] or run.command != self.command:
                self.end_run()
        run = self.run(program, table.line)
        if not run.tables:
            run.command, run.known = self.command, self.known
        run.tables.append(table)
        run.last = max(self.at, table.line)  # a table of a single line is added before the position moves

    def add_part(self, name: str, part: Part, faults: tuple[str, ...] = ()) -> bool:
        """Add a matrix to the last table, as its part `name`.

        Returns False if the last table already has this part, or does not have the cells of the matrix.
        """
        tables = self.current.tables if self._open else []
        if not tables or name in tables[-1].parts:
            return False
        known = {(row, column) for row in tables[-1].rows for column in tables[-1].columns}
        if not set(part.cells) <= known:
            return False
        last = tables[-1]
        tables[-1] = replace(last, parts={**last.parts, name: part}, faults=last.faults + faults)
        self.current.last = self.at
        return True

    def add_incomplete_row(self) -> None:
        """Add a fault to the last table: the row at the reading position is incomplete."""
        tables = self.runs[-1].tables
        fault = f"line {self.at + 1}: '{self.line().strip()[:60]}' is an incomplete row: the row is ignored"
        tables[-1] = replace(tables[-1], faults=(*tables[-1].faults, fault))

    def report_rows_below(self, row: re.Pattern[str], head: re.Pattern[str]) -> None:
        """Report the first row between the reading position and the next header line.

        Such a row belongs to the table above, but other lines, such as a warning of the launcher, precede the row.
        row, head: the patterns of a row and of a header line.
        """
        for number, line in enumerate(self.lines[self.at :], start=self.at + 1):
            if head.match(line):
                return
            if row.match(line):
                self.add_problem(
                    f"line {number}: '{line.strip()[:60]}' is a row without the head of its table: the row is ignored"
                )
                return

    def add_topology(self, program: str, topology: Topology) -> None:
        """Add a topology to the current run. Later runs in the text use the same link classes."""
        before = self.current.topology if self._open else None
        again = bool(before and before.link_class and topology.link_class)  # another node or another day
        if self._open and (self.current.tables or again):
            self.end_run()
        run = self.run(program, topology.line)
        run.topology = run.topology.joined(topology) if run.topology else topology
        run.last = self.at
        if topology.link_class:
            self.known = topology


def is_square(table: Table) -> bool:
    """Whether rows and columns of a table are the same GPUs."""
    return table.rows == table.columns and table.memory == "device" and table.engine != "rdma"
