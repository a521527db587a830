"""`linkmatrix compact`: records in an archive of numpy's, `record.npz` beside `record.json`, for many endpoints.

It holds the whole record: what is no matrix as JSON, numbers as doubles, and maps of few different values, such as
statuses and link classes, as codes. Every command takes it where it is newer than its JSON, or the JSON is gone.
"""

import argparse
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import grids, record, runs
from .errors import BadInput
from .files import write_whole
from .grids import MOST_WORDS, Cells, Grid
from .record import CELL_MAPS, NOT_MISSING, TOPOLOGY_MAPS, WITH_VALUE, Record

HEAD = "record.json"
LEAST_ENDPOINTS = 64  # of a record for which it is worth it
#: What zipfile, zlib, json and numpy raise for damaged bytes; a flag may even say that they are encrypted.
DAMAGED = (OSError, EOFError, LookupError, TypeError, AttributeError, ValueError, RuntimeError, MemoryError)
DAMAGED += (zipfile.BadZipFile, zlib.error)
REMEDY = "linkmatrix compact makes it again from its record.json"


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `compact`."""
    command.add_argument(
        "paths", nargs="*", type=Path, metavar="RUN", help="records, reports or folders; default: the newest report"
    )
    command.add_argument(
        "--least", type=int, default=LEAST_ENDPOINTS, metavar="N", help="endpoints of a record; default: 64"
    )
    command.set_defaults(command=run_compact)


def run_compact(options: argparse.Namespace) -> int:
    """Writes record.npz beside each record.json of so many endpoints; the record stays. Raises BadInput."""
    done = 0
    for run in [runs.find(path) for path in options.paths] or [runs.find(None)]:
        for test in run.tests:
            path = test.path
            if test.record is None or path is None or path.suffix != ".json":
                continue
            most = max((len(result["rows"]) for result in test.record["results"]), default=0)
            apart = any("cells" in result for result in test.record["results"])  # as compact as can be
            if most < options.least or apart:
                continue
            out = path.with_suffix(".npz")
            write_whole(out, pack(test.record))
            print(f"{out}: {most} endpoints, {path.stat().st_size / 1e6:.1f} MB are {out.stat().st_size / 1e6:.1f} MB")
            done += 1
    if not done:
        print(f"No record has {options.least} endpoints: JSON is as good for them.")
    return 0


def maps_of(content: Record) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name in the archive, the object that holds the map, its key) of every map of a record."""
    for key in TOPOLOGY_MAPS:
        yield f"topology.{key}", content["topology"], key
    for number, result in enumerate(content["results"]):
        for key in CELL_MAPS:
            yield f"{number}.{key}", result, key
        for name, part in result["parts"].items():
            yield f"{number}.parts.{name}", part, "values"


