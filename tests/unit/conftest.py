"""Fixtures of the unit tests: records, references, runs and schedulers for tests."""

import contextlib
import importlib.util
import itertools
import json
import os
import random
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest
from reframe.core import runtime

from linkmatrix import cli, invocation
from linkmatrix.record import matrix as matrices
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from linkmatrix.reframe_ext.schedulers import pending
from linkmatrix.runs import judging
from linkmatrix.runs.stored import Run
from linkmatrix.runs.testcases import Test
from tests.tools import simulated_reframe, stored_verdicts, stores

# no test asserts a time
hypothesis.settings.register_profile("linkmatrix", deadline=None)
hypothesis.settings.load_profile("linkmatrix")
# mutation tests need no smallest example of a failure
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
hypothesis.settings.register_profile("mutants", deadline=None, database=None, max_examples=25, phases=PHASES)

CONFIG = Path(__file__).resolve().parents[2] / "config"
TESTCASE = "device_to_device_memcpy_write_ce"


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch):
    """Hide the programs that this clone has built, because printed commands name them."""
    monkeypatch.setattr(invocation, "built_programs", lambda name: [])


def one_record(count=4, value=396.0, off=None, host="node001", cpu="cpu", result=None, error=None):
    """A record with one matrix of `count` × `count` cells.

    value: GB/s of each cell. off: {(row, column): number, or a status word}. result: the program's result; by default
    it follows from the statuses: FAIL for corrupt data, ERROR for missing cells, else PASS.
    """
    labels = [f"gpu{index}" for index in range(count)]
    off = off or {}

    def square(diagonal, cell):
        return [[diagonal if r == c else cell(r, c) for c in range(count)] for r in range(count)]

    def status(r, c):
        return off[r, c] if isinstance(off.get((r, c)), str) else "ok"

    def number(r, c):
        return {"ok": off.get((r, c), value), "corrupt": value, "partial": value / 2}.get(status(r, c))

    words = {word for word in off.values() if isinstance(word, str)}
    complete = words <= {"no-peer-access"}
    classes = square("X", lambda r, c: "NV18")
    matrix = {
        "testcase": TESTCASE,
        "metric": "bandwidth",
        "quantity": "bandwidth",
        "direction": "write",
        "engine": "ce",
        "kernel": None,
        "memory": "device",
        "transport": "direct",
        "peer_access": "on",
        "unit": "GB/s",
        "size_bytes": 1 << 29,
        "rows": labels,
        "columns": labels,
        "values": square(None, number),
        "status": square("not-applicable", status),
        "low": square(None, number),
        "high": square(None, number),
        "samples": square(None, lambda r, c: 7 if number(r, c) else 0),
        "converged": square(None, lambda r, c: True if number(r, c) else None),
        "round": square(None, lambda r, c: (r + c) % 6 if number(r, c) else None),
        "began": square(None, lambda r, c: 0.05 * r if number(r, c) else None),
        "ended": square(None, lambda r, c: 0.05 * r + 0.05 if number(r, c) else None),
        "sampled": square([], lambda r, c: [number(r, c)] * 7 if number(r, c) else []) if count <= 64 else None,
        "link_class": classes,
        "limit": square(None, lambda r, c: 450),
        "parts": {},
        "verified": "corrupt" not in words,
        "timing": "gate",
        "clock_uncertainty_us": 1.5,
        "schedule": {"mode": "rounds", "rounds": 6, "pairs_at_once": 2, "interference": 0.0005, "witnessed": 6},
        "remeasured": [],
        "seconds": 0.4,
        "complete": complete,
        "notes": [],
    }
    devices = [
        {"index": i, "label": name, "name": "NVIDIA H200", "uuid": None, "pci": None, "node": "node001"}
        | {"numa": 0, "nics": [], "part": {"serial": f"165{i}"}, "place": {"node": "node001", "slot": str(i)}}
        for i, name in enumerate(labels)
    ]
    return {
        "schema": "linkmatrix.record/2",
        "program": "p2p_matrix",
        "version": "0.1.0",
        "started": "2026-11-21T01:50:22Z",
        "seconds": 1.5,
        "phases": [],
        "command": ["p2p_matrix", "--testcase", TESTCASE],
        "backend": "cuda",
        "host": {"name": host, "cpu": cpu, "cores": 8, "numa": 1},
        "nodes": [
            {"name": host, "machine": "a1b2", "serial": None, "product": "HGX", "kernel": "6.1.0", "boot": "c3d4"}
        ],
        "adapters": [
            {"name": "mlx5_0", "state": "ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand", "numa": 0}
            | {"part": {"guid": "b8ce:f603:0012:3456"}, "place": {"node": host, "pci": "0000:18:00.0", "port": "1"}}
        ],
        "devices": devices,
        "topology": {
            "labels": labels,
            "link_class": classes,
            "links": square(0, lambda r, c: 18),
            "peer_access": square(True, lambda r, c: True),
            "min_path": square(0, lambda r, c: 1),
        },
        "software": {"driver": "580.159.04", "CUDA": "13.0"},
        "asked_by": None,
        "expected": [],
        "lost": [],
        "results": [matrix],
        "result": result or ("PASS" if complete else "FAIL" if "corrupt" in words else "ERROR"),
        "error": error,
        "notes": [],
    }


