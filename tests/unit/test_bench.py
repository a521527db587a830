"""`make bench` prints its tables in Markdown, with machine and date."""

import os
import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
#: A program that measures nothing, and a `linkmatrix run` that leaves the files of a process.
PROGRAMS = {
    "p2p_matrix": "echo 'measure 0.10 s'",
    "nvbandwidth": "sleep 0.1",
    "linkmatrix": 'mkdir -p "$LINKMATRIX_PREFIX/a/b/c/d/e/node_session/process1" && cd "$LINKMATRIX_PREFIX/a/b/c/d/e'
    '/node_session/process1" && touch err && sleep 0.1 && touch out',
}


def test_the_tables_are_markdown(tmp_path):
    for name, line in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = [sys.executable, str(BENCH), str(tmp_path / "p2p_matrix")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"Machine and date: .+, \d{4}-\d\d-\d\d \d\d:\d\d UTC", lines[0])
    assert "p2pBandwidthLatencyTest is not on PATH: its rows have no ratio." in lines
    tables = [block.splitlines() for block in done.stdout.split("\n\n") if block.startswith("| ")]
    for head, rule, *rows in tables:
        columns = head.count("|")
        assert set(rule) <= set("|-: ") and rows and all(row.count("|") == columns for row in (rule, *rows))
    work, runs = tables
    assert re.fullmatch(r"\| one matrix, kernels \| \d\.\d\d s \| 0\.10 s \| \d\.\d\d s \| \d+\.\d × \|", work[3])
    assert any(re.fullmatch(r"\| everything \| \d\.\d\d s \| 0\.10 s \| – \| – \|", row) for row in work)
    assert runs[2].startswith("| `linkmatrix run --mode=quick` | ")
