"""What ReFrame repeated: a failure that passes later is a warning, and wrong data stays a failure."""

import json

import pytest


def test_retries_are_counted_and_shown(machine):
    machine.prepare("pass", attempts=2)
    code, out = machine.run("--retries", "1")
    assert "--max-retries=1" in machine.commands()[0] and "1 retry, of intranode_p2p_0" in out


@pytest.mark.parametrize(
    ("first", "code", "word"), [({(0, 1): 300.0}, 0, "WARN"), ({(0, 1): "corrupt"}, 1, "FAIL"), ({}, 0, "PASS")]
)
def test_what_passes_when_repeated_is_a_warning_and_wrong_data_stays_a_failure(machine, first, code, word):
    machine.prepare("pass")
    (last,) = json.loads((machine.folder / "prepared.json").read_text())["runs"]
    machine.prepare("fail" if first else "pass", off=first, result="FAIL" if "corrupt" in first.values() else "PASS")
    report = json.loads((machine.folder / "prepared.json").read_text())
    report["runs"].append(last)
    (machine.folder / "prepared.json").write_text(json.dumps(report))
    found, out = machine.run("--retries", "1")
    assert found == code and f"{word}  acceptance" in out
    assert f"\n1 test case: 1 {word}\n" in out or word == "WARN"  # of two attempts
    assert ("passed when it was repeated: intranode_p2p %testcase=0: " in out) == bool(first)


def test_what_passes_with_one_environment_does_not_excuse_another(machine):
    machine.prepare("pass", off={(0, 1): 300.0})
    report = json.loads((machine.folder / "prepared.json").read_text())
    machine.prepare("pass")
    other = json.loads((machine.folder / "prepared.json").read_text())
    (bad,), (good,) = (one["runs"][0]["testcases"] for one in (report, other))
    gnu, nvhpc = ({**bad, "environ": name, "result": "fail"} for name in ("gnu", "nvhpc"))
    report["runs"] = [{"testcases": [gnu, nvhpc]}, {"testcases": [gnu, {**good, "environ": "nvhpc"}]}]
    (machine.folder / "prepared.json").write_text(json.dumps(report))
    code, out = machine.run("--retries", "1")
    assert code == 1 and out.count("passed when it was repeated") == 1
