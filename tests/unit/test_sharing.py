"""Leaf switches whose nodes share their uplinks: oversubscription is said with its ratio, and blames nobody."""

import numpy as np
import pytest
from fabric import TESTCASE, Machine, record_of
from shared_uplinks import matrix

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis, shared_bottleneck
from linkmatrix.locate.deviations import Deviations
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import Layout
from linkmatrix.references.tables import Reference, References

LINE, LEAF = 24.0, 4
TABLE = References({("cluster", TESTCASE): {"cell[NET]": Reference(LINE, -0.05, 0.1, "GB/s")}})


def told(uplinks, seed=1, held=True, alone=None, at_once=8, nodes=LEAF, spoil=None, table=TABLE, again=(), **network):
    """What is diagnosed of a run; alone: what cells between switches reach of a line when they are measured again.

    again: (row, column, what it reaches of a line) of such cells
    """
    values = matrix(nodes, uplinks, LINE, seed, **network)
    if spoil:
        spoil(values)
    content = record_of(Machine(nodes * len(uplinks), 1, leaf=nodes), values)
    (result,) = content["results"]
    result["schedule"] = {**result["schedule"], "pairs_at_once": at_once}
    for r, c in [(r, c) for r in range(LEAF) for c in range(LEAF, 2 * LEAF)] if alone else []:
        again = (*again, (r, c, alone))
    for r, c, share in again:
        pair = {"row": result["rows"][r], "column": result["columns"][c]}
        result["remeasured"].append({**pair, "before": result["values"][r][c], "after": share * LINE})
    (judged,) = evaluate(content, table if held else References({}), "cluster" if held else None).matrices
    return diagnosis.diagnose(content, result, judged)


def of_network(found):
    return [one for one in found.sentences if "oversubscribed" in one]


def of_uplinks(found):
    return [one for one in found.sentences if one.startswith("uplink of")]


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(("lines", "leaves", "ratio"), [(2, 4, "2.00"), (1, 3, "4.00"), (2, 8, "2.00"), (3, 4, "1.33")])
def test_uplinks_that_all_are_fewer_than_nodes_are_no_fault_and_have_a_ratio(lines, leaves, ratio, held):
    for seed in range(3):
        found = told([lines] * leaves, seed, held)
        (said,) = of_network(found)
        assert abs(float(said.partition("leaf switches are ")[2].partition(":1 ")[0]) - float(ratio)) < 0.02
        assert not found.findings and not of_uplinks(found), found.sentences


@pytest.mark.parametrize(
    ("uplinks", "ratio"), [([4, 4, 2, 4], 2.0), ([4] * 7 + [1], 4.0), ([2, 2, 1, 2], 4.0), ([2] * 7 + [1], 4.0)]
)
def test_an_uplink_that_has_less_than_the_others_is_named_with_its_ratio(uplinks, ratio):
    for seed in range(3):
        found = told(uplinks, seed)
        bad = uplinks.index(min(uplinks))
        assert [(one.kind, one.subject) for one in found.findings] == [("uplink", bad)]
        (said,) = of_uplinks(found)
        assert said.startswith(f"uplink of leaf{bad}: while all nodes send, its nodes reach other leaf")
        assert float(said.partition(" 1/")[2].split()[0]) == pytest.approx(ratio, rel=0.02)
        assert len(of_network(found)) == (max(uplinks) < LEAF)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(("nodes", "share", "usual"), [(8, 0.95, 0.5), (16, 0.95, 1.0)])
def test_an_uplink_that_lacks_little_is_full_in_some_rounds_alone_and_is_named_nevertheless(nodes, share, usual, held):
    uplinks = [usual * nodes] * 4
    uplinks[2] *= share
    found = told(uplinks, held=held, nodes=nodes)
    (one,) = found.findings
    assert (one.kind, one.subject) == ("uplink", 2) and one.shift == pytest.approx(share - 1, abs=0.01)
    assert not any("that no finding explains" in said for said in found.sentences)


