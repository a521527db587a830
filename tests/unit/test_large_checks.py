"""What the checks between nodes say of a matrix whose cells are in a file: a recorded simulation, spoiled.

tests/data/simulated40 is what tests/native/ranks/network_simulation leaves, with the program's own writer.
"""

import importlib
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from reasons import said as sentences

import linkmatrix.record.reading
from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.record import printed

DATA = Path(__file__).resolve().parents[1] / "data" / "simulated40"
NODES = "node_to_node_bandwidth_mpi"
crossnode, large, expect = (
    importlib.import_module(f"linkmatrix_checks.{name}") for name in ("crossnode", "large", "expect")
)


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """A copy of the simulation in the working directory, as in ReFrame's stage."""
    shutil.copytree(DATA, tmp_path / "stage")
    monkeypatch.chdir(tmp_path / "stage")
    return tmp_path / "stage"


def case(change=None, text=None, nodes=40, ranks=2):
    """A check as ReFrame has it after the run, with its record changed by change(result, record)."""
    record = linkmatrix.record.reading.load("record.json")
    if change:
        change(record["results"][0], record)
    run = SimpleNamespace(
        testcase=NODES,
        record=record,
        text=text or Path("out.txt").read_text(),
        nodes=nodes,
        num_tasks_per_node=ranks,
        current_partition=SimpleNamespace(extras={}, features=[]),
        is_dry_run=lambda: False,
    )
    check = crossnode.crossnode_matrix
    for method in (
        "machine_faults",
        "large_faults",
        "cells_wanted_of",
        "is_of_nodes",
        "wanted_tables",
        "wanted_endpoints",
    ):
        setattr(run, method, getattr(check, method).__get__(run))
    return run


def faults(**spoiled):
    return sentences(crossnode.crossnode_matrix.faults(case(**spoiled)))


def test_a_run_as_it_was_asked_for_has_no_faults_and_can_be_judged(stage, capsys):
    assert faults() == []
    assert cli.main(["show", str(stage / "record.json")]) == 0  # NOT JUDGED
    assert "1,560" in capsys.readouterr().out.replace("1560", "1,560")


def test_few_variables_are_published_and_none_of_a_pair(stage):
    (result,) = case().record["results"]
    run = SimpleNamespace(table_of=lambda result: {})
    found = crossnode.crossnode_matrix.figures_of(run, result, None)
    summaries = {f"{word}[NET]" for word in ("min", "median", "max")}
    axes = {f"{word}[{axis}]" for word in ("min", "max") for axis in ("rows", "columns")}
    assert set(found) == summaries | axes
    found = large.variables(result)
    assert 48.8 <= found["min[NET]"] <= found["min[rows]"] <= found["max[columns]"] <= found["max[NET]"] <= 48.91


def statuses(**counts):
    def change(result, _):
        cells = dict(zip(result["cells"]["statuses"], result["cells"]["counts"], strict=True)) | counts
        result["cells"]["counts"] = list(cells.values())

    return change


def no_row(result, _):
    result["cells"]["row_medians"][7] = 0


def other_nodes(result, _):
    result["rows"] = result["columns"] = ["elsewhere", *result["rows"][1:]]


def unverified(result, _):
    result["verified"] = None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (statuses(ok=1500), f"{NODES}: 1500 cells were measured, not 1560"),
        (no_row, f"{NODES}: nothing was measured in the row of n7"),
        (other_nodes, "the matrix should be of 40 endpoints, it is of 40: elsewhere, n0"),
        (unverified, "1560 cells must be verified"),
    ],
)
def test_what_is_missing_in_the_record_is_told(stage, change, said):
    assert said in "; ".join(faults(change=change))


def test_what_was_printed_must_be_of_this_matrix_and_verified(stage):
    text = (stage / "out.txt").read_text()
    assert (
        "did not print once that its 'total bandwidth (GB/s)' is in"
        in faults(text=text.replace("40 x 40", "39 x 39"))[0]
    )
    assert "did not print once" in faults(text=text.replace(f"{NODES}:", "another:"))[0]
    assert "the program says 1559 of 1560 cells" in faults(text=text.replace("1560 of 1560", "1559 of 1560"))[0]
    assert "the program says nothing" in faults(text=text.replace("verified: ", "not verified: "))[0]
    with pytest.raises(BadInput, match="no square"):
        printed.p2p_matrix_large(text.replace("40 x 40", "40 x 39"))
    with pytest.raises(BadInput, match="cut off"):
        faults(text=text[:-5])


def test_the_file_of_the_cells_must_be_there_and_whole(stage):
    (file,) = stage.glob("record.*.npy")
    content = file.read_bytes()
    file.write_bytes(content[: 40 * 40 * 16])
    assert "which are not 40 × 40 cells" in faults()[0]
    file.unlink()
    assert "is not beside the record: No such file" in faults()[0]


def test_ranks_and_nodes_are_counted_and_the_way_of_a_large_matrix_is_promised(stage):
    assert "78 ranks were started" in "; ".join(faults(nodes=39))
    assert expect.transport_faults(case().record, "mpi") == []
    (said,) = sentences(expect.transport_faults(case().record, "staged"))
    assert "all went by mpi, the partition promises staged" in said


def test_the_record_and_its_cells_are_kept(stage, tmp_path):
    verdicts = importlib.import_module("linkmatrix_checks.verdicts")
    kept = tmp_path / "output"
    kept.mkdir()
    verdicts.kept(stage, kept)
    assert {file.name for file in kept.iterdir()} == {
        "record.json",
        *(file.name for file in stage.glob("record.*.npy")),
    }
