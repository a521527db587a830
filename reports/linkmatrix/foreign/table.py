"""What a reader of a foreign text hands over: tables, topologies and facts, grouped into the runs of programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..record.names import Pair

MOST_NOTES = 50  # of one run: a text of nothing but broken rows is no reason for more


@dataclass(frozen=True)
class Part:
    """A further matrix of a table's rows and columns: a title, a unit (GB/s, us, %) and numbers."""

    title: str
    unit: str
    cells: Mapping[Pair, float]


@dataclass(frozen=True)
class Table:
    """One matrix, rows = sources, as an entry of a record's `results` describes it (record.schema.json).

    cells: {(row, column): number in `unit`, or a status word}; what is not in it was not in the text.
    size_bytes: None where the program does not say. faults: sentences on rows that were not believed.
    line: of the head line, counted from 1.
    """

    testcase: str
    quantity: str
    metric: str
    unit: str
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
    def key(self) -> tuple[str, int | None]:
        """What a run has once: the test case in one size."""
        return self.testcase, self.size_bytes


@dataclass(frozen=True)
class Topology:
    """How devices are connected; {pair: value} of those pairs that the text tells.

    link_class: in nvidia-smi's words; links: bonded links; hops: 0 no path. numa, nics: of each device.
    nic_class: {(device, nic): class}
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
        """Both together, `other`'s facts where both say something."""
        both = {
            name: {**getattr(self, name), **getattr(other, name)}
            for name in ("link_class", "links", "peer_access", "hops", "numa", "nic_class")
        }
        return replace(self, **both, faults=self.faults + other.faults)


@dataclass
class Run:
    """One run of one program, as far as the text tells. first, last: lines, from that of its first table.

    devices: {index: model}. ranks: {rank of a collective: its host and the number of its device there}. states, models:
    of devices, by label. known: a topology that stands before it in the same text. problems: what of it is not to be
    found. wrong: data that arrived changed. notes: what else must be known of it. node: the host, where the text names
    one. processes: {rank: host, device, model}; some test cases run in the first process only. settings: what the
    program says of itself before a table, for its reader only. reported: whether the program judges by itself;
    findings: as `imported.findings` of a record has them.
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
        """Whether the run has something to show: a table, a topology, states of devices, or a report of its own."""
        return bool(self.tables or self.topology or self.states or self.reported or self.wrong)

    @property
    def matrices(self) -> int:
        """Tables with numbers in them: those of tables and of their parts, and topologies."""
        found = sum(1 + len(table.parts) for table in self.tables)
        return found + (self.topology is not None)

    @property
    def faults(self) -> list[str]:
        """All sentences on what was not believed."""
        found = self.wrong + self.problems + [fault for table in self.tables for fault in table.faults]
        return (found + list(self.topology.faults if self.topology else ()))[:MOST_NOTES]


class Reading:
    """The state of reading a text: where it is, the runs so far, and the facts that will be the next run's.

    text ends with a line end, or its last line is not believed where a number could have been cut.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.cut = bool(text) and text[-1] not in "\r\n"
        self.at = 0
        self.runs: list[Run] = []
        self.command: str | None = None
        self.waived = ""  # that a program measured nothing, and why that is no fault
        self.fork = ""  # a program other than nvbandwidth that prints as nvbandwidth does
        self.known: Topology | None = None
        self._facts: Run = Run("")
        self._open = False
        self.left_out: list[str] = []

    def line(self) -> str:
        """The line at the reading position; "" after the end."""
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def may_be_cut(self) -> bool:
        """Is this the last line, and without its end?"""
        return self.cut and self.at == len(self.lines) - 1

    def end_run(self) -> None:
        """What follows is another run's."""
        self._facts, self._open = Run(""), False

    def left(self, sentence: str) -> None:
        """Something that looks like a table and cannot be read: whoever reads the record must know."""
        (self._facts.problems if self._open else self.left_out).append(sentence)

    def facts(self, program: str) -> Run:
        """Where facts go that a program prints before its first table: of a run that has not begun."""
        if self._open or self._facts.program not in ("", program):
            self.end_run()
        self._facts.program = program
        return self._facts

    def run(self, program: str, line: int) -> Run:
        """The run that the tables of `program` go to; a new one where another program ran before."""
        if not self._open or self._facts.program != program:
            if self._open or self._facts.program not in ("", program):
                self._facts = Run("")
            self._facts.program, self._facts.first, self._facts.command = program, line, self.command
            self._facts.problems, self.left_out = [*self.left_out, *self._facts.problems], []
            self.runs.append(self._facts)
            self._open = True
        return self._facts

    def add(self, program: str, table: Table) -> None:
        """A table. One that the run has already, or between other devices, begins another run."""
        if self._open and self._facts.program == program and self._facts.tables:
            run, others = self._facts, self._facts.tables
            new_devices = square(table) and any(square(other) and other.rows != table.rows for other in others)
            if new_devices or table.key in [other.key for other in others] or run.command != self.command:
                self.end_run()
        run = self.run(program, table.line)
        if not run.tables:
            run.command, run.known = self.command, self.known
        run.tables.append(table)
        run.last = max(self.at, table.line)  # a line that is a table of its own is read while it is added

    def add_part(self, name: str, part: Part, faults: tuple[str, ...] = ()) -> bool:
        """A further matrix of the last table; False where there is none."""
        tables = self._facts.tables if self._open else []
        if not tables or name in tables[-1].parts:
            return False
        known = {(row, column) for row in tables[-1].rows for column in tables[-1].columns}
        if not set(part.cells) <= known:
            return False
        last = tables[-1]
        tables[-1] = replace(last, parts={**last.parts, name: part}, faults=last.faults + faults)
        self._facts.last = self.at
        return True

    def add_topology(self, program: str, topology: Topology) -> None:
        """How the devices of this run are connected; link classes hold for the runs that follow in the text too."""
        before = self._facts.topology if self._open else None
        again = bool(before and before.link_class and topology.link_class)  # of another node, or another day
        if self._open and (self._facts.tables or again):
            self.end_run()
        run = self.run(program, topology.line)
        run.topology = run.topology.joined(topology) if run.topology else topology
        run.last = self.at
        if topology.link_class:
            self.known = topology


def square(table: Table) -> bool:
    """Are both axes the same devices? Nodes of host memory and network adapters are none."""
    return table.rows == table.columns and table.memory == "device" and table.engine != "rdma"
