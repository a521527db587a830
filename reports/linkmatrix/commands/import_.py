"""`linkmatrix import`: converts the output of other programs to records, one per run."""

import argparse
import json
import re
from datetime import datetime, timezone
from pathlib import Path

from ..errors import BadInput, say
from ..files import folder_for, path_of, read_whole, write_whole
from ..foreign.scan import read_text
from ..foreign.to_record import to_record
from ..foreign.unwrap import decoded
from ..judge.verdicts import EXIT_CODES, Verdict
from ..record import reading
from ..record.names import Record, parse_size
from ..record.units import counted
from ..show.screen import watched

MOST_BYTES = 64 * 1024 * 1024
UTC = "%Y-%m-%dT%H:%M:%SZ"


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `import`."""
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="output of a program, as text or JSON")
    command.add_argument(
        "--out",
        type=path_of,
        metavar="DIR",
        help="folder of the records (default: FILE without suffix)",
    )
    command.add_argument("--measured", metavar="TIME", help="time of the measurement, such as 2026-11-21T01:50:22Z")
    command.add_argument(
        "--size",
        metavar="BYTES",
        help="size of each copy, if the output lacks the size, such as 64MiB",
    )
    command.set_defaults(command=run_import)


def run_import(options: argparse.Namespace) -> int:
    """Writes <out>/<number>/record.json for each run, and prints a line about it. Raises BadInput."""
    measured = time_of(options.measured) if options.measured else None
    size = parse_size(options.size, "--size") if options.size else None
    with watched(options.files, "files") as files:
        found = [(file, records_of(file, measured, size)) for file in files]
    refuse_one_place_for_two(options)
    written = [
        (folder_of(options.out, file, len(options.files)) / f"{number:02}" / "record.json", one)
        for file, records in found
        for number, one in enumerate(records, start=1)
    ]
    there = next((path for path, _ in written if path.exists()), None)
    if there is not None:
        raise BadInput(f"{there} exists already, and a record is never changed: name another folder with --out")
    if options.out and written:
        folder_for(options.out)
    for path, one in written:
        write_whole(path, json.dumps(one, separators=(",", ":")).encode())
        say(f"{path}: {summary(one)}")
        if one["error"]:
            say(f"  {one['error']}")
    return 0 if all(one["result"] == "PASS" for _, one in written) else EXIT_CODES[Verdict.INCOMPLETE]


def refuse_one_place_for_two(options: argparse.Namespace) -> None:
    """Raises BadInput if the records of a file would overwrite the records of another file."""
    places: dict[Path, Path] = {}
    for file in options.files:
        place = folder_of(options.out, file, len(options.files))
        other = places.setdefault(place.absolute(), file)
        if other is not file:
            raise BadInput(
                f"{other} and {file} have the same folder of records, {place}: import each file alone with --out"
            )


def records_of(file: Path, measured: str | None, size: int | None) -> list[Record]:
    """The validated records of the runs in a file. Raises BadInput with the name of the file."""
    content = read_whole(file, MOST_BYTES)
    text = decoded(content)
    now = datetime.now(timezone.utc).strftime(UTC)
    try:
        records = [to_record(run, clean_name(file), content, now, measured, size) for run in read_text(text)]
        for one in records:
            reading.check(one)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None
    return records


def clean_name(file: Path) -> str:
    """The name of a file in printable ASCII, at most 255 characters."""
    return re.sub(r"[^\x20-\x7e]", "?", file.name)[:255]


def time_of(text: str) -> str:
    """A time in the format of records. Raises BadInput."""
    try:
        return datetime.strptime(text, UTC).strftime(UTC)
    except ValueError:
        raise BadInput(f"--measured '{text}' is not a time: use UTC, such as 2026-11-21T01:50:22Z") from None


def folder_of(out: Path | None, file: Path, files: int) -> Path:
    """The folder for the records of a file. out: the value of --out. files: the number of imported files."""
    if out is None:
        folder = file.with_suffix("")
        return folder if folder != file else file.with_name(file.name + ".records")
    return out / file.stem if files > 1 else out


def state_of(one: Record) -> str:
    """The content of a record without measurements, such as "2 findings", "topology" or "links of 8 devices"."""
    if "findings" in one["imported"]:
        return counted(len(one["imported"]["findings"]), "finding")
    links = any(word not in ("", "X") for row in one["topology"]["link_class"] for word in row)
    return "topology" if links else f"links of {counted(len(one['devices']), 'device')}"


def summary(one: Record) -> str:
    """The line about a record, such as "nvbandwidth, lines 267 to 530: 30 test cases"."""
    said = one["imported"]
    names = dict.fromkeys(result["testcase"] for result in one["results"])
    sizes = len({result["size_bytes"] for result in one["results"]})
    what = [f"{len(names)} test case{'' if len(names) == 1 else 's'}" if names else ""]
    what += [f"{sizes} sizes" if sizes > 2 else "", "" if names else state_of(one)]
    place = f"lines {said['lines'][0]} to {said['lines'][1]}"
    column = f", {said['column']}" if said["column"] else ""
    return f"{said['program']}{column}, {place}: {', '.join(filter(None, what))}"
