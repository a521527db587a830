"""Checks of the cells of a result: values match statuses, values are inside their intervals, and only the diagonal is
left out.

The checks are the same for cells in JSON and for cells in a file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from . import grids

LEAST_SAMPLES = 6  # minimum and maximum of so many samples are a 95 % interval of the median
NOT_MISSING = ("ok", "not-applicable", "no-peer-access")
#: A corrupt cell has wrong data. A partial cell is a total without the copies of a lost endpoint.
WITH_VALUE = ("ok", "corrupt", "partial")


def check_cells(result: Mapping[str, Any], block: Any, first: int = 0) -> None:
    """Raises BadInput for the first wrong cell, with its name and the reason.

    block: the `matrix.Block` to check. first: the number of its first row in the whole matrix.
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
            f"has converged, and only {{samples:.0f}} of the {LEAST_SAMPLES} samples that an interval needs": known
            & converged
            & (samples < LEAST_SAMPLES),
            "is '{status}', which only the diagonal may have": ~block.applies != not_scheduled(result, block, first),
        }
    for said, wrong in faults.items():
        if wrong.any():
            r, c = (int(at) for at in np.argwhere(wrong)[0])
            codes, words = block.status
            cell = {name: none_for_nan(grid[r, c]) for name, grid in (("value", values), ("low", low), ("high", high))}
            text = said.format(**cell, samples=samples[r, c], status=words[codes[r, c]])
            raise BadInput(f"{result['testcase']}: {result['rows'][first + r]}->{result['columns'][c]} {text}")


def none_for_nan(number: float) -> float | None:
    """None for NaN, as in a record."""
    return None if np.isnan(number) else float(number)


def not_scheduled(result: Mapping[str, Any], block: Any, first: int) -> np.ndarray:
    """True where the schedule has no cell; rows × columns.

    That is the diagonal unless local copies are requested, and the lower half of a triangle. For a bisection, it is
    every cell inside a half. For matchings, it is every cell that was not drawn.
    """
    if result["schedule"]["mode"] == "bisection":
        return ~block.applies
    shape = block.applies.shape
    if is_of_matchings(result):
        return ~drawn_mask(result, first, shape)
    found = np.zeros(shape, dtype=bool)
    if not result.get("local_copy") and result["rows"] == result["columns"]:
        at = np.arange(shape[0])
        found[at, first + at] = True
    elif not result.get("local_copy"):
        place = {label: c for c, label in enumerate(result["columns"])}
        rows = enumerate(result["rows"][first : first + shape[0]])
        for r, c in ((r, place[label]) for r, label in rows if label in place):
            found[r, c] = True
    if result.get("triangle"):
        found |= np.tri(*shape, first - 1, dtype=bool)
    return found


def is_of_matchings(result: Mapping[str, Any]) -> bool:
    """Whether only the cells of some matchings were measured."""
    return result["schedule"]["mode"] == "matchings"


def drawn_mask(result: Mapping[str, Any], first: int, shape: tuple[int, int]) -> np.ndarray:
    """True for the cells of the matchings, rows × columns. first: index of the first row. shape: of the block."""
    found = np.zeros(shape, dtype=bool)
    for rows, columns in drawn_cells(result):
        inside = (rows >= first) & (rows < first + shape[0])
        found[rows[inside] - first, columns[inside]] = True
    return found


