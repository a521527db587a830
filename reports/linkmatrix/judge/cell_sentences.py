"""Sentences about cells: the measured value and the reference for each rule, and the result of remeasurements.

The program decides whether a remeasured cell was slow again and whether the healthy control cells changed, and records
both. If a cell is slow again and its controls are unchanged, the cell is slow. If the controls got worse too, the
machine was slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record.checking import is_of_matchings
from ..record.units import counted, figure

if TYPE_CHECKING:
    from ..record.names import Pair, Result
    from ..references.reading import Reference

#: Outcome of a remeasurement → its words.
OUTCOMES = {
    "reproduced": "reproduced",
    "intermittent": "slow in 2 of 4 measurements, so the second-worst value is used",
    "not-reproduced": "not reproduced",
}
MOST_REMEASURED = 5  # cells that are listed
LEAST_CONFIDENCE = 0.95  # of the interval of a median, as in src/core/statistics.cpp


class Cell(NamedTuple):
    """The data of a cell that sentences use.

    low, high: the interval of the median.
    limit: the maximum bandwidth of the path, in GB/s.
    worse: the fraction by which the cell is worse than the baseline of its link class.
    baseline: "the median" or "the best cell (54.31 GB/s)".
    behind: see `expected.behind_class`.
    table: name of the reference table.
    others: a sentence about the process that disturbed the cell.
    slow: a sentence about its slow samples, "" unless it is intermittent.
    link_class, adopted_class: the class that was found, and the class in the references.
    """

    pair: Pair
    status: str
    value: float
    low: float
    high: float
    limit: float
    unit: str
    worse: float
    behind: float
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
    """A missing reference: the table that lacks the cell, or without a table the reason why data is unverified."""
    if cell.table:
        return f"{name(cell.pair)} has no reference in the table '{cell.table}': adopt references again"
    return f"{name(cell.pair)} has no reference, and {cell.unverified}"


def no_table(cell: Cell) -> str:
    """A missing reference: the partition names no table, or a table without this test case."""
    return f"{name(cell.pair)} has no reference"


def other_unit(cell: Cell) -> str:
    """A reference in another unit than the cell."""
    assert cell.reference is not None
    return f"{name(cell.pair)} is measured in {cell.unit}, and its reference is in {cell.reference.unit}"


def impossible(cell: Cell) -> str:
    """A value above the limit of the path."""
    found = f"{name(cell.pair)} {quantity(cell.value, cell.unit)}"
    return f"{found} is more than its path can carry ({cell.limit:.0f} GB/s)"


def path_changed(cell: Cell) -> str:
    """The adopted and the found link class of a cell whose link class is worse than the adopted one."""
    path = f"{cell.adopted_class} -> {cell.link_class}"
    return f"{name(cell.pair)} {quantity(cell.value, cell.unit)}: path changed: {path}"


def path_unknown(cell: Cell) -> str:
    """The adopted link class of a cell whose link class is unknown."""
    return f"{name(cell.pair)} {quantity(cell.value, cell.unit)}: path unknown: adopted {cell.adopted_class}"


def off_reference(cell: Cell) -> str:
    """ "gpu2->gpu5 356.40 GB/s is 10.0 % under its reference 396.00 GB/s (allowed: 2.0 % under)"."""
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
    """The deviation of the cell, and the process that disturbed it."""
    off = cell.reference is not None and not cell.reference.low_limit <= cell.value <= cell.reference.high_limit
    if cell.slow and not off:
        return f"{name(cell.pair)}: {cell.slow}: {cell.others}"
    if cell.reference is not None:
        return f"{off_reference(cell)}: {cell.others}"
    return f"{below_class(cell)}: {cell.others}"


def intermittent(cell: Cell) -> str:
    """The slow samples of a cell, compared with its other samples."""
    return f"{name(cell.pair)} is intermittent: {cell.slow}"


def may_be_intermittent(cell: Cell) -> str:
    """The slow samples of a cell that is WARN at most: it has no short samples, or processors copy its data."""
    remedy = "again while nothing else runs" if "short samples" in cell.slow else "with --short-samples 72"
    return f"{name(cell.pair)} may be intermittent: {cell.slow}; measure it {remedy}"


def better(cell: Cell) -> str:
    """A value better than its tolerance: the reference is out of date, the machine is not at fault."""
    return f"{off_reference(cell)}: the reference does not describe this measurement, adopt references again"


def noisy(cell: Cell) -> str:
    """An interval of the median that crosses the limit on the slow side, with its confidence where known."""
    sure = f"{100 * confidence(cell.samples):.0f} % interval" if cell.samples else "interval"
    between = f"{quantity(cell.low, cell.unit)} to {quantity(cell.high, cell.unit)}"
    return f"{name(cell.pair)} is too noisy: the {sure} of its median, {between}, crosses the slowest allowed value"


def confidence(samples: int) -> float:
    """The confidence of the median's interval between two order statistics, as the programs choose these.

    The interval drops the k smallest and the k largest samples, with the largest k that keeps 95 %. Of seven samples it
    is minimum to maximum, with 1 - 2 / 2^7 = 98.4 %.
    """
    tail = chance = 0.5**samples  # the chance that at most k samples are below the median
    for k in range(1, samples // 2):
        chance *= (samples - k + 1) / k
        if 1 - 2 * (tail + chance) < LEAST_CONFIDENCE:
            break
        tail += chance
    return 1 - 2 * tail


def below_class(cell: Cell) -> str:
    """The deviation from the baseline of the link class."""
    than = f"{cell.baseline} of its link class"
    return f"{name(cell.pair)} {quantity(cell.value, cell.unit)} is {100 * cell.worse:.1f} % worse than {than}"


def straggling(cell: Cell) -> str:
    """The deviation from the other cells of the link class, by the ratio of each cell to its reference."""
    found = f"{name(cell.pair)} {quantity(cell.value, cell.unit)} is {100 * cell.behind:.1f} % worse"
    return f"{found} than its link class, relative to the references"


def in_part(cell: Cell) -> str:
    """A total that lacks the copies of a lost endpoint: no reference describes such a total."""
    why = "because an endpoint was lost: no reference describes a partial total"
    return f"{name(cell.pair)} was measured only partly, {why}"


def name(pair: Pair) -> str:
    """The name of a cell, as in performance variables: "gpu2->gpu5"."""
    return f"{pair[0]}->{pair[1]}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit."""
    return f"{figure(value, 3)} µs" if unit == "us" else f"{figure(value, 2)} {unit}"


