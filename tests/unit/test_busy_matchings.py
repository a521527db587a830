"""Few matchings beside others: cells that are slower than those beside them by what others took blame nobody."""

import copy

import pytest
from few_records import COUNT, drawn_for, few_record

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.locate import diagnosis, matchings
from linkmatrix.record import reading
from linkmatrix.references.tables import Reference, References

HOG = {"where": "n5", "pid": 2983, "name": "hog", "user": "root", "bytes": None, "seconds": 5.0, "cores": "0-1"}


@pytest.fixture
def beside_a_hog(make_record):
    """(record, its matrix) of nodes whose rank on n5 had half of its cores; its cells have `speed` of the others'."""

    def made(speed, latency=False, share=0.5):
        slow = 1 / speed if latency else speed
        better = 1 / 1.08 if latency else 1.08
        record = few_record(
            make_record(COUNT), drawn_for(COUNT, [5]), lambda r, c, _: better * (slow if 5 in (r, c) else 1.0)
        )
        (result,) = record["results"]
        if latency:
            result |= {"metric": "latency", "unit": "us", "quantity": "copy latency"}
        uses = []
        for one in record["devices"]:
            had = share if one["node"] == "n5" else 0.0
            uses.append({"label": one["label"], "of": "cpu", "counted": 10.0, "own": 10.0 * (1 - had)})
            uses[-1] |= {"others": 10.0 * had, "cores": "0-1"}
        seen = {"seconds": 10.0, "shared": None, "uses": uses, "nodes": [], "processes": [HOG], "untold": []}
        result["others"] = seen
        reading.check(copy.deepcopy(record))
        reference = Reference(48.0, None, 0.05, "us") if latency else Reference(48.0, -0.05, 0.1, "GB/s")
        table = References({("cluster", result["testcase"]): {"cell[NET]": reference}})
        return record, evaluate(record, table, "cluster").matrices[0]

    return made


@pytest.mark.parametrize("latency", [False, True])
def test_a_rank_whose_cores_others_had_is_not_blamed_by_its_matchings(beside_a_hog, latency):
    """Its cells are slower than those beside them, and still above the reference: that tells nothing of its cores."""
    record, matrix = beside_a_hog(0.93, latency)
    assert matrix.verdict <= Verdict.WARN
    found = diagnosis.diagnose(record, record["results"][0], matrix)
    assert found.findings == () and matchings.blamed(record["results"][0], matrix) == []
    (said,) = found.sentences
    assert said.startswith("busy: others had 50 % of the time that n5") and "hog" in said


def test_one_that_is_slower_than_what_others_had_is_broken_beside_that(beside_a_hog):
    record, matrix = beside_a_hog(0.5, share=0.1)
    (one,) = diagnosis.diagnose(record, record["results"][0], matrix).findings
    assert (one.kind, one.subject) == ("node", 5)
