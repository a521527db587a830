"""Few matchings of endpoints of which many are slow: what is said of them is true, if no more."""

import math
import random

import pytest
from few_records import COUNT, drawn_for, few_record, held_against_nothing

from linkmatrix.locate import matchings


@pytest.mark.parametrize("bad", [{1, 5, 9, 14}, {1, 5, 9, 14, 20}], ids=["four of 24", "five of 24"])
def test_endpoints_that_are_slow_with_whomever_they_meet_are_not_said_to_be_fine_with_others(make_record, bad):
    record = few_record(make_record(COUNT), drawn_for(COUNT, sorted(bad)), lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    (result,) = record["results"]
    found, rest = matchings.told(result, held_against_nothing(result))
    said = [*(text for _, text in found), *rest]
    assert said, "52 cells are 30 % slow"
    assert not any("once, and of no endpoint that is slow with others" in text for text in said), said


def test_an_endpoint_that_was_slow_with_both_that_it_met_before_the_time_was_over_is_not_said_to_be_fine(make_record):
    record = few_record(make_record(COUNT), drawn_for(COUNT), lambda r, c, _: 0.7 if 5 in (r, c) else 1.0)
    (result,) = record["results"]
    result["matchings"]["open"] = ["n5"]
    found, rest = matchings.told(result, held_against_nothing(result))
    assert found or not any("of no endpoint that is slow with others" in text for text in rest), rest


def said_of(make_record, drawn, slow, still=()):
    record = few_record(make_record(COUNT), drawn, slow)
    (result,) = record["results"]
    result["matchings"]["open"] = [*still]
    found, rest = matchings.told(result, held_against_nothing(result))
    assert found == []
    return rest


def test_who_was_slow_with_everyone_is_named_and_that_chance_may_do_as_much(make_record):
    bad = {1, 5, 9, 14}
    (said,) = said_of(make_record, drawn_for(COUNT, sorted(bad)), lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    assert said == (
        "n1, n5, n9, n14 were slow with everyone they met: not certain, as chance may do that where 50 of 160 cells"
        " are slow; measure again with more --max-time, or the full matrix of them and of some others"
    )


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (lambda r, c: r == 5, "n5 sent slow to everyone it met"),
        (lambda r, c: c == 5, "n5 received slow from everyone it met"),
        (lambda r, c: 5 in (r, c), "n5 was slow with everyone it met"),
    ],
)
def test_the_way_in_which_it_was_slow_is_said(make_record, slow, said):
    (sentence,) = said_of(make_record, drawn_for(COUNT), lambda r, c, _: 0.7 if slow(r, c) else 1.0, ["n5"])
    assert sentence.startswith(f"{said}: not certain, as whether it lasts was not settled; measure again")


@pytest.mark.parametrize("count", [8, 10, 11])
def test_where_half_of_all_pairs_are_slow_it_is_said_how_many(make_record, count):
    """The median of those that ran together is a slow one: no cell was slow beside it, and nothing was said."""
    bad = {2 * at for at in range(count)}
    drawn = drawn_for(COUNT)
    (said,) = said_of(make_record, drawn, lambda r, c, _: 0.7 if {r, c} & bad else 1.0)
    cells = [cell for one in drawn for cell in zip(one["rows"], one["columns"], strict=True)]
    slow = sum(bool({*cell} & bad) for cell in cells)
    assert said.startswith(f"{slow} of {len(cells)} cells are slow beside the fastest: too many to tell"), said


def test_an_endpoint_that_is_slow_with_some_is_not_said_to_be_slow_once(make_record):
    drawn = drawn_for(COUNT, [5], confirms=False)
    met = [c for one in drawn for r, c in zip(one["rows"], one["columns"], strict=True) if r == 5][:2]
    (said,) = said_of(make_record, drawn, lambda r, c, _: 0.7 if r == 5 and c in met else 1.0)
    assert said.startswith("2 cells slow, of n5, slow with some and fine with others: measure again")


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.1])
def test_cells_that_differ_by_noise_are_no_two_groups(make_record, sigma):
    for seed in range(20):
        chance = random.Random(seed)
        rest = said_of(make_record, drawn_for(COUNT), lambda *_, chance=chance: math.exp(chance.gauss(0, sigma)))
        assert not any("too many" in text or "everyone" in text for text in rest), rest
