"""Sentences about the verdicts of cells, and about remeasured cells.

A program measures slow cells again. The program also measures some healthy cells again: the control cells. The record
contains whether each slow cell was reproduced, and whether the control cells changed. If the control cells are slower
too, the whole machine became slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record.checking import has_matchings
from ..record.units import counted, figure

if TYPE_CHECKING:
    from ..record.names import Pair, Result
    from ..references.reading import Reference

#: {outcome of a remeasurement in a record: its words}
OUTCOMES = {
    "reproduced": "reproduced",
    "intermittent": "slow in 2 of 4 measurements, so the second-worst value is used",
    "not-reproduced": "not reproduced",
}
MAX_REMEASURED = 5  # remeasured cells that are listed
MIN_CONFIDENCE = 0.95  # of a median's interval, as in src/core/statistics.cpp


class Cell(NamedTuple):
    """The data for a sentence about a cell.

    status: the state of the cell in the record, such as "ok" or "timeout".
    low, high: the limits of the interval of the median.
    limit: the maximum bandwidth of the path, in GB/s.
    worse: the fraction by which the cell is worse than the baseline of its link class.
    lag: see `expected.class_lag`.
    table: name of the reference table.
    unverified: why the data is not verified; "" if the data is verified.
    others: a sentence about the process that disturbed the cell.
    baseline: the baseline of the link class: "the median" or "the best cell (54.31 GB/s)".
    slow: a sentence about the slow samples of an intermittent cell; "" for any other cell.
    link_class, adopted_class: the class that the run found, and the class in the references.
    """

    pair: Pair
    status: str
    value: float
    low: float
    high: float
    limit: float
    unit: str
    worse: float
    lag: float
    reference: Reference | None
    table: str | None
    unverified: str
    others: str = ""
    baseline: str = "the median"
    samples: int = 0
    slow: str = ""
    link_class: str = ""
    adopted_class: str = ""


def no_reference(cell: Cell) -> str:
    """A sentence about a cell without a reference.

    The sentence names the reference table. Without a table, the sentence says why the data is not verified.
    """
    if cell.table:
        return f"{name(cell.pair)} has no reference in the table '{cell.table}': adopt references again"
    return f"{name(cell.pair)} has no reference, and {cell.unverified}"


def no_table(cell: Cell) -> str:
    """A sentence about a cell without a reference, because no reference table applies.

    No table applies if the partition names no table, or if the table lacks the test case.
    """
    return f"{name(cell.pair)} has no reference"


def other_unit(cell: Cell) -> str:
    """A sentence about a cell whose unit differs from the unit of its reference."""
    assert cell.reference is not None
    return f"{name(cell.pair)} is measured in {cell.unit}, but its reference is in {cell.reference.unit}"


def impossible(cell: Cell) -> str:
    """A sentence about a value above the limit of its path."""
    return (
        f"{name(cell.pair)} {quantity(cell.value, cell.unit)} is more than its path can carry ({cell.limit:.0f} GB/s)"
    )


def path_changed(cell: Cell) -> str:
    """A sentence about a changed path, with the link class in the references and the worse class of this run."""
    path = f"{cell.adopted_class} -> {cell.link_class}"
    return f"{name(cell.pair)} {quantity(cell.value, cell.unit)}: path changed: {path}"


def path_unknown(cell: Cell) -> str:
    """A sentence about a cell for which the run found no link class, with the class in the references."""
    value = f"{name(cell.pair)} {quantity(cell.value, cell.unit)}"
    return f"{value}: path unknown, but the reference is for {cell.adopted_class}"


def off_reference(cell: Cell) -> str:
    """A sentence about a value outside its tolerance.

    Example: "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under)".
    """
    reference = cell.reference
    assert reference is not None
    under = cell.value < reference.value
    allowed = reference.lower if under else reference.upper
    side = "under" if under else "over"
    return (
        f"{name(cell.pair)} {quantity(cell.value, reference.unit)} is"
        f" {100 * abs(cell.value / reference.value - 1):.1f} % {side} its reference"
        f" {quantity(reference.value, reference.unit)} (allowed: {100 * abs(allowed or 0):.1f} % {side})"
    )


def disturbed(cell: Cell) -> str:
    """A sentence about a disturbed cell, with the deviation of the cell and the name of the other process."""
    off = cell.reference is not None and not cell.reference.low_limit <= cell.value <= cell.reference.high_limit
    if cell.slow and not off:
        return f"{name(cell.pair)}: {cell.slow}: {cell.others}"
    if cell.reference is not None:
        return f"{off_reference(cell)}: {cell.others}"
    return f"{below_class(cell)}: {cell.others}"


def intermittent(cell: Cell) -> str:
    """A sentence that compares the slow samples of an intermittent cell with its other samples."""
    return f"{name(cell.pair)} is intermittent: {cell.slow}"


def may_be_intermittent(cell: Cell) -> str:
    """A sentence about the slow samples of a cell that may be intermittent, and how to measure the cell again."""
    remedy = "again while nothing else runs" if "short samples" in cell.slow else "with --short-samples 72"
    return f"{name(cell.pair)} may be intermittent: {cell.slow}; measure it {remedy}"


def better(cell: Cell) -> str:
    """A sentence about a value that is better than the tolerance allows, because the reference is out of date."""
    return f"{off_reference(cell)}: the reference is out of date: adopt references again"


def noisy(cell: Cell) -> str:
    """A sentence about a noisy cell, with the interval of the median and the confidence of this interval.

    A cell is noisy if this interval contains values that are slower than the tolerance allows.
    """
    interval = f"{100 * confidence(cell.samples):.0f} % interval" if cell.samples else "interval"
    between = f"{quantity(cell.low, cell.unit)} to {quantity(cell.high, cell.unit)}"
    return f"{name(cell.pair)} is too noisy: the {interval} of its median, {between}, crosses the slowest allowed value"


def confidence(samples: int) -> float:
    """The confidence of the interval of the median of this number of samples, as a fraction.

    The programs drop the k smallest and the k largest samples. The interval contains the other samples. k is the
    largest number for which the confidence is at least 95 %.
    Example: with seven samples, k is 0, and the confidence is 1 - 2 / 2^7 = 98.4 %.
    """
    tail = chance = 0.5**samples  # tail: probability that at most k samples are below the median
    for k in range(1, samples // 2):
        chance *= (samples - k + 1) / k
        if 1 - 2 * (tail + chance) < MIN_CONFIDENCE:
            break
        tail += chance
    return 1 - 2 * tail


def below_class(cell: Cell) -> str:
    """A sentence about a cell that is worse than the baseline of its link class."""
    value = f"{name(cell.pair)} {quantity(cell.value, cell.unit)}"
    return f"{value} is {100 * cell.worse:.1f} % worse than {cell.baseline} of its link class"


def straggling(cell: Cell) -> str:
    """A sentence about a cell that lags behind its link class; see `expected.class_lag`."""
    value = f"{name(cell.pair)} {quantity(cell.value, cell.unit)}"
    return f"{value}: value / reference is {100 * cell.lag:.1f} % worse than the median of its link class"


def partial_total(cell: Cell) -> str:
    """A sentence about a cell whose total lacks the copies of a lost endpoint."""
    why = "an endpoint was lost: a partial total has no reference"
    return f"{name(cell.pair)} was measured only partly, because {why}"


def name(pair: Pair) -> str:
    """The name of a cell: "gpu2->gpu5"."""
    return f"{pair[0]}->{pair[1]}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit: "54.31 GB/s" or "1.25 µs"."""
    return f"{figure(value, 3)} µs" if unit == "us" else f"{figure(value, 2)} {unit}"


