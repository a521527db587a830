"""Checks of the cells of a result.

- A value lies inside its interval, and the status of its cell allows a value.
- The cells that the schedule does not measure have the status "not-applicable". No other cell has this status.

The same checks apply to cells in the record and to cells in a separate file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from . import grids

LEAST_SAMPLES = 6  # the minimum and maximum of 6 samples are a 95 % interval of the median
NOT_MISSING = ("ok", "not-applicable", "no-peer-access")
#: A corrupt cell has wrong data. A partial cell is a total without the copies of a lost endpoint.
WITH_VALUE = ("ok", "corrupt", "partial")


def check_cells(result: Mapping[str, Any], block: Any, first: int = 0) -> None:
    """Raises BadInput for the first invalid cell. The message contains the cell and the reason.

    block: the `matrix.Block` to check. first: the index of the block's first row in the whole matrix.
    """
    values, low, high, samples = block.values, block.numbers("low"), block.numbers("high"), block.numbers("samples")
    with_value = block.is_status(*WITH_VALUE)
    known = ~np.isnan(values)
    converged, flags = grids.codes(block.matrix.maps["converged"], block.at)
    converged = np.take(np.array([flag is True for flag in flags], dtype=bool), converged)
    with np.errstate(invalid="ignore"):
        faults = {
            "is '{status}' and its value is {value}": known != with_value,
            "is {value}, which is impossible": known & ~((values > 0) & np.isfinite(values)),
            "is {value}, outside of its interval {low} to {high}": known & ~((low <= values) & (values <= high)),
            "has a value but no samples": known & ~(samples > 0),
            f"has converged with {{samples:.0f}} samples, but an interval needs {LEAST_SAMPLES}": known
            & converged
            & (samples < LEAST_SAMPLES),
            "is '{status}', which only the diagonal may have": ~block.applies != not_scheduled(result, block, first),
        }
    for message, wrong in faults.items():
        if wrong.any():
            r, c = (int(at) for at in np.argwhere(wrong)[0])
            codes, words = block.status
            cell = {name: none_for_nan(grid[r, c]) for name, grid in (("value", values), ("low", low), ("high", high))}
            text = message.format(**cell, samples=samples[r, c], status=words[codes[r, c]])
            raise BadInput(f"{result['testcase']}: {result['rows'][first + r]}->{result['columns'][c]} {text}")


def none_for_nan(number: float) -> float | None:
    """The number. None instead of NaN, because JSON has no NaN."""
    return None if np.isnan(number) else float(number)


def not_scheduled(result: Mapping[str, Any], block: Any, first: int) -> np.ndarray:
    """The mask of the cells that the schedule does not measure: an array of booleans, rows × columns.

    The schedules do not measure these cells:

    * bisection: the cells inside each half
    * matchings: the cells that are in none of the matchings
    * other schedules: the diagonal (except with local copies), and the lower half if the matrix is a triangle
    """
    if result["schedule"]["mode"] == "bisection":
        return ~block.applies
    shape = block.applies.shape
    if has_matchings(result):
        return ~matching_mask(result, first, shape)
    found = np.zeros(shape, dtype=bool)
    if not result.get("local_copy") and result["rows"] == result["columns"]:
        at = np.arange(shape[0])
        found[at, first + at] = True
    elif not result.get("local_copy"):
        column = {label: c for c, label in enumerate(result["columns"])}
        for r, label in enumerate(result["rows"][first : first + shape[0]]):
            if label in column:
                found[r, column[label]] = True
    if result.get("triangle"):
        found |= np.tri(*shape, first - 1, dtype=bool)
    return found


def has_matchings(result: Mapping[str, Any]) -> bool:
    """Whether the schedule of a result measures only the cells of some matchings."""
    return result["schedule"]["mode"] == "matchings"


def matching_mask(result: Mapping[str, Any], first: int, shape: tuple[int, int]) -> np.ndarray:
    """The mask of the cells that are in a matching, for some rows of a matrix.

    first: the index of the mask's first row in the whole matrix. shape: (rows, columns) of the mask.
    """
    found = np.zeros(shape, dtype=bool)
    for rows, columns in matching_cells(result):
        inside = (rows >= first) & (rows < first + shape[0])
        found[rows[inside] - first, columns[inside]] = True
    return found


def matching_cells(result: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The cells of each matching as (row indices, column indices). A bidirectional cell appears in both directions."""
    found = []
    for matching in result["matchings"]["drawn"]:
        rows, columns = (np.array(matching[axis], dtype=int) for axis in ("rows", "columns"))
        if result["metric"] == "bidirectional":
            rows, columns = np.concatenate((rows, columns)), np.concatenate((columns, rows))
        found.append((rows, columns))
    return found


