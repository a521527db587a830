"""Benchmarks: the tables of `make bench`, and the table of the benchmark of locating."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.benchmarks import locating
from tests.tools.fabric import Machine

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


def test_of_few_healthy_runs_large_machines_have_one_and_what_was_left_out_is_said(monkeypatch, capsys):
    monkeypatch.setattr(locating, "HEALTHY", {"1x4": (Machine(1, 4), 1, 0.1)})
    assert locating.main(0, 9) == 0
    out = capsys.readouterr().out
    assert "4 endpoints: 0 of 1\n" in out
    assert "all targets of those that were tried, without faults are met" in out


def test_a_kind_of_fault_that_no_machine_has_is_a_target_that_is_missed(monkeypatch, capsys):
    monkeypatch.setattr(locating, "MACHINES", {"1x4": (Machine(1, 4), 1)})
    assert locating.main(2, 0) == 1
    out = capsys.readouterr().out
    assert "  socket: no machine has it\n" in out
    assert "device: no machine has it" not in out and "healthy runs in which" not in out


def test_runs_are_the_same_in_whatever_order_they_are_made():
    tasks = [*locating.healthy_tasks("1x8", 15), locating.Task("1x8 NVLink", "device", 0.03, 5)]
    assert [task.trials for task in tasks] == [10, 5, 5]
    locating.bench.cache_clear()
    forwards = [task.run() for task in tasks]
    locating.bench.cache_clear()
    assert [task.run() for task in reversed(tasks)][::-1] == forwards
