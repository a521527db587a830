"""Run, report and records belong together by stamp, host, check, job and time; what does not is no verdict."""

import json
import os
from pathlib import Path

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.judge.verdicts import Verdict
from linkmatrix.references.tables import References
from linkmatrix.runs import folders, judging, stored

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


def test_a_check_that_measures_and_whose_record_is_not_kept_is_no_pass(judged, make_record):
    how = {"keep_files": [], "executable_opts": ["--testcase", "a", "--record", "record.json"]}
    verdict, why = judged(**how)
    assert verdict is Verdict.INCOMPLETE and "keep_files" in why
    verdict, _ = judged(keep_files=["other.txt"], testcase="device_to_device_memcpy_write_ce")
    assert verdict is Verdict.INCOMPLETE


def test_a_check_that_leaves_no_record_is_its_own_verdict(judged):
    assert judged(keep_files=[], executable_opts=[])[0] is Verdict.PASS


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
