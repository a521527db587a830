"""`linkmatrix import`: converts the output of other programs to records, one record per run of a program."""

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

MOST_BYTES = 64 * 1024 * 1024  # of an imported file
UTC = "%Y-%m-%dT%H:%M:%SZ"  # the format of times in records


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `import`."""
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
    """Writes a file <out>/<number>/record.json per run of the program, and prints a line about each record.

    Returns 0 if all records have the result PASS, otherwise the exit code of INCOMPLETE. Raises BadInput.
    """
    measured = record_time(options.measured) if options.measured else None
    size = parse_size(options.size, "--size") if options.size else None
    with watched(options.files, "files") as files:
        found = [(file, converted_records(file, measured, size)) for file in files]
    refuse_shared_folders(options)
    written = [
        (records_folder(options.out, file, len(options.files)) / f"{number:02}" / "record.json", one)
        for file, records in found
        for number, one in enumerate(records, start=1)
    ]
    existing = next((path for path, _ in written if path.exists()), None)
    if existing is not None:
        raise BadInput(f"{existing} exists already, and a record is never changed: name another folder with --out")
    if options.out and written:
        folder_for(options.out)
    for path, one in written:
        write_whole(path, json.dumps(one, separators=(",", ":")).encode())
        say(f"{path}: {summary_line(one)}")
        if one["error"]:
            say(f"  {one['error']}")
    return 0 if all(one["result"] == "PASS" for _, one in written) else EXIT_CODES[Verdict.INCOMPLETE]


def refuse_shared_folders(options: argparse.Namespace) -> None:
    """Raises BadInput if the records of two imported files would be written into the same folder."""
    files: dict[Path, Path] = {}
    for file in options.files:
        folder = records_folder(options.out, file, len(options.files))
        other = files.setdefault(folder.absolute(), file)
        if other is not file:
            raise BadInput(
                f"{other} and {file} have the same folder of records, {folder}: import each file alone with --out"
            )


def converted_records(file: Path, measured: str | None, size: int | None) -> list[Record]:
    """The validated records of the runs in a file with a program's output. Raises BadInput.

    measured: time of the measurement, if the output lacks the time.
    size: bytes of each copy, if the output lacks the size.
    """
    content = read_whole(file, MOST_BYTES)
    text = decoded(content)
    now, name = datetime.now(timezone.utc).strftime(UTC), re.sub(r"[^\x20-\x7e]", "?", file.name)[:255]
    try:
        records = [to_record(run, name, content, now, measured, size) for run in read_text(text)]
        for one in records:
            reading.check(one)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None
    return records


def record_time(text: str) -> str:
    """Converts the value of --measured to the time format of records. Raises BadInput."""
    try:
        return datetime.strptime(text, UTC).strftime(UTC)
    except ValueError:
        raise BadInput(f"--measured '{text}' is not a time: use UTC, such as 2026-11-21T01:50:22Z") from None


def records_folder(out: Path | None, file: Path, files: int) -> Path:
    """The folder for the records of an imported file.

    out: the value of --out; None without the option.
    files: the number of imported files.
    """
    stem = file.stem if file.stem.strip(".") else f"{file.name}.records"  # of "...txt", the stem is ".."
    if out is not None:
        return out / stem if files > 1 else out
    return file.with_name(stem if stem != file.name else f"{file.name}.records")


def other_content(record: Record) -> str:
    """A text about a record that has no test cases, such as "2 findings", "topology" or "links of 8 devices"."""
    if "findings" in record["imported"]:
        return counted(len(record["imported"]["findings"]), "finding")
    links = any(word not in ("", "X") for row in record["topology"]["link_class"] for word in row)
    return "topology" if links else f"links of {counted(len(record['devices']), 'device')}"


def summary_line(record: Record) -> str:
    """The line about a record, such as "nvbandwidth, lines 267 to 530: 30 test cases"."""
    imported = record["imported"]
    names = dict.fromkeys(result["testcase"] for result in record["results"])
    sizes = len({result["size_bytes"] for result in record["results"]})
    content = counted(len(names), "test case") if names else other_content(record)
    content += f", {sizes} sizes" if sizes > 2 else ""
    column = f", {imported['column']}" if imported["column"] else ""
    first, last = imported["lines"]
    return f"{imported['program']}{column}, lines {first} to {last}: {content}"
