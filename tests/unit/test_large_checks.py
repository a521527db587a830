"""What the checks between nodes say of a matrix whose cells are in a file: a recorded simulation, spoiled.

tests/data/simulated40 is what tests/native/ranks/network_simulation leaves, with the program's own writer.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from check_runs import after_run, checks
from reasons import said as sentences

import linkmatrix.record.reading
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References

DATA = Path(__file__).resolve().parents[1] / "data" / "simulated40"
NODES = "node_to_node_bandwidth_mpi"
crossnode, expect = checks("crossnode"), checks("expect")


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """A copy of the simulation in the working directory, as in ReFrame's stage."""
    shutil.copytree(DATA, tmp_path / "stage")
    monkeypatch.chdir(tmp_path / "stage")
    return tmp_path / "stage"


def case(change=None, nodes=40, ranks=2):
    """A check as ReFrame has it after the run, with its record changed by change(result, record)."""
    record = linkmatrix.record.reading.load("record.json")
    if change:
        change(record["results"][0], record)
    requested = {"nodes": nodes, "num_tasks_per_node": ranks, "is_dry_run": lambda: False}
    return after_run(crossnode.crossnode_matrix, record, NODES, **requested)


def faults(**spoiled):
    return sentences(crossnode.crossnode_matrix.faults(case(**spoiled)))


def test_a_run_as_it_was_asked_for_has_no_faults_and_can_be_judged(stage, linkmatrix):
    assert faults() == []
    assert "1,560" in linkmatrix.out("show", stage / "record.json").replace("1560", "1,560")


def test_few_variables_are_published_and_none_of_a_pair(stage):
    record = case().record
    (matrix,) = evaluate(record, References({}), None).matrices
    found = crossnode.crossnode_matrix.result_figures(SimpleNamespace(), record["results"][0], matrix)
    summaries = {f"{word}[NET]" for word in ("min", "median", "max")}
    axes = {f"{word}[{axis}]" for word in ("min", "max") for axis in ("rows", "columns")}
    assert set(found) == summaries | axes
    values = {name: figure.value for name, figure in found.items()}
    assert 48.8 <= values["min[NET]"] <= values["min[rows]"] <= values["max[columns]"] <= values["max[NET]"] <= 48.91


def other_nodes(result, _):
    result["rows"] = result["columns"] = ["elsewhere", *result["rows"][1:]]


def another_order(result, _):
    result["rows"] = result["rows"][::-1]


def bisection(result, _):
    result["schedule"]["mode"] = "bisection"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_nodes, "its rows lack n0"),
        (another_order, "its rows are n39, n38, n37, n36, 36 more, expected are n0, n1, n2, n3, 36 more"),
        (bisection, "all pairs should be measured, but the record has pairs between two halves"),
    ],
)
def test_what_is_missing_in_the_record_is_told(stage, change, said):
    assert said in "; ".join(faults(change=change))


def verdict(change=lambda result, record: None):
    record = case(change).record
    (matrix,) = evaluate(record, References({}), None).matrices
    return matrix.verdict


def unverified(result, _):
    result.update(verified=None, timing="messages")


def one_cell_fewer(result, _):
    cells = dict(zip(result["cells"]["statuses"], result["cells"]["counts"], strict=True))
    result["cells"]["counts"] = list((cells | {"ok": cells["ok"] - 1}).values())


@pytest.mark.parametrize("change", [unverified, one_cell_fewer])
def test_a_large_matrix_that_is_not_whole_or_not_compared_is_incomplete(stage, change):
    assert verdict() is Verdict.NOT_JUDGED
    assert verdict(change) is Verdict.INCOMPLETE


def test_ranks_and_nodes_are_counted_and_the_way_of_a_large_matrix_is_promised(stage):
    assert "78 ranks were started" in "; ".join(faults(nodes=39))
    assert expect.transport_faults(case().record, "mpi") == []
    (said,) = sentences(expect.transport_faults(case().record, "staged"))
    assert "all used mpi, the partition specifies staged" in said


def test_the_record_and_its_cells_are_kept(stage, tmp_path):
    verdicts = checks("verdicts")
    kept = tmp_path / "output"
    kept.mkdir()
    verdicts.copy_record(stage, kept)
    assert {file.name for file in kept.iterdir()} == {
        "record.json",
        *(file.name for file in stage.glob("record.*.npy")),
    }
