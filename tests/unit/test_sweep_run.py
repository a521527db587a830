"""`linkmatrix run --mode=sweep`: which nodes, what is said of each, and what it may not leave out."""

import importlib
import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from linkmatrix.commands.run import add_mode_to_commands
from linkmatrix.judge.verdicts import Reason, Verdict
from linkmatrix.runs import stored


@pytest.fixture
def sweep(machine):
    """A function that prepares a report of {node: (ReFrame's word, its reason)} and runs with the given options.

    others: test cases with the values of the first, and without references. throttled: why devices were during the
    first. out: the nodes that an administrator has taken out of service.
    """

    def run(nodes, *options, others=(), throttled=None, out=(), **changes):
        machine.prepare(*(word for word, _ in nodes.values()), **changes)
        report = json.loads((machine.folder / "prepared.json").read_text())
        for case, (node, (_, reason)) in zip(report["runs"][0]["testcases"], nodes.items(), strict=True):
            own = {"display_name": f"node_sweep %node={node}", "node": node, "on": node, "fail_reason": reason}
            if case["result"] == "skip":  # of which ReFrame's report has no reason
                own |= {"fail_reason": None, "unmeasured": reason}
            own["out_of_service"] = node in out
            case.update(own, name="node_sweep")
            record = machine.folder.parent / case["outputdir"] / "record.json"
            content = json.loads(record.read_text())
            content["host"]["name"] = content["nodes"][0]["name"] = node
            content["devices"] = [{**device, "node": node} for device in content["devices"]]
            content["asked_by"] = own["display_name"]
            content["results"] += [{**content["results"][0], "testcase": name} for name in others]
            content["results"][0]["throttled"] = throttled or []
            record.write_text(json.dumps(content))
        machine.store(report)
        return machine.run("--mode", "sweep", *options)

    return run


def test_all_nodes_unless_some_are_named(sweep, machine):
    assert sweep({"n1": ("pass", None)})[0] == 0
    assert (machine.folder / "nodes.txt").read_text() == "all"
    assert {"--tag=node-sweep", "--warn-as-error"} <= set(machine.commands()[0].split())
    sweep({"n1": ("pass", None)}, "--nodes", "n[1-2],x")
    assert (machine.folder / "nodes.txt").read_text() == "n1,n2,x"


@pytest.mark.parametrize("options", [(), ("--nodes", "n[1-2]"), ("--system=s:p", "--samples=31")])
def test_the_command_that_repeats_a_sweep_measures_the_same_nodes(sweep, machine, options):
    sweep(dict.fromkeys(("n1", "n2"), ("pass", None)), *options)
    (report,) = (machine.folder / "reports").glob("run-report-*.json")
    words = shlex.split(stored.find(report).rerun)
    assert words[:3] == ["linkmatrix", "run", "--mode=sweep"]
    assert words[3:] == (["--nodes=n[1-2]"] if "--nodes" in options else list(options))


def test_a_sweep_without_linkmatrix_is_repeated_with_its_nodes(sweep, machine):
    """ReFrame's command line lacks them: without LINKMATRIX_NODES it runs no test, and ends with PASSED."""
    (machine.folder / "by_hand").write_text("")
    sweep(dict.fromkeys(("n1", "n2"), ("pass", None)))
    (report,) = (machine.folder / "reports").glob("run-report-*.json")
    assert stored.find(report).rerun == "LINKMATRIX_NODES=n1,n2 reframe -r"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mode=sweep", "--nodes", "n[1-"], "n[001-016]"),
        (["--mode=sweep", "--nodes", ""], "names 0 nodes"),
        (["--mode=quick", "--nodes", "n1"], "-S on=NODE"),
        (["--mode=sweep", "--nodes", "n1", "--manifest", "why"], "a complete run"),
    ],
)
def test_nodes_that_make_no_sense_are_one_sentence(machine, linkmatrix, arguments, said):
    (line,) = linkmatrix.err("run", "--reframe", machine.reframe, *arguments).splitlines()
    assert said in line
    assert not (machine.folder / "command.txt").exists()


def test_no_node_at_all_is_never_a_pass(sweep):
    code, out = sweep({})
    assert code == 4 and "No test case ran" in out


def test_the_worst_node_comes_first_with_its_cell_and_what_did_not_run_with_its_reason(sweep):
    down = "not run: the scheduler reports down*: Not responding"
    nodes = {"n1": ("pass", None), "n2": ("pass", None), "n3": ("skip", down)}
    code, out = sweep(nodes, off={(0, 1): 300.0})
    assert code == 1
    lines = out.splitlines()
    (first,) = [at for at, line in enumerate(lines) if line == "3 nodes: 1 FAIL, 1 INCOMPLETE, 1 PASS"]
    assert lines[first + 1].startswith(
        "  FAIL       n1: device_to_device_memcpy_write_ce: gpu0->gpu1 300.00 GB/s is 24.2 % under"
    )
    assert lines[first + 2] == f"  INCOMPLETE n3: {down}"
    assert "again: LINKMATRIX_NODES=n1 linkmatrix measure" in out


def test_the_reason_of_a_node_is_of_its_verdict_and_of_its_test_case(sweep):
    """A WARN of the test case with references is no reason why the two without references are NOT JUDGED."""
    others = ["device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_sm"]
    code, out = sweep(dict.fromkeys(("n1", "n2"), ("pass", None)), others=others, throttled=["gpu2: power cap"])
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("  NOT JUDGED n")]
    assert len(lines) == 2
    for line in lines:
        assert "12 cells have no reference" in line and "power cap" not in line


