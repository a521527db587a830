"""`linkmatrix run --resume`: what passed before is not measured again, and nothing else is left out."""

import json

import pytest

from linkmatrix.runs import resume


def test_a_run_is_resumed_without_what_passed(machine):
    machine.prepare("pass", "fail", "skip", "pass")
    machine.run("--mode", "quick")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "2 test cases passed before (run-report-0.json): not measured again" in out
    assert " -R -r --tag=quick " in machine.commands()[1] and "--exclude=/abc0 --exclude=/abc3" in machine.commands()[1]
    assert "--exclude=/abc1" not in machine.commands()[1] and "--exclude=/abc2" not in machine.commands()[1]
    code, out = machine.run("--mode", "nightly", "--resume")
    assert "all is measured again" in out and "--exclude" not in machine.commands()[2]


def test_what_the_record_fails_is_measured_again_though_reframe_passed_it(machine):
    machine.prepare("pass", "pass", off={(0, 1): 300.0})
    machine.run()
    machine.run("--resume")
    assert "--exclude=/abc1" in machine.commands()[1] and "--exclude=/abc0" not in machine.commands()[1]


def test_what_passed_stays_so_over_several_resumed_runs_and_a_whole_run_begins_anew(machine):
    machine.prepare("pass", "fail", "fail")
    machine.run()
    content = json.loads((machine.folder / "prepared.json").read_text())
    content["runs"][0]["testcases"] = content["runs"][0]["testcases"][1:]
    content["runs"][0]["testcases"][0] |= {"result": "pass", "fail_reason": None}
    (machine.folder / "prepared.json").write_text(json.dumps(content))
    machine.run("--resume")
    machine.run("--resume")
    assert "--exclude=/abc0 --exclude=/abc1" in machine.commands()[2]
    machine.run()
    machine.run("--resume")
    assert "--exclude=/abc1" in machine.commands()[4] and "--exclude=/abc0" not in machine.commands()[4]


def test_where_nothing_is_left_the_run_before_is_judged_again(machine):
    machine.prepare("pass", "pass")
    assert machine.run()[0] == 0
    (machine.folder / "prepared.json").unlink()  # ReFrame writes no report of no test
    for _ in range(2):
        code, out = machine.run("--resume")
        assert code == 0 and "nothing is left to measure" in out and "2 test cases: 2 PASS" in out
    machine.prepare("fail", "pass")
    assert machine.run()[0] == 1
    (machine.folder / "prepared.json").unlink()
    code, out = machine.run("--resume")
    assert code == 1 and "1 FAIL" in out  # a selection that has become smaller makes no pass


@pytest.mark.parametrize("when", [4e9, float("nan"), float("inf")])
def test_what_passed_by_a_clock_that_was_ahead_does_not_count_for_ever(tmp_path, capsys, when):
    last = tmp_path / "last.json"
    said = {
        "report": None,
        "stamp": "20991231T000000Z-7",
        "whole": True,
        "passed": {"abc0": [["node:gpu", "a", 12, when]]},
    }
    last.write_text(json.dumps(said))
    assert not resume.before(last, tmp_path, lambda report: [], 24).passed
    out = capsys.readouterr().out
    assert "by a clock that was ahead" in out and "so all is measured again" in out


def test_what_failed_is_not_said_to_have_passed_long_ago(machine):
    machine.prepare("pass", "fail")
    machine.run()
    assert "hours ago" not in machine.run("--resume")[1]


def test_an_option_that_reframe_refuses_is_bad_input_and_no_run_to_resume(machine):
    def refused(*options):
        (machine.folder / "prepared.json").unlink()
        (machine.folder / "code").write_text("2")
        code, out = machine.run("--system=nosuch", *options)
        (machine.folder / "code").unlink()
        return code, out

    machine.prepare("pass", "fail")
    code, out = refused()
    assert code == 2 and "INCOMPLETE" not in out
    assert not list((machine.folder / "locks").iterdir())
    machine.prepare("pass", "fail")
    machine.run("--system=nosuch")
    assert refused("--", "--nosuch")[0] == 2
    machine.prepare("pass", "fail")
    machine.run("--system=nosuch", "--resume")
    assert "--exclude=/abc0" in machine.commands()[-1]
