"""Reads and checks records. A record is the JSON file of one program run, with the schema linkmatrix.record/2."""

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, LaterVersionError
from ..files import read_whole, refuse_repeats
from .checking import (
    WITH_VALUE,
    check_cells,
    check_coverage,
    check_matchings,
    check_short_samples,
    check_times,
    check_totals,
    check_unique_cases,
    excludes_only_diagonal,
)
from .matrix import from_result
from .names import Record

SCHEMA = "linkmatrix.record/2"
EARLIER = "linkmatrix.record/1"  # schema of development versions
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
MOST_BYTES = 256 * 1024 * 1024  # a record with a matrix of 1024 × 1024 is below 150 MB
REMEDY = "the file is damaged or not a record; measure again"
TOPOLOGY_MAPS = ("link_class", "links", "peer_access", "min_path")
CELL_MAPS = ("values", "status", "low", "high", "samples", "converged", "link_class", "limit")
TIME_MAPS = ("round", "began", "ended")  # null if unknown
COUNTS = ("size_bytes", "offset", "blocks", "threads")  # integer fields of a result
MANY = 8  # of longer lists, only the distinct items are checked
CLASS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._@+:-]{0,63})?")  # "" if unknown
LATER = re.compile(r"linkmatrix\.record/(?!1$)[1-9]\d{0,3}")
PLAIN = {int, float, str, bool, type(None)}
HUGE = re.compile(r"[eE]\+?\d{3}|\d{200}")  # occurs in every number that is too large for a double
#: Error descriptions in the code of fastjsonschema.
DESCRIBED = re.compile(r"(raise JsonSchemaValueException)\(.*\)$", re.MULTILINE)
#: Names of positions in the code of fastjsonschema. Their `locals()` takes 40 µs in a large function.
PLACED = re.compile(r', custom_formats, \(name_prefix or "data"\).*\)$', re.MULTILINE)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character, which UTF-8 cannot encode


