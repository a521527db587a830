"""The cause of a slow collective: a link between its ranks, a rank, or the choice of the library.

Collectives of some of the ranks find a slow rank, or a slow link between two ranks. One test case leaves out each rank
in turn. Another test case measures halves of the ranks: each binary digit of a rank's number splits the ranks into two
halves.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.names import PCI_CLASSES, Result, is_collective
from ..record.units import MOST_NAMED

#: Least share of a collective's deficit that its worst link must have to explain it. Each ring or tree of NCCL has its
#: own order, so a link carries a part of them, and the slowest link decides the time of this part.
EXPLAINS = 0.5
NOTES = "NCCL ran "
INSIDE = ("NV", *PCI_CLASSES)  # link classes of a pair of devices in one node
MOST_LINES = 3


@dataclass(frozen=True)
class Pairs:
    """A matrix of pairs of the same run. sentences: the findings in this matrix."""

    result: Result
    matrix: MatrixVerdict
    sentences: tuple[str, ...]

    @property
    def deficit(self) -> float:
        """The deviation of the worst failed cell from its reference, as a fraction; 0 without a failed cell."""
        marked, _ = self.matrix.worst_cells(1)
        return max((-(cell.deviation or 0.0) for _, cell in marked if cell.verdict is Verdict.FAIL), default=0.0)

    @property
    def unknown(self) -> str:
        """Why the speed of the links is unknown: another process, or the reason of the worst cell; "" if known."""
        if self.matrix.verdict not in (Verdict.INCOMPLETE, Verdict.DISTURBED):
            return ""
        marked, _ = self.matrix.worst_cells(1)
        return next(
            iter([*self.matrix.disturbed_sentences(), *(cell.reason for _, cell in marked)]), self.matrix.problem
        )


def is_of_pairs(result: Result, collective: Result) -> bool:
    """Whether a result is the bandwidth of pairs between the same memory as the collective."""
    return not is_collective(result) and result["metric"] != "latency" and result["memory"] == collective["memory"]


def explain(
    collective: Result, matrix: MatrixVerdict, content: Mapping[str, Any], pairs: Sequence[Pairs]
) -> Iterator[str]:
    """Sentences about the cause of a slow collective; nothing for a collective that did not fail.

    content: the collective's record. pairs: the matrices of the same ranks and memory in the run.
    """
    yield from rank_sentences(collective, content.get("topology") or {})
    marked, _ = matrix.worst_cells(1)
    slow = [(way, -cell.deviation) for (_, way), cell in marked if cell.verdict is Verdict.FAIL and cell.deviation]
    if not slow or slow[0][1] <= 0:
        return
    way, deficit = slow[0]
    yield f"the collective is {100 * deficit:.1f} % slow ({way})"
    judged = [one for one in pairs if one.matrix.compared]
    found = [one for one in judged if one.deficit > 0]
    guilty = [one for one in found if one.deficit >= EXPLAINS * deficit]
    if guilty:
        for one in sorted(guilty, key=lambda one: -one.deficit)[:MOST_LINES]:
            said = "; ".join(one.sentences) or f"a cell is {100 * one.deficit:.1f} % slow"
            yield f"its links explain this: {one.result['testcase']}: {said}"
        return
    unknown = [f"{one.result['testcase']} has no verdict ({one.unknown})" for one in judged if one.unknown]
    if unknown:
        yield f"unknown whether its links explain this: {'; '.join(units.first(unknown, MOST_LINES))}"
    elif found:
        worst = max(found, key=lambda one: one.deficit)
        yield (
            f"its links do not explain this: they lose at most {100 * worst.deficit:.1f} %"
            f" ({worst.result['testcase']}): check the algorithm and transports that the library chose"
        )
    elif judged:
        names = ", ".join(units.first([one.result["testcase"] for one in judged], MOST_LINES))
        yield f"its links are fine ({names}): check the algorithm and transports that the library chose"
    else:
        yield (
            "this run compared no link with a reference: measure the links too, to separate faults of links and library"
        )
    if not (leaves_out(collective) or of_halves(collective)):
        yield f"to find a rank that slows the other ranks, run {PROGRAM}"
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
            f"NCCL uses {transports} between devices of one node that are connected by {', '.join(sorted(classes))}:"
            " there is no peer access, or the environment forbids it (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL)"
        )


PROGRAM = "collective_perf --testcase all_reduce_perf_without"
WITHOUT = "without-"  # prefix of the column of all ranks but this one
HALF = re.compile(r"digit(\d+)-is-([01])")  # column of the ranks whose number has this binary digit

#: Least gain without a slow rank, beyond the intervals, per memory. Columns are measured once and differ by more than
#: their intervals, most if ranks share the cores of a host. ALIKE: largest spread of equal columns, as a share of it.
GAPS, ALIKE = {"device": 0.03, "host": 0.10}, 0.5
FEWEST = 3  # columns: with two, the healthy column is unknown


class Column(NamedTuple):
    """The value of some of the ranks, with the interval of its median."""

    name: str
    value: float
    low: float
    high: float


def leaves_out(result: Mapping[str, Any]) -> bool:
    """Whether a result is a collective without each rank in turn."""
    return is_collective(result) and all(column.startswith(WITHOUT) for column in result["columns"])


def of_halves(result: Mapping[str, Any]) -> bool:
    """Whether a result is a collective of halves of the ranks."""
    return is_collective(result) and all(HALF.fullmatch(column) for column in result["columns"])


def columns_of(result: Mapping[str, Any]) -> list[Column]:
    """The columns in the order of the record; [] if a column has no value or did not converge."""
    rows = [result[name][0] for name in ("values", "low", "high")]
    if any(value is None for row in rows for value in row) or not all(result["converged"][0]):
        return []  # without convergence, the interval may be that of a temporary state
    return list(map(Column, result["columns"], *rows))


def spread(found: Sequence[Column]) -> float:
    """(largest value - smallest value) / smallest value."""
    return max(one.value for one in found) / min(one.value for one in found) - 1


def rank_sentences(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about the ranks from a collective of some of the ranks. topology: of the record."""
    if leaves_out(result):
        yield from of_left_out(result, topology)
    elif of_halves(result) and topology.get("labels"):
        yield from of_slow_halves(result, list(topology["labels"]))


