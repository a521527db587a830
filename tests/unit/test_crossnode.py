"""What the checks between nodes say of a run that is not as asked for: recorded runs of three nodes, spoiled."""

import copy
import importlib
import re
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest
from reasons import said as sentences

import linkmatrix.record.printed
import linkmatrix.record.reading
from linkmatrix.errors import BadInput
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.references.tables import References

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
NODES, RANKS = "node_to_node_bandwidth_mpi", "rank_to_rank_bandwidth_mpi"


def checks(name):
    """A module of checks/; conftest.py says where that is."""
    return importlib.import_module(f"linkmatrix_checks.{name}")


crossnode = checks("crossnode")


def spoil(text, *changes):
    """The printed text with (pattern, replacement) applied; each must change something."""
    for pattern, instead in changes:
        changed = re.sub(pattern, instead, text, flags=re.MULTILINE | re.DOTALL)
        assert changed != text, pattern
        text = changed
    return text


def judged(
    check, testcase, name, nodes, text=None, change=None, ranks=1, sizes="1KiB:16KiB:4", features=(), extras=None
):
    """The sentences of a check on a recorded run, printed as `text` and with the record spoiled by change(record)."""
    record = copy.deepcopy(linkmatrix.record.reading.load(DATA / f"{name}.record.json"))
    if change:
        change(record)
    run = SimpleNamespace(
        testcase=testcase,
        record=record,
        text=text or (DATA / f"{name}.txt").read_text(),
        nodes=nodes,
        sizes=sizes,
        num_tasks_per_node=ranks,
        current_partition=SimpleNamespace(features=features, extras=extras or {}),
    )
    methods = ("machine_faults", "matrix_faults", "wanted_tables", "wanted_endpoints")
    methods += ("is_of_nodes", "wanted_cells", "excused_cells")
    for method in methods:
        if hasattr(check, method):
            setattr(run, method, getattr(check, method).__get__(run))
    return sentences(check.faults(run))


def of_matrix(**spoiled):
    return judged(crossnode.crossnode_matrix, NODES, "slurm3_nodes", spoiled.pop("nodes", 3), **spoiled)


def of_sweep(**spoiled):
    return judged(crossnode.crossnode_sweep, RANKS, "slurm2_sweep", spoiled.pop("nodes", 2), **spoiled)


PRINTED, SWEPT = (DATA / "slurm3_nodes.txt").read_text(), (DATA / "slurm2_sweep.txt").read_text()


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
    assert f"{count} ranks were started, {count - 1} took part" in of(change=drop_rank)
    found = "; ".join(of(change=on_one_node))
    assert f"1 ranks should run on each of {count} nodes, there were 2 on lmx1" in found
    found = "; ".join(of(nodes=count + 1))
    assert f"{count + 1} ranks were started, {count} took part" in found
    assert f"1 ranks should run on each of {count + 1} nodes" in found
    assert "2 ranks should run on each" in "; ".join(of(ranks=2))


def test_a_table_that_is_missing_is_told():
    text = spoil(PRINTED, (rf"^{NODES}: message rate.*?(?=^whole run)", ""))
    assert of_matrix(text=text) == [f"{NODES} printed no table 'message rate (msg/s)'"]
    with pytest.raises(BadInput, match="it was cut off"):  # which is a fault too
        of_matrix(text=spoil(PRINTED, (rf"^{NODES}: total.*?(?=^{NODES}: message)", "")))


def test_a_table_in_another_unit_is_none():
    text = spoil(PRINTED, (r"message rate \(msg/s\)", "message rate (GB/s)"))
    assert f"{NODES} printed no table 'message rate (msg/s)'" in of_matrix(text=text)


def test_cells_that_were_not_measured_are_left_to_the_judge():
    grid = {"lmx1": "- timeout 1.20", "lmx2": "timeout - timeout", "lmx3": "1.01 timeout -"}
    text = spoil(PRINTED, *((rf"^{node} +[-\d][-\d. ]*$", f"{node} {row}") for node, row in grid.items()))
    text = spoil(
        text, (r"^min [^\n]*$", "min 1.01  median 1.105  max 1.20  sum 2.21"), ("6 of 6 cells", "2 of 6 cells")
    )
    assert of_matrix(text=text) == []


def test_data_that_nobody_compared_is_told():
    text = spoil(PRINTED, (r"^verified: [^\n]*\n", ""))
    assert of_matrix(text=text) == [f"{NODES}: 6 cells must be verified, the program says nothing"]