def check_matchings(result: Mapping[str, Any]) -> None:
    """Raises BadInput for missing matchings, and for matchings with unknown endpoints or cells."""
    name, endpoints = result["testcase"], len(result["rows"])
    if has_matchings(result) != ("matchings" in result):
        raise BadInput(f"{name}: 'matchings' or the schedule of matchings is missing: both are needed")
    if not has_matchings(result):
        return
    if result["rows"] != result["columns"]:
        raise BadInput(f"{name}: matchings need identical lists of rows and columns")
    unknown = set(result["matchings"]["open"]) - set(result["rows"])
    if unknown:
        raise BadInput(f"{name}.matchings.open: {min(unknown)} is not a row of the matrix")
    check_groups(name, endpoints, result["matchings"])
    check_slow(name, result["rows"], result["matchings"])
    bottleneck = result["matchings"].get("shared_bottleneck")
    if bottleneck and (
        bottleneck["slower"] > bottleneck["compared"] or (result["unit"] != "us" and bottleneck["loss"] >= 1)
    ):
        raise BadInput(f"{name}.matchings.shared_bottleneck: 'slower' or 'loss' is larger than its maximum")
    for number, one in enumerate(result["matchings"]["drawn"]):
        pairs = list(zip(one["rows"], one["columns"], strict=False))
        most = max([-1, *one["rows"], *one["columns"]])
        if len(one["rows"]) != len(one["columns"]) or most >= endpoints:
            raise BadInput(f"{name}.matchings.drawn.{number}: some cells are not pairs of the {endpoints} endpoints")
        if len(set(pairs)) != len(pairs) or any(row == column for row, column in pairs):
            raise BadInput(f"{name}.matchings.drawn.{number}: a cell occurs twice, or its source is its destination")


def check_slow(name: str, labels: Sequence[str], matchings: Mapping[str, Any]) -> None:
    """Raises BadInput for a slow endpoint that is not a row, and for a slow cell that is in no matching."""
    unknown = {one["endpoint"] for one in matchings["slow_endpoints"]} - set(labels)
    if unknown:
        raise BadInput(f"{name}.matchings.slow_endpoints: {min(unknown)} is not a row of the matrix")
    slow = matchings["slow_cells"]
    cells = {cell for one in matchings["drawn"] for cell in zip(one["rows"], one["columns"], strict=False)}
    if len(slow["rows"]) != len(slow["columns"]) or not cells.issuperset(
        zip(slow["rows"], slow["columns"], strict=True)
    ):
        raise BadInput(f"{name}.matchings.slow_cells: some cells are in none of the drawn matchings")


def check_groups(name: str, endpoints: int, matchings: Mapping[str, Any]) -> None:
    """Raises BadInput unless each endpoint has a group, and each crossing connects two different known groups."""
    if ("groups" in matchings) != ("crossings" in matchings):
        raise BadInput(f"{name}.matchings: groups or crossings are missing: both are needed")
    if "groups" not in matchings:
        return
    if len(matchings["groups"]) != endpoints:
        raise BadInput(f"{name}.matchings.groups are {len(matchings['groups'])}, not {endpoints}")
    known = set(matchings["groups"])
    for one in matchings["crossings"]:
        if one["from"] == one["to"] or not {one["from"], one["to"]} <= known or one["rate"] > one["best"] * (1 + 1e-6):
            raise BadInput(f"{name}.matchings.crossings: {one['from']} to {one['to']} is not a crossing of its groups")


def check_times(result: Mapping[str, Any]) -> None:
    """Raises BadInput for a cell that ended before it began, or whose list of samples contradicts its sample count."""
    name, rows, columns = result["testcase"], result["rows"], result["columns"]
    if result["began"] is not None and result["ended"] is not None:
        began, ended = (grids.numbers(result[key]) for key in ("began", "ended"))
        for r, c in np.argwhere(began > ended)[:1]:
            raise BadInput(
                f"{name}: {rows[r]}->{columns[c]} ended at {ended[r, c]} s, before it began at {began[r, c]} s"
            )
    if result["sampled"] is not None:
        counts = grids.numbers(result["samples"])
        for r, row in enumerate(result["sampled"]):
            for c, sampled in enumerate(row):
                if sampled and len(sampled) != counts[r, c]:
                    cell = f"{rows[r]}->{columns[c]}"
                    raise BadInput(f"{name}: {cell} has {counts[r, c]:.0f} samples, but {len(sampled)} are listed")