def holding_back(result: Mapping[str, Any]) -> tuple[list[Column], float]:
    """(the rank without which all other ranks are faster, or two such ranks; the gain as a fraction).

    Leaving out a slow rank makes the collective fast; a slow link needs one of its two ranks left out. ([], 0) if all
    ranks are alike, or if the difference is not clear.
    """
    found, least = sorted(columns_of(result), key=lambda one: -one.value), GAPS[result["memory"] or "host"]
    for count in (1, 2):
        cured, others = found[:count], found[count:]
        if not others or len(found) < FEWEST or (count == 1 and len(others) < 2):
            continue
        gap = cured[-1].value / others[0].value - 1
        clear = min(one.low for one in cured) > (1 + least) * max(one.high for one in others)
        if clear and max(spread(cured), spread(others)) <= ALIKE * gap:
            return cured, gap
    return [], 0.0


def links_of(label: str, topology: Mapping[str, Any]) -> list[str]:
    """The sorted link classes from a rank to all other ranks; [] if the rank is not in the topology."""
    labels = list(topology.get("labels") or [])
    classes = topology.get("link_class") or []
    if label not in labels or not classes:
        return []
    at = labels.index(label)
    return sorted(classes[at][other] for other in range(len(labels)) if other != at)


def links_differ(result: Mapping[str, Any], cured: Sequence[str], topology: Mapping[str, Any]) -> bool:
    """Whether the links of these ranks differ from those of any rank."""
    all_links = [links_of(column.removeprefix(WITHOUT), topology) for column in result["columns"]]
    return any(links_of(label, topology) != links for label in cured for links in all_links)


