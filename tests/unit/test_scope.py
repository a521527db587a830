"""A flag has a component and a scope: only undisturbed runs in the same scope remove it."""

import copy
import os
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from linkmatrix import cli, lock
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import Reference, References
from linkmatrix.runs import index, judging, missing_runs, stored, testcases
from linkmatrix.runs.scopes import Scope
from linkmatrix.runs.suspects import run_flags, suspects
from tests.tools import stores

WRITE, READ = "device_to_device_memcpy_write_ce", "device_to_device_memcpy_read_ce"
LOCAL = "device_local_copy"
PAIRS = [(a, b) for a in range(4) for b in range(4) if a != b]
CELLS = {f"gpu{a}->gpu{b}": Reference(396.0, -0.02, 0.05, "GB/s") for a, b in PAIRS}
REFERENCES = References({("hgx", name): CELLS for name in (WRITE, READ, LOCAL)})
EGRESS = {(3, c): 350.0 for c in range(3)}
SIMULATED = "simulated fault: slow=gpu3"


@pytest.fixture
def after(make_record):
    """What is flagged after runs, a day each: (test case, cells that are off, changes of the record)."""

    def look(*runs, clean_runs=3):
        found = []
        for number, (testcase, off, *changes) in enumerate(runs):
            content = copy.deepcopy(make_record(off=off)) | {"started": f"2026-11-{1 + number:02}T01:50:22Z"}
            content["results"][0]["testcase"] = testcase
            for change in changes:
                change(content)
            found.append(stored.Run(Path("r"), (testcases.Test(testcase, record=content),)))
        return suspects(found, REFERENCES, "hgx", clean_runs)

    return look


def disturb(content):
    content["results"][0]["others"] = stores.disturbed("node001")


def driver(version):
    return lambda content: content["software"].update(driver=version)


def other_class(name):
    def change(content):
        (result,) = content["results"]
        result["link_class"] = [[name if one != "X" else one for one in row] for row in result["link_class"]]

    return change


@pytest.mark.parametrize("another", [[READ, {}], [LOCAL, {}], [WRITE, {}, other_class("SYS")]])
def test_clean_runs_of_another_question_do_not_remove_a_flag(after, another):
    (one,) = after([WRITE, EGRESS], *[another] * 3)
    assert (one.label, one.clean, one.scopes) == ("gpu3", 0, (Scope(WRITE, "NV18"),))
    assert after([WRITE, EGRESS], *[another] * 3, *[[WRITE, {}]] * 3) == []


def test_clean_runs_of_another_size_do_not_remove_a_flag(make_record):
    def of_size(variant, size, **changes):
        content = make_record(**changes)
        content["results"][0]["size_bytes"] = size
        return stored.Run(Path("r"), (testcases.Test(WRITE, record=content, variant=variant),))

    references = References({("hgx", WRITE): CELLS, ("hgx@1MiB", WRITE): CELLS})
    (one,) = suspects([of_size("", 1 << 29, off=EGRESS), *[of_size("@1MiB", 1 << 20)] * 3], references, "hgx", 3)
    assert (one.label, one.clean) == ("gpu3", 0)


def test_each_question_has_a_flag_of_its_own(after):
    (one,) = after([WRITE, EGRESS], [READ, EGRESS], *[[WRITE, {}]] * 3, [READ, {}])
    assert (one.scopes, one.clean, one.since[:10]) == ((Scope(READ, "NV18"),), 1, "2026-11-02")
    (one,) = after([WRITE, EGRESS], [READ, EGRESS], [WRITE, {}])
    assert one.clean == 0 and "0 of 3 clean runs of device_to_device_memcpy_read_ce NV18 and 1 more" in one.sentence(3)


def test_clean_runs_that_another_process_disturbed_do_not_count(after):
    (one,) = after([WRITE, EGRESS], *[[WRITE, {}, disturb]] * 3)
    assert one.clean == 0


def test_nothing_is_flagged_from_a_disturbed_cell(after):
    assert [one.label for one in after([WRITE, EGRESS])] == ["gpu3"]
    assert after([WRITE, EGRESS, disturb]) == []


def test_wrong_data_is_flagged_in_spite_of_another_process_and_slow_cells_beside_it_are_not(after):
    off = {(0, 1): "corrupt", **EGRESS}
    found = after([WRITE, off, lambda content: content.update(result="FAIL"), disturb])
    assert {one.label for one in found} == {"gpu0", "gpu1"}


def test_a_driver_update_keeps_a_flag_and_begins_the_count_again(after):
    old, new = driver("580.1"), driver("590.2")
    runs = [[WRITE, EGRESS, old], *[[WRITE, {}, old]] * 2, *[[WRITE, {}, new]] * 2]
    (one,) = after(*runs)
    assert one.clean == 2 and "driver 580.1 was replaced by 590.2: only clean runs with 590.2 count" in one.sentence(3)
    assert after(*runs, [WRITE, {}, new]) == []


def counted(content):
    item = {"name": "nvlink_replay", "before": 0, "after": 12}
    content["health"] = [{"label": "gpu2", "counters": [item], "readings": []}]


