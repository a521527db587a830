"""Groups of nodes that are slow with each other: a shared bottleneck without names, and with groups an uplink."""

import copy
import json

import numpy as np
import pytest

from linkmatrix import cli
from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis, shared_bottleneck
from linkmatrix.locate.layout import Names
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from tests.tools.fabric import Fabric, Machine, record_of
from tests.tools.shared_uplinks import fair

LEAF = 4
SHARED = "cells between these groups of nodes are"


def record_with(nodes, per_node, *slow, leaf=LEAF, known=False, missing=0.0, depth=0.3):
    """The record of a run; known: whether it says which nodes share a leaf switch."""
    machine = Machine(nodes, per_node, leaf=leaf)
    run = Fabric(machine, np.random.default_rng(3), disturbed=0, missing=missing).run(
        [((part,), depth) for part in slow]
    )
    content = record_of(machine, run.values)
    for device in content["devices"] if not known else []:
        device["place"].pop("leaf", None)
    reading.check(copy.deepcopy(content))
    return content


def told(content):
    (matrix,) = evaluate(content, References({}), None).matrices
    return diagnosis.diagnose(content, content["results"][0], matrix)


@pytest.mark.parametrize(("nodes", "per_node"), [(8, 1), (8, 2), (16, 1), (16, 2)])
@pytest.mark.parametrize("missing", [0.0, 0.02])
def test_an_uplink_of_a_leaf_that_nobody_knows_makes_no_node_and_no_path_suspect(nodes, per_node, missing):
    found = told(record_with(nodes, per_node, ("uplink", 1), missing=missing))
    assert not [one for one in found.findings if not one.missing]
    (said,) = [one for one in found.sentences if one.startswith(SHARED)]
    assert "[n004, n005, n006, n007]" in said and "a shared bottleneck; which nodes share" in said
    assert said.endswith("name the leaf switches with --groups FILE")
    assert not any("that no finding explains" in one for one in found.sentences)


@pytest.mark.parametrize("nodes", [12, 16])
@pytest.mark.parametrize(
    ("speed", "end"), [(1.0, "congestion, which is no fault"), (0.95, "the load is not the cause")]
)
def test_an_uplink_whose_cells_are_off_by_just_their_limit_is_no_node_at_fault(nodes, speed, end):
    """Without references that is 5 %: half of its cells are within it, and its nodes were named one by one."""
    content = record_with(nodes, 1, ("uplink", 1), depth=0.05)
    (result,) = content["results"]
    for row, column in [(r, c) for r in range(2) for c in range(4, 8)]:
        before = result["values"][row][column]
        cell = {"row": result["rows"][row], "column": result["columns"][column], "before": before}
        result["remeasured"].append({**cell, "after": before / 0.95 * speed})
    found = told(content)
    assert not [one for one in found.findings if not one.missing]
    (said,) = [one for one in found.sentences if one.startswith(SHARED)]
    assert "[n004, n005, n006, n007]" in said and end in said


@pytest.mark.parametrize("share", [0.75, 0.9])
def test_an_uplink_that_is_full_in_most_rounds_only_makes_no_node_suspect_either(share):
    content = record_with(16, 1)
    (result,) = content["results"]
    shares = fair(LEAF, [LEAF, share * LEAF, LEAF, LEAF])
    for r, c in [(r, c) for r in range(16) for c in range(16) if r != c]:
        result["values"][r][c] = result["low"][r][c] = result["high"][r][c] = result["values"][r][c] * shares[r, c]
    found = told(content)
    assert not found.findings
    (said,) = [one for one in found.sentences if one.startswith(SHARED)]
    assert "[n004, n005, n006, n007]" in said


def test_with_the_leaf_in_the_record_its_uplink_is_named():
    found = told(record_with(16, 2, ("uplink", 1), known=True))
    assert [one.kind for one in found.findings] == ["uplink"]
    assert not any(one.startswith(SHARED) for one in found.sentences)


def test_a_fault_beside_a_shared_bottleneck_is_still_named():
    found = told(record_with(16, 2, ("uplink", 1), ("adapter", 9, 0)))
    assert [one.kind for one in found.findings] == ["nic"]
    assert found.sentences[0].startswith("cells over mlx5_0 of n009 are 29.9 % slow (44 of 44 cells)")
    assert len(found.confidence) == 1 and found.sentences[1].startswith(SHARED)


@pytest.mark.parametrize(
    "parts",
    [
        [("node", 1), ("node", 5)],
        [("node", 0), ("node", 1), ("node", 2)],
        [("node pair", 0, 1), ("node pair", 2, 5)],
        [("adapter", 1, 0), ("adapter", 2, 1)],
        [],
    ],
)
def test_nodes_and_paths_at_fault_are_no_shared_bottleneck(parts):
    found = told(record_with(8, 2, *parts))
    assert not any(one.startswith(SHARED) for one in found.sentences)
    assert len(found.findings) == len(parts)


