"""Formats sizes and numbers for people."""

import re
from collections.abc import Iterable, Sequence

DIGITS, MOST_DECIMALS = 3, 9
SUFFIXES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
MOST_NAMED = 4  # items of a list that a sentence names
LINE_RATES = {"Gb/sec": 1.0, "Mb/s": 1e-3}  # the kernel's units, in Gb/s


def figure(value: float, decimals: int) -> str:
    """Formats a number with `decimals` decimals, or with more decimals to show three significant digits."""
    scaled = abs(value) * 10.0**decimals
    while decimals < MOST_DECIMALS and 0 < scaled < 10 ** (DIGITS - 1):
        decimals, scaled = decimals + 1, scaled * 10
    return f"{value:.{decimals}f}"


def first(texts: Sequence[str], most: int = MOST_NAMED) -> list[str]:
    """The first `most` texts. If there are more texts, the last item is their number, such as "3 more"."""
    more = len(texts) - most
    return [*texts[:most], *([f"{more} more"] if more > 0 else [])]


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """The first `most` names as a list in a sentence, such as "a, b, c, d and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def counted(number: int | None, noun: str) -> str:
    """A number with its noun, such as "1 pair" or "2 pairs". If the number is None: "pairs not counted"."""
    if number is None:
        return f"{noun}s not counted"
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(count: int | None) -> str:
    """A number of bytes as a whole number of the largest possible binary unit, such as "512 MiB" or "16 bytes"."""
    if not count:
        return "size not known" if count is None else "0 bytes"
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count % (1 << power) == 0:
            return f"{count >> power} {unit}"
    return counted(count, "byte")


def line_rate(text: str | None) -> float | None:
    """The line rate in Gb/s from a text of the kernel such as "400 Gb/sec (4X NDR)"; None for another text."""
    found = re.match(r"(\d+(?:\.\d+)?) (Gb/sec|Mb/s)", text or "")
    return float(found[1]) * LINE_RATES[found[2]] if found else None


def range_text(ranges: Iterable[tuple[int, int]]) -> str:
    """The text of ranges, such as "0-3,6" for ((0, 3), (6, 6))."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def number_ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """The ranges of consecutive numbers, such as ((0, 3), (6, 6)) for 0, 1, 2, 3, 6."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)
