"""The cause of a slow collective: a link between ranks, a rank, or a choice of the library.

To find a slow rank or a slow link between two ranks, two test cases measure collectives of some of the ranks:

* leave one out: Each collective has all ranks but one.
* bisection: Each collective has half of the ranks. Each binary digit of the rank numbers divides the ranks into two
  halves: the ranks with the digit 0 and the ranks with the digit 1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from ..judge.evaluate import MatrixVerdict
from ..judge.verdicts import Verdict
from ..record import units
from ..record.link_classes import DIRECT_TYPES, PCI_CLASSES
from ..record.names import Result, is_collective
from ..record.units import MOST_NAMED

#: A slow link explains a slow collective if its deficit is at least this share of the collective's deficit. The share
#: is below 1, because only a part of NCCL's rings or trees uses the link.
MIN_SHARE = 0.5
ALGORITHM_NOTE = "NCCL ran "  # prefix of a note in a record
INSIDE = (*DIRECT_TYPES, *PCI_CLASSES)  # prefixes of the link classes inside a node
MAX_LINES = 3


@dataclass(frozen=True)
class Pairs:
    """A matrix of pairs that was measured in the same run as a collective.

    sentences: the sentences about the findings of the matrix.
    """

    result: Result
    matrix: MatrixVerdict
    sentences: tuple[str, ...]

    @property
    def deficit(self) -> float:
        """The fraction by which the worst FAIL cell is below its reference; 0 without a FAIL cell."""
        marked, _ = self.matrix.worst_cells(1)
        return max((-(cell.deviation or 0.0) for _, cell in marked if cell.verdict is Verdict.FAIL), default=0.0)

    @property
    def unknown(self) -> str:
        """The reason why the speed of the links is unknown; "" if the speed is known.

        The reason is a disturbance, or the reason of the worst cell.
        """
        if self.matrix.verdict not in (Verdict.INCOMPLETE, Verdict.DISTURBED):
            return ""
        marked, _ = self.matrix.worst_cells(1)
        return next(
            iter([*self.matrix.disturbed_sentences(), *(cell.reason for _, cell in marked)]), self.matrix.problem
        )


def is_pair_bandwidth(result: Result, collective: Result) -> bool:
    """Whether a result measures the bandwidth of pairs with the same type of memory as the collective."""
    return not is_collective(result) and result["metric"] != "latency" and result["memory"] == collective["memory"]


def explain(
    collective: Result, matrix: MatrixVerdict, content: Mapping[str, Any], pairs: Sequence[Pairs]
) -> Iterator[str]:
    """Yields sentences about the cause of a slow collective.

    matrix: the verdicts on the collective.
    content: the record of the collective.
    pairs: the matrices of pairs of the same run, with the same ranks and the same type of memory.
    """
    yield from rank_sentences(collective, content.get("topology") or {})
    marked, _ = matrix.worst_cells(1)
    slow = [
        (column, -cell.deviation) for (_, column), cell in marked if cell.verdict is Verdict.FAIL and cell.deviation
    ]
    if not slow or slow[0][1] <= 0:
        return
    column, deficit = slow[0]
    yield f"the collective is {100 * deficit:.1f} % slow ({column})"
    judged = [one for one in pairs if one.matrix.compared]
    slow_pairs = [one for one in judged if one.deficit > 0]
    causes = [one for one in slow_pairs if one.deficit >= MIN_SHARE * deficit]
    if causes:
        for one in sorted(causes, key=lambda one: -one.deficit)[:MAX_LINES]:
            findings = "; ".join(one.sentences) or f"a cell is {100 * one.deficit:.1f} % slow"
            yield f"its links explain this: {one.result['testcase']}: {findings}"
        return
    unknown = [f"{one.result['testcase']} has no verdict ({one.unknown})" for one in judged if one.unknown]
    if unknown:
        yield f"it is unknown whether its links explain this: {'; '.join(units.first(unknown, MAX_LINES))}"
    elif slow_pairs:
        worst = max(slow_pairs, key=lambda one: one.deficit)
        yield (
            f"its links do not explain this: the links lose at most {100 * worst.deficit:.1f} %"
            f" ({worst.result['testcase']}): check the algorithm and transports that the library chose"
        )
    elif judged:
        names = ", ".join(units.first([one.result["testcase"] for one in judged], MAX_LINES))
        yield f"its links are fine ({names}): check the algorithm and transports that the library chose"
    else:
        yield (
            "this run compared no link with a reference: measure the links too, to separate faults of links and library"
        )
    if not (leaves_out(collective) or measures_halves(collective)):
        yield f"to find a rank that slows the other ranks, run {PROGRAM}"
    yield from library_sentences(collective, content)


def library_sentences(collective: Result, content: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence about NCCL's algorithms, version and transports.

    If NCCL uses no peer access inside a node, a second sentence is a warning.
    """
    software = content.get("software") or {}
    ran = [note.removeprefix(ALGORITHM_NOTE) for note in collective["notes"] if note.startswith(ALGORITHM_NOTE)]
    lines = [
        *(f"ran {line}" for line in ran),
        *(f"{name} {software[name]}" for name in sorted(software) if " " in name),
    ]
    lines = [line for line in lines if line.startswith(("ran ", "NCCL "))]
    if lines:
        yield f"NCCL: {', '.join(line.removeprefix('NCCL ') for line in lines)}"
    transports = software.get("NCCL transports", "")
    classes = {word for row in content["topology"]["link_class"] for word in row if word.startswith(INSIDE)}
    one_node = len({device["node"] for device in content["devices"]}) == 1
    if one_node and classes and transports and "P2P" not in transports:
        yield (
            f"NCCL uses {transports} between devices of one node that are connected by {', '.join(sorted(classes))}:"
            " there is no peer access, or the environment forbids it (NCCL_P2P_DISABLE, NCCL_P2P_LEVEL)"
        )


