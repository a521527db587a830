"""Soaks (--soak): wrong results of heated devices, cells that failed later, and lasting changes of values.

The cells of a soak are judged like the cells of a matrix. The value of a cell is a low quantile of its intervals. A
fifth of the intervals, and at least two intervals, are not better than this value. A link at half speed for a fifth of
the time is therefore FAIL. A single disturbed interval does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..record import grids
from ..record.names import Result, simulated_fault
from ..record.units import counted, first
from .disturbances import disturbance_sentences
from .rules import ORDER, STRAGGLER_LIMITS, Judged
from .verdicts import Verdict

MAX_SENTENCES = 3  # per type
MIN_BINS = 2  # on each side of a step
LASTING_SHARE = 0.9  # of the bins after a step: these must be worse than the middle of the step
MIN_STEP = 6.0  # in standard errors; noise rarely reaches 5 in 1,000 cells of 60 bins
SOAK_QUANTILE = 0.2  # of a cell's intervals
MIN_INTERVALS = 2  # a single interval may be disturbed
#: Rules by which a cell can be worse in the soak than before.
SOAK_RULES = (ORDER["off reference"], ORDER["disturbed"], ORDER["impossible"])


class Step(NamedTuple):
    """A lasting change of a cell during a soak.

    worse: the fraction by which the cell is worse after the change.
    at: seconds from the start of the soak to the change.
    lasting: number of intervals after the change in which the cell is worse.
    bins: number of all intervals after the change.
    """

    worse: float
    at: float
    lasting: int
    bins: int

    @property
    def duration(self) -> str:
        """Text such as "and was worse in 9 of 10 bins since"."""
        if self.lasting == self.bins:
            return "and stayed worse"
        return f"and was worse in {self.lasting} of {self.bins} bins since"


def soak_facts(record: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yields the arguments of `run_findings.Fact` for each finding of a soak."""
    soak = record["soak"]
    events = soak["events"]
    for device in soak["heated"]:
        if device["wrong"]:
            when = next((one["at"] for one in events if one["what"].startswith(f"{device['label']} computed")), None)
            since = "" if when is None else f", the first {time_text(when)}"
            yield (
                Verdict.FAIL,
                (
                    f"{device['label']} computed wrong bits in {device['wrong']} of {device['products']} products"
                    f" while it was heated{since}: it corrupts results without reporting an error"
                ),
                None,
                "computes wrong",
                device["label"],
            )
        elif not device["products"]:
            yield Verdict.INCOMPLETE, f"{device['label']} was not heated: the soak did not test it"
    if not soak["heated"]:
        yield Verdict.INCOMPLETE, "no device was heated: the soak tested no device"
    failed = sorted((one for one in events if " is " in one["what"]), key=lambda one: not is_corrupt(one))
    if soak["failures"] and (failed or not computes_wrong(soak)):
        passes = "1 pass" if soak["passes"] == 1 else f"{soak['passes']} passes"
        what = "; ".join(f"{one['what']} {time_text(one['at'])}" for one in failed[:MAX_SENTENCES])
        verdict = failed_cells_verdict(record)
        others = first(disturbance_sentences(soak), 1) if verdict is Verdict.DISTURBED else []
        sentence = f"{counted(soak['failures'], 'failure')} in {passes} of the soak"
        yield verdict, ": ".join(part for part in (sentence, what, *others) if part)
    if not soak["passes"]:
        yield Verdict.INCOMPLETE, "the soak ended before every cell was measured again: use a longer soak"
    devices = [
        f"{one['what']} {time_text(one['at'])}"
        for one in events
        if "held back" in one["what"] or " rose by " in one["what"]
    ]
    if devices:
        yield Verdict.WARN, f"during the soak {'; '.join(first(devices, MAX_SENTENCES))}"
    for matrix in soak["matrices"]:
        if changed := lasting_changes(matrix, soak["bin_seconds"]):
            (pair, step), *more = sorted(changed.items(), key=lambda item: -item[1].worse)
            rest = f", and {counted(len(more), 'more cell')} changed" if more else ""
            yield (
                Verdict.WARN,
                (
                    f"{matrix['testcase']}: {pair} became {100 * step.worse:.1f} % worse"
                    f" {time_text(step.at)} of the soak, {step.duration}{rest}"
                ),
            )


def failed_cells_verdict(record: Mapping[str, Any]) -> Verdict:
    """The verdict of a soak in which cells failed.

    * FAIL: a cell has corrupt data.
    * DISTURBED: an error or a timeout, while another process used the node.
    * INCOMPLETE: any other error or timeout.
    """
    if any(is_corrupt(one) for one in record["soak"]["events"]):
        return Verdict.FAIL
    is_disturbed = disturbance_sentences(record["soak"]) and not simulated_fault(record)
    return Verdict.DISTURBED if is_disturbed else Verdict.INCOMPLETE


def is_corrupt(event: Mapping[str, Any]) -> bool:
    """Whether an event of a soak reports a cell with wrong data."""
    return str(event["what"]).endswith(" is corrupt")


def computes_wrong(soak: Mapping[str, Any]) -> bool:
    """Whether a heated device computed wrong bits."""
    return any(device["wrong"] for device in soak["heated"])


