"""The summary of a run, in up to MAX_LINES lines of a terminal, without matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TextIO

from ..errors import clean
from ..judge.findings import class_shares, percents
from ..judge.verdicts import Verdict
from ..record.names import HANDOVER, is_collective, is_simulation
from ..record.units import counted, figure, first
from . import words
from .screen import Screen
from .words import MAX_FINDINGS

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.matrix import ClassSummary
    from ..record.names import Result
    from ..runs.judging import Judged
    from .analysis import Analysis
    from .findings import RunFinding

MAX_LINES = 25
MAX_FINDING_LINES = 3  # per finding
MIN_KINDS = 3  # printed even if MAX_LINES is exceeded
MIN_FINDINGS = 1  # printed even if MAX_LINES is exceeded
MAX_KINDS = 12
HEADS = ("kind", "cases", "range", "of limit", "typical", "spread")
DIGITS = 4  # of a number in a narrow table
MAX_NODES, MAX_CHARACTERS = 20, 300  # lines about nodes, and their length
OUT_OF_SERVICE = "out of service"


def show(
    analysis: Analysis, rest: Sequence[str] = (), file: TextIO | None = None, width: int | None = None, more: int = 0
) -> None:
    """Prints machine, kinds of test cases, findings, verdict, meaning and next step.

    rest: further lines, printed without wrapping.
    more: number of lines that the caller prints in addition.
    """
    screen, found = Screen(file, width), analysis.findings
    top = [*analysis.notices, *filter(None, [machine(analysis)])]
    bottom = [*filter(None, [analysis.meaning]), *analysis.only_step]
    used = 1 + len(rest) + more + sum(len(screen.wrapped(line)) for line in [*top, *bottom])
    room = (
        MAX_LINES - used - 2 - (MAX_FINDING_LINES + 1 if found else 0)
    )  # 2: heads of the table, and the number of further kinds
    most = max(MIN_KINDS, min(MAX_KINDS, room))
    table = kind_lines(kinds(analysis.judged), screen, most)
    for line in top:
        screen.print(line, "bold")
    for line in [*table, *finding_lines(screen, found, MAX_LINES - used - len(table))]:
        screen.print(screen.text(line))
    screen.print(screen.badge(analysis.verdict) + screen.text(f"  {words.verdict_tally(analysis.judged)}"))
    for line in bottom:
        screen.print(line)
    for line in rest:
        screen.print(screen.text(line))


def machine(analysis: Analysis) -> str:
    """The machines, software and start of a run; "" without a record."""
    records = sorted(analysis.records, key=lambda record: str(record["started"]))
    others = dict.fromkeys(map(words.measured, records))
    also = [f"also {text}" for text in others if text != words.measured(records[0])]
    return "; ".join([*map(words.provenance, records[:1]), *also])


def finding_lines(screen: Screen, findings: Sequence[RunFinding], room: int) -> list[str]:
    """The sentences of the most urgent findings, in up to `room` lines."""
    lines: list[str] = []
    shown = 0
    for one in findings[:MAX_FINDINGS]:
        more = screen.wrapped(one.text, indent=2, hang=2)
        more = more if len(more) <= MAX_FINDING_LINES else [*more[: MAX_FINDING_LINES - 1], "    …"]
        if shown >= MIN_FINDINGS and len(lines) + len(more) >= room:
            break
        lines, shown = [*lines, *more], shown + 1
    rest = len(findings) - shown
    return [*lines, *([f"  and {rest} more: linkmatrix show"] if rest else [])]


@dataclass
class Kind:
    """The test cases with the same metric and type of endpoints, such as "bandwidth, devices".

    summaries: the link classes of all matrices.
    of_limit: (worst cell, best cell), as fractions of the limit.
    of_typical: (worst cell, best cell), as fractions of the typical value.
    """

    name: str
    unit: str
    verdict: Verdict = Verdict.PASS
    testcases: set[str] = field(default_factory=set)
    summaries: list[ClassSummary] = field(default_factory=list)
    of_limit: list[float] = field(default_factory=list)
    of_typical: list[float] = field(default_factory=list)

    def columns(self) -> tuple[str, ...]:
        """The row of the table, with a text per column of HEADS."""
        limit, typical = (percents((min(of), max(of))) if of else "-" for of in (self.of_limit, self.of_typical))
        texts = self.name, str(len(self.testcases)), self.range(), limit, typical, self.spread()
        return tuple(text.replace(" to ", "–") for text in texts)

    def range(self) -> str:
        """The lowest and highest value, with DIGITS digits: "395.6 to 396.1 GB/s". Without a value: "not measured"."""
        if not self.summaries:
            return "not measured"
        ends = min(one.low for one in self.summaries), max(one.high for one in self.summaries)
        decimals = words.DECIMALS[self.unit]
        low, high = (figure(value, max(0, min(decimals, DIGITS - len(str(int(value)))))) for value in ends)
        return f"{low if low == high else f'{low} to {high}'} {words.UNITS[self.unit]}"

    def spread(self) -> str:
        """The largest difference between cells of one test case and link class, in % of their median."""
        found = [(one.high - one.low) / one.median for one in self.summaries if one.count > 1 and one.median > 0]
        return f"{100 * max(found):.1f} %" if found else "-"


def kinds(judged: Iterable[Judged]) -> list[Kind]:
    """The kinds of test cases of a run, in the order of the run."""
    found: dict[tuple[str, str], Kind] = {}
    for one in judged:
        for result, matrix in compared_sizes(one):
            key = kind_name(one, result), matrix.matrix.unit
            kind = found.setdefault(key, Kind(*key))
            kind.testcases.add(result["testcase"])
            kind.verdict = max(kind.verdict, one.matrix_verdict(matrix))
            kind.summaries += matrix.matrix.classes.values()
            for share in class_shares(one.test.record or {}, result, matrix).values():
                kind.of_limit += share.of_limit or ()
                kind.of_typical += share.of_typical or ()
    return list(found.values())


def compared_sizes(judged: Judged) -> Iterator[tuple[Result, MatrixVerdict]]:
    """Yields one matrix per test case. Bandwidths have the largest size, and latencies the smallest size."""
    chosen: dict[str, tuple[Result, MatrixVerdict]] = {}
    for result, matrix in judged.matrices:
        known, size = chosen.get(result["testcase"]), result["size_bytes"] or 0
        smaller = known is not None and size < (known[0]["size_bytes"] or 0)
        if known is None or smaller == (result["unit"] == "us"):
            chosen[result["testcase"]] = result, matrix
    yield from chosen.values()


def kind_name(judged: Judged, result: Result) -> str:
    """The name of a result's kind, such as "bandwidth, devices"."""
    backend = (judged.test.record or {}).get("backend")
    if is_simulation(result):
        return "simulation"
    if is_collective(result):
        return "collectives, ranks" if backend == "mpi" else "collectives, devices"
    metric = "visibility" if result["quantity"] == HANDOVER else str(result["metric"])
    if str(result["quantity"]).startswith("total"):
        metric = f"total {metric}"
    if backend == "mpi":
        return f"{metric}, ranks"
    if result["memory"] == "host":
        return f"{metric}, host" if backend != "host" else f"{metric}, host memory"
    if result["rows"] == result["columns"]:
        return f"{metric}, {'cores' if backend == 'host' else 'devices'}"
    return f"{metric}, within a device" if "local" in result["testcase"] else f"{metric}, devices"


