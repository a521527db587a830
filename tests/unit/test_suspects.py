"""A device that a run blames stays suspect until enough clean runs, and what is missing neither blames nor clears."""

import copy
import json
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import stored, testcases
from linkmatrix.runs.judging import judge
from linkmatrix.runs.suspects import run_flags, suspects

TESTCASE = "device_to_device_memcpy_write_ce"
PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]
REFERENCES = References(
    {("hgx", TESTCASE): {f"gpu{a}->gpu{b}": Reference(396.0, -0.02, 0.05, "GB/s") for a, b in PAIRS}}
)
GOOD = {}
EGRESS = {(3, c): 350.0 for c in range(3)}
LINK = {(1, 2): 350.0, (2, 1): 350.0}
LOST = {(3, c): "timeout" for c in range(3)}


@pytest.fixture
def after(make_record):
    """The suspects after runs with these cells, a day each."""

    def look(*offs, clean_runs=3, change=lambda number, content: None, result="", references=REFERENCES, room=""):
        found = []
        for number, off in enumerate(offs):
            content = copy.deepcopy(make_record(off=off, result="TIMEOUT" if off is LOST else "PASS"))
            content["started"] = f"2026-11-{1 + number:02}T01:50:22Z"
            change(number, content)
            test = testcases.Test(TESTCASE, result=result, record=content, unmeasured=room)
            found.append(stored.Run(Path("r"), (test,)))
        return suspects(found[::-1], references, "hgx", clean_runs)  # the order of the files says nothing

    return look


def test_a_device_stays_suspect_until_three_clean_runs(after):
    assert after(GOOD, GOOD) == []
    (one,) = after(GOOD, EGRESS)
    assert (one.node, one.label, one.since[:10], one.clean, one.flagged, one.seen) == (
        "node001",
        "gpu3",
        "2026-11-02",
        0,
        1,
        2,
    )
    assert [one.clean for one in after(EGRESS, GOOD, GOOD)] == [2]
    assert after(EGRESS, GOOD, GOOD, GOOD) == []
    assert after(EGRESS, GOOD, clean_runs=1) == []


def test_one_that_comes_and_goes_begins_to_be_cleared_anew_and_is_counted(after):
    (one,) = after(EGRESS, GOOD, GOOD, EGRESS, GOOD)
    assert (one.since[:10], one.clean, one.flagged, one.seen) == ("2026-11-01", 1, 2, 5)
    said = one.sentence(3)
    assert said.startswith(
        "gpu3 of node001 is flagged since 2026-11-01 01:50 (in 2 of 5 runs; 1 of 3 clean runs of"
        " device_to_device_memcpy_write_ce NV18 so far)"
    )
    assert "gpu3 sends" in said


def test_a_clean_run_clears_once_however_often_its_report_was_copied(make_record):
    def run(off, day):
        content = make_record(off=off) | {"started": f"2026-11-{day}T01:50:22Z"}
        return stored.Run(Path("r"), (testcases.Test(TESTCASE, record=content),))

    (one,) = suspects([run(EGRESS, 10), *(run(GOOD, 11) for _ in range(3))], REFERENCES, "hgx", 3)
    assert (one.label, one.clean, one.seen) == ("gpu3", 1, 2)


def test_what_is_missing_neither_blames_nor_clears(after):
    assert after(GOOD, LOST) == []
    (one,) = after(EGRESS, LOST, LOST, LOST)
    assert one.label == "gpu3" and one.clean == 0
    (one,) = after(EGRESS, GOOD, GOOD, GOOD, references=REFERENCES, change=drop_all_but(0))
    assert one.clean == 0


@pytest.mark.parametrize("room", ["", "not measured whole: the job was preempted by another one"])
def test_cells_without_a_value_flag_nobody_and_cells_that_fail_beside_them_do(after, room):
    of_one_device = {**LOST, **{(r, 3): "timeout" for r in range(3)}}
    assert after(of_one_device, result="fail", room=room) == []
    (one,) = after({**EGRESS, (0, 1): "timeout"}, result="fail", room=room)
    assert one.label == "gpu3" and "gpu3 sends 11.6 % slow" in one.reason