def check_short_samples(result: Mapping[str, Any]) -> None:
    """Raises BadInput if short samples have a wrong shape, have passes in a wrong order, or contradict their counts."""
    short = result.get("short_samples")
    if short is None:
        return
    name, shape = f"{result['testcase']}.short_samples", (len(result["rows"]), len(result["columns"]))
    if short["passes"] and "cells" in result:
        raise BadInput(f"{name}: a matrix whose cells are in a file cannot have passes")
    times = [0.0]
    counts = np.zeros(shape, dtype=int)
    for number, one in enumerate(short["passes"]):
        if len(one["values"]) != shape[0] or any(len(row) != shape[1] for row in one["values"]):
            raise BadInput(f"{name}.passes.{number}.values are not {shape[0]} rows of {shape[1]} cells")
        if any(value <= 0 for row in one["values"] for cell in row for value in cell):
            raise BadInput(f"{name}.passes.{number} has a sample of 0, which is impossible")
        counts += [[len(cell) for cell in row] for row in one["values"]]
        times += [one["began"], one["ended"]]
    if times != sorted(times):
        raise BadInput(f"{name}.passes are not in the order of time")
    if counts.max(initial=0) > short["asked"]:
        raise BadInput(f"{name}: a cell has {counts.max()} samples, but {short['asked']} were requested")
    known = ~np.isnan(grids.numbers(result["values"])) if short["passes"] else np.zeros(shape, dtype=bool)
    fewest = int(counts[known].min()) if known.any() else 0
    if fewest != short["fewest"]:
        raise BadInput(f"{name}: 'fewest' is {short['fewest']}, but a cell has {fewest} samples")


def check_coverage(result: Mapping[str, Any]) -> None:
    """Raises BadInput if the numbers of verified samples contradict each other or the statuses of cells."""
    coverage, name = result.get("coverage"), f"{result['testcase']}.coverage"
    if coverage is None:
        return
    wrong = sum(one["wrong_samples"] for one in coverage["wrong"])
    compared_too_many = coverage["compared_transfers"] > coverage["transfers"]
    if compared_too_many or not wrong == coverage["wrong_samples"] <= coverage["samples"]:
        raise BadInput(f"{name}: its numbers contradict each other")
    codes, words = grids.codes(result["status"])
    for one in coverage["wrong"]:
        if one["row"] not in result["rows"] or one["column"] not in result["columns"]:
            raise BadInput(f"{name}: {one['row']}->{one['column']} is not a cell of the matrix")
        if words[codes[result["rows"].index(one["row"]), result["columns"].index(one["column"])]] == "ok":
            raise BadInput(f"{name}: wrong data arrived in {one['row']}->{one['column']}, but its status is 'ok'")


def check_totals(result: Mapping[str, Any], statuses: Mapping[str, int]) -> None:
    """Raises BadInput if the field `complete` or `verified` contradicts the statuses of the cells.

    statuses: {status: number of cells}.
    """
    name = result["testcase"]
    missing = sum(count for status, count in statuses.items() if status not in NOT_MISSING)
    if result["complete"] != (not missing):
        raise BadInput(f"{name}: 'complete' is {result['complete']}, but {missing} cells are missing or corrupt")
    if result["verified"] and statuses.get("corrupt"):
        raise BadInput(f"{name}: 'verified' is true, but a cell is corrupt")


def excludes_only_diagonal(result: Mapping[str, Any]) -> bool:
    """Whether the schedule measures all cells except the diagonal."""
    partial = result["schedule"]["mode"] in ("bisection", "matchings")
    return not (result.get("local_copy") or result.get("triangle") or partial)


def check_unique_cases(results: Sequence[Mapping[str, Any]]) -> None:
    """Raises BadInput if a test case appears twice with the same size. Its verdict would be ambiguous."""
    seen: set[tuple[str, int | None]] = set()
    for result in results:
        case = (result["testcase"], result["size_bytes"])
        if case in seen:
            size = "" if case[1] is None else f" of {case[1]} bytes"
            raise BadInput(f"results: {case[0]}{size} appears twice: import each run into a separate record")
        seen.add(case)
