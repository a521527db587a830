"""The verdict of a test is made in one place: of its check's reasons, its record's facts, its cells and its program."""

import pytest
import stores

from linkmatrix.judge.test_verdict import CheckFacts, judge_test
from linkmatrix.judge.test_verdict import TestVerdict as Found
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.references.tables import Reference, References
from tests.tools.plain_record import TESTCASE

TABLE = References({("hgx", TESTCASE): {"cell[NV18]": Reference(396.0, -0.02, 0.02, "GB/s")}})
MEMORY = {"node": "node001", "kind": "memory", "where": "gpu1", "share": None, "pids": [9]}


def verdict(record, found=None, table="hgx"):
    return judge_test(record, found or CheckFacts(), TABLE, table)


def lost(record, *kinds):
    record["lost"] = [{"label": f"gpu{at}", "why": "x", "kind": kind} for at, kind in enumerate(kinds, start=1)]
    return record


def test_a_test_that_measured_well_and_is_inside_passes(make_record):
    found = verdict(make_record(), CheckFacts(TESTCASE))
    assert (found.verdict, found.reasons, found.facts, found.table) == (Verdict.PASS, (), (), "hgx")
    assert found.evaluation.verdict is Verdict.PASS


@pytest.mark.parametrize(("table", "expected"), [("", Verdict.NOT_JUDGED), ("typo", Verdict.INCOMPLETE)])
def test_no_table_is_not_judged_and_a_named_table_that_is_missing_is_incomplete(make_record, table, expected):
    assert verdict(make_record(), table=table).verdict is expected
    assert verdict(make_record(off={(0, 1): 500.0}), table=table).verdict is Verdict.FAIL  # the path carries 450


@pytest.mark.parametrize("worst", [Verdict.WARN, Verdict.INCOMPLETE, Verdict.FAIL])
def test_the_reasons_of_a_check_count(make_record, worst):
    found = verdict(make_record(), CheckFacts(TESTCASE, (Reason(worst, "2 ranks on core 0: bind them"),)))
    assert found.verdict is worst and [one.verdict for one in found.reasons] == [worst]


@pytest.mark.parametrize(
    ("off", "expected"),
    [({(0, 1): "corrupt"}, Verdict.FAIL), ({(0, 1): 200.0}, Verdict.FAIL), ({(0, 1): 450.0}, Verdict.NOT_JUDGED)],
)
def test_the_cells_count(make_record, off, expected):
    assert verdict(make_record(off=off)).verdict is expected


def test_a_counter_that_rose_fails_a_test_unless_its_check_tolerates_it(make_record):
    record = make_record()
    item = {"name": "pcie_replay", "before": 3, "after": 8}
    record["health"] = [{"label": "gpu1", "counters": [item], "readings": []}]
    assert verdict(record).verdict is Verdict.FAIL
    assert verdict(record, CheckFacts(tolerated_counters=("pcie_replay",))).verdict is Verdict.WARN


@pytest.mark.parametrize(
    ("result", "kinds", "expected"),
    [
        ("FAIL", (), Verdict.FAIL),
        ("ERROR", (), Verdict.INCOMPLETE),
        ("TIMEOUT", (), Verdict.INCOMPLETE),
        ("ERROR", ("process",), Verdict.INCOMPLETE),
        ("ERROR", ("memory",), Verdict.DISTURBED),
        ("TIMEOUT", ("memory",), Verdict.INCOMPLETE),
        ("ERROR", ("memory", "process"), Verdict.INCOMPLETE),
        ("ERROR", ("memory", "device"), Verdict.FAIL),
        ("TIMEOUT", ("device",), Verdict.FAIL),
    ],
)
def test_the_way_in_which_the_program_ended_counts(make_record, result, kinds, expected):
    found = verdict(lost(make_record(result=result, error="why"), *kinds))
    assert found.verdict is expected
    (reason,) = found.reasons
    assert reason.sentence == f"the program ended with {result}: why" and reason.verdict <= expected


def test_memory_that_kept_a_program_from_its_only_device_is_disturbed(make_record):
    record = make_record(result="ERROR", error="gpu1: out of memory")
    record["results"], record["others"] = [], {"shared": True, "processes": [], "disturbances": [MEMORY]}
    found = verdict(record)
    assert found.verdict is Verdict.DISTURBED and len(found.reasons) == 2
    record["others"]["disturbances"] = []
    assert verdict(record).verdict is Verdict.INCOMPLETE


def test_memory_is_not_the_only_cause_where_other_cells_are_missing_too(make_record):
    record = lost(make_record(off={(1, 0): "error", (2, 3): "error"}), "memory")
    found = verdict(record)
    cells = found.evaluation.matrices[0].cells
    assert cells["gpu1", "gpu0"].verdict is Verdict.DISTURBED and cells["gpu2", "gpu3"].verdict is Verdict.INCOMPLETE
    assert found.verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("name", ["device_local_copy", TESTCASE])
def test_a_missing_test_case_is_incomplete(make_record, name):
    found = verdict(make_record(), CheckFacts(name))
    assert found.verdict is (Verdict.PASS if name == TESTCASE else Verdict.INCOMPLETE)
    assert [name in one.sentence for one in found.reasons] == [True] * (name != TESTCASE)
    record = make_record()
    record["expected"] = [TESTCASE, name]
    assert verdict(record).verdict is found.verdict, "what the program was to measure counts where no check asked"
    assert verdict(record, CheckFacts(TESTCASE)).verdict is Verdict.PASS, "another test has the other test case"


def test_a_record_without_a_matrix_is_incomplete_unless_only_the_topology_was_wanted(make_record):
    record = make_record()
    record["results"] = []
    assert verdict(record).verdict is Verdict.INCOMPLETE
    record["command"] = ["p2p_matrix", "--topology"]
    assert judge_test(record, CheckFacts(), TABLE, "hgx") == Found(Verdict.PASS, (), (), None, "hgx")
    assert verdict(record, CheckFacts(TESTCASE)).verdict is Verdict.INCOMPLETE
    assert verdict({**record, "result": "ERROR"}).verdict is Verdict.INCOMPLETE
    bad = CheckFacts(reasons=(Reason(Verdict.FAIL, "NV17, expected NV18"),))
    assert verdict(record, bad).verdict is Verdict.FAIL


def test_without_a_record_the_reasons_decide():
    missing = verdict(None)
    reasons = (Reason(Verdict.INCOMPLETE, "the test left no record"),)
    assert missing == Found(Verdict.INCOMPLETE, reasons, (), None, "hgx")
    assert verdict(None, CheckFacts(measures=False)).verdict is Verdict.PASS
    told = (Reason(Verdict.INCOMPLETE, "the job was cancelled"),)
    assert verdict(None, CheckFacts(reasons=told)).reasons == told
    assert verdict(None, CheckFacts(reasons=(Reason(Verdict.WARN, "x"),))).verdict is Verdict.INCOMPLETE


def test_a_program_that_crashed_is_not_disturbed_because_memory_was_held_at_one_poll(make_record):
    """A segmentation fault; all cells of the device whose memory another process held were measured."""
    record = make_record(result="ERROR", error="segmentation fault in rank 3")
    hog = stores.disturbed("node001", where="gpu1")
    hog["disturbances"] = [MEMORY]
    record["results"][0]["others"] = hog
    assert verdict(record).verdict is Verdict.INCOMPLETE
    record = make_record(off={(0, 1): "error"}, result="ERROR", error="out of memory")
    record["results"][0]["others"] = hog
    assert verdict(record).verdict is Verdict.DISTURBED
