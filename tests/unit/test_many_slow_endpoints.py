"""Few matchings of endpoints of which many are slow: what is said of them is true, if no more."""

import functools
import math
import random

import numpy as np
import pytest
from few_records import COUNT, drawn_for, few_record, held_against_nothing

from linkmatrix.locate import matchings


@pytest.mark.parametrize("bad", [{1, 5, 9, 14}, {1, 5, 9, 14, 20}], ids=["four of 24", "five of 24"])
def test_endpoints_that_are_slow_with_whomever_they_meet_are_not_said_to_be_fine_with_others(make_record, bad):
    record = few_record(make_record(COUNT), drawn_for(COUNT, sorted(bad)), lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    (result,) = record["results"]
    found, rest = matchings.fault_sentences(result, held_against_nothing(result))
    said = [*(text for _, text in found), *rest]
    assert said, "52 cells are 30 % slow"
    assert not any("in one measurement, at endpoints that are fine" in text for text in said), said


def test_an_endpoint_that_was_slow_with_both_that_it_met_before_the_time_was_over_is_not_said_to_be_fine(make_record):
    record = few_record(make_record(COUNT), drawn_for(COUNT), lambda r, c, _: 0.7 if 5 in (r, c) else 1.0)
    (result,) = record["results"]
    result["matchings"]["open"] = ["n5"]
    found, rest = matchings.fault_sentences(result, held_against_nothing(result))
    assert found or not any("of no endpoint that is slow with others" in text for text in rest), rest


def said_of(make_record, drawn, slow, still=(), limit=0.975):
    record = few_record(make_record(COUNT), drawn, slow, limit=limit)
    (result,) = record["results"]
    result["matchings"]["open"] = [*still]
    found, rest = matchings.fault_sentences(result, held_against_nothing(result))
    assert found == []
    return rest


def test_who_was_slow_with_everyone_is_named_and_that_chance_may_do_as_much(make_record):
    bad = {1, 5, 9, 14}
    (said,) = said_of(make_record, drawn_for(COUNT, sorted(bad)), lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    assert said == (
        "n1, n5, n9, n14 were slow with every peer: uncertain, because this can be chance if 50 of 160 cells"
        " are slow; measure again with a longer --max-time, or the full matrix of them and of some other endpoints"
    )


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (lambda r, c: r == 5, "n5 sent slowly to every peer"),
        (lambda r, c: c == 5, "n5 received slowly from every peer"),
        (lambda r, c: 5 in (r, c), "n5 was slow with every peer"),
    ],
)
def test_the_way_in_which_it_was_slow_is_said(make_record, slow, said):
    (sentence,) = said_of(make_record, drawn_for(COUNT), lambda r, c, _: 0.7 if slow(r, c) else 1.0, ["n5"])
    assert sentence.startswith(f"{said}: uncertain, because --max-time ended before the confirmation; measure again")


@pytest.mark.parametrize("count", [8, 10, 11])
def test_where_half_of_all_pairs_are_slow_it_is_said_how_many(make_record, count):
    """The median of those that ran together is a slow one: no cell was slow beside it, and nothing was said."""
    bad = {2 * at for at in range(count)}
    drawn = drawn_for(COUNT)
    (said,) = said_of(make_record, drawn, lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    cells = [cell for one in drawn for cell in zip(one["rows"], one["columns"], strict=True)]
    slow = sum(bool({*cell} & bad) for cell in cells)
    assert said.startswith(f"{slow} of {len(cells)} cells are slower than the fastest: a sampled matrix"), said


def test_an_endpoint_that_is_slow_with_some_is_not_said_to_be_slow_once(make_record):
    drawn = drawn_for(COUNT, [5], confirms=False)
    met = [c for one in drawn for r, c in zip(one["rows"], one["columns"], strict=True) if r == 5][:2]
    (said,) = said_of(make_record, drawn, lambda r, c, _: 0.7 if r == 5 and c in met else 1.0)
    assert said.startswith("n5: slow with some peers (2 cells) and fine with other peers: measure again")


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.1])
def test_cells_that_differ_by_noise_are_no_two_groups(make_record, sigma):
    for seed in range(20):
        chance = random.Random(seed)
        noise = functools.partial(chance.gauss, 0, sigma)
        limit = math.exp(-3 * sigma)
        rest = said_of(make_record, drawn_for(COUNT), lambda *_, noise=noise: math.exp(noise()), limit=limit)
        assert not any("too many" in text or "everyone" in text for text in rest), rest


def cells_of(*groups, seed=1):
    """Logarithms of cells, of groups of (how many, by how much slower)."""
    chance = np.random.default_rng(seed)
    return np.concatenate([chance.normal(-off, 0.002, count) for count, off in groups])


