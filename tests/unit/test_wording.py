"""What a finding is called: who, on which cells, what to suspect, and what is said beside it only where it is so."""

import dataclasses

import faults
import numpy as np
import pytest

from linkmatrix.locate import experiments, sentences
from linkmatrix.locate.deviations import Deviations
from linkmatrix.locate.hypotheses import Finding
from linkmatrix.locate.layout import Names
from linkmatrix.record import units
from linkmatrix.record.matrix import from_result

#: two nodes of two devices, each with a NIC; rows and columns are called differently here to tell them apart
FOUR = faults.layout_of(4, per_node=2)
NAMES = Names(
    ["r0", "r1", "r2", "r3"], ["c0", "c1", "c2", "c3"], ["n7", "n8"], ["m0", "m1", "m2", "m3"], ["NV18", "NET"]
)
BARE = {"results": []}  # a record that says nothing of errors and of others
BANDWIDTH, LATENCY = {"unit": "GB/s", "metric": "bandwidth"}, {"unit": "us", "metric": "latency"}


def seen(part=False, **off):
    """What was seen: nothing off but the cells, "r13=-0.5" is row 1, column 3."""
    deviation = np.where(np.eye(4, dtype=bool), np.nan, 0.0)
    for name, value in off.items():
        deviation[int(name[1]), int(name[2])] = value
    return Deviations(FOUR.classes, deviation, np.full((4, 4), 0.05), part)


def finding(kind, subject, agreeing=6, alike=()):
    return Finding(kind, subject, -0.2, 6, agreeing, 9.0, alike)


SENTENCES = [
    ("egress", 1, "r1 sends 20.0 % slow to every peer, receives fine", "its egress"),
    ("ingress", 1, "c1 receives 20.0 % slow from every peer, sends fine", "its ingress"),
    ("device", 1, "r1 sends and receives 20.0 % slow with every peer", "the device itself: its clocks, links and slot"),
    ("link", (1, 3), "r1->c3 and r3->c1 are both 20.0 % slow", "the link between them"),
    ("cell", (1, 3), "r1->c3 is 20.0 % slow, the reverse direction is fine", "this direction of the link"),
    ("nic", 2, "all cells over m2 are 20.0 % slow", "this NIC, its cable and its switch port"),
    ("nic_egress", 2, "all cells sent over m2 are 20.0 % slow", "the sending side of this NIC"),
    ("nic_ingress", 2, "all cells received over m2 are 20.0 % slow", "the receiving side of this NIC and its port"),
    ("links", 1, "inside its node r1 is 20.0 % slow with every peer, the network is fine", "its links to the other"),
    ("links_egress", 1, "inside its node r1 sends 20.0 % slow, the network is fine", "its outgoing links"),
    ("links_ingress", 1, "inside its node c1 receives 20.0 % slow, the network is fine", "its incoming links"),
    ("node", 1, "all cells of node n8 over the network are 20.0 % slow", "the node: its NICs, PCIe and uplink"),
    (
        "node_egress",
        1,
        "all cells that node n8 sends are 20.0 % slow",
        "the sending side of the node",
    ),
    (
        "node_ingress",
        1,
        "all cells that node n8 receives are 20.0 % slow",
        "the receiving side of the node",
    ),
    ("node_pair", (0, 1), "all cells between nodes n7 and n8 are 20.0 % slow", "the path between the two nodes"),
    ("inside", 1, "all cells inside node n8 are 20.0 % slow", "its switches, clocks and power limit"),
    ("rail", 1, "all pairs on rail 1 are 20.0 % slow", "the switch of this rail"),
    ("class", 1, "all NET cells are 20.0 % slow", "what they share: driver, BIOS, clocks, throttling"),
]


