"""`linkmatrix run --resume`: what passed before is not measured again, and nothing else is left out."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from linkmatrix.record import reading
from linkmatrix.runs import modes, resume
from linkmatrix.runs.components import node_components
from tests.tools.plain_record import one_record
from tests.tools.stores import disturbed, of_node

DATA = Path(__file__).parents[1] / "data"


def test_a_run_is_resumed_without_what_passed(machine):
    machine.prepare("pass", "fail", "skip", "pass")
    machine.run("--mode", "quick")
    code, out = machine.run("--mode", "quick", "--resume")
    assert "2 test cases passed before (run-report-0.json): not measured again, except 1 to see whether" in out
    assert " --tag=quick " in machine.commands()[1] and "--exclude=/abc3" in machine.commands()[1]
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
    machine.store(content)
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
        assert code == 0 and "all tests passed earlier" in out and "2 test cases: 2 PASS" in out
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
    assert not resume.load_passes(last, tmp_path, lambda report: [], 24).passed
    out = capsys.readouterr().out
    assert "start time in the future" in out and "so all is measured again" in out


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


def test_of_each_component_the_test_case_with_the_fewest_cells_is_measured_again():
    def passed(cells, machine):
        return (resume.Passed("a:gpu", "case", cells, 0.0, machine),)

    one, both = {"n1": {"0": "7"}}, {"n1": {"0": "7", "1": "8"}}
    before = resume.EarlierPasses(
        {"f": passed(0, {}), "m": passed(12, both), "t": passed(1, one), "x": passed(9, both)}
    )
    assert before.remeasured == {"t", "x"} and before.options("") == ["--exclude=/f", "--exclude=/m"]
    assert before.options("quick")[2:] == modes.suite_options("quick,-/f,-/m")


def test_resume_does_not_keep_passes_of_a_node_that_nothing_was_measured_on_again():
    machines = {node: {node: {"driver": "580", "0": f"serial-{node}"}} for node in ("n1", "n2")}
    passed = {
        code: (resume.Passed("alpha:gpu", f"node_sweep %node={node}", cells, 1e9, machines[node]),)
        for code, node, cells in (("a1", "n1", 12), ("a2", "n2", 13))
    }
    before = resume.EarlierPasses(passed)
    assert before.remeasured == {"a1", "a2"}, "of each node one test must be measured again"


def test_resume_in_a_sweep_measures_each_node_again(machine, make_record):
    machine.prepare("pass", "pass", content=of_node(make_record(), "n1"))
    machine.run("--mode", "quick")
    machine.prepare("pass", content=of_node(make_record(), "n1"))
    code, out = machine.run("--mode", "quick", "--resume")
    assert "--exclude=/abc0" not in machine.commands()[1] and "--exclude=/abc1" not in machine.commands()[1], (
        code,
        out,
    )
    assert code == 3 and "no new record identifies the components of node001" in out


def test_a_pass_does_not_count_after_one_of_its_slots_became_empty():
    old = node_components(one_record(count=4))
    now = SimpleNamespace(test=SimpleNamespace(record=one_record(count=3)))
    before = resume.EarlierPasses({"a1": (resume.Passed("alpha:gpu", "x", 12, 1e9, old),)})
    found, why = resume.valid_passes(before, [now])
    assert not found.passed and why


def test_resume_does_not_look_for_replaced_gpus_in_a_record_of_host_memory():
    host = node_components(reading.load(DATA / "cpu16_ranks_quiet.record.json"))
    gpus = {"vm": {"driver": "580", "0": "serial-a"}}
    before = resume.EarlierPasses(
        {
            "host": (resume.Passed("alpha:gpu", "rank_to_rank", 2, 1e9, host),),
            "gpu": (resume.Passed("alpha:gpu", "write_ce", 12, 1e9, gpus),),
        }
    )
    assert "gpu" in before.remeasured, before.remeasured


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
    assert resume.passed_tests([good], 0.0)["abc0"]
    spoil(content)
    _, (one,) = judged_run(content, reference="hgx", hashcode="abc0")
    assert resume.passed_tests([one], 0.0) == {"abc0": ()}
