"""What the tests of showing and reporting share: records, references and runs made to order."""

import importlib.util
import json
import sys
from pathlib import Path

import hypothesis
import pytest

from linkmatrix import explain, record
from linkmatrix.references import References
from linkmatrix.runs import Run, Test

# no test asserts a time
hypothesis.settings.register_profile("linkmatrix", deadline=None)
hypothesis.settings.load_profile("linkmatrix")

# ReFrame loads checks/ by its path; here it is the package linkmatrix_checks
CHECKS = Path(__file__).resolve().parents[2] / "checks"
spec = importlib.util.spec_from_file_location(
    "linkmatrix_checks", CHECKS / "__init__.py", submodule_search_locations=[str(CHECKS)]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])

TESTCASE = "device_to_device_memcpy_write_ce"


def one_record(count=4, value=396.0, off=None, host="node001", cpu="cpu", result="PASS", error=None):
    """A record of a `count` × `count` matrix; off: {(row, column): number, or status word in its place}."""
    labels = [f"gpu{index}" for index in range(count)]
    off = off or {}

    def square(diagonal, cell):
        return [[diagonal if r == c else cell(r, c) for c in range(count)] for r in range(count)]

    def status(r, c):
        return off[r, c] if isinstance(off.get((r, c)), str) else "ok"

    def number(r, c):
        return {"ok": off.get((r, c), value), "corrupt": value}.get(status(r, c))

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
        "link_class": classes,
        "limit": square(None, lambda r, c: 450),
        "parts": {},
        "verified": "corrupt" not in words,
        "schedule": {"mode": "rounds", "rounds": 6, "pairs_at_once": 2, "interference": 0.0005},
        "remeasured": [],
        "seconds": 0.4,
        "complete": complete,
        "notes": [],
    }
    devices = [
        {"index": i, "label": name, "name": "NVIDIA H200", "uuid": None, "pci": None, "node": "node001"}
        | {"numa": 0, "nics": []}
        for i, name in enumerate(labels)
    ]
    return {
        "schema": "linkmatrix.record/1",
        "program": "p2p_matrix",
        "version": "0.1.0",
        "started": "2026-11-21T01:50:22Z",
        "seconds": 1.5,
        "phases": [],
        "command": ["p2p_matrix", "--testcase", TESTCASE],
        "backend": "cuda",
        "host": {"name": host, "cpu": cpu, "cores": 8, "numa": 1},
        "devices": devices,
        "topology": {
            "labels": labels,
            "link_class": classes,
            "links": square(0, lambda r, c: 18),
            "peer_access": square(True, lambda r, c: True),
            "min_path": square(0, lambda r, c: 1),
        },
        "software": {"driver": "580.159.04", "CUDA": "13.0"},
        "results": [matrix],
        "result": result,
        "error": error,
        "notes": [],
    }


@pytest.fixture
def make_record():
    return one_record


@pytest.fixture
def write_record(tmp_path):
    """Writes a record that passes the checks of `record`, and returns its path."""

    def write(content=None, path=None, **changes):
        content = content or one_record(**changes)
        record.check(content)
        path = path or tmp_path / "record.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def reference_folder(tmp_path):
    """References 'hgx' of 396 GB/s within 2 % for the pairs of 4 GPUs."""
    names = [f"gpu{index}" for index in range(4)]
    cells = [f"      {a}->{b}: [396.0, -0.02, 0.02, GB/s]" for a in names for b in names if a != b]
    head = ["intranode_p2p:", "  $index: [reference_name, testcase]", "  hgx:", f"    {TESTCASE}:"]
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "p2p.yaml").write_text("\n".join([*head, *cells, ""]), encoding="utf-8")
    return folder


@pytest.fixture
def judged_run(tmp_path, reference_folder):
    """(run, its judged tests) of records, held against 'hgx' or against nothing."""

    def judge(*contents, reference=None, **test):
        tests = tuple(Test(name=TESTCASE, record=content, **test) for content in contents)
        run = Run(path=tmp_path / "record.json", tests=tests)
        return run, explain.judge_all(run, References.load(reference_folder), reference)

    return judge
