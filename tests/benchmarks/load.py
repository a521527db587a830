#!/usr/bin/env python3
"""load [RUNS…]: what commands cost with so many stored runs, in processor time and memory, and 64 of them at once.

Each run is a report with the record of one of 64 nodes of four GPUs, an hour after the one before. A store grows from
each number to the next one, so the last column says whether the cost of a run stays the same. `next` is asked twice:
the first time it makes or completes its index. By default 1,000, 3,000 and 10,000 runs, which take 0.2 GB of disk.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from linkmatrix.record import reading

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "tests" / "data" / "h200x4_write_ce.record.json"
NODES, AT_ONCE = 64, 64
COMMANDS = {
    "show": ["show"],
    "next, index made": ["next", "--budget", "20-node-hours"],
    "next, index there": ["next", "--budget", "20-node-hours"],
    "history": ["history"],
    "export": ["export", "--format", "slurm", "--nodes", "suspect"],
}


class Cost(NamedTuple):
    """Seconds of processors, wall-clock seconds, MiB, exit code."""

    seconds: float
    wall: float
    memory: float
    code: int


def add(prefix: Path, number: int, record: dict[str, Any]) -> None:
    """A run: its record, and ReFrame's report of it."""
    node, began = f"n{number % NODES:03d}", datetime.now(timezone.utc) - timedelta(hours=10_000 - number)
    content = copy.deepcopy(record) | {"started": f"{began:%Y-%m-%dT%H:%M:%SZ}"}
    content["host"]["name"] = node
    for device in content["devices"]:
        device["node"] = node
    place = prefix / "output" / str(number)
    place.mkdir(parents=True)
    (place / "record.json").write_text(json.dumps(content, separators=(",", ":")))
    case = {"name": "node_sweep", "display_name": f"node_sweep %node={node}", "result": "pass", "environ": "gnu"}
    case |= {"outputdir": str(place), "stagedir": str(place), "system": "slurm-example", "partition": "cpu", "on": node}
    case |= {"reference_name": "hgx", "job_nodelist": [node], "keep_files": ["record.json"]}
    session = {"time_start_unix": began.timestamp() - 60, "uuid": f"u{number}"}
    report = {"session_info": session, "runs": [{"testcases": [case]}]}
    (prefix / "reports").mkdir(exist_ok=True)
    (prefix / "reports" / f"run-report-{number}.json").write_text(json.dumps(report))


def started(prefix: Path, arguments: list[str]) -> "subprocess.Popen[bytes]":
    """A command of linkmatrix on the store; what it prints is dropped."""
    environment = {**os.environ, "LINKMATRIX_PREFIX": str(prefix), "PYTHONPATH": str(REPOSITORY / "reports")}
    command = [sys.executable, "-m", "linkmatrix", *arguments]
    return subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=subprocess.DEVNULL)


def ended(child: "subprocess.Popen[bytes]", began: float) -> Cost:
    """What it needed, when it has ended."""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost(used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024, child.returncode)


def main() -> None:
    counts = sorted(int(word) for word in sys.argv[1:]) or [1_000, 3_000, 10_000]
    record, before = reading.load(SOURCE), 0
    last: dict[str, tuple[int, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        prefix = Path(place)
        for count in counts:
            for number in range(before, count):
                add(prefix, number, record)
            before = count
            for name, arguments in COMMANDS.items():
                cost = ended(started(prefix, arguments), time.monotonic())
                said = f"{count:6d} runs, {name:18s} {cost.seconds:7.1f} s, {cost.memory:6.0f} MiB, exit {cost.code}"
                if name in last:
                    runs, seconds = last[name]
                    said += f", {cost.seconds / seconds:.2f} times the time for {count / runs:.2f} times the runs"
                last[name] = count, cost.seconds
                print(said, flush=True)
        began = time.monotonic()
        children = [started(prefix, ["show"]) for _ in range(AT_ONCE)]
        costs = [ended(child, began) for child in children]
        print(
            f"{AT_ONCE} show at once: {max(one.wall for one in costs):.1f} s until the last, "
            f"{sum(one.seconds for one in costs):.1f} s of processors, {max(one.memory for one in costs):.0f} MiB at "
            f"most in one, exit codes {sorted({one.code for one in costs})}"
        )


if __name__ == "__main__":
    main()