def drawn_cells(result: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(rows, columns) of each matching, as indices. A bidirectional cell has both of its positions."""
    twice = result["metric"] == "bidirectional"
    found = []
    for one in result["matchings"]["drawn"]:
        rows, columns = (np.array(one[axis], dtype=int) for axis in ("rows", "columns"))
        ends = ((rows, columns), (columns, rows)) if twice else ((rows, columns),)
        found.append((np.concatenate([a for a, _ in ends]), np.concatenate([b for _, b in ends])))
    return found


def check_matchings(result: Mapping[str, Any]) -> None:
    """Raises BadInput for matchings with unknown endpoints, and for a result that lacks its matchings."""
    name, endpoints = result["testcase"], len(result["rows"])
    if is_of_matchings(result) != ("matchings" in result):
        raise BadInput(f"{name}: 'matchings' or the schedule of matchings is missing: both are needed")
    if not is_of_matchings(result):
        return
    if result["rows"] != result["columns"]:
        raise BadInput(f"{name}: matchings need equal rows and columns")
    unknown = set(result["matchings"]["open"]) - set(result["rows"])
    if unknown:
        raise BadInput(f"{name}.matchings.open: {min(unknown)} is not a row of the matrix")
    check_groups(name, endpoints, result["matchings"])
    check_slow(name, result["rows"], result["matchings"])
    bottleneck = result["matchings"].get("shared_bottleneck")
    if bottleneck and (
        bottleneck["slower"] > bottleneck["compared"] or (result["unit"] != "us" and bottleneck["loss"] >= 1)
    ):
        raise BadInput(f"{name}.matchings.shared_bottleneck: more is slower or lost than was measured")
    for number, one in enumerate(result["matchings"]["drawn"]):
        pairs = list(zip(one["rows"], one["columns"], strict=False))
        most = max([-1, *one["rows"], *one["columns"]])
        if len(one["rows"]) != len(one["columns"]) or most >= endpoints:
            raise BadInput(f"{name}.matchings.drawn.{number}: some cells are not pairs of the {endpoints} endpoints")
        if len(set(pairs)) != len(pairs) or any(row == column for row, column in pairs):
            raise BadInput(f"{name}.matchings.drawn.{number}: a cell occurs twice, or its source is its destination")


def check_slow(name: str, labels: Sequence[str], matchings: Mapping[str, Any]) -> None:
    """Raises BadInput for slow endpoints that are no rows, and for slow cells that were not drawn."""
    unknown = {one["endpoint"] for one in matchings["slow_endpoints"]} - set(labels)
    if unknown:
        raise BadInput(f"{name}.matchings.slow_endpoints: {min(unknown)} is not a row of the matrix")
    slow = matchings["slow_cells"]
    cells = {cell for one in matchings["drawn"] for cell in zip(one["rows"], one["columns"], strict=False)}
    if len(slow["rows"]) != len(slow["columns"]) or not cells.issuperset(
        zip(slow["rows"], slow["columns"], strict=True)
    ):
        raise BadInput(f"{name}.matchings.slow_cells: not all cells are cells of drawn matchings")


def check_groups(name: str, endpoints: int, matchings: Mapping[str, Any]) -> None:
    """Raises BadInput for groups that do not fit the endpoints, and for crossings between unknown groups."""
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
    """Raises BadInput for a cell that ended before it began, or whose listed samples differ from its count."""
    name, rows, columns = result["testcase"], result["rows"], result["columns"]
    if result["began"] is not None and result["ended"] is not None:
        began, ended = (grids.numbers(result[key]) for key in ("began", "ended"))
        for r, c in np.argwhere(began > ended)[:1]:
            said = f"began after {began[r, c]} s, and ended after {ended[r, c]} s"
            raise BadInput(f"{name}: {rows[r]}->{columns[c]} {said}")
    if result["sampled"] is not None:
        counts = grids.numbers(result["samples"])
        for r, row in enumerate(result["sampled"]):
            for c, sampled in enumerate(row):
                if sampled and len(sampled) != counts[r, c]:
                    said = f"has {counts[r, c]:.0f} samples, but {len(sampled)} are listed"
                    raise BadInput(f"{name}: {rows[r]}->{columns[c]} {said}")


def check_short_samples(result: Mapping[str, Any]) -> None:
    """Raises BadInput for passes with a wrong shape or order, and for counts that differ from the passes."""
    said = result.get("short_samples")
    if said is None:
        return
    name, shape = f"{result['testcase']}.short_samples", (len(result["rows"]), len(result["columns"]))
    if said["passes"] and "cells" in result:
        raise BadInput(f"{name}: a matrix whose cells are in a file has no passes")
    times = [0.0]
    counts = np.zeros(shape, dtype=int)
    for number, one in enumerate(said["passes"]):
        if len(one["values"]) != shape[0] or any(len(row) != shape[1] for row in one["values"]):
            raise BadInput(f"{name}.passes.{number}.values are not {shape[0]} rows of {shape[1]} cells")
        if any(value <= 0 for row in one["values"] for cell in row for value in cell):
            raise BadInput(f"{name}.passes.{number} has a sample of 0, which is impossible")
        counts += [[len(cell) for cell in row] for row in one["values"]]
        times += [one["began"], one["ended"]]
    if times != sorted(times):
        raise BadInput(f"{name}.passes are not in the order of time")
    if counts.max(initial=0) > said["asked"]:
        raise BadInput(f"{name}: a cell has {counts.max()} samples, but {said['asked']} were requested")
    known = ~np.isnan(grids.numbers(result["values"])) if said["passes"] else np.zeros(shape, dtype=bool)
    fewest = int(counts[known].min()) if known.any() else 0
    if fewest != said["fewest"]:
        raise BadInput(f"{name}: 'fewest' is {said['fewest']}, and a cell has {fewest}")


def check_coverage(result: Mapping[str, Any]) -> None:
    """Raises BadInput for contradictory numbers of verified samples."""
    said, name = result.get("coverage"), f"{result['testcase']}.coverage"
    if said is None:
        return
    wrong = sum(one["wrong_samples"] for one in said["wrong"])
    if not wrong == said["wrong_samples"] <= said["samples"] or said["compared_transfers"] > said["transfers"]:
        raise BadInput(f"{name}: its numbers contradict each other")
    codes, words = grids.codes(result["status"])
    for one in said["wrong"]:
        if one["row"] not in result["rows"] or one["column"] not in result["columns"]:
            raise BadInput(f"{name}: {one['row']}->{one['column']} is not a cell of the matrix")
        if words[codes[result["rows"].index(one["row"]), result["columns"].index(one["column"])]] == "ok":
            raise BadInput(f"{name}: wrong data arrived in {one['row']}->{one['column']}, but its status is 'ok'")


def check_ending(result: Mapping[str, Any], statuses: Mapping[str, int]) -> None:
    """Raises BadInput if `complete` or `verified` contradict the statuses, {status: number of cells}."""
    name = result["testcase"]
    missing = sum(count for status, count in statuses.items() if status not in NOT_MISSING)
    if result["complete"] != (not missing):
        raise BadInput(f"{name}: 'complete' is {result['complete']}, and {missing} cells are missing or corrupt")
    if result["verified"] and statuses.get("corrupt"):
        raise BadInput(f"{name}: 'verified' is true, but a cell is corrupt")


def only_diagonal(result: Mapping[str, Any]) -> bool:
    """Whether only the diagonal does not apply."""
    few = result["schedule"]["mode"] in ("bisection", "matchings")
    return not (result.get("local_copy") or result.get("triangle") or few)


def check_once(results: Sequence[Mapping[str, Any]]) -> None:
    """Raises BadInput for a test case that appears twice with one size: its verdict would be ambiguous."""
    seen: set[tuple[str, int | None]] = set()
    for result in results:
        case = (result["testcase"], result["size_bytes"])
        if case in seen:
            said = "" if case[1] is None else f" of {case[1]} bytes"
            raise BadInput(f"results: {case[0]}{said} appears twice: import each run into a separate record")
        seen.add(case)
