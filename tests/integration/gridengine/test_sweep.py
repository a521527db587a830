"""A sweep of a real Grid Engine's hosts: one that is there, and one whose daemon does not answer."""

import re

import pytest
from reframe_runs import record_of, wait_until

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.show import summary

pytestmark = [pytest.mark.integration, pytest.mark.gridengine]

HERE, AWAY = "lmxge", "lmxge2"
SILENT = rf"  INCOMPLETE {AWAY}: not run: the scheduler reports a?u: its daemon does not answer.*"


@pytest.fixture
def two_hosts(gridengine):
    """all.q has a second host, on which no daemon runs, until the test ends."""
    gridengine("qconf", "-ah", AWAY)
    gridengine("qconf", "-aattr", "queue", "hostlist", AWAY, "all.q")
    wait_until(lambda: f"{AWAY} " in gridengine("qhost", "-q"), f"qhost does not report {AWAY}")
    yield
    gridengine("qconf", "-dattr", "queue", "hostlist", AWAY, "all.q")
    gridengine("qconf", "-de", AWAY)
    gridengine("qconf", "-dh", AWAY)


def test_the_host_that_answers_is_measured_and_the_other_is_listed_and_has_no_job(sweep, two_hosts, gridengine):
    run, by_node, judged = sweep("all")
    assert {node: check["result"] for node, check in by_node.items()} == {HERE: "pass", AWAY: "skip"}, run.output
    record = record_of(by_node[HERE])
    assert record["host"]["name"] == HERE and len(record["results"]) == 4
    assert by_node[AWAY]["jobid"] is None
    assert any(re.fullmatch(SILENT, line) for line in summary.node_lines(judged))
    assert gridengine("qstat") == ""


def test_the_host_that_is_at_fault_is_named(sweep):
    run, by_node, judged = sweep("all", more=("--simulate-fault", "corrupt:cpu1"))
    assert run.code != 0
    assert "cpu1" in by_node[HERE]["fail_reason"]
    assert [one.verdict for one in judged] == [Verdict.FAIL]


@pytest.mark.slow
def test_a_host_that_is_disabled_while_its_job_waits_is_listed_as_not_run(sweep, gridengine, when, meanwhile):
    gridengine(
        "qsub", "-b", "y", "-pe", "mpi", "4", "-q", "all.q", "-o", "/dev/null", "-e", "/dev/null", "sleep", "300"
    )

    def disable():
        when("qw")
        gridengine("qmod", "-d", f"all.q@{HERE}")

    meanwhile(disable)
    try:
        run, by_node, judged = sweep("all")
        assert by_node[HERE]["result"] == "skip", run.output
        assert [one.reasons for one in judged] == [("not run: the scheduler reports d: disabled",)]
        assert "rfm_" not in gridengine("qstat")
    finally:
        gridengine("qmod", "-e", f"all.q@{HERE}")
