"""The output of src/peers/peer.sh, which quotes a foreign program, as a record."""

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
ENDS = {None: "did not end", 124: "did not end in its time (more: -S seconds=N)"}
#: Programs that end with another code than 0 where one byte that arrived is not what was sent → options that forbid it.
COMPARES = {nvbandwidth.PROGRAM: {"-s", "--skipVerification"}}


@dataclass(frozen=True)
class Output:
    """All that the script printed.

    places: the node of each rank; path: of the program; missing: its name, where it is not installed; code: None where
    it did not end; topology, text: what nvidia-smi and the program said.
    """

    places: tuple[str, ...] = ()
    path: str = ""
    missing: str = ""
    code: int | None = None
    topology: str = ""
    text: str = ""

    @property
    def node(self) -> str:
        """Where the first rank ran."""
        return self.places[0] if self.places else "unknown"


@dataclass(frozen=True)
class Found:
    """What can be believed of it: a run of the program, whose tables are those of a test case, or why not."""

    run: Run
    faults: list[str] = field(default_factory=list)


def places_first(printed: str) -> str:
    """The same with the lines of ranks before the others: a rank may be heard after the first one has ended."""
    lines = printed.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: not line.startswith("rank ")))


def output_of(printed: str) -> Output:
    """Reads what the script printed."""
    said: dict[str, str] = {}
    places: dict[int, str] = {}
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
            places[int(word.split()[1])] = rest
        else:
            said.setdefault(word, rest.strip())
    code = said.get("ended code=", "")
    return Output(
        places=tuple(places[rank] for rank in sorted(places)),
        path=said.get("program ", ""),
        missing=said.get("missing ", ""),
        code=int(code) if code.isdigit() else None,
        topology="".join(parts["topology"]),
        text="".join(parts["output"]),
    )


def found_in(output: Output, testcase: str, command: str) -> Found:
    """The tables of a test case in what a program printed, and why not to believe them. command: that asked it."""
    name = command.split()[0]
    nothing = Run(program_of(name), tables=[], command=command)
    if output.code != 0:
        how = ENDS.get(output.code, f"ended with exit code {output.code}")
        return Found(nothing, faults=[f"{name} {how}: {last_words(output.text)}"])
    try:
        is_json = output.text.lstrip().startswith("{")
        runs = read_text(output.text if is_json else f"$ {command}\n{output.text}")
    except BadInput as error:
        return Found(nothing, faults=[f"{name} printed nothing to believe: {error}"])
    run = joined(runs)
    run.command, run.known = command, topology_of(output)
    faults = [f"{name}: {fault}" for fault in run.faults]
    tables = [table for table in run.tables if table.testcase == testcase]
    if not tables:
        others = ", ".join(dict.fromkeys(table.testcase for table in run.tables))
        faults.append(f"{name} printed no table of {testcase}, but of {others or 'nothing'}")
    once = {table.key: table for table in reversed(tables)}  # the first of each
    for size in dict.fromkeys(table.size_bytes for table in tables if all(table is not one for one in once.values())):
        faults.append(f"{name} printed {testcase}{'' if size is None else f' of {size} bytes'} twice")
    run.tables = [table for table in tables if table is once[table.key]]
    return Found(run, faults)


def program_of(name: str) -> str:
    """As `linkmatrix import` calls a program: those of OSU and of nccl-tests by the name of their package."""
    return next((program for begin, program in PROGRAMS.items() if name.startswith(begin)), nccl.PROGRAM)


def joined(runs: list[Run]) -> Run:
    """The runs of one process as one: what a program prints before and after some of its tables is one run of it."""
    first, *rest = runs
    for one in rest:
        first.tables = [*first.tables, *one.tables]
        first.problems = [*first.problems, *one.problems]
        first.last = one.last
    return first


def topology_of(output: Output) -> Topology | None:
    """How the GPUs are connected, as nvidia-smi said; None where it said nothing that can be read."""
    try:
        return read_text(output.topology)[0].topology if output.topology else None
    except BadInput:
        return None


def last_words(text: str) -> str:
    """The last line that says something."""
    words = [line.strip() for line in text.splitlines() if line.strip(" -*#\t")]
    return f"its last line is '{words[-1][:120]}'" if words else "it printed nothing"


def record_of(
    output: Output, found: Found, testcase: str, asked_by: str, link_class: str, size: int | None
) -> dict[str, Any]:
    """The record of one test case. link_class: of a pair of ranks; size: bytes of a copy, where the program does not
    print them.
    """
    run = found.run
    record = measured_record(run, output.text, list(output.places), testcase, asked_by, size)
    record["devices"] = [{**device, "node": output.node} for device in record["devices"]]
    if found.faults:
        record |= {"result": "ERROR", "error": "; ".join(found.faults)[:4000]}
    compares = run.program in COMPARES and not COMPARES[run.program] & set((run.command or "").split())
    for result in record["results"]:
        if compares and result["metric"] != "latency" and not found.faults:
            result["verified"] = True
        if run.program == osu.PROGRAM:
            result["link_class"] = [[link_class for _ in line] for line in result["link_class"]]
    return record
