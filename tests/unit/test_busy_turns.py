"""Whose turn it was on a rank's processors: that of listed processes, of the host, or of nobody by its own quota."""

import pytest

from linkmatrix.judge.turns import may_meet, of_ranks, quota_of, ranges_of, turns_of_others

HELD = "the job's own CPU quota (cpu.max 50000 100000) held it back for 1.0 s: give it more cores"


def waited(label, late, wanted=4.0, **more):
    """A rank or an endpoint that wanted a processor for so long, and waited so much of it."""
    return {"label": label, "of": "cpu", "counted": wanted, "own": wanted - late} | more


def looked(uses, processes=(), nodes=()):
    return {"seconds": 4.0, "shared": True, "uses": list(uses), "processes": list(processes), "nodes": list(nodes)}


def node(name, throttled=None, stolen=None):
    return {"node": name, "stolen": stolen, "throttled": throttled, "quota": "cpu.max 50000 100000"}


def running(where, seconds, **more):
    return {"where": where, "pid": 7, "name": "hog", "user": "bob", "bytes": None, "seconds": seconds} | more


@pytest.mark.parametrize(
    ("some", "others", "expected"),
    [
        ("0-3,8", "8-9", True),
        ("0-3,8", "4-7,9", False),
        ("2", "2", True),
        ("4-7", "0-3", False),
        ("0-3", "3-5", True),
        ("0-3", None, True),
        (None, "0-3", True),
        ("0-3", "whatever", True),
        ("0-3", "8,whatever", True),
    ],
)
def test_lists_of_cores_meet_where_one_core_is_in_both_or_one_list_is_not_known(some, others, expected):
    assert may_meet(some, others) is expected


def test_a_list_of_cores_is_ranges_and_what_is_none_has_none():
    assert ranges_of("0-3,8") == ((0, 3), (8, 8)) and ranges_of("0-3,all") == ()


def test_only_processes_that_may_run_on_a_rank_s_cores_take_turns_with_it():
    there = [
        running("n0", 2.0, cores="0-1"),
        running("n0", 1.0, cores="4-5"),
        running("n0", None, cores="0"),
        running("n0", 4.0, cores="0", on="device"),
        running("n1", 8.0, cores="0"),
    ]
    of_nobody = {"label": "n0:gpu0", "of": "memory", "counted": 1.0, "own": 0.0}
    seen = looked([waited("n0:rank0", 1.0, cores="0-3"), waited("n0", 1.0), of_nobody], there)
    assert [(use["label"], seconds) for use, seconds in of_ranks(seen)] == [("n0:rank0", 2.0)]


def test_a_rank_waits_for_others_at_most_as_long_as_they_or_the_host_had_its_cores():
    hog = [running("n0", 0.5, cores="0")]
    ranks = [
        waited("n0:rank0", 1.0, cores="0"),
        waited("n0:rank1", 1.0, cores="1"),
        waited("n0:rank2", 1.0, cores="0", others=0.75),
        waited("n0:rank3", 1.0, cores="0", others=float("nan")),
        waited("n0:rank4", -1.0, cores="0"),
        waited("numa0", 1.0),
        {"label": "n0:rank5", "of": "cpu", "counted": None, "own": 1.0},
        {"label": "n0:rank6", "of": "cpu", "counted": 1.0, "own": None},
    ]
    had = {f"n0:rank{at}": (late, 4.0) for at, late in enumerate((0.5, 0.0, 0.75, 0.5, 0.0))}
    assert turns_of_others(looked(ranks, hog)) == had | {"numa0": (1.0, 4.0)}
    stolen = turns_of_others(looked(ranks, hog, [node("n0", stolen=0.25)]))
    assert [stolen[f"n0:rank{at}"][0] for at in range(5)] == [0.75, 0.25, 1.0, 0.75, 0.0]


@pytest.mark.parametrize(
    ("label", "throttled", "is_said"),
    [
        ("n0:rank0", {"n0": 1.0}, True),
        ("n0:rank0", {"n0": 0.9}, False),
        ("n0:rank0", {"n1": 1.0}, False),
        ("n0:rank0", {"n0": None, "n1": 1.0}, False),
        ("n1:rank1", {"n0": 1.0, "n1": 1.0}, True),
        ("n1", {"n1": 1.0}, True),
        ("n1", {"n0": 1.0}, False),
    ],
    ids=["half", "less", "another node", "none of its node", "the second node", "a node", "another"],
)
def test_a_quota_is_said_of_its_own_node_where_it_is_half_of_what_its_ranks_waited(label, throttled, is_said):
    unknown = {"of": "cpu", "counted": None, "own": 1.0}
    uses = [
        waited("n0:rank0", 1.5),
        waited("n0:rank2", 0.5),
        waited("n0:rank3", -2.0),
        waited("n1:rank1", 2.0),
        {"label": "n0:gpu0", "of": "memory", "counted": 9.0, "own": 0.0},
        unknown | {"label": "n0:rank4"},
    ]
    nodes = [node(name, throttled.get(name)) for name in ("n0", "n1")]
    said = quota_of(looked(uses, nodes=nodes), label)
    assert said == (HELD if is_said else "")


@pytest.mark.parametrize(("throttled", "said"), [(1.0, HELD), (0.9, ""), (None, "")])
def test_of_a_run_without_ranks_all_its_threads_waits_count(throttled, said):
    uses = [waited("numa0", 1.5), waited("numa1", 0.5)]
    assert quota_of(looked(uses, nodes=[node("n0", throttled)]), "numa0") == said
