"""A sweep of a real OpenPBS's nodes: one job and one test a node; what is offline has no job."""

import pytest
from reframe_runs import record_of

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.show import summary
from linkmatrix.site import pbs as site_pbs

pytestmark = [pytest.mark.integration, pytest.mark.pbs]

ONE, OTHER = "lmp1", "lmp2"


@pytest.fixture
def offline(pbs):
    """A function that takes a node out of service, with a reason, until the test ends."""
    taken = []

    def take(node):
        taken.append(node)
        pbs("pbsnodes", "-C", "bad DIMM", "-o", node)

    yield take
    for node in taken:
        pbs("pbsnodes", "-C", "", "-r", node)


def test_every_node_has_one_job_and_one_test_and_is_measured_itself(sweep, pbs):
    run, by_node, judged = sweep("all")
    assert {node: check["result"] for node, check in by_node.items()} == {ONE: "pass", OTHER: "pass"}, run.output
    for node, check in by_node.items():
        record = record_of(check)
        assert record["host"]["name"] == node
        assert len(record["results"]) == 4
    assert len({check["jobid"] for check in by_node.values()}) == 2
    assert len(judged) == 2
    assert pbs("qstat") == ""


def test_an_offline_node_is_listed_with_its_reason_and_has_no_job(sweep, offline, pbs):
    offline(OTHER)
    run, by_node, judged = sweep("all")
    assert {node: check["result"] for node, check in by_node.items()} == {ONE: "pass", OTHER: "skip"}, run.output
    assert by_node[OTHER]["jobid"] is None
    said = [line for line in summary.node_lines(judged) if OTHER in line]
    assert any("not run: the scheduler reports offline" in line and "bad DIMM" in line for line in said), said
    assert pbs("qstat") == ""


def test_the_node_that_is_at_fault_is_named(sweep):
    run, by_node, judged = sweep(ONE, more=("--simulate-fault", "corrupt:cpu1"))
    assert run.code != 0
    assert "cpu1" in by_node[ONE]["fail_reason"]
    assert [one.verdict for one in judged] == [Verdict.FAIL]


@pytest.fixture
def routed(pbs):
    """A queue that takes jobs from its routing queue only; the name of the routing queue."""
    on = "enabled=true,started=true"
    pbs("qmgr", "-c", f"create queue behind queue_type=execution,{on},from_route_only=true")
    pbs("qmgr", "-c", f"create queue enter queue_type=route,{on},route_destinations=behind")
    yield "enter"
    for queue in ("enter", "behind"):
        pbs("qmgr", "-c", f"delete queue {queue}")


def test_nodes_behind_a_routing_queue_are_swept_through_it(sweep, pbs, routed):
    assert site_pbs.submission_queue("behind", site_pbs.parse_listing(pbs("qstat", "-Qf")))[0] == routed
    run, by_node, _ = sweep("all", replace={'"-q workq"': f'"-q {routed}"'})
    assert {node: check["result"] for node, check in by_node.items()} == {ONE: "pass", OTHER: "pass"}, run.output
