"""What the checks between nodes say of a run that is not as asked for: recorded runs of three nodes, spoiled."""

import copy
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest
from check_runs import checks, fault_sentences
from reasons import said as sentences

import linkmatrix.record.reading
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.references.tables import References

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
NODES, RANKS = "node_to_node_bandwidth_mpi", "rank_to_rank_bandwidth_mpi"


crossnode = checks("crossnode")


def judged(check, testcase, name, nodes, change=None, ranks=1, sizes="1KiB:16KiB:4", features=(), extras=None):
    """The sentences of a check on a recorded run, with the record spoiled by change(record)."""
    record = linkmatrix.record.reading.load(DATA / f"{name}.record.json")
    partition = {"features": features, "extras": extras}
    requested = {"nodes": nodes, "sizes": sizes, "num_tasks_per_node": ranks}
    return fault_sentences(check, record, testcase, change=change, **partition, **requested)


def of_matrix(**spoiled):
    return judged(crossnode.crossnode_matrix, NODES, "slurm3_nodes", spoiled.pop("nodes", 3), **spoiled)


def of_sweep(**spoiled):
    return judged(crossnode.crossnode_sweep, RANKS, "slurm2_sweep", spoiled.pop("nodes", 2), **spoiled)


def test_runs_as_they_were_asked_for_have_no_faults():
    assert of_matrix() == []
    assert of_sweep() == []


def drop_rank(record):
    record["devices"].pop()


def on_one_node(record):
    record["devices"][-1]["node"] = record["devices"][0]["node"]


@pytest.mark.parametrize("of", [of_matrix, of_sweep])
def test_a_rank_that_is_missing_and_a_wrong_number_of_nodes_are_told(of):
    count = {of_matrix: 3, of_sweep: 2}[of]
    assert f"{count} ranks were started, but {count - 1} are in the record" in of(change=drop_rank)
    found = "; ".join(of(change=on_one_node))
    assert f"1 ranks should run on each of {count} nodes, but these ran: 2 on lmx1" in found
    found = "; ".join(of(nodes=count + 1))
    assert f"{count + 1} ranks were started, but {count} are in the record" in found
    assert f"1 ranks should run on each of {count + 1} nodes" in found
    assert "2 ranks should run on each" in "; ".join(of(ranks=2))


def test_a_matrix_that_is_missing_or_comes_twice_is_told():
    found = of_matrix(change=lambda record: record["results"].clear())
    assert found == [f"{NODES}: the record has 0 matrices instead of one"]
    found = of_matrix(change=lambda record: record["results"].extend(record["results"]))
    assert found == [f"{NODES}: the record has 2 matrices instead of one"]


def test_a_further_matrix_that_is_missing_or_lacks_a_cell_is_told():
    assert "6 cells have no 'message_rate'" in of_matrix(change=lambda record: record["results"][0]["parts"].clear())[0]

    def lose(record):
        record["results"][0]["parts"]["message_rate"]["values"][0][1] = None

    assert "1 cells have no 'message_rate'" in of_matrix(change=lose)[0]


def test_a_node_that_is_in_no_matrix_is_told():
    """The record has three nodes, its matrix has two."""

    def lose(record):
        (result,) = record["results"]
        result["rows"], result["columns"] = result["rows"][:2], result["columns"][:2]
        for cells in (result, *result["parts"].values()):
            cells["values"] = [row[:2] for row in cells["values"][:2]]

    found = of_matrix(change=lose)
    assert [fault.partition(": ")[2] for fault in found] == ["its rows lack lmx3", "its columns lack lmx3"]


@pytest.mark.parametrize("which", range(3))
def test_a_size_that_was_not_measured_is_told(which):
    """A process that was killed between two sizes leaves whole ones alone."""
    size = (1024, 4096, 16384)[which]
    found = of_sweep(change=lambda record: record["results"].pop(which))
    assert found == [f"{RANKS}: 3 sizes should be measured, but the record has 2, without {size} bytes"]