def test_a_sweep_of_all_nodes_is_held_against_the_last_one_and_one_of_some_is_not(sweep):
    both = {"n1": ("pass", None), "n2": ("pass", None)}
    assert sweep(both)[0] == 0  # it freezes both
    code, out = sweep({"n1": ("pass", None)})
    assert code == 3 and "1 of 2 test cases" in out and "node_sweep %node=n2" in out
    assert sweep({"n1": ("pass", None)}, "--nodes=n1")[0] == 0


DRAINED = ("skip", "not run: the scheduler reports drained: fan")


def test_a_node_out_of_service_is_listed_and_the_exit_code_is_that_of_the_others(sweep):
    four = dict.fromkeys(("n1", "n2", "n3", "n4"), ("pass", None))
    assert sweep(four)[0] == 0  # it freezes all four
    code, out = sweep({**four, "n2": DRAINED}, out=["n2"])
    assert code == 0 and "4 nodes: 3 PASS, 1 out of service" in out
    assert f"  out of service n2: {DRAINED[1]}" in out.splitlines()
    assert any(line.startswith("PASS  sweep of") for line in out.splitlines())
    code, out = sweep({**four, "n2": DRAINED, "n3": ("skip", "not run: the scheduler reports down*")}, out=["n2"])
    assert code == 3 and "4 nodes: 1 INCOMPLETE, 2 PASS, 1 out of service" in out


def test_a_sweep_of_nodes_out_of_service_alone_measured_nothing(sweep):
    code, out = sweep({"n1": DRAINED, "n2": DRAINED}, out=["n1", "n2"])
    assert code == 4 and "INCOMPLETE  sweep of" in out


def test_a_node_that_was_down_when_the_manifest_was_made_is_excused_by_nothing(sweep):
    down = ("skip", "not run: the scheduler reports down: fan")
    code, out = sweep({"n1": ("pass", None), "n2": down}, "--manifest", "n2 has a new fan")
    assert code == 3 and "may be skipped" not in out
    code, out = sweep({"n1": ("pass", None), "n2": ("skip", "not run: the scheduler reports down*: Not responding")})
    assert code == 3
    assert "  INCOMPLETE n2: not run: the scheduler reports down*: Not responding" in out


def test_a_node_that_was_asked_for_and_has_no_test_is_missed(sweep):
    code, out = sweep({"n1": ("pass", None)}, "--nodes", "n1,n2", "--", "-n", "node_sweep.*=n1")
    assert code == 3
    assert "less than requested: no test ran on n2" in out
    assert sweep({"n1.cluster": ("pass", None)}, "--nodes=n1")[0] == 0


def test_test_cases_that_a_budget_left_out_make_incomplete():
    check = importlib.import_module("linkmatrix_checks.sweep").node_sweep
    one = SimpleNamespace(record={"results": [{"testcase": "a"}]}, testcases=lambda: ["a", "b"])
    assert check.missing_testcases(one) == [Reason(Verdict.INCOMPLETE, "not measured: b")]
    one.record["results"].append({"testcase": "b"})
    assert check.missing_testcases(one) == []


def test_references_are_those_of_the_check_that_measures_the_same(sweep):
    code, out = sweep({"n1": ("pass", None)}, off={(1, 0): 380.0})
    assert code == 1 and "INCOMPLETE" not in out


def test_a_reason_and_a_name_steer_no_terminal(sweep):
    evil = "not run: the scheduler reports drained: \x1b[2J\x1b]0;owned\x07"
    code, out = sweep({"n1": ("pass", None), "n\x1b[31m2": ("fail", evil)})
    assert code != 0 and "again: " in out and "owned" in out
    assert "\x1b" not in out and "\x07" not in out


def test_a_matrix_of_all_nodes_may_have_fewer_cells_while_a_node_is_out_of_service_and_not_while_it_is_down(machine):
    """The first run freezes 16 cells: of the next one, a node is drained, and then down."""

    def fewer(missing):
        machine.prepare("pass")
        report = json.loads((machine.folder / "prepared.json").read_text())
        (case,) = report["runs"][0]["testcases"]
        case |= {"nodes_left_out": "n4: fan", "nodes_missing": missing}
        machine.store(report)
        file = next(Path("config/manifests").glob("*.json"))
        said = json.loads(file.read_text())
        said["modes"]["acceptance"]["cases"] = dict.fromkeys(said["modes"]["acceptance"]["cases"], 1000)
        file.write_text(json.dumps(said))
        return machine.run()

    machine.prepare("pass")
    assert machine.run()[0] == 0
    code, out = fewer(missing=False)
    assert code == 0 and "Excluded nodes, which accept no jobs: n4: fan" in out
    code, out = fewer(missing=True)
    assert code == 3 and "of 1000 cells" in out


@pytest.mark.parametrize(
    ("command", "mode", "said"),
    [
        ("linkmatrix measure --samples 31", "sweep", "linkmatrix run --mode=sweep --system=c:cpu --samples 31"),
        ("linkmatrix measure --wait-idle 9", "quick", "linkmatrix run --mode=quick --system=c:cpu --wait-idle 9"),
        ("linkmatrix measure -- -n /abc", "quick", "linkmatrix measure -- -n /abc"),
        ("linkmatrix baseline", "sweep", "linkmatrix adopt --table=NAME --system=c:cpu"),
        ("linkmatrix baseline --mode=nightly", "quick", "linkmatrix baseline --mode=quick --system=c:cpu"),
    ],
)
def test_a_step_repeats_the_mode_and_system_of_the_run(command, mode, said):
    """A sweep named `linkmatrix measure`, which measures one machine, and `baseline`, which has no sweeps."""
    assert add_mode_to_commands(f"Do this: {command}", SimpleNamespace(mode=mode, system="c:cpu")) == f"Do this: {said}"
