"""tests/tools/disturbed_runs.py: its modes exist, it measures what `quick` does, and it ends what it started."""

import json
import os
import re
import time
from pathlib import Path

import pytest
from disturbed_lab import REPOSITORY, TIMED_OUT, Lab, Load, judged
from disturbed_runs import HEADING, LOADS, row

SOURCE = REPOSITORY / "tests" / "tools" / "other_process.cu"
HOG = 6129  # of the recording below
PRINTS_READY = "#!/bin/sh\n[ $1 = waits ] && echo ready $$\nexec sleep 60\n"


@pytest.fixture
def lab(tmp_path):
    program = tmp_path / "other_process"
    program.write_text(PRINTS_READY)
    program.chmod(0o755)
    return Lab(Path("p2p_matrix"), program, tmp_path, 0, time.monotonic() + 60)


def exists(pid):
    return Path(f"/proc/{pid}").exists()


def test_every_load_is_a_mode_of_the_program():
    modes = re.findall(r'^ +\{"([a-z-]+)", "', SOURCE.read_text(), re.MULTILINE)
    assert len(modes) >= 12 and {load.arguments[0] for load in LOADS} == set(modes)
    assert len({load.name for load in LOADS}) == len(LOADS)


def test_a_load_is_awaited_and_ended(lab):
    running = lab.start(Load("waits", ("waits",)))
    assert running.ready and running.pid == running.process.pid and exists(running.pid)
    running.end()
    assert not exists(running.pid)


def test_a_command_that_hangs_ends_with_its_children(lab):
    ended = lab.run(["sh", "-c", "sleep 61 & echo $!; wait"], 1)
    assert ended.code == TIMED_OUT and ended.seconds < 5
    deadline = time.monotonic() + 5
    while exists(int(ended.output)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not exists(int(ended.output))


@pytest.mark.parametrize(("pid", "named"), [(HOG, "pid"), (HOG + 1, "no")])
def test_the_other_process_is_found_by_its_pid(tmp_path, pid, named):
    record = json.loads((REPOSITORY / "tests" / "data" / "h200x2_busy_kernel.record.json").read_text())
    text = json.dumps(record)
    pids = {one["pid"] for result in record["results"] for one in result["others"]["processes"]}
    (tmp_path / "record.json").write_text(text.replace(str(pids.pop()), str(HOG)))
    found = judged(tmp_path, REPOSITORY / "config" / "references", pid)
    assert found["named"] == named
    assert sum(found["cells"].values()) > 0


def test_the_table_has_a_line_for_each_run():
    run = {"name": "spin-01", "pid": os.getpid(), "seconds": 2.5, "verdict": "FAIL", "cells": {"FAIL": 3}}
    run |= {"flagged": ["x: gpu1"], "named": "pid", "show": {"code": 1}}
    words = row(run, "spin").split()
    assert words[:6] == ["spin", "FAIL", "3", "1", "pid", "1"]
    assert HEADING.split()[:6] == ["run", "verdict", "FAIL", "flags", "named", "exit"]