def test_an_empty_message_is_a_size():
    def empty(record):
        record["results"][0].update(size_bytes=0, verified=None)

    assert of_sweep(change=empty, sizes="0,4KiB,16KiB") == []


def test_cells_and_sizes_whose_data_was_not_compared_are_incomplete():
    record = copy.deepcopy(linkmatrix.record.reading.load(DATA / "slurm2_sweep.record.json"))
    record["results"][1].update(verified=None, timing="messages")
    record["results"][2]["status"][0][1] = "timeout"
    found = [matrix.verdict.name for matrix in evaluate(record, References({}), None).matrices]
    assert found == ["NOT_JUDGED", "INCOMPLETE", "INCOMPLETE"]


def test_the_variables_of_a_matrix_of_nodes_do_not_have_their_names():
    record = linkmatrix.record.reading.load(DATA / "slurm3_nodes.record.json")
    (matrix,) = evaluate(record, References({}), None).matrices
    found = checks("variables").matrix_figures(matrix)
    pairs = {f"node{row}->node{column}" for row, column in permutations(range(3), 2)}
    assert set(found) == pairs | {"min[NET]", "median[NET]", "max[NET]"}
    assert found["min[NET]"].value == min(found[name].value for name in pairs)


def between(node_of, transport, **more):
    """A result of ranks on these nodes."""
    net = [["NET" if a != b else "NODE" for b in node_of] for a in node_of]
    labels = [f"{node}:gpu{number}" for number, node in enumerate(node_of)]
    return {"testcase": RANKS, "rows": labels, "columns": labels, "link_class": net, "transport": transport, **more}


def test_data_that_went_through_host_memory_breaks_the_promise_of_gpudirect():
    def faults(*arguments):
        return sentences(checks("expect").transport_faults(*arguments))

    by_pair = [["", "ipc", "mpi"], ["ipc", "", "staged"], ["mpi", "mpi", ""]]
    of_pairs = between(["n1", "n1", "n2"], "auto", transports=by_pair)
    assert faults({"results": [of_pairs]}, "mpi") == [
        f"{RANKS}: n1:gpu1->n2:gpu2 used staged, the partition specifies mpi (GPUDirect)"
    ]
    assert len(faults({"results": [between(["n1", "n2"], "staged")]}, "mpi")) == 2
    assert faults({"results": [between(["n1", "n2"], "mpi")]}, "mpi") == []


@pytest.mark.parametrize(("said", "faults"), [({"transport": "mpi"}, 0), ({"transport": "staged"}, 1), ({}, 1)])
def test_so_does_a_matrix_whose_cells_stand_in_a_file(said, faults):
    classes = [{"link_class": "NODE", "transport": "ipc"}, {"link_class": "NET", **said}]
    result = {"testcase": RANKS, "rows": [], "columns": [], "transport": "auto", "cells": {"classes": classes}}
    assert len(checks("expect").transport_faults({"results": [result]}, "mpi")) == faults


MPIRUN = ["----", "mpirun detected that a process exited with non-zero status.", "Process name: [[1,1],0]", "----", "x"]


@pytest.mark.parametrize(
    ("last", "errors", "said"),
    [
        ("", ["p2p_matrix: MPI_Win_create failed", *MPIRUN], "p2p_matrix: MPI_Win_create failed / mpirun detected"),
        ("", ["slurmstepd: error: CANCELLED AT 1"], "not with 'Result: PASS': slurmstepd: error: CANCELLED AT 1"),
        ("Result: FAIL", ["p2p_matrix: gpu1 is lost", *MPIRUN], "'Result: PASS': p2p_matrix: gpu1 is lost"),
    ],
)
def test_the_program_is_quoted_though_its_launcher_wrote_more_after_it(tmp_path, last, errors, said):
    (tmp_path / "err").write_text("\n".join(errors))
    (tmp_path / "out").write_text(f"a table\n{last}\n" if last else "")
    run = SimpleNamespace(
        stdout=str(tmp_path / "out"),
        stderr=str(tmp_path / "err"),
        stagedir=str(tmp_path),
        job=SimpleNamespace(state="FAILED"),
        program="p2p_matrix",
    )
    check = checks("p2p").p2p_matrix_run
    run.outputs = check.outputs.__get__(run)
    (fault,) = sentences(check.result_faults(run))
    assert said in fault
    assert fault.count("p2p_matrix: ") == sum(line.startswith("p2p_matrix: ") for line in errors)
    assert (last == "") or "mpirun" not in fault