@pytest.mark.parametrize("held", [True, False])
def test_a_path_that_is_slow_by_more_than_machines_differ_is_named_with_references_or_without(held):
    def spoil(values):
        values[8:12, [*range(8), *range(12, 16)]] *= 0.973
        values[[*range(8), *range(12, 16)], 8:12] *= 0.973

    for seed in range(3):
        found = told([4, 4, 4, 4], seed, held=held, spoil=spoil)
        assert [(one.kind, one.subject) for one in found.findings] == [("uplink", 2)], found.sentences


def test_a_node_alone_at_its_leaf_switch_is_not_the_uplink():
    def spoil(values):
        values[15, :15] *= 0.7
        values[:15, 15] *= 0.7

    content = record_of(Machine(16, 1, leaf=5), values_of_leaves(spoil))
    (result,) = content["results"]
    result["schedule"] = {**result["schedule"], "pairs_at_once": 8}
    (judged,) = evaluate(content, TABLE, "cluster").matrices
    found = diagnosis.diagnose(content, result, judged)
    assert [(one.kind, one.subject) for one in found.findings] == [("device", 15)]
    assert any(kind == "node" for kind, _ in found.findings[0].equivalent)


def values_of_leaves(spoil):
    values = matrix(4, [4, 4, 4, 4], LINE, 1)
    spoil(values)
    return values


def test_a_link_at_fault_beside_such_an_uplink_is_named_too():
    def spoil(values):
        values[3, 40] = values[40, 3] = 0.7 * LINE

    found = told([16, 16, 15.2, 16], nodes=16, spoil=spoil)
    assert [(one.kind, one.subject) for one in found.findings] == [("uplink", 2), ("link", (3, 40))]


def of_a_healthy_run(nodes, uplinks):
    """References of each cell, by what it reaches where all send at once."""
    labels = record_of(Machine(nodes * len(uplinks), 1, leaf=nodes), values := matrix(nodes, uplinks, LINE, 9))
    names = labels["results"][0]["rows"]
    cells = {
        f"{row}->{column}": Reference(float(values[r, c]), -0.05, 0.1, "GB/s")
        for r, row in enumerate(names)
        for c, column in enumerate(names)
        if r != c
    }
    return References({("cluster", TESTCASE): cells})


@pytest.mark.parametrize(("nodes", "share"), [(8, 0.75), (16, 0.75), (16, 0.9)])
def test_what_a_narrow_uplink_takes_of_a_cell_that_had_more_than_others_is_no_fault_beside_it(nodes, share):
    # at leaf0, whose flows to the full leaf3 leave a whole line to one cell of a round, and of fewer lines no more
    half = nodes / 2
    found = told([half * share, half, half, half], nodes=nodes, table=of_a_healthy_run(nodes, [half] * 4))
    assert [(one.kind, one.subject) for one in found.findings] == [("uplink", 0)], found.sentences
    assert not any("that no finding explains" in said for said in found.sentences)


def test_a_link_that_had_more_than_others_behind_such_an_uplink_and_is_as_slow_alone_is_named_too():
    ways = [(0, 17, 0.5), (17, 0, 0.5), *((r, c, 1.0) for r in range(8) for c in range(8, 16))]
    found = told([3, 4, 4, 4], nodes=8, table=of_a_healthy_run(8, [4] * 4), again=ways)
    assert [(one.kind, one.subject) for one in found.findings] == [("uplink", 0), ("link", (0, 17))]


def test_without_references_the_ratio_of_such_an_uplink_is_said_too():
    for uplinks, ratio in (([4, 4, 2, 4], 2.0), ([2, 2, 1, 2], 4.0)):
        (said,) = of_uplinks(told(uplinks, held=False))
        assert said.startswith("uplink of leaf2")
        assert float(said.partition(" 1/")[2].split()[0]) == pytest.approx(ratio, rel=0.02)


def test_uplinks_that_carry_all_are_not_spoken_of():
    found = told([4, 4, 4, 4])
    assert not found.sentences and not found.findings