@pytest.mark.parametrize(("kind", "subject", "said", "suspect"), SENTENCES, ids=[kind for kind, *_ in SENTENCES])
def test_a_finding_is_said_so_and_less_where_not_each_cell_shows_it(kind, subject, said, suspect):
    text = sentences.sentence(finding(kind, subject), NAMES, BARE, BANDWIDTH, seen(), FOUR)
    assert text.startswith(f"{said} (6 of 6 cells): check {suspect}")
    text = sentences.sentence(finding(kind, subject, 5), NAMES, BARE, BANDWIDTH, seen(), FOUR)
    for word in ("to every peer", "from every peer", "with every peer"):
        said = said.replace(f" {word}", "")
    assert text.startswith(f"{said.removeprefix('all ')} (5 of 6 cells): check {suspect}")
    # of some endpoints of a larger matrix nothing is known of the rest
    text = sentences.sentence(finding(kind, subject), NAMES, BARE, BANDWIDTH, seen(part=True), FOUR)
    assert "fine" not in text and "all " not in text and "every" not in text


@pytest.mark.parametrize(
    ("kind", "subject", "slow", "other"),
    [
        ("egress", 1, "r31", "r13"),
        ("ingress", 1, "r13", "r31"),
        ("cell", (1, 3), "r31", "r13"),
        ("links", 1, "r12", "r10"),
        ("links", 1, "r31", "r01"),
        ("links_egress", 1, "r13", "r10"),
    ],
)
@pytest.mark.parametrize("value", [-0.5, np.nan])
def test_what_a_finding_is_told_apart_by_is_fine_only_where_it_was_measured_and_is(kind, subject, slow, other, value):
    one = finding(kind, subject)
    assert sentences.other_cells_fine(one, seen(), FOUR)
    assert not sentences.other_cells_fine(one, seen(**{slow: value}), FOUR)
    assert sentences.other_cells_fine(one, seen(**{other: value}), FOUR)
    assert sentences.other_cells_fine(one, seen(**{slow: -np.log1p(0.05)}), FOUR)  # at its limit
    assert not sentences.other_cells_fine(one, seen(**{slow: value}, part=True), FOUR)


def test_between_different_endpoints_there_is_no_way_back():
    layout = faults.layout_of(4, per_node=2)
    apart = type(layout)(**{**vars(layout), "square": False})
    assert not sentences.other_cells_fine(finding("cell", (1, 3)), seen(), apart) and not sentences.other_cells_fine(
        finding("egress", 1), seen(), apart
    )
    assert sentences.other_cells_fine(finding("links", 1), seen(), apart)


def test_a_latency_is_more_by_what_the_rate_is_less():
    text = sentences.sentence(finding("egress", 1), NAMES, BARE, LATENCY, seen(), FOUR)
    assert text.startswith("r1 sends at 25.0 % more latency to every peer, receives fine (6 of 6 cells)")


def test_of_sums_of_both_directions_no_side_of_a_device_is_known():
    both = {"unit": "GB/s", "metric": "bidirectional"}
    told = "; a sum of both directions does not separate egress and ingress: measure one direction"
    assert sentences.sentence(finding("device", 1), NAMES, BARE, both, seen(), FOUR).endswith(f"links and slot{told}")
    assert told not in sentences.sentence(finding("link", (1, 3)), NAMES, BARE, both, seen(), FOUR)
    assert told not in sentences.sentence(finding("device", 1), NAMES, BARE, BANDWIDTH, seen(), FOUR)


def test_what_else_has_the_same_cells_is_said_with_what_would_tell():
    alike = (("node", 1), ("node_pair", (0, 1)), ("class", 1), ("rail", 1))
    assert sentences.equivalent_causes(finding("nic", 2), NAMES) == ""
    assert sentences.equivalent_causes(finding("nic", 2, alike=alike), NAMES) == (
        ". Other causes of the same slow cells: n8 (the node: its NICs, PCIe and uplink);"
        " nodes n7 and n8 (the path between the two nodes); NET (what they share: driver, BIOS, clocks, throttling)"
        "; 1 more. To distinguish: measure with a third node: the node that is slow with the third node is at fault"
    )


@pytest.mark.parametrize(
    ("kind", "other", "said"),
    [
        ("nic", "node", "measure each adapter alone"),
        ("device", "nic", "measure inside the node: a faulty device is slow there"),
        ("inside", "class", "measure every node"),
        ("device", "node", "measure inside the node"),
        ("device", "class", "measure all devices"),
        ("link", "device", "measure all devices: a device that is slow with other devices too"),
        ("rail", "uplink", "measure with more endpoints"),
    ],
)
def test_an_experiment_settles_which_of_two_it_is(kind, other, said):
    assert experiments.advice(finding(kind, 0, alike=((other, 0),))).startswith(said)