@pytest.mark.parametrize(("between", "are_two"), [(0, True), (15, True), (40, False)])
def test_slow_cells_are_told_from_the_fastest_where_few_lie_between(between, are_two):
    logs = cells_of((100, 0.0), (60, 0.4), (between, 0.025))
    slow = matchings.slower_than_fastest(logs, 0.025)
    assert slow[100:160].all() == are_two and slow[:100].any() == 0
    assert are_two or not slow.any(), "slow and fast ones are no two groups"


@pytest.mark.parametrize(("loss", "is_slow"), [(0.02, False), (0.06, True)])
def test_what_is_slower_by_less_than_is_looked_for_is_not_slow(loss, is_slow):
    assert matchings.slower_than_fastest(cells_of((100, 0.0), (50, loss)), 0.04)[100:].all() == is_slow


def test_cells_are_not_slow_by_less_than_the_noise_of_the_fastest():
    logs = np.random.default_rng(1).normal(0.0, 0.02, 200)
    logs[150:] -= 0.05
    assert not matchings.slower_than_fastest(logs, 0.01).any()
    logs[150:] -= 0.25
    assert matchings.slower_than_fastest(logs, 0.01).tolist() == [False] * 150 + [True] * 50


def ends_of(cells, count):
    rows, columns = (np.array(axis) for axis in zip(*cells, strict=True))
    return matchings.CellEnds(rows, count + columns, 2 * count)


def test_an_end_is_slow_with_everyone_where_two_cells_at_least_are_its_own_fault():
    cells = [(0, 3), (0, 4), (0, 5), (1, 3), (2, 4), (6, 7), (6, 8), (8, 7)]
    slow = np.array([True, True, True, True, True, True, False, False])
    found = matchings.slow_with_every_peer(ends_of(cells, 9), slow)
    assert np.flatnonzero(found).tolist() == [0], "3 and 4 received slow from it, 6 was fine with one, 5 met it alone"


def told(cells, slow, both_ways=False, still=(), stayed=()):
    rows, columns = (np.array(axis) for axis in zip(*cells, strict=True))
    labels = [f"n{at}" for at in range(30)]
    is_slow = np.array([cell in slow for cell in cells])
    return [*matchings.unresolved_sentences(rows, columns, is_slow, labels, both_ways, frozenset(still), stayed)]


RING = [(row, (row + step) % 20) for row in range(20) for step in range(1, 5)]


def test_of_paths_that_were_slow_each_time_both_ends_are_named_and_the_others_are_counted():
    paths = [(0, 1), (3, 5), (7, 10), (12, 13)]
    stayed = [("n0", "n1"), ("n3", "n5"), ("n5", "n3")]
    each, once = told(RING, paths, stayed=stayed)
    assert (
        each
        == "n0->n1, n3->n5: slow each time, while both endpoints are fine with other peers: check the path between them"
    )
    assert once == "2 cells slow in one measurement, at endpoints that are fine with other peers"
    assert told(RING, paths[:2], stayed=stayed) == [each], "no other was slow"


def test_who_is_slow_with_some_is_named_by_how_many_and_what_to_measure_again():
    more = "measure again with a longer --max-time, or the full matrix of"
    of_one = [(4, 5), (4, 6)]
    assert told(RING, of_one) == [
        f"n4: slow with some peers (2 cells) and fine with other peers: {more} it and of some other endpoints"
    ]
    of_two = [(4, 5), (4, 6), (9, 10), (9, 11), (9, 12)]
    (said,) = told(RING, [*of_two])
    assert (
        said
        == f"n9, n4: slow with some peers (5 cells) and fine with other peers: {more} them and of some other endpoints"
    )
    beside, path = told(RING, [*of_one, (15, 16)])[::-1]
    assert beside.startswith("n4: slow with some peers (2 cells)") and path.startswith("1 cell slow in one measurement")


def test_of_cells_that_measure_both_ways_an_end_is_an_endpoint():
    slow = [cell for cell in RING if 4 in cell]
    (said,) = told(RING, slow, both_ways=True, still=["n4"])
    assert said.startswith(
        "n4 was slow with every peer: uncertain, because --max-time ended before the confirmation; measure"
    )


def test_where_half_of_the_cells_are_slow_nobody_is_named():
    half = RING[::2]
    (said,) = told(RING, half)
    assert said == (
        "40 of 80 cells are slower than the fastest: a sampled matrix cannot attribute so many slow cells; measure the"
        " full matrix, or the full matrix of some endpoints"
    )
    assert "too many" not in "".join(told(RING, half[1:]))


def test_endpoints_that_were_not_settled_are_told_apart_from_those_that_chance_may_explain():
    slow = [cell for cell in RING if cell[0] in (0, 5, 10)]
    settled, open_ends = told(RING, slow, still=["n5"])[::-1]
    assert open_ends.startswith(
        "n5 sent slowly to every peer: uncertain, because --max-time ended before the confirmation; "
    )
    assert settled.startswith("n0, n10 sent slowly to every peer: uncertain, because this can be chance if 12 of")
    assert settled.endswith("the full matrix of them and of some other endpoints")
