"""Records: the JSON that a program wrote about one run, schema linkmatrix.record/1. Facts only, never changed."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from .errors import BadInput

SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
MOST_BYTES = 256 * 1024 * 1024  # a matrix of 1024 × 1024 with all its blocks is below 150 MB
REMEDY = "measure again, the file is damaged or not a record"
TOPOLOGY_MAPS = ("link_class", "links", "peer_access", "min_path")
CELL_MAPS = ("values", "status", "low", "high", "samples", "converged", "link_class", "limit")
MANY = 8  # items, from which on only those that differ are looked at
MOST_KNOWN = 100_000
KNOWN_GOOD: set[tuple[int, str]] = set()  # (part of the schema, text) that has passed: labels, statuses, devices
PLAIN = {int, float, str, bool, type(None)}
NOT_MISSING = ("ok", "not-applicable", "no-peer-access")
WITH_VALUE = ("ok", "corrupt")  # a corrupt cell was measured, but what arrived is wrong

HUGE = re.compile(r"[eE]\+?\d{3}|\d{200}")  # what a number that no double holds has in it

Record = dict[str, Any]


def load(path: str | Path) -> Record:
    """The checked record at `path`.

    Raises BadInput, one sentence that names the file and the place, for what is not a whole and consistent record.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES} bytes: it is no record")
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text: {REMEDY}") from None
    try:
        numbers = {"parse_float": finite, "parse_int": finite} if HUGE.search(content) else {}
        record = json.loads(content, parse_constant=refuse_constant, object_pairs_hook=refuse_repeats, **numbers)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON, {error}: {REMEDY}") from None
    try:
        check(record)
    except BadInput as error:
        raise BadInput(f"{path}: {error}: {REMEDY}") from None
    return record


def refuse_constant(name: str) -> None:
    """JSON has no NaN and no Infinity, Python's reader has."""
    raise ValueError(f"it holds {name}")


def finite(text: str) -> int | float:
    """A number that a double holds: Python reads 1e999 as infinity, and an integer of any length."""
    if not math.isfinite(float(text)):
        raise ValueError(f"it holds the number {text[:20]}")
    return float(text) if set(text) & set(".eE") else int(text)


def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that comes twice would silently hide the first."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"it has the key '{next(name for name in names if names.count(name) > 1)}' twice")
    return dict(pairs)