PAIRS = "hosts2_pairs"


def of_pairs(pairs=2, sizes="1:4MiB:4", **spoiled):
    """The sentences of the check of pairs of ranks on a recorded run of two of four."""
    names = ("faults", "size_faults", "axes", "measured_pairs", "engine", "share")
    check = type("check", (), {name: getattr(crossnode.crossnode_sweep, name) for name in names})
    check.machine_faults = lambda run: checks("expect").pairs_faults(run.record, pairs, run.num_tasks_per_node)
    return judged(check, NODES, PAIRS, 2, ranks=4, sizes=sizes, **spoiled)


def test_a_sweep_of_pairs_is_judged_by_all_of_its_sizes_tables_and_pairs():
    assert of_pairs() == []
    assert of_pairs(pairs=4) == [f"{NODES}: 4 pairs of ranks should measure concurrently, but 2 did"]
    assert any("23 sizes should be measured, but the record has 12" in fault for fault in of_pairs(sizes="1:4MiB:2"))


DRAINED, DOWN = "drained: bad DIMM", "down*: Not responding"


@pytest.mark.parametrize(
    ("known", "most", "nodes", "left_out", "missing"),
    [
        ({"n1": "", "n2": "", "n3": ""}, 0, 3, "", False),
        ({"n1": "", "n2": DRAINED, "n3": ""}, 0, 2, f"n2: {DRAINED}", False),
        ({"n1": "", "n2": DOWN, "n3": ""}, 0, 2, f"n2: {DOWN}", True),
        ({"n1": "", "n2": DRAINED, "n3": ""}, 2, 2, "", False),
        ({"n1": "", "n2": DRAINED, "n3": ""}, 3, 2, f"n2: {DRAINED}", False),
        (None, 4, 4, "", False),
        ({"n1": ""}, 0, 1, "", False),
    ],
)
def test_a_test_of_all_nodes_takes_those_that_take_jobs_now(monkeypatch, known, most, nodes, left_out, missing):
    run, _ = all_nodes(monkeypatch, known, most)
    assert run.taken == nodes
    assert (run.nodes_left_out, run.nodes_missing) == (left_out, missing)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"n1": "", "n2": DRAINED}, "2 nodes, but jobs can start on only 1 of them now"),
        ({"n1": DOWN, "n2": DRAINED}, "2 nodes, but jobs can start on only 0 of them now"),
        (None, "set extras['nodes']"),
    ],
)
def test_a_test_of_all_nodes_is_skipped_where_no_two_take_jobs(monkeypatch, known, why):
    _, skipped = all_nodes(monkeypatch, known)
    assert len(skipped) == 1 and why in skipped[0]


def all_nodes(monkeypatch, known, most=0):
    """(test of all nodes of a partition, why it is skipped). known: {node: why it takes no job}."""
    monkeypatch.setattr(crossnode.nodes, "first_node_states", lambda partition: known)
    skipped = []
    run = SimpleNamespace(
        current_partition=SimpleNamespace(
            extras={"nodes": most} if most else {}, scheduler=SimpleNamespace(registered_name="linkmatrix_slurm")
        ),
        nodes_left_out="",
        nodes_missing=False,
        skip_partition=lambda condition, why, too_small=False: skipped.append(why) if condition else None,
    )
    run.taken = crossnode.CrossNode.count_available_nodes(run)
    return run, skipped
