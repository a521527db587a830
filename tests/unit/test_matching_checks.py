"""What the check of few matchings says of a run that is not as asked for, and what it publishes."""

import pytest
from check_runs import after_run, checks
from few_records import COUNT, drawn_for, few_record
from reasons import said as sentences

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.references.tables import References

NODES = "node_to_node_bandwidth_mpi"
crossnode = checks("crossnode")


@pytest.fixture
def run(make_record):
    """A check as ReFrame has it after the run of a record, changed by change(result)."""

    def after(change=None):
        record = few_record(make_record(COUNT), drawn_for(COUNT))
        (result,) = record["results"]
        rates = [[value and 1000 * value for value in row] for row in result["values"]]
        result["parts"]["message_rate"] = {"title": "message rate", "unit": "msg/s", "values": rates}
        if change:
            change(result)
        requested = {"nodes": COUNT, "num_tasks_per_node": 1, "is_dry_run": lambda: False}
        return after_run(crossnode.crossnode_matchings, record, NODES, **requested)

    return after


def faults(run):
    return sentences(crossnode.crossnode_matchings.faults(run))


def test_a_run_as_it_was_asked_for_has_no_faults(run):
    assert faults(run()) == []


def test_no_pair_is_published(run, monkeypatch):
    monkeypatch.setattr(checks("variables"), "MOST_ENDPOINTS", COUNT)
    there = run()
    ((result, matrix),) = zip(
        there.record["results"], evaluate(there.record, References({}), None).matrices, strict=True
    )
    assert any("->" in name for name in crossnode.crossnode_matrix.result_figures(there, result, matrix))
    found = crossnode.crossnode_matchings.result_figures(there, result, matrix)
    assert set(found) == {"min[NET]", "median[NET]", "max[NET]"}


def test_a_whole_matrix_is_not_what_was_asked_for(run):
    def whole(result):
        result["schedule"]["mode"] = "rounds"

    assert "matchings should be measured, but the record has all pairs" in " ".join(faults(run(whole)))


def test_the_check_asks_for_matchings_of_all_nodes_and_is_in_no_other_run():
    assert crossnode.crossnode_matchings.param_space.params["extent"].values == ("all",)
