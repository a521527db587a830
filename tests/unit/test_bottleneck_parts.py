"""What makes groups of nodes between which something is slow: each rule of locate/shared_bottleneck.py alone."""

import numpy as np
import pytest

from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import Layout
from linkmatrix.locate.shared_bottleneck import (
    EQUAL,
    MIN_EQUAL_NODES,
    Bottleneck,
    bottleneck,
    equal_nodes,
    sentence,
)


class Called:
    """Names of nodes, and which kinds of parts are known."""

    def __init__(self, nodes, parts=()):
        self.nodes, self.parts = nodes, parts


NAMES = Called([f"n{at}" for at in range(1, 13)])


def pairs(count, *joined):
    """nodes × nodes, True for these pairs."""
    found = np.zeros((count, count), dtype=bool)
    for one, other in joined:
        found[one, other] = found[other, one] = True
    return found


def finding(kind="node", subject=0, shift=-0.3, **more):
    return Finding(kind, subject, shift, cells=6, agreeing=6, evidence=50.0, **more)


@pytest.mark.parametrize(
    ("shift", "unit", "amount"),
    [(-0.3, "GB/s", "are 30.0 % slow, cells inside"), (-0.2, "us", "are at 25.0 % more latency, cells inside")],
)
def test_how_slow_it_is_between_groups_is_said_in_its_unit(shift, unit, amount):
    one = Bottleneck(((0, 1), (2, 3, 4, 5, 6)), np.zeros((1, 1)), shift, 0, 0)
    said = sentence(one, NAMES, unit, leaves_known=False)
    assert said.startswith(
        f"cells between these groups of nodes {amount} each group are fine: [n1, n2] and [n3, n4, n5, n6, 1 more]: a"
        " shared bottleneck; which nodes share the bottleneck is uncertain"
    )
    assert sentence(one, NAMES, unit, leaves_known=True).endswith("share the bottleneck is uncertain")
    assert said == f"{sentence(one, NAMES, unit, leaves_known=True)}; name the leaf switches with --groups FILE"


@pytest.mark.parametrize(
    ("again", "fine", "expected"),
    [
        (0, 0, "which nodes share the bottleneck is uncertain"),
        (4, 2, "; measured alone, 2 of 4 are fine: congestion, which is no fault"),
        (4, 4, "; measured alone, 4 of 4 are fine: congestion, which is no fault"),
        (4, 1, "; measured alone, 3 of 4 are slow too: check the path; the load is not the cause"),
        (1, 0, "; measured alone, 1 of 1 are slow too: check the path; the load is not the cause"),
    ],
)
def test_what_a_second_look_alone_showed_is_said(again, fine, expected):
    one = Bottleneck(((0, 1), (2, 3)), np.zeros((1, 1)), -0.3, again, fine)
    assert sentence(one, NAMES, "GB/s", leaves_known=True).endswith(expected)


def layout_of(row_node, **more):
    """Endpoints of nodes, all over a network."""
    node, nowhere = np.array(row_node), np.full(len(row_node), -1)
    classes = np.zeros((len(node), len(node)), dtype=int)
    return Layout(classes, node, node, nowhere, nowhere, nowhere, nowhere, **more)


