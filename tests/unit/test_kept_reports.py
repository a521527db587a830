"""The reports, records and stages that `linkmatrix run` keeps: the newest, and those on which a flag depends."""

import json
import os
import time

import pytest
import stores

from linkmatrix import cli


def test_old_reports_go_and_the_newest_stays(machine):
    machine.prepare("pass")
    for _ in range(3):
        machine.run()
    machine.run("--keep", "2")
    assert len(list((machine.folder / "reports").glob("run-report-*.json"))) == 2


def test_a_long_run_keeps_its_own_report_beside_a_short_run_that_began_later(machine):
    """Reports are kept in the order of their ends, as `show` chooses one."""
    now = time.time()
    for began, end in ((now - 300, now - 290), (now - 720, now - 1)):
        content = json.loads(machine.prepare("pass"))
        content["session_info"] |= {"time_start_unix": began, "time_end_unix": end}
        machine.store(content)
        out = machine.run("--keep", "1")[1]
    (kept,) = (machine.folder / "reports").glob("run-report-*.json")
    assert str(kept) in out.splitlines()[-2]
    assert json.loads(kept.read_text())["session_info"]["time_end_unix"] == now - 1


@pytest.fixture
def staged(machine):
    """A function that prepares a session with these folders, and returns its stage."""

    def prepare(name, output=None):
        content = json.loads(machine.prepare("pass"))
        folders = {one: machine.folder / one / name for one in ("stage", "output")} | (
            {"output": output} if output else {}
        )
        for folder in folders.values():
            programs = folder / "node" / "gpu" / "gnu" / "build_linkmatrix_1" / "prefix" / "bin"
            programs.mkdir(parents=True)
            (programs / "p2p_matrix").touch()
            (folder / "node" / "gpu" / "gnu" / "record.json").touch()
        content["session_info"] |= {f"prefix_{one}": str(folder) for one, folder in folders.items()}
        machine.store(content)
        return folders["stage"]

    return prepare


def test_the_records_and_stages_of_old_sessions_go_with_their_reports(machine, staged, tmp_path):
    for number in range(3):
        staged(f"s{number}", tmp_path / "elsewhere" if number == 0 else None)
        machine.run("--keep", "2")
    assert {path.name for path in (machine.folder / "stage").iterdir()} == {"s1", "s2"}
    assert {path.name for path in (machine.folder / "output").iterdir() if path.name.startswith("s")} == {"s1", "s2"}
    assert (tmp_path / "elsewhere").exists()  # no folder of a session in the prefix


@pytest.mark.parametrize(("more", "kept"), [([], False), (["--", "--keep-stage-files"], True)])
def test_a_stage_keeps_what_a_verdict_needs_and_no_programs(machine, staged, more, kept):
    stage = staged("s0")
    machine.run(*more)
    assert [path.name for path in stage.rglob("*") if path.is_file()].count("record.json") == 1
    assert bool(list(stage.rglob("p2p_matrix"))) == kept


def test_a_clock_that_jumps_removes_no_report(machine):
    """A machine whose clock is years ahead for a while took all that was measured before for old."""
    machine.prepare("pass")
    for _ in range(3):
        machine.run()
    reports = machine.folder / "reports"
    for number, path in enumerate(sorted(reports.glob("run-report-*.json"))):
        years_ago = time.time() - (900 + number) * 86400
        os.utime(path, (years_ago, years_ago))
    for count in (4, 5):  # by the same clock: the report of the run before is new to it
        out = machine.run("--keep-days", "400")[1]
        kept = "3 reports before half a year without reports"
        assert f"kept, because the clock may have jumped: {kept}" in out
        assert len(list(reports.glob("run-report-*.json"))) == count
    assert "removed 3 old reports" in machine.run("--keep", "3")[1]


def test_reports_go_by_their_days_where_the_clock_is_right(machine):
    machine.prepare("pass")
    for _ in range(3):
        machine.run()
    reports = machine.folder / "reports"
    for days, path in zip((30, 150, 290), sorted(reports.glob("run-report-*.json")), strict=True):
        os.utime(path, (time.time() - days * 86400,) * 2)
    out = machine.run("--keep-days", "100")[1]
    assert "removed 2 old reports" in out and "the clock" not in out
    assert len(list(reports.glob("run-report-*.json"))) == 2


def test_a_report_of_a_clock_that_was_ahead_is_not_the_newest_for_ever(machine, capsys):
    """It passed, and `show` of the folder went on to say so, whatever came after it."""
    reports = machine.folder / "reports"
    for began, result in ((time.time() + 4e8, "pass"), (time.time(), "fail")):
        content = json.loads(machine.prepare(result))
        content["session_info"]["time_start_unix"] = began
        machine.store(content)
        machine.run()
    assert len(list(reports.glob("run-report-*.json"))) == 2
    assert cli.main(["show", str(reports)]) == 3
    machine.run("--keep", "1")  # its own, and not that one
    assert cli.main(["show", str(reports)]) == 3


def test_the_report_that_flags_a_device_stays_until_the_flag_is_removed(machine, make_record):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    machine.run()
    (flags,) = (machine.folder / "reports").glob("run-report-*.json")
    machine.prepare("pass", content=stores.of_node(make_record(), "node002"))
    out = machine.run("--keep", "1")[1]
    assert "gpu3 of node001 is flagged since" in out and flags.exists()
    assert "kept, because a flag depends on them: 1 old report" in out
    machine.prepare("pass", content=make_record() | {"started": "2026-11-22T01:50:22Z"})
    out = machine.run("--keep", "1", "--clean-runs", "1")[1]
    assert "is flagged" not in out and "removed 2 old reports" in out and not flags.exists()


def test_the_clean_runs_after_a_flag_stay_until_they_remove_it(machine, make_record):
    machine.prepare("pass", off={(3, c): 350.0 for c in range(3)})
    machine.run("--keep", "1")
    for day in (22, 23, 24):
        machine.prepare("pass", content=make_record() | {"started": f"2026-11-{day}T01:50:22Z"})
        out = machine.run("--keep", "1")[1]
        assert ("is flagged" in out) == (day < 24)
        assert ("removed" in out) == (day == 24)
    assert "removed 3 old reports" in out
