"""What groups of endpoints reach each other with: uplinks at fault, oversubscription, and what is neither."""

import copy
import json

import pytest
from few_records import COUNT, drawn_for, few_record

from linkmatrix.errors import BadInput
from linkmatrix.judge import sampled_matrix
from linkmatrix.judge.run_findings import facts
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import reading

LEAVES, LINE = 6, 50.0


def crossings(capacity, slow=(), pairs=32, sends_only=False):
    """Of leaves whose uplinks carry capacity[leaf] lines, each with three others; few pairs of `slow` lose 10 %."""
    found = []
    for turn in (1, 2, 3):
        for leaf in range(LEAVES):
            for is_few in (False, True):
                other = (leaf + turn) % LEAVES
                for a, b in ((leaf, other), (other, leaf)):
                    narrow = (capacity[a],) if sends_only else (capacity[a], capacity[b])
                    rate = LINE if is_few else LINE * min(1, *(lines / pairs for lines in narrow))
                    rate *= 0.9 if {a, b} & set(slow) else 1.0
                    count = 4 if is_few else pairs
                    one = {
                        "from": f"leaf{a}",
                        "to": f"leaf{b}",
                        "pairs": count,
                        "rate": rate,
                        "best": rate,
                        "few": is_few,
                    }
                    found.append(one)
    return found


def result_of(found, metric="bandwidth"):
    return {"metric": metric, "matchings": {"groups": ["leaf0"], "crossings": found}}


def sentences(result):
    return [
        *sampled_matrix.slow_group_sentences(result),
        *filter(None, [sampled_matrix.oversubscription_sentence(result)]),
    ]


def test_oversubscription_is_said_with_its_ratio_and_is_no_fault():
    (said,) = sentences(result_of(crossings([16] * LEAVES)))
    assert (
        said
        == "groups are 2.00:1 oversubscribed, which is no fault: 32 endpoints of a group reach other groups with the"
        " bandwidth of 16.0 endpoints"
    )


@pytest.mark.parametrize(("usual", "bad"), [(16, 14), (32, 28), (16, 15)])
def test_a_group_that_is_low_with_every_other_one_is_named_with_what_its_uplinks_carry(usual, bad):
    found = crossings([usual, usual, bad, usual, usual, usual])
    assert sampled_matrix.slow_groups(result_of(found)["matchings"], False) == [("leaf2", "sends and receives", "all")]
    first = sentences(result_of(found))[0]
    assert first.startswith(
        f"leaf2 sends and receives the traffic of {bad}.0 endpoints over its uplinks, other groups of {usual}.0"
    )


def test_one_way_is_told_from_both():
    found = crossings([16, 16, 12, 16, 16, 16], sends_only=True)
    assert sampled_matrix.slow_groups(result_of(found)["matchings"], False) == [("leaf2", "sends", "all")]


def test_what_few_pairs_lose_too_is_the_path_and_no_congestion():
    (said,) = sentences(result_of(crossings([32] * LEAVES, slow=[4])))
    assert said.startswith(
        "leaf4 sends and receives 10.0 % slow over its uplinks, also with few pairs: check cables, ports"
    )


def test_a_group_that_met_one_other_is_not_told_from_it():
    found = [one for one in crossings([16, 12] + [16] * 4) if {one["from"], one["to"]} == {"leaf0", "leaf1"}]
    assert sampled_matrix.slow_groups(result_of(found)["matchings"], False) == []


def test_groups_that_were_not_measured_across_are_not_judged():
    assert sampled_matrix.unmeasured_groups(result_of([])) == ["leaf0"]
    assert sampled_matrix.unmeasured_groups(result_of([], "latency")) == []
    assert sampled_matrix.unmeasured_groups(result_of([one for one in crossings([32] * LEAVES) if not one["few"]])) == [
        "leaf0"
    ]
    assert sentences({"metric": "bandwidth", "matchings": {}}) == []


@pytest.fixture
def record(make_record):
    content = few_record(make_record(COUNT), drawn_for(COUNT))
    names = [f"leaf{number % LEAVES}" for number in range(COUNT)]
    content["results"][0]["matchings"] |= {"groups": names, "crossings": crossings([4, 4, 3, 4, 4, 4], pairs=4)}
    return content


def test_diagnose_names_the_group(record, tmp_path, linkmatrix):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    assert "leaf2 sends and receives the traffic of 3.0 endpoints over its uplinks" in linkmatrix.out("diagnose", path)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("groups"),
        lambda m: m.pop("crossings"),
        lambda m: m["groups"].pop(),
        lambda m: m["crossings"][0].__setitem__("to", "elsewhere"),
        lambda m: m["crossings"][0].__setitem__("to", m["crossings"][0]["from"]),
        lambda m: m["crossings"][0].__setitem__("rate", 1000.0),
        lambda m: m["crossings"][0].__setitem__("pairs", 0),
    ],
)
def test_groups_and_crossings_that_cannot_be_are_refused(record, change):
    reading.check(copy.deepcopy(record))
    change(record["results"][0]["matchings"])
    with pytest.raises(BadInput):
        reading.check(record)


def test_a_group_at_fault_is_no_pass_and_one_of_which_nothing_is_known_has_incomplete(record):
    found = {one.verdict: one.sentence for one in facts(record, False)}
    assert found[Verdict.WARN].startswith("leaf2 sends and receives the traffic of 3.0 endpoints")
    assert Verdict.INCOMPLETE not in found
    matchings = record["results"][0]["matchings"]
    matchings["crossings"] = [one for one in matchings["crossings"] if "leaf5" not in (one["from"], one["to"])]
    found = {one.verdict: one.sentence for one in facts(record, False)}
    assert found[Verdict.INCOMPLETE] == "leaf5: not measured to other groups, so their uplinks are not judged"
