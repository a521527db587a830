"""Run, report and records belong together by stamp, host, check, job and time; what does not is no verdict."""

import json
import os
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.record import compact
from linkmatrix.references.tables import References
from linkmatrix.runs import folders, judging, stored, testcases

BEGAN = 1795225822.0  # 2026-11-21T01:50:22Z, when the records of these tests began


@pytest.fixture
def judged(tmp_path, write_record, reference_folder):
    """The verdict and the reasons of a test case that passed, with its record, as its report has it."""

    def judge(content=None, changes=None, **case):
        place = tmp_path / "results" / "output" / "p2p"
        if content is not None:
            write_record(content, place / "record.json")
        case = {
            "name": "intranode_p2p",
            "display_name": "intranode_p2p %testcase=a",
            "result": "pass",
            "fixture": False,
            "outputdir": str(place),
            "stagedir": str(place),
            "system": "hgx",
            "partition": "gpu",
            "environ": "builtin",
            "reference_name": "hgx",
            "job_nodelist": ["node001"],
            "job_submit_time": BEGAN - 20,
            "job_completion_time_unix": BEGAN + 30,
            **case,
        }
        session = {"cmdline": "reframe -r", "time_start_unix": BEGAN - 60, "time_end_unix": BEGAN + 60}
        report = tmp_path / "results" / "reports" / "run-report-0.json"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(json.dumps({"session_info": session | (changes or {}), "runs": [{"testcases": [case]}]}))
        (one,) = judging.judge_all(stored.find(report), References.load(reference_folder), None)
        return one.verdict, " ".join(one.reasons)

    return judge


def test_the_record_of_this_job_passes(judged, make_record):
    assert judged(make_record()) == (Verdict.PASS, "")
    assert judged(make_record(), job_nodelist=["node001.site.org"])[0] is Verdict.PASS
    assert judged(make_record(), job_nodelist=None)[0] is Verdict.PASS  # not every scheduler says it
    assert judged(make_record(), job_submit_time=None, job_completion_time_unix=None)[0] is Verdict.PASS


def test_a_check_that_measures_and_whose_record_is_not_kept_is_no_pass(judged, make_record):
    how = {"keep_files": [], "executable_opts": ["--testcase", "a", "--record", "record.json"]}
    verdict, why = judged(**how)
    assert verdict is Verdict.INCOMPLETE and "keep_files" in why
    verdict, _ = judged(keep_files=["other.txt"], testcase="device_to_device_memcpy_write_ce")
    assert verdict is Verdict.INCOMPLETE


def test_a_check_that_leaves_no_record_is_its_own_verdict(judged):
    assert judged(keep_files=[], executable_opts=[])[0] is Verdict.PASS


def test_a_record_of_another_host_is_not_this_runs(judged, make_record):
    verdict, why = judged(make_record(), job_nodelist=["n77"])
    assert verdict is Verdict.INCOMPLETE and "n77" in why and "node001" in why


def test_hosts_that_are_called_by_their_address_are_told_apart(judged, make_record):
    content = make_record(host="10.0.0.6")
    for device in content["devices"]:
        device["node"] = "10.0.0.6"
    verdict, why = judged(content, job_nodelist=["10.0.0.5"])
    assert verdict is Verdict.INCOMPLETE and "of 10.0.0.6, and the job ran on 10.0.0.5" in why
    assert judged(content, job_nodelist=["10.0.0.6"])[0] is Verdict.PASS


def test_a_record_of_another_check_is_not_this_runs(judged, make_record):
    content = make_record()
    content["asked_by"] = "rank_p2p %testcase=b"
    verdict, why = judged(content)
    assert verdict is Verdict.INCOMPLETE and "rank_p2p %testcase=b" in why
    content["asked_by"] = "intranode_p2p %testcase=a"
    assert judged(content)[0] is Verdict.PASS


@pytest.mark.parametrize("started", ["2020-11-21T01:50:22Z", "2026-11-21T02:20:22Z", "2026-11-21T01:20:22Z"])
def test_a_record_of_another_time_is_incomplete(judged, make_record, started):
    content = make_record()
    content["started"] = started
    verdict, why = judged(content)
    assert verdict is Verdict.INCOMPLETE and started in why and "clock" in why
    verdict, why = judged(content, job_submit_time=None, job_completion_time_unix=None)  # then that of the session
    assert verdict is Verdict.INCOMPLETE


def test_a_folder_that_cannot_be_read_is_not_passed_over(tmp_path, write_record, monkeypatch):
    for name in ("a", "b"):
        write_record(path=tmp_path / "many" / name / "record.json")
    real = os.scandir

    def scandir(path="."):
        if Path(os.fsdecode(path)).name == "b":
            raise PermissionError(13, "Permission denied", os.fsdecode(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(BadInput, match=r"many/b cannot be read: Permission denied"):
        stored.find(tmp_path / "many")


def test_reports_that_cannot_be_listed_are_not_none(tmp_path, monkeypatch):
    (tmp_path / "reports").mkdir()

    def scandir(path="."):
        raise PermissionError(13, "Permission denied", os.fsdecode(path))

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(BadInput, match="reports cannot be read: Permission denied"):
        folders.reports(tmp_path)


def test_a_compact_form_of_another_run_is_not_read(tmp_path, make_record, write_record):
    path = write_record(make_record(value=396.0))
    assert cli.main(["compact", str(path), "--least", "2"]) == 0
    assert "cells" not in testcases.load(path)["results"][0] and path.with_suffix(".npz").is_file()
    write_record(make_record(value=300.0), path)
    os.utime(path, (1, 1))  # copied with its time, from where it was measured before
    assert testcases.load(path)["results"][0]["values"][0][1] == 300.0
    path.unlink()
    assert testcases.load(path)["results"][0]["values"][0][1] == 396.0


def test_a_compact_form_that_does_not_say_of_what_it_is_waits_for_its_record(tmp_path, make_record, write_record):
    path = write_record(make_record(value=300.0))
    path.with_suffix(".npz").write_bytes(compact.pack(make_record(value=396.0)))
    os.utime(path, (1, 1))
    assert testcases.load(path)["results"][0]["values"][0][1] == 300.0
