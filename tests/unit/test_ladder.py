"""The ladder of advice: measure again, then swap, then repair. Faults of a whole node are not those of its devices."""

from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pytest

from linkmatrix.judge.evaluate import evaluate
from linkmatrix.locate import diagnosis, next_steps, node_causes
from linkmatrix.locate.next_steps import STAGE_STEPS, TOPICS, Stage, next_stage
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import suspects
from linkmatrix.runs.suspicion import ComponentState, Suspect
from linkmatrix.show.analysis import Analysis
from tests.tools.stores import disturbed

CASE = "device_to_device_memcpy_write_ce"


def slow(make_record, *devices, count=8):
    """A record in which these devices send and receive slowly."""
    pairs = [(r, c) for r, c in product(range(count), repeat=2) if r != c and {r, c} & set(devices)]
    return make_record(count=count, off=dict.fromkeys(pairs, 300.0))


def steps_of(judged_run, content):
    """The steps after a record, compared with references."""
    _, judged = judged_run(content, reference="hgx")
    return Analysis(None, judged).steps


def remeasured(content, before=300.0, after=300.0, outcome="reproduced"):
    """The record, with a measurement of one of its slow cells alone."""
    cell = {"row": "gpu3", "column": "gpu1", "before": before, "after": after, "outcome": outcome}
    content["results"][0]["remeasured"] = [cell]
    return content


def test_one_number_in_one_run_is_measured_again(make_record, judged_run):
    lines = steps_of(judged_run, slow(make_record, 3))
    assert lines[0].startswith("Measure gpu3 again, alone") and not [one for one in lines if "Swap" in one]


def test_what_stays_slow_alone_is_swapped(make_record, judged_run):
    lines = steps_of(judged_run, remeasured(slow(make_record, 3)))
    assert any(line.startswith("Swap gpu3 with a healthy device") for line in lines)
    assert not [line for line in lines if "Measure gpu3 again" in line]


def test_a_cell_that_is_a_little_better_alone_and_far_from_its_like_is_swapped(make_record, judged_run):
    content = remeasured(slow(make_record, 3), after=307.0)
    assert any(line.startswith("Swap gpu3") for line in steps_of(judged_run, content))


def test_a_device_whose_node_is_slow_in_another_test_case_has_one_piece_of_advice(make_record, judged_run):
    """Its steps were to swap it, and to replace no part."""
    content, other = remeasured(slow(make_record, 3)), slow(make_record, 1, 3, 5)
    content["results"].append({**other["results"][0], "testcase": "device_to_device_memcpy_read_ce"})
    _, judged = judged_run(content)
    found = [one for one in Analysis(None, judged).findings if one.component == "gpu3"]
    assert [one.topic for one in found] == ["device"] and "(also in 1 other test case)" in found[0].text


def test_what_was_throttled_when_it_was_measured_alone_is_measured_again(make_record, judged_run):
    content = remeasured(slow(make_record, 3))
    content["results"][0]["throttled"] = ["gpu3: thermal slowdown"]
    lines = steps_of(judged_run, content)
    assert any("Measure gpu3 again" in line for line in lines) and not [line for line in lines if "Swap" in line]


def test_a_cell_that_was_fine_alone_and_one_that_was_disturbed_are_measured_again(make_record, judged_run):
    fine_alone = remeasured(slow(make_record, 3), after=396.0, outcome="not-reproduced")
    again_slow = remeasured(slow(make_record, 3))
    again_slow["results"][0]["others"] = disturbed("another")
    for content in (fine_alone, again_slow):
        assert not [line for line in steps_of(judged_run, content) if "Swap" in line]


@pytest.mark.parametrize(
    ("flagged", "swap", "stage"),
    [
        (1, "", Stage.AGAIN),
        (2, "", Stage.SWAP),
        (2, "the fault followed the component (GPU 1 from slot 3 to slot 4)", Stage.REPAIR),
        (2, "it is not known yet whether the component (GPU 1) or the slot (3) is at fault: measure it", Stage.SWAP),
    ],
)
def test_flags_of_several_runs_climb_the_ladder(flagged, swap, stage):
    one = Suspect("n17", "gpu3", flagged=flagged, found=flagged, seen=3, swap=swap)
    assert [*one.advice()] == [step.replace("{who}", "gpu3") for step in STAGE_STEPS["device", stage]]


def test_a_flag_after_an_earlier_one_was_removed_begins_at_the_first_rung():
    kept = ComponentState(SimpleNamespace(driver="580"), None)
    kept.add("2026-11-01", {"write": "slow"}, [], 3)
    for day in (2, 3, 4):
        kept.add(f"2026-11-0{day}", {}, ["write"], 3)
    kept.add("2026-11-20", {"read": "slow"}, [], 3)
    assert (kept.flagged, kept.found, next_stage(kept.found)) == (2, 1, Stage.AGAIN)
    kept.add("2026-11-21", {"write": "slow"}, [], 3)
    assert next_stage(kept.found) is Stage.SWAP


