"""The words that all outputs share: glyphs of verdicts, units, machines, tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import clean
from ..judge.disturbances import ignored
from ..judge.verdicts import BASELINE, NEXT_STEPS, WORDS, Verdict
from ..record.checking import has_matchings
from ..record.matrix import has_status
from ..record.names import simulated_fault
from ..record.units import counted, first, listed

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..judge.run_findings import Fact
    from ..record.names import Result
    from ..runs.judging import Judged

MOST = 4  # findings that an output begins with
ORDER = sorted(Verdict)  # from good to bad
GLYPHS = dict(zip(ORDER, "✓!○~?✗", strict=True))
ASCII_GLYPHS = dict(zip(ORDER, "+!*~?x", strict=True))  # none of them is a part of a number
CLASSES = {verdict: word.lower().replace(" ", "-") for verdict, word in WORDS.items()}  # of the page's style sheet
STRIKING = (Verdict.DISTURBED, Verdict.FAIL)  # verdicts of cells whose style is stronger than the shade of a deviation
MARKED = (Verdict.WARN, *STRIKING)  # verdicts whose glyph is in a map of deviations
ANOTHER = "the other process"  # where no process is named
ALL_REFERENCES = f"{BASELINE} --mode=nightly"  # of all test cases
DECIMALS = {"GB/s": 2, "us": 3, "%": 2, "msg/s": 0, "GFLOP/s": 1, "bodies": 0, "rounds": 0, "words": 0, "flags": 0}
UNITS = {unit: unit for unit in DECIMALS} | {"us": "µs", "msg/s": "messages/s"}
SHORT = {"no-peer-access": "no-peer"}  # status of a cell, for tables
MOST_LABEL = 12
WITH_DATA = ("ok", "partial")  # status of the cells whose data arrived, and may be compared
SOFTWARE = ("CUDA", "MPI", "cuda", "driver", "mpi")  # named in a heading


class Cell(NamedTuple):
    """A cell of a table.

    verdict: None for a figure that is not judged. style: of a terminal, for verdicts without a style. reason: of its
    verdict, "" for PASS.
    """

    text: str
    verdict: Verdict | None = None
    style: str = ""
    reason: str = ""


def next_step(verdict: Verdict, processes: Sequence[str] = ()) -> str:
    """The step that follows a verdict, "" after PASS; processes: those that disturbed the run, by name."""
    return NEXT_STEPS[verdict].replace("{who}", listed(processes) or ANOTHER)


def marks(verdict: Verdict) -> dict[str, str]:
    """Word, glyph and style class of a verdict on the page."""
    return {"word": WORDS[verdict], "glyph": GLYPHS[verdict], "class": CLASSES[verdict]}


def heading(one: Judged) -> str:
    """Machine, host, software and time of a test; "" without a record."""
    return provenance(one.test.record) if one.test.record is not None else ""


def title(judged: Iterable[Judged]) -> str:
    """The hosts of a run and what was measured on them: the title of a page."""
    tests = list(judged)
    if not (found := records_of(tests)):
        where = listed(list(dict.fromkeys(one.test.partition for one in tests if one.test.partition)))
        return f"{where}: no record" if where else "no record"
    hosts = listed(list(dict.fromkeys(record["host"]["name"] for record in found)))
    return f"{hosts}: {'; '.join(dict.fromkeys(map(measured, found)))}"


def provenance(record: dict[str, Any]) -> str:
    """Machine, host, software and time of a record, on one line."""
    software = [f"{name} {version}" for name, version in sorted(record["software"].items()) if name in SOFTWARE]
    return ", ".join([f"{measured(record)}, on {record['host']['name']}", *software, started(record)])


def started(record: dict[str, Any]) -> str:
    """ "2026-11-21 02:23:03 UTC"."""
    return str(record["started"]).replace("T", " ").replace("Z", " UTC")


def measured(record: dict[str, Any]) -> str:
    """The measured devices: "8 × NVIDIA H200", "host memory of this machine, no GPU"."""
    devices = record["devices"]
    if record["backend"] == "mpi":
        nodes = len({device["node"] for device in devices})
        ranks = counted(len(devices), "MPI rank")
        return f"{ranks} on {'one node' if nodes == 1 else counted(nodes, 'node')}"
    if record["backend"] == "host":
        return "host memory of this machine, no GPU"
    if record["backend"] == "imported" and not devices:
        return f"imported from {record['imported']['program']}"
    names = [device["name"] for device in devices]
    each = ", a process each" if record["backend"] == "ipc" else ""
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) + each or "no device"


def short_label(label: str) -> str:
    """The end of a label, which differs between endpoints, in at most MOST_LABEL characters."""
    return label if len(label) <= MOST_LABEL else "…" + label[1 - MOST_LABEL :]


def node_of(one: Judged) -> str:
    """The node that a test ran on, or was for; "" if it ran on several nodes, or if its node is not known."""
    record = one.test.record
    if record is None:
        return one.test.node
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    return one.test.node or (nodes.pop() if len(nodes) == 1 else "")


@dataclass(frozen=True)
class Places:
    """Which places the outputs of a run name. partitions, nodes: whether the run has several."""

    partitions: bool
    nodes: bool

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> Places:
        """From the tests of a run. Without ReFrame a test has no partition, without a record it may have no node."""
        tests = list(judged)
        partitions = {one.test.partition for one in tests if one.test.partition}
        nodes = {node_of(one) for one in tests if one.test.record or one.test.node}
        return cls(len(partitions) > 1, len(nodes) > 1)

    def partition(self, one: Judged) -> str:
        """The partition of a test if there are several, else ""."""
        return one.test.partition if self.partitions else ""

    def node(self, one: Judged) -> str:
        """The node of a test if there are several, else ""."""
        return node_of(one) if self.nodes else ""

    def name(self, one: Judged) -> str:
        """The partition and the node of a test, each only if the run has several: "mycluster:gpu, n1"."""
        return ", ".join(filter(None, (self.partition(one), self.node(one))))

    def added(self, text: str, one: Judged) -> str:
        """`text`, followed by the partition and the node of a test, each only if the run has several."""
        return ", ".join(filter(None, (text, self.name(one))))


def has_values(result: Result) -> bool:
    """Whether any cell of a matrix was measured."""
    return any(has_status(result, word) for word in WITH_DATA)


def coverage(result: Result) -> str:
    """ "0.4 % of pairs measured: links not judged"; "" for a complete matrix."""
    if not has_matchings(result):
        return ""
    from ..judge import sampled_matrix

    return sampled_matrix.coverage(result)


def compared_share(results: Iterable[Result]) -> str:
    """ "11 % or more of one transfer per sample": the data that was compared; "" if no record contains its share."""
    shares = {result["coverage"]["compared_share"] for result in results if "coverage" in result}
    if not shares:
        return ""
    percent, more = 100 * min(shares), " or more" if len(shares) > 1 else ""
    part = f"{percent:.{0 if percent >= 9.95 else 1}f} %{more} of " if percent < 99.95 else ""
    return f"{part}one transfer per sample"


def fact_lines(one: Judged, result: Result | None = None) -> list[str]:
    """A line per fact that prevents a PASS: of the whole record, or of one `result`."""
    return [fact_line(fact) for fact in facts_of(one, result)]


def fact_line(fact: Fact) -> str:
    """ "WARN: a device was throttled …"."""
    return f"{WORDS[fact.verdict]}: {fact.sentence}"


def facts_of(one: Judged, result: Result | None = None) -> list[Fact]:
    """The facts that prevent a PASS: of the whole record, or of one `result`."""
    place = next((at for at, (other, _) in enumerate(one.matrices) if other is result), None)
    return [fact for fact in one.facts if fact.result == place]


def verdict_tally(judged: Sequence[Judged]) -> str:
    """ "3 test cases: 1 FAIL, 2 PASS", and the number of test cases that a budget left out, which have no verdict."""
    found: list[Verdict] = []
    for one in judged:
        if one.test.out_of_service:
            continue
        of_case: dict[str, Verdict] = {}
        for result, matrix in one.matrices:  # of several sizes the worst
            of_case[result["testcase"]] = max(of_case.get(result["testcase"], Verdict.PASS), one.of_matrix(matrix))
        found += of_case.values() if of_case else [one.verdict]
    each = ", ".join(f"{found.count(verdict)} {WORDS[verdict]}" for verdict in reversed(ORDER) if verdict in found)
    beyond = [one.beyond_cells for one in judged if one.matrices and one.beyond_cells is not None]
    also = f"; {counted(len(beyond), 'test')} {WORDS[max(beyond)]} for a reason outside the cells" if beyond else ""
    also += f"; {len(rest)} more not measured, because of --budget" if (rest := left_out_testcases(judged)) else ""
    out = sum(one.test.out_of_service for one in judged)
    also += f"; {counted(out, 'node')} out of service" if out else ""
    return counted(len(found), "test case") + (f": {each}" if each else "") + also


def left_out_testcases(judged: Iterable[Judged]) -> list[str]:
    """The requested test cases for which a budget (--budget) had no room."""
    return list(dict.fromkeys(name for record in records_of(judged) for name in record.get("left_out", [])))


def has_nothing_to_do(one: Judged) -> bool:
    """Whether a test was skipped because of its partition, such as a pair of one GPU, and not because of a failure.

    A node that is out of service has nothing to do either.
    """
    of_partition = bool(one.test.reason) and not one.test.unmeasured
    return one.test.out_of_service or (one.test.result == "skip" and of_partition)


def incomplete_cells(matrix: MatrixVerdict) -> int:
    """The number of INCOMPLETE cells that lack more than a reference."""
    return matrix.counts[Verdict.INCOMPLETE] - (matrix.unjudged if matrix.expected.name else 0)


def only_references_missing(judged: Iterable[Judged]) -> bool:
    """Whether everything was measured and verified, and only references that describe it are missing."""
    tried = [one for one in judged if not has_nothing_to_do(one)]
    matrices = [(result, matrix) for one in tried for result, matrix in one.matrices]
    return any(matrix.unjudged or matrix.counts[Verdict.NOT_JUDGED] for _, matrix in matrices) and all(
        not one.reasons
        and all(fact.verdict <= Verdict.NOT_JUDGED for fact in one.facts)
        and all(lacks_only_references(result, matrix) for result, matrix in one.matrices)
        for one in tried
    )


def lacks_only_references(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix is verified and each of its cells has a value, and none is FAIL or DISTURBED."""
    counts = matrix.counts
    return (
        bool(result["verified"] or result["size_bytes"] == 0)
        and any(counts.values())
        and not counts[Verdict.FAIL] + counts[Verdict.DISTURBED] + incomplete_cells(matrix)
    )


