"""Durations of earlier jobs, which determine the time limits of later jobs.

If a job has a short time limit, a scheduler can start the job in a gap between other jobs (backfill). Each kind of job
has a file with its last durations.
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

MARGIN = 4  # time limit of a job as a multiple of the longest earlier duration
LEAST_SECONDS = 300  # minimum time limit of the processes of a job, because a slow link needs more time
JOB_OVERHEAD = 120  # seconds of a job in addition to its processes, for modules and launchers
KEPT = 5  # stored durations per kind of job
FILE = "seconds"  # name of the file with the duration in a job's stage
#: The last command of a job. It stores the duration, and keeps the exit code of the previous command.
COMMAND = f"code=$?; echo $SECONDS > {FILE}; (exit $code)"


def duration_file(test: Any, processes: Sequence[Any]) -> Path:
    """The file with the durations of earlier jobs like this job: the same partition, ranks and processes.

    Each node of a sweep has its own file, because a slow node takes longer.
    processes: a list of `processes.Process`.
    """
    layout = test.current_partition.fullname, test.current_environ.name, test.num_tasks, test.num_tasks_per_node
    job = [layout, *((one.request.program, one.request.opts, one.testcases, one.size) for one in processes)]
    job += sorted({one.request.node for one in processes} - {""})
    return Path(runtime().prefix) / "durations" / f"{hashlib.sha256(repr(job).encode()).hexdigest()[:16]}.json"


def set_time_limit(test: Any, processes: Sequence[Any]) -> None:
    """Sets the time limit of a job: the sum of the limits of its processes, or less if earlier jobs ended faster.

    Earlier jobs do not shorten the limit of a local job, which starts without a queue, or of a job with --wait-idle.
    processes: a list of `processes.Process`.
    """
    topology_processes = [topology for process in processes if (topology := process.topology_process())]
    seconds = sum(process.seconds() for process in [*processes, *topology_processes])
    waits = any("--wait-idle" in process.request.opts for process in processes)
    queued = test.current_partition.scheduler.registered_name != "local"
    earlier = past_durations(test.duration_file) if queued and not waits else []
    expected = max(LEAST_SECONDS, MARGIN * max(earlier, default=0))
    if earlier and expected < seconds:
        seconds = expected
        for process in processes:
            process.most_seconds = expected
    test.time_limit = seconds + JOB_OVERHEAD


def past_durations(file: Path) -> list[int]:
    """The durations of earlier jobs in seconds, newest last; [] if the file is missing or damaged."""
    try:
        return [int(seconds) for seconds in read_json(file)["seconds"]][-KEPT:]
    except (ArithmeticError, BadInput, OSError, KeyError, TypeError, ValueError):
        return []


def store(file: Path, stage: Path) -> None:
    """Stores the duration of a completed job. If the job was killed, removes the stored durations.

    file: the file from `duration_file`.
    stage: the stage of the job.
    """
    with suppress(OSError):
        try:
            seconds = int((stage / FILE).read_text())
        except (OSError, ValueError):
            file.unlink(missing_ok=True)
            return
        content = json.dumps({"seconds": [*past_durations(file), seconds][-KEPT:]})
        write_whole(file, content.encode(), lasting=False)