def kind_lines(kinds: Sequence[Kind], screen: Screen, most: int = MAX_KINDS) -> list[str]:
    """The rows of up to `most` kinds. Kinds with the worst verdicts are preferred. Empty columns are omitted.

    Two spaces separate columns; one space if the table would otherwise be wider than the screen.
    """
    if not kinds:
        return []
    kept = kinds
    if len(kinds) > most:
        worst = sorted(kinds, key=lambda kind: -kind.verdict)[:most]
        kept = [kind for kind in kinds if kind in worst]
    marks = [" ", *(screen.glyphs[kind.verdict] for kind in kept)]
    rows = [HEADS, *(kind.columns() for kind in kept)]
    filled = [at for at in range(len(HEADS)) if any(row[at] != "-" for row in rows[1:])]
    rows = [tuple(row[at] for at in filled) for row in rows]
    texts = aligned(marks, rows, "  ")
    texts = aligned(marks, rows, " ") if max(map(len, texts)) > screen.width else texts
    more = len(kinds) - len(kept)
    return [*texts, *([f"  and {counted(more, 'more kind')}: linkmatrix show"] if more else [])]


def aligned(marks: Sequence[str], rows: Sequence[tuple[str, ...]], gap: str) -> list[str]:
    """The rows of a table, each after its mark. The first column is aligned left. Others are aligned right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    texts = []
    for mark, (name, *rest) in zip(marks, rows, strict=True):
        cells = (f"{text:>{width}}" for text, width in zip(rest, widths[1:], strict=True))
        texts.append(f"{mark} {name:<{widths[0]}}{gap}{gap.join(cells)}")
    return texts


class NodeResult(NamedTuple):
    """A result of a node. Results are sorted by verdict.

    worse: the fraction by which the worst cell is worse than expected.
    """

    verdict: Verdict
    worse: float
    node: str
    text: str


def node_results(node: str, judged: Judged) -> Iterator[NodeResult]:
    """Yields one result per matrix of a test of a node, with the first reason of its verdict."""
    for place, (result, matrix) in enumerate(judged.matrices):
        verdict, (marked, _) = judged.matrix_verdict(matrix), matrix.worst_cells(1)
        worse = max((matrix.worse(pair) or 0.0 for pair, _ in marked), default=0.0)
        known = [(cell.verdict, cell.reason) for _, cell in marked]
        known += [(fact.verdict, fact.sentence) for fact in judged.facts if fact.result in (None, place)]
        said = [sentence for of, sentence in known if of is verdict]
        said += [f"{matrix.unjudged} cells have no reference"] if verdict is Verdict.NOT_JUDGED else []
        yield NodeResult(verdict, worse, node, ": ".join([result["testcase"], *[*said, *judged.reasons][:1]]))
    if judged.verdict_beyond_cells is not None:
        yield NodeResult(judged.verdict, 0.0, node, "; ".join(judged.reasons) or judged.test.name)


def node_lines(judged: list[Judged]) -> list[str]:
    """The number of nodes per verdict, then the nodes that are not PASS, the worst first; [] for a single node."""
    worst: dict[str, NodeResult] = {}
    out = [f"  {OUT_OF_SERVICE} {one.test.node}: {one.test.unmeasured}" for one in judged if one.test.out_of_service]
    for one in judged:
        if not one.test.out_of_service and (node := words.node_of(one)):
            worst[node] = max([*([worst[node]] if node in worst else []), *node_results(node, one)])
    if len(worst) + len(out) < 2:
        return []
    verdicts = [one.verdict for one in worst.values()]
    counts = ", ".join(f"{verdicts.count(one)} {words.WORDS[one]}" for one in reversed(words.ORDER) if one in verdicts)
    counts += f", {len(out)} {OUT_OF_SERVICE}" if out else ""
    bad = [one for one in sorted(worst.values(), reverse=True) if one.verdict is not Verdict.PASS]
    listed = [f"  {words.WORDS[one.verdict]:<10} {clean(f'{one.node}: {one.text}')}" for one in bad[:MAX_NODES]]
    listed = [line[:MAX_CHARACTERS] for line in listed]
    out_of_service = [clean(line)[:MAX_CHARACTERS] for line in first(out, MAX_NODES)]
    more = [f"  and {len(bad) - MAX_NODES} more: linkmatrix report"] if len(bad) > MAX_NODES else []
    return [f"{counted(len(worst) + len(out), 'node')}: {counts}", *listed, *more, *out_of_service]