def test_each_kind_of_component_has_each_rung():
    assert set(STAGE_STEPS) == {*product(next_steps.KINDS, Stage)}
    assert {*next_steps.KINDS} <= {*TOPICS}
    assert next_stage(1) < next_stage(1, remeasured=True) < next_stage(1, swapped=True)


def diagnosed(content):
    """(the diagnosis of a record, the endpoints that it flags)."""
    references = References({("hgx", CASE): {"cell[NV18]": Reference(396.0, -0.02, 0.05, "GB/s")}})
    (matrix,) = evaluate(content, references, "hgx").matrices
    flagged = suspects.matrix_flags(None, content, {}, content["results"][0], matrix)
    return diagnosis.diagnose(content, content["results"][0], matrix), {label for label, *_ in flagged}


@pytest.mark.parametrize(
    ("count", "devices", "of_node"), [(8, (3,), False), (8, (3, 5), False), (8, (1, 3, 5), True), (4, (1,), False)]
)
def test_more_than_a_third_of_the_devices_is_the_fault_of_the_node(make_record, count, devices, of_node):
    found, flagged = diagnosed(slow(make_record, *devices, count=count))
    assert {bool(one.node_cause) for one in found.findings} == {of_node}
    assert flagged == (set() if of_node else {f"gpu{device}" for device in devices})
    assert any("clocks, driver, host and" in one for one in found.sentences) is of_node


@pytest.mark.parametrize(
    ("count", "losses", "flagged"),
    [
        (4, {1: 0.75, 3: 0.04}, {1, 3}),
        (8, {1: 0.75, 3: 0.04, 5: 0.03}, {1, 3, 5}),
        (8, {1: 0.75, 3: 0.04, 5: 0.03, 6: 0.05}, {1}),
    ],
)
def test_a_device_that_is_far_slower_than_the_others_is_flagged(make_record, count, losses, flagged):
    def share(r, c):
        return min(1 - losses.get(r, 0), 1 - losses.get(c, 0))

    pairs = [(r, c) for r, c in product(range(count), repeat=2) if r != c and share(r, c) < 1]
    _, labels = diagnosed(make_record(count=count, off={pair: 396.0 * share(*pair) for pair in pairs}))
    assert labels == {f"gpu{device}" for device in flagged}


@pytest.mark.parametrize(("slow_ones", "all_of_them", "of_node"), [(2, 3, False), (1, 4, False), (2, 4, True)])
def test_three_devices_are_too_few_to_compare(slow_ones, all_of_them, of_node):
    assert bool(node_causes.slow_alike(dict.fromkeys("abcd"[:slow_ones], 0.1), all_of_them)) is of_node


def over_time(make_record, share, began):
    """The record of 8 devices whose cells are this share of usual, and began at this time: functions of the pair."""
    content = make_record(count=8)
    result = content["results"][0]
    for r, c in permutations(range(8), 2):
        result["began"][r][c] = float(began(r, c))
        for name in ("values", "low", "high"):
            result[name][r][c] = 396.0 * share(r, c)
    return content


@pytest.mark.parametrize(("loss", "said"), [(0.01, True), (0.0, False)])
def test_values_that_fall_in_the_order_of_measuring_are_a_drift(make_record, loss, said):
    def share(r, c):
        return (1 - loss * ((c - r) % 8)) * (0.8 if r == 3 else 1)

    found, flagged = diagnosed(over_time(make_record, share, lambda r, c: (c - r) % 8))
    assert any("get worse in the order of measuring" in one for one in found.sentences) is said
    assert "gpu3" in flagged, "it is slower than the drift explains"


def test_a_drift_flags_no_device_that_is_slow_by_as_much(make_record):
    found, flagged = diagnosed(over_time(make_record, lambda r, c: 1 - 0.025 * r / 7, lambda r, c: r))
    assert any("in the order of measuring, by 2.5 %" in one for one in found.sentences)
    assert found.findings and not flagged


def test_devices_of_the_farther_socket_that_are_measured_last_are_no_drift(make_record):
    rng = np.random.default_rng(33)
    for _ in range(10):
        noise = 1 + 0.0015 * rng.standard_normal(8)
        noise[:4], noise[4:] = -np.sort(-noise[:4]), -np.sort(-noise[4:])
        content = over_time(make_record, lambda r, c, noise=noise: (0.95 if r > 3 else 1) * noise[r], lambda r, c: r)
        assert not any("get worse in the order of measuring" in one for one in diagnosed(content)[0].sentences)
