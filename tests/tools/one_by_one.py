"""The rules of judging in plain Python, one cell after the other: what linkmatrix.judge is held against."""

import math
import statistics

from linkmatrix.judge.expected import is_worse
from linkmatrix.judge.verdicts import CellVerdict, Verdict
from linkmatrix.record.units import figure

IMPLAUSIBLE = 1.02
HANDOVER = "handover"  # the quantity of a visibility test
NEVER = "its program verified no data"
STRAGGLER_LIMITS = {"GB/s": 0.02, "us": 0.10}
NEAR, FAR = 0.9, 2.0  # of the tolerance
MIN_CONFIDENCE = 0.95


def quantity(value, unit):
    return f"{figure(value, 3)} µs" if unit == "us" else f"{figure(value, 2)} {unit}"


def classes(result):
    """{link class: (count, least, median, largest)} of the cells that are ok."""
    groups = {}
    for r, row in enumerate(result["status"]):
        for c, status in enumerate(row):
            if status == "ok" and result["values"][r][c] is not None:
                groups.setdefault(result["link_class"][r][c] or "unknown", []).append(result["values"][r][c])
    return {name: (len(of), min(of), statistics.median(of), max(of)) for name, of in groups.items()}


def confidence(samples):
    """Of the median's interval: the most samples are dropped that leave 95 %."""
    sure = {k: 1 - 2 * sum(math.comb(samples, below) for below in range(k + 1)) / 2**samples for k in range(samples)}
    kept = [k for k in range(1, (samples + 1) // 2) if sure[k] >= MIN_CONFIDENCE]
    return sure[max(kept, default=0)]


def cells_of(result, references, table):
    """{pair: CellVerdict} of all that applies, and of what has a reference and is not there."""
    table = table if table and references.covers(table, result["testcase"]) else None
    own = references.cells(table, result["testcase"], result["rows"], result["columns"]) if table else {}
    shared = references.classes(table, result["testcase"]) if table else {}
    classes = references.matrix_classes(table, result["testcase"], result["rows"], result["columns"])
    expected, reached, paths = {}, {}, {}
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            if result["status"][r][c] != "not-applicable":
                group = result["link_class"][r][c] or "unknown"
                paths[r, c] = (classes.cell_class((row, column), group) if classes else group), group
                reference = expected[r, c] = own.get((row, column)) or shared.get(paths[r, c][0])
                if reference and result["status"][r][c] == "ok" and result["values"][r][c] is not None:
                    reached.setdefault(group, []).append(result["values"][r][c] / reference.value)
    middles = {group: statistics.median(of) for group, of in reached.items()}
    found = {}
    for (r, c), reference in expected.items():
        row, column = result["rows"][r], result["columns"][c]
        middle = middles.get(result["link_class"][r][c] or "unknown")
        found[row, column] = verdict_of(result, f"{row}->{column}", (r, c), reference, table, middle, paths[r, c])
    for pair, reference in own.items():
        if pair not in found:
            reason = f"{pair[0]}->{pair[1]} has a reference in '{table}' and was not measured"
            found[pair] = CellVerdict(Verdict.INCOMPLETE, reason, None, reference)
    return found


def unverified_of(result):
    """Why nobody knows whether the data is right; "" where it was compared."""
    if result["size_bytes"] == 0:
        return ""
    if result["verified"] is None:
        return "its data was not verified (--no-verify)" if result["timing"] else NEVER
    corrupt = any("corrupt" in row for row in result["status"])
    return "" if result["verified"] or corrupt else "not all of its data was verified"


def verdict_of(result, name, at, reference, table, middle, path):
    """The first rule that applies decides. No other process disturbed the result. path: (adopted, found) link class."""
    r, c = at
    unit, unverified = result["unit"], unverified_of(result)
    keys = ("status", "values", "low", "high", "limit", "samples")
    status, value, low, high, limit, samples = (result[key][r][c] for key in keys)
    if status == "corrupt":
        return CellVerdict(Verdict.FAIL, f"{name}: wrong data arrived", value, reference)
    if status != "ok":
        return CellVerdict(Verdict.INCOMPLETE, f"{name} was not measured: {status}", None, reference)
    if limit is not None and unit == "GB/s" and value > limit * IMPLAUSIBLE:
        reason = f"{name} {quantity(value, unit)} is more than its path can carry ({limit:.0f} GB/s)"
        return CellVerdict(Verdict.FAIL, reason, value, reference)
    if not (reference and reference.unit != unit) and is_worse(path[1], path[0]):
        return CellVerdict(
            Verdict.FAIL, f"{name} {quantity(value, unit)}: path changed: {path[0]} -> {path[1]}", value, reference
        )
    if reference is None and result["quantity"] == HANDOVER:  # the words that arrived are the whole claim
        incomplete = CellVerdict(Verdict.INCOMPLETE, f"{name}: {unverified}", value)
        return incomplete if unverified else CellVerdict(Verdict.PASS, "", value)
    if reference is None and table:
        reason = f"{name} has no reference in the table '{table}': adopt references again"
        return CellVerdict(Verdict.INCOMPLETE, reason, value)
    if reference is None and unverified and unverified != NEVER:
        return CellVerdict(Verdict.INCOMPLETE, f"{name} has no reference, and {unverified}", value)
    if reference is None:
        return CellVerdict(Verdict.NOT_JUDGED, f"{name} has no reference", value)
    if reference.unit != unit:
        reason = f"{name} is measured in {unit}, but its reference is in {reference.unit}"
        return CellVerdict(Verdict.INCOMPLETE, reason, value, reference)
    deviation = value / reference.value - 1
    side, allowed = ("under", reference.lower) if value < reference.value else ("over", reference.upper)
    off = f"{name} {quantity(value, unit)} is {100 * abs(deviation):.1f} % {side} its reference "
    off += f"{quantity(reference.value, unit)} (allowed: {100 * abs(allowed or 0):.1f} % {side})"
    bad_limit, good_limit = reference.low_limit, reference.high_limit
    end, sign = low, -1
    if unit == "us":
        (bad_limit, good_limit), end, sign = (good_limit, bad_limit), high, 1
    if sign * (value - bad_limit) > 0:
        return CellVerdict(Verdict.FAIL, off, value, reference, deviation)
    if unverified:
        verdict = Verdict.NOT_JUDGED if unverified == NEVER else Verdict.INCOMPLETE
        return CellVerdict(verdict, f"{name}: {unverified}", value, reference, deviation)
    if sign * (good_limit - value) > 0:
        reason = f"{off}: the reference is out of date: adopt references again"
        return CellVerdict(Verdict.NOT_JUDGED, reason, value, reference, deviation)
    warning = ""
    tolerance = abs(bad_limit / reference.value - 1)
    far = sign * deviation > NEAR * tolerance or abs(end / reference.value - 1) > FAR * tolerance
    behind = (value / reference.value / middle - 1) * sign
    if sign * (end - bad_limit) > 0 and far:
        between = f"{quantity(low, unit)} to {quantity(high, unit)}"
        sure = f"{100 * confidence(samples):.0f} % interval" if samples else "interval"
        warning = f"{name} is too noisy: the {sure} of its median, {between}, crosses the slowest allowed value"
    elif behind > max(STRAGGLER_LIMITS[unit], (high - low) / value, tolerance / 4):
        found = f"{name} {quantity(value, unit)}: value / reference is {100 * behind:.1f} % worse"
        warning = f"{found} than the median of its link class"
    return CellVerdict(Verdict.WARN if warning else Verdict.PASS, warning, value, reference, deviation)
