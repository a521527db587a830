import json
import os

import pytest

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.runs import folders, stored
from tests.tools.plain_record import TESTCASE, one_record


@pytest.fixture
def report(tmp_path):
    """Writes a ReFrame report of the given test cases, as 4.10 does."""

    def write(*cases, name="run-report-0.json", **session):
        path = tmp_path / "results" / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        session = {"data_version": "4.2", "cmdline": "reframe -r", "num_cases": len(cases), **session}
        path.write_text(json.dumps({"session_info": session, "runs": [{"testcases": list(cases)}]}))
        return path

    return write


def case(folder=None, result="pass", **more):
    place = str(folder) if folder else None
    return {"name": "p2p", "display_name": "p2p %testcase=a", "result": result, "fixture": False} | {
        "outputdir": place,
        "stagedir": place,
        "system": "hgx",
        "partition": "gpu",
        **more,
    }


def test_a_record_is_a_run_of_its_own(write_record):
    run = stored.find(write_record())
    assert [test.name for test in run.tests] == ["device_to_device_memcpy_write_ce"]
    assert run.rerun.startswith("p2p_matrix --testcase")


def test_a_report_leads_to_records_and_the_references_of_their_partition(tmp_path, report, write_record):
    write_record(path=tmp_path / "kept" / "record.json")
    run = stored.find(report(case(tmp_path / "kept", reference_name="hgx")))
    assert run.tests[0].record is not None
    assert (run.tests[0].reference, run.tests[0].partition, run.rerun) == ("hgx", "hgx:gpu", "reframe -r")


def test_a_test_knows_the_scheduler_of_its_partition(report):
    for name in ("slurm", "linkmatrix_slurm"):
        assert stored.find(report(case(scheduler=name))).tests[0].scheduler == "slurm"
    assert stored.find(report(case())).tests[0].scheduler == ""


def test_records_are_found_after_the_results_were_copied_elsewhere(tmp_path, report, write_record):
    write_record(path=tmp_path / "results" / "output" / "p2p" / "record.json")
    run = stored.find(report(case("/gone/prefix/output/p2p")))
    assert run.tests[0].record is not None


def test_why_a_test_was_skipped_is_what_its_check_says(report):
    skipped = report(case(result="skip", skipped="hgx:gpu has one GPU: there is no pair to measure", unmeasured=""))
    assert stored.find(skipped).tests[0].reason == "skipped: hgx:gpu has one GPU: there is no pair to measure"
    passed = report(case(result="pass", skipped="hgx:gpu has one GPU"))
    assert "has one GPU" not in stored.find(passed).tests[0].reason
    assert stored.find(report(case(result="skip"))).tests[0].reason == ""


def test_a_test_case_without_record_stays_and_says_so(tmp_path, report):
    run = stored.find(report(case(tmp_path / "nothing")))
    assert run.tests[0].record is None
    assert "no record.json" in run.tests[0].reason


def test_a_damaged_record_is_a_reason_and_not_the_end_of_the_run(tmp_path, report):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "record.json").write_text("{")
    run = stored.find(report(case(tmp_path / "kept")))
    assert run.tests[0].record is None
    assert "not valid JSON" in run.tests[0].reason


def test_a_failed_test_case_never_takes_the_record_of_an_earlier_run(tmp_path, report, write_record):
    write_record(path=tmp_path / "kept" / "record.json")
    stage = str(tmp_path / "stage")
    failed = case(tmp_path / "kept", "fail", stagedir=stage, fail_reason="sanity error: cpu1->cpu0 is 'corrupt'")
    run = stored.find(report(failed))
    assert run.tests[0].record is None
    assert "cpu1->cpu0 is 'corrupt'" in run.tests[0].reason


def test_a_fixture_is_seen_only_where_it_failed(report):
    built = case(result="pass", fixture=True)
    broken = case(result="fail", fixture=True, fail_reason="build error:\n  no compiler\n  at all")
    run = stored.find(report(built, broken))
    assert [test.reason for test in run.tests] == ["build error: no compiler; at all"]


