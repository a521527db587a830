"""Converts the output of src/rdma/adapter_pairs.sh into a record.

The script runs perftest or ucx_perftest over each adapter.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import BadInput
from ..record.names import Pair
from ..record.units import line_rate
from . import perftest, ucx
from .scan import read_text
from .table import Part, Run, Table
from .to_record import measured_record

Json = dict[str, Any]

ADAPTER = re.compile(r"adapter (server|client) (\S+) (\S+) ?(.*)")
VERSION = re.compile(r"version (\S+)")
STEP = re.compile(r"step (\S+) (\S+) (alone|at-once) code=(\d+)")
QUOTED = "| "
SIZE = re.compile(r" -s (\d+)\b")  # the check's option is the first; a user's options follow
#: Fields that are equal in the tables of all adapters.
COMMON = ("quantity", "metric", "size_bytes", "direction", "line", "engine", "transport")
PEER = "peer"  # the label of the column in imported records
TO_GB = 1 / 8  # from Gb/s to GB/s
#: Settings in the header lines of perftest.
HEAD = re.compile(r"^ (Connection type|Transport type|Mtu|Link type|GID index|Number of qps)\s*:\s*(\S+)", re.MULTILINE)
INSIDE = re.compile(r"\t+(Transport type)\s*:\s*(\S+)")  # the second setting on a line
GID = re.compile(r"^ (?:local|remote) address:.*\n GID: (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One run of one program over one adapter.

    how: "alone": the other adapters were idle. "at-once": all adapters were measured concurrently.
    code: the exit code.
    lines: the output of the client.
    command: the command line, with its environment variables.
    """

    program: str
    adapter: str
    how: str
    code: int
    command: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The output of the client, as one text."""
        return "".join(f"{line}\n" for line in self.lines)

    @cached_property
    def printed(self) -> Table | None:
        """The table in the output; None if the output is incomplete, or does not contain exactly one table."""
        rows = [line for line in self.lines if line.strip()]
        whole = bool(rows) and (set(rows[-1]) == {"-"} or rows[-1].startswith("Final:"))  # a rule, or UCX's sum
        try:
            runs = read_text(f"$ {self.command}\n{self.text}")
        except BadInput:
            return None
        tables = [table for run in runs for table in run.tables]
        return tables[0] if len(tables) == 1 and self.code == 0 and whole else None

    @property
    def other_measurement(self) -> str:
        """The name of the printed measurement, if the command requested another measurement; "" otherwise.

        A bidirectional test prints the sum of both directions. The sum is not a value of one direction.
        """
        name, table = self.program.rpartition("/")[2], self.printed
        if name != ucx.PROGRAM and table.testcase != name:
            return table.testcase
        size = SIZE.search(self.command)
        return "" if not size or int(size[1]) == table.size_bytes else f"{name} of {table.size_bytes} bytes"

    @property
    def table(self) -> Table | None:
        """The table of the requested measurement; None if the program did not print this table."""
        return self.printed if self.printed and not self.other_measurement else None

    def fault(self) -> str:
        """A sentence with the reason why the step has no table."""
        words = [line.strip() for line in self.lines if line.strip(" -*")]
        last = words[-1].removeprefix("adapter_pairs: ") if words else "no output"
        if self.printed:
            reason = f"printed a table of {self.other_measurement}, but the command requested '{self.command}'"
        elif self.code == 0:
            reason = f"printed no complete table of one size: its last line is '{last}'"
        else:
            reason = f"ended with exit code {self.code}: {last}"
        return (
            f"{self.program} over {self.adapter}{' with the other adapters' if self.how == 'at-once' else ''} {reason}"
        )


@dataclass(frozen=True)
class Output:
    """The parsed output of the script.

    adapters: {(role, name): port, as in a record}.
    nodes: {role: node}.
    version: the version of perftest or UCX.
    """

    adapters: dict[tuple[str, str], Json]
    nodes: dict[str, str]
    steps: list[Step]
    version: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the adapters to measure."""
        return [name for role, name in self.adapters if role == "client"]

    def rate(self, name: str) -> float | None:
        """The line rate between the adapters of this name on both nodes, in Gb/s: the lower of their two rates.

        None if the kernel of a node reports no rate.
        """
        ports = [self.adapters[role, name] for role in self.nodes if (role, name) in self.adapters]
        rates = [line_rate(port["rate"]) for port in ports]
        known = [rate for rate in rates if rate is not None]
        return min(known) if known and len(known) == len(rates) else None


def parse_output(text: str, command: str = "") -> Output:
    """Parse the output of the script.

    command: the command line of each program. The name of the adapter replaces {adapter}.
    """
    adapters: dict[tuple[str, str], Json] = {}
    nodes: dict[str, str] = {}
    steps: list[Step] = []
    version = ""
    for line in text.splitlines():
        if found := VERSION.fullmatch(line):
            version = found[1]
        elif found := ADAPTER.fullmatch(line):
            role, node, name, rate = found.groups()
            nodes[role] = node
            adapters[role, name] = port(node, name, rate)
        elif found := STEP.fullmatch(line):
            program, adapter, how, code = found.groups()
            steps.append(Step(program, adapter, how, int(code), (command or program).replace("{adapter}", adapter)))
        elif line.startswith(QUOTED.rstrip()) and steps:
            steps[-1].lines.append(line[len(QUOTED) :])
    return Output(adapters, nodes, steps, version)


def port(node: str, name: str, rate: str) -> Json:
    """The port of an adapter, in the format of a record."""
    adapter, _, number = name.partition(":")
    unknown = dict.fromkeys(("state", "link_layer", "numa"))
    place = {"node": node, "port": number or "1"}
    return {"name": adapter, "rate": rate or None, **unknown, "part": {}, "place": place}


