"""Which share of a cell's path others had, and how it is said: the rules of judge/busy.py one at a time."""

import math
import warnings

import numpy as np
import pytest

from linkmatrix.judge.busy import ALL, FILLS, MOST, TURNS, Busy, at_each, explained, turns_with_nodes, with_nodes
from linkmatrix.judge.others import LEAST, LEAST_RATE
from linkmatrix.judge.uncounted import Uncounted
from linkmatrix.record.matrix import Block, from_result

ENDS = ["gpu0", "gpu1"]
HOG = {"where": "gpu1", "pid": 2983, "name": "hog", "user": "bob", "bytes": 1 << 30, "seconds": None}
UNKNOWN = {"held": {}, "active": frozenset(), "unread": {}, "memory": {}, "makers": ("rows",)}
UNKNOWN |= {"is_latency": False, "by_kernel": False, "both_ways": False}


def busy(rates=None, shares=None, uses=(), processes=(), uncounted=None, **changes):
    """What others did in 2 s; uses: (endpoint, kind, adapters or None)."""
    told = [{"label": label, "of": of, "counted": None, "own": None, "by": by} for label, of, by in uses]
    others = {"seconds": 2.0, "shared": True, "uses": told, "nodes": [], "processes": list(processes), "untold": []}
    found = {"executors": ("rows",), "by_kernel": False, "by_messages": False, "staged": False}
    where = Uncounted(**{**UNKNOWN, **(uncounted or {})})
    return Busy(others, rates or {}, shares or {}, uncounted=where, **{**found, **changes})


def shares_of(what, path="nvlink", link_class="NV18", line=100.0, ends=ENDS):
    found = what.share_of(path, link_class, ends, ends, np.full((len(ends), len(ends)), line))
    return np.broadcast_to(found, (len(ends), len(ends))).round(3).tolist()


@pytest.mark.parametrize(
    ("kind", "changes", "link_class", "expected"),
    [
        ("cpu", {}, "NV18", [[0, 0], [0.4, 0.4]]),
        ("sm", {}, "NV18", [[0, 0], [0, 0]]),
        ("sm", {"by_kernel": True}, "NV18", [[0, 0], [0.4, 0.4]]),
        ("memory", {}, "NV18", [[0, 0], [0, 0]]),
        ("memory", {}, "LOCAL", [[0, 0], [0.4, 0.4]]),
        ("memory", {"executors": ("columns",)}, "LOCAL", [[0, 0.4], [0, 0.4]]),
        ("cpu", {"executors": ("rows", "columns")}, "NV18", [[0, 0.4], [0.4, 0.4]]),
    ],
)
def test_a_share_is_that_of_what_makes_the_copy(kind, changes, link_class, expected):
    uses = [(label, kind, None) for label in ENDS]
    what = busy(shares={kind: {"gpu1": 0.4, "gpu0": 0.0}}, uses=uses, **changes)
    assert shares_of(what, link_class=link_class) == expected


def test_of_a_copy_from_host_memory_the_other_end_makes_it():
    what = busy(shares={"cpu": {"gpu1": 0.4}}, uses=[("gpu1", "cpu", None)])
    rows, columns = ["host"], ["gpu0", "gpu1"]
    assert what.executed("cpu", rows, columns).tolist() == [[0.0, 0.4]]
    assert what.executed("cpu", columns, rows).tolist() == [[0.0], [0.4]]


def test_the_bytes_of_others_are_a_share_of_what_the_path_carries_and_never_all_of_it():
    what = busy(rates={"nvlink_out": {"gpu0": 25e9}, "nvlink_in": {"gpu1": 50e9}})
    assert shares_of(what) == [[0.25, 0.5], [0, 0.5]]
    assert shares_of(what, line=10.0) == [[MOST, MOST], [0, MOST]]


@pytest.mark.parametrize("line", [0.0, math.nan])
def test_a_path_of_which_nobody_knows_what_it_carries_gives_a_share_without_a_warning(line):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shares_of(busy(rates={"nvlink_out": {"gpu0": 0.0}}), line=line) == [[0, 0], [0, 0]]
        assert busy().line(np.array([math.nan]), math.nan).tolist() != [0.0]


