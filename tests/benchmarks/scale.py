"""scale [ENDPOINTS [RUNS]]: adopting, judging and locating in records of many endpoints, in seconds and memory.

Writes records of nodes of eight devices, with their cells in a file, to a temporary folder. Each has its own noise, and
the last one a slow NIC. Then `linkmatrix` adopts references from all of them, and judges and locates in the newest. By
default 1,024 endpoints and 30 runs, which take 0.5 GB of disk.
In the repository's folder: `python -m tests.benchmarks.scale`.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from linkmatrix.record import external_cells
from tests.tools import faults
from tests.tools.apart_records import STATUSES, native_file

SIGMA = 0.003
SLOW = (700, 0.08)  # a NIC, and by how much
TESTCASE = "device_to_device_memcpy_write_ce"


def write(folder: Path, count: int, number: int, chance: np.random.Generator) -> None:
    """Writes a record of `count` endpoints and the file of its cells."""
    layout = faults.layout_of(count)
    slow = [faults.Fault("nic", SLOW[0] % count)] if number < 0 else []
    values = faults.matrix_with(slow, SLOW[1], layout, SIGMA, chance)
    labels = [f"rank{index}" for index in range(count)]
    diagonal = np.eye(count, dtype=bool)
    cells = np.zeros((count, count), dtype=external_cells.CELL)
    for name, factor in (("value", 1), ("low", 1 - SIGMA), ("high", 1 + SIGMA)):
        cells[name] = np.where(diagonal, 0, values * factor)
    cells["samples"], cells["converged"] = np.where(diagonal, 0, 7), ~diagonal
    cells["status"] = np.where(diagonal, STATUSES.index("not-applicable"), STATUSES.index("ok"))
    measured = np.where(diagonal, np.nan, cells["value"].astype(float))
    groups = {name: measured[(layout.classes == code) & ~diagonal] for code, name in ((1, "NET"), (0, "NODE"))}
    result = {
        "testcase": TESTCASE,
        "metric": "bandwidth",
        "quantity": "bandwidth",
        "direction": "write",
        "engine": "mpi",
        "kernel": None,
        "memory": "host",
        "transport": "mpi",
        "peer_access": None,
        "unit": "GB/s",
        "size_bytes": 1 << 26,
        "rows": labels,
        "columns": labels,
        "cells": {
            "file": "cells.npy",
            "statuses": STATUSES,
            "counts": np.bincount(cells["status"].ravel(), minlength=len(STATUSES)).tolist(),
            "classes": [
                {"link_class": name, "measured": len(of), "min": of.min(), "median": np.median(of), "max": of.max()}
                for name, of in groups.items()
            ],
            "row_medians": np.nanmedian(measured, axis=1).tolist(),
            "column_medians": np.nanmedian(measured, axis=0).tolist(),
        },
        "verified": True,
        "schedule": {"mode": "rounds", "rounds": 2 * count - 2, "pairs_at_once": count // 2, "interference": 0.001}
        | {"witnessed": count},
        "timing": "messages",
        "clock_uncertainty_us": None,
        "remeasured": [],
        "seconds": 60.0,
        "complete": True,
        "notes": [],
    }
    devices = [
        {"index": index, "label": name, "name": "rank", "uuid": None, "pci": None}
        | {"node": f"n{index // faults.PER_NODE:04}", "numa": 0, "nics": [f"mlx5_{index % faults.PER_NODE}"]}
        | {"part": {}, "place": {"node": f"n{index // faults.PER_NODE:04}"}}
        for index, name in enumerate(labels)
    ]
    topology = {"labels": labels, "link_class": [], "links": [], "min_path": [], "peer_access": []}
    record = {
        "schema": "linkmatrix.record/2",
        "program": "p2p_matrix",
        "version": "0.1.0",
        "started": f"2026-11-{1 + number % 30:02}T01:50:22Z" if number >= 0 else "2026-12-01T01:50:22Z",
        "seconds": 61.0,
        "phases": [],
        "command": ["p2p_matrix", "--testcase", TESTCASE],
        "backend": "mpi",
        "host": {"name": "n0000", "cpu": "cpu", "cores": 8, "numa": 1},
        "nodes": [],
        "adapters": [],
        "devices": devices,
        "topology": topology,
        "software": {"MPI": "synthetic"},
        "asked_by": None,
        "expected": [TESTCASE],
        "lost": [],
        "results": [result],
        "result": "PASS",
        "error": None,
        "notes": ["synthetic: made by tests/benchmarks/scale.py, not measured"],
    }
    folder.mkdir()
    native_file(folder / "cells.npy", cells)
    (folder / "record.json").write_text(json.dumps(record))


def timed(what: str, *arguments: str) -> str:
    """Runs `linkmatrix` in a process of its own, prints its seconds and its memory, and returns what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    command = [sys.executable, "-m", "linkmatrix", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # ru_maxrss is the largest of all children so far: they run from small to large
    print(
        f"{what:34}{wall:8.1f} s{processor:10.1f} s{after.ru_maxrss / 2**20:10.2f} GiB  rc {done.returncode}",
        flush=True,
    )
    if done.stderr:
        print(done.stderr[:500])
    return done.stdout


def main(count: int, runs: int) -> int:
    """Prints a line for each step; exit code 1 where the slow part was not found."""
    chance = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for number in [*range(runs), -1]:
            write(place / f"{number % (runs + 1):02}", count, number, chance)
        print(f"{count} endpoints, {runs} runs and one with a slow NIC, {16 * count**2 / 1e6:.1f} MB a record")
        print(f"{'':34}{'wall':>10}{'processor':>12}{'memory':>14}")
        newest = str(place / f"{runs:02}")
        file = str(place / "references" / "p2p.yaml")
        stored = [str(place / f"{number:02}") for number in range(runs)]
        judge = [newest, "--references", str(place / "references"), "--reference", "big"]
        adopted = timed("adopt", "adopt", *stored, "--table", "big", "--file", file, "--write")
        timed("judge and show", "show", *judge)
        found = timed("judge and locate", "diagnose", *judge)
    print(adopted.splitlines()[0] if adopted else "nothing was adopted")
    print(next((line for line in found.splitlines() if ": check " in line), "NOTHING WAS LOCATED").strip())
    return int(f"mlx5_{SLOW[0] % count % faults.PER_NODE} of" not in found)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*(numbers + [1024, 30][len(numbers) :])))