def measurement_faults(output: Output, how: list[str]) -> list[str]:
    """Sentences about missing measurements.

    how: the steps that each adapter must have: "alone", "at-once" or both.
    """
    if not output.names:
        return ["no adapter was measured"]
    steps = {(step.adapter, step.how): step for step in output.steps}
    words = {"alone": "while the other adapters are idle", "at-once": "while the other adapters are measured"}
    lacking = [
        f"{name} has no measurement {words[step]}" for step in how for name in output.names if (name, step) not in steps
    ]
    return [*lacking, *(step.fault() for step in output.steps if step.table is None)]


def record_of(output: Output, testcase: str, how: str, asked_by: str | None, command: str, memory: str) -> Json:
    """The record of a test case.

    The matrix has a row per adapter. Each adapter sends to the same adapter of the other node.
    how: the measured step. For "at-once", the record also contains the values of the step "alone".
    """
    tables = {(step.adapter, step.how): step.table for step in output.steps}
    found = {name: tables.get((name, how)) for name in output.names}
    known = [table for table in found.values() if table]
    run = Run(program_of(output), tables=[], command=command, software=head_of(output))
    if known:
        run.tables.append(merged_table(testcase, found, tables if how == "at-once" else {}, memory))
    text = "\n".join(step.text for step in output.steps)
    record = measured_record(run, text, list(output.nodes.values()), testcase, asked_by)
    record["host"]["name"] = output.nodes.get("client", "unknown")
    record["adapters"] = list(output.adapters.values())
    if not known:
        record |= {"result": "ERROR", "error": f"{testcase}: no adapter has a value"}
    for result in record["results"]:
        result["link_class"] = [["NET"] for _ in result["rows"]]
        if result["unit"] == "GB/s":
            limits = [output.rate(name) for name in result["rows"]]
            result["limit"] = [[rate * TO_GB if rate else None] for rate in limits]
            result["notes"] = [*result["notes"], *notes_of(result)]
    return record


def program_of(output: Output) -> str:
    """The program's name in records: "ucx_perftest", or "perftest" for every program of the package perftest."""
    return ucx.PROGRAM if {step.program for step in output.steps} == {ucx.PROGRAM} else perftest.PROGRAM


def merged_table(
    testcase: str, found: dict[str, Table | None], tables: dict[tuple[str, str], Table | None], memory: str
) -> Table:
    """One table with a row per adapter. An adapter without a table has the status 'error'."""
    first = next(table for table in found.values() if table)
    cells = {(name, PEER): table_value(table) for name, table in found.items()}
    alone: dict[Pair, Any] = {
        (name, PEER): table_value(table)
        for (name, how), table in tables.items()
        if how == "alone" and table and name in found
    }
    parts = {"alone": Part("alone", first.unit, alone)} if alone else {}
    return Table(
        **{name: getattr(first, name) for name in COMMON},
        testcase=testcase,
        rows=tuple(found),
        columns=(PEER,),
        cells=cells,
        memory=memory,
        parts=parts,
    )


def table_value(table: Table | None) -> float | str:
    """The only value of a table; 'error' if there is no table."""
    return next(iter(table.cells.values())) if table else "error"


def head_of(output: Output) -> dict[str, str]:
    """Returns {setting: value} from perftest's header lines.

    If the adapters have different values, the value lists each adapter.
    """
    settings: dict[str, dict[str, str]] = {}
    program = "UCX" if program_of(output) == ucx.PROGRAM else "perftest"
    for step in output.steps:
        facts = dict(HEAD.findall(step.text)) | dict(INSIDE.findall(step.text))
        if gids := GID.findall(step.text):
            facts["GIDs"] = " to ".join(gids)
        for name, text in facts.items():
            settings.setdefault(name, {})[step.adapter] = text
    versions = {program: output.version} if output.version else {}
    return versions | {
        f"perftest {name}": next(iter(texts.values()))
        if len(set(texts.values())) == 1
        else ", ".join(f"{adapter} {text}" for adapter, text in texts.items())
        for name, texts in settings.items()
    }


def rates_of(result: Json) -> dict[str, tuple[float, float | None]]:
    """Returns {adapter: (measured Gb/s, line rate in Gb/s)} of the measured adapters. An unknown line rate is None."""
    rows = zip(result["rows"], result["values"], result["limit"], strict=True)
    return {name: (value / TO_GB, limit and limit / TO_GB) for name, (value,), (limit,) in rows if value is not None}


def notes_of(result: Json) -> list[str]:
    """Notes on a result: each value in % of its line rate, and the value of `concurrent_share` in %."""
    of_line = [
        f"{name} {measured:.2f} of {rate:g} Gb/s ({100 * measured / rate:.1f} %)" if rate else f"{name} unknown"
        for name, (measured, rate) in rates_of(result).items()
    ]
    notes = [f"of the line rate: {', '.join(of_line)}"] if of_line else []
    share = concurrent_share(result)
    return notes + (
        [f"all adapters concurrently reach {100 * share:.1f} % of the sum of their separate values"]
        if share is not None
        else []
    )


def concurrent_share(result: Json) -> float | None:
    """The sum of the concurrent values, divided by the sum of the isolated values. None if a value is missing."""
    alone = result["parts"].get("alone", {"values": [[None]]})
    values, before = ([value for row in cells["values"] for value in row] for cells in (result, alone))
    return None if None in [*values, *before] else sum(values) / sum(before)
