"""A node is known good by the newest outcome of each scope, and by nothing that another process disturbed."""

import pytest

from linkmatrix.judge.verdicts import Verdict
from linkmatrix.runs import known_good
from linkmatrix.runs.known_good import DAY, Case, NodeClasses, Outcome, classify_nodes
from linkmatrix.runs.scopes import Scope
from linkmatrix.runs.suspects import Suspect

NOW = 100 * DAY
WRITE, READ = Scope("write_ce", "NV18"), Scope("read_ce", "NV18")


def stand(*found, suspects=(), disturbed=None, days=30):
    """The standing of nodes after outcomes: (node, scope, days ago, verdict)."""
    each = [Outcome(node, scope, NOW - ago * DAY, verdict) for node, scope, ago, verdict in found]
    return classify_nodes(each, suspects, disturbed or {}, NOW, days)


def test_another_question_does_not_make_a_node_good_after_a_failure():
    reads = [("n1", READ, ago, Verdict.PASS) for ago in (2, 1, 0)]
    failed = stand(("n1", WRITE, 3, Verdict.FAIL), *reads)
    assert failed.good == [] and failed.unknown == {"n1": "was FAIL 3 days ago (write_ce NV18)"}
    other_class = ("n1", Scope("write_ce", "SYS"), 0, Verdict.PASS)
    assert stand(("n1", WRITE, 3, Verdict.FAIL), *reads, other_class).good == []
    assert stand(("n1", WRITE, 3, Verdict.FAIL), *reads, ("n1.site", WRITE, 0, Verdict.WARN)).good == ["n1"]


@pytest.mark.parametrize("verdict", [Verdict.NOT_JUDGED, Verdict.DISTURBED])
def test_what_was_not_judged_or_disturbed_keeps_the_earlier_outcome(verdict):
    assert stand(("n1", READ, 0, verdict)).good == []
    assert stand(("n1", WRITE, 3, Verdict.PASS), ("n1", WRITE, 0, verdict)).good == ["n1"], "it says nothing new"
    assert stand(("n1", WRITE, 3, Verdict.FAIL), ("n1", WRITE, 0, verdict)).good == []
    assert stand(("n1", WRITE, 40, Verdict.PASS), ("n1", WRITE, 0, verdict)).good == [], "the outcome is old"


def test_an_incomplete_run_keeps_a_node_off_for_days_and_a_failure_until_its_scope_passes():
    later = ("n1", READ, 0, Verdict.PASS)
    assert stand(("n1", WRITE, 1, Verdict.INCOMPLETE), later).good == []
    assert stand(("n1", WRITE, 40, Verdict.INCOMPLETE), later).good == ["n1"]
    assert stand(("n1", WRITE, 40, Verdict.FAIL), later).good == []


def test_nothing_flagged_and_nothing_that_cannot_be_judged_is_good():
    passed = [("n1", WRITE, 0, Verdict.PASS), ("n2", WRITE, 0, Verdict.PASS)]
    flagged = [Suspect("n1.site", "gpu3", reason="slow"), Suspect("n9", "gpu0", reason="dead")]
    why = "cannot be judged while hog runs"
    found = stand(*passed, suspects=flagged, disturbed={"n2": why})
    assert found == NodeClasses([], {"n1": "slow", "n9": "dead"}, {"n2": why})


def test_an_outcome_of_a_clock_that_was_ahead_keeps_no_node_good():
    """Whatever failed after it seemed to be before it, for as long as the clock had been ahead."""
    ahead = ("n1", WRITE, -4900, Verdict.PASS)
    assert stand(ahead, ("n1", WRITE, 0, Verdict.FAIL)).good == []
    alone = stand(ahead)
    assert alone.good == [] and "has a start time in the future" in alone.unknown["n1"]
    assert stand(ahead, ("n1.site", WRITE, 0, Verdict.PASS)).good == ["n1"]


def test_what_no_test_case_shows_is_a_question_of_the_test():
    """A program that did not end well is no matter of a test case, and the test itself is a scope."""
    passed = {"write_ce": Case(Verdict.PASS, True, False, (("NV18", ""),))}

    def good(*verdicts, cases=passed):
        found = [
            one
            for number, verdict in enumerate(verdicts)
            for one in known_good.test_outcomes("n1", "sweep", NOW - DAY + number, verdict, cases)
        ]
        return classify_nodes(found, [], {}, NOW, 30).good == ["n1"]

    assert good(Verdict.PASS) and not good(Verdict.FAIL) and not good(Verdict.PASS, Verdict.INCOMPLETE)
    assert good(Verdict.FAIL, Verdict.PASS)
    assert not good(Verdict.PASS, cases={}), "a test without a test case measured nothing"


def test_a_test_case_that_passed_beside_another_process_makes_no_node_good():
    case = Case(Verdict.PASS, True, True, (("NV18", ""),))
    found = list(known_good.test_outcomes("n1", "sweep", NOW, Verdict.PASS, {"write_ce": case}))
    assert classify_nodes(found, [], {}, NOW, 30).good == []
    failed = list(
        known_good.test_outcomes("n1", "sweep", NOW, Verdict.FAIL, {"write_ce": case._replace(verdict=Verdict.FAIL)})
    )
    assert classify_nodes(failed, [], {}, NOW, 30).unknown == {"n1": "was FAIL 0 days ago (write_ce NV18)"}


def test_a_disturbed_pass_does_not_replace_what_the_test_failed_before():
    """Day 1 all PASS; day 2 a GPU is missing (FAIL of the test, its cells PASS); day 3 PASS beside a hog."""
    passed = {"write_ce": Case(Verdict.PASS, True, False, (("NV18", ""),))}
    beside = {"write_ce": Case(Verdict.PASS, True, True, (("NV18", ""),))}
    found = [
        *known_good.test_outcomes("n1", "sweep", NOW - 3 * DAY, Verdict.PASS, passed),
        *known_good.test_outcomes("n1", "sweep", NOW - 2 * DAY, Verdict.FAIL, passed),
    ]
    assert classify_nodes(found, [], {}, NOW, 30).good == []
    found += known_good.test_outcomes("n1", "sweep", NOW - DAY, Verdict.PASS, beside)
    assert classify_nodes(found, [], {}, NOW, 30).good == []


@pytest.mark.parametrize("other", [{"0": "7", "driver": "590"}, {"0": "8", "driver": "580"}])
def test_a_pass_of_another_component_or_driver_does_not_count(other):
    def outcome(components, ago, verdict, scope=WRITE):
        return Outcome("n1", scope, NOW - ago * DAY, verdict, True, frozenset(components.items()))

    here = {"0": "7", "driver": "580"}
    old, new = outcome(other, 3, Verdict.PASS), outcome(here, 1, Verdict.DISTURBED)
    assert classify_nodes([old], [], {}, NOW, 30).good == ["n1"]
    why = {"n1": "was not judged with its present components and driver"}
    assert classify_nodes([old, new], [], {}, NOW, 30).unknown == why
    assert classify_nodes([old, new, outcome({"1": "9"}, 0, Verdict.PASS, READ)], [], {}, NOW, 30).good == ["n1"]
    failed = outcome(other, 3, Verdict.FAIL)
    assert classify_nodes([failed, outcome(here, 1, Verdict.PASS, READ)], [], {}, NOW, 30).good == []
    assert classify_nodes([failed, outcome(here, 1, Verdict.PASS)], [], {}, NOW, 30).good == ["n1"]
    back = [outcome(here, 5, Verdict.FAIL), old, outcome(here, 1, Verdict.PASS, READ)]
    assert classify_nodes(back, [], {}, NOW, 30).good == [], "the component that failed is back"
