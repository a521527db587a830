"""What the check of few matchings says of a run that is not as asked for, and what it publishes."""

import importlib
from types import SimpleNamespace

import pytest
from few_records import COUNT, drawn_for, few_record
from reasons import said as sentences

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.references.tables import References

NODES = "node_to_node_bandwidth_mpi"
crossnode, expect = (importlib.import_module(f"linkmatrix_checks.{name}") for name in ("crossnode", "expect"))


def printed(result, verified=None):
    """What the program prints of it."""
    labels = result["rows"]
    head = " " * 8 + "".join(f"  {label:>8}" for label in labels) + "\n"
    text = ""
    for title, unit, scale in (("total bandwidth", "GB/s", 1), ("message rate", "msg/s", 1000)):
        text += f"\n{NODES}: {title} ({unit}), {result['size_bytes']} bytes, row = source, column = destination\n{head}"
        for label, values in zip(labels, result["values"], strict=True):
            cells = ("-" if value is None else f"{scale * value:.2f}" for value in values)
            text += f"{label:<8}" + "".join(f"  {cell:>8}" for cell in cells) + "\n"
        if unit == "GB/s":
            numbers = [value for values in result["values"] for value in values if value is not None]
            text += f"min {min(numbers):.2f}  median {numbers[0]:.2f}  max {max(numbers):.2f}  sum {sum(numbers):.2f}\n"
            text += f"6 rounds, {COUNT // 2} pairs at once; interference 0.10 %; 7 to 7 samples a cell; 1.000 s\n"
            count = verified if verified is not None else len(numbers)
            text += f"verified: {count} of {len(numbers)} cells\n"
    return text + "\nwhole run: 2.0 s\nResult: PASS\n"


@pytest.fixture
def run(make_record):
    """A check as ReFrame has it after the run of a record, changed by change(result)."""

    def after(change=None, verified=None):
        record = few_record(make_record(COUNT), drawn_for(COUNT))
        (result,) = record["results"]
        text = printed(result, verified)
        if change:
            change(result)
        run = SimpleNamespace(
            testcase=NODES,
            record=record,
            text=text,
            nodes=COUNT,
            num_tasks_per_node=1,
            current_partition=SimpleNamespace(features=(), extras={}),
            is_dry_run=lambda: False,
        )
        check = crossnode.crossnode_matchings
        names = ("machine_faults", "matrix_faults", "wanted_tables", "wanted_endpoints", "result")
        for method in (*names, "is_of_nodes", "wanted_cells", "excused_cells"):
            setattr(run, method, wrapped(check, method).__get__(run))
        return run

    return after


def wrapped(check, method):
    """The method; one that calls that of its base class needs to be told of its own."""
    if method != "machine_faults":
        return getattr(check, method)
    return lambda run: expect.rank_faults(run.record, run.nodes, 1) + expect.matching_faults(run.record)


def faults(run):
    return sentences(crossnode.crossnode_matchings.faults(run))


def test_a_run_as_it_was_asked_for_has_no_faults(run):
    assert faults(run()) == []


def test_no_pair_is_published(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("linkmatrix_checks.variables"), "MOST_ENDPOINTS", COUNT)
    there = run()
    ((result, matrix),) = zip(
        there.record["results"], evaluate(there.record, References({}), None).matrices, strict=True
    )
    there.table_of = lambda result: {}
    assert any("->" in name for name in crossnode.crossnode_matrix.figures_of(there, result, matrix))
    found = crossnode.crossnode_matchings.figures_of(there, result, matrix)
    assert set(found) == {"min[NET]", "median[NET]", "max[NET]"}


def test_data_that_nobody_compared_is_told(run):
    there = run(verified=40)
    assert faults(there) == [f"{NODES}: 48 cells must be verified, the program says 40 of 48 cells"]


def test_a_whole_matrix_is_not_what_was_asked_for(run):
    def whole(result):
        result["schedule"]["mode"] = "rounds"

    assert f"{NODES}: the schedule is rounds, but matchings were requested" in faults(run(whole))


def test_the_check_asks_for_matchings_of_all_nodes_and_is_in_no_other_run():
    assert crossnode.crossnode_matchings.param_space.params["extent"].values == ("all",)
