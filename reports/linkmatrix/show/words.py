"""Texts that all outputs share: glyphs of verdicts, units, and descriptions of machines and tests."""

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

MAX_FINDINGS = 4  # findings at the beginning of an output
ORDER = sorted(Verdict)  # best first
GLYPHS = dict(zip(ORDER, "✓!○~?✗", strict=True))
ASCII_GLYPHS = dict(zip(ORDER, "+!*~?x", strict=True))  # no characters of numbers
CLASSES = {verdict: word.lower().replace(" ", "-") for verdict, word in WORDS.items()}  # of the page's style sheet
STRIKING = (Verdict.DISTURBED, Verdict.FAIL)  # verdicts whose style replaces the shade of the deviation
MARKED = (Verdict.WARN, *STRIKING)  # verdicts with a glyph in maps of deviations
ANOTHER = "the other process"  # for a process without a name
ALL_REFERENCES = f"{BASELINE} --mode=nightly"  # of all test cases
DECIMALS = {"GB/s": 2, "us": 3, "%": 2, "msg/s": 0, "GFLOP/s": 1, "bodies": 0, "rounds": 0, "words": 0, "flags": 0}
UNITS = {unit: unit for unit in DECIMALS} | {"us": "µs", "msg/s": "messages/s"}
SHORT = {"no-peer-access": "no-peer"}  # status of a cell, for tables
MAX_LABEL = 12  # characters of a label in a table
WITH_DATA = ("ok", "partial")  # statuses of cells whose data arrived
SOFTWARE = ("CUDA", "MPI", "cuda", "driver", "mpi")  # keys of `software` that headings contain


class Cell(NamedTuple):
    """A cell of a table.

    verdict: None for a value that is not judged.
    style: style in the terminal. Used only if the verdict has no style.
    reason: the reason for the verdict; "" for PASS.
    """

    text: str
    verdict: Verdict | None = None
    style: str = ""
    reason: str = ""


def next_step(verdict: Verdict, processes: Sequence[str] = ()) -> str:
    """The step after a verdict; "" for PASS. processes: names of the processes that disturbed the run."""
    return NEXT_STEPS[verdict].replace("{who}", listed(processes) or ANOTHER)


def marks(verdict: Verdict) -> dict[str, str]:
    """{"word", "glyph", "class"} of a verdict on the page."""
    return {"word": WORDS[verdict], "glyph": GLYPHS[verdict], "class": CLASSES[verdict]}


def heading(judged: Judged) -> str:
    """Devices, host, software and time of a test; "" without a record."""
    return provenance(judged.test.record) if judged.test.record is not None else ""


def title(judged: Iterable[Judged]) -> str:
    """The title of a page: the hosts of a run, and its measured devices."""
    tests = list(judged)
    if not (found := records_of(tests)):
        where = listed(list(dict.fromkeys(one.test.partition for one in tests if one.test.partition)))
        return f"{where}: no record" if where else "no record"
    hosts = listed(list(dict.fromkeys(record["host"]["name"] for record in found)))
    return f"{hosts}: {'; '.join(dict.fromkeys(map(measured, found)))}"


def provenance(record: dict[str, Any]) -> str:
    """Devices, host, software and start of a record, in one line."""
    software = [f"{name} {version}" for name, version in sorted(record["software"].items()) if name in SOFTWARE]
    return ", ".join([f"{measured(record)}, on {record['host']['name']}", *software, started(record)])


def started(record: dict[str, Any]) -> str:
    """The start of a record: "2026-11-21 02:23:03 UTC"."""
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
    """The last MAX_LABEL characters of a label. The ends of labels differ more than their beginnings."""
    return label if len(label) <= MAX_LABEL else "…" + label[1 - MAX_LABEL :]


def node_of(judged: Judged) -> str:
    """The node of a test; "" if the test has several nodes or if the node is unknown."""
    record = judged.test.record
    if record is None:
        return judged.test.node
    nodes = {device["node"] for device in record["devices"]} or {record["host"]["name"]}
    return judged.test.node or (nodes.pop() if len(nodes) == 1 else "")


