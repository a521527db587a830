"""Converts the output of src/peers/peer.sh into a record. The script runs an established benchmark."""

import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from . import nccl, nvbandwidth, osu, p2p_sample
from .scan import read_text
from .table import Run, Topology
from .to_record import measured_record

LINE = re.compile(r"(rank \d+ on |program |missing |ended code=|\| ?|topology$|output$)(.*)")
PROGRAMS = {"osu_": osu.PROGRAM, "nvbandwidth": nvbandwidth.PROGRAM, "p2pBandwidthLatencyTest": p2p_sample.CUDA}
ENDS = {None: "did not end", 124: "did not end in time (for more time: -S seconds=N)"}
#: Programs that compare all data and end with an error if one byte differs → the options that disable this.
COMPARES = {nvbandwidth.PROGRAM: {"-s", "--skipVerification"}}


@dataclass(frozen=True)
class Output:
    """The parsed output of the script.

    nodes: the node of each rank.
    path: the path of the program.
    missing: the name of the program if the program is not installed; "" otherwise.
    code: the exit code of the program; None if the program did not end.
    topology: the output of nvidia-smi.
    text: the output of the program.
    """

    nodes: tuple[str, ...] = ()
    path: str = ""
    missing: str = ""
    code: int | None = None
    topology: str = ""
    text: str = ""

    @property
    def node(self) -> str:
        """The node of the first rank."""
        return self.nodes[0] if self.nodes else "unknown"


@dataclass(frozen=True)
class FoundTables:
    """The valid tables of a test case in one run of a program. faults: sentences about missing or damaged output."""

    run: Run
    faults: list[str] = field(default_factory=list)


def ranks_first(printed: str) -> str:
    """The output with the lines "rank N on NODE" moved to the top.

    Some of these lines arrive after the end of rank 0.
    """
    lines = printed.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: not line.startswith("rank ")))


def parse_output(printed: str) -> Output:
    """Parse the output of the script."""
    fields: dict[str, str] = {}
    nodes: dict[int, str] = {}
    parts: dict[str, list[str]] = {"topology": [], "output": []}
    part = ""
    for line in printed.splitlines(keepends=True):
        found = LINE.match(line.rstrip("\n"))
        if found is None:
            continue
        word, rest = found.groups()
        if word in parts:
            part = word
        elif word.startswith("|"):
            parts.get(part, []).append(line[len(word) :])
        elif word.startswith("rank"):
            nodes[int(word.split()[1])] = rest
        else:
            fields.setdefault(word, rest.strip())
    code = fields.get("ended code=", "")
    return Output(
        nodes=tuple(nodes[rank] for rank in sorted(nodes)),
        path=fields.get("program ", ""),
        missing=fields.get("missing ", ""),
        code=int(code) if code.isdigit() else None,
        topology="".join(parts["topology"]),
        text="".join(parts["output"]),
    )


def find_tables(output: Output, testcase: str, command: str) -> FoundTables:
    """The valid tables of a test case in the output of a program. command: the command line of the program."""
    name = command.split()[0]
    nothing = Run(program_of(name), tables=[], command=command)
    if output.code != 0:
        how = ENDS.get(output.code, f"ended with exit code {output.code}")
        return FoundTables(nothing, faults=[f"{name} {how}: {last_line_clause(output.text)}"])
    try:
        is_json = output.text.lstrip().startswith("{")
        runs = read_text(output.text if is_json else f"$ {command}\n{output.text}")
    except BadInput as error:
        return FoundTables(nothing, faults=[f"{name} printed no valid output: {error}"])
    run = merged_run(runs)
    run.command, run.known = command, topology_of(output)
    faults = [f"{name}: {fault}" for fault in run.faults]
    tables = [table for table in run.tables if table.testcase == testcase]
    if not tables:
        others = ", ".join(dict.fromkeys(table.testcase for table in run.tables))
        faults.append(f"{name} printed no table of {testcase}, but of {others or 'nothing'}")
    once = {table.key: table for table in reversed(tables)}  # the first table of each size
    for size in dict.fromkeys(table.size_bytes for table in tables if all(table is not one for one in once.values())):
        faults.append(f"{name} printed {testcase}{'' if size is None else f' of {size} bytes'} twice")
    run.tables = [table for table in tables if table is once[table.key]]
    return FoundTables(run, faults)


def program_of(name: str) -> str:
    """The name of a program in records. All programs of OSU share one name, as do all programs of nccl-tests."""
    return next((program for begin, program in PROGRAMS.items() if name.startswith(begin)), nccl.PROGRAM)


def merged_run(runs: list[Run]) -> Run:
    """One run with the tables and the problems of all given runs."""
    first, *rest = runs
    for one in rest:
        first.tables = [*first.tables, *one.tables]
        first.problems = [*first.problems, *one.problems]
        first.last = one.last
    return first


def topology_of(output: Output) -> Topology | None:
    """The topology from the output of nvidia-smi; None if the output contains no valid topology."""
    try:
        return read_text(output.topology)[0].topology if output.topology else None
    except BadInput:
        return None


def last_line_clause(text: str) -> str:
    """A clause that quotes the last line of a text, such as "its last line is 'Aborted'".

    Lines without words, such as lines of dashes, are skipped.
    """
    words = [line.strip() for line in text.splitlines() if line.strip(" -*#\t")]
    return f"its last line is '{words[-1][:120]}'" if words else "it printed nothing"


def record_of(
    output: Output, tables: FoundTables, testcase: str, asked_by: str, link_class: str, size: int | None
) -> dict[str, Any]:
    """The record of one test case.

    link_class: the link class between two ranks.
    size: the bytes of a copy. Used only if the program does not print the size.
    """
    run = tables.run
    record = measured_record(run, output.text, list(output.nodes), testcase, asked_by, size)
    record["devices"] = [{**device, "node": output.node} for device in record["devices"]]
    if tables.faults:
        record |= {"result": "ERROR", "error": "; ".join(tables.faults)[:4000]}
    compares = run.program in COMPARES and not COMPARES[run.program] & set((run.command or "").split())
    for result in record["results"]:
        if compares and result["metric"] != "latency" and not tables.faults:
            result["verified"] = True
        if run.program == osu.PROGRAM:
            result["link_class"] = [[link_class for _ in line] for line in result["link_class"]]
    return record
