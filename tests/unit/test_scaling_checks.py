"""The checks of simulations and of copies inside a node on recorded runs: spoiled runs have faults."""

from pathlib import Path

import pytest
from check_runs import checks, fault_sentences

import linkmatrix.record.reading
from linkmatrix.record import reading
from linkmatrix.record.names import body_count, is_collective, is_simulation

DATA = Path(__file__).resolve().parents[1] / "data"
RECORD = linkmatrix.record.reading.load(DATA / "cpu2_nbody.record.json")
STRONG = "nbody_float_strong"


scaling = checks("scaling")


def judged(testcase=STRONG, change=None, bodies="2100,8192", devices=2, extras=None):
    """The sentences of a check on the recorded run, with the record spoiled by change(record)."""
    described = {"bodies": bodies, "expected_devices": lambda: devices, "machine_faults": list}
    return fault_sentences(
        scaling.scaling_run, RECORD, testcase, "wanted_bodies", change=change, extras=extras, **described
    )


def results_of(record, testcase=STRONG):
    return [result for result in record["results"] if result["testcase"] == testcase]


@pytest.mark.parametrize("testcase", [STRONG, "nbody_float_weak"])
def test_a_run_as_it_was_asked_for_has_no_faults(testcase):
    assert judged(testcase) == []


def test_a_number_of_bodies_that_was_lost_is_no_pass():
    def lose(record):
        record["results"].remove(results_of(record)[1])

    assert judged(change=lose) == [f"{STRONG}: 2 sizes should be measured, but the record has 1, without 8192 bodies"]
    (said,) = judged(bodies="2100")
    assert said == f"{STRONG}: 1 size should be measured, but the record has 2"


def test_each_test_case_has_default_bodies():
    for check in (scaling.device_scaling, scaling.rank_scaling, scaling.node_scaling):
        assert set(check.usual_bodies) == set(scaling.CASES)
    weak, strong = (scaling.device_scaling.usual_bodies[f"nbody_float_{one}"] for one in ("weak", "strong"))
    assert strong == "65536,262144,1048576" and weak == "65536,262144"


def test_every_number_of_devices_must_be_there():
    assert f"{STRONG} of 2100 bodies: its columns lack 4-devices" in " ".join(judged(devices=4))


def test_the_efficiency_that_a_partition_promises_is_of_the_most_bodies():
    assert judged(extras={"scaling_efficiency": {STRONG: 10}}) == []
    assert judged(extras={"scaling_efficiency": {"nbody_float_weak": 100}}) == [], "of another test case"

    def slow(record):
        results_of(record)[1]["parts"]["efficiency"]["values"] = [[100.0, 87.654]]

    assert judged(change=slow, extras={"scaling_efficiency": {STRONG: 90}}) == [
        f"{STRONG} of 8192 bodies, 2-devices: 87.7 % of the efficiency of one device, the partition specifies 90 %"
    ]


def test_columns_are_those_of_the_program():
    assert scaling.device_columns(1) == ["1-device"]
    assert scaling.device_columns(6) == ["1-device", "2-devices", "4-devices", "6-devices"]
    assert scaling.device_columns(8)[-1] == "8-devices"


def test_results_of_a_simulation_are_of_all_devices_and_know_their_bodies():
    assert all(is_simulation(result) and is_collective(result) for result in RECORD["results"])
    assert [body_count(result) for result in results_of(RECORD)] == [2100, 8192]
    assert body_count({**results_of(RECORD)[0], "parts": {}}) is None


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