def test_an_error_counter_is_a_question_of_the_test_case_as_a_whole(after):
    (one,) = after([WRITE, {}, counted])
    assert (one.label, one.scopes) == ("gpu2", (Scope(WRITE),))
    assert len(after([WRITE, {}, counted], *[[READ, {}]] * 3)) == 1
    assert after([WRITE, {}, counted], *[[WRITE, {}]] * 3) == []


def soaked(wrong):
    """A soak of nine passes, in which gpu2 computed so many wrong products."""

    def change(content):
        (result,) = content["results"]
        labels = [f"gpu{at}" for at in range(4)]
        numbers = {
            name: [[None if a == b else value for b in labels] for a in labels]
            for name, value in {"count": 9, "mean": 396.0, "deviation": 0.1, "least": 395.0, "most": 397.0}.items()
        }
        bins = [[[] if a == b else [396.0] * 4 for b in labels] for a in labels]
        matrix = {name: result[name] for name in ("testcase", "unit", "size_bytes", "rows", "columns")} | numbers
        matrix |= {"first_at": numbers["least"], "worst_at": numbers["least"], "bins": bins}
        heated = [{"label": one, "products": 1000, "wrong": wrong if one == "gpu2" else 0} for one in labels]
        content["soak"] = {"asked": 600.0, "seconds": 600.0, "passes": 9, "failures": 0, "bin_seconds": 150.0}
        content["soak"] |= {"heated": heated, "matrices": [matrix], "events": [], "events_left_out": 0}

    return change


def test_a_device_that_computed_wrong_bits_is_unflagged_by_soaks_alone(after):
    wrong, right = soaked(3), soaked(0)
    (one,) = after([WRITE, {}, wrong], *[[WRITE, {}]] * 3)
    assert (one.label, one.clean, one.scopes) == ("gpu2", 0, (Scope("soak"),))
    assert after([WRITE, {}, wrong], *[[WRITE, {}, right]] * 3) == []


@pytest.mark.parametrize(("kind", "flagged"), [("device", ["gpu3"]), ("process", []), ("memory", [])])
def test_a_lost_device_is_flagged_and_a_lost_process_or_memory_is_not(after, kind, flagged):
    def lose(content):
        content["lost"] = [{"label": "gpu3", "why": "it fell off the bus", "kind": kind}]
        content["result"] = "ERROR"

    cells = {cell: "error" for cell in PAIRS if 3 in cell}
    assert [one.label for one in after([WRITE, cells, lose])] == flagged
    assert [one.label for one in after([WRITE, {}, lose])] == flagged  # it was lost behind the last cell


def simulate(content):
    content["notes"].append(SIMULATED)


def test_a_simulated_fault_neither_flags_nor_unflags(after):
    assert after([WRITE, EGRESS, simulate]) == []
    (one,) = after([WRITE, EGRESS], *[[WRITE, {}, simulate]] * 3)
    assert one.clean == 0


def test_what_is_faster_than_its_reference_flags_nobody(after, make_record):
    fast = dict.fromkeys(PAIRS, 440.0)
    assert after([WRITE, fast]) == []
    content = make_record(off=fast)
    run = stored.Run(Path("r"), (testcases.Test(WRITE, record=content),))
    (judged,) = judging.judge_all(run, REFERENCES, "hgx")
    assert judged.verdict is Verdict.NOT_JUDGED and run_flags([judged])[:2] == ({}, {})