def records_of(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """The records of the tests that have one."""
    return [one.test.record for one in judged if one.test.record is not None]


def simulated_line(records: Iterable[Mapping[str, Any]]) -> str:
    """ "SIMULATED: …", the first line of every output on these records; "" where no fault was simulated."""
    faults = filter(None, map(simulated_fault, records))
    named = clean(", ".join(first(list(dict.fromkeys(faults)))))
    return f"SIMULATED: --simulate-fault {named} made this result. It does not describe the hardware." if named else ""


def ignored_line(records: Iterable[Mapping[str, Any]]) -> str:
    """ "Ignored processes: …", printed with every verdict; "" where no process was ignored."""
    found = (one for record in records for one in ignored(record))
    named = clean(", ".join(first(list(dict.fromkeys(found)))))
    return f"Ignored processes: {named}" if named else ""


def left_out_line(judged: Iterable[Judged]) -> str:
    """ "Excluded nodes, which accept no jobs: n3: drained: bad DIMM"; "" where a test between nodes left none out."""
    found = dict.fromkeys(node for one in judged for node in one.test.nodes_left_out.split("; ") if node)
    named = clean("; ".join(first(list(found))))
    return f"Excluded nodes, which accept no jobs: {named}" if named else ""


def notices(judged: Iterable[Judged]) -> list[str]:
    """The lines that every output prints with its verdict: the simulated fault, ignored processes, nodes left out."""
    tests = list(judged)
    records = records_of(tests)
    return [line for line in (simulated_line(records), ignored_line(records), left_out_line(tests)) if line]
