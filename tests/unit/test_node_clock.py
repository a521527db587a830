"""A node whose clock is behind: ReFrame's time counts, so that no earlier pass hides a later failure."""

from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import Reason, Verdict

PROMISE = Reason(Verdict.FAIL, "the partition specifies 8 GPUs, n1 has gpu0, gpu1, gpu2, gpu3")


def behind(content):
    """The clock of the node was reset: no battery."""
    content["started"] = "2000-01-01T00:00:00Z"


def test_a_later_fail_counts(good):
    good.add(5)
    good.add(1, check=CheckFacts(reasons=(PROMISE,)), result="fail")
    assert good() == []


def test_a_fail_on_a_node_whose_clock_is_behind_is_not_hidden_by_an_earlier_pass(good):
    good.add(5)
    good.add(1, change=behind, check=CheckFacts(reasons=(PROMISE,)), result="fail")
    assert good() == [], good.output


def test_an_incomplete_run_on_a_node_whose_clock_is_behind_counts(good):
    good.add(5)
    good.add(1, {(0, 1): "timeout"}, behind, result="fail")
    assert good() == [], good.output