def unmeasured_in_soak(record: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yields (sentence, index of the test case) for each test case with cells that the soak did not measure."""
    soak = record["soak"]
    found = {(one["testcase"], one["size_bytes"]): grids.numbers(one["count"]) for one in soak["matrices"]}
    for place, result in enumerate(record["results"] if soak["passes"] else []):
        ok = grids.where(result["status"], "ok")
        count = found.get((result["testcase"], result["size_bytes"]), np.zeros(ok.shape))
        lacking = int((ok & (count == 0)).sum()) if count.shape == ok.shape else int(ok.sum())
        if lacking:
            cells = counted(int(ok.sum()), "cell")
            yield f"{lacking} of {cells} of {result['testcase']} were not measured again in the soak", place


def time_text(seconds: float) -> str:
    """A time as text: "after 12.5 min"."""
    return f"after {seconds:.0f} s" if seconds < 120 else f"after {seconds / 60:.1f} min"


def lasting_changes(matrix: Mapping[str, Any], bin_seconds: float) -> dict[str, Step]:
    """{cell, such as "gpu0->gpu1": step} for cells that became worse by more than STRAGGLER_LIMITS and stayed worse."""
    found = {}
    for row, line in zip(matrix["rows"], matrix["bins"], strict=True):
        for column, bins in zip(matrix["columns"], line, strict=True):
            step = fit_step(bins, bin_seconds, matrix["unit"])
            if step is not None and step.worse > STRAGGLER_LIMITS[matrix["unit"]]:
                found[f"{row}->{column}"] = step
    return found


def fit_step(bins: Sequence[float | None], bin_seconds: float, unit: str) -> Step | None:
    """The step at which the values of a cell became lastingly worse; None if noise explains the values.

    bins: the mean value of each interval of the soak.
    """
    known = [(at, value) for at, value in enumerate(bins) if value is not None]
    best: tuple[float, Step] | None = None
    for split in range(MIN_BINS, len(known) - MIN_BINS + 1):
        before, later = ([value for _, value in part] for part in (known[:split], known[split:]))
        low, high = sum(before) / len(before), sum(later) / len(later)
        rest = sum((value - low) ** 2 for value in before) + sum((value - high) ** 2 for value in later)
        error = math.sqrt(rest / (len(known) - 2) * (1 / len(before) + 1 / len(later))) if len(known) > 2 else math.inf
        worse = (high - low if unit == "us" else low - high) / low if low else 0.0
        middle = (low + high) / 2
        lasting = sum(value > middle if unit == "us" else value < middle for value in later)
        stays = lasting >= LASTING_SHARE * len(later)
        if stays and worse > 0 and abs(high - low) > MIN_STEP * error and (best is None or rest < best[0]):
            best = (rest, Step(worse, known[split][0] * bin_seconds, lasting, len(later)))
    return best[1] if best else None


class SoakFinding(NamedTuple):
    """A finding about the cells of a test case in a soak.

    verdict: the best verdict that the finding allows.
    place: index of the test case.
    """

    verdict: Verdict
    sentence: str
    place: int


def soak_results(record: Mapping[str, Any]) -> Iterator[tuple[int, Result]]:
    """Yields (index, result) for each test case of a soak. The values of the result are from `lasting_value`."""
    soak = record.get("soak") or {"matrices": ()}
    found = {(one["testcase"], one["size_bytes"]): one for one in soak["matrices"]}
    for place, result in enumerate(record["results"]):
        matrix = found.get((result["testcase"], result["size_bytes"]))
        if matrix is None or "cells" in result:
            continue
        values = grids.numbers(result["values"])
        soaked = np.array([[lasting_value(cell, result["unit"]) for cell in row] for row in matrix["bins"]])
        if soaked.shape != values.shape:
            continue  # `unmeasured_in_soak` reports the missing values
        soaked = grids.from_array(np.where(np.isfinite(soaked), soaked, values))
        changed = dict.fromkeys(("values", "low", "high"), soaked)
        yield place, {**result, **changed, "others": soak.get("others") or result.get("others")}


def lasting_value(bins: Sequence[float | None], unit: str) -> float:
    """The value of a cell in the soak; NaN without a value.

    In the share SOAK_QUANTILE of its intervals, the cell is not better than this value.
    """
    known = sorted((one for one in bins if one is not None), reverse=unit == "us")
    if not known:
        return math.nan
    return known[min(len(known), max(MIN_INTERVALS, math.ceil(SOAK_QUANTILE * len(known)))) - 1]


def soak_findings(place: int, testcase: str, before: Judged | None, soaked: Judged | None) -> Iterator[SoakFinding]:
    """Yields findings about cells whose verdict in the soak (`soaked`) is worse than their verdict before the soak."""
    if before is None or soaked is None:
        return
    for verdict in (Verdict.FAIL, Verdict.DISTURBED):
        cells = np.argwhere(np.isin(soaked.rules, SOAK_RULES) & (soaked.codes == verdict) & (before.codes < verdict))
        if not len(cells):
            continue
        worst = max(cells.tolist(), key=lambda at: float(np.nan_to_num(soaked.worse[at[0], at[1]])))
        more = f"; {counted(len(cells) - 1, 'more cell')} too" if len(cells) > 1 else ""
        lasted = f"in {100 * SOAK_QUANTILE:.0f} % of the soak or more,"
        yield SoakFinding(verdict, f"{testcase}: {lasted} {soaked.cell(*worst).reason}{more}", place)
