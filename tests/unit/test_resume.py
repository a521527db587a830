"""`linkmatrix run --resume`: what passed before is not measured again, and nothing else is left out."""

import json

import pytest

from linkmatrix.runs import resume
from tests.tools.stores import disturbed


def test_a_run_is_resumed_without_what_passed(machine):
    machine.prepare("pass", "fail", "skip", "pass")
    machine.run("--mode", "quick")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "2 test cases passed before (run-report-0.json): not measured again, except 1 to see whether" in out
    assert " -R -r --tag=quick " in machine.commands()[1] and "--exclude=/abc3" in machine.commands()[1]
    assert not any(f"--exclude=/abc{number}" in machine.commands()[1] for number in (0, 1, 2))
    code, out = machine.run("--mode", "nightly", "--resume")
    assert "all is measured again" in out and "--exclude" not in machine.commands()[2]


def test_what_the_record_fails_is_measured_again_though_reframe_passed_it(machine):
    machine.prepare("pass", "pass", "pass", off={(0, 1): 300.0})
    machine.run()
    machine.run("--resume")
    assert "--exclude=/abc2" in machine.commands()[1] and "--exclude=/abc0" not in machine.commands()[1]


def test_what_passed_stays_so_over_several_resumed_runs_and_a_whole_run_begins_anew(machine):
    machine.prepare("pass", "pass", "fail", "fail")
    machine.run()
    content = json.loads((machine.folder / "prepared.json").read_text())
    content["runs"][0]["testcases"] = content["runs"][0]["testcases"][2:]
    content["runs"][0]["testcases"][0] |= {"result": "pass", "fail_reason": None}
    (machine.folder / "prepared.json").write_text(json.dumps(content))
    machine.run("--resume")
    machine.run("--resume")
    assert "--exclude=/abc1 --exclude=/abc2" in machine.commands()[2]
    machine.run()
    machine.run("--resume")
    assert "--exclude" not in machine.commands()[4]


def test_where_nothing_is_left_the_run_before_is_judged_again(machine):
    machine.prepare("pass", "pass")
    assert machine.run()[0] == 0
    (machine.folder / "prepared.json").unlink()  # ReFrame writes no report of no test
    for _ in range(2):
        code, out = machine.run("--resume")
        assert code == 0 and "nothing is left to measure" in out and "2 test cases: 2 PASS" in out
    machine.prepare("fail", "pass")
    assert machine.run()[0] == 3
    (machine.folder / "prepared.json").unlink()
    code, out = machine.run("--resume")
    assert code == 3 and "1 INCOMPLETE" in out  # a selection that has become smaller makes no pass


@pytest.mark.parametrize("when", [4e9, float("nan"), float("inf")])
def test_what_passed_by_a_clock_that_was_ahead_does_not_count_for_ever(tmp_path, capsys, when):
    last = tmp_path / "last.json"
    said = {
        "report": None,
        "stamp": "20991231T000000Z-7",
        "whole": True,
        "passed": {"abc0": [["node:gpu", "a", 12, when, {}]]},
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
    machine.prepare("pass", "pass", "fail")
    machine.run("--system=nosuch")
    assert refused("--", "--nosuch")[0] == 2
    machine.prepare("pass", "pass", "fail")
    machine.run("--system=nosuch", "--resume")
    assert "--exclude=/abc1" in machine.commands()[-1]


def replaced(content):
    """The GPU in slot 3 is another one."""
    content["devices"][3]["part"] = {"serial": "990"}


def updated(content):
    """The driver is another one."""
    content["software"]["driver"] = "590.1"


@pytest.mark.parametrize(("change", "what"), [(replaced, "3 1653 -> 990"), (updated, "driver 580.159.04 -> 590.1")])
def test_passes_of_replaced_gpus_or_of_another_driver_do_not_count(machine, make_record, change, what):
    machine.prepare("pass", "pass", "pass", "fail")
    machine.run()
    content = make_record()
    change(content)
    machine.prepare("pass", content=content)
    code, out = machine.run("--resume")
    assert "--exclude=/abc1 --exclude=/abc2" in machine.commands()[1]
    assert code == 3 and f"node001 changed ({what})" in out and "run without --resume" in out
    machine.run("--resume")
    assert "--exclude" not in machine.commands()[2], "only the new record counts, and that is measured again"


def test_passes_of_the_same_components_count_when_all_is_resumed(machine):
    machine.prepare("pass", "pass", "pass")
    machine.run()
    code, out = machine.run("--resume")
    assert code == 0 and "changed" not in out.replace("whether components changed", "")


def test_the_test_case_that_is_measured_again_is_the_one_with_the_fewest_cells():
    def passed(cells, machine, partition="a:gpu"):
        return (resume.Passed(partition, "case", cells, 0.0, machine),)

    on = {"n1": {"driver": "580"}}
    before = resume.Before({"f": passed(0, {}), "m": passed(12, on), "t": passed(0, on), "x": passed(9, on, "b:gpu")})
    assert before.again == {"t", "x"} and before.options() == ["--exclude=/f", "--exclude=/m"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content["notes"].append("simulated fault: slow=gpu3"),
        lambda content: content["results"][0].update(others=disturbed("node001")),
    ],
)
def test_a_simulated_fault_or_a_disturbed_test_case_did_not_pass(judged_run, make_record, spoil):
    content = make_record()
    _, (good,) = judged_run(content, reference="hgx", hashcode="abc0")
    assert resume.passed_in([good], 0.0)["abc0"]
    spoil(content)
    _, (one,) = judged_run(content, reference="hgx", hashcode="abc0")
    assert resume.passed_in([one], 0.0) == {"abc0": ()}