@pytest.fixture
def exported(sweeps, make_record, tmp_path, monkeypatch, capsys):
    """Stored sweeps of n1, one an hour until now; `exported(*words)` runs `linkmatrix export`."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.py").write_text("")
    table = sweeps.references / "p2p.yaml"
    text = table.read_text()
    cells = text[text.index(f"    {WRITE}:") :]
    table.write_text(text + cells.replace(WRITE, READ) + cells.replace(WRITE, LOCAL))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(sweeps.prefix))
    now, count = time.time() - stores.MEASURED - 30 * 3600, iter(range(1, 100))

    def add(testcase, off, *changes, result="pass", **how):
        content = stores.of_node(make_record(off=off), "n1")
        content["results"][0]["testcase"] = testcase
        for change in changes:
            change(content)
        number = next(count)
        sweeps.add(number, [content], result=result, began=now + 3600 * number, **how)

    def run(*words):
        capsys.readouterr()
        code = cli.main(["export", *map(str, words), "--references", str(sweeps.references)])
        found = capsys.readouterr()
        return code, found.out + found.err

    run.add, run.store = add, sweeps
    return run


def disturb_n1(content):
    content["results"][0]["others"] = stores.disturbed("n1")


def test_reads_alone_make_no_node_known_good_after_a_failed_write(exported):
    every = dict.fromkeys(PAIRS, 300.0)  # all alike: no device is flagged
    exported.add(WRITE, every, result="fail")
    for _ in range(3):
        exported.add(READ, {})
    code, out = exported("--format", "hostfile")
    assert code == 3 and f"n1 was FAIL 1 day ago ({WRITE} NV18)" in out
    exported.add(WRITE, {})
    assert exported("--format", "hostfile")[0] == 0


def test_a_disturbed_run_changes_nothing_and_the_third_in_a_row_keeps_the_node_off(exported):
    exported.add(WRITE, {})
    for _ in range(2):
        exported.add(WRITE, EGRESS, disturb_n1, result="fail")
        assert exported("--format", "hostfile")[0] == 0
    exported.add(READ, {})  # another scope
    exported.add(WRITE, EGRESS, disturb_n1, result="fail")
    code, out = exported("--format", "hostfile")
    streak = f"{WRITE} gpu3->gpu0 was DISTURBED in 3 runs, and no run in between was clean"
    assert code == 3 and f"n1 cannot be judged while hog runs: {streak}" in out
    reports = sorted((exported.store.prefix / "reports").iterdir())
    assert "cannot be judged while hog runs" in exported("--format", "hostfile", *reports)[1], "named runs say the same"
    exported.add(WRITE, {})
    assert exported("--format", "hostfile")[0] == 0


def test_another_component_begins_a_row_of_its_own(exported):
    def replaced(content):
        content["devices"][3]["part"] = {"serial": "990"}

    exported.add(WRITE, {})
    for _ in range(2):
        exported.add(WRITE, {(3, 0): 350.0}, disturb_n1, result="fail")
    exported.add(WRITE, {(3, 0): 350.0}, disturb_n1, replaced, result="fail")
    code, out = exported("--format", "hostfile")
    assert code == 3 and "cannot be judged while" not in out
    assert "n1 was not judged with its present components and driver" in out


def test_a_simulated_fault_changes_no_list_and_no_coverage(exported):
    exported.add(WRITE, {})
    exported.add(WRITE, EGRESS, simulate, result="fail")
    code, out = exported("--format", "slurm", "--nodes", "flagged")
    assert code == 0 and "no node is flagged" in out and "DRAIN" not in out
    assert exported("--format", "hostfile")[0] == 0
    with index.open_index(exported.store.prefix, exported.store.references) as found:
        assert len(stores.tests_in(found)) == 1


def test_a_reference_adopted_on_a_busy_day_never_drains_a_node(exported):
    """The quiet run is far over the reference, which says something about the reference and nothing about a node."""
    table = exported.store.references / "p2p.yaml"
    table.write_text(table.read_text().replace("396.0", "106.0"))
    exported.add(WRITE, {})
    code, out = exported("--format", "slurm", "--nodes", "flagged")
    assert code == 0 and "no node is flagged" in out and "DRAIN" not in out
    assert "n1 was not judged" in exported("--format", "hostfile")[1]


UNREPORTED = "INCOMPLETE 2026-11-21 01:50: run --mode=quick of alpha ended without a report"


def test_a_run_without_a_report_is_incomplete_in_the_history_and_the_index(exported, capsys, linkmatrix):
    exported.add(WRITE, {})
    assert "without a report" not in exported("--format", "hostfile")[1]
    stores.began(exported.store.prefix)
    assert UNREPORTED in exported("--format", "hostfile")[1]
    capsys.readouterr()
    assert UNREPORTED in linkmatrix.out("history")


@pytest.mark.parametrize(
    ("hours", "changes", "gone"),
    [
        (0, {}, True),
        (0, {"pid": os.getpid(), "born": lock.born(os.getpid())}, False),
        (0, {"pid": os.getpid(), "born": "1"}, True),  # the number is another process's by now
        (0, {"host": "elsewhere"}, False),
        (26, {"host": "elsewhere", "timeout": 24}, True),
        (26, {"host": "elsewhere", "timeout": 1000}, False),
        (1002, {"host": "elsewhere"}, True),
        (0, {"started": None}, True),
    ],
)
def test_a_run_ended_without_a_report_where_its_process_is_gone(tmp_path, hours, changes, gone):
    started = datetime.fromtimestamp(time.time() - 3600 * hours, timezone.utc)
    stores.began(tmp_path, **{"started": f"{started:%Y-%m-%dT%H:%M:%SZ}", **changes})
    assert len(missing_runs.ended_without_report(tmp_path)) == gone


@pytest.mark.parametrize("text", ["", "[]", '{"pid": "x"}'])
def test_a_damaged_note_of_a_run_is_a_run_without_a_report(tmp_path, text):
    file = stores.began(tmp_path)
    file.write_text(text)
    assert missing_runs.missing_run_sentences(tmp_path) == [], "it may be written now"
    os.utime(file, (time.time() - 26 * 3600,) * 2)
    ((sentence,), found) = missing_runs.missing_run_sentences(tmp_path), missing_runs.ended_without_report(tmp_path)
    assert "INCOMPLETE" in sentence and found[0].mode == "unknown"


def test_history_without_any_report_names_the_run_that_was_killed(tmp_path, monkeypatch, linkmatrix):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    stores.began(tmp_path)
    assert UNREPORTED in linkmatrix.out("history", code=3)
