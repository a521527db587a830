"""What src/rdma/adapter_pairs.sh printed of perftest, as a record and as faults. Plain Python, as `expect` is."""

import re
from dataclasses import dataclass
from datetime import datetime, timezone

from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.table import Part, Run, Table
from linkmatrix.foreign.to_record import to_record

from .adapters import rate_of
from .reasons import missing, too_slow

ADAPTER = re.compile(r"adapter (server|client) (\S+) (\S+) ?(.*)")
VERSION = re.compile(r"version (\S+)")
STEP = re.compile(r"step (\S+) (\S+) (alone|at-once) code=(\d+)")
QUOTED = "| "
SIZE = re.compile(r" -s (\d+)\b")  # the first is the check's, later ones are of further options
UCX = "ucx_perftest"
#: What the tables of all adapters have in common.
COMMON = ("quantity", "metric", "unit", "size_bytes", "direction", "line", "engine", "transport")
PEER = "peer"  # the column, as `linkmatrix import` calls it
TO_GB = 1 / 8  # of Gb/s
#: Lines of perftest's head that say how it measured.
HEAD = re.compile(r"^ (Connection type|Transport type|Mtu|Link type|GID index|Number of qps)\s*:\s*(\S+)", re.MULTILINE)
INSIDE = re.compile(r"\t+(Transport type)\s*:\s*(\S+)")  # beside another on one line
GID = re.compile(r"^ (?:local|remote) address:.*\n GID: (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One program over one adapter. how: "alone" or "at-once"; text: what its client printed; command: how it was
    asked, with the variables that count.
    """

    program: str
    adapter: str
    how: str
    code: int
    text: str
    command: str = ""

    @property
    def whole(self):
        """Whether its last table has an end: a rule, or UCX's sum."""
        rows = [line for line in self.text.splitlines() if line.strip()]
        return bool(rows) and (set(rows[-1]) == {"-"} or rows[-1].startswith("Final:"))

    def printed(self):
        """The whole table that it printed, of whatever; None where there is none to believe."""
        try:
            runs = read_text(f"$ {self.command}\n{self.text}")
        except BadInput:
            return None
        tables = [table for run in runs for table in run.tables]
        return tables[-1] if len(tables) == 1 and self.code == 0 and self.whole else None

    def table(self):
        """The same, where it is of what was asked."""
        table = self.printed()
        return table if table and not self.other(table) else None

    def other(self, table):
        """What a table is of, where that is not what was asked. Of both ways it is a sum, twice the line rate."""
        name = self.program.rpartition("/")[2]
        if name != UCX and table.testcase != name:
            return table.testcase
        size = SIZE.search(self.command)
        return "" if not size or int(size[1]) == table.size_bytes else f"{name} of {table.size_bytes} bytes"

    def fault(self):
        """Why it has no table."""
        words = [line.strip() for line in self.text.splitlines() if line.strip(" -*")]
        last = words[-1].removeprefix("adapter_pairs: ") if words else "it said nothing"
        table = self.printed()
        if table:
            said = f"printed a table of {self.other(table)}: that is not what was asked, '{self.command}'"
        elif self.code == 0:
            said = f"printed no whole table of one size: its last line is '{last}'"
        else:
            said = f"ended with exit code {self.code}: {last}"
        return f"{self.program} over {self.adapter}{' with the others' if self.how == 'at-once' else ''} {said}"


@dataclass(frozen=True)
class Output:
    """All that the script printed.

    adapters: {(role, name): port as in a record}; nodes: {role: node}; version: of perftest or UCX.
    """

    adapters: dict
    nodes: dict
    steps: list
    version: str = ""

    @property
    def names(self):
        """The adapters that were to be measured."""
        return [name for role, name in self.adapters if role == "client"]

    def rate(self, name):
        """What both ends of an adapter can carry in Gb/s; None where the kernel does not say."""
        rates = [rate_of(self.adapters[role, name]) for role in self.nodes if (role, name) in self.adapters]
        return min(rates) if rates and None not in rates else None


def output_of(text, command=""):
    """Reads what the script printed. command: how each program was asked, {adapter} stands for its adapter."""
    adapters, nodes, steps, lines, version = {}, {}, [], [], ""
    for line in text.splitlines():
        if found := VERSION.fullmatch(line):
            version = found[1]
        elif found := ADAPTER.fullmatch(line):
            role, node, name, rate = found.groups()
            nodes[role] = node
            adapters[role, name] = port(node, name, rate)
        elif found := STEP.fullmatch(line):
            lines = []
            steps.append((found, lines))
        elif line.startswith(QUOTED.rstrip()):
            lines.append(line[len(QUOTED) :])
    made = [
        Step(
            one[1],
            one[2],
            one[3],
            int(one[4]),
            "\n".join([*said, ""]),
            (command or one[1]).replace("{adapter}", one[2]),
        )
        for one, said in steps
    ]
    return Output(adapters, nodes, made, version)


def port(node, name, rate):
    """A port as a record has it."""
    adapter, _, number = name.partition(":")
    unknown = dict.fromkeys(("state", "link_layer", "numa"))
    place = {"node": node, "port": number or "1"}
    return {"name": adapter, "rate": rate or None, **unknown, "part": {}, "place": place}


def faults_of(output, how):
    """What is missing. how: the steps that each adapter must have."""
    if not output.names:
        return missing("no adapter was measured")
    steps = {(step.adapter, step.how): step for step in output.steps}
    lacking = [f"{name} was not measured {one}" for one in how for name in output.names if (name, one) not in steps]
    return missing(*lacking, *(step.fault() for step in output.steps if step.table() is None))


def record_of(output, testcase, how, asked_by, command, memory):
    """The record: a matrix of the adapters, each to that of the same name on the other node.

    how: the step that is the test case; of one at once, what each had alone is a part.
    """
    tables = {(step.adapter, step.how): step.table() for step in output.steps}
    found = {name: tables.get((name, how)) for name in output.names}
    known = [table for table in found.values() if table]
    run = Run(program_of(output), tables=[], command=command, software=head_of(output))
    if known:
        run.tables.append(joined(testcase, found, tables if how == "at-once" else {}, memory))
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    record = to_record(run, "rfm_job.out", "\n".join(step.text for step in output.steps).encode(), now, now, None)
    nodes = list(dict.fromkeys(output.nodes.values()))
    unknown = dict.fromkeys(("machine", "serial", "product", "kernel", "boot"))
    record["host"]["name"] = output.nodes.get("client", "unknown")
    record["nodes"] = [{"name": node, **unknown} for node in nodes]
    record["adapters"] = list(output.adapters.values())
    record |= {"asked_by": asked_by, "expected": [testcase]}
    if not known:
        record |= {"result": "ERROR", "error": f"{testcase}: no adapter has a value"}
    for result in record["results"]:
        result["link_class"] = [["NET"] for _ in result["rows"]]
        if result["unit"] == "GB/s":
            limits = [output.rate(name) for name in result["rows"]]
            result["limit"] = [[rate * TO_GB if rate else None] for rate in limits]
            result["notes"] = [*result["notes"], *ratio_notes(output, result)]
    return record


def program_of(output):
    """As `linkmatrix import` calls it: those of perftest by the name of their package."""
    names = {step.program for step in output.steps}
    return names.pop() if names == {UCX} else "perftest"


def joined(testcase, found, tables, memory):
    """One table of all adapters; what has no value is an error."""
    first = next(table for table in found.values() if table)
    cells = {(name, PEER): value_of(table) for name, table in found.items()}
    alone = {
        (name, PEER): value_of(table)
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


def value_of(table):
    """The only value of a table; a status word where there is no table."""
    return next(iter(table.cells.values())) if table else "error"


def head_of(output):
    """{what perftest's head says: for all adapters, or for each}."""
    said = {}
    program = "UCX" if program_of(output) == UCX else "perftest"
    for step in output.steps:
        facts = dict(HEAD.findall(step.text)) | dict(INSIDE.findall(step.text))
        if gids := GID.findall(step.text):
            facts["GIDs"] = " to ".join(gids)
        for name, text in facts.items():
            said.setdefault(name, {})[step.adapter] = text
    versions = {program: output.version} if output.version else {}
    return versions | {
        f"perftest {name}": next(iter(of.values()))
        if len(set(of.values())) == 1
        else ", ".join(f"{adapter} {text}" for adapter, text in of.items())
        for name, of in said.items()
    }


def ratios(output, result):
    """{adapter: (Gb/s, line rate in Gb/s or None)} of a result in GB/s, of those that have a value."""
    return {
        name: (value / TO_GB, output.rate(name))
        for name, (value,) in zip(result["rows"], result["values"], strict=True)
        if value is not None
    }


def ratio_notes(output, result):
    """What the adapters have of their line rate, and together of what they had alone."""
    of_line = [
        f"{name} {measured:.2f} of {rate:g} Gb/s ({100 * measured / rate:.1f} %)" if rate else f"{name} unknown"
        for name, (measured, rate) in ratios(output, result).items()
    ]
    notes = [f"of the line rate: {', '.join(of_line)}"] if of_line else []
    share = share_of_alone(result)
    return notes + ([f"together {100 * share:.1f} % of the sum of each alone"] if share is not None else [])


def share_of_alone(result):
    """The sum of all at once by that of each alone; None where a value is missing."""
    alone = result["parts"].get("alone")
    values = [value for row in result["values"] for value in row]
    before = [value for row in alone["values"] for value in row] if alone else [None]
    return sum(values) / sum(before) if None not in values and None not in before else None


def ratio_faults(output, record, groups):
    """Is what was measured as much of the line rate as promised? groups: `adapters.Adapters`."""
    faults = []
    for result in (one for one in record["results"] if one["unit"] == "GB/s"):
        for group in groups:
            faults += group_faults(output, result, group)
    return faults


def group_faults(output, result, group):
    """Of one group of adapters."""
    reasons = []
    share, at_once = share_of_alone(result), "alone" in result["parts"]
    if at_once and group.at_once is not None and (share is None or share < group.at_once):
        had = "an unknown part" if share is None else f"{100 * share:.1f} %"
        said = (
            f"{result['testcase']}: all adapters at once have {had} of what they have alone, promised are"
            f" {100 * group.at_once:g} %"
        )
        reasons += missing(said) if share is None else too_slow(result, said)
    measured = {} if at_once or group.ratio is None else ratios(output, result)
    for name, (value, rate) in measured.items():
        if group.names and name not in group.names:
            continue
        line = rate or group.rate
        if line is None or value / line < group.ratio:
            had = f"{100 * value / line:.1f} % of {line:g} Gb/s" if line else "of an unknown line rate"
            said = f"{result['testcase']}: {name} has {value:.2f} Gb/s, {had}, promised are {100 * group.ratio:g} %"
            reasons += too_slow(result, said) if line else missing(said)
    return reasons