def load(path: str | Path) -> Record:
    """Reads and checks the record at `path`.

    Raises BadInput for an incomplete or inconsistent record. The message contains the file and the position.
    """
    path = Path(path)
    try:
        content = read_whole(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text: {REMEDY}") from None
    try:
        record = parsed(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON, {error}: {REMEDY}") from None
    try:
        check(record)
    except BadInput as error:
        remedy = "" if isinstance(error, LaterVersionError) else f": {REMEDY}"
        raise BadInput(f"{path}: {error}{remedy}") from None
    attach_files(record, path.parent)
    return record


def attach_files(record: Record, folder: Path) -> None:
    """Connects each result with the file of its cells. folder: the folder of the record and of the files."""
    if any("cells" in result for result in record["results"]):
        from .external_cells import attach

        attach(record, folder)


def parsed(content: str) -> Any:
    """Parses JSON strictly. Refuses NaN, Infinity, repeated keys, and numbers that are too large for a double.

    An unpaired UTF-16 surrogate becomes a question mark. Raises ValueError or RecursionError.
    """
    numbers = {"parse_float": finite, "parse_int": finite} if HUGE.search(content) else {}
    found = json.loads(content, parse_constant=refuse_constant, object_pairs_hook=refuse_repeats, **numbers)
    if SURROGATE.search(content):
        found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    return found


def refuse_constant(name: str) -> None:
    """Raises ValueError for the constants NaN and Infinity, which Python's parser accepts. name: the constant."""
    raise ValueError(f"it contains {name}")


def finite(text: str) -> int | float:
    """Parses a number. Raises ValueError for a number that is too large for a double."""
    if not math.isfinite(float(text)):
        raise ValueError(f"the number {text[:20]} is too large")
    return float(text) if set(text) & set(".eE") else int(text)


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a record."""
    return json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


@cache
def accepts() -> Callable[[Any], Any]:
    """Returns a function that checks a record. The function raises ValueError if the schema refuses the record.

    The function uses fastjsonschema if installed, and jsonschema otherwise.
    """
    try:
        import fastjsonschema
    except ImportError:  # ReFrame installs jsonschema only, which is slower
        return refuse_by_jsonschema
    # fastjsonschema knows draft 7; the schema uses nothing newer
    code = fastjsonschema.compile_to_code({**schema(), "$schema": "http://json-schema.org/draft-07/schema#"})
    # Without descriptions, a check takes a sixteenth of the time, and its compilation a quarter. `best_fault` describes
    # an error.
    code = PLACED.sub(', custom_formats, "")', DESCRIBED.sub(r'\1("refused")', code))
    made: dict[str, Any] = {}
    exec(code, made)
    return made[re.findall(r"^def (\w+)", code, re.MULTILINE)[0]]


def refuse_by_jsonschema(record: Any) -> None:
    """Raises ValueError if the schema refuses the record. The message contains the position and the error."""
    import jsonschema  # slow to import

    def whole_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
        """Yields an error if a text does not match a pattern. "$" matches only the end of the text.

        In Python, "$" would also match before a final newline.
        """
        if isinstance(instance, str) and not re.search(re.sub(r"\$\Z", r"\\Z", pattern), instance):
            yield jsonschema.exceptions.ValidationError(f"{instance!r} does not match {pattern!r}")

    strict = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": whole_pattern})
    error = jsonschema.exceptions.best_match(strict(schema()).iter_errors(record))
    if error is not None:
        place = ".".join(str(step) for step in error.absolute_path) or "the record"
        raise ValueError(f"{place}: {error.message[:200]}")


def best_fault(record: Any) -> str:
    """The position and the error for which the schema refuses a record, as text."""
    try:
        refuse_by_jsonschema(record)
    except ValueError as fault:
        return str(fault)
    return "the record does not fit its schema"


def thinned(content: Any) -> Any:
    """Returns a smaller `content` with the same result of the schema check. Records can have 10 million numbers.

    A long list of plain values keeps only its smallest number, its largest number, and its distinct texts.
    """
    if isinstance(content, dict):
        return {name: thinned(value) for name, value in content.items()}
    if not isinstance(content, list):
        return content
    kinds = {type(item) for item in content}
    if len(content) < MANY or not kinds <= PLAIN:
        return [thinned(item) for item in content]
    chosen = list({(type(item), item) for item in content if type(item) not in (int, float)})
    numbers = [[item for item in content if type(item) is kind] for kind in kinds & {int, float}]
    return [item for _, item in chosen] + [bound for items in numbers for bound in (min(items), max(items))]


def check(record: Any) -> None:
    """Raises BadInput for an invalid record: refused by the schema, wrong shapes, or contradictions."""
    check_schema(record)
    check_words(record)
    labels = record["topology"]["labels"]
    in_file = any("cells" in result for result in record["results"])
    for name in TOPOLOGY_MAPS:
        if record["topology"][name] or not in_file:  # may be missing if the cells are in a separate file
            check_shape(f"topology.{name}", record["topology"][name], len(labels), len(labels))
    for result in record["results"]:
        (check_external if "cells" in result else check_result)(result)
    check_outcome(record)


def check_words(record: Record) -> None:
    """Raises BadInput for invalid labels, link classes, axes or matchings."""
    check_labels(record)
    check_classes("topology.link_class", record["topology"]["link_class"])
    for result in record["results"]:
        check_axes(result, record["topology"]["labels"])
        check_matchings(result)
        check_classes(f"{result['testcase']}.link_class", result.get("link_class", ()))
    if record.get("imported"):
        check_unique_cases(record["results"])


def check_schema(record: Any) -> None:
    """Raises BadInput if the schema refuses the record, and LaterVersionError for a record of a later version."""
    version = record.get("schema") if isinstance(record, dict) else None
    if isinstance(version, str) and version != SCHEMA and LATER.fullmatch(version):
        raise LaterVersionError(version)
    if version == EARLIER:
        raise BadInput(f"the format {version} is of a development version, which this version cannot read")
    try:
        accepts()(thinned(record))
    except ValueError:
        raise BadInput(best_fault(record)) from None
    for number, result in enumerate(record["results"]):
        for name in COUNTS:
            if isinstance(result.get(name), float):  # the schema accepts 512.0 as an integer, Python does not
                raise BadInput(f"results.{number}.{name}: {result[name]} must be an integer, without a decimal point")
    try:
        datetime.fromisoformat(record["started"].removesuffix("Z"))
    except ValueError:
        raise BadInput(f"started: '{record['started']}' is not a valid time") from None


def check_outcome(record: Record) -> None:
    """Raises BadInput if a record with the result PASS contains an error, or lacks results."""
    if record["result"] != "PASS":
        return
    if record["error"] is not None:
        raise BadInput("'result' is PASS, but there is an error")
    if record["lost"]:
        raise BadInput(f"'result' is PASS, but {record['lost'][0]['label']} was lost")
    measured = {result["testcase"] for result in record["results"]}
    missing = [name for name in record["expected"] if name not in measured]
    if missing:
        raise BadInput(f"'result' is PASS, but {missing[0]} was not measured")
    for result in record["results"]:
        if not result["complete"] or result["verified"] is False:
            state = "not complete" if not result["complete"] else "not all verified"
            raise BadInput(f"'result' is PASS, but {result['testcase']} is {state}")


def check_labels(record: Record) -> None:
    """Raises BadInput if a device appears twice, or if the labels of the topology are not the labels of the devices."""
    labels = [device["label"] for device in record["devices"]]
    if len(set(labels)) != len(labels):
        raise BadInput(f"a device appears twice: {', '.join(labels)}")
    if record["topology"]["labels"] != labels:
        raise BadInput("topology.labels differ from the devices")


def check_classes(name: str, cells: list[list[str]]) -> None:
    """Raises BadInput for an invalid name of a link class. These names become keys of references and exports."""
    for word in set().union(*cells):
        if not CLASS.fullmatch(word):
            raise BadInput(f"{name}: '{word[:80]}' is not a link class: a word such as NV18")


def check_shape(name: str, matrix: list[list[Any]], rows: int, columns: int) -> None:
    """Raises BadInput for a matrix that is not rows × columns."""
    if len(matrix) != rows or any(len(row) != columns for row in matrix):
        lengths = sorted({len(row) for row in matrix})
        raise BadInput(f"{name} has {len(matrix)} rows of {lengths} cells, and needs {rows} rows of {columns}")


def check_result(result: dict[str, Any]) -> None:
    """Raises BadInput if the maps of a result have different shapes, or if its cells contradict each other."""
    name, rows, columns = result["testcase"], result["rows"], result["columns"]
    for map_name in CELL_MAPS:
        check_shape(f"{name}.{map_name}", result[map_name], len(rows), len(columns))
    for map_name in (*TIME_MAPS, "sampled"):
        if result[map_name] is not None:
            check_shape(f"{name}.{map_name}", result[map_name], len(rows), len(columns))
    for part_name, part in result["parts"].items():
        check_shape(f"{name}.parts.{part_name}", part["values"], len(rows), len(columns))
    check_measured(result)


def check_measured(result: dict[str, Any]) -> None:
    """Raises BadInput for impossible cells, and for cells that contradict other fields of the result."""
    block = from_result(result).whole
    check_cells(result, block)
    check_times(result)
    check_short_samples(result)
    check_coverage(result)
    codes, words = block.status
    check_totals(result, dict(zip(words, np.bincount(codes.ravel(), minlength=len(words)).tolist(), strict=True)))


def check_external(result: dict[str, Any]) -> None:
    """Raises BadInput if the summaries of cells in a separate file contradict each other. Does not read this file.

    result: a result with cells in a separate file.
    """
    name, cells, endpoints = result["testcase"], result["cells"], len(result["rows"])
    if result["rows"] != result["columns"]:
        raise BadInput(f"{name}: cells in a file need identical lists of rows and columns")
    if len(set(cells["statuses"])) != len(cells["statuses"]) or len(cells["counts"]) != len(cells["statuses"]):
        raise BadInput(f"{name}.cells: statuses and counts differ in length, or a status occurs twice")
    counts = dict(zip(cells["statuses"], cells["counts"], strict=True))
    if sum(cells["counts"]) != endpoints**2:
        raise BadInput(f"{name}.cells.counts are {sum(cells['counts'])} cells, not {endpoints} × {endpoints}")
    if excludes_only_diagonal(result) and counts.get("not-applicable", 0) != endpoints:
        raise BadInput(
            f"{name}.cells: {counts.get('not-applicable', 0)} cells do not apply, but the diagonal has {endpoints}"
        )
    for axis in ("row_medians", "column_medians"):
        if len(cells[axis]) != endpoints:
            raise BadInput(f"{name}.cells.{axis} are {len(cells[axis])}, not {endpoints}")
    classes = [one["link_class"] for one in cells["classes"]]
    if len(set(classes)) != len(classes):
        raise BadInput(f"{name}.cells.classes: a class occurs twice: {', '.join(classes)}")
    measured, with_value = sum(one["measured"] for one in cells["classes"]), sum(counts.get(w, 0) for w in WITH_VALUE)
    if measured != with_value:
        raise BadInput(f"{name}.cells.classes have {measured} cells, but {with_value} were measured")
    for one in cells["classes"]:
        if not one["min"] <= one["median"] <= one["max"]:
            raise BadInput(f"{name}.cells.classes: the median of {one['link_class']} is not between its min and max")
    check_short_samples(result)
    check_totals(result, counts)


def check_axes(result: dict[str, Any], devices: list[str]) -> None:
    """Raises BadInput if an endpoint appears twice, or if an axis lacks some of the devices.

    An axis that contains no device is valid, such as an axis of nodes.
    """
    name = result["testcase"]
    for axis in ("rows", "columns"):
        labels = set(result[axis])
        if len(labels) != len(result[axis]):
            raise BadInput(f"{name}: a label appears twice: {', '.join(result[axis])}")
        missing = [label for label in devices if label not in labels]
        if missing and len(missing) < len(devices):
            raise BadInput(f"{name}.{axis} lack {', '.join(missing)}")