@dataclass(frozen=True)
class Locations:
    """Names tests by partition and node.

    partitions: whether the run has several partitions. Outputs then name the partition.
    nodes: whether the run has several nodes. Outputs then name the node.
    """

    partitions: bool
    nodes: bool

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> Locations:
        """Returns the `Locations` of a run, from all tests of the run."""
        tests = list(judged)
        partitions = {one.test.partition for one in tests if one.test.partition}
        nodes = {node_of(one) for one in tests if one.test.record or one.test.node}
        return cls(len(partitions) > 1, len(nodes) > 1)

    def partition(self, judged: Judged) -> str:
        """The partition of a test; "" if the run has a single partition."""
        return judged.test.partition if self.partitions else ""

    def node(self, judged: Judged) -> str:
        """The node of a test; "" if the run has a single node."""
        return node_of(judged) if self.nodes else ""

    def name(self, judged: Judged) -> str:
        """The partition and node of a test: "mycluster:gpu, n1". A single partition or node of a run is left out."""
        return ", ".join(filter(None, (self.partition(judged), self.node(judged))))

    def added(self, text: str, judged: Judged) -> str:
        """`text`, followed by the partition and node of a test; see `name`."""
        return ", ".join(filter(None, (text, self.name(judged))))


def has_values(result: Result) -> bool:
    """Whether a cell of a matrix was measured."""
    return any(has_status(result, word) for word in WITH_DATA)


def coverage(result: Result) -> str:
    """The measured share of a sampled matrix: "0.4 % of pairs measured: links not judged"; "" for other matrices."""
    if not has_matchings(result):
        return ""
    from ..judge import sampled_matrix

    return sampled_matrix.coverage(result)


def compared_share(results: Iterable[Result]) -> str:
    """The share of data that was compared: "11 % or more of one transfer per sample"; "" if unknown."""
    shares = {result["coverage"]["compared_share"] for result in results if "coverage" in result}
    if not shares:
        return ""
    percent, more = 100 * min(shares), " or more" if len(shares) > 1 else ""
    part = f"{percent:.{0 if percent >= 9.95 else 1}f} %{more} of " if percent < 99.95 else ""
    return f"{part}one transfer per sample"


def fact_lines(judged: Judged, result: Result | None = None) -> list[str]:
    """A line per fact of `facts_of`: "WARN: a device was throttled …"."""
    return [f"{WORDS[fact.verdict]}: {fact.sentence}" for fact in facts_of(judged, result)]


def facts_of(judged: Judged, result: Result | None = None) -> list[Fact]:
    """The facts about `result` that prevent a PASS. If `result` is None: the facts about the whole record."""
    place = next((at for at, (other, _) in enumerate(judged.matrices) if other is result), None)
    return [fact for fact in judged.facts if fact.result == place]


def verdict_tally(judged: Sequence[Judged]) -> str:
    """The numbers of test cases per verdict, and of unmeasured test cases: "3 test cases: 1 FAIL, 2 PASS"."""
    found: list[Verdict] = []
    for one in judged:
        if one.test.out_of_service:
            continue
        verdicts: dict[str, Verdict] = {}
        for result, matrix in one.matrices:  # the worst verdict of several sizes
            verdicts[result["testcase"]] = max(
                verdicts.get(result["testcase"], Verdict.PASS), one.matrix_verdict(matrix)
            )
        found += verdicts.values() if verdicts else [one.verdict]
    each = ", ".join(f"{found.count(verdict)} {WORDS[verdict]}" for verdict in reversed(ORDER) if verdict in found)
    beyond = [one.verdict_beyond_cells for one in judged if one.matrices and one.verdict_beyond_cells is not None]
    also = f"; {counted(len(beyond), 'test')} {WORDS[max(beyond)]} for a reason other than cells" if beyond else ""
    also += f"; {len(rest)} more not measured, because of --budget" if (rest := left_out_testcases(judged)) else ""
    out = sum(one.test.out_of_service for one in judged)
    also += f"; {counted(out, 'node')} out of service" if out else ""
    return counted(len(found), "test case") + (f": {each}" if each else "") + also


