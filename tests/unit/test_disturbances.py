"""Records with disturbances, made to order: which cells they disturb, whom they name, and what fails in spite."""

import pytest

from linkmatrix.judge.disturbances import (
    disturbance_sentences,
    disturbances,
    ignored,
    limit_missed,
    not_exclusive,
    process_name,
)
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.locate import diagnosis
from linkmatrix.references.tables import Reference, References
from tests.tools.plain_record import TESTCASE

TABLE = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}


def disturbance(kind="context", where="gpu1", node="node001", share=None, pids=(2983,)):
    return {"node": node, "kind": kind, "where": where, "share": share, "pids": list(pids)}


def others(*found, processes=(HOG,), shared=True, **more):
    known = {"seconds": 4.0, "shared": shared, "uses": [], "nodes": [], "untold": [], "processes": list(processes)}
    return {**known, "disturbances": list(found), **more}


def row(value, device=1, count=4):
    """All that a GPU sends."""
    return {(device, c): value for c in range(count) if c != device}


def verdicts(record, references=TABLE, name="hgx"):
    (matrix,) = evaluate(record, references, name).matrices
    return {pair: cell.verdict for pair, cell in matrix.cells.items()}, matrix


@pytest.fixture
def disturbed(make_record):
    """A record of 4 GPUs of a node that another process used."""

    def make(off, *found, **more):
        record = make_record(off=off)
        record["results"][0]["others"] = others(*(found or (disturbance(),)), **more)
        return record

    return make


#: another process → its disturbances, and what gpu1 sends beside it, of 396 GB/s; FAIL and a suspect before
FINDINGS = {
    "a kernel that spins on gpu1": ((disturbance(),), 239.0),
    "local copies on gpu1": ((disturbance(),), 347.0),
    "a kernel on gpu0 that reads from gpu1": ((disturbance(where="gpu0"), disturbance(where="gpu1")), 160.0),
    "an unnamed process": ((disturbance(pids=()),), 300.0),
    "cores": ((disturbance("cpu", "node001", share=0.37),), 300.0),
}


@pytest.mark.parametrize(("found", "value"), FINDINGS.values(), ids=FINDINGS)
def test_what_is_outside_beside_another_process_is_disturbed_and_flags_nobody(disturbed, found, value):
    record = disturbed(row(value), *found)
    cells, matrix = verdicts(record)
    outside = {pair for pair in cells if pair[0] == "gpu1"}
    assert {pair for pair, verdict in cells.items() if verdict is Verdict.DISTURBED} == outside
    assert {verdict for pair, verdict in cells.items() if pair not in outside} == {Verdict.PASS}
    assert matrix.verdict is Verdict.DISTURBED and matrix.counts[Verdict.DISTURBED] == 3
    assert diagnosis.diagnose(record, record["results"][0], matrix).findings == ()
    assert matrix.passed_and_failed()[1] == set() and matrix.disturbed_sentences()


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (disturbance(), "pid 2983 (hog, user bob) had a context on gpu1"),
        (disturbance(pids=()), "another process, unnamed, had a context on gpu1"),
        (disturbance(pids=(0,)), "another process, unnamed, had a context on gpu1"),
        (disturbance(pids=(2983, 0)), "pid 2983 (hog, user bob) and another process, unnamed, had a context on gpu1"),
        (disturbance(pids=(7,)), "pid 7 (unnamed) had a context on gpu1"),
        (disturbance("cpu", "node001", share=0.37), "pid 2983 (hog, user bob) used 37 % of the cores of node001"),
        (
            disturbance("cpu", "n1:rank0", share=0.5),
            "pid 2983 (hog, user bob) took 50 % of the CPU time of n1:rank0",
        ),
        (
            disturbance("adapter", "eth0", share=0.24, pids=()),
            "another process, unnamed, used 24 % of the adapter eth0 of node001",
        ),
        (disturbance("memory"), "pid 2983 (hog, user bob) held the memory of gpu1"),
    ],
)
def test_each_disturbance_has_a_sentence_that_names_the_process(disturbed, found, sentence):
    record = disturbed({}, found)
    assert disturbances(record, record["results"][0]).nodes == {"node001": (sentence,)}
    assert disturbance_sentences(record["results"][0]) == [sentence]
    assert limit_missed(record["results"][0], "1 %") == [Reason(Verdict.DISTURBED, f"1 %; {sentence}")]