@pytest.mark.parametrize(("ways", "expected"), [(1, [[0, 0.5], [0, 0]]), (2, [[0, 0.5], [0.5, 0]])])
def test_only_both_ways_at_once_need_the_way_back(ways, expected):
    what = busy(rates={"nvlink_out": {"gpu0": 50e9}, "nvlink_in": {}}, ways=ways)
    found = np.array(shares_of(what))
    assert (found > 0).tolist() == (np.array([[1, 1], [ways > 1, 0]]) > 0).tolist()
    assert found[0, 1] == 0.5 and found[1, 0] == expected[1][0]


@pytest.mark.parametrize(
    ("lost", "expected"), [(0.0, 0.36), (TURNS - 0.001, 0.36), (TURNS + 1e-9, ALL), (TURNS + 0.1, ALL)]
)
def test_who_waited_for_turns_of_others_lost_more_than_can_be_bounded(lost, expected):
    shares = {"cpu": {"gpu0": 0.2, "gpu1": 0.2}}
    what = busy(shares=shares, by_messages=True, lost={"gpu0": lost, "gpu1": 0.0})
    assert shares_of(what)[0][1] == pytest.approx(expected, abs=0.0005)
    assert shares_of(busy(shares=shares, lost={"gpu0": lost}))[0][1] == 0.2, "no messages: nobody waits for two"


def test_two_who_had_little_of_their_processors_have_a_share_within_bounds():
    assert busy().of_both({"a": 0.99, "b": 0.99}, ["a"], ["b"]).tolist() == [[MOST]]
    assert busy().of_both({"a": -0.5}, ["a"], ["b"]).tolist() == [[0.0]]
    assert busy().of_both({"a": 0.5}, ["a"], ["b"]).tolist() == [[0.5]]


def test_messages_without_a_word_on_processors_have_none_of_them_taken():
    assert shares_of(busy(by_messages=True)) == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("link_class", "changes", "path"),
    [
        ("NET", {}, "net"),
        ("NV18", {}, "nvlink"),
        ("NV18", {"staged": True}, "pcie"),
        ("PIX", {}, "pcie"),
        ("ALL", {}, "pcie"),
        ("ALL", {"rates": {"nvlink_in": {"gpu0": 0.0}}}, "nvlink"),
        ("ALL", {"rates": {"pcie_in": {"gpu0": 0.0}}}, "pcie"),
        ("PIX", {"rates": {"nvlink_in": {"gpu0": 0.0}}}, "pcie"),
    ],
)
def test_the_counters_of_a_cell_are_those_of_its_path(link_class, changes, path):
    assert busy(**changes).path_of(link_class) == path


def test_a_path_is_as_fast_as_its_limit_unless_a_copy_of_ours_fills_it():
    limit = np.array([100.0, 100.0, 100.0, 100.0, 100.0, math.nan])
    own = np.array([100.0, 100 * FILLS, 100 * FILLS - 1, 10.0, 101.0, 40.0])
    assert busy().line(limit, own).tolist() == [100.0, 75.0, 100.0, 100.0, 100.0, 40.0]
    assert busy(ways=2).line(limit, own).tolist() == [50.0, 37.5, 50.0, 50.0, 50.0, 20.0]


def matrix_of(make_record, count=4, unit="GB/s"):
    record = make_record(count=count)
    for result in record["results"]:
        result["unit"] = unit
    return from_result(record["results"][0])


def test_what_left_a_device_is_a_share_of_its_rows_alone(make_record):
    matrix = matrix_of(make_record)
    what = busy(rates={"nvlink_out": {"gpu2": 99e9}}, ways=1)
    whole = what.of(matrix, Block(matrix), np.full((4, 4), 396.0))
    assert whole[2, 0] > 0.2 and not whole[[0, 1, 3]].any()


def test_of_a_latency_what_is_expected_is_no_rate(make_record):
    what = busy(rates={"nvlink_out": {"gpu2": 99e9}})
    expected = np.full((4, 4), 396.0)
    rate, time = (matrix_of(make_record, unit=unit) for unit in ("GB/s", "us"))
    limit = Block(rate).numbers("limit")[2, 0]
    assert what.of(rate, Block(rate), expected)[2, 0] == pytest.approx(99 / 396)
    assert what.of(time, Block(time), expected)[2, 0] == pytest.approx(99 / limit if np.isfinite(limit) else 0.0)


