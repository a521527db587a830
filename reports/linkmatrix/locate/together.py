"""Why a collective is slow: a link between its ranks, or what the library made of links that are as they should be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.collective import is_collective
from ..record.names import PCI_CLASSES, Result
from . import rank_subsets

#: How much of a collective's deficit its worst link must have to explain it: half. Each ring or tree of NCCL has an
#: order of its own, so that a link carries a part of them, and the slowest one decides how long that part takes.
EXPLAINS = 0.5
NOTES = "NCCL ran "
INSIDE = ("NV", *PCI_CLASSES)  # link classes of a pair of devices in one node
MOST_LINES = 3


@dataclass(frozen=True)
class Pairs:
    """A matrix of pairs of the same run, and what was found in it."""

    result: Result
    matrix: MatrixVerdict
    sentences: tuple[str, ...]

    @property
    def deficit(self) -> float:
        """How much of its reference the worst cell lacks, as a fraction; 0 where none failed."""
        marked, _ = self.matrix.marked(1)
        return max((-(cell.deviation or 0.0) for _, cell in marked if cell.verdict is Verdict.FAIL), default=0.0)

    @property
    def unknown(self) -> str:
        """Why the speed of its links is unknown: another process, or the reason of the worst cell; "" where known."""
        if self.matrix.verdict not in (Verdict.INCOMPLETE, Verdict.DISTURBED):
            return ""
        marked, _ = self.matrix.marked(1)
        return next(
            iter([*self.matrix.disturbed_sentences(), *(cell.reason for _, cell in marked)]), self.matrix.problem
        )


def is_of_pairs(result: Result, collective: Result) -> bool:
    """Is a result of the bandwidth of pairs, between the memory that the collective was between?"""
    return not is_collective(result) and result["metric"] != "latency" and result["memory"] == collective["memory"]


def explain(
    collective: Result, matrix: MatrixVerdict, content: Mapping[str, Any], pairs: Sequence[Pairs]
) -> Iterator[str]:
    """What speaks for a link and what for the library, in sentences; none of a collective that is as fast as it should.

    content: the collective's record. pairs: the matrices of the same ranks and memory in the run.
    """
    yield from rank_subsets.sentences(collective, content.get("topology") or {})
    marked, _ = matrix.marked(1)
    slow = [(way, -cell.deviation) for (_, way), cell in marked if cell.verdict is Verdict.FAIL and cell.deviation]
    if not slow or slow[0][1] <= 0:
        return
    way, deficit = slow[0]
    yield f"all ranks together are {100 * deficit:.1f} % slow ({way})"
    judged = [one for one in pairs if one.matrix.held]
    found = [one for one in judged if one.deficit > 0]
    guilty = [one for one in found if one.deficit >= EXPLAINS * deficit]
    if guilty:
        for one in sorted(guilty, key=lambda one: -one.deficit)[:MOST_LINES]:
            said = "; ".join(one.sentences) or f"a cell is {100 * one.deficit:.1f} % slow"
            yield f"the links explain it: {one.result['testcase']}: {said}"
        return
    unknown = [f"{one.result['testcase']} has no verdict ({one.unknown})" for one in judged if one.unknown]
    if unknown:
        yield f"whether its links explain it nobody knows: {'; '.join(units.first(unknown, MOST_LINES))}"
    elif found:
        worst = max(found, key=lambda one: one.deficit)
        yield (
            f"the links do not explain it: they lose {100 * worst.deficit:.1f} % at most"
            f" ({worst.result['testcase']}): look at what the library made of them"
        )
    elif judged:
        names = ", ".join(units.first([one.result["testcase"] for one in judged], MOST_LINES))
        yield f"the links are as they should be ({names}): look at what the library made of them"
    else:
        yield (
            "no matrix of its links was held against references in this run: one tells a link from the library's choice"
        )
    if not (rank_subsets.leaves_out(collective) or rank_subsets.of_halves(collective)):
        yield f"whether one rank holds the others back, {rank_subsets.PROGRAM} tells"
    yield from choices(collective, content)


def choices(collective: Result, content: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about NCCL's algorithms, version and transports, with a warning if it uses no peer access."""
    software = content.get("software") or {}
    ran = [note.removeprefix(NOTES) for note in collective["notes"] if note.startswith(NOTES)]
    said = [*(f"ran {line}" for line in ran), *(f"{name} {software[name]}" for name in sorted(software) if " " in name)]
    said = [line for line in said if line.startswith(("ran ", "NCCL "))]
    if said:
        yield f"NCCL: {', '.join(line.removeprefix('NCCL ') for line in said)}"
    transports = software.get("NCCL transports", "")
    classes = {word for row in content["topology"]["link_class"] for word in row if word.startswith(INSIDE)}
    one_node = len({device["node"] for device in content["devices"]}) == 1
    if one_node and classes and transports and "P2P" not in transports:
        yield (
            f"NCCL goes by {transports} between devices of one node that are {', '.join(sorted(classes))}: without peer"
            " access, or its environment forbids it (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL)"
        )