def test_a_node_whose_clock_is_wrong_stays_suspect(make_record):
    runs = []
    for day, off in enumerate([GOOD, GOOD, GOOD, EGRESS], 1):
        content = make_record(off=off)
        content["started"] = "2020-01-01T00:00:00Z" if off else f"2026-11-{day:02}T01:50:22Z"
        test = testcases.Test(TESTCASE, record=content, doubts=("its clock is wrong",) if off else ())
        runs.append(stored.Run(Path("r"), (test,), started=f"2026-11-{day:02}T01:50:00Z"))
    (one,) = suspects(runs, REFERENCES, "hgx", 3)
    assert (one.label, one.since[:10], one.clean) == ("gpu3", "2026-11-04", 0)


def test_a_record_that_may_be_of_another_run_clears_nobody(make_record):
    runs = []
    for day, off in enumerate([EGRESS, GOOD], 1):
        test = testcases.Test(TESTCASE, record=make_record(off=off), doubts=() if off else ("its clock is wrong",))
        runs.append(stored.Run(Path("r"), (test,), started=f"2026-11-{day:02}T01:50:00Z"))
    (one,) = suspects(runs, REFERENCES, "hgx", 1)
    assert one.clean == 0


def drop_all_but(kept):
    """Runs without any result but one: they say nothing about a device."""

    def change(number, content):
        if number != kept:
            content["results"] = []

    return change


def test_the_two_ends_of_a_link_are_suspect_and_the_others_are_not(after):
    assert {one.label for one in after(LINK)} == {"gpu1", "gpu2"}


def test_without_references_nobody_is_blamed(after):
    other = References({("hgx", "another_testcase"): {"gpu0->gpu1": Reference(1.0, -0.1, 0.1, "GB/s")}})
    assert after(EGRESS, references=other) == []


def test_wrong_data_blames_both_ends(after):
    found = after({(0, 1): "corrupt"}, change=lambda _, content: content.update(result="FAIL"))
    assert {one.label for one in found} == {"gpu0", "gpu1"}


def test_the_reason_of_a_rank_has_its_number_in_its_node_too(after):
    """A flag follows the number within the node: the number in a job differs from job to job."""

    def on_two_nodes(number, content):
        names = {f"gpu{at}": f"n{1 + at // 2}:rank{at}" for at in range(4)}
        text = json.dumps(content)
        for old, new in names.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        content |= json.loads(text)
        for at, device in enumerate(content["devices"]):
            device["node"] = device["place"]["node"] = f"n{1 + at // 2}"

    found = after({(1, 2): "corrupt"}, change=on_two_nodes)
    assert [(one.node, one.label) for one in found] == [("n1", "rank1"), ("n2", "rank0")]
    for one in found:
        assert "n1:rank1->n2:rank0" in one.sentence(3) and "rank2" not in one.sentence(3)


def test_counters_that_failed_a_test_blame_their_device(after):
    def count(_, content):
        counters = [{"name": "nvlink_replay", "before": 0, "after": 12}]
        content["health"] = [{"label": "gpu2", "counters": counters, "readings": []}]

    assert [one.label for one in after(GOOD, change=count, result="fail")] == ["gpu2"]
    assert after(GOOD, change=count, result="pass") == []


def exchange(number, content):
    content["devices"][3]["part"] = {"serial": f"99{number}"}


def test_a_new_device_does_not_clear_a_bad_slot_and_three_clean_runs_do(after):
    (one,) = after(EGRESS, GOOD, change=exchange)
    assert (one.label, one.place, one.part, one.clean) == ("gpu3", "node001/slot 3", "GPU serial 991", 1)
    assert (
        "it is not known yet whether the component (GPU serial 990) or the slot (node001/slot 3) is at fault"
        in one.swap
    )
    assert after(EGRESS, GOOD, GOOD, GOOD, change=exchange) == []
    (one,) = after(EGRESS, EGRESS, change=exchange)
    assert (one.place, one.seen, one.flagged) == ("node001/slot 3", 2, 2)
    assert one.swap == (
        "the fault stayed with the slot (node001/slot 3: GPU serial 990 is gone, and GPU serial 991 is there now)"
    )