def said(what, row="gpu0", column="gpu1", link_class="NV18", line=math.nan):
    return what.sentence(row, column, link_class, line)


def test_the_end_at_which_others_moved_most_is_named():
    out, into = {"nvlink_out": {"gpu0": 1e9}}, {"nvlink_in": {"gpu1": 2e9}}
    assert said(busy(rates=out)) == "busy: 2.00 GB left gpu0 that linkmatrix did not send"
    both = busy(rates={**out, **into}, processes=[HOG])
    assert said(both) == "busy: 4.00 GB came into gpu1 that linkmatrix did not send (pid 2983 hog of bob)"
    back = {"nvlink_in": {"gpu0": 3e9}, "nvlink_out": {"gpu1": 5e9}}
    assert "came into gpu0" not in said(busy(rates={**out, **back}))
    assert said(busy(rates={**out, **back}, ways=2)).startswith("busy: 10.0 GB left gpu1")
    del back["nvlink_out"]
    assert said(busy(rates={**out, **back}, ways=2)).startswith("busy: 6.00 GB came into gpu0")


def between(rates, shares=None, **changes):
    node = {"n1:cpu0": "n1", "n2:cpu0": "n2"}
    uses = [("n1", "net_out", "eth0"), ("n2", "net_in", "ib3")]
    return busy(rates=rates, shares=shares, uses=uses, node=node, by_messages=True, **changes)


def test_between_nodes_the_adapter_is_named_and_each_byte_counts():
    words = ("n1:cpu0", "n2:cpu0", "NET")
    assert "left n1 by eth0 that" in said(between({"net_out": {"n1": 1e9}}), *words)
    assert "came into n2 by ib3 that" in said(between({"net_in": {"n2": 1e9}}), *words)
    assert "left n1 by eth0 that" in said(between({"net_out": {"n1": 0.5}}), *words), "less than LEAST_RATE"
    assert "left n2 that" in said(between({"net_out": {"n2": 1e9}}), *words), "no adapter is known of it"


def test_of_a_processor_and_an_adapter_what_explains_more_is_said_first():
    words = ("n1:cpu0", "n2:cpu0", "NET", 10.0)
    had = {"cpu": {"n1:cpu0": 0.3}}
    processor, adapter = "others had 30 % of the time that n1:cpu0 wanted its cores", "left n1 by eth0"
    much = said(between({"net_out": {"n1": 5e9}}, had), *words)
    assert much.index(adapter) < much.index(processor)
    little = said(between({"net_out": {"n1": 1e9}}, had), *words)
    assert little.index(processor) < little.index(adapter)
    least = said(between({"net_out": {"n1": LEAST * 10e9}}, had), *words)
    assert adapter in least
    assert adapter not in said(between({"net_out": {"n1": LEAST * 9e9}}, had), *words)
    assert adapter not in said(between({"net_out": {"n1": 0.0}}, had), *words)
    nobody_knows = said(between({"net_out": {"n1": 1.0}}, had), *words[:3])
    assert nobody_knows.index(adapter) < nobody_knows.index(processor)


@pytest.mark.parametrize(("rate", "bytes_said"), [(LEAST_RATE, False), (LEAST_RATE * 1.01, True)])
def test_inside_a_node_few_bytes_come_from_looking(rate, bytes_said):
    what = busy(rates={"nvlink_out": {"gpu0": rate}}, shares={"cpu": {"gpu0": 0.5}}, uses=[("gpu0", "cpu", None)])
    assert ("left gpu0" in said(what)) is bytes_said
    assert ("others had 50 %" in said(what)) is not bytes_said


@pytest.mark.parametrize(("share", "told"), [(LEAST, True), (LEAST * 0.99, False)])
def test_a_share_is_said_from_the_least_on(share, told):
    assert ("others had" in said(busy(shares={"cpu": {"gpu0": share}}))) is told