PROGRAM = "collective_perf --testcase all_reduce_perf_without"
WITHOUT = "without-"  # prefix of the name of a column: all ranks except one
HALF = re.compile(r"digit(\d+)-is-([01])")  # name of a column: the ranks whose number has this binary digit

#: {memory: least gain of a collective without its slow rank, beyond the intervals}. Equal columns differ by more than
#: their intervals, in particular if ranks share the cores of a host.
MIN_GAINS = {"device": 0.03, "host": 0.10}
MAX_SPREAD = 0.5  # of equal columns, as a share of the gain
MIN_COLUMNS = 3  # with two columns, the healthy column is unknown


class Column(NamedTuple):
    """A column of a result: a collective of some of the ranks.

    low, high: the limits of the interval of the median.
    """

    name: str
    value: float
    low: float
    high: float


def leaves_out(result: Mapping[str, Any]) -> bool:
    """Whether each column of a result is a collective of all ranks but one."""
    return is_collective(result) and all(column.startswith(WITHOUT) for column in result["columns"])


def measures_halves(result: Mapping[str, Any]) -> bool:
    """Whether each column of a result is a collective of half of the ranks."""
    return is_collective(result) and all(HALF.fullmatch(column) for column in result["columns"])


def converged_columns(result: Mapping[str, Any]) -> list[Column]:
    """The columns of a result; [] if a column has no value or did not converge."""
    rows = [result[name][0] for name in ("values", "low", "high")]
    if any(value is None for row in rows for value in row) or not all(result["converged"][0]):
        return []  # without convergence, the interval may be that of a temporary state
    return list(map(Column, result["columns"], *rows))


def relative_difference(columns: Sequence[Column]) -> float:
    """The relative difference of the values: (largest value - smallest value) / smallest value."""
    return max(one.value for one in columns) / min(one.value for one in columns) - 1


