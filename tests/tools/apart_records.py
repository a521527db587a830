"""Simulated records whose cells are in a separate file, as the native program writes it."""

import copy
import json
import random

import numpy as np

from linkmatrix.commands import diagnose
from linkmatrix.record import external_cells as apart_file
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import judging, stored
from linkmatrix.show import words
from linkmatrix.show.analysis import Analysis

TESTCASE = "device_to_device_memcpy_write_ce"
STATUSES = ["not-run", "ok", "not-applicable", "no-peer-access", "timeout", "error", "corrupt"]
NET, NODE = Reference(48.0, -0.05, 0.10, "GB/s"), Reference(396.0, -0.05, 0.10, "GB/s")
TABLE = References({("big", TESTCASE): {"cell[NET]": NET, "cell[NODE]": NODE}})


def native_file(path, cells):
    """Write an array in the format of the native program: version 1.0, a head of 256 bytes."""
    words = (
        "{'descr': [('value', '<f4'), ('low', '<f4'), ('high', '<f4'), ('samples', '<u2'), ('status', '|u1'), "
        f"('converged', '|u1')], 'fortran_order': False, 'shape': ({len(cells)}, {len(cells)}), }}"
    )
    head = b"\x93NUMPY\x01\x00" + (246).to_bytes(2, "little") + words.encode().ljust(245) + b"\n"
    path.write_bytes(head + cells.tobytes())


def apart(content, folder):
    """Move the cells of a record into a file, as the native program does. Returns the path of the record."""
    content = copy.deepcopy(content)
    result = content["results"][0]
    rows = range(len(result["rows"]))
    cells = np.zeros((len(rows), len(rows)), dtype=apart_file.CELL)
    groups = {}
    for r in rows:
        for c in rows:
            maps = (result[name][r][c] for name in ("values", "low", "high", "samples"))
            value, low, high, samples = (number or 0 for number in maps)
            cells[r, c] = (value, low, high, samples, STATUSES.index(result["status"][r][c]), 1 if samples else 0)
            if samples:
                groups.setdefault(result["link_class"][r][c], []).append(float(cells["value"][r, c]))
    for name in (*reading.CELL_MAPS, *reading.TIME_MAPS, "sampled", "parts"):
        del result[name]

    def medians(lines):
        return [float(np.median(line["value"][line["samples"] > 0])) if line["samples"].any() else 0 for line in lines]

    result["cells"] = {
        "file": "cells.npy",
        "statuses": STATUSES,
        "counts": [int((cells["status"] == code).sum()) for code in range(len(STATUSES))],
        "classes": [
            {"link_class": name, "measured": len(of), "min": min(of), "median": float(np.median(of)), "max": max(of)}
            for name, of in sorted(groups.items())
        ],
        "row_medians": medians(cells),
        "column_medians": medians(cells.T),
    }
    for name in reading.TOPOLOGY_MAPS:
        content["topology"][name] = []
    folder.mkdir(exist_ok=True)
    native_file(folder / "cells.npy", cells)
    (folder / "record.json").write_text(json.dumps(content))
    return folder / "record.json"


def nodes_of(make_record, slow=lambda a, b: 0.0, count=64, per_node=1, words=None, sigma=0.004, seed=3):
    """A record of devices on nodes n0, n1, …

    slow: (row, column) → the fraction by which a cell is slower. words: {(row, column): status}. sigma: noise, as a
    fraction.
    """
    chance, off = random.Random(seed), dict(words or {})
    for r in range(count):
        for c in range(count):
            if r != c and (r, c) not in off:
                level = 396.0 if r // per_node == c // per_node else 48.0
                off[r, c] = float(np.float32(level * (1 - slow(r, c)) * (1 + chance.gauss(0, sigma))))
    content = make_record(count=count, off=off)
    result = content["results"][0]
    for device in content["devices"]:
        device["node"] = f"n{device['index'] // per_node}"
    result["limit"] = [[None] * count for _ in range(count)]
    for r in range(count):
        for c in range(count):
            if r != c:
                result["link_class"][r][c] = "NODE" if r // per_node == c // per_node else "NET"
            if result["status"][r][c] == "corrupt":
                for name in ("values", "low", "high"):
                    result[name][r][c] = 48.0
    return content


def judged(path, table=TABLE):
    run = stored.find(path)
    (one,) = judging.judge_all(run, table, "big" if table.names() else None)
    return one, one.matrices[0][1]


def sentences(path, table=TABLE):
    one, matrix = judged(path, table)
    lines = diagnose.diagnosis_lines(Analysis(None, [one]), one, one.matrices[0][0], matrix)
    return "\n".join([words.WORDS[one.matrix_verdict(matrix)], *lines])