def risen(*labels):
    counters = [{"name": f"replay{number}", "before": 1, "after": 3} for number in range(4)]
    return BARE | {"health": [{"label": label, "counters": counters, "readings": []} for label in labels]}


def test_counters_of_who_is_at_fault_are_evidence_three_at_most():
    assert sentences.evidence("r1", risen("r10", "c1")) == "" and sentences.evidence("r1", BARE) == ""
    told = sentences.evidence("r1->c3 and r3->c1", risen("c3", "r2"))
    assert told.startswith(". Evidence: c3: replay0 rose from 1 to 3") and told.count("rose") == 3
    assert told.endswith("; 1 more") and "r2" not in told


@pytest.mark.parametrize(
    ("who", "named"),
    [
        ("n1:gpu3", {"n1:gpu3"}),
        ("mlx5_0 of n1", {"n1:mlx5_0"}),
        ("n1:gpu3->n2:gpu1 and n2:gpu1->n1:gpu3", {"n1:gpu3"}),
        ("n1", {"n1:gpu3", "n1:mlx5_0"}),
        ("nodes n2 and n3", {"n2:mlx5_0", "n2:mlx5_2:2"}),
        ("mlx5_0, mlx5_1 of n1", {"n1:mlx5_0"}),
        ("mlx5_2 of n2", {"n2:mlx5_2:2"}),
        ("mlx5_7 of n3", {"mlx5_7:2"}),
        ("gpu3", set()),
        ("n2:gpu2", set()),
    ],
)
def test_evidence_is_what_the_part_itself_counted(who, named):
    item = {"name": "symbol_error", "before": 0, "after": 12}
    labels = ("n1:gpu3", "n1:mlx5_0", "n2:mlx5_0", "n2:mlx5_2:2", "mlx5_7:2")
    text = sentences.evidence(who, {"health": [{"label": one, "counters": [item], "readings": []} for one in labels]})
    assert {label for label in labels if f"{label}: symbol_error rose" in text} == named


def test_cells_without_a_value_are_counted_by_what_became_of_them(make_record):
    off = {(1, 0): "timeout", (1, 2): "not-run", (1, 3): "timeout"}
    matrix = from_result(make_record(off=off)["results"][0])
    one = Finding("egress", 1, -0.6, 3, 3, 9.0, (("class", 1),), missing=True)
    text = sentences.missing_sentence(one, NAMES, risen("r1"), matrix, FOUR)
    assert text.startswith(
        "none of the 3 cells that r1 sends has a value (2 timeout, 1 not-run): check its egress."
        " Other causes of the same slow cells: NET (what they share: driver, BIOS, clocks, throttling)."
        " To distinguish: "
    )
    assert "Evidence: r1: replay0" in text
    device = Finding("device", 1, -0.6, 6, 3, 9.0, missing=True)
    text = sentences.missing_sentence(device, NAMES, BARE, matrix, FOUR)
    assert text.startswith("3 of the 6 cells of r1 have no value (2 timeout, 1 not-run): check the device itself")


def test_the_first_four_names_are_listed_and_more_are_counted():
    assert units.listed(["a", "b", "c", "d"]) == "a, b, c, d"
    assert units.listed(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"


@pytest.mark.parametrize(
    ("kind", "near", "text"),
    [
        ("network", (), "the adapter that carries its data or the path to it"),
        ("network", ("m0", "m1"), "the adapter that carries its data, one of m0, m1, or the path to it"),
        ("network", ("m0",), "the PCIe path to m0, and the access of m0 to the device's memory"),
        (
            "network_ingress",
            ("m1", "m2"),
            "the receiving side: the adapter that carries its data, one of m1, m2, or the path to it",
        ),
    ],
)
def test_the_advice_names_the_adapters_near_the_endpoint(kind, near, text):
    names = dataclasses.replace(NAMES, near={"c2" if kind.endswith("ingress") else "r2": near})
    assert sentences.component_to_check(kind, 2, names) == text