def test_a_limit_that_an_undisturbed_result_misses_is_a_failure(make_record):
    assert limit_missed(make_record()["results"][0], "1 %") == [Reason(Verdict.FAIL, "1 %")]


def test_of_many_processes_the_first_are_named(disturbed):
    processes = [{**HOG, "pid": pid, "name": f"p{pid}"} for pid in range(5)]
    record = disturbed({}, disturbance(pids=range(5)), processes=processes)
    ((said,),) = disturbances(record, record["results"][0]).nodes.values()
    assert all(f"pid {pid} (p{pid}, user bob)" in said for pid in range(4)) and "1 more" in said and "p4" not in said
    assert process_name({"pid": 3, "name": "x", "user": None}) == "pid 3 (x)"


@pytest.fixture
def two_nodes(make_record):
    """A record of 4 GPUs, two on each of two nodes, of which the second is disturbed."""

    def make(off):
        record = make_record(off=off)
        result = record["results"][0]
        labels = ["n1:gpu0", "n1:gpu1", "n2:gpu0", "n2:gpu1"]
        for device, label in zip(record["devices"], labels, strict=True):
            device.update(label=label, node=label[:2])
        result.update(rows=labels, columns=labels, others=others(disturbance(where="n2:gpu1", node="n2")))
        return record

    return make


def test_only_cells_with_an_end_on_a_disturbed_node_are_disturbed(two_nodes):
    cells, matrix = verdicts(two_nodes({(0, 1): 200.0, (0, 2): 200.0, (3, 2): 200.0}))
    assert {pair: verdict for pair, verdict in cells.items() if verdict is not Verdict.PASS} == {
        ("n1:gpu0", "n1:gpu1"): Verdict.FAIL,
        ("n1:gpu0", "n2:gpu0"): Verdict.DISTURBED,
        ("n2:gpu1", "n2:gpu0"): Verdict.DISTURBED,
    }
    assert matrix.passed_and_failed()[1] == {"n1:gpu0", "n1:gpu1"}
    assert matrix.verdict is Verdict.FAIL


def test_a_fault_of_another_node_is_located_beside_a_disturbed_node(two_nodes):
    record = two_nodes({(0, 1): 200.0, (2, 3): 100.0, (2, 1): 100.0})
    _, matrix = verdicts(record)
    found = diagnosis.diagnose(record, record["results"][0], matrix)
    assert found.components == ("n1:gpu0->n1:gpu1",) and found.verdicts == (Verdict.FAIL,)
    assert "pid 2983 (hog, user bob) had a context on n2:gpu1" in found.sentences


@pytest.mark.parametrize(("value", "verdict"), [(300.0, Verdict.DISTURBED), (370.0, Verdict.NOT_JUDGED)])
def test_without_a_table_a_cell_is_disturbed_from_10_percent_below_its_class(disturbed, value, verdict):
    cells, matrix = verdicts(disturbed({(1, 0): value}), References({}), None)
    assert cells["gpu1", "gpu0"] is verdict
    assert matrix.unjudged == sum(one is Verdict.NOT_JUDGED for one in cells.values())


@pytest.mark.parametrize(("value", "verdict"), [(300.0, Verdict.DISTURBED), (395.0, Verdict.INCOMPLETE)])
def test_a_named_table_that_lacks_cells_is_incomplete_beside_other_processes_too(disturbed, value, verdict):
    record = disturbed({(1, 0): value})
    table = References({("hgx", TESTCASE): {"gpu1->gpu0": Reference(396.0, -0.02, 0.02, "GB/s")}})
    cells, matrix = verdicts(record, table)
    assert cells["gpu1", "gpu0"] is (Verdict.DISTURBED if value == 300.0 else Verdict.PASS)
    assert cells["gpu0", "gpu1"] is Verdict.INCOMPLETE and matrix.verdict is Verdict.INCOMPLETE
    assert matrix.unjudged == 11