def test_a_run_of_no_test_case_says_how_to_list_them(report):
    run = stored.find(report())
    assert run.tests == ()
    assert "ran no test case" in run.notes[0]


def test_a_dry_run_is_not_the_newest_run(report, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    dry = report(case(), name="run-report-1.json", cmdline="reframe -R --mode=quick --dry-run -v")
    with pytest.raises(BadInput, match="only reports of dry runs and interrupted runs"):
        stored.find(None)
    measured = report(case(), name="run-report-0.json", cmdline="reframe -r")
    assert stored.find(None).path == stored.find(measured.parent.parent).path == measured
    assert stored.find(dry).path == dry


def test_an_interrupted_run_is_not_the_newest_run(report, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    counts = {"num_cases": 3, "num_failures": 0, "num_aborted": 2}
    interrupted = report(case(), name="run-report-2.json", time_start_unix=1795225824.5, **counts)
    with pytest.raises(BadInput, match="interrupted runs"):
        stored.find(None)
    failed = report(case(), name="run-report-1.json", time_start_unix=1795225823.5, **counts | {"num_failures": 1})
    assert stored.find(None).path == failed, "a failure before the signal is shown"
    assert stored.find(interrupted).path == interrupted


def test_the_newest_report_is_the_default(report, monkeypatch, tmp_path):
    report(case(), name="run-report-10.json", time_start_unix=1795225822.5)
    new = report(name="run-report-9.json", time_start_unix=1795225823.5)
    os.utime(new, (1, 1))  # when it was copied says nothing

    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    assert stored.find(None).path == new
    assert stored.find(tmp_path / "results").path == new


def test_the_default_is_the_run_that_ended_last(report, monkeypatch, tmp_path, capsys):
    """A run of 12 minutes that ends now is newer than one of 10 seconds that began and ended meanwhile."""
    long = report(case(), name="run-report-1.json", time_start_unix=1795225822.5, time_end_unix=1795226542.5)
    report(case(), name="run-report-2.json", time_start_unix=1795226000.5, time_end_unix=1795226010.5)
    ahead = {"time_start_unix": 1795226001.5, "time_end_unix": 99999999999.5}  # of a clock that was wrong
    report(case(), name="run-report-3.json", **ahead)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "1000")
    assert stored.find(None).path == stored.find(tmp_path / "results").path == long
    cli.main(["show"])
    said = capsys.readouterr().out
    assert str(long) in said and "2026-11-21T01:50:22Z" in said and "2026-11-21T02:02:22Z" in said


def test_show_names_the_report_that_it_chose(report, monkeypatch, tmp_path, capsys):
    """A later session without tests, or with --report-file, left no report here."""
    new = report(case(), time_start_unix=1795225822.5)
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "1000")
    cli.main(["show"])
    said = capsys.readouterr().out
    assert str(new) in said and "2026-11-21" in said
    cli.main(["show", str(new)])
    assert "2026-11-21" not in capsys.readouterr().out


def test_session_numbers_decide_between_reports_of_one_moment(report):
    paths = [report(name=f"run-report-{number}.json", time_start_unix=1795225822) for number in (9, 10)]
    for path in paths:
        os.utime(path, (1, 1))
    assert folders.newest_report(paths[0].parent).name == "run-report-10.json"


def test_a_folder_of_records_without_report_is_a_run(tmp_path, write_record):
    for day, name in enumerate(("a", "b"), 1):
        record = one_record() | {"started": f"2026-11-{day:02}T01:50:22Z"}
        write_record(record, path=tmp_path / "many" / name / "record.json")
    assert len(stored.find(tmp_path / "many").tests) == 2


def test_a_folder_of_records_of_other_names_is_a_run(tmp_path, write_record):
    for day, name in enumerate(("a.record.json", "b.json"), 1):
        write_record(one_record() | {"started": f"2026-11-{day:02}T01:50:22Z"}, path=tmp_path / name)
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "text.txt").write_text('{"schema": "linkmatrix.record/2"}')
    assert [test.path.name for test in stored.find(tmp_path).tests] == ["a.record.json", "b.json"]
    write_record(path=tmp_path / "c" / "record.json")
    assert [test.path.name for test in stored.find(tmp_path).tests] == ["record.json"]


