"""Without references, a sweep shows its links by its largest size only."""

import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate.diagnosis import diagnose
from linkmatrix.record import reading
from linkmatrix.references.tables import References

NONE = References({})
SMALL, LARGE = 16 << 10, 512 << 20


def kinds(content):
    """{size in bytes: kinds of the findings}."""
    found = evaluate(content, NONE, None)
    pairs = zip(content["results"], found.matrices, strict=True)
    return {
        result["size_bytes"]: [one.kind for one in diagnose(content, result, each).findings] for result, each in pairs
    }


def sweep(make_record, slow_sizes):
    """A record of two sizes, in which gpu3 sends slowly in some of them."""
    content = make_record(count=8)
    results = []
    for size in (SMALL, LARGE):
        off = {(3, column): 300.0 for column in range(8) if column != 3} if size in slow_sizes else {}
        (result,) = make_record(count=8, off=off)["results"]
        results.append({**result, "size_bytes": size})
    return {**content, "results": results}


@pytest.mark.parametrize(("slow", "expected"), [((SMALL,), []), ((LARGE,), ["egress"]), ((SMALL, LARGE), ["egress"])])
def test_only_the_largest_size_is_compared_with_its_class(make_record, slow, expected):
    assert kinds(sweep(make_record, slow)) == {SMALL: [], LARGE: expected}


def test_a_single_size_is_compared_whatever_its_bytes(make_record):
    content = sweep(make_record, (SMALL,))
    assert kinds({**content, "results": content["results"][:1]}) == {SMALL: ["egress"]}


def test_a_healthy_sweep_of_four_gpus_flags_none_for_its_overhead():
    content = reading.load("tests/data/h200x4_sweep.record.json")
    names = {result["testcase"] for result in content["results"]}
    each = [{**content, "results": [one for one in content["results"] if one["testcase"] == name]} for name in names]
    assert len(each) == 4 and [size for one in each for size, found in kinds(one).items() if found] == []