def test_better_than_its_tolerance_is_not_judged_and_flags_nobody(make_record):
    """References of a busy day, then a quiet run: FAIL, 273.5 % over its reference, and a DRAIN line for each node."""
    record = make_record(value=410.0)
    cells, matrix = verdicts(record)
    assert set(cells.values()) == {Verdict.NOT_JUDGED} and matrix.passed_and_failed() == (set(), set())
    assert diagnosis.diagnose(record, record["results"][0], matrix).findings == ()
    assert "adopt references again" in matrix.cells["gpu1", "gpu0"].reason and matrix.unjudged == 0


@pytest.mark.parametrize("status", ["error", "not-run", "timeout"])
def test_cells_of_a_device_whose_memory_another_process_holds_are_disturbed(disturbed, status):
    off = {(r, c): status for r in range(4) for c in range(4) if r != c and 1 in (r, c)} | {(2, 3): "error"}
    record = disturbed(off, disturbance(), disturbance("memory"))
    cells, matrix = verdicts(record)
    assert {cells[pair] for pair in cells if "gpu1" in pair} == {Verdict.DISTURBED}
    assert cells["gpu2", "gpu3"] is Verdict.INCOMPLETE
    found = diagnosis.diagnose(record, record["results"][0], matrix)
    assert not any("gpu1" in who for who in found.components)


def test_corrupt_data_of_a_device_without_memory_stays_a_failure(disturbed):
    cells, _ = verdicts(disturbed({(1, 0): "corrupt", (0, 1): "error"}, disturbance("memory")))
    assert (cells["gpu1", "gpu0"], cells["gpu0", "gpu1"]) == (Verdict.FAIL, Verdict.DISTURBED)


def together(record, columns, metric="bandwidth", engine="nccl"):
    """The record's result as one of all devices together, each column at half of its reference."""
    result = record["results"][0]
    result.pop("sampled", None)  # of the pairs
    one = {
        "rows": ["all"],
        "columns": columns,
        "metric": metric,
        "engine": engine,
        "link_class": [["x"] * len(columns)],
    }
    grids = {name: [[value] * len(columns)] for name, value in (("values", 198.0), ("low", 198.0), ("high", 198.0))}
    more = {"status": [["ok"] * len(columns)], "samples": [[7] * len(columns)], "limit": [[None] * len(columns)]}
    result.update(**one, **grids, **more, converged=[[True] * len(columns)])
    table = {f"all->{column}": Reference(396.0, -0.02, 0.02, "GB/s") for column in columns}
    return References({("hgx", TESTCASE): table})


def test_a_collective_is_disturbed_on_any_of_its_nodes(two_nodes):
    record = two_nodes({})
    table = together(record, ["in-place"])
    assert verdicts(record, table)[0] == {("all", "in-place"): Verdict.DISTURBED}


def test_a_simulation_is_disturbed_on_the_nodes_of_its_first_devices(two_nodes):
    record = two_nodes({})
    record["backend"] = "mpi"
    table = together(record, ["2-devices", "4-devices"], metric="compute", engine="sm")
    assert verdicts(record, table)[0] == {
        ("all", "2-devices"): Verdict.FAIL,
        ("all", "4-devices"): Verdict.DISTURBED,
    }


def test_ignored_processes_disturb_nothing_and_are_listed_once(disturbed):
    record = disturbed(row(200.0), ignored=[{**HOG, "name": "dcgm", "user": "root"}])
    record["others"] = others(ignored=[{**HOG, "name": "dcgm", "user": "root"}])
    record["results"][0]["others"]["disturbances"] = []
    assert verdicts(record)[1].verdict is Verdict.FAIL
    assert ignored(record) == ["pid 2983 (dcgm, user root)"]
    assert ignored({"results": [], "others": None}) == []


def test_nodes_that_are_promised_to_a_job_alone_were_not_where_another_process_disturbed_it(disturbed):
    record = disturbed({})
    assert [*not_exclusive(record)] == [
        f"the node was not exclusive: pid 2983 (hog, user bob) had a context on gpu1 during {TESTCASE}"
    ]
    record["results"][0]["others"] = others(shared=False)
    assert [*not_exclusive(record)] == []
    record["results"][0]["others"] = others(shared=True, untold=["gpu1: not readable"])
    (said,) = not_exclusive(record)
    assert "unknown" in said and "gpu1: not readable" in said
    del record["results"][0]["others"]
    assert len([*not_exclusive(record)]) == 1