def rank_sentences(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences about slow ranks, for the two test cases of this module.

    topology: the key `topology` of the record.
    """
    if leaves_out(result):
        yield from leave_one_out_sentences(result, topology)
    elif measures_halves(result) and topology.get("labels"):
        yield from half_sentences(result, list(topology["labels"]))


def slow_ranks(result: Mapping[str, Any]) -> tuple[list[Column], float]:
    """(fast columns, gain as a fraction), from collectives of all ranks but one. Each column lacks one rank.

    * One fast column: the collective is faster without its missing rank. This rank is slow.
    * Two fast columns: the collective is faster without either rank. The path between these two ranks is slow.
    * No fast column, gain 0: the columns do not differ clearly.
    """
    found, least = sorted(converged_columns(result), key=lambda one: -one.value), MIN_GAINS[result["memory"] or "host"]
    for count in (1, 2):
        fast, others = found[:count], found[count:]
        if not others or len(found) < MIN_COLUMNS or (count == 1 and len(others) < 2):
            continue
        gap = fast[-1].value / others[0].value - 1
        is_clear = min(one.low for one in fast) > (1 + least) * max(one.high for one in others)
        if is_clear and max(relative_difference(fast), relative_difference(others)) <= MAX_SPREAD * gap:
            return fast, gap
    return [], 0.0


def rank_links(label: str, topology: Mapping[str, Any]) -> list[str]:
    """The sorted link classes from a rank to all other ranks; [] if the rank is not in the topology."""
    labels = list(topology.get("labels") or [])
    classes = topology.get("link_class") or []
    if label not in labels or not classes:
        return []
    at = labels.index(label)
    return sorted(classes[at][other] for other in range(len(labels)) if other != at)


def links_differ(result: Mapping[str, Any], labels: Sequence[str], topology: Mapping[str, Any]) -> bool:
    """Whether the link classes of a rank in `labels` differ from the link classes of another rank of the result."""
    all_links = [rank_links(column.removeprefix(WITHOUT), topology) for column in result["columns"]]
    return any(rank_links(label, topology) != links for label in labels for links in all_links)


def leave_one_out_sentences(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences about one or two slow ranks, from collectives of all ranks but one."""
    found, gap = slow_ranks(result)
    slow = sorted(one.name.removeprefix(WITHOUT) for one in found)
    if slow and links_differ(result, slow, topology):
        names = " or ".join(slow)
        yield (
            f"excluding {names} makes the other ranks {100 * gap:.1f} % faster; this may be no fault, because the links"
            " of the ranks differ"
        )
    elif len(slow) == 1:
        (label,) = slow
        yield (
            f"excluding {label} makes the other ranks {100 * gap:.1f} % faster than excluding any other rank:"
            f" check {label} and its links, if all links are alike"
        )
    elif slow:
        first, second = slow
        yield (
            f"excluding {first} or {second} makes the other ranks {100 * gap:.1f} % faster than excluding any other"
            " rank: check the path between these two ranks, and the ranks"
        )


def half_columns(ranks: int) -> list[str]:
    """The names of the columns that collective_perf measures for this number of ranks, such as "digit0-is-1".

    Each column is a collective of half of the ranks. Halves with fewer than two ranks are left out.
    """
    return [
        f"digit{digit}-is-{bit}"
        for digit in range((ranks - 1).bit_length())
        for bit in (0, 1)
        if sum(rank >> digit & 1 == bit for rank in range(ranks)) >= 2
    ]


def halves_by_digit(result: Mapping[str, Any]) -> dict[int, dict[int, Column]]:
    """{binary digit of the rank number: {0 or 1: the column of the ranks with this value of the digit}}.

    The dictionary is empty if a column did not converge. A digit with only one column is left out.
    """
    digits: dict[int, dict[int, Column]] = {}
    for column in converged_columns(result):
        digit, bit = HALF.fullmatch(column.name).groups()
        digits.setdefault(int(digit), {})[int(bit)] = column
    return {digit: both for digit, both in digits.items() if len(both) == 2}


def slow_digits(result: Mapping[str, Any]) -> tuple[dict[int, int | None], float]:
    """({binary digit of the rank number: 0 or 1}, gain of the fast halves as a fraction).

    The ranks with this value of the digit are the slow half. If both halves of the digit are fast, the value is None.
    If no half is clearly slow, the function returns ({}, 0).
    """
    digits, least = halves_by_digit(result), MIN_GAINS[result["memory"] or "host"]
    sides: dict[int, int | None] = {}
    slow, fast = [], []
    for digit, both in digits.items():
        lower = min(both, key=lambda bit: both[bit].value)
        is_slow = both[1 - lower].low > (1 + least) * both[lower].high
        sides[digit] = lower if is_slow else None
        (slow if is_slow else fast).append(both[lower])
        fast.append(both[1 - lower])
    if not slow:
        return {}, 0.0
    gap = min(one.value for one in fast) / max(one.value for one in slow) - 1
    if gap < least or max(relative_difference(slow), relative_difference(fast)) > MAX_SPREAD * gap:
        return {}, 0.0
    return sides, gap


def suspect_ranks(sides: Mapping[int, int | None], labels: Sequence[str]) -> list[tuple[str, ...]]:
    """The labels of each rank, or of each pair of ranks, that can explain the slow halves.

    A slow rank is in every slow half and in no fast half. If both halves of a digit are fast, the path between two
    ranks is slow, because each half has only one of the two ranks.
    sides: the slow half of each digit, from `slow_digits`.
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


def half_sentences(result: Mapping[str, Any], labels: Sequence[str]) -> Iterator[str]:
    """Yields a sentence about slow ranks, from collectives of half of the ranks. labels: the labels of the ranks."""
    sides, gap = slow_digits(result)
    if not sides:
        return
    found = suspect_ranks(sides, labels)
    gain = f"halves of the ranks that exclude the cause are {100 * gap:.1f} % faster than the other halves"
    if len(found) == 1 and len(found[0]) == 1:
        yield f"check {found[0][0]} and its links, if all links are alike: {gain}"
    elif found and len(found) <= MOST_NAMED:
        names = "; ".join(" and ".join(one) for one in found)
        what = "the path between two ranks" if len(found[0]) == 2 else "one rank"
        yield f"check {what}, if all links are alike: {names}: {gain}"
    else:
        yield (
            f"some halves of the ranks are {100 * gap:.1f} % faster than other halves: no single rank explains this;"
            " two or more ranks are slow, or the links of the ranks differ"
        )
