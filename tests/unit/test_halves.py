"""Halves of the ranks, by each binary digit of their numbers: who holds the others back is said where it is clear."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkmatrix.locate import collective_cause

DATA = Path(__file__).parent.parent / "data"
RECORD = json.loads((DATA / "h200x2_all_reduce.record.json").read_text())
ROUND = 1 << 30


def columns_of(ranks):
    """As collective_perf has them: none of a half of which only one rank is left."""
    both = [(digit, of) for digit in range((ranks - 1).bit_length()) for of in (0, 1)]
    return [(digit, of) for digit, of in both if sum(rank >> digit & 1 == of for rank in range(ranks)) >= 2]


def result(ranks, slow=(), loss=0.2, noise=None, half=0.002):
    """A result of all-reduce of each half, slow where all ranks of `slow` are in it."""
    columns = columns_of(ranks)
    values = [
        350.0 * (1 - loss if slow and all(rank >> digit & 1 == of for rank in slow) else 1.0) for digit, of in columns
    ]
    values = [value * (noise[at % len(noise)] if noise else 1.0) for at, value in enumerate(values)]
    found = copy.deepcopy(next(one for one in RECORD["results"] if one["size_bytes"] == ROUND))
    names = [f"digit{digit}-is-{of}" for digit, of in columns]
    found |= {"testcase": "all_reduce_perf_halves", "columns": names, "parts": {}, "notes": [], "sampled": None}
    found |= {"values": [values], "status": [["ok"] * len(values)]}
    found["low"] = [[value * (1 - half) for value in values]]
    found["high"] = [[value * (1 + half) for value in values]]
    found |= {"link_class": [names], "samples": [[7] * len(values)], "converged": [[True] * len(values)]}
    found |= {"limit": [[450.0] * len(values)], "round": None, "began": None, "ended": None}
    return found


def topology(ranks):
    return {"labels": [f"gpu{number}" for number in range(ranks)]}


def said(found, ranks):
    return " ".join(collective_cause.rank_sentences(found, topology(ranks)))


@given(st.integers(2, 10).flatmap(lambda digits: st.tuples(st.just(1 << digits), st.integers(0, (1 << digits) - 1))))
def test_a_slow_rank_is_named_among_any_number(case):
    ranks, slow = case
    assert said(result(ranks, (slow,)), ranks).startswith(f"check gpu{slow} and its links, if all links are alike")


@given(st.integers(4, 70), st.data())
def test_a_slow_rank_is_among_those_that_are_named_where_halves_are_not_equal(ranks, data):
    slow = data.draw(st.integers(0, ranks - 1))
    sides, _ = collective_cause.slow_digits(result(ranks, (slow,)))
    assert not sides or (f"gpu{slow}",) in collective_cause.suspect_ranks(sides, topology(ranks)["labels"])


@pytest.mark.parametrize("slow", [(4, 5), (0, 2), (3, 6)])
def test_what_lies_between_two_ranks_is_no_fault_of_one(slow):
    """Only halves that have both are slow. Ranks that differ in more digits share the suspicion with like pairs."""
    sides, _ = collective_cause.slow_digits(result(8, slow))
    found = collective_cause.suspect_ranks(sides, topology(8)["labels"])
    assert tuple(f"gpu{rank}" for rank in slow) in found
    assert all(len(one) == 2 for one in found) and len(found) <= 2
    assert "check the path between two ranks" in said(result(8, slow), 8)


@given(st.integers(4, 128), st.lists(st.floats(0.995, 1.005), min_size=1, max_size=14))
def test_halves_that_are_alike_accuse_nobody(ranks, noise):
    assert said(result(ranks, noise=noise), ranks) == ""


@pytest.mark.parametrize("spoilt", ["converged", "values"])
def test_a_half_that_is_noise_or_missing_accuses_nobody(spoilt):
    found = result(8, (5,))
    assert said(found, 8)
    found[spoilt][0][0] = False if spoilt == "converged" else None
    assert said(found, 8) == ""


def test_two_slow_ranks_are_not_called_one():
    """1 and 6 have no digit in common: every half is slow. 1 and 5 are as their link would be."""
    found = result(8)
    found["values"] = [[280.0] * 6]
    assert said(found, 8) == ""
    uneven = result(8, (5,))
    uneven["values"][0][0] = 300.0
    assert "gpu5" not in said(uneven, 8)


def test_diagnose_says_it_without_any_reference(tmp_path, linkmatrix):
    record = copy.deepcopy(RECORD)
    links = record["topology"]
    for number in (2, 3):
        record["devices"].append(
            copy.deepcopy(record["devices"][1]) | {"label": f"gpu{number}", "uuid": f"GPU-{number}", "part": {}}
        )
        links["labels"].append(f"gpu{number}")
        for matrix in [one for name, one in links.items() if name != "labels" and one]:
            matrix.append([matrix[0][1]] * (len(matrix[0])))
            for row, line in enumerate(matrix):
                line.append(matrix[0][0] if row == len(matrix) - 1 else matrix[0][1])
    record |= {"results": [result(4, (2,))], "expected": ["all_reduce_perf_halves"]}
    path = tmp_path / "run.record.json"
    path.write_text(json.dumps(record))
    text = " ".join(linkmatrix.out("diagnose", path).split())
    assert "gpu2 and its links, if all links are alike" in text
