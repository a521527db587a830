"""The check of copies inside a node on recorded runs of GPUs: whole test cases have no faults, spoiled ones have."""

from pathlib import Path

import pytest
from check_runs import checks, fault_sentences

from linkmatrix.record import reading

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDS = [reading.load(DATA / f"{name}.record.json") for name in ("h200x4_full", "h200x2_visibility")]
RECORDED = {result["testcase"]: record for record in RECORDS for result in record["results"]}
intranode, expect, testcases = map(checks, ("intranode", "expect", "testcases"))


def faults(testcase, change=None):
    """The sentences of the check on a recorded test case, with its result spoiled by change(result)."""

    def change_result(record):
        change(next(result for result in record["results"] if result["testcase"] == testcase))

    record = RECORDED[testcase]
    expected = expect.ExpectedConfiguration(devices=len(record["devices"]), model="NVIDIA H200", link_class="NV18")
    changed = change and change_result
    check = intranode.intranode_p2p
    return fault_sentences(check, record, testcase, change=changed, on_gpus=True, expected=expected)


def test_the_recorded_runs_have_every_test_case():
    assert RECORDED.keys() >= set(testcases.DEVICE_TESTCASES)


@pytest.mark.parametrize("testcase", testcases.DEVICE_TESTCASES)
def test_a_whole_test_case_has_no_faults(testcase):
    assert faults(testcase) == []


@pytest.mark.parametrize("testcase", testcases.DEVICE_TESTCASES)
def test_a_test_case_that_lacks_a_device_has_faults(testcase):
    axis = "columns" if testcases.TESTCASES[testcase]["columns"] == "device" else "rows"

    def lose(result):
        result[axis] = result[axis][:-1]

    (fault,) = faults(testcase, lose)
    assert f"its {axis} lack " in fault


def test_a_further_matrix_that_is_missing_is_a_fault():
    said = [faults(testcase, lambda result: result["parts"].clear()) for testcase in testcases.DEVICE_TESTCASES]
    named = {fault.rpartition(" ")[2] for of_case in said for fault in of_case}
    assert named == {"'one_direction'", "'isolated'", "'loss'", "'enqueue'"}
