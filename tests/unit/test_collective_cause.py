"""A slow collective is held against its links: is one of them slow too, or did the library choose badly?"""

import copy
import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from linkmatrix import cli
from linkmatrix.locate.collective_cause import is_pair_bandwidth

DATA = Path(__file__).parent.parent / "data"
COLLECTIVE = json.loads((DATA / "h200x2_all_reduce.record.json").read_text())
SIZE = 1 << 30
LINK, BUS = 367.0, 322.0


def collective(**software):
    """One size of the recorded all-reduce, of two GPUs of the node vm."""
    record = copy.deepcopy(COLLECTIVE)
    record["results"] = [one for one in record["results"] if one["size_bytes"] == SIZE]
    record["software"] |= software
    return record


def pairs(there, back, others=None):
    """The matrix of sends between the same GPUs, in GB/s; a cell without a number timed out."""
    record = collective()
    record["expected"] = ["rank_to_rank_bandwidth_nccl"]
    result = record["results"][0]
    result |= {"testcase": "rank_to_rank_bandwidth_nccl", "quantity": "bandwidth", "parts": {}, "notes": []}
    result |= {"rows": ["gpu0", "gpu1"], "columns": ["gpu0", "gpu1"], "sampled": None}

    def grid(first, second, diagonal=None):
        return [[diagonal, first], [second, diagonal]]

    result |= {name: grid(there, back) for name in ("values", "low", "high")}
    words = ["timeout" if one is None else "ok" for one in (there, back)]
    result |= {"status": grid(*words, "not-applicable"), "link_class": grid("NV18", "NV18", "X")}
    samples = [0 if one is None else 7 for one in (there, back)]
    if None in (there, back):
        result["complete"] = False
        record |= {"result": "TIMEOUT", "error": "a cell timed out"}
    result |= {"samples": grid(*samples), "converged": grid(True, True), "limit": grid(450, 450)}
    if others:
        result["others"] = others
    return result | {"round": None, "began": None, "ended": None}, record


@pytest.fixture
def diagnosed(tmp_path, capsys):
    """A function that gives what diagnose says of an all-reduce at a share of its reference, and a matrix or none."""
    references = tmp_path / "references"
    references.mkdir()
    ways = {f"{way}@{SIZE}": [BUS, -0.05, 0.05, "GB/s"] for way in ("out-of-place", "in-place")}
    cells = {pair: [LINK, -0.05, 0.05, "GB/s"] for pair in ("gpu0->gpu1", "gpu1->gpu0")}
    index = {"$index": ["reference_name", "testcase"]}
    tables = {
        "device_collectives": {**index, "here": {"all_reduce_perf": ways}},
        "intranode_p2p": {**index, "here": {"rank_to_rank_bandwidth_nccl": cells}},
    }
    YAML().dump(tables, references / "p2p.yaml")

    def run(share, links=None, **software):
        place = tmp_path / "run"
        place.mkdir(exist_ok=True)
        record = collective(**software)
        for name in ("values", "low", "high"):
            record["results"][0][name] = [[BUS * share, BUS * share]]
        record["results"][0]["sampled"] = None
        (place / "a.record.json").write_text(json.dumps(record))
        if links:
            result, other = pairs(*links)
            (place / "b.record.json").write_text(json.dumps(other | {"results": [result]}))
        code = cli.main(["diagnose", str(place), "--references", str(references), "--reference", "here"])
        out, err = capsys.readouterr()
        assert not err
        return code, " ".join(out.split())

    return run


def test_a_link_that_is_slow_too_is_named(diagnosed):
    code, said = diagnosed(0.8, (LINK, 0.78 * LINK))
    assert code == 1
    assert "the collective is 20.0 % slow" in said
    why = re.search(r"its links explain this: rank_to_rank_bandwidth_nccl: (.*?) FAIL", said)
    assert why and "gpu1->gpu0" in why[1] and "22.0 % slow" in why[1]


def test_links_that_are_well_leave_the_librarys_choice(diagnosed):
    code, said = diagnosed(0.8, (LINK, LINK))
    assert code == 1
    assert (
        "its links are fine (rank_to_rank_bandwidth_nccl): check the algorithm and transports that the library chose"
        in said
    )
    assert "NCCL: ran RING, SIMPLE, channels 0..23" in said and "rings 24" in said


def test_links_beside_others_are_neither_well_nor_to_blame(diagnosed):
    """A disturbed cell was taken for a good one: "its links are fine" next to -98 %."""
    sent = [{"label": "gpu1", "of": "nvlink_out", "counted": 4e11, "own": 4e10}]
    who = [{"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": None, "seconds": None}]
    others = {"seconds": 1.0, "uses": sent, "nodes": [], "processes": who, "shared": True, "untold": []}
    others["disturbances"] = [{"node": "vm", "kind": "context", "where": "gpu1", "share": None, "pids": [2983]}]
    for back in (0.1 * LINK, 0.5 * LINK):
        code, said = diagnosed(0.2, (LINK, back, others))
        assert code == 1 and "pid 2983 (hog, user bob) had a context on gpu1" in said
        assert "its links are fine" not in said and "its links do not explain this" not in said
        assert (
            "unknown whether its links explain this: rank_to_rank_bandwidth_nccl has no verdict (pid 2983 (hog" in said
        )


def test_links_without_a_value_are_neither_well_nor_to_blame(diagnosed):
    _, said = diagnosed(0.2, (LINK, None))
    assert "its links are fine" not in said
    why = "gpu1->gpu0 was not measured: timeout"
    assert f"unknown whether its links explain this: rank_to_rank_bandwidth_nccl has no verdict ({why})" in said


def test_a_link_that_loses_much_less_is_not_blamed(diagnosed):
    _, said = diagnosed(0.6, (LINK, 0.92 * LINK))
    assert "its links do not explain this: the links lose at most 8.0 % (rank_to_rank_bandwidth_nccl)" in said


def test_without_a_matrix_nobody_is_blamed(diagnosed):
    _, said = diagnosed(0.8)
    assert "this run compared no link with a reference" in said


def test_shared_memory_between_gpus_that_have_links_is_said(diagnosed):
    _, said = diagnosed(0.3, (LINK, LINK), **{"NCCL transports": "SHM/direct/direct"})
    assert "NCCL uses SHM/direct/direct between devices of one node that are connected by NV18" in said


def test_a_collective_as_fast_as_it_should_be_needs_no_explanation(diagnosed):
    code, said = diagnosed(1.0, (LINK, LINK))
    assert code == 0
    assert "together" not in said and "links" not in said


@pytest.mark.parametrize(
    ("testcase", "metric", "memory", "compared"),
    [
        ("device_to_device_memcpy_write_ce", "bandwidth", "device", True),
        ("device_to_device_latency_sm", "latency", "device", False),
        ("rank_to_rank_bandwidth_mpi", "bandwidth", "host", False),
    ],
)
def test_a_collective_is_compared_with_the_bandwidth_of_its_memory(testcase, metric, memory, compared):
    collective = {"testcase": "all_reduce_perf", "metric": "bandwidth", "memory": "device", "engine": "nccl"}
    pairs = {"testcase": testcase, "metric": metric, "memory": memory, "engine": "ce"}
    assert is_pair_bandwidth(pairs, collective) is compared