def test_a_node_that_is_in_no_table_is_told():
    """The record has three nodes, the tables have two."""
    two = "        lmx1    lmx2\nlmx1       -    1.12\nlmx2    1.12       -\n"
    text = spoil(PRINTED, (r"(column = destination\n)(\s+lmx1\s+lmx2\s+lmx3\n)(lmx\d [^\n]*\n){3}", rf"\1{two}"))
    text = spoil(text, (r"^min [^\n]*", "min 1.12  median 1.120  max 1.12  sum 2.24"))
    found = of_matrix(text=text)
    pairs = [pair for pair in permutations(["lmx1", "lmx2", "lmx3"], 2) if "lmx3" in pair]
    assert found == [f"{NODES}: {row}->{column} is missing" for row, column in pairs]


def test_a_size_that_was_not_printed_and_one_that_was_not_measured_are_told():
    text = spoil(SWEPT, (rf"^{RANKS}: bandwidth \(GB/s\), 4096 bytes.*?(?=^{RANKS}: bandwidth \(GB/s\), 16384)", ""))
    assert of_sweep(text=text) == [f"{RANKS}: 3 sizes were measured, 2 printed, of a sweep"]
    fewer = of_sweep(change=lambda record: record["results"].pop(1))
    assert fewer == [
        f"{RANKS}: 3 sizes were to be measured, there are 2, without 4096 bytes",
        f"{RANKS}: 2 sizes were measured, 3 printed, of a sweep",
    ]
    missing, one = of_sweep(change=lambda record: record["results"].__delitem__(slice(1, None)))
    assert missing == f"{RANKS}: 3 sizes were to be measured, there are 1, without 4096, 16384 bytes"
    assert one == f"{RANKS}: 1 sizes were measured, 3 printed, of a sweep"


@pytest.mark.parametrize("which", range(3))
def test_a_size_that_was_neither_printed_nor_measured_is_told(which):
    """A process that was killed between two sizes leaves whole ones alone."""
    size = (1024, 4096, 16384)[which]
    text = re.sub(rf"^{RANKS}: [^\n]*, {size} bytes.*?(?=^{RANKS}|^whole run)", "", SWEPT, flags=re.M | re.S)
    found = of_sweep(text=text, change=lambda record: record["results"].pop(which))
    assert found == [f"{RANKS}: 3 sizes were to be measured, there are 2, without {size} bytes"]


def test_a_size_whose_data_was_not_compared_is_told_and_an_empty_message_has_none():
    def unverified(record):
        record["results"][1]["verified"] = None

    assert of_sweep(change=unverified) == [f"{RANKS}: the data of 4096 bytes was not compared"]

    def empty(record):
        record["results"][0].update(size_bytes=0, verified=None)

    text = spoil(SWEPT, (r"\), 1024 bytes", "), 0 bytes"))
    assert of_sweep(change=empty, text=text, sizes="0,4KiB,16KiB") == []


def test_a_cell_of_one_size_that_was_not_measured_is_left_to_the_judge():
    text = spoil(
        SWEPT,
        (r"(4096 bytes.*?lmx1:rank0 +- +)[\d.]+", r"\1timeout"),
        (r"min 0.15 [^\n]*", "min 0.19  median 0.190  max 0.19  sum 0.19"),
    )
    assert of_sweep(text=text) == []


def test_the_variables_of_a_matrix_of_nodes_do_not_have_their_names():
    record = linkmatrix.record.reading.load(DATA / "slurm3_nodes.record.json")
    (matrix,) = evaluate(record, References({}), None).matrices
    found = checks("variables").matrix_figures(matrix, {})
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
        f"{RANKS}: n1:gpu1->n2:gpu2 went by staged, the partition promises mpi (GPUDirect)"
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
    check = type("check", (), dict(vars(checks("pairs").crossnode_pairs)))
    for method in ("wanted_tables", "faults"):
        setattr(check, method, getattr(crossnode.crossnode_sweep, method))
    check.machine_faults = lambda run: checks("expect").pairs_faults(run.record, pairs, run.num_tasks_per_node)
    return judged(check, NODES, PAIRS, 2, ranks=4, sizes=sizes, **spoiled)


def test_a_sweep_of_pairs_is_judged_by_all_of_its_sizes_tables_and_pairs():
    assert of_pairs() == []
    assert of_pairs(pairs=4) == [f"{NODES}: 4 pairs of ranks were to go together, 2 did"]
    assert any("23 sizes were to be measured, there are 12" in fault for fault in of_pairs(sizes="1:4MiB:2"))


def test_a_sweep_of_pairs_that_lost_a_table_of_one_size_is_told():
    printed = (DATA / f"{PAIRS}.txt").read_text()
    text = spoil(printed, (rf"^{NODES}: message rate \(msg/s\), 1024 bytes.*?(?=^{NODES}: )", ""))
    assert of_pairs(text=text) == [f"{NODES} printed no table 'message rate (msg/s)', of 1024 bytes"]