@cache
def validator() -> jsonschema.protocols.Validator:
    """Of the schema; both ends of the pipeline keep to it."""
    strict = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"pattern": whole_pattern, "items": items_by_kind}
    )
    return strict(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def whole_pattern(
    _validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterator[jsonschema.exceptions.ValidationError]:
    """The schema's `pattern`, where "$" is the very end: Python's is before a last line end too."""
    if isinstance(instance, str) and not re.search(re.sub(r"\$\Z", r"\\Z", pattern), instance):
        yield jsonschema.exceptions.ValidationError(f"{instance!r} does not match {pattern!r}")


def items_by_kind(
    checker: Any, items: Any, instance: Any, schema: Any
) -> Iterator[jsonschema.exceptions.ValidationError]:
    """The schema's `items`; of plain values only those that differ in what the schema can see.

    It sees types, bounds and texts: of a row of numbers the least and the largest stand for all, for a matrix of 1,024
    endpoints has ten million.
    """
    if not isinstance(instance, list):
        return
    kinds = {type(item) for item in instance}
    if len(instance) < MANY or not kinds <= PLAIN:
        # the devices of a cluster are the same in all of its runs
        keys = [(id(items), json.dumps(item, sort_keys=True)) if type(item) is dict else None for item in instance]
        for place, (key, item) in enumerate(zip(keys, instance, strict=True)):
            if key is None or key not in KNOWN_GOOD:
                faults = list(checker.descend(item, items, path=place))
                yield from faults
                if not faults and key is not None and len(KNOWN_GOOD) < MOST_KNOWN:
                    KNOWN_GOOD.add(key)
        return
    chosen = list({item for item in instance if type(item) not in (int, float) and (id(items), item) not in KNOWN_GOOD})
    for kind in kinds & {int, float}:
        numbers = [item for item in instance if type(item) is kind]
        chosen += [min(numbers), max(numbers)]
    for item in chosen:
        faults = list(checker.descend(item, items, path=instance.index(item)))
        yield from faults
        if not faults and type(item) is str and len(KNOWN_GOOD) < MOST_KNOWN:
            KNOWN_GOOD.add((id(items), item))


def check(record: Any) -> None:
    """Raises BadInput for what the schema refuses, and for what a schema cannot see: shapes, and contradictions."""
    check_schema(record)
    check_labels(record)
    labels = record["topology"]["labels"]
    apart = any("cells" in result for result in record["results"])
    for name in TOPOLOGY_MAPS:
        if record["topology"][name] or not apart:  # beside cells in a file they would be as large
            check_shape(f"topology.{name}", record["topology"][name], len(labels), len(labels))
    for result in record["results"]:
        check_axes(result, labels)
        if "cells" in result:
            check_cells(result)
        else:
            check_result(result)
            check_diagonal(result)


def check_schema(record: Any) -> None:
    """Raises BadInput for what the schema refuses, and for a result that contradicts the error."""
    error = jsonschema.exceptions.best_match(validator().iter_errors(record))
    if error is not None:
        place = ".".join(str(step) for step in error.absolute_path) or "the record"
        raise BadInput(f"{place}: {error.message[:200]}")
    if record["result"] == "PASS" and record["error"] is not None:
        raise BadInput("'result' is PASS, and there is an error")


def check_labels(record: Record) -> None:
    """Every device comes once, and the topology has them in their order."""
    labels = [device["label"] for device in record["devices"]]
    if len(set(labels)) != len(labels):
        raise BadInput(f"a device comes twice: {', '.join(labels)}")
    if record["topology"]["labels"] != labels:
        raise BadInput("topology.labels are not the devices")


def check_shape(name: str, matrix: list[list[Any]], rows: int, columns: int) -> None:
    """Raises BadInput for another shape than rows × columns, a ragged one too."""
    if len(matrix) != rows or any(len(row) != columns for row in matrix):
        lengths = sorted({len(row) for row in matrix})
        raise BadInput(f"{name} has {len(matrix)} rows of {lengths} cells, not {rows} of {columns}")


def check_result(result: dict[str, Any]) -> None:
    """The maps of a result agree in shape and with each other."""
    name, rows, columns = result["testcase"], result["rows"], result["columns"]
    for map_name in CELL_MAPS:
        check_shape(f"{name}.{map_name}", result[map_name], len(rows), len(columns))
    for part_name, part in result["parts"].items():
        check_shape(f"{name}.parts.{part_name}", part["values"], len(rows), len(columns))
    for r, row in enumerate(rows):
        for c, fault in row_faults(result, r):
            raise BadInput(f"{name}: {row}->{columns[c]} {fault}")
    check_ending(result, Counter(status for row in result["status"] for status in row))


def check_ending(result: dict[str, Any], statuses: Mapping[str, int]) -> None:
    """What a result says of itself is what its cells say, {status: how many}."""
    name = result["testcase"]
    missing = sum(count for status, count in statuses.items() if status not in NOT_MISSING)
    if result["complete"] != (not missing):
        raise BadInput(f"{name}: 'complete' is {result['complete']}, and {missing} cells are missing or corrupt")
    if result["verified"] and statuses.get("corrupt"):
        raise BadInput(f"{name}: 'verified' is true, and a cell is corrupt")


def check_cells(result: dict[str, Any]) -> None:
    """What a record says of cells that are in a file fits its axes and itself; the file is read when it is judged."""
    name, cells, endpoints = result["testcase"], result["cells"], len(result["rows"])
    if result["rows"] != result["columns"]:
        raise BadInput(f"{name}: cells in a file are between the same endpoints, and rows and columns differ")
    if len(set(cells["statuses"])) != len(cells["statuses"]) or len(cells["counts"]) != len(cells["statuses"]):
        raise BadInput(f"{name}.cells: there must be a count for each status, and each status once")
    counts = dict(zip(cells["statuses"], cells["counts"], strict=True))
    if sum(cells["counts"]) != endpoints**2:
        raise BadInput(f"{name}.cells.counts are {sum(cells['counts'])} cells, not {endpoints} × {endpoints}")
    if only_diagonal(result) and counts.get("not-applicable", 0) != endpoints:
        raise BadInput(
            f"{name}.cells: {counts.get('not-applicable', 0)} cells do not apply, and the diagonal has {endpoints}"
        )
    for axis in ("row_medians", "column_medians"):
        if len(cells[axis]) != endpoints:
            raise BadInput(f"{name}.cells.{axis} are {len(cells[axis])}, not {endpoints}")
    classes = [one["link_class"] for one in cells["classes"]]
    if len(set(classes)) != len(classes):
        raise BadInput(f"{name}.cells.classes: a class comes twice: {', '.join(classes)}")
    measured, with_value = sum(one["measured"] for one in cells["classes"]), sum(counts.get(w, 0) for w in WITH_VALUE)
    if measured != with_value:
        raise BadInput(f"{name}.cells.classes are of {measured} cells, and {with_value} were measured")
    for one in cells["classes"]:
        if not one["min"] <= one["median"] <= one["max"]:
            raise BadInput(f"{name}.cells.classes: the median of {one['link_class']} is not between its min and max")
    check_ending(result, counts)


def only_diagonal(result: Mapping[str, Any]) -> bool:
    """Is the diagonal all that does not apply?"""
    return not (result.get("local_copy") or result.get("triangle") or result["schedule"]["mode"] == "bisection")


def check_axes(result: dict[str, Any], devices: list[str]) -> None:
    """No endpoint comes twice, and an axis with a device has all of them: no pair is left out."""
    name = result["testcase"]
    for axis in ("rows", "columns"):
        labels = set(result[axis])
        if len(labels) != len(result[axis]):
            raise BadInput(f"{name}: a label comes twice: {', '.join(result[axis])}")
        missing = [label for label in devices if label not in labels]
        if missing and len(missing) < len(devices):
            raise BadInput(f"{name}.{axis} lack {', '.join(missing)}")


def check_diagonal(result: dict[str, Any]) -> None:
    """Nothing but the diagonal does not apply.

    Unless it was asked for: the diagonal of local copies applies, and what is below it in a triangle does not.
    """
    name = result["testcase"]
    local_copy, triangle = bool(result.get("local_copy")), bool(result.get("triangle"))
    if result["schedule"]["mode"] == "bisection":  # what is inside a half is not measured either
        return
    for r, (row, statuses) in enumerate(zip(result["rows"], result["status"], strict=True)):
        for c, (column, status) in enumerate(zip(result["columns"], statuses, strict=True)):
            left_out = (row == column and not local_copy) or (triangle and r > c)
            if (status == "not-applicable") != left_out:
                raise BadInput(f"{name}: {row}->{column} is '{status}', which is for the diagonal, and only for it")


def risen_counters(record: Record) -> list[str]:
    """The errors and events that devices counted during the run, a sentence each."""
    return [
        f"{device['label']}: {item['name']} rose from {item['before'] or 0:.0f} to {item['after']:.0f} during the run"
        for device in record.get("health", [])
        for item in device["counters"]
        if item["after"] is not None and item["after"] > (item["before"] or 0)
    ]


def row_faults(result: dict[str, Any], r: int) -> Iterator[tuple[int, str]]:
    """(column, what is wrong): a cell has a number exactly where its status says so, which lies in its interval."""
    maps = (result[name][r] for name in ("status", "values", "low", "high", "samples"))
    for c, (status, value, low, high, samples) in enumerate(zip(*maps, strict=True)):
        if (value is not None) != (status in WITH_VALUE):
            yield c, f"is '{status}' and its value is {value}"
        elif value is None:
            continue
        elif not 0 < value < math.inf:
            yield c, f"is {value}, which nothing can measure"
        elif low is None or high is None or not low <= value <= high:
            yield c, f"is {value}, outside of its interval {low} to {high}"
        elif not samples:
            yield c, "has a value and no samples"
