"""How long the jobs of earlier runs took, from which the time limits of the next jobs follow.

A scheduler starts a short job in a gap between other jobs (backfill). A file per kind of job contains its last
durations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reframe.core.runtime import runtime

from ...errors import BadInput
from ...files import read_json, write_whole

MARGIN = 4  # a job may take this many times as long as before
LEAST_SECONDS = 300  # shortest time for the processes of a job: a slow link needs more time
JOB_OVERHEAD = 120  # seconds of a job in addition to its processes: modules, launchers
KEPT = 5  # durations per kind of job
FILE = "seconds"  # the file of a job's stage with its duration
#: The last command of a job, which ends with the exit code of the command before.
COMMAND = f"code=$?; echo $SECONDS > {FILE}; (exit $code)"


def file_of(test: Any, processes: Sequence[Any]) -> Path:
    """The file with the durations of a kind of job, which has all properties that matter to its duration.

    Each node of a sweep has its own file, because a slow node takes longer than others. processes:
    the `processes.Process` of the job.
    """
    place = test.current_partition.fullname, test.current_environ.name, test.num_tasks, test.num_tasks_per_node
    job = [place, *((one.request.program, one.request.opts, one.testcases, one.size) for one in processes)]
    job += sorted({one.request.node for one in processes} - {""})
    return Path(runtime().prefix) / "durations" / f"{hashlib.sha256(repr(job).encode()).hexdigest()[:16]}.json"


def set_time_limit(test: Any, processes: Sequence[Any]) -> None:
    """Sets the time limit of a job by the time that it took before, with a margin; at first by that of its processes.

    The local scheduler starts a job at once, whatever its limit is. processes: the `processes.Process` of the job.
    """
    topology_processes = [topology for process in processes if (topology := process.topology_process())]
    seconds = sum(process.seconds() for process in [*processes, *topology_processes])
    waits = any("--wait-idle" in process.request.opts for process in processes)
    queued = test.current_partition.scheduler.registered_name != "local"
    expected = expected_seconds(test.duration_file) if queued and not waits else None
    if expected and expected < seconds:
        seconds = expected
        for process in processes:
            process.most_seconds = expected
    test.time_limit = seconds + JOB_OVERHEAD


def known(file: Path) -> list[int]:
    """The last durations in seconds, the newest last; empty without a file, and for a damaged file."""
    try:
        return [int(seconds) for seconds in read_json(file)["seconds"]][-KEPT:]
    except (ArithmeticError, BadInput, OSError, KeyError, TypeError, ValueError):
        return []


def expected_seconds(file: Path) -> int | None:
    """The seconds that the next job may take; None if no duration is known."""
    seconds = known(file)
    return max(LEAST_SECONDS, MARGIN * max(seconds)) if seconds else None


def note(file: Path, stage: Path) -> None:
    """Stores the duration of a job that ended. Forgets all durations if the job left none: it was killed."""
    with suppress(OSError):
        try:
            seconds = int((stage / FILE).read_text())
        except (OSError, ValueError):
            file.unlink(missing_ok=True)
            return
        content = json.dumps({"seconds": [*known(file), seconds][-KEPT:]})
        write_whole(file, content.encode(), lasting=False)