def test_a_bad_slot_stays_suspect_when_its_device_went_elsewhere_and_nothing_is_in_it(make_record):
    runs = []
    for day, host in enumerate(["n1", "n1", "n2", "n2", "n2"], 1):
        content = copy.deepcopy(make_record(off=EGRESS if host == "n1" else GOOD, host=host))
        content["started"] = f"2026-11-{day:02}T01:50:22Z"
        for device in content["devices"]:
            device["node"] = device["place"]["node"] = host
        runs.append(stored.Run(Path("r"), (testcases.Test(TESTCASE, record=content),)))
    (one,) = suspects(runs, REFERENCES, "hgx", 3)
    assert (one.node, one.place, one.flagged) == ("n1", "n1/slot 3", 2)


def test_history_names_them(tmp_path, make_record, write_record, reference_folder, linkmatrix):
    paths = [str(write_record(make_record(off=EGRESS), tmp_path / name / "record.json")) for name in "ab"]
    options = ["--references", str(reference_folder), "--reference", "hgx"]
    assert "gpu3 of node001 is flagged since" in linkmatrix.out("history", *paths, *options)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["history", *paths, *options, "--clean-runs", "0"])


def test_a_real_run_suspects_nobody():
    path = Path(__file__).parents[1] / "data" / "h200x4_full.record.json"
    assert json.loads(path.read_text())["devices"]
    assert suspects([stored.find(path)], References.load(), "hgx-h200-half", 3) == []


def test_runs_by_a_clock_that_is_ahead_clear_nothing(after):
    def ahead(number, content):
        if number:
            content["started"] = f"2199-01-{number:02}T00:00:00Z"

    (one,) = after(EGRESS, GOOD, GOOD, GOOD, change=ahead)
    assert (one.label, one.clean) == ("gpu3", 0)


@pytest.mark.parametrize("slow", [2, 3])
def test_instances_of_one_gpu_are_no_place_together(after, slow):
    def divided(_, content):
        for device in content["devices"][2:]:
            uuid = f"MIG-{device['label']}"
            device |= {"pci": "0000:99:00.0", "uuid": uuid, "part": {"uuid": uuid}, "place": {"node": "node001"}}

    bad = {(slow, column): 350.0 for column in range(4) if column != slow}
    for clean in range(3):
        (one,) = after(GOOD, bad, *[GOOD] * clean, change=divided)
        assert (one.label, one.clean, one.seen) == (f"gpu{slow}", clean, 2 + clean)
    assert after(bad, GOOD, GOOD, GOOD, change=divided) == []


def test_a_program_that_looks_for_no_other_process_fails_and_flags_no_component(make_record):
    """nvbandwidth, OSU and NCCL tests: nobody knows whether another process made the link slow."""
    record = make_record(off=EGRESS)
    assert not record["results"][0].get("others")
    record |= {"backend": "imported", "program": "nvbandwidth"}
    test = testcases.Test(TESTCASE, record=record, reference="hgx", result="fail", phase="performance")
    one = judge(test, REFERENCES, None)
    assert one.verdict is Verdict.FAIL
    assert run_flags([one])[0] == {}
    assert any("nvbandwidth does not detect other processes" in reason for reason in one.reasons)
    test = testcases.Test(TESTCASE, record=record | {"backend": "cuda"}, reference="hgx", result="fail")
    assert run_flags([judge(test, REFERENCES, None)])[0], "the program of linkmatrix flags the device"


def test_only_runs_with_short_samples_clear_an_intermittent_cell(after):
    def samples(slow):
        def listed(row, column, at):
            return (
                [] if row == column else [396.0] * 5 + [200.0 if slow and (row, column) == (0, 1) and at < 4 else 396.0]
            )

        values = [[[listed(row, column, at) for column in range(4)] for row in range(4)] for at in range(12)]
        passes = [{"began": at + 0.1, "ended": at + 0.2, "values": one} for at, one in enumerate(values)]
        return {"asked": 72, "fewest": 72, "bytes": 1 << 26, "transfers": 1, "passes": passes}

    def change(number, content):
        content["backend"] = "cuda"
        content["results"][0]["timing"] = "gate"
        if number == 0 or number > 3:
            content["results"][0]["short_samples"] = samples(number == 0)

    assert {one.label: one.clean for one in after(*[GOOD] * 4, change=change)} == {"gpu0": 0, "gpu1": 0}
    assert after(*[GOOD] * 7, change=change) == []