def remeasured_lines(result: Result) -> list[str]:
    """A line per remeasured cell, then a line about the control cells.

    The cells that were not reproduced come first.
    """
    alone = "" if has_matchings(result) else " alone"
    lines = []
    for one in result["remeasured"]:
        before, after = (quantity(one[key], result["unit"]) for key in ("before", "after"))
        word = OUTCOMES[one["outcome"]] if alone or one["outcome"] != "intermittent" else "slow in some measurements"
        lines.append(f"{one['row']}->{one['column']} was {before}, and {after} when measured again{alone}: {word}")
    lines.sort(key=lambda line: line.endswith(": reproduced"))
    more = len(lines) - MAX_REMEASURED
    lines = lines[:MAX_REMEASURED] + ([f"and {more} more were measured again"] if more > 0 else [])
    return lines + ([controls(result)] if result.get("controls") else [])


def is_reproduced(one: Mapping[str, Any]) -> bool:
    """Whether a remeasured cell was reproduced. `one`: an entry of the result's `remeasured`."""
    return bool(one["outcome"] == "reproduced")


def controls(result: Result) -> str:
    """The changes of the control cells as text: "4 control cells: gpu0->gpu2 +0.1 %, …: unchanged"."""
    cells = result["controls"]
    changes = [f"{one['row']}->{one['column']} {100 * (one['after'] / one['before'] - 1):+.1f} %" for one in cells]
    verdict = "unchanged"
    if change := result.get("control_change", 0):
        verdict = "all faster alone" if change < 0 else "all slower, so the result is inconclusive: measure again"
    return f"{counted(len(cells), 'control cell')}: {', '.join(changes)}: {verdict}"


def confirmation(result: Result) -> str:
    """A clause with the number of reproduced cells and the state of the control cells; "" without remeasured cells."""
    remeasured = result["remeasured"]
    if not remeasured:
        return ""
    reproduced = sum(is_reproduced(one) for one in remeasured)
    alone = "" if has_matchings(result) else " alone"
    sentence = f"reproduced: {reproduced} of {counted(len(remeasured), 'outlying cell')}, measured again{alone}"
    return f"{sentence}; {controls(result)}" if result.get("controls") else f"{sentence}, without control cells"