@pytest.mark.parametrize(
    ("kind", "changes", "link_class", "labels"),
    [
        ("cpu", {}, "NV18", {"gpu0", "gpu1"}),
        ("cpu", {"by_kernel": True}, "NV18", {"gpu0"}),
        ("sm", {}, "NV18", set()),
        ("sm", {"by_kernel": True}, "NV18", {"gpu0"}),
        ("sm", {}, "LOCAL", {"gpu0", "gpu1"}),
        ("sm", {"uncounted": {"is_latency": True}}, "NV18", {"gpu0", "gpu1"}),
        ("memory", {"executors": ("columns",), "by_kernel": True}, "NV18", {"gpu1"}),
        ("cpu", {"executors": ("columns",)}, "NV18", {"gpu0", "gpu1"}),
    ],
)
def test_what_a_cell_needs_beside_its_path_is_looked_at_and_nothing_else(kind, changes, link_class, labels):
    what = busy(shares={kind: {"gpu0": 0.2, "gpu1": 0.3}}, **changes)
    assert {label for _, label, _ in what.used("gpu0", "gpu1", link_class)} == labels


def test_a_memory_that_others_use_is_that_of_both_ends_of_a_copy():
    what = busy(uncounted={"memory": {"gpu1": 0.5}})
    assert list(what.used("gpu0", "gpu1", "NV18")) == [(0.5, "gpu1", "memory")]
    assert said(what).endswith("for 50 % of the time, by another look of the run")
    assert list(busy(by_kernel=True, uncounted={"memory": {"gpu1": 0.5}}).used("gpu0", "gpu1", "NV18")) == []


@pytest.mark.parametrize(("seen", "told"), [(0.5, False), (0.5 - LEAST / 2, False), (0.2, True), (None, True)])
def test_a_look_is_another_one_where_this_one_saw_less(seen, told):
    shares = {} if seen is None else {"memory": {"gpu1": seen}}
    assert bool(busy(shares=shares).when(0.5, "gpu1", "memory")) is told


def test_where_nothing_is_counted_it_is_said_of_whom():
    held = {"held": {"gpu1": 1}, "unread": {"nvlink_in": frozenset({"gpu1"})}}
    words = "busy: others were on gpu1 (pid 2983 hog of bob), "
    assert said(busy(uncounted=held, processes=[HOG])) == f"{words}and what they took of this path is not counted"
    assert said(busy(uncounted={**held, "unread": {}}, processes=[HOG])) == f"{words}beside whom it may lose as little"
    local = {**held, "active": frozenset({"gpu1"}), "unread": {}}
    assert busy(uncounted=local).is_uncounted("gpu0", "gpu1", "LOCAL")
    assert not busy(uncounted=local).is_uncounted("gpu0", "gpu1", "NV18")


def test_what_is_not_known_of_a_label_is_what_is_told():
    assert at_each(["a", "b"], {"a": 0.5}).tolist() == [0.5, 0.0]
    assert np.isnan(at_each(["b"], {}, np.nan)).all()


def test_a_node_has_waited_as_its_ranks_together():
    turns = {"n1:cpu0": (1.0, 4.0), "n1:cpu1": (2.0, 5.0), "gpu0": (3.0, 6.0)}
    node = {"n1:cpu0": "n1", "n1:cpu1": "n1", "gpu0": "n1"}
    found = turns_with_nodes(turns, node)
    assert found["n1"] == (3.0, 9.0, 2) and found["gpu0"] == (3.0, 6.0, 1) and found["n1:cpu1"] == (2.0, 5.0, 1)
    assert with_nodes(frozenset({"n1:cpu0", "gpu0"}), node) == {"n1:cpu0", "gpu0", "n1"}
    assert with_nodes(frozenset({"gpu0"}), node) == {"gpu0"}


@pytest.mark.parametrize(
    ("worse", "share", "unit", "expected"),
    [
        (0.3, 0.3, "GB/s", True),
        (0.3, LEAST, "GB/s", False),
        (0.5, 0.3, "GB/s", False),
        (0.0, 0.3, "GB/s", False),
        (-0.1, 0.3, "GB/s", False),
        (1.5, 0.6, "us", True),
        (2.5, 0.6, "us", False),
        (1.0, 1.0, "GB/s", True),
        (math.nan, 0.3, "GB/s", False),
    ],
)
def test_a_cell_is_explained_that_is_no_slower_than_its_share_makes(worse, share, unit, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bool(explained(np.array([worse]), np.array([share]), unit)[0]) is expected