def of_two_groups(sizes=(2, 4), shift=-0.3, **more):
    """(deviation of a matrix of nodes in two groups, between which all is slow; its layout)."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    deviation = np.where(group[:, None] == group[None, :], 0.0, np.log1p(shift))
    np.fill_diagonal(deviation, np.nan)
    return deviation, layout_of(range(len(group)), of_nodes=True, **more)


def located(deviation, layout, found=None, alone=None):
    limit = np.full(deviation.shape, 0.05)
    named = [finding(subject=0), finding(subject=1)] if found is None else found
    return bottleneck(named, deviation, limit, layout, alone)


def test_two_groups_between_which_all_is_slow_have_something_between_them():
    deviation, layout = of_two_groups()
    one = located(deviation, layout)
    assert one.groups == ((0, 1), (2, 3, 4, 5)) and one.shift == pytest.approx(-0.3)
    assert one.between.sum() == 16 and not one.between[0, 1] and one.between[0, 2] and one.between[2, 0]
    assert (one.again, one.fine) == (0, 0)
    larger_first = located(*of_two_groups((4, 2)))
    assert larger_first.groups == ((4, 5), (0, 1, 2, 3)), "the smallest first"


def test_what_is_measured_alone_again_is_counted_between_the_groups_only():
    deviation, layout = of_two_groups()
    alone = np.full(deviation.shape, np.nan)
    alone[0, 2], alone[0, 3], alone[2, 0], alone[0, 1] = 0.0, np.log1p(-0.3), -np.log1p(0.05), 0.0
    assert (lambda one: (one.again, one.fine))(located(deviation, layout, alone=alone)) == (3, 2)


def test_a_group_of_one_says_nothing_and_one_of_two_does():
    assert located(*of_two_groups((1, 5))) is None
    assert located(*of_two_groups((2, 2))) is not None
    three = located(*of_two_groups((1, 2, 3)))
    assert three.groups == ((1, 2), (3, 4, 5)) and not three.between[0].any(), "a node alone is no group"


def test_nodes_that_are_as_slow_as_each_other_may_share_what_nobody_knows():
    deviation, layout = np.full((6, 6), np.nan), layout_of(range(6), of_nodes=True)
    slow = [finding(subject=at, shift=-0.3) for at in (4, 0, 2)]
    deviation[np.ix_([0, 2, 4], [0, 2, 4])] = np.log1p(-0.3)
    (said,) = equal_nodes(slow, deviation, layout, NAMES)
    assert said.startswith("[n1, n3, n5] are equally slow with all nodes, including each other: a shared leaf switch")
    assert said.endswith("explain this too; name the leaf switches with --groups FILE")
    assert MIN_EQUAL_NODES == 3 and equal_nodes(slow[:2], deviation, layout, NAMES) == []
    assert equal_nodes(slow, deviation, layout, Called(NAMES.nodes, ("leaf",))) == [], "their leaf switches are known"
    assert equal_nodes([*slow[:2], finding(subject=2, shift=-0.3, missing=True)], deviation, layout, NAMES) == []
    assert equal_nodes([*slow[:2], finding("egress", 2)], deviation, layout, NAMES) == [], "no node as a whole"
    other = float(np.expm1(np.log1p(-0.3) * (1 + 1.5 * EQUAL)))
    assert equal_nodes([*slow[:2], finding(subject=2, shift=other)], deviation, layout, NAMES) == [], "another amount"
    deviation[np.ix_([0, 2, 4], [0, 2, 4])] = 2 * np.log1p(-0.3)
    assert equal_nodes(slow, deviation, layout, NAMES) == [], "slower among themselves: each of them is"
    assert equal_nodes(slow, np.full((6, 6), np.nan), layout, NAMES) == [], "their own cells have no value"


def test_of_nodes_of_one_device_each_the_device_is_the_node():
    deviation, slow = np.full((5, 5), np.log1p(-0.3)), [finding("device", at) for at in (0, 1, 2)]
    assert len(equal_nodes(slow, deviation, layout_of(range(5)), NAMES)) == 1
    assert equal_nodes(slow, deviation, layout_of(range(5), of_nodes=True), NAMES) == []
    two = layout_of([0, 0, 1, 1, 2])
    assert equal_nodes(slow, deviation, two, NAMES) == []


@pytest.mark.parametrize("at", [0, 3, 5])
def test_a_node_without_any_value_is_in_no_group_and_ends_nothing(at):
    deviation, layout = of_two_groups((3, 3))
    deviation[at, :] = deviation[:, at] = np.nan
    one = located(deviation, layout)
    assert one.groups == tuple(sorted([tuple(sorted({0, 1, 2} - {at})), tuple(sorted({3, 4, 5} - {at}))], key=len))