def of_left_out(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about the ranks that were left out in turn."""
    found, gap = holding_back(result)
    cured = sorted(one.name.removeprefix(WITHOUT) for one in found)
    if cured and links_differ(result, cured, topology):
        names = " or ".join(cured)
        yield (
            f"without {names}, the other ranks are {100 * gap:.1f} % faster; this may be no fault, because the links of"
            " the ranks differ"
        )
    elif len(cured) == 1:
        (label,) = cured
        yield (
            f"without {label}, the other ranks are {100 * gap:.1f} % faster than without any other rank:"
            f" check {label} and its links, if all links are alike"
        )
    elif cured:
        first, second = cured
        yield (
            f"without {first} or {second}, the other ranks are {100 * gap:.1f} % faster than without any other rank:"
            " check the path between these two ranks, and the ranks"
        )


def half_columns(ranks: int) -> list[str]:
    """The columns that collective_perf measures: halves with two ranks or more."""
    digits = range((ranks - 1).bit_length())
    numbers = range(ranks)
    return [
        f"digit{digit}-is-{of}"
        for digit in digits
        for of in (0, 1)
        if sum(number >> digit & 1 == of for number in numbers) >= 2
    ]


def by_digit(result: Mapping[str, Any]) -> dict[int, dict[int, Column]]:
    """{digit: {0 or 1: column}} of the digits with both halves."""
    digits: dict[int, dict[int, Column]] = {}
    for column in columns_of(result):
        digit, of = HALF.fullmatch(column.name).groups()
        digits.setdefault(int(digit), {})[int(of)] = column
    return {digit: both for digit, both in digits.items() if len(both) == 2}


def slow_digits(result: Mapping[str, Any]) -> tuple[dict[int, int | None], float]:
    """({digit: its slow half, None if both are fast}, gain of the fast halves as a fraction).

    ({}, 0) if no half is slow, if both halves of a digit are slow, or if the difference is not clear.
    """
    digits, least = by_digit(result), GAPS[result["memory"] or "host"]
    sides: dict[int, int | None] = {}
    slow, fast = [], []
    for digit, both in digits.items():
        lower = min(both, key=lambda of: both[of].value)
        is_slow = both[1 - lower].low > (1 + least) * both[lower].high
        sides[digit] = lower if is_slow else None
        (slow if is_slow else fast).append(both[lower])
        fast.append(both[1 - lower])
    if not slow:
        return {}, 0.0
    gap = min(one.value for one in fast) / max(one.value for one in slow) - 1
    if gap < least or max(spread(slow), spread(fast)) > ALIKE * gap:
        return {}, 0.0
    return sides, gap


def suspects(sides: Mapping[int, int | None], labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Single ranks, or pairs of ranks, that are in every slow half and in no fast half.

    If both halves of a digit are fast, no single rank is slow. Then the path between two ranks that this digit
    separates is slow.
    """

    def agrees(rank: int, digit: int) -> bool:
        return rank >> digit & 1 == sides[digit]

    known = [digit for digit, side in sides.items() if side is not None]
    split = [digit for digit, side in sides.items() if side is None]
    inside = [rank for rank in range(len(labels)) if all(agrees(rank, digit) for digit in known)]
    if not split:
        return [(labels[rank],) for rank in inside]
    return [
        (labels[one], labels[other])
        for one, other in combinations(inside, 2)
        if all((one ^ other) >> digit & 1 for digit in split)
    ]


def of_slow_halves(result: Mapping[str, Any], labels: Sequence[str]) -> Iterator[str]:
    """Sentences about halves of the ranks. labels: of the ranks."""
    sides, gap = slow_digits(result)
    if not sides:
        return
    found = suspects(sides, labels)
    said = f"halves of the ranks without it are {100 * gap:.1f} % faster than the other halves"
    if len(found) == 1 and len(found[0]) == 1:
        yield f"check {found[0][0]} and its links, if all links are alike: {said}"
    elif found and len(found) <= MOST_NAMED:
        names = "; ".join(" and ".join(one) for one in found)
        what = "the path between two ranks" if len(found[0]) == 2 else "one rank"
        yield f"check {what}, if all links are alike: {names}: {said}"
    else:
        yield (
            f"some halves of the ranks are {100 * gap:.1f} % faster than other halves: no single rank explains this;"
            " two or more ranks are slow, or the links of the ranks differ"
        )
