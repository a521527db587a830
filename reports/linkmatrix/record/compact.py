"""`linkmatrix compact`: records in an archive of numpy's, `record.npz` beside `record.json`, for many endpoints.

It holds the whole record: what is no matrix as JSON, numbers as doubles, and maps of few different values, such as
statuses and link classes, as codes. Every command takes it where it is newer than its JSON, or the JSON is gone.
"""

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from . import grids, reading
from .grids import MOST_WORDS, Cells, Grid
from .reading import CELL_MAPS, TIME_MAPS, TOPOLOGY_MAPS, Record
from .upgrade import upgraded

HEAD = "record.json"
HASHED = 1 << 16  # bytes at each end of a record
#: What zipfile, zlib, json and numpy raise for damaged bytes; a flag may even say that they are encrypted.
DAMAGED = (OSError, EOFError, LookupError, TypeError, AttributeError, ValueError, RuntimeError, MemoryError)
DAMAGED += (zipfile.BadZipFile, zlib.error)
REMEDY = "linkmatrix compact makes it again from its record.json"


def maps_of(content: Record) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name in the archive, the object that holds the map, its key) of every map of a record."""
    for key in TOPOLOGY_MAPS:
        yield f"topology.{key}", content["topology"], key
    for number, result in enumerate(content["results"]):
        for key in CELL_MAPS:
            yield f"{number}.{key}", result, key
        for key in TIME_MAPS:
            if result.get(key) is not None:
                yield f"{number}.{key}", result, key
        for name, part in result["parts"].items():
            yield f"{number}.parts.{name}", part, "values"


def pack(content: Record, of: str = "") -> bytes:
    """The archive of a checked record. Codes are compressed, numbers are not: they are noise, and read at once.

    of: which file it was read from, as `fingerprint` says.
    """
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
        archive.writestr(HEAD, json.dumps({"words": words, "of": of, "record": head}), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def fingerprint(path: Path) -> str:
    """Of a record.json: its size, the hash of its begin and end, and the SHA-256 of the whole file. Raises OSError."""
    with path.open("rb") as file:
        whole = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read())
    return f"{ends_of(path)} {whole.hexdigest()}"


def ends_of(path: Path) -> str:
    """Of a record.json: its size and the hash of its begin and end, where it says when and where it was measured.

    Not of the whole: that would take as long as reading it. Raises OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        parts = file.read(HASHED)
        file.seek(max(0, size - HASHED))
        parts += file.read(HASHED)
    return f"{size} {hashlib.sha256(parts).hexdigest()}"


def is_of(archive: Path, path: Path) -> bool:
    """Was an archive made of this record.json?"""
    try:
        with zipfile.ZipFile(archive) as opened:
            return bool(json.loads(opened.read(HEAD))["of"].split()[:2] == ends_of(path).split())
    except DAMAGED:
        return False


def sha256_of(archive: Path) -> str:
    """The SHA-256 of the record.json that an archive was made of; "" where an earlier version made it, or damaged."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return "".join(json.loads(opened.read(HEAD))["of"].split()[2:])
    except DAMAGED:
        return ""


def coded(rows: Cells) -> tuple[np.ndarray, list[Any] | None]:
    """(codes, the values) of a map with few different values, else (numbers, None)."""
    if isinstance(rows, Grid):
        return rows.read(), None if rows.words is None else list(rows.words)
    if not rows:  # no devices: there is not even a row that says how many columns
        return np.zeros((0, 0), dtype=np.uint8), []
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
            if archive.getinfo(HEAD).file_size > reading.MOST_BYTES:
                raise ValueError(f"{HEAD} is larger than {reading.MOST_BYTES} bytes")
            said = reading.parsed(archive.read(HEAD).decode())
            content, words = said["record"], said["words"]
            for name, holder, key in maps_of(content):
                check_shape(archive, name, words.get(name), *size_of(content, name))
                holder[key] = Grid(reader(path, f"{name}.npy", words.get(name)), words.get(name))
                if name in words:  # a code is looked up without a further look; numbers are looked at below
                    holder[key].read()
        check_schema(content)
        content = upgraded(content)
        reading.check_words(content)
        for result in content["results"]:
            if result["sampled"] is not None:
                shape = (len(result["rows"]), len(result["columns"]))
                reading.check_shape(f"{result['testcase']}.sampled", result["sampled"], *shape)
            reading.check_measured(result)
        reading.check_outcome(content)
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
        reading.check_schema(content)
    finally:
        for holder, key, grid in grids_of:
            holder[key] = grid


def representatives(grid: Grid) -> list[Any]:
    """The values of codes; the least and the largest number."""
    if grid.words is not None:
        return list(grid.words)
    if not grid.ends:
        grids.numbers(grid)
    return [int(one) if one is not None and float(one).is_integer() else one for one in grid.ends]


def reader(path: Path, member: str, words: list[Any] | None) -> Callable[[], np.ndarray]:
    """Reads a member of an archive, whose checksum is compared; words: that its codes are of, None of numbers."""

    def read() -> np.ndarray:
        try:
            with zipfile.ZipFile(path) as archive:
                content = archive.read(member)
            head = io.BytesIO(content)
            np.lib.format.read_magic(head)
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(head)
            # numpy's own reader takes small pieces, and copies them
            found = np.frombuffer(content, dtype, int(np.prod(shape)), head.tell())
            if words is not None and int(found.max(initial=0)) >= len(words) and found.size:
                raise ValueError(f"it has the code {found.max()}, of {len(words)} words")
            if words is None and np.isinf(found).any():  # which JSON has no way to write
                raise ValueError("it holds Infinity")
            return found.reshape(shape, order="F" if by_columns else "C")
        except DAMAGED as error:
            raise BadInput(f"{path} is damaged at {member}, {error}: {REMEDY}") from None

    return read


def check_shape(archive: zipfile.ZipFile, name: str, words: Any, rows: int, columns: int) -> None:
    """A member is codes with words, or numbers without, and has a cell for each row and column. Raises ValueError."""
    with archive.open(f"{name}.npy") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        size = file.tell() + math.prod(shape) * dtype.itemsize
    if archive.getinfo(f"{name}.npy").file_size != size:  # what is packed may be a thousand times what is there
        raise ValueError(f"{name} has not {size} bytes")
    kind = "f" if words is None else "u"
    if dtype.kind != kind or (words is not None and not isinstance(words, list)):
        raise ValueError(f"{name} holds {dtype}")
    # lists of lists cannot tell a table without rows from one without columns
    if shape != (rows, columns) and not (rows == 0 and shape[0] == 0):
        raise ValueError(f"{name} is {shape}, not {rows} × {columns}")