def test_two_nodes_at_fault_whose_own_path_has_no_value_are_no_group_that_is_fine_inside():
    content = record_with(8, 2, ("node", 0), ("node", 1))
    (result,) = content["results"]
    ends = [(r, c) for r in range(4) for c in range(4) if r // 2 != c // 2]
    for r, c in ends:
        result["status"][r][c], result["samples"][r][c] = "timeout", 0
        for grid in ("values", "low", "high", "converged"):
            result[grid][r][c] = None
    result["complete"], content["result"] = False, "ERROR"
    found = told(content)
    assert not any(one.startswith(SHARED) for one in found.sentences)
    assert {one.kind for one in found.findings if not one.missing} == {"node"}


@pytest.mark.parametrize(
    ("speed", "end"),
    [(1.0, "alone, 8 of 8 are fine: congestion, which is no fault"), (0.7, "the load is not the cause")],
)
def test_what_is_fine_alone_is_congestion(speed, end):
    content = record_with(8, 1, ("uplink", 0))
    (result,) = content["results"]
    content["devices"][0]["place"]["leaf"] = "leaf0"  # of one node alone: no groups, and nothing to ask for
    for row, column in [(r, c) for r in range(2) for c in range(4, 8)]:
        before = result["values"][row][column]
        cell = {"row": result["rows"][row], "column": result["columns"][column], "before": before}
        result["remeasured"].append({**cell, "after": before / 0.7 * speed})
    (said,) = [one for one in told(content).sentences if one.startswith(SHARED)]
    assert end in said


ALIKE = "are equally slow with all nodes, including each other: a shared leaf switch would explain this too"


@pytest.mark.parametrize(("nodes", "per_node"), [(16, 1), (16, 2), (32, 1)])
def test_a_whole_leaf_that_nobody_knows_is_its_nodes_or_what_they_share(nodes, per_node):
    found = told(record_with(nodes, per_node, ("leaf", 1)))
    assert len(found.findings) == LEAF
    (said,) = [one for one in found.sentences if ALIKE in one]
    assert said.startswith("[n004, n005, n006, n007]")
    known = told(record_with(nodes, per_node, ("leaf", 1), known=True))
    assert [one.kind for one in known.findings] == ["leaf"]
    assert len(known.sentences) == 1, "its nodes reach others as they reach each other"


def test_two_nodes_at_fault_are_too_few_for_a_part_that_they_share():
    assert not any(ALIKE in one for one in told(record_with(16, 2, ("node", 0), ("node", 1))).sentences)


def test_nodes_that_are_not_as_slow_as_each_other_share_nothing():
    machine = Machine(16, 1, leaf=LEAF)
    slow = [((("node", node),), depth) for node, depth in ((0, 0.1), (5, 0.2), (9, 0.3))]
    content = record_of(machine, Fabric(machine, np.random.default_rng(3), disturbed=0, missing=0.0).run(slow).values)
    for device in content["devices"]:
        device["place"].pop("leaf", None)
    found = told(content)
    assert len(found.findings) == 3 and not any(ALIKE in one for one in found.sentences)


def diagnosed(tmp_path, capsys, groups, command="diagnose"):
    """(exit code, output) of a run whose file of groups has this text."""
    (tmp_path / "run.json").write_text(json.dumps(record_with(16, 2, ("uplink", 1))))
    (tmp_path / "groups").write_text(groups)
    code = cli.main([command, str(tmp_path / "run.json"), "--groups", str(tmp_path / "groups")])
    return code, "".join(capsys.readouterr())


@pytest.mark.parametrize("command", ["diagnose", "show"])
@pytest.mark.parametrize(
    "groups",
    [
        "a: n[000-003]\nb: n[004-007]\nc: n[008-011]\nd: n[012-015]\n",
        "SwitchName=a Nodes=n[000-003]\nSwitchName=b Nodes=n[004-007]\nSwitchName=c Nodes=n[008-015].site.org\n"
        "SwitchName=core Switches=a,b,c\n",
    ],
)
def test_a_file_of_groups_names_the_uplink(tmp_path, capsys, groups, command):
    code, out = diagnosed(tmp_path, capsys, groups, command)
    assert code == 0  # without references
    assert "leave leaf switch b are" in " ".join(out.split()) and SHARED not in out


@pytest.mark.parametrize("groups", ["a: m[1-9]\n", "nothing", ""])
def test_groups_that_are_not_of_this_run_are_refused(tmp_path, capsys, groups):
    code, out = diagnosed(tmp_path, capsys, groups)
    assert code == 2 and "group" in out and "Traceback" not in out


@pytest.mark.parametrize(
    ("again", "fine", "end"),
    [
        (0, 0, "which nodes share the bottleneck is uncertain"),
        (4, 2, "alone, 2 of 4 are fine: congestion, which is no fault"),
        (5, 2, "measured alone, 3 of 5 are slow too: check the path; the load is not the cause"),
    ],
    ids=["nobody knows", "half are fine", "fewer are fine"],
)
@pytest.mark.parametrize(("unit", "amount"), [("GB/s", "20.0 % slow"), ("us", "at 25.0 % more latency")])
def test_most_cells_that_were_measured_alone_say_whether_it_is_load_or_the_path(again, fine, end, unit, amount):
    names = Names((), (), [f"n{at}" for at in range(9)], (), ())
    one = shared_bottleneck.Bottleneck(((0, 1, 2), (3, 4, 5, 6, 7, 8)), np.zeros((9, 9), dtype=bool), -0.2, again, fine)
    said = shared_bottleneck.sentence(one, names, unit, True)
    assert said.startswith(
        f"cells between these groups of nodes are {amount}, cells inside each group are fine: [n0, n1,"
    )
    assert said.endswith(end) and "[n3, n4, n5, n6, 2 more]" in said
    assert shared_bottleneck.sentence(one, names, unit, False) == f"{said}; name the leaf switches with --groups FILE"


@pytest.mark.parametrize(("slow", "is_fast"), [(0, True), (2, True), (3, False)])
def test_a_quarter_of_the_pairs_inside_a_group_may_be_slow(slow, is_fast):
    is_slow = np.zeros((6, 6), dtype=bool)
    for a, b in [(0, 1), (0, 3), (2, 4)][:slow]:  # the group has 10 pairs
        is_slow[a, b] = is_slow[b, a] = True
    assert shared_bottleneck.is_fast_inside(is_slow, np.arange(5)) is is_fast
