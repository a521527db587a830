"""The rules of judging in plain Python, one cell after the other: what linkmatrix.judge is held against."""

import statistics

from linkmatrix.judge.verdicts import CellVerdict, Verdict
from linkmatrix.record.units import figure

IMPLAUSIBLE = 1.02
HANDOVER = "handover"  # the quantity of a visibility test
STRAGGLES = {"GB/s": 0.02, "us": 0.10}


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


def cells_of(result, references, table):
    """{pair: CellVerdict} of all that applies, and of what has a reference and is not there."""
    own = references.cells(table, result["testcase"], result["rows"]) if table else {}
    shared = references.classes(table, result["testcase"]) if table else {}
    middles = {name: of[2] for name, of in classes(result).items()}
    found = {}
    for r, row in enumerate(result["rows"]):
        for c, column in enumerate(result["columns"]):
            if result["status"][r][c] != "not-applicable":
                group = result["link_class"][r][c] or "unknown"
                reference = own.get((row, column)) or shared.get(group)
                found[row, column] = verdict_of(
                    result, f"{row}->{column}", (r, c), reference, table, middles.get(group)
                )
    for pair, reference in own.items():
        if pair not in found:
            reason = f"{pair[0]}->{pair[1]} has a reference in '{table}' and was not measured"
            found[pair] = CellVerdict(Verdict.INCOMPLETE, reason, None, reference)
    return found


def verdict_of(result, name, at, reference, table, middle):
    """The first rule that applies decides."""
    r, c = at
    unit = result["unit"]
    status, value, low, high, limit = (result[key][r][c] for key in ("status", "values", "low", "high", "limit"))
    if status == "corrupt":
        return CellVerdict(Verdict.FAIL, f"{name}: what arrived is not what was sent", value, reference)
    if status != "ok":
        return CellVerdict(Verdict.INCOMPLETE, f"{name} was not measured: {status}", None, reference)
    if limit is not None and unit == "GB/s" and value > limit * IMPLAUSIBLE:
        reason = f"{name} {quantity(value, unit)} is more than its path can carry ({limit:.0f} GB/s)"
        return CellVerdict(Verdict.FAIL, reason, value, reference)
    if reference is None and result["quantity"] != HANDOVER:
        where = f"in the table '{table}'" if table else "for this machine"
        return CellVerdict(Verdict.INCOMPLETE, f"{name} has no reference {where}", value)
    if reference is None:  # the words that arrived are the whole claim
        return CellVerdict(Verdict.PASS, "", value)
    if reference.unit != unit:
        reason = f"{name} is measured in {unit}, and its reference is in {reference.unit}"
        return CellVerdict(Verdict.INCOMPLETE, reason, value, reference)
    deviation = value / reference.value - 1
    if not reference.low_limit <= value <= reference.high_limit:
        side, allowed = ("under", reference.lower) if value < reference.value else ("over", reference.upper)
        reason = f"{name} {quantity(value, unit)} is {100 * abs(deviation):.1f} % {side} its reference "
        reason += f"{quantity(reference.value, unit)} (allowed: {100 * abs(allowed or 0):.1f} % {side})"
        return CellVerdict(Verdict.FAIL, reason, value, reference, deviation)
    corrupt = any("corrupt" in row for row in result["status"])
    unverified = "its data was not compared (--no-verify)" if result["verified"] is None else ""
    if result["size_bytes"] == 0:
        unverified = ""
    elif not unverified and not result["verified"] and not corrupt:
        unverified = "not all data was compared"
    if unverified:
        return CellVerdict(Verdict.INCOMPLETE, f"{name}: {unverified}", value, reference, deviation)
    warning = ""
    worse = (value / middle - 1) * (1 if unit == "us" else -1)
    if low < reference.low_limit or high > reference.high_limit:
        between = f"{quantity(low, unit)} and {quantity(high, unit)}"
        warning = f"{name} is too noisy to be sure: its median lies between {between}"
    elif worse > max(STRAGGLES[unit], (high - low) / value):
        warning = f"{name} {quantity(value, unit)} is {100 * worse:.1f} % worse than the median of its link class"
    return CellVerdict(Verdict.WARN if warning else Verdict.PASS, warning, value, reference, deviation)
