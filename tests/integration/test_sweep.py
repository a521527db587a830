"""A sweep: one job and one test a node, which names what is wrong with it."""

import socket
from pathlib import Path

import pytest
from reframe_runs import judged, record_of

from linkmatrix.judge.verdicts import Verdict

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tools")]

HERE = socket.gethostname().partition(".")[0]
WRITE = "device_to_device_memcpy_write_ce"
TESTCASES = {WRITE, "device_to_device_memcpy_read_ce", "device_to_device_latency_sm"} | {
    "device_to_device_bidirectional_memcpy_write_ce"
}
SHORT = "--samples,3,--target-ci,50"
# more than any memory does
HIGH = f"""intranode_p2p:
  $index: [reference_name, testcase]
  high:
    {WRITE}:
      cpu0->cpu1: [99999.0, -0.02, 0.02, GB/s]
"""


@pytest.fixture
def sweep(reframe, monkeypatch):
    """A function that sweeps nodes, and returns the run with its tests by node."""

    def run(nodes, *options, fault="", **keywords):
        monkeypatch.setenv("LINKMATRIX_NODES", nodes)
        more = f",--simulate-fault,{fault}" if fault else ""
        done = reframe("-r", "--mode=sweep", "-S", f"node_sweep.extra_opts={SHORT}{more}", *options, **keywords)
        return done, {check["node"]: check for check in done.checks()}

    return run


def judged_nodes(run, references=None):
    """{node: its judged test} of a run."""
    return {one.test.node: one for one in judged(run, references)}


def test_one_test_and_one_process_measure_all_test_cases_of_a_node(sweep):
    run, by_node = sweep("all")
    assert run.code == 0, run.output
    assert list(by_node) == [HERE]
    check = by_node[HERE]
    record = record_of(check)
    assert {result["testcase"] for result in record["results"]} == TESTCASES
    assert record["asked_by"] == check["display_name"]
    jobs = [case["jobid"] for case in run.testcases if case["name"].startswith(("node_sweep", "node_session"))]
    assert [job for job in jobs if job] == [check["jobid"]]
    assert not Path(check["outputdir"], "process2").exists()


def test_a_node_that_is_unknown_is_incomplete_and_the_others_are_measured(sweep):
    run, by_node = sweep(f"{HERE},n[1-2]")
    assert run.code != 0
    assert {node for node, check in by_node.items() if check["result"] == "pass"} == {HERE}
    assert "has no node n1, only" in by_node["n1"]["fail_reason"]
    assert judged_nodes(run)["n2"].verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("nodes", ["n[1-", "a b", "n[9-1]"])
def test_a_list_that_cannot_be_read_is_a_test_that_says_so(sweep, nodes):
    run, by_node = sweep(nodes)
    assert run.code != 0
    assert "n[001-016" in by_node[nodes]["fail_reason"]


def test_without_nodes_there_is_no_such_test_and_no_warning(reframe):
    run = reframe("-l", "--mode=sweep", "--warn-as-error")
    assert run.code == 0, run.output
    assert "Found 0 check(s)" in run.output


def test_the_test_case_and_the_pair_that_are_too_slow_are_named(sweep):
    run, by_node = sweep("all", "-S", "reference_name=high", references=HIGH)
    assert run.code != 0
    reason = by_node[HERE]["fail_reason"]
    assert f"{WRITE}: cpu0->cpu1" in reason and "sanity error: FAIL: " in reason and "99999.00 GB/s" in reason
    assert judged_nodes(run, run.prefix / "references")[HERE].verdict is Verdict.FAIL


def test_wrong_data_is_named(sweep):
    run, by_node = sweep("all", fault="corrupt:cpu1")
    assert run.code != 0
    assert "cpu1" in by_node[HERE]["fail_reason"]
    assert judged_nodes(run)[HERE].verdict is Verdict.FAIL


def test_where_every_cell_must_have_a_reference_and_has_none_it_is_not_judged(sweep):
    run, by_node = sweep("all", "-S", "require_reference=yes")
    assert run.code != 0
    assert "NOT JUDGED: " in by_node[HERE]["fail_reason"] and by_node[HERE]["fail_phase"] == "performance"
    assert judged_nodes(run)[HERE].verdict is Verdict.NOT_JUDGED
    assert not judged_nodes(run)[HERE].reasons  # the cells say it, and no more is wrong