def a_session(folder, write_record, measured, parts, day=1):
    """Records below a folder as a session leaves them for all that was measured, and its tests for their parts."""
    whole = one_record() | {"started": f"2026-11-{day:02}T01:50:22Z"}
    first = whole["results"][0]
    whole["results"] = [first, {**first, "testcase": "another"}][:measured]
    whole["asked_by"] = "node_session" if measured > 1 else f"intranode_p2p %testcase={TESTCASE}"
    write_record(whole, folder / "node_session" / "process1" / "record.json")
    for result in whole["results"][:parts]:
        part = {**whole, "results": [result], "asked_by": f"intranode_p2p %testcase={result['testcase']}"}
        write_record(part, folder / result["testcase"] / "record.json")


@pytest.mark.parametrize("measured", [1, 2])
@pytest.mark.parametrize("parts", [0, 1, 2])
def test_what_a_session_measured_counts_once_in_a_folder(tmp_path, write_record, measured, parts):
    """Its own record stands beside those of its tests: two runs would pass for four, and be enough for references."""
    for day, run in enumerate(("monday", "tuesday"), 1):
        a_session(tmp_path / run, write_record, measured, parts, day)
    tests = stored.find(tmp_path).tests
    assert sorted(result["testcase"] for test in tests for result in test.record["results"]) == sorted(
        2 * ["another", TESTCASE][-measured:]
    )
    if parts == 2:
        assert {test.record["asked_by"].split()[0] for test in tests} == {"intranode_p2p"}


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_a_folder_named_twice_or_copied_is_one_run(tmp_path, write_record, parts):
    for place in ("monday", "copy"):
        a_session(tmp_path / place, write_record, 2, parts)
    once = stored.find_all([tmp_path / "monday"])
    for paths in ([tmp_path / "monday"] * 2, [tmp_path / "monday", tmp_path / "copy"], [tmp_path]):
        found = stored.find_all(paths).tests
        assert [test.record["results"] for test in found] == [test.record["results"] for test in once.tests]


def test_a_record_beside_the_report_that_has_it_counts_once(tmp_path, report, write_record):
    kept = write_record(path=tmp_path / "output" / "record.json")
    path = report(case(kept.parent), case(result="skip", display_name="skipped"))
    alone = stored.find(path)
    assert [len(run.tests) for run in stored.find_each([path, kept, path])] == [len(alone.tests), 0, 0]
    assert [len(run.tests) for run in stored.find_each([kept, path])] == [0, len(alone.tests)]


def test_two_tests_of_a_report_that_read_one_measurement_are_two_verdicts_and_one_measurement(
    tmp_path, report, write_record
):
    kept = write_record(path=tmp_path / "output" / "record.json")
    path = report(case(kept.parent), case(kept.parent, display_name="again"))
    assert len(stored.find_all([path]).tests) == 2
    (run,) = stored.find_each([path], for_verdicts=False)
    assert len(run.tests) == 1 and run.again[0].endswith("so the result counts once")


def test_a_test_that_another_report_calls_failed_is_no_copy_of_one_that_passed(tmp_path, report, write_record):
    kept = write_record(path=tmp_path / "output" / "record.json")
    passed = report(case(kept.parent), name="run-report-1.json")
    failed = report(case(kept.parent, "fail", fail_phase="performance"), name="run-report-2.json")
    assert [test.result for test in stored.find_all([passed, failed]).tests] == ["pass", "fail"]
    assert [test.result for test in stored.find_all([failed, passed]).tests] == ["fail"]


@pytest.mark.parametrize("text", ["", "{", "[]", "[1]", '{"a": 1}', '{"runs": [{}], "session_info": {}}', "\ufeff{}"])
def test_what_is_no_run_is_refused_with_the_name_of_the_file(tmp_path, text):
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="odd.json"):
        stored.find(path)


def test_a_missing_path_and_an_empty_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BadInput, match=path.name):
            stored.find(path)