@pytest.fixture
def wide_terminal(monkeypatch):
    """A terminal that is wide enough to print each sentence on one line."""
    monkeypatch.setenv("COLUMNS", "2000")


@pytest.fixture
def make_record():
    return one_record


@pytest.fixture
def write_record(tmp_path):
    """A function that writes a valid record and returns its path."""

    def write(content=None, path=None, **changes):
        content = content or one_record(**changes)
        reading.check(content)
        path = path or tmp_path / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def reference_folder(tmp_path):
    """A folder with the references 'hgx': 396 GB/s ± 2 % for each pair of 4 GPUs."""
    names = [f"gpu{index}" for index in range(4)]
    cells = [f"      {a}->{b}: [396.0, -0.02, 0.02, GB/s]" for a in names for b in names if a != b]
    head = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  hgx:", f"    {TESTCASE}:"]
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "p2p.yaml").write_text("\n".join([*head, *cells, ""]), encoding="utf-8")
    return folder


@pytest.fixture
def sweeps(tmp_path, reference_folder):
    """A store of sweeps in the folder `prefix`, compared with the references 'hgx'."""
    return stores.Store(tmp_path / "prefix", reference_folder)


@pytest.fixture
def site_of_sweeps(sweeps, tmp_path, monkeypatch):
    """The working folder is a site with the references of `sweeps` and with this store."""
    (tmp_path / "config" / "references").mkdir(parents=True)
    (tmp_path / "config" / "settings.py").write_text("")
    shutil.copy(sweeps.references / "p2p.yaml", tmp_path / "config" / "references")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    return sweeps


@pytest.fixture
def good(site_of_sweeps, make_record, linkmatrix):
    """A function that returns the nodes that are known good.

    `good.add(days, off, change, result, check)` stores a sweep of n1 that ran some days ago, with its verdict, and
    returns its report. `good.output` is the output of the last call.
    """
    now, count = time.time() - stores.MEASURED, itertools.count(1)

    def add(days, off=None, change=lambda content: None, result="pass", check=None):
        record = stores.of_node(make_record(off=off), "n1")
        began = now - days * 86400
        path = site_of_sweeps.add(next(count), [record], began=began, change=change, result=result)
        stored_verdicts.of_report(path, site_of_sweeps.references, check)
        return path

    def known():
        _, out, errors = linkmatrix("export", "--format", "hostfile")
        known.output = out + errors
        return [line for line in out.splitlines() if not line.startswith("#")]

    known.add = add
    return known


@pytest.fixture
def judged_run(tmp_path, reference_folder):
    """A function that judges records: (run, judged tests), compared with `reference` or with nothing."""

    def judge(*contents, reference=None, **test):
        tests = tuple(Test(name=TESTCASE, record=content, **test) for content in contents)
        run = Run(path=tmp_path / "record.json", tests=tests)
        return run, judging.judge_all(run, References.load(reference_folder), reference)

    return judge