def left_out_testcases(judged: Iterable[Judged]) -> list[str]:
    """The requested test cases that were not measured because --budget excluded them."""
    return list(dict.fromkeys(name for record in records_of(judged) for name in record.get("left_out", [])))


def has_nothing_to_do(judged: Judged) -> bool:
    """Whether a test was skipped because the test does not apply, or because its node is out of service.

    Example: a test of pairs of GPUs, on a node with one GPU.
    """
    does_not_apply = bool(judged.test.reason) and not judged.test.unmeasured
    return judged.test.out_of_service or (judged.test.result == "skip" and does_not_apply)


def skipped_tests(judged: Sequence[Judged]) -> list[Judged]:
    """The skipped tests of a run whose other tests are PASS or WARN; [] for other runs."""
    found = [one for one in judged if has_nothing_to_do(one)]
    others = [one for one in judged if not has_nothing_to_do(one)]
    return found if others and all(one.verdict <= Verdict.WARN for one in others) else []


def incomplete_cells(matrix: MatrixVerdict) -> int:
    """The number of INCOMPLETE cells. Cells that only lack a reference do not count."""
    return matrix.counts[Verdict.INCOMPLETE] - (matrix.unjudged if matrix.expected.name else 0)


def only_references_missing(judged: Iterable[Judged]) -> bool:
    """Whether everything was measured and verified, and only references are missing."""
    tests = [one for one in judged if not has_nothing_to_do(one)]
    matrices = [(result, matrix) for one in tests for result, matrix in one.matrices]
    return any(matrix.unjudged or matrix.counts[Verdict.NOT_JUDGED] for _, matrix in matrices) and all(
        not one.reasons
        and all(fact.verdict <= Verdict.NOT_JUDGED for fact in one.facts)
        and all(lacks_only_references(result, matrix) for result, matrix in one.matrices)
        for one in tests
    )


def lacks_only_references(result: Result, matrix: MatrixVerdict) -> bool:
    """Whether a matrix is verified, each cell has a value, and no cell is FAIL or DISTURBED."""
    counts = matrix.counts
    return (
        bool(result["verified"] or result["size_bytes"] == 0)
        and any(counts.values())
        and not counts[Verdict.FAIL] + counts[Verdict.DISTURBED] + incomplete_cells(matrix)
    )


def records_of(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """The records of all tests that have a record."""
    return [one.test.record for one in judged if one.test.record is not None]


def simulated_line(records: Iterable[Mapping[str, Any]]) -> str:
    """The line "SIMULATED: …", with which outputs begin; "" if no fault was simulated."""
    faults = filter(None, map(simulated_fault, records))
    named = clean(", ".join(first(list(dict.fromkeys(faults)))))
    return f"SIMULATED: --simulate-fault {named} made this result. It does not describe the hardware." if named else ""


def ignored_line(records: Iterable[Mapping[str, Any]]) -> str:
    """The line "Ignored processes: …" of outputs; "" if no process was ignored."""
    found = (one for record in records for one in ignored(record))
    named = clean(", ".join(first(list(dict.fromkeys(found)))))
    return f"Ignored processes: {named}" if named else ""


def left_out_line(judged: Iterable[Judged]) -> str:
    """The line "Excluded nodes, which accept no jobs: n3: drained: bad DIMM"; "" if no node was excluded."""
    found = dict.fromkeys(node for one in judged for node in one.test.nodes_left_out.split("; ") if node)
    named = clean("; ".join(first(list(found))))
    return f"Excluded nodes, which accept no jobs: {named}" if named else ""


def notices(judged: Iterable[Judged]) -> list[str]:
    """The lines that every output prints: simulated fault, ignored processes, excluded nodes."""
    tests = list(judged)
    records = records_of(tests)
    return [line for line in (simulated_line(records), ignored_line(records), left_out_line(tests)) if line]