def remeasured_lines(result: Result) -> list[str]:
    """A line for each remeasured cell and one for the controls; the cells that were not reproduced come first."""
    alone = "" if is_of_matchings(result) else " alone"
    lines = []
    for one in result["remeasured"]:
        before, after = (quantity(one[key], result["unit"]) for key in ("before", "after"))
        word = OUTCOMES[one["outcome"]] if alone or one["outcome"] != "intermittent" else "slow in some measurements"
        lines.append(f"{one['row']}->{one['column']} was {before}, and {after} when measured again{alone}: {word}")
    lines.sort(key=lambda line: line.endswith(": reproduced"))
    more = len(lines) - MOST_REMEASURED
    lines = lines[:MOST_REMEASURED] + ([f"and {more} more were measured again"] if more > 0 else [])
    return lines + ([controls(result)] if result.get("controls") else [])


def is_reproduced(one: Mapping[str, Any]) -> bool:
    """Whether a remeasured cell was slow again, in the median of its repeated measurements."""
    return bool(one["outcome"] == "reproduced")


def controls(result: Result) -> str:
    """ "4 control cells: gpu0->gpu2 +0.1 %, …: unchanged": the changes of healthy cells in the remeasurement."""
    cells = result["controls"]
    told = [f"{one['row']}->{one['column']} {100 * (one['after'] / one['before'] - 1):+.1f} %" for one in cells]
    verdict = "unchanged"
    if change := result.get("control_change", 0):
        verdict = "all better alone" if change < 0 else "all worse, so the result is inconclusive: measure again"
    return f"{counted(len(cells), 'control cell')}: {', '.join(told)}: {verdict}"


def confirmation(result: Result) -> str:
    """The result of the remeasurements in a sentence; "" without remeasurements."""
    again = result["remeasured"]
    if not again:
        return ""
    stayed = sum(is_reproduced(one) for one in again)
    alone = "" if is_of_matchings(result) else " alone"
    said = f"reproduced: {stayed} of {counted(len(again), 'outlying cell')}, measured again{alone}"
    return f"{said}; {controls(result)}" if result.get("controls") else f"{said}, without control cells"