@pytest.fixture
def machine(tmp_path, monkeypatch, write_record, reference_folder, capsys):
    """A repository with a simulated ReFrame: prepare(verdict of each case), run(*arguments)."""
    found = simulated_reframe.Machine(tmp_path, write_record, reference_folder, capsys)
    monkeypatch.chdir(found.repository)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(found.folder))
    return found


@pytest.fixture
def linkmatrix(capsys):
    """A function that runs a command of linkmatrix, and returns (exit code, stdout, stderr)."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def nothing_is_held(monkeypatch):
    """Process small matrices like matrices that are too large for memory."""
    monkeypatch.setattr(matrices, "MOST_LOADED", 0)


@pytest.fixture
def store(tmp_path, make_record, write_record):
    """A function that writes records of `count` noisy runs; change(record, number) modifies each record."""

    def make(count=6, folder="runs", level=396.0, sigma=0.0005, size=4, change=None):
        chance = random.Random(f"{folder} {count}")
        for number in range(count):
            off = {
                (r, c): round(level * (1 + chance.gauss(0, sigma)), 3)
                for r in range(size)
                for c in range(size)
                if r != c
            }
            content = make_record(count=size, off=off)
            content["started"] = f"2026-11-{10 + number}T01:50:22Z"
            if change:
                change(content, number)
            write_record(content, tmp_path / folder / f"{number:02}" / "record.json")
        return tmp_path / folder

    return make


@pytest.fixture
def run(tmp_path, capsys):
    """A function that runs `linkmatrix adopt` with the file `run.file`, and returns (exit code, stdout, stderr)."""
    file = tmp_path / "references" / "p2p.yaml"

    def adopted(*arguments):
        code = cli.main(["adopt", *map(str, arguments), "--file", str(file)])
        return code, *capsys.readouterr()

    adopted.file = file
    return adopted


SCHEDULER = """
from linkmatrix import reframe_ext

partition = {"name": "p", "scheduler": reframe_ext.scheduler("WORD"), "launcher": "local", "environs": ["builtin"]}
site_configuration = {"systems": [{"name": "s", "hostnames": ["x"], "partitions": [partition]}]}
"""


@pytest.fixture
def scheduler_of(tmp_path):
    """A function that returns linkmatrix's scheduler for a scheduler name of ReFrame."""
    with contextlib.ExitStack() as stack:

        def make(word):
            settings = tmp_path / f"settings_{word}.py"
            settings.write_text(SCHEDULER.replace("WORD", word))
            found = stack.enter_context(runtime.temp_runtime(settings, "s"))
            return found.system.partitions[0].scheduler

        yield make


@pytest.fixture
def clock(monkeypatch):
    """The time of day, which only the test changes."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time, "time", lambda: found.now)
    return found


@pytest.fixture
def log(monkeypatch):
    """The messages about waiting and doubtful jobs."""
    printed = []
    monkeypatch.setattr(pending, "getlogger", lambda: SimpleNamespace(info=printed.append))
    return printed


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A function that sets the output and the exit code of a command on PATH.

    `commands.calls(name)` returns the arguments of each call.
    """
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def answer(name, output="", errors="", code=0):
        (folder / f"{name}.out").write_text(output)
        (folder / f"{name}.err").write_text(errors)
        program = folder / name
        lines = [f'echo "$*" >> {program}.calls', f"cat {program}.out", f"cat {program}.err >&2", f"exit {code}"]
        program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        program.chmod(0o755)

    def calls(name):
        file = folder / f"{name}.calls"
        return file.read_text().splitlines() if file.exists() else []

    answer.calls = calls
    return answer


@pytest.fixture
def config_module():
    """A function that loads config/NAME.py again, as ReFrame does."""

    def read(name):
        spec = importlib.util.spec_from_file_location(name, CONFIG / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return read