def test_a_slow_node_behind_uplinks_that_carry_all_is_the_node():
    found = told([4, 4, 4, 4], slow={5: 0.7})
    assert [(one.kind, one.subject) for one in found.findings] in ([("node", 5)], [("device", 5)])
    assert not of_network(found) and not of_uplinks(found)


def test_cells_that_are_as_slow_alone_do_not_share_what_makes_them_slow():
    assert of_network(told([2, 2, 2, 2], alone=1.0))
    assert not of_network(told([2, 2, 2, 2], alone=0.5))


def test_cells_that_were_measured_one_at_a_time_share_nothing():
    assert not of_network(told([2, 2, 2, 2], at_once=1))


def test_of_two_switches_nobody_knows_whose_uplinks_are_few():
    assert not of_network(told([2, 2]))


def on_leaves(*leaves):
    """The layout of one node each on these leaf switches."""
    at = np.arange(len(leaves))
    classes = np.where(np.eye(len(leaves), dtype=bool), -1, 0)
    return Layout(classes, *(6 * [at]), parts={"leaf": (np.array(leaves), np.array(leaves))})


def test_a_link_that_passes_an_uplink_at_fault_and_is_no_slower_is_explained_by_it():
    uplink = Finding("uplink", 1, -0.2, 6, 6, 50.0)

    def link(ends, shift, kind="link"):
        return Finding(kind, ends, shift, 2, 2, 9.0)

    kept = [link((0, 2), -0.4), link((2, 3), -0.2), link((0, 4), -0.2), link((0, 2), -0.2, "node_pair")]
    kept.append(Finding("device", 2, -0.2, 8, 8, 9.0))
    explained = [link((0, 2), -0.2), link((3, 1), -0.1)]
    layout = on_leaves(0, 0, 1, 1, 2)
    assert shared_bottleneck.without_uplink_links([uplink, *explained, *kept], layout) == [uplink, *kept]
    assert shared_bottleneck.without_uplink_links([*explained, *kept], layout) == [*explained, *kept], (
        "no uplink is at fault"
    )


def within(layout):
    """True for the cells inside a leaf switch."""
    rows, columns = layout.parts["leaf"]
    return rows[:, None] == columns[None, :]


def test_what_an_uplink_at_fault_explains_of_each_of_its_cells():
    """The cells of node 2, behind leaf1, which all lack 0.3 of a logarithm and reach -0.3 unless told."""
    layout = on_leaves(0, 0, 1, 1, 2, 2, 3, 3, 4, 4)
    one = shared_bottleneck.Uplinks(
        dict.fromkeys(range(5), 0.0), {0: 0.0, 1: -0.3, 2: 0.0, 3: -0.3, 4: 0.0}, ~within(layout)
    )
    deviation = np.where(one.cells(1, layout) | one.cells(3, layout), -0.3, 0.0)
    reached, again = deviation.copy(), np.full(deviation.shape, np.nan)
    deviation[2, 0], reached[2, 0] = -0.35, -0.9  # no slower than uplinks differ
    deviation[2, 1], reached[2, 1] = -0.6, -0.35  # had more than others, and reaches what most do
    deviation[2, 4], reached[2, 4], again[2, 4] = -0.6, -0.3, 0.0  # so it was, and it is fine alone
    deviation[2, 5], reached[2, 5], again[2, 5] = -0.6, -0.3, -0.3  # is slow by itself
    deviation[2, 6], reached[2, 6] = -0.6, -0.9  # is slower than both
    deviation[2, 8], reached[2, 8] = -0.12, -0.12  # does not show it
    even = np.full(deviation.shape, 0.02)
    told, explained = shared_bottleneck.narrow_uplinks(
        one, Deviations(layout.classes, deviation, even, sigma=even), layout, reached, again
    )
    assert [(found.subject, found.cells, found.agreeing) for found in told] == [(1, 32, 31), (3, 32, 32)]
    of_both = one.cells(1, layout) | one.cells(3, layout)
    assert [tuple(cell) for cell in np.argwhere(of_both & ~explained)] == [(2, 5), (2, 6)]
    assert not (explained & ~of_both).any()
