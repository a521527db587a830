"""What is measured next fills the budget and no more, and leaves nobody out for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patrolled import ALONE as SWEPT
from patrolled import patrolled

from linkmatrix.runs.patrol import Duration, Node, plan, typical_duration

DAY = 86400.0
ALONE, TOGETHER = Duration(100.0, 9), Duration(50.0, 9)


def names(jobs, kind="node"):
    return [job.nodes[0] for job in jobs if job.kind == kind]


def test_those_never_measured_come_first_then_the_oldest():
    nodes = [Node("a", 3 * DAY), Node("b", None), Node("c", 1 * DAY), Node("d", 2 * DAY)]
    assert names(plan(nodes, {}, ALONE, TOGETHER, 300.0)) == ["b", "c", "d"]


def test_suspect_and_changed_ones_come_before_and_have_half_of_the_budget_at_most():
    nodes = [Node(f"s{at}", 9 * DAY, flagged="slow") for at in range(10)]
    nodes += [Node("x", 9 * DAY, changed="driver")] + [Node(f"o{at}", at * DAY) for at in range(6)]
    found = plan(nodes, {}, ALONE, TOGETHER, 800.0)
    assert names(found) == ["s0", "s1", "s2", "s3", "o0", "o1", "o2", "o3"]
    assert names(plan(nodes[8:], {}, ALONE, TOGETHER, 800.0))[:3] == ["s8", "s9", "x"]


def test_what_was_cut_off_is_tried_again_before_its_turn_and_one_that_never_ends_holds_up_nobody():
    nodes = [Node("cut", 2 * DAY, 8 * DAY), Node("old", DAY, DAY), Node("new", 7 * DAY, 7 * DAY)]
    assert names(plan(nodes, {}, ALONE, TOGETHER, 200.0)) == ["cut", "old"]
    broken = [Node(f"b{at}", None, at * DAY) for at in range(20)]
    assert names(plan([*broken, *nodes], {}, ALONE, TOGETHER, 600.0))[:3] == ["cut", "b0", "b1"]
    tried = {f"n{at}": 0.0 for at in range(100)}
    for day in range(1, 41):  # half of the nodes never measure all, and are tried again and again
        every = [Node(name, then if int(name[1:]) % 2 else None, then) for name, then in tried.items()]
        for job in plan(every, {}, ALONE, None, 10 * 100.0):
            tried[job.nodes[0]] = day * DAY
    assert min(tried.values()) >= 20 * DAY


def test_what_a_queue_leaves_the_others_take():
    nodes = [Node(f"n{at}", flagged="slow") for at in range(8)]
    assert len(plan(nodes, {}, ALONE, TOGETHER, 800.0)) == 8
    pairs = {("l0", f"l{at}"): None for at in range(1, 7)}
    leaves = [Node(f"n{at}", DAY, leaf=f"l{at}", away="drained" if at == 6 else "") for at in range(7)]
    found = plan(leaves, pairs, None, TOGETHER, 1000.0)
    assert [job.nodes for job in found] == [("n0", f"n{at}") for at in range(1, 6)], "l6 has no node that takes a job"


def test_a_node_that_only_a_run_over_the_network_clears_has_one_first():
    nodes = [Node(f"n{leaf}{at}", DAY, leaf=f"l{leaf}") for leaf in range(3) for at in range(2)]
    nodes[1] = Node("n01", DAY, leaf="l0", over_network="mlx5_1 of n01 is suspect")
    pairs = {("l0", "l1"): 5 * DAY, ("l0", "l2"): 3 * DAY, ("l1", "l2"): None}
    found = plan(nodes, pairs, None, TOGETHER, 200.0)
    assert [job.nodes for job in found] == [("n01", "n20"), ("n10", "n21")]
    assert found[0].why == "mlx5_1 of n01 is suspect (l0 and l2)"
    assert not nodes[1].urgent_reason, "one of it alone clears nothing"


def test_leaf_switches_that_never_met_come_first_and_no_node_has_all_of_it():
    nodes = [Node(f"n{leaf}{at}", DAY, leaf=f"l{leaf}") for leaf in range(3) for at in range(2)]
    pairs = {("l0", "l1"): 5 * DAY, ("l0", "l2"): None, ("l1", "l2"): 2 * DAY}
    found = [job.nodes for job in plan(nodes, pairs, None, TOGETHER, 300.0)]
    assert found == [("n00", "n20"), ("n10", "n21"), ("n01", "n11")]


def test_a_node_that_takes_no_job_is_not_planned():
    nodes = [Node("a", None, away="drained: fan"), Node("b", DAY, flagged="slow", away="down"), Node("c", DAY)]
    assert names(plan(nodes, {}, ALONE, TOGETHER, 1000.0)) == ["c"]


def test_nothing_is_planned_of_which_nobody_knows_how_long_it_takes():
    assert plan([Node("a")], {}, None, None, 1000.0) == []
    assert typical_duration([]) is None
    assert typical_duration([3.0] * 8 + [9.0, 5.0]) == Duration(9.0, 10) and typical_duration([7.0]) == Duration(7.0, 1)


@given(
    st.lists(st.tuples(st.none() | st.floats(0, 1e9), st.booleans(), st.booleans(), st.booleans()), max_size=30),
    st.floats(0, 5000),
    st.floats(0.5, 900),
    st.floats(0.5, 900),
)
def test_no_plan_costs_more_than_its_budget_or_leaves_what_it_could_hold(said, budget, alone, together):
    nodes = [
        Node(f"n{at}", tested, None, "slow" * suspect, "driver" * changed, "down" * away, f"l{at % 3}")
        for at, (tested, suspect, changed, away) in enumerate(said)
    ]
    pairs = {("l0", "l1"): None, ("l0", "l2"): 5.0, ("l1", "l2"): None}
    found = plan(nodes, pairs, Duration(alone, 5), Duration(together, 5), budget)
    left = budget - sum(job.seconds * len(job.nodes) for job in found)
    assert left >= -1e-6 * budget
    assert len({(job.kind, job.nodes) for job in found}) == len(found)
    able = {node.name for node in nodes if not node.away}
    assert {name for job in found for name in job.nodes} <= able
    assert left < alone * (1 + 1e-9) or set(names(found)) == able


@pytest.mark.parametrize("suspects", [0, 200])
def test_the_greatest_age_is_bounded_however_many_are_suspect(suspects):
    tested = {f"n{at}": 0.0 for at in range(200)}
    reasons = {f"n{at}": "slow" for at in range(suspects)}
    oldest = []
    for day in range(1, 41):
        nodes = [Node(name, then, then, reasons.get(name, "")) for name, then in tested.items()]
        for job in plan(nodes, {}, ALONE, None, 20 * 100.0):
            tested[job.nodes[0]] = day * DAY
        oldest.append(day - min(tested.values()) / DAY)
    assert max(oldest[20:]) <= 20


@pytest.mark.parametrize("preempted", [0.0, 0.5])
def test_a_patrol_of_twenty_nodes_covers_all_keeps_its_budget_and_finds_what_comes_and_goes(preempted):
    budget = 9 * SWEPT.seconds
    said = patrolled(nodes=20, days=60, budget=budget, faults=2, presence=0.2, preempted=preempted, seed=3)
    assert max(said.planned) <= budget and sum(said.used) > 0.4 * sum(said.planned)
    turn = 4 * 20 * SWEPT.seconds / budget
    # a job that is ended at random may be so several times on end
    assert max(said.ages[int(turn) :]) <= (turn + 1) * (3 if preempted else 1)
    assert len(said.found) == 2
    assert said == patrolled(20, 60, budget, 2, 0.2, preempted, 3)


@pytest.mark.parametrize("days", [1, 2, 3])
def test_a_patrol_of_a_few_days_has_its_faults_too(days):
    said = patrolled(nodes=20, days=days, budget=20 * SWEPT.seconds, faults=2, presence=1.0, preempted=0.0, seed=1)
    assert said.faults == 2 and said.found == [0, 0] and len(said.ages) == days


def test_more_nodes_than_a_budget_holds_grow_old_and_it_is_seen():
    said = patrolled(nodes=400, days=20, budget=10 * 120.0, faults=0, presence=0.0, preempted=0.0, seed=1)
    assert said.ages[-1] == 20.0 and max(said.planned) <= 1200.0


@pytest.mark.parametrize("leaf", ["", "l0"])
def test_a_node_that_only_a_run_over_the_network_clears_has_one_where_no_leaf_switches_are_known(leaf):
    nodes = [Node(f"n{at}", DAY, leaf=leaf) for at in range(3)]
    nodes[1] = Node("n1", DAY, leaf=leaf, over_network="mlx5_1 of n1 is suspect")
    nodes[0] = Node("n0", DAY, leaf=leaf, over_network="mlx5_0 of n0 is suspect")
    (job,) = plan(nodes, {}, None, TOGETHER, 300.0)
    assert (job.nodes, job.why) == (("n0", "n1"), "mlx5_0 of n0 is suspect"), "one run is of both"
    assert plan(nodes[1:2], {}, None, TOGETHER, 300.0) == []
