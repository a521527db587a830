"""The part of one test case in what a process left that ran several: its result, and its record.

A test case that is whole and was compared is PASS whatever became of those after it; one
that is not has the ending of the process; and what the process never began is not there.
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

from ...files import write_whole
from ...record.apart import Apart

Json = dict[str, Any]
MEASURING = ("--testcase", "--size")  # options with a value that do nothing where nothing is measured
ENDING = re.compile(r"Result: (?:PASS|FAIL|ERROR|TIMEOUT)")


def text_of(text: str, result: str) -> str:
    """The standard output of a process, with the result of one test case as its last line.

    result: the word of the last line; None, or that of a checkpoint: the process was ended before it could write one
    """
    kept = [line for line in text.splitlines() if not ENDING.fullmatch(line)]
    ending = [line for line in [f"Result: {result}"] if ENDING.fullmatch(line)]
    return "\n".join([*kept, *ending, ""])


def record_of(record: Json, testcase: str) -> Json | None:
    """The record as if the process had been asked for this test case alone; None where it did not begin with it.

    testcase: "" for the topology alone. What broke the whole process though all of its test cases are whole, such as an
    MPI that could not end, breaks each.
    """
    if not testcase:
        return look_of(record)
    own = [result for result in record["results"] if result["testcase"] == testcase]
    if not own:
        return None
    part = {**record, "results": own, "expected": [testcase]}
    if whole(own) and record["result"] != "PASS" and not all_whole(record):
        part |= {"result": "PASS", "error": None, "lost": []}
    return part


def look_of(record: Json) -> Json:
    """The record as if the process had looked at the topology, which it did before it measured, and ended.

    What was lost or counted later is said by the test cases that were measured then.
    """
    first = {"results": [], "expected": [], "lost": [], "result": "PASS", "error": None}
    return {
        **record,
        **first,
        "command": command_of_look(record["command"]),
        "health": opened(record.get("health", [])),
    }


def command_of_look(command: list[str]) -> list[str]:
    """The command that looks at what another one measures."""
    words = iter(command)
    kept: list[str] = []
    for word in words:
        if word in MEASURING:
            next(words, None)
        else:
            kept.append(word)
    return [*kept[:1], "--topology", *kept[1:]]


def opened(health: list[Json]) -> list[Json]:
    """Counters and readings as they were at first."""

    def first(items: list[Json]) -> list[Json]:
        return [{**item, "after": None} for item in items if item["before"] is not None]

    return [{**one, "counters": first(one["counters"]), "readings": first(one["readings"])} for one in health]


def whole(results: list[Json]) -> bool:
    """Every cell that should have a value has one, and its data was compared where there is any."""
    return all(result["complete"] and result["verified"] is not False for result in results)


def all_whole(record: Json) -> bool:
    """Whether the process did all that it was asked for."""
    measured = {result["testcase"] for result in record["results"]}
    return whole(record["results"]) and not record["lost"] and measured.issuperset(record["expected"])


@dataclass(frozen=True)
class Left:
    """What a process left in the stage of its job.

    stage: folder of the job; folder: of the process, in it; job: `stdout`, `stderr` and `script_filename` are names of
    files in `stage`, and of those that a test reads; asked_by: the name that the process was given
    """

    stage: Path
    folder: Path
    job: Any
    asked_by: str

    @property
    def begun(self) -> bool:
        """Whether the job began."""
        return (self.stage / self.job.stdout).exists()

    @property
    def output(self) -> Path:
        """The process's standard output, which is there if it began."""
        return self.folder / "out"

    def text(self) -> str:
        """Standard output; of ranks that became another program, what they said before, each in a file."""
        return read(self.output) + "".join(map(read, sorted(self.folder.glob("rank.*"))))

    def errors(self) -> str:
        """Standard error, which such ranks have in common with what they became."""
        own = self.folder / "err"
        return read(own if own.exists() else self.folder.parent / "err")

    def copy_to(self, own: Path, testcase: str | None, name: str) -> None:
        """Copies the part of a test into its folder, as if it had run the process alone, and called it `name`.

        testcase: the test case of the test, "" for the topology; None for all that the process did
        """
        text, record = self.text(), self.folder / "record.json"
        (own / "record.json").unlink(missing_ok=True)  # of an earlier run, where ReFrame was told to keep the stage
        errors = self.errors() + read(self.stage / self.job.stderr)
        script = read(self.stage / self.job.script_filename)
        if testcase is not None:
            text = self.part_of(text, record, own, testcase, name)
        elif record.exists():
            shutil.copyfile(record, own / "record.json")
            take_cells(self.folder.glob("record.*.npy"), own)
        if self.begun:
            write_copy(own / self.job.stdout, text)
        write_copy(own / self.job.stderr, errors)
        write_copy(own / self.job.script_filename, script)

    def part_of(self, text: str, record: Path, own: Path, testcase: str, name: str) -> str:
        """The text with the result of a test case; its part of the record is written to `own`, if there is one."""
        whole = record_in(record, os.stat(record).st_mtime_ns) if record.exists() else None
        part = record_of(whole, testcase) if whole else None
        if whole is None or part is None:
            return text  # how it ended
        if whole["asked_by"] == self.asked_by:  # this session's, and not one that was left
            part = {**part, "asked_by": name}
        write_copy(own / "record.json", json.dumps(part))
        apart = [found for found in map(Apart.of, part["results"]) if found]
        take_cells((file for file in (record.parent / one.name for one in apart) if file.exists()), own)
        return text_of(text, part["result"])


def wait_for_record(stage: Path, folder: Path, jobid: Any, seconds: float, stdout: str = "") -> None:
    """Waits until the record of a process is visible, and the output of its job: on a network file system both may
    appear after the job's end.

    stage, jobid, stdout: of a job that ran to its end; folder: of the process. All processes of a job share the wait of
    `seconds`. A process wrote no record if its output has no `Result:` line, or if its errors contain `--record`.
    """
    until = end_of_wait(stage, jobid, seconds)
    while not ((folder / "record.json").exists() and (stage / stdout).exists()) and time.monotonic() < until:
        output = folder / "out"
        ended = ENDING.fullmatch(read(output).rstrip().rpartition("\n")[2])
        if output.exists() and (stage / stdout).exists() and (not ended or "--record '" in read(folder / "err")):
            return
        time.sleep(min(0.5, seconds / 10))
        for one in filter(Path.is_dir, (stage, folder)):
            os.listdir(one)  # a client of NFS then asks for the folder again


@functools.cache
def end_of_wait(_stage: Path, _jobid: Any, seconds: float) -> float:
    """The end of the wait for the files of a job, in seconds of `time.monotonic`."""
    return time.monotonic() + seconds


def write_copy(path: Path, text: str) -> None:
    """Writes what is elsewhere too, in the folder of the process: no test waits until the disk has it."""
    write_whole(path, text.encode(), lasting=False)


def take_cells(files: Iterable[Path], folder: Path) -> None:
    """Matrices that are too large for the record lie beside it."""
    for file in files:
        shutil.copyfile(file, folder / file.name)


def read(path: Path) -> str:
    """The text of a file; "" where there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@functools.lru_cache(maxsize=4)
def record_in(path: Path, _changed: int) -> Json | None:
    """The record at a path, which many tests read; nobody changes it. None where it cannot be read."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
