"""Which rank holds the others back, by the halves of them: each binary digit of its number tells one from the other."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ..record.collective import is_collective
from ..record.units import MOST_NAMED
from .left_out import ALIKE, GAPS

COLUMN = re.compile(r"digit(\d+)-is-([01])")  # the half of the ranks of whose number that binary digit is so


def columns(ranks: int) -> list[str]:
    """Of so many ranks, as collective_perf measures them: halves that have two ranks or more."""
    digits = range((ranks - 1).bit_length())
    numbers = range(ranks)
    return [
        f"digit{digit}-is-{of}"
        for digit in digits
        for of in (0, 1)
        if sum(number >> digit & 1 == of for number in numbers) >= 2
    ]


class Half(NamedTuple):
    """What one half of the ranks reaches, with the interval of its median."""

    value: float
    low: float
    high: float


def of_halves(result: Mapping[str, Any]) -> bool:
    """Is a result of a collective of halves of the ranks?"""
    return is_collective(result) and all(COLUMN.fullmatch(column) for column in result["columns"])


def by_digit(result: Mapping[str, Any]) -> dict[int, dict[int, Half]]:
    """Both halves of each digit that has two; nothing where a value is missing, or is noise."""
    rows = [result[name][0] for name in ("values", "low", "high")]
    if any(value is None for row in rows for value in row) or not all(result["converged"][0]):
        return {}
    digits: dict[int, dict[int, Half]] = {}
    for column, *half in zip(result["columns"], *rows, strict=True):
        digit, of = COLUMN.fullmatch(column).groups()
        digits.setdefault(int(digit), {})[int(of)] = Half(*half)
    return {digit: both for digit, both in digits.items() if len(both) == 2}


def clearly_slower(slow: Half, fast: Half, least: float) -> bool:
    """Is one slower than the other by more than they differ from one column to the next?"""
    return fast.low > (1 + least) * slow.high


def slow_digits(result: Mapping[str, Any]) -> tuple[dict[int, int | None], float]:
    """(by digit the half that is slow, None where both are fast; by how much the fast ones are faster).

    Nothing where none is slow, where both halves of a digit are, or where the step between slow and fast is not clear.
    """
    digits, least = by_digit(result), GAPS[result["memory"] or "host"]
    sides: dict[int, int | None] = {}
    slow, fast = [], []
    for digit, both in digits.items():
        lower = min(both, key=lambda of: both[of].value)
        is_slow = clearly_slower(both[lower], both[1 - lower], least)
        sides[digit] = lower if is_slow else None
        (slow if is_slow else fast).append(both[lower])
        fast.append(both[1 - lower])
    if not slow:
        return {}, 0.0
    gap = min(one.value for one in fast) / max(one.value for one in slow) - 1
    if gap < least or max(spread(slow), spread(fast)) > ALIKE * gap:
        return {}, 0.0
    return sides, gap


def spread(halves: Sequence[Half]) -> float:
    """How far apart their values are, as a fraction of the least."""
    return max(one.value for one in halves) / min(one.value for one in halves) - 1


def suspects(sides: Mapping[int, int | None], labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Single ranks, or else pairs with the way between them, that are in every slow half and in no fast one.

    A rank is in one half of each digit: where both halves of one are fast, no single rank is slow, but what lies
    between two that this digit tells apart.
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


def sentences(result: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    """What the halves say of the ranks. topology: the record's, with a label for each."""
    labels = list(topology.get("labels") or [])
    if not of_halves(result) or not labels:
        return
    sides, gap = slow_digits(result)
    if not sides:
        return
    found = suspects(sides, labels)
    said = f"halves of the ranks without it are {100 * gap:.1f} % faster"
    if len(found) == 1 and len(found[0]) == 1:
        yield f"{found[0][0]} or what joins it to the others holds them back, if their links are alike: {said}"
    elif found and len(found) <= MOST_NAMED:
        names = "; ".join(" and ".join(one) for one in found)
        what = "the way between two holds them back" if len(found[0]) == 2 else "one holds them back"
        yield f"{what}, if their links are alike: {names}: {said}"
    else:
        yield (
            f"some halves of the ranks are {100 * gap:.1f} % faster than others, which no single rank explains:"
            " two or more hold the others back, or their links are not alike"
        )