def pack(content: Record) -> bytes:
    """The archive of a checked record. Codes are compressed, numbers are not: they are noise, and read at once."""
    head = json.loads(json.dumps({**content, "topology": {}, "results": []}))
    head["topology"] = {**content["topology"]}
    head["results"] = [
        {**result, "parts": {name: {**part} for name, part in result["parts"].items()}} for result in content["results"]
    ]
    words: dict[str, list[Any]] = {}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, holder, key in maps_of(head):
            array, said = coded(holder[key])
            holder[key] = []
            if said is not None:
                words[name] = said
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            how = zipfile.ZIP_STORED if said is None else zipfile.ZIP_DEFLATED
            archive.writestr(f"{name}.npy", buffer.getbuffer(), how, 1)
        archive.writestr(HEAD, json.dumps({"words": words, "record": head}), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def coded(rows: Cells) -> tuple[np.ndarray, list[Any] | None]:
    """(codes, the values) of a map with few different values, else (numbers, None)."""
    if isinstance(rows, Grid):
        return rows.read(), None if rows.words is None else list(rows.words)
    known: set[Any] = set()
    for row in rows:
        known.update(row)
        if len(known) > MOST_WORDS:
            return np.array(rows, dtype=float), None
    found, words = grids.codes(rows)
    return found.astype(np.uint8), words


def load(path: Path) -> Record:
    """The checked record of an archive; its maps are read when they are looked at. Raises BadInput naming the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            said = json.loads(archive.read(HEAD), parse_constant=record.refuse_constant)
            content, words = said["record"], said["words"]
            for name, holder, key in maps_of(content):
                check_shape(archive, name, words.get(name), *size_of(content, name))
                holder[key] = Grid(reader(path, f"{name}.npy"), words.get(name))
        for result in content["results"]:
            check_cells(result)
        check_schema(content)
        record.check_labels(content)
        for result in content["results"]:
            record.check_axes(result, content["topology"]["labels"])
    except DAMAGED as error:
        why = str(error) if isinstance(error, BadInput) else f"{type(error).__name__} {error}"
        raise BadInput(f"{path} is no compact record, {why[:300]}: {REMEDY}") from None
    return content


def size_of(content: Record, name: str) -> tuple[int, int]:
    """(rows, columns) that a map must have."""
    where = name.partition(".")[0]
    if where == "topology":
        return len(content["devices"]), len(content["devices"])
    result = content["results"][int(where)]
    return len(result["rows"]), len(result["columns"])


def check_schema(content: Record) -> None:
    """The schema on the whole record, its maps represented by all that it can tell apart. Raises BadInput."""
    grids_of = [(holder, key, holder[key]) for _, holder, key in maps_of(content)]
    try:
        for holder, key, grid in grids_of:
            holder[key] = [representatives(grid)]
        record.check_schema(content)
    finally:
        for holder, key, grid in grids_of:
            holder[key] = grid


def representatives(grid: Grid) -> list[Any]:
    """The values of codes; the least and the largest number."""
    if grid.words is not None:
        return list(grid.words)
    if not grid.ends:
        grids.numbers(grid)
    return grid.ends


def reader(path: Path, member: str) -> Callable[[], np.ndarray]:
    """Reads a member of an archive, whose checksum is compared."""

    def read() -> np.ndarray:
        try:
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        except DAMAGED as error:
            raise BadInput(f"{path} is damaged at {member}, {error}: {REMEDY}") from None

    return read


def check_shape(archive: zipfile.ZipFile, name: str, words: Any, rows: int, columns: int) -> None:
    """A member is codes with words, or numbers without, and has a cell for each row and column. Raises ValueError."""
    with archive.open(f"{name}.npy") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    kind = "f" if words is None else "u"
    if dtype.kind != kind or (words is not None and not isinstance(words, list)):
        raise ValueError(f"{name} holds {dtype}")
    # lists of lists cannot tell a table without rows from one without columns
    if shape != (rows, columns) and not (rows == 0 and shape[0] == 0):
        raise ValueError(f"{name} is {shape}, not {rows} × {columns}")


def check_cells(result: Record) -> None:
    """As record.check_result and check_diagonal say, for all cells at once. Raises BadInput."""
    name = result["testcase"]
    values, low, high = (grids.numbers(result[key]) for key in ("values", "low", "high"))
    found = result["status"].read()
    status = Grid(lambda: found, result["status"].words)  # read once
    measured = grids.where(status, *WITH_VALUE)
    with np.errstate(invalid="ignore"):
        faults = {
            "has a value and no status for it, or a status and no value": np.isfinite(values) != measured,
            "is nothing that can be measured": (measured & ~(values > 0)) | np.isinf(values),
            "is outside of its interval": measured & ~((low <= values) & (values <= high)),
            "has a value and no samples": measured & ~grids.which(result["samples"], bool),
        }
    rows, columns = np.array(result["rows"]), np.array(result["columns"])
    left_out = np.zeros(values.shape, dtype=bool)
    if not result.get("local_copy"):
        left_out |= rows[:, None] == columns[None, :]
    if result.get("triangle"):
        left_out |= np.tri(*values.shape, -1, dtype=bool)
    if result["schedule"]["mode"] == "bisection":
        left_out = grids.where(status, "not-applicable")
    faults["is applicable, or not, against its place"] = grids.where(status, "not-applicable") != left_out
    for said, wrong in faults.items():
        if wrong.any():
            r, c = np.argwhere(wrong)[0]
            raise BadInput(f"{name}: {rows[r]}->{columns[c]} {said}")
    missing = int((~grids.where(status, *NOT_MISSING)).sum())
    if result["complete"] != (not missing):
        raise BadInput(f"{name}: 'complete' is {result['complete']}, and {missing} cells are missing or corrupt")
    if result["verified"] and grids.where(status, "corrupt").any():
        raise BadInput(f"{name}: 'verified' is true, and a cell is corrupt")
