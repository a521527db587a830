"""One line per kind of test case: how many, their range, their share of limit and typical value, and their spread."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..judge.evaluate import MatrixVerdict
from ..judge.findings import percents, shares
from ..judge.verdicts import Verdict
from ..record.collective import is_collective, is_simulation
from ..record.matrix import ClassSummary
from ..record.reading import Result
from ..record.units import counted, figure
from ..runs.judging import Judged
from . import words

MOST_KINDS = 12
HEADS = ("kind", "cases", "range", "of limit", "typical", "spread")
DIGITS = 4  # of a number in a narrow table


@dataclass
class Kind:
    """The test cases of one metric between the same endpoints.

    testcases: names. summaries: the link classes of their matrices. of_limit, of_typical: worst and best cells as
    fractions.
    """

    name: str
    unit: str
    verdict: Verdict = Verdict.PASS
    testcases: set[str] = field(default_factory=set)
    summaries: list[ClassSummary] = field(default_factory=list)
    of_limit: list[float] = field(default_factory=list)
    of_typical: list[float] = field(default_factory=list)

    def columns(self) -> tuple[str, ...]:
        """The texts under HEADS."""
        limit, typical = (percents((min(of), max(of))) if of else "-" for of in (self.of_limit, self.of_typical))
        texts = self.name, str(len(self.testcases)), self.range(), limit, typical, self.spread()
        return tuple(text.replace(" to ", "–") for text in texts)

    def range(self) -> str:
        """ "395.6 to 396.1 GB/s" of all cells with DIGITS digits; "not measured" without a value."""
        if not self.summaries:
            return "not measured"
        ends = min(one.low for one in self.summaries), max(one.high for one in self.summaries)
        decimals = words.DECIMALS[self.unit]
        low, high = (figure(value, max(0, min(decimals, DIGITS - len(str(int(value)))))) for value in ends)
        return f"{low if low == high else f'{low} to {high}'} {words.UNITS[self.unit]}"

    def spread(self) -> str:
        """The largest difference between cells of one test case and link class, as a percentage of their median."""
        found = [(one.high - one.low) / one.median for one in self.summaries if one.count > 1 and one.median > 0]
        return f"{100 * max(found):.1f} %" if found else "-"


def kinds(judged: Iterable[Judged]) -> list[Kind]:
    """The kinds of test cases of a run, in the order of the run."""
    found: dict[tuple[str, str], Kind] = {}
    for one in judged:
        for result, matrix in compared_sizes(one):
            key = name_of(one, result), matrix.matrix.unit
            kind = found.setdefault(key, Kind(*key))
            kind.testcases.add(result["testcase"])
            kind.verdict = max(kind.verdict, one.of_matrix(matrix))
            kind.summaries += matrix.matrix.classes.values()
            for share in shares(one.test.record or {}, result, matrix).values():
                kind.of_limit += share.of_limit or ()
                kind.of_typical += share.of_typical or ()
    return list(found.values())


def compared_sizes(one: Judged) -> Iterator[tuple[Result, MatrixVerdict]]:
    """The largest size of each test case, and the smallest of latencies. Other sizes would only widen the range."""
    chosen: dict[str, tuple[Result, MatrixVerdict]] = {}
    for result, matrix in one.matrices:
        known, size = chosen.get(result["testcase"]), result["size_bytes"] or 0
        smaller = known is not None and size < (known[0]["size_bytes"] or 0)
        if known is None or smaller == (result["unit"] == "us"):
            chosen[result["testcase"]] = result, matrix
    yield from chosen.values()


def name_of(one: Judged, result: Result) -> str:
    """ "bandwidth, devices"."""
    backend = (one.test.record or {}).get("backend")
    if is_simulation(result):
        return "simulation"
    if is_collective(result):
        return "collectives, ranks" if backend == "mpi" else "collectives, devices"
    metric = str(result["metric"])
    if str(result["quantity"]).startswith("total"):
        metric = f"total {metric}"
    if backend == "mpi":
        return f"{metric}, ranks"
    if result["memory"] == "host":
        return f"{metric}, host" if backend != "host" else f"{metric}, host memory"
    if result["rows"] == result["columns"]:
        return f"{metric}, {'cores' if backend == 'host' else 'devices'}"
    return f"{metric}, within a device" if "local" in result["testcase"] else f"{metric}, devices"


def lines(found: Sequence[Kind], glyphs: dict[Verdict, str], width: int, most: int = MOST_KINDS) -> list[str]:
    """The table of the `most` worst kinds, without empty columns, and with small gaps if wider than `width`."""
    if not found:
        return []
    kept = found
    if len(found) > most:
        worst = sorted(found, key=lambda kind: -kind.verdict)[:most]
        kept = [kind for kind in found if kind in worst]
    marks = [" ", *(glyphs[kind.verdict] for kind in kept)]
    rows = [HEADS, *(kind.columns() for kind in kept)]
    filled = [at for at in range(len(HEADS)) if any(row[at] != "-" for row in rows[1:])]
    rows = [tuple(row[at] for at in filled) for row in rows]
    texts = aligned(marks, rows, "  ")
    texts = aligned(marks, rows, " ") if max(map(len, texts)) > width else texts
    more = len(found) - len(kept)
    return [*texts, *([f"  and {counted(more, 'more kind')}: linkmatrix show"] if more else [])]


def aligned(marks: Sequence[str], rows: Sequence[tuple[str, ...]], gap: str) -> list[str]:
    """The rows of a table, each behind its mark: the first column to the left, the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    texts = []
    for mark, (name, *rest) in zip(marks, rows, strict=True):
        cells = (f"{text:>{width}}" for text, width in zip(rest, widths[1:], strict=True))
        texts.append(f"{mark} {name:<{widths[0]}}{gap}{gap.join(cells)}")
    return texts
