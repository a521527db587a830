"""Extracts the output and the record of one test case from the files of a process that measured several test cases.

| test case | result |
|---|---|
| complete and verified | PASS, even if the process failed later |
| incomplete | the result of the process |
| not begun | no record |
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...files import MOST_BYTES, read_whole, write_whole
from ...record import reading
from ...record.external_cells import ExternalCells

Json = dict[str, Any]
MEASURING = ("--testcase", "--size")  # options with a value that --topology does not accept
ENDING = re.compile(r"Result: (?:PASS|FAIL|ERROR|TIMEOUT)")


def part_text(text: str, result: str) -> str:
    """The standard output of a process, with the last line changed to "Result: `result`".

    If `result` is not a final result, this last line is left out.
    """
    lines = [line for line in text.splitlines() if not ENDING.fullmatch(line)]
    ending = [line for line in [f"Result: {result}"] if ENDING.fullmatch(line)]
    return "\n".join([*lines, *ending, ""])


def part_record(record: Json, testcase: str) -> Json | None:
    """The part of a process's record about one test case; None if the process did not begin the test case.

    testcase: "" for the topology only.
    If this test case is complete and another test case is incomplete, the result of the part is PASS. If the process
    failed after all test cases were complete, for example in MPI_Finalize, the part has the result of the process.
    """
    if not testcase:
        return topology_record(record)
    own = [result for result in record["results"] if result["testcase"] == testcase]
    if not own:
        return None
    part = {**record, "results": own, "expected": [testcase]}
    if is_complete(own) and record["result"] != "PASS" and not is_record_complete(record):
        part |= {"result": "PASS", "error": None, "lost": []}
    return part


def topology_record(record: Json) -> Json:
    """The part of a process's record about the topology. The process reads the topology before all measurements.

    Lost endpoints, and error counters after the measurements, are left out, because the test cases report them.
    """
    first = {"results": [], "expected": [], "lost": [], "result": "PASS", "error": None}
    return {
        **record,
        **first,
        "command": topology_command(record["command"]),
        "health": initial_health(record.get("health", [])),
    }


def topology_command(command: list[str]) -> list[str]:
    """A command line that reads only the topology of the devices that `command` measures."""
    words = iter(command)
    found: list[str] = []
    for word in words:
        if word in MEASURING:
            next(words, None)
        else:
            found.append(word)
    return [*found[:1], "--topology", *found[1:]]


def initial_health(health: list[Json]) -> list[Json]:
    """The health of devices in a record, with the counters and readings before the measurement only."""

    def first(items: list[Json]) -> list[Json]:
        return [{**item, "after": None} for item in items if item["before"] is not None]

    return [{**one, "counters": first(one["counters"]), "readings": first(one["readings"])} for one in health]


def is_complete(results: list[Json]) -> bool:
    """Whether the results have a value for each cell, and no result contains wrong data."""
    return all(result["complete"] and result["verified"] is not False for result in results)


def is_record_complete(record: Json) -> bool:
    """Whether the record contains complete results of all requested test cases, and no lost endpoint."""
    measured = {result["testcase"] for result in record["results"]}
    return is_complete(record["results"]) and not record["lost"] and measured.issuperset(record["expected"])


@dataclass(frozen=True)
class ProcessOutput:
    """The output files of a process.

    stage: the stage of the job.
    folder: the folder of the process in `stage`.
    job: ReFrame's job. Its `stdout`, `stderr` and `script_filename` are names of files in `stage`.
    asked_by: the value of the process's option `--asked-by`.
    """

    stage: Path
    folder: Path
    job: Any
    asked_by: str

    @property
    def job_began(self) -> bool:
        """Whether the job began."""
        return (self.stage / self.job.stdout).exists()

    @property
    def output(self) -> Path:
        """The file with the standard output of the process. The file exists if the process began."""
        return self.folder / "out"

    def text(self) -> str:
        """The standard output of the process, followed by the files `rank.*`.

        Ranks print into these files before they start the program.
        """
        return read_text(self.output) + "".join(map(read_text, sorted(self.folder.glob("rank.*"))))

    def errors(self) -> str:
        """The text that the process wrote to its standard error.

        If the process has no own file, because `folder` is a subfolder, this is the text of the parent folder's file.
        """
        file = self.folder / "err"
        return read_text(file if file.exists() else self.folder.parent / "err")

    def copy_to(self, destination: Path, testcase: str | None, name: str) -> None:
        """Copies the output and the record of one test case into the stage of its test.

        destination: the stage of the test.
        testcase: "" for the topology; None for the complete output.
        name: the name of the test, for the record.
        """
        text, record = self.text(), self.folder / "record.json"
        # ReFrame may have kept the stage with the record of an earlier run
        (destination / "record.json").unlink(missing_ok=True)
        errors = self.errors() + read_text(self.stage / self.job.stderr)
        script = read_text(self.stage / self.job.script_filename)
        if testcase is not None:
            text = self.write_part(text, record, destination, testcase, name)
        elif record.exists():
            shutil.copyfile(record, destination / "record.json")
            copy_cells(self.folder.glob("record.*.npy"), destination)
        if self.job_began:
            write_copy(destination / self.job.stdout, text)
        write_copy(destination / self.job.stderr, errors)
        write_copy(destination / self.job.script_filename, script)

    def write_part(self, text: str, file: Path, destination: Path, testcase: str, name: str) -> str:
        """Writes the record of one test case, if the process began the test case.

        Returns the standard output, with the result of the test case in the last line.
        text: the standard output of the process.
        file: the record of the process.
        destination, testcase, name: as in `copy_to`.
        """
        record = load_record(file, os.stat(file).st_mtime_ns) if file.exists() else None
        part = part_record(record, testcase) if record else None
        if record is None or part is None:
            return text  # with the result of the process
        if record["asked_by"] == self.asked_by:  # otherwise the record is from an earlier session
            part = {**part, "asked_by": name}
        write_copy(destination / "record.json", json.dumps(part))
        external = [found for found in map(ExternalCells.of, part["results"]) if found]
        copy_cells((cells for cells in (file.parent / one.name for one in external) if cells.exists()), destination)
        return part_text(text, part["result"])


def wait_for_record(stage: Path, folder: Path, jobid: Any, seconds: float, stdout: str = "") -> None:
    """Waits until this computer sees the record of a process and the output of its job.

    On a network file system, both files may appear after the end of the job. The function does not wait for a process
    that wrote no record. A process wrote no record if the process printed no `Result:` line, or if its standard error
    contains `--record`.

    stage, jobid, stdout: the stage, the ID and the output file of a completed job.
    folder: the folder of the process.
    seconds: maximum wait for all processes of the job.
    """
    until = end_of_wait(stage, jobid, seconds)
    while not ((folder / "record.json").exists() and (stage / stdout).exists()) and time.monotonic() < until:
        output = folder / "out"
        ended = ENDING.fullmatch(read_text(output).rstrip().rpartition("\n")[2])
        if output.exists() and (stage / stdout).exists() and (not ended or "--record '" in read_text(folder / "err")):
            return
        time.sleep(min(0.5, seconds / 10))
        for one in filter(Path.is_dir, (stage, folder)):
            os.listdir(one)  # makes an NFS client read the folder again


@functools.cache
def end_of_wait(_stage: Path, _jobid: Any, seconds: float) -> float:
    """The end of the wait for the files of a job, as `time.monotonic`. All processes of a job have the same end."""
    return time.monotonic() + seconds


def write_copy(path: Path, text: str) -> None:
    """Writes a copy, but does not wait for the disk, because the folder of the process contains the original."""
    write_whole(path, text.encode(), lasting=False)


def copy_cells(files: Iterable[Path], folder: Path) -> None:
    """Copies files with the cells of large matrices into a folder."""
    for file in files:
        shutil.copyfile(file, folder / file.name)


def read_text(path: Path) -> str:
    """The text of a file; "" if the file is missing."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@functools.lru_cache(maxsize=4)
def load_record(path: Path, _changed: int) -> Json | None:
    """The record in a file; None if the file is unreadable. Callers must not change the result, which is cached."""
    try:
        return reading.parsed(read_whole(path, MOST_BYTES).decode())
    except (ValueError, RecursionError):
        return None
